"""Python's complex numbers as run-time values, and what the report says of operators on Python's numbers."""
import itertools

import numpy as np
import pytest

import pyasc
from same import freeze

X = np.linspace(0.4, 2, 7)
COMPLEX = [2 + 1j, 3 + 0j, -1.5 - 2j, 5j, 0j, complex(-0.0, -0.0), complex("nan"), complex("inf"), 1e200 + 1e200j]


def wave(x, z):
    return np.exp(1j * z.real * x) * z


def arithmetic(x, z):
    return z * z + 1, z.imag, z.conjugate(), abs(z), -z, z == 1j, 3 * z - 2.5, z / 3


def made(x, z):
    return x + np.complex128(z), np.array([z, 1]), np.asarray(z), np.full(3, z), np.sqrt(z), np.complex64(z), np.real(z), np.imag(z)


def joined(x, z):
    return x.astype("f4") * z, x.astype("c8") * z, x.astype(int) + z, z / x, np.where(x > 1, z, x), np.float64(3) * z, x[1] == z


def compared(x, z):
    return z == x[1], z != x[0], x[1] == z, z == 2.5, z == x.astype("f4")[1]


def stored(x, z):
    y = np.zeros(5, complex)
    y[2] = z
    y[3:] += z
    y *= z
    return y, [z, z + 1], {"a": z}


def asked(x, z):
    return (isinstance(z, complex), np.isscalar(z), type(z) is complex, np.iscomplexobj(z), x if z else z, f"{z:.2f}")


def summed(x, z):
    s = 0j
    for v in x:
        s = s * z + v
    return s


def changed(x, z):
    z += x[0]
    z *= 2
    return z


@pytest.mark.parametrize("numerics, tier", list(itertools.product(["numpy", "strict"], [0, 1])))
@pytest.mark.parametrize("function", [wave, arithmetic, made, joined, compared, stored, asked, summed, changed], ids=lambda f: f.__name__)
def test_complex_arguments(function, numerics, tier):
    jitted = pyasc.jit(function, numerics=numerics, tier=tier)
    with np.errstate(all="ignore"):
        for z in COMPLEX + COMPLEX[::-1]:
            expected, got = function(X, z), jitted(X, z)
            if function is wave and numerics == "numpy":
                np.testing.assert_allclose(got, expected, rtol=1e-14)
            else:
                assert freeze(got) == freeze(expected)
    if function not in (asked, compared):  # these are one path each
        assert jitted.cache_info().traces <= 2 and (not jitted.report()["fallback"] or tier == 0)


def test_a_complex_from_a_float_is_no_path_of_its_own():
    def f(x, k):
        return x * x + 1j * k

    jitted = pyasc.jit(f)
    for k in range(20):
        assert freeze(jitted(X, k / 4)) == freeze(f(X, k / 4))
    assert jitted.cache_info().traces == 1


def lowered(x, z):
    k = 3
    k //= z
    return k


@pytest.mark.parametrize("function, kind", [
    (lowered, TypeError), (lambda x, z: 3 < z, TypeError), (lambda x, z: 1j >= z, TypeError), (lambda x, z: z <= 3, TypeError),
    (lambda x, z: float(z), TypeError), (lambda x, z: z < 1, TypeError), (lambda x, z: z // 2, TypeError),
    (lambda x, z: z / 0.0, ZeroDivisionError), (lambda x, z: x.__setitem__(0, z), TypeError),
    (lambda x, z: 1 / (z - 2 - 1j), ZeroDivisionError)])
def test_refused(function, kind):
    jitted = pyasc.jit(function)
    for z in (2 + 1j, 2 + 1j):
        with pytest.raises(kind) as plain:
            function(X.copy(), z)
        with pytest.raises(kind) as traced:
            jitted(X.copy(), z)
        assert str(plain.value) == str(traced.value)


def decides(x, p):
    if p > 1 and p % 2 != 0.5:
        return x * p // 1
    return x / p


def counts(x, n):
    if n % 2 == 0:
        return x * (n + 1)
    return x - n // 2 + np.int64(n)


def turns(x, p):
    return x * (1j * p) + x[0] * 2j


@pytest.mark.parametrize("function, numbers", [(decides, [1.5, 0.5, 3.5]), (counts, [2, 3, 4, 6]), (turns, [1.5, 2.5])],
                         ids=lambda f: getattr(f, "__name__", ""))
def test_operators_on_numbers_are_no_fallback(function, numbers):
    jitted = pyasc.jit(function, tier=1)
    for n in numbers:
        assert freeze(jitted(X, n)) == freeze(function(X, n))
    report = jitted.report()
    assert not report["fallback"] and report["ops_library"], report
    assert "call: int.__" in jitted.explain() or "call: float.__" in jitted.explain() or "call: complex.__" in jitted.explain()


def powers(x, n):
    y = x.copy()
    y **= n
    return x**n, y, np.power(x, n)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("numerics", ["numpy", "strict"])
def test_ints_as_exponents(numerics, dtype):
    jitted, x = pyasc.jit(powers, numerics=numerics, tier=1), np.linspace(-2, 2, 9).astype(dtype)
    with np.errstate(all="ignore"):
        for n in [2, 3, 5, 7, 0, -1, -2, 1, 4, 8, 9, 10, 25, -30, 10**400, 3, 11]:
            try:
                expected = powers(x, n)
            except OverflowError as error:
                with pytest.raises(OverflowError, match=str(error)):
                    jitted(x, n)
                continue
            for a, b in zip(jitted(x, n), expected):
                assert a.dtype == b.dtype
                np.testing.assert_allclose(a, b, rtol=0 if numerics == "strict" else 1e-6 if dtype == "f4" else 1e-13)
    assert not jitted.report()["fallback"] and jitted.cache_info().traces <= 10, jitted.cache_info()


def test_a_trace_of_much_python_and_few_operations_ends():
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    def plain(x, n):
        return x * fibonacci(n)

    x = np.arange(4.0)
    for n, long in ((5, False), (19, True)):
        jitted = pyasc.jit(plain)
        for _ in range(3):
            assert freeze(jitted(x, n)) == freeze(plain(x, n))
        assert ("more operations" in jitted.explain()) == long


def test_a_chain_of_floats_is_one_kernel():
    def chain(x, y):
        found = {}
        for k in range(20):
            x = x * y + k * 0.5
            found[k] = x - y
        return x, found[19], len(found)

    for numerics in ("strict", "numpy", "fast"):
        jitted = [pyasc.jit(chain, tier=tier, numerics=numerics) for tier in (0, 1)]
        for x, y in ((0.3, 0.4), (1e308, 4.0), (-0.0, 0.0), (float("nan"), 1.0), (0.3, float("inf")), (2, 3), (2, 0.5)):
            for one in jitted:
                assert freeze(one(x, y)) == freeze(chain(x, y))
    assert "multiply add multiply add" in jitted[1].explain()


def test_floats_and_scalars_of_equal_operands_stay_apart():
    def both(x, y):
        s = np.float64(x) * np.float64(y), len({})
        return x * y, s, x * y + 1, np.float64(x) * y + 1

    for tier in (0, 1):
        jitted = pyasc.jit(both, tier=tier)
        for _ in range(3):
            assert freeze(jitted(0.3, 0.4)) == freeze(both(0.3, 0.4))
