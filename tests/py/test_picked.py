"""Reductions of what a mask picks: one plan for all numbers of elements, NumPy's results, exceptions and extents."""
import numpy as np
import pytest

import pyasc
from same import outcome


def sums(x):
    m = x > 0
    return x[m].sum(), np.sum(x[~m]), x[m].prod(), x[x > 1].any(), np.all(x[m]), m.sum()


def means(x):
    m = (x > -1) & (x < 2)
    return x[m].mean(), np.mean(x[m]), x[m].std(), np.var(x[m])


def extremes(x):
    return x[x > 0].max(), np.min(x[x < 1]), np.amax(x[x > -1]), x[x == x].min()


def by_name(x):
    some, rest = x[x > 0], x[x <= 0]
    return some.sum() - rest.sum(), some.any(), some.sum(), rest.all()


def counted(x):
    some = x[x > 0]
    return some.sum() / max(len(some), 1), some.size, some.shape, np.zeros_like(some), len(x[x < 0])


def counted_late(x):
    some = x[x > 0]
    total = some.sum()
    return total, np.ones(some.shape), [v for v in some[:2]]


def used_otherwise(x):
    some = x[x > 0]
    return some.sum(), some * 2, np.sort(some), some[::-1].sum(), np.add.reduce(some)


def changed(x):
    m = x > 0
    some = x[m]
    x[m] = 5
    first = some.sum()
    m[:] = True
    some[:1] = 9
    return first, some.sum(), x[m].sum(), x.sum()


def rows(x):
    y = x.reshape(-1, 2)
    return y[y[:, 0] > 0].sum(), y[y > 0].sum(), y[y > 0].sum(axis=0), y[y[:, 0] > 0].sum(axis=0), y[y > 0].mean(0)


def with_options(x):
    m = x > 0
    return (x[m].sum(dtype="f8"), x[m].sum(keepdims=True), x[m].sum(initial=3), np.sum(x[m], axis=0), x[m].max(initial=0),
            np.sum(x[m], where=x[m] > 1), sum(x[m].tolist()))


def in_arithmetic(x):
    return (x[x > 0] * 2 + 1).sum(), np.sqrt(x[x > 0]).sum(), (x - x[x > 0].sum()) / 2


CASES = [sums, means, extremes, by_name, counted, counted_late, used_otherwise, changed, rows, with_options, in_arithmetic]


def numbers(dtype, seed):
    x = np.random.default_rng(seed).integers(-4, 5, 40)
    if seed % 5 == 4:
        x = -abs(x) - 2 if seed % 2 else abs(x) + 1
    return abs(x).astype(dtype) if np.dtype(dtype).kind in "ub" else x.astype(dtype)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "i4", "u1", "?", "c16"])
@pytest.mark.parametrize("function", CASES)
def test_small_integers(function, dtype, tier):
    """Sums of these are exact in any order."""
    for numerics in ("strict", "numpy"):
        jitted = pyasc.jit(function, tier=tier, numerics=numerics)
        for seed in range(12):
            x, y = numbers(dtype, seed), numbers(dtype, seed)
            with np.errstate(all="ignore"):
                expected, got = outcome(function, x), outcome(jitted, y)
            if function is means and numerics == "numpy" and expected[0] == "returned":
                with np.errstate(all="ignore"):
                    np.testing.assert_allclose(jitted(y), function(x), rtol=2e-3 if dtype == "f2" else 1e-5)
            else:
                assert got == expected, seed
            assert x.tobytes() == y.tobytes()


@pytest.mark.parametrize("function", [sums, means, by_name])
def test_one_plan(function):
    jitted = pyasc.jit(function)
    for seed in range(40):
        jitted(np.random.default_rng(seed).standard_normal(200))
    assert jitted.cache_info().traces == 1


def test_extremes_of_nothing():
    jitted = pyasc.jit(lambda x: x[x > 0].max())
    for x in (np.ones(3), -np.ones(3), np.arange(3.0), -np.ones(3), np.array([np.nan, 1.0])):
        assert outcome(jitted, x) == outcome(jitted.__wrapped__, x)
    assert jitted.cache_info().traces <= 4


def test_with_windows_that_ints_move():
    """Extents are in such a plan, but for those of what the mask picks."""
    def f(x, i):
        x[i] = 0.5
        return x[x > 0].sum() + x[i:i + 3].sum()

    jitted = pyasc.jit(f)
    for seed in range(30):
        x = np.random.default_rng(seed).standard_normal(100)
        y = x.copy()
        np.testing.assert_allclose(jitted(x, seed + 1), f(y, seed + 1), rtol=1e-12)
        np.testing.assert_array_equal(x, y)
    assert jitted.cache_info().traces <= 3


def of_rows(x):
    y = x.reshape(-1, 4).copy()
    m = y[:, 0] > 0
    some = y[m]
    return (some.sum(0), some.mean(axis=0), y[m].sum(), y[~m].max(0), y[m].max(), y[m].any(axis=0), np.sum(y[m], axis=0), y[y > 0].sum(0),
            np.mean(y[m], 0), some.sum(1), some.sum(axis=-1), some.std(0), y.reshape(5, 2, 4)[(y > 0).all(1).reshape(5, 2)].sum(0))


def stored_rows(x):
    y = x.reshape(-1, 4).copy()
    z, m = y * 2 + 1, y[:, 1] > 0
    y[m] = z[m]
    z[~m] = 3
    y[z[:, 0] > 2] *= 2
    z[m] = y[m] * 3 - z[m]
    z[m] += y[m]
    z[y[:, 0] > 0] = z[0]
    w = z > 0
    w[w[:, 0]] = False
    z[w[:, 2]] = y[w[:, 2]]
    return y, z, w


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "?"])
@pytest.mark.parametrize("function", [of_rows, stored_rows])
def test_rows(function, dtype, tier):
    jitted = pyasc.jit(function, tier=tier, numerics="strict")
    for seed in range(12):
        x = numbers(dtype, seed)
        assert outcome(jitted, x.copy()) == outcome(function, x), seed


def test_one_plan_for_rows():
    def f(best, x):
        m = x[:, 0] > best[:, 0]
        best[m] = x[m]
        return x[m].sum(), x[m].sum(axis=0), best.sum(0)

    jitted = pyasc.jit(f)
    for seed in range(30):
        a, x = np.random.default_rng(seed).standard_normal((2, 20, 3))
        b = a.copy()
        got, expected = jitted(a, x), f(b, x)
        for g, e in zip(got, expected):
            np.testing.assert_allclose(g, e, rtol=1e-12, atol=1e-13)
        np.testing.assert_array_equal(a, b)
    assert jitted.cache_info().traces == 1
