"""Functions that read extents and windows, on arrays of ever other lengths: few traces, and NumPy's values."""
import linecache
import math

import numpy as np
import pytest

import lengths
import pyasc
from same import freeze, outcome


def picture(value):
    """As freeze, whatever the signs of zeros are: extremes of several have NumPy's in its own order only."""
    if isinstance(value, (tuple, list)):
        return type(value)(picture(v) for v in value)
    if isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f":
        return freeze(value + value.dtype.type(0))
    return freeze(value)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("part", range(3))
def test_random_programs(part, axes, tier):
    for seed in range(60 * part, 60 * part + 60):
        wrong = lengths.check(seed, picture, axes, numerics="strict", tier=tier)
        assert wrong is None, wrong


def test_seeds_that_were_wrong():
    for axes, seeds in {1: [322, 919, 1232, 3206, 3783, 4771, 45252, 50262], 2: [2390, 3348]}.items():
        for seed in seeds:
            assert lengths.check(seed, picture, axes, numerics="strict") is None


def diff(x, y):
    return x[1:] - x[:-1]


def written(x, y):
    out = np.zeros_like(x)
    out[1:-1] = x[2:] + x[:-2]
    return out


def halves(x, y):
    n = len(x) // 2
    return x[:n] + x[n:2 * n]


def middle(x, y):
    return x[len(x) // 2] * y - x[-1]


def covariance(x, y):
    return ((x - x.mean()) * (y - y.mean())).sum() / (len(x) - 1)


def joined(x, y):
    return np.concatenate([x, y, x[:3]]) * 2


def fours(x, y):
    return x[:len(x) // 4 * 4].reshape(-1, 4).mean(axis=1)


def steps(x, y):
    return x[::2].sum() + y[::-1][1:] * x.shape[0]


def made(x, y):
    return np.arange(len(x)) * x + np.zeros(x.shape), np.ones(len(x) // 3)


def pairs(x, y):
    x = x[:len(x) // 8 + 2]
    return np.sqrt((x[:, None] - x[None, :])**2 + 1).sum(axis=1)


def moving(x, y):
    c = np.cumsum(x)
    return (c[5:] - c[:-5]) / 5


def convolved(x, y):
    return np.convolve(x, np.ones(5) / 5, "valid") * 2


def in_place(x, y):
    x = x.copy()
    x += y
    x[0] = x[-1]
    x[1:] *= 2
    return x


def compared(x, y):
    return x * 2 if len(x) > 30 and x.shape == y.shape else x


def numbers(x, y):
    return len(x), x.shape, x * x.size, x.sum() / (len(x) - 1)


def derivatives(x, y):
    return np.gradient(x), np.diff(y, 2)


def flat(value):
    return np.concatenate([flat(v) for v in value]) if isinstance(value, tuple) else np.ravel(value)


@pytest.mark.parametrize("function", [diff, written, halves, middle, covariance, joined, fours, steps, made, pairs, moving, convolved,
                                      in_place, compared, numbers, derivatives])
@pytest.mark.parametrize("numerics", ["strict", "numpy"])
def test_few_traces(function, numerics):
    jitted = pyasc.jit(function, numerics=numerics)
    rng = np.random.default_rng(3)
    for n in rng.permutation(np.arange(40, 340)):
        x, y = rng.integers(-9, 9, (2, n)) / 4  # sums of these are exact
        if numerics == "strict":
            assert freeze(jitted(x, y)) == freeze(function(x, y)), n
        else:
            np.testing.assert_allclose(flat(jitted(x, y)), flat(function(x, y)), rtol=1e-12, atol=1e-12)
    assert jitted.cache_info().traces <= 3, jitted.cache_info()


def test_lengths_that_come_back_keep_their_plans():
    jitted = pyasc.jit(diff)
    arrays = [np.arange(float(n)) for n in range(20, 40)]
    for _ in range(6):
        for x in arrays:
            assert freeze(jitted(x, x)) == freeze(diff(x, x))
    info = jitted.cache_info()
    assert info.misses < 3 * len(arrays) and info.currsize >= len(arrays), info


def test_equal_by_chance():
    """What has the extent of an argument by chance is not taken for it."""
    def f(x, y):
        return np.zeros(6) + x[:6], x[:4] * y[0], len(y)

    jitted = pyasc.jit(f)
    for n in (6, 7, 6, 8, 20, 4, 5, 6, 50, 51, 52, 53):
        x, y = np.arange(float(n)), np.ones(n)
        assert outcome(jitted, x, y) == outcome(f, x, y), n


def test_windows_that_no_one_needs_are_refused_all_the_same():
    def f(x):
        x[5]
        x[:3] + x[-3:]
        x[2:].reshape(-1, 2)
        return x * 2

    jitted = pyasc.jit(f)
    for n in (8, 10, 12, 5, 9, 14, 16, 2, 18, 20, 22, 24, 26, 11, 6):
        x = np.arange(float(n))
        assert outcome(jitted, x) == outcome(f, x), n


def test_calls_that_give_other_extents_than_others_did():
    def f(x):
        y = np.unique(x)
        return np.repeat(y, 2)[: len(x)] + 1, np.fft.rfft(x).shape

    jitted = pyasc.jit(f)
    rng = np.random.default_rng(0)
    for n in (9, 30, 31, 32, 33, 40, 41, 42, 43, 44, 45):
        x = rng.integers(0, 12, n).astype(float)
        assert outcome(jitted, x) == outcome(f, x), n


def test_written_arguments():
    def f(x, y):
        x[1:] -= y[:-1]
        y[: len(y) // 2] = x[-1]
        return x.sum()

    jitted = pyasc.jit(f, numerics="strict")
    for n in range(4, 60):
        a, b = np.arange(2.0 * n).reshape(2, n), np.arange(2.0 * n).reshape(2, n)
        assert freeze(jitted(a[0].copy(), a[1])) == freeze(f(b[0].copy(), b[1]))
        assert freeze(a) == freeze(b)


def test_loops_go_on_being_compiled():
    """Loops that are code are worth a trace for each length, however many come."""
    def f(x):
        out = np.empty_like(x)
        out[0] = x[0]
        for i in range(1, len(x)):
            out[i] = 0.25 * x[i] + 0.75 * out[i - 1]
        return out

    jitted = pyasc.jit(f)
    jitted(np.ones(1000))
    jitted.wait()
    for n in range(30_000, 30_600):
        x = np.arange(float(n))
        assert freeze(jitted(x)) == freeze(f(x)) if n % 50 == 0 else jitted(x).shape == (n,)
    assert jitted.cache_info().traces > 200  # after some 12, calls run plain but for what they take


def test_sizes_are_ints():
    def f(x):
        n = len(x)
        seen = [type(n) is int, isinstance(n, int), n + 1, n - 1, n * 2, n // 2, n % 3, -n, n / 2, n**2, divmod(n, 3), n > 5, n == 7,
                float(n), int(n), bool(n), abs(n), max(n, 3), min(n, 3), str(n), f"{n}", hash(n), [0] * (n % 4), list(range(n % 4)), n & 1,
                n << 1, n | 1, 3 * n, 100 // n, 1 / n, 2.5 * n, n - 0.5, {n: 1}, n in (4, 5), sum(range(n)), n is None, not n]
        return seen, x[n - 1], x * n, np.sqrt(n), (n, x.shape, x.size, x.nbytes)

    jitted = pyasc.jit(f)
    for n in (5, 6, 7, 8, 9, 10, 4, 30, 31, 32):
        x = np.arange(float(n))
        assert outcome(jitted, x) == outcome(f, x), n


class Holder:
    last = None


HOLDER, LOG = Holder(), []


def chance_of_a_size(x):
    k = len(x) - 5
    z = np.zeros(5)
    return len(z), x + k, x[:z.shape[0]].sum()


def chance_of_a_key(x):
    k = len(x) - 15
    return x[np.ones(5).shape[0]:] * k


def unused_remainder(x):
    10 % (len(x) - 8)
    return x + 1


def kept_outside(x):
    y = x.copy()
    HOLDER.last = y
    y[len(x) - 1] = 99.0
    LOG.append(x * 2)
    LOG[-1][1:] += 1
    return len(x)


def index_of_a_transposed(x):
    b = np.ones((6, 5)).T
    b[len(x) // 3]
    v = x.reshape(-1, 1).T
    v[0]
    return x + 1


def order_of_a_difference(x):
    return np.diff(x, n=len(x) - 20).sum()


@pytest.mark.parametrize("function", [chance_of_a_size, chance_of_a_key, unused_remainder, kept_outside, index_of_a_transposed,
                                      order_of_a_difference])
def test_by_chance_and_outside(function):
    for lengths_ in ((16, 32, 10, 24, 50, 51, 52), (20, 30, 40, 8, 9, 12, 8), (30, 22, 21, 20, 24, 23, 19, 25, 26, 27, 28)):
        jitted = pyasc.jit(function, numerics="strict")
        for n in lengths_:
            seen = []
            for call in (function, jitted):
                LOG.clear()
                HOLDER.last = None
                seen.append((outcome(call, np.arange(float(n))**2), freeze(HOLDER.last), freeze(LOG)))
            assert seen[0] == seen[1], n


UNUSED = ["10 // (len(x) - 20)", "len(x) % (len(x) - 20)", "x[::len(x) - 20]", "math.sqrt(len(x) - 21)", "math.log(len(x) - 20)",
          "np.uint8(len(x) - 21)", "np.unravel_index(20, x.shape)", "np.ravel_multi_index((20,), x.shape)",
          "np.array_split(x, len(x) - 20)", "x[len(x) - 21:][0]", "x.reshape(len(x) // 2, 2)"]


@pytest.mark.parametrize("text", UNUSED)
def test_what_is_refused_though_no_one_needs_it(text):
    file = f"<unused {text}>"
    source = f"def f(x):\n    x += 1\n    {text}\n    return x * 2\n"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"np": np, "math": math}
    exec(compile(source, file, "exec"), namespace)  # noqa: S102
    jitted = pyasc.jit(namespace["f"], numerics="strict")
    for n in (30, 26, 22, 20, 31, 32, 33, 34, 35, 20, 36):
        a, b = np.ones(n), np.ones(n)
        assert outcome(jitted, a) == outcome(namespace["f"], b), n
        assert freeze(a) == freeze(b)
