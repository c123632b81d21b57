"""Powers, quotients and common divisors of integers: NumPy's, wrapped, in kernels."""
import numpy as np
import pytest
from same import freeze

import pyasc

INTS = "bBhHiIlL"


def numbers(dtype, rng, n=300):
    """All of 8 bits; else random ones of every size, and the ends."""
    info = np.iinfo(dtype)
    if info.bits == 8:
        return np.arange(info.min, info.max + 1).astype(dtype)
    x = rng.integers(info.min, info.max, n, dtype=dtype, endpoint=True) >> rng.integers(0, info.bits, n).astype(dtype)
    x[:6] = [0, 1, 2, info.max, info.min, info.max - 1]
    return x


def check(function, *args, fallback=False):
    expected = freeze(function(*args))
    for numerics in ("numpy", "strict"):
        for tier in (0, 1):
            jitted = pyasc.jit(function, tier=tier, numerics=numerics)
            for _ in range(3):
                assert freeze(jitted(*args)) == expected, (tier, numerics)
                jitted.wait()
        assert jitted.report()["fallback"] is fallback, jitted.report()["reasons"]


@pytest.mark.parametrize("dtype", INTS)
def test_powers(dtype):
    rng = np.random.default_rng(0)
    x = numbers(dtype, rng)
    y = rng.integers(0, 70, x.size).astype(dtype)
    check(lambda x, y: x**y, x, y)
    check(lambda x, y: np.power(x, y) + 1, x[::2], y[::-2])
    check(lambda x: (x**0, x**1, x**3, x**7, np.power(x, 11)), x)
    check(lambda y: 3**y, y)
    check(lambda x, y: x**y, x[:60].reshape(6, 10), y[:6].reshape(6, 1))
    check(lambda x, y: x**y, x, y.astype("u1"))
    check(lambda x, n: x**n, x, 5)
    check(lambda x, n: x**n, x, np.dtype(dtype).type(5))


@pytest.mark.parametrize("dtype", "bhil")
def test_negative_exponents_raise(dtype):
    jitted = pyasc.jit(lambda x, y: (x + 1) ** y, tier=1)
    x, y = np.arange(1, 9).astype(dtype), np.arange(8).astype(dtype)
    for turn in range(6):
        bad = y.copy()
        if turn % 2:
            bad[3] = -turn
            with pytest.raises(ValueError, match="Integers to negative integer powers"):
                jitted(x, bad)
        else:
            np.testing.assert_array_equal(jitted(x, bad), (x + 1) ** bad)
        jitted.wait()


def test_exponents_that_vary():
    jitted = pyasc.jit(lambda x, n: x**n, tier=1)
    x = np.arange(1, 9)
    for n in (3, 5, 2, 0, 1, 64, 7, 3):
        np.testing.assert_array_equal(jitted(x, n), x**n)
        jitted.wait()
    for n in (-1, -3):
        with pytest.raises(ValueError, match="Integers to negative integer powers"):
            jitted(x, n)
    np.testing.assert_array_equal(jitted(x, 6), x**6)


def divisors(dtype):
    info = np.iinfo(dtype)
    near = [2**k + e for k in range(info.bits) for e in (-1, 0, 1)] + [3, 5, 6, 7, 10, 11, 100, 641, 6700417, 10**9 + 7]
    return sorted({d for v in near for d in (v, -v, info.min, info.max - 1) if info.min <= d <= info.max})


@pytest.mark.parametrize("dtype", INTS)
def test_one_divisor_for_all(dtype):
    rng = np.random.default_rng(1)
    info = np.iinfo(dtype)
    jitted = pyasc.jit(lambda x, s: (x // s, x % s), tier=1)
    for d in divisors(dtype):
        x = numbers(dtype, rng)
        k = rng.integers(0, max(1, info.max // max(abs(d), 1)), 60, dtype="u8", endpoint=True)
        near = [int(v) * d + e for v in k for e in (-1, 0, 1)]  # next to a multiple
        x = np.concatenate([x, np.array([v for v in near if info.min <= v <= info.max], dtype)])
        s = np.dtype(dtype).type(d)
        with np.errstate(all="ignore"):
            expected = freeze((x // s, x % s))
        assert freeze(jitted(x, s)) == expected, d
        jitted.wait()
        assert freeze(jitted(x, s)) == expected, d
    assert not jitted.report()["fallback"]


@pytest.mark.parametrize("dtype", INTS)
def test_known_divisors(dtype):
    x = numbers(dtype, np.random.default_rng(2))
    known = [1, 2, 3, 7, 10, 64, 100, 127] + ([-1, -2, -3, -7, -128] if np.iinfo(dtype).min else [])
    for d in known:
        check(eval(f"lambda x: (x // {d}, x % {d}, x[::-1] // {d}, np.gcd(x, {d}), np.lcm({d}, x))"), x)
    with np.errstate(all="ignore"):
        check(lambda x: (x // 0, x % 0), x)


@pytest.mark.parametrize("dtype", INTS)
def test_divisors_in_arrays(dtype):
    rng = np.random.default_rng(3)
    x, y = numbers(dtype, rng), numbers(dtype, rng)[::-1].copy()
    with np.errstate(all="ignore"):
        check(lambda x, y: (x // y, x % y, np.fmod(x, y)), x, y)
        check(lambda x, y: divmod(x, y), x, y)
        check(lambda x, y: np.divmod(x, y)[0] + 1, x[:60].reshape(6, 10), y[:6].reshape(6, 1))
        check(lambda x: divmod(7, x), x)
        check(lambda x: divmod(x, 7), x)


@pytest.mark.parametrize("dtype", INTS)
def test_common_divisors(dtype):
    rng = np.random.default_rng(4)
    x, y = numbers(dtype, rng), numbers(dtype, rng)[::-1].copy()
    check(lambda x, y: (np.gcd(x, y), np.lcm(x, y)), x, y)
    check(lambda x, y: np.gcd(x, x) + np.lcm(y, y), x, y)
    check(lambda x, y: np.gcd(x, y) * 2, x, np.dtype(dtype).type(12))


@pytest.mark.parametrize("dtype", "efd")
def test_two_results_of_floats(dtype):
    rng = np.random.default_rng(5)
    x, y = (rng.normal(size=300) * 10).astype(dtype), rng.normal(size=300).astype(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 2, -3, 1e-7], dtype)
    x[:64], y[:64] = (a.ravel() for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        check(lambda x, y: divmod(x, y), x, y)
        check(lambda x: np.divmod(x, 3), x)
        check(lambda x: np.modf(x), x)
        check(lambda x: np.modf(x[::-2])[0] * 2, x)


def test_two_results_by_name_of_arrays_alone():
    x = np.arange(12.0).reshape(3, 4).T
    check(lambda x: divmod(x, x[:1] + 1), x)
    jitted = pyasc.jit(lambda x, q, r: np.divmod(x, 3, out=(q, r))[0] is q)
    q, r = np.empty_like(x), np.empty_like(x)
    for _ in range(3):
        assert jitted(x, q, r)
        np.testing.assert_array_equal(q, x // 3)
        np.testing.assert_array_equal(r, x % 3)
