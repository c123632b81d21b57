"""Python ints as run-time inputs: arguments and attributes that were seen with several values."""

import math

import numpy as np
import pytest

import pyasc
from same import freeze, outcome

X = np.linspace(-2, 3, 7)


def same(function, jitted, *args):
    try:
        expected = freeze(function(*args))
    except Exception as error:
        with pytest.raises(type(error)) as caught:
            jitted(*args)
        assert str(caught.value) == str(error)
        return
    assert freeze(jitted(*args)) == expected


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "c16", "i8", "i2", "u1", "?"])
@pytest.mark.parametrize("function", [
    lambda x, n: x * n, lambda x, n: x + n - 1, lambda x, n: n - x, lambda x, n: x > n,
    lambda x, n: np.where(x > 0, n, x), lambda x, n: x * (n * n + 2), lambda x, n: (x, n, n + 1, n / 2, -n),
    lambda x, n: x**n, lambda x, n: x // (n + 1), lambda x, n: np.maximum(x, n), lambda x, n: x.sum() * n,
    lambda x, n: np.clip(x, 0, n), lambda x, n: n if n > 3 else x, lambda x, n: math.sqrt(n * n) * x,
    lambda x, n: x[:n], lambda x, n: np.roll(x, n), lambda x, n: (n % 3, divmod(n, 2), n << 2, n & 1, ~n, abs(n)),
], ids=range(17))
def test_arguments(function, dtype):
    with np.errstate(all="ignore"):
        x = (X if dtype != "u1" else abs(X)).astype(dtype)
        jitted = pyasc.jit(function, numerics="strict")  # powers are NumPy's to the bit
        for n in (2, 3, 4, 5, 6, 3, 2, 100, 0, -1, 300, 2**40, 2**70, True, 2.0, 7):
            same(function, jitted, x, n)


def test_one_trace_for_all_values():
    f = pyasc.jit(lambda x, n: x * n + (n + 1))
    for n in range(50):
        np.testing.assert_array_equal(f(X, n), X * n + (n + 1))
    assert f.cache_info().traces == 2
    assert not any(entry["plain"] for entry in f._facts()["entries"])


def test_ints_that_are_sizes_stay_constants():
    f = pyasc.jit(lambda x, n: x[:n] * 2)
    for _ in range(3):
        for n in range(1, 6):
            np.testing.assert_array_equal(f(X, n), X[:n] * 2)
    assert f.cache_info().traces <= 6


def test_counters_of_objects():
    class Simulation:
        def __init__(self):
            self.step, self.time, self.x = 0, 0.0, np.zeros(4)

        def advance(self, dt):
            self.step += 1
            self.time += dt
            self.x = self.x + self.step * dt
            return self.x * self.step

    jitted, traced, plain = pyasc.jit(Simulation.advance), Simulation(), Simulation()
    for _ in range(40):
        np.testing.assert_array_equal(jitted(traced, 0.5), plain.advance(0.5))
        assert (traced.step, traced.time) == (plain.step, plain.time) and type(traced.step) is int
        np.testing.assert_array_equal(traced.x, plain.x)
    assert jitted.cache_info().traces <= 3


def test_a_counter_that_is_an_index():
    class Ring:
        def __init__(self):
            self.at, self.items = 0, np.arange(5.0)

        def take(self, x):
            self.at = (self.at + 1) % 5
            return x + self.items[self.at]

    jitted, traced, plain = pyasc.jit(Ring.take), Ring(), Ring()
    for _ in range(60):
        np.testing.assert_array_equal(jitted(traced, X), plain.take(X))


STEP = 0.25


def test_a_number_that_is_argument_and_global():
    def f(x, h):
        return x * STEP + h * STEP

    jitted = pyasc.jit(f)
    for h in (STEP, STEP, 0.5, 0.75):
        np.testing.assert_array_equal(jitted(X, h), f(X, h))


def test_types_are_python_s():
    def f(x, n):
        return isinstance(n, int), type(n) is int, type(n + 1) is int, type(n * 0.5) is float, n == 4, x * n

    jitted = pyasc.jit(f)
    for n in (3, 4, 5, 4):
        same(f, jitted, X, n)


def test_which_object_a_number_is():
    f = pyasc.jit(lambda x, n, m: (n is m, x * 2))
    a, b = 1000000, int("1000000")
    for n, m in ((a, a), (a, b), (b, a), (1.5, 1.5), ("a b", "".join(["a", " b"])), ((1, 2), tuple([1, 2]))):
        assert f(X, n, m)[0] == (n is m)


def test_results_that_are_one_object():
    f = pyasc.jit(lambda x, m, d: (divmod(m, d), divmod(d, m), x * m))
    for m, d in ((5, 3), (8, 7), (9, 7), (1, 1), (22, 7), (5, 4)):
        assert freeze(f(X, m, d)) == freeze(f.__wrapped__(X, m, d))


def test_ints_of_turns_outgrow_64_bits():
    def growing(x, n):
        d, e, least = 1, 0, 0
        for i in range(n):
            d = d + i * d
            e = (i * 2**30) * 2**30 * 5 - e
            least = least - i * 2**62
            x = x + 1
        return d, e, least, x

    def far(x, n):
        for i in range(n):
            far = i * 2**30 * 2**30
            far = far * 2**30 - far
            x = x + 1
        return far, x

    for function in (growing, far):
        for tier in (0, 1):
            jitted = pyasc.jit(function, tier=tier)
            for n in (30, 150, 3, 30, 30):
                assert freeze(jitted(np.arange(3.0), n)) == freeze(function(np.arange(3.0), n))


@pytest.mark.parametrize("tier", [0, 1])
def test_augmented_turns_name_their_operator(tier):
    def f(x, n, c):
        k = 0
        for i in range(n):
            k = i
            k += 2
            k //= 2
            k <<= 1
            x[k % 5] += k
            if i > 6:
                i //= c
        return x, k

    jitted = pyasc.jit(f, tier=tier)
    for n, c in [(3, 1), (8, 2.0), (9, 1j), (9, 3), (8, 0)]:
        for _ in range(2):
            assert outcome(jitted, np.arange(5.0), n, c) == outcome(f, np.arange(5.0), n, c)


def by_name(x, n):
    return (x / np.sqrt(n), np.maximum(n, 3), np.maximum(n, 2.5), np.add(n, True), np.abs(n), np.sign(n), np.minimum(x, n),
            np.multiply(np.float32(2), n), np.true_divide(n, 3), np.isfinite(n), np.logical_not(n), np.square(n))


def test_ufuncs_of_ints():
    """One plan for all of them; those that no int64 holds are NumPy's."""
    jitted = pyasc.jit(by_name, numerics="strict")
    for n in (2, 3, 4, 5, 6, 0, -1, 100, 2**40, 2**60 + 1, 7, 2**63, 2**70, 8):
        with np.errstate(all="ignore"):
            same(by_name, jitted, X, n)
    assert jitted.explain().count("path") < 5


def test_powers_of_python_numbers():
    """No scalar of NumPy's takes part."""
    def instalment(p, r, y):
        return p * r * (1 + r) ** (y * 12) / ((1 + r) ** (y * 12) - 1), r**y, y**y, y**-y

    jitted = pyasc.jit(instalment)
    for p, y in ((25000, 3), (25000, 10), (1000, 4), (1000.0, 5), (7, 6)):
        same(instalment, jitted, p, 0.01, y)


def test_lists_as_long_as_an_int():
    """Of None alone, only the length tells one such list from another."""
    def key(i, n):
        places = [np.newaxis] * n
        places[i] = slice(None)
        return tuple(places)

    def axes(x, n):
        return x[(None,) * n], [None] * n + [1], [[None] * n] * n, len([None] * n)

    jitted = pyasc.jit(key)
    for i, n in [(0, 2), (1, 2), (0, 3), (1, 3), (2, 3), (0, 1), (1, 2), (1, 3)]:
        assert jitted(i, n) == key(i, n)
    jitted = pyasc.jit(axes)
    for n in (2, 3, 1, 2, 4, 0, 1, 5):
        assert outcome(jitted, X, n) == outcome(axes, X, n)


def test_ints_of_numpy_s_numbers():
    """`int(x)` of a computed number is another one in each call; what it is good for is as for any int."""
    def counted(x):
        seen, by = [], {}
        for k in range(3):
            x = x + k
            n = int(x.sum())
            seen.append(n)
            by[n % 3] = by.get(n % 3, 0) + 1
        return seen, by, int(x.max()) + 1, int(x.any()), f"{int(x.min())}", n if n > 40 else -n

    def used(x):
        n = int(abs(x).sum()) % 5
        return np.zeros(n), x[:n], [0] * n, list(range(n)), x[n], (x * n).sum(), n / 2, n == 3, {n: 1}, "ab" * n, min(n, 3), isinstance(n, int)

    def refused(x):
        return int(x.sum() / x[0]), int(x[1])

    for tier in (0, 1):
        for function in (counted, used, refused):
            jitted = pyasc.jit(function, tier=tier, numerics="strict")
            for seed in range(25):
                x = np.random.default_rng(seed).integers(-9, 9, 12).astype("f8" if seed % 2 else "i8")
                if seed % 7 == 3:
                    x = x * np.nan if seed % 2 else x * 10**17
                with np.errstate(all="ignore"):
                    assert outcome(jitted, x) == outcome(function, x), seed
    jitted = pyasc.jit(lambda x: (int(x.sum()), [int(x.argmax())], x * 2))
    for seed in range(20):
        jitted(np.random.default_rng(seed).integers(0, 100, 50))
    assert jitted.cache_info().traces == 1
