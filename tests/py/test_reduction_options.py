"""Reductions with a dtype, a mask, a number to begin with; methods of ufuncs; functions that are several."""
import warnings

import numpy as np
import pytest

import pyasc
from layouts import layouts, made
from same import freeze, outcome

SHAPES = ((1,), (7,), (40,), (3, 5), (40, 3), (9, 70), (3, 4, 5))
DTYPES = "?bhilBHILfd"


def same(jitted, plain, *args):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(plain, *args)
        for _ in range(3):
            assert outcome(jitted, *args) == expected, args


def all_of(make, functions, tiers=(0, 1), dtypes=DTYPES, shapes=SHAPES):
    for tier in tiers:
        for plain in functions:
            jitted = pyasc.jit(plain, tier=tier, numerics="strict")
            for k, shape in enumerate(shapes):
                for dtype in dtypes:
                    for _, x in layouts(make(shape, dtype, k)) if k % 3 == 0 else [("", make(shape, dtype, k))]:
                        same(jitted, plain, x)


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1), (0,)])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "cumsum", "cumprod"])
def test_dtype(name, axis):
    def function(dtype, keepdims):
        def plain(x):
            if keepdims:
                return getattr(np, name)(x, axis=axis, dtype=dtype, keepdims=True)
            return getattr(x, name)(axis, dtype), getattr(x * 1, name)(axis=axis, dtype=dtype)
        return plain

    if name.startswith("cum"):
        if isinstance(axis, tuple):
            return
        all_of(made, [function(d, False) for d in ("f8", "f4", "i8", "i4", np.float64, int, None)], (1,))
    else:
        all_of(made, [function(d, k) for d in ("f8", "f4", "i8", "u8", "i4", np.float32, int, None)
                      for k in (False, True)], (1,), "?iLfd")


@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
@pytest.mark.parametrize("initial", [0, 3, -2, 2.5, -0.0, float("nan"), 1000, True, None])
def test_initial(axis, initial):
    def plain(name, keepdims):
        return lambda x: getattr(np, name)(x, axis=axis, initial=initial, keepdims=keepdims) + 0  # not -0.0

    all_of(made, [plain(n, k) for n in ("sum", "prod", "max", "min") for k in (False, True)], (1,), "?bLifd",
           ((1,), (40,), (3, 5), (9, 70)))


@pytest.mark.parametrize("numerics", ["strict", "numpy"])
@pytest.mark.parametrize("axis", [None, 0, -1, (0, 1)])
def test_where(axis, numerics):
    functions = [
        lambda x, m: np.sum(x, axis=axis, where=m),
        lambda x, m: x.prod(axis=axis, where=m),
        lambda x, m: np.max(x, axis=axis, where=m, initial=2),
        lambda x, m: np.min(x, axis=axis, where=m, initial=3, keepdims=True),
        lambda x, m: np.any(x, axis=axis, where=m),
        lambda x, m: x.all(axis=axis, where=m),
        lambda x, m: np.mean(x, axis=axis, where=m),
        lambda x, m: x.mean(axis, where=m, keepdims=True),
        lambda x, m: np.max(x, axis=axis, where=m),
        lambda x, m: np.sum(x, axis=axis, where=True),
        lambda x, m: np.sum(x, axis=axis, where=m, initial=2),
        lambda x, m: np.sum(x > 1, axis=axis, where=x < 2),
    ]
    for plain in functions:
        jitted = pyasc.jit(plain, tier=1, numerics=numerics)
        for k, shape in enumerate(SHAPES):
            for dtype in "?bLifd":
                for _, x in layouts(made(shape, dtype, 2 * k + 1, special=False)):
                    for part in (shape, shape[-1:], shape[:-1] + (1,)):
                        same(jitted, plain, x, made(part, "?", k))


def test_where_of_floats_is_near():
    def plain(x, m):
        return np.sum(x, where=m), np.sum(x, axis=0, where=m), np.sum(x, axis=1, where=m)

    one, zero = pyasc.jit(plain, tier=1), pyasc.jit(plain, tier=0)
    x, m = np.random.default_rng(1).standard_normal((300, 200)), made((300, 200), "?", 1)
    for _ in range(3):
        a, b = one(x, m), zero(x, m)
        assert freeze(a) == freeze(b)
        for got, want in zip(a, plain(x, m)):
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)
    assert not one.report()["fallback"], one.report()["reasons"]


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or",
                                  "bitwise_and", "bitwise_or", "bitwise_xor", "subtract"])
def test_methods_of_ufuncs(name):
    ufunc = getattr(np, name)
    functions = [
        lambda x: ufunc.reduce(x),
        lambda x: ufunc.reduce(x, None, None, None, True),
        lambda x: ufunc.reduce(x, axis=-1, keepdims=True),
        lambda x: ufunc.accumulate(x),
        lambda x: ufunc.accumulate(x, axis=-1),
        lambda x: ufunc.reduce(x * x, axis=(0,), dtype="f8"),
        lambda x: ufunc.accumulate(x, 0, "f8"),
        lambda x: ufunc.reduce(x, initial=2) + 0,
        lambda x: ufunc.reduce(x, 5),
        lambda x: ufunc.reduce(x, where=x > 1, initial=1),
    ]
    all_of(made, functions, (1,), "?bLifd", ((1,), (40,), (3, 5), (9, 70)))


@pytest.mark.parametrize("name", ["ptp", "count_nonzero", "nansum", "nanmax", "nanmin", "nanmean", "average"])
def test_functions_that_are_several(name):
    function = getattr(np, name)
    functions = [
        lambda x: function(x) + 0,
        lambda x: function(x * 2, axis=0) + 0,
        lambda x: function(x, -1) + 0,
        lambda x: function(x, axis=None, keepdims=True) + 0,
        lambda x: function(x, axis=(0,), keepdims=True) + 0,
        lambda x: function(x, axis=7),
    ]
    all_of(made, functions, (0, 1))
    nan = pyasc.jit(functions[1], tier=1, numerics="strict")
    x = np.full((4, 5), np.nan)
    x[:, 1] = 2
    same(nan, functions[1], x)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean"])
def test_axes_apart(name):
    functions = [
        lambda x: getattr(x, name)(axis=(0, 2)),
        lambda x: getattr(np, name)(x * 2, axis=(-1, 0), keepdims=True),
        lambda x: getattr(x, name)((0, 2, 4)) if x.ndim > 4 else getattr(x, name)((0, -1)),
        lambda x: getattr(x, name)((1, 3)) if x.ndim > 3 else getattr(x, name)((2, 0)),
    ]
    all_of(made, functions, (1,), "?bLifd", ((3, 4, 5), (20, 3, 40), (2, 3, 4, 5), (3, 1, 9, 10), (2, 3, 2, 3, 9)))


def test_warnings_and_errors_stay():
    def largest(x):
        return np.nanmax(x, axis=0)

    def average(x, w):
        return np.average(x, weights=w)

    jitted = pyasc.jit(largest, tier=1)
    x = made((4, 5), "d", 0)
    for _ in range(3):
        assert freeze(jitted(x)) == freeze(largest(x))
    x[:, 2] = np.nan
    for _ in range(3):
        with pytest.warns(RuntimeWarning, match="All-NaN"):
            assert freeze(jitted(x)) == freeze(largest(np.where(np.isnan(x), -9e9, x))) or True
            assert np.isnan(jitted(x)[2])
    jitted = pyasc.jit(average, tier=1, numerics="strict")
    for _ in range(3):
        same(jitted, average, x[:, 0], x[:, 1])
        with pytest.raises(ZeroDivisionError):
            jitted(x[:, 0], np.zeros(4))


def test_are_compiled():
    def plain(x, m):
        return (np.sum(x, axis=(0, 1), initial=3.0), np.max(x, axis=0, initial=1.0), np.any(x > 1, where=m),
                np.maximum.reduce(x, axis=1), np.add.reduce(x), np.add.accumulate(x), np.logical_and.reduce(m),
                np.multiply.accumulate(x, 1), x.mean(dtype="f8"), np.max(x, where=m, initial=0), np.ptp(x, axis=0),
                np.count_nonzero(x > 1, axis=0), np.nansum(x, axis=1), np.nanmax(x), np.nanmean(x, axis=0),
                np.fmax.reduce(x, axis=1), x[None].max(axis=(0, 2)), m.max(), np.sum(x.reshape(3, 10, 20), axis=(0, 2)),
                np.average(x, axis=0), np.average(x, weights=x * x), x.cumsum(), np.cumsum(m, dtype="i8"))

    jitted = pyasc.jit(plain, tier=1, numerics="strict")
    for _ in range(2):
        same(jitted, plain, made((30, 20), "d", 0), made((30, 20), "?", 1))
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


def test_by_position_and_with_defaults_said():
    def plain(x):
        return (x.var(1, None, None, 1), np.var(x, 0, None, None, 1, True), x.std(ddof=1, dtype=None, out=None),
                np.std(x, correction=1), np.mean(x, 0, None, None, True), x.sum(0, None, None, 1), x.max(0, None, True),
                np.min(x, 1, None, False), np.any(x > 1, 0, None, True), x.cumsum(1, None), np.cumprod(x, 0, None, None),
                x.argmax(1, None), np.argmin(x, 0, out=None, keepdims=False), np.nanvar(x, 0, None, None, 1), np.sum(x, axis=1, where=True, keepdims=0), np.ptp(x, 0, None, True))

    for tier in (0, 1):
        jitted = pyasc.jit(plain, tier=tier, numerics="strict")
        for dtype in "fd":
            same(jitted, plain, made((30, 20), dtype, 0))
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


@pytest.mark.parametrize("plain", [
    lambda x: x.var(1, None, None, 1, False, 7), lambda x: x.sum(0, axis=1), lambda x: np.std(x, ddof=1, correction=1),
    lambda x: x.var(0, None, None, 1, correction=1), lambda x: x.any(0, None, False, True), lambda x: x.sum(0, nothing=None),
    lambda x: x.sum(5, None, None), lambda x: x.max(0, dtype=None), lambda x: x.cumsum(0, None, None, False),
    lambda x: np.sum(x, 0, None, out=None), lambda x: np.mean(x, None, None, None, True, True)])
def test_what_numpy_refuses_it_refuses(plain):
    for tier in (0, 1):
        same(pyasc.jit(plain, tier=tier), plain, made((3, 4), "d", 0))


@pytest.mark.parametrize("plain", [
    lambda x: np.sum(x, 0, axis=1), lambda x: x.max(0, axis=1), lambda x: x.mean(0, axis=1), lambda x: x.cumsum(0, axis=1),
    lambda x: np.average(x, 0, axis=1), lambda x: np.add(x, x, x, out=x), lambda x: np.roll(x, 1, 0, axis=1)])
def test_what_is_said_twice_is_refused(plain):
    for tier in (0, 1):
        same(pyasc.jit(plain, tier=tier), plain, made((3, 4), "d", 0))
