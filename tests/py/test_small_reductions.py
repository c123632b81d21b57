"""Reductions of integers and bools, and of few elements; operations on NumPy's scalars."""
import numpy as np
import pytest

import pyasc
from same import freeze

SHAPES = ((1,), (2,), (7,), (8,), (9,), (1, 5), (3, 4), (5, 1), (2, 9), (9, 2), (3, 4, 5), (40, 3))
DTYPES = "bhilBHIL?fd"


def made(shape, dtype, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 100
    x = (abs(x) if dtype in "BHIL" else x).astype(dtype)
    return np.asfortranarray(x) if seed % 3 == 2 else x


def same(jitted, plain, *args):
    with np.errstate(all="ignore"):
        expected = freeze(plain(*args))
        for _ in range(2):
            assert freeze(jitted(*args)) == expected, args


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "var"])
def test_reductions(name, tier):
    for axis in (None, 0, -1, (0, 1)):
        for keepdims in (False, True):
            def plain(x):
                return getattr(x, name)(axis=axis, keepdims=keepdims), getattr(x * x + x, name)(axis=axis)

            jitted = pyasc.jit(plain, tier=tier, numerics="strict")
            for k, shape in enumerate(SHAPES):
                for dtype in DTYPES:
                    if axis != (0, 1) or len(shape) > 1:
                        same(jitted, plain, made(shape, dtype, k))


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_zeros_of_few_elements(name):
    def plain(x):
        return getattr(x, name)()

    jitted = pyasc.jit(plain, tier=1)
    for n in range(1, 12):
        same(jitted, plain, np.full(n, -0.0))
        same(jitted, plain, np.where(np.arange(n) % 2, -0.0, 0.0))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("n", [2047, 2049, 3000, 9000])
def test_long_rows_of_narrow_elements(n, tier):
    def plain(a, b):
        return (a & b).any(axis=0), (a | b).all(axis=0), (a.astype(np.int8) - b).min(axis=0)

    rng = np.random.default_rng(n)
    jitted = pyasc.jit(plain, tier=tier)
    for share in (0.1, 0.9):
        a, b = rng.random((2, 5, n)) < share
        same(jitted, plain, a, b)


def test_narrow_sums_are_compiled():
    def plain(x):
        return x.sum(), (x > 2).sum(axis=0), x.any(), (x + x).max()

    jitted = pyasc.jit(plain, tier=1)
    same(jitted, plain, np.arange(12, dtype=np.int32).reshape(3, 4))
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


def test_scalars_are_compiled():
    def plain(x, a):
        m, s = x.mean(), x.max()
        t = np.sqrt(abs(m - a)) / (s + 1.0)
        return t, np.exp(-t), np.maximum(m, a) * 2, ~(m > a) | (s < a), x * t

    for dtype in ("f4", "f8"):
        x = np.linspace(-1, 3, 17).astype(dtype)
        jitted = pyasc.jit(plain, tier=1)
        for a in (x.dtype.type(0.5), x.dtype.type(-3), 0.25):
            strict = pyasc.jit(plain, numerics="strict")
            same(strict, plain, x, a)
            first, again = freeze(jitted(x, a)), freeze(jitted(x, a))
            assert first == again == freeze(pyasc.jit(plain, tier=0)(x, a))
        assert not jitted.report()["fallback"], jitted.report()["reasons"]


def added_in_turns(x, y):
    for _ in range(6):
        y = y + np.sum(x * y, axis=0)
    return y


def added_across_in_turns(x, y):
    for _ in range(7):
        y = y + np.mean(x * y, axis=1)
    return y


def exchanged_in_turns(x, y):
    for _ in range(6):
        for _ in range(5):
            x, y = y + (x * y).sum(axis=1), x - (x + y).min(axis=0)
    return x, y


def added_one_by_one(x, y):
    y = y + np.sum(x * y, axis=1)
    y = y + np.sum(x * y, axis=1)
    y = y + np.sum(x * y, axis=1)
    return y + np.sum(x * y, axis=1)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", [added_in_turns, added_across_in_turns, exchanged_in_turns, added_one_by_one])
def test_of_what_other_ones_were_added_to(function, tier):
    """A few elements that are summed are parts of what they were made of, but for what a loop makes anew."""
    jitted = pyasc.jit(function, tier=tier, numerics="strict")
    for n in (2, 3, 4, 7, 9):
        same(jitted, function, *(np.random.default_rng(n).integers(1, 9, (2, n, n)) / 16))
