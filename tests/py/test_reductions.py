"""Reductions with their producers: one pass, NumPy's order of additions, to the bit."""
import numpy as np
import pytest
from same import freeze

import pyasc

SHAPES = [(5,), (8,), (129,), (1000,), (5000,), (100003,), (3, 1000), (40, 7), (7, 9000), (4, 5, 300)]


def one_pass(x, y):
    return np.sum(x * y + 1)


def last_axis(x, y):
    return ((x - y) ** 2).sum(axis=-1)


def kept_axis(x, y):
    return (x * 2 - y).max(axis=-1, keepdims=True)


def extremes(x, y):
    return (x + y).max(), np.min(x - y), (x * y).min(axis=-1)


def truths(x, y):
    return (x > y).any(), np.all(x > -1e9), (x == y).any(axis=-1)


def product(x, y):
    return np.prod(x * 0.001 + 1.0, axis=-1)


def consumers(x, y):
    return np.sqrt((x * x).sum()) / x.size, x - (x + y).sum(axis=-1, keepdims=True)


def other_axes(x, y):
    return (x + y).sum(axis=0), (x * y).T.sum(axis=0)


def strided(x, y):
    return (x[..., ::2] * y[..., ::2]).sum(), (x[..., ::-1] + y).sum(), (x * y[..., :1]).sum()


def with_arguments(x, y):
    return (x * y).sum(dtype="f8"), np.sum(x + y, initial=2), np.sum(x + y, where=x > y)


PROGRAMS = [one_pass, last_axis, kept_axis, extremes, truths, product, consumers, other_axes, strided,
            with_arguments]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_bits(program, tier):
    jitted = pyasc.jit(program, tier=tier, numerics="strict")
    for shape in SHAPES:
        for dtype in ("f8", "f4", "i8", "i4"):
            for seed in range(2):
                rng = np.random.default_rng(seed)
                x = (rng.normal(size=shape) * 100).astype(dtype)
                y = (rng.normal(size=shape) * 10).astype(dtype)
                if seed and dtype[0] == "f":
                    x.flat[::7], y.flat[3::11] = np.nan, np.inf
                with np.errstate(all="ignore"):
                    assert freeze(jitted(x, y)) == freeze(program(x, y)), (shape, dtype, seed)


def equal_ones(x):
    a, b = x.max(axis=0), x.max(axis=0)
    a[0] = 9
    return a, b, x.sum(axis=1), x.sum(axis=1)


def equal_one_changed(x):
    a, b = x.max(axis=0), x.max(axis=0)
    a -= 1
    return a * 2, b


def again_after_a_change(x):
    a = x.sum(axis=0)
    a /= 3
    b = x.sum(axis=0)
    return a, b


def with_producers(x):
    n = np.sqrt((x * x).sum(axis=1))
    m = (x * x).sum(axis=1)
    m += 1
    return n, m, (x * x).sum(axis=1)


def view_of_one(x):
    a = x.prod(axis=0)
    c = a.T
    b = x.prod(axis=0)
    c *= 2
    return a, b, c


def kept_axes(x):
    a, b = x.sum(keepdims=True), x.sum(keepdims=True)
    a += 1
    return a, b


def in_loops(x):
    out, total = [], np.zeros(4)
    for i in range(8):
        a = x.max(axis=0)
        a += i
        b = x.max(axis=0)
        b[1] = i
        out.append(x.max(axis=i % 2))
        total += a * b
    return total, out


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", [equal_ones, equal_one_changed, again_after_a_change, with_producers,
                                      view_of_one, kept_axes, in_loops])
def test_equal_reductions_are_arrays_of_their_own(function, tier):
    jitted = pyasc.jit(function, tier=tier)
    for k in range(5):
        x = np.arange(16.0).reshape(4, 4) + k
        expected, got = function(x), jitted(x)
        assert freeze(got) == freeze(expected)
        assert same_objects(got) == same_objects(expected)


def same_objects(result):
    flat = [v for part in result for v in (part if isinstance(part, list) else [part])]
    return [a is b for a in flat for b in flat]


def test_empty():
    jitted = pyasc.jit(lambda x: ((x * 2).sum(), (x > 1).any(), (x > 1).all()))
    for _ in range(2):
        assert freeze(jitted(np.zeros(0))) == freeze((np.float64(0), np.False_, np.True_))
    largest = pyasc.jit(lambda x: (x * 2).max())
    for _ in range(2):
        with pytest.raises(ValueError, match="zero-size"):
            largest(np.zeros(0))


def test_no_array_in_between():
    jitted = pyasc.jit(one_pass)
    x = np.ones(1000)
    jitted(x, x)
    group, = jitted._facts()["entries"][0]["plans"][0]["groups"]
    assert group["reduces"] and not jitted._facts()["entries"][0]["plans"][0]["calls"]


@pytest.mark.parametrize("axis", [2**31, 2**63, -(2**70), 2, -3, True])
@pytest.mark.parametrize("name", ["sum", "max", "mean", "std", "any"])
def test_axes_that_are_none(name, axis):
    x = np.arange(6.0).reshape(2, 3)
    jitted = pyasc.jit(lambda q: (getattr(q, name)(axis=axis), getattr(np, name)(q * 2, axis=axis)))
    for _ in range(2):
        try:
            expected = jitted.__wrapped__(x)
        except Exception as error:
            with pytest.raises(type(error)):
                jitted(x)
        else:
            np.testing.assert_array_equal(jitted(x), expected)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_columns_that_come_from_memory(dtype, threads):
    """Long rows are added as they lie: in NumPy's order, with whatever results are in which cache."""
    @pyasc.jit(tier=1, threads=threads)
    def f(x):
        return x.sum(axis=0), x.max(axis=0), (x * x).sum(axis=0)

    x = np.random.default_rng(4).normal(0, 1, (250, 20011)).astype(dtype)
    for _ in range(2):
        for got, expected in zip(f(x), (x.sum(axis=0), x.max(axis=0), (x * x).sum(axis=0))):
            assert got.tobytes() == expected.tobytes()
