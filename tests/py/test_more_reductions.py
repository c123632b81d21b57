"""Reductions of every dtype, layout and extent; what they say; scans; functions without NaNs. None is NumPy's call."""
import warnings

import numpy as np
import pytest
from same import outcome

import pyasc

DTYPES = "?bBhHiIlLefdFD"
SHAPES = [(7,), (40,), (3, 5), (3, 4, 5), (1, 4), (0,), (2, 0, 3), (1, 1)]


def values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) < 0.5
    if kind in "iu":
        return rng.integers(0 if kind == "u" else -9, 10, shape).astype(dtype)
    x = rng.normal(size=shape) * 3
    return (x + 1j * rng.normal(size=shape) if kind == "c" else x).astype(dtype)


def layouts(x):
    yield x
    if x.ndim:
        yield np.repeat(x, 2, -1)[..., ::2]
        yield x[::-1]
        yield np.asfortranarray(x)
    if x.ndim > 2:
        yield x.transpose(1, 2, 0)


def same(function, *args, fallback=False, tiers=(0, 1)):
    """What NumPy does, in strict numerics; compiled unless it raises."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = outcome(function, *args)
        for tier in tiers:
            jitted = pyasc.jit(function, tier=tier, numerics="strict")
            for _ in range(2):
                assert outcome(jitted, *args) == expected, (tier, [(a.dtype, a.shape, a.strides) for a in args])
                jitted.wait()
    if expected[0] == "returned" and fallback is not None:
        assert jitted.report()["fallback"] is fallback, (jitted.report()["reasons"], [(a.dtype, a.shape) for a in args])


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_and_layouts(name, dtype):
    function = getattr(np, name)
    floating = np.dtype(dtype).kind in "fc" and name in ("sum", "prod")
    for shape in SHAPES:
        for k, x in enumerate(layouts(values(dtype, shape))):
            gaps = k and np.dtype(dtype).itemsize < 4  # several such operands are left to NumPy
            for axis in [None, *range(-1, x.ndim - 1), ()]:
                whole = axis is None and x.ndim > 1 and k  # in an order that is NumPy's
                fallback = None if (floating and whole) or gaps or not x.size else False
                same(lambda x: function(x, axis=axis), x, fallback=fallback, tiers=(1,))
            same(lambda x: function(x, axis=0, keepdims=True), x, fallback=None)


@pytest.mark.parametrize("name", ["sum", "prod", "any", "all"])
def test_of_nothing(name):
    function = getattr(np, name)
    for dtype in DTYPES:
        for shape in ((0,), (0, 3), (2, 0), (2, 0, 3)):
            for axis in (None, 0, -1, (0, -1) if len(shape) > 1 else 0):
                same(lambda x: function(x, axis=axis), values(dtype, shape))
    for shape in ((0, 3), (3, 0)):
        same(lambda x: x.max(axis=1) if x.shape[0] == 0 else x.max(axis=0), values("d", shape))
        same(lambda x: np.min(x), values("i", shape))


@pytest.mark.parametrize("name", ["mean", "var", "std"])
@pytest.mark.parametrize("dtype", "?bhilLefdFD")
def test_moments(name, dtype):
    function = getattr(np, name)
    for shape in ((7,), (40,), (3, 5), (60, 4), (3, 40, 2)):
        x = values(dtype, shape)
        for axis in (None, 0, -1):
            scalar = axis is None or x.ndim == 1  # arithmetic on scalars of some dtypes is NumPy's
            fallback = None if scalar and dtype in "eFD" else False
            same(lambda x: function(x, axis=axis), x, fallback=fallback)
            same(lambda x: function(x, axis=axis, keepdims=True), x, fallback=None if dtype in "eFD" else False)


def test_means_of_whole_numbers():
    x = np.arange(100_000).reshape(100, 1000)
    jitted = pyasc.jit(lambda x: (x.mean(), x.mean(0), x.mean(1), x.var()))
    for _ in range(2):
        for got, expected in zip(jitted(x), (x.mean(), x.mean(0), x.mean(1), x.var())):
            np.testing.assert_allclose(got, expected, rtol=1e-14)
        jitted.wait()
    assert not jitted.report()["fallback"]


@pytest.mark.parametrize("dtype", "?bBhiIlL")
def test_dtypes_of_integers(dtype):
    for shape in ((7,), (40,), (3, 5), (2, 0)):
        x = values(dtype, shape)
        for asked in ("i1", "u2", np.int16, int, "u8"):
            same(lambda x: (x.sum(dtype=asked), np.sum(x, axis=0, dtype=asked), np.prod(x, dtype=asked, axis=-1)), x)
            same(lambda x: (np.add.reduce(x, dtype=asked), np.add.accumulate(x, dtype=asked)), x)
            same(lambda x: (np.cumprod(x, axis=0, dtype=asked), np.cumsum(x, axis=-1, dtype=asked)), x)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean", "cumsum", "cumprod"])
def test_into(name):
    for dtype in "?bhlfd":
        for shape in ((3, 5), (2, 3, 4), (1, 4)):
            for axis in (0, -1):
                x = values(dtype, shape)
                function = getattr(np, name)
                out = np.zeros_like(function(x, axis=axis))

                def into(x, out):
                    result = function(x, axis=axis, out=out)
                    return result is out, result + 1, out.sum()
                same(into, x, out)
    x = values("d", (3, 5))
    same(lambda x, out: (np.add.reduce(x, axis=1, out=out), x.sum(1, None, out[::-1])), x, np.zeros(3))
    same(lambda x, out: x.sum(0, out=out), x, np.zeros(5, "f4"), fallback=True)  # which dtype it is summed in
    same(lambda x, out: x.sum(0, out=out), x, np.zeros(4), fallback=True)


@pytest.mark.parametrize("name", ["bitwise_and", "bitwise_or", "bitwise_xor"])
@pytest.mark.parametrize("dtype", "?bBhilL")
def test_bits(name, dtype):
    ufunc = getattr(np, name)
    for shape in SHAPES:
        for x in layouts(values(dtype, shape)):
            for axis in (0, -1, None):
                same(lambda x: ufunc.reduce(x, axis=axis), x)
            same(lambda x: ufunc.reduce(x), x)


@pytest.mark.parametrize("name", ["maximum", "minimum", "add", "multiply"])
@pytest.mark.parametrize("dtype", "?bBhilLefd")
def test_running(name, dtype):
    ufunc = getattr(np, name)
    for shape in ((7,), (3, 5), (3, 4, 5), (0,)):
        x = values(dtype, shape)
        if dtype in "fd" and x.size:
            x.flat[x.size // 2] = np.nan
        same(lambda x: ufunc.accumulate(x), x)
        same(lambda x: ufunc.accumulate(x, axis=-1), x)
        same(lambda x: ufunc.accumulate(x + x, axis=0) if dtype != "?" else ufunc.accumulate(x), x)


@pytest.mark.parametrize("name", ["nanprod", "nancumsum", "nancumprod", "nanargmax", "nanargmin", "nanvar", "nanstd"])
@pytest.mark.parametrize("dtype", "fdil")
def test_without_nans(name, dtype):
    function = getattr(np, name)
    for shape in ((7,), (40,), (3, 5), (60, 4), (3, 40, 2)):
        x = values(dtype, shape)
        if dtype in "fd":
            x[np.random.default_rng(1).random(shape) < 0.3] = np.nan
            x[..., 0] = x[0] = 1
        for axis in (None, 0, -1):
            same(lambda x: function(x, axis=axis), x)
            if "cum" not in name:
                same(lambda x: function(x, axis=axis, keepdims=True), x)
            if name in ("nanvar", "nanstd"):
                same(lambda x: function(x, axis=axis, ddof=1), x, fallback=None)  # of one number it warns


@pytest.mark.parametrize("name", ["nanargmax", "nanargmin", "nanvar", "nanstd"])
def test_slices_of_nans_are_for_numpy(name):
    x = np.array([[1, np.nan, 2], [np.nan, np.nan, np.nan]])
    for axis in (0, 1, None):
        same(lambda x: getattr(np, name)(x, axis=axis), x, fallback=None)
    jitted = pyasc.jit(lambda x: np.nanargmax(x, axis=1), tier=1)
    good = np.nan_to_num(x, nan=5.0)
    for arg in (good, x, good, x):
        assert outcome(jitted, arg) == outcome(lambda x: np.nanargmax(x, axis=1), arg)
        jitted.wait()


def test_an_axis_from_a_variable():
    for axis in (np.int64(1), np.intp(0), np.int8(-1)):
        same(lambda x: x.sum(axis=axis), values("d", (3, 4)))
        same(lambda x: (np.max(x, np.int64(1)), x.argmax(axis=np.intp(0)), np.cumsum(x, axis=np.int8(1))), values("d", (3, 4)))


def test_extents_that_vary():
    jitted = pyasc.jit(lambda x: (x.sum(0), x.max(initial=0), np.bitwise_or.reduce(x.astype(int))), tier=1)
    for n in (5, 0, 1, 7, 0, 5):
        x = values("d", (n, 3))
        assert outcome(jitted, x) == outcome(lambda x: (x.sum(0), x.max(initial=0),
                                                        np.bitwise_or.reduce(x.astype(int))), x)
        jitted.wait()


@pytest.mark.parametrize("dtype", "bhlBLefd")
def test_initial(dtype):
    for shape in ((7,), (40,), (3, 5), (2, 0, 3), (0,)):
        x = values(dtype, shape)
        numbers = (0, 3, 100) if np.dtype(dtype).kind in "iu" else (0, 3, 2.5, -0.0, np.nan, np.inf)
        for name in ("sum", "prod", "max", "min"):
            function = getattr(np, name)
            known = dtype in "lLefd" or name in ("max", "min")  # what is cast first may be left to NumPy
            for initial in numbers:
                for axis in (None, 0, -1):
                    same(lambda x: function(x, axis=axis, initial=initial), x, fallback=False if known else None)
                same(lambda x: function(x + x, axis=0, initial=initial, keepdims=True), x, fallback=None)
    same(lambda x: np.maximum.reduce(x, initial=5), values("d", (3, 4)))
    same(lambda x: x.max(initial=2**70), values("l", (3,)), fallback=None)


def test_long_sums_with_initial():
    x = np.random.default_rng(0).normal(size=100_000)
    for function in (lambda x: x.sum(initial=10), lambda x: x.sum(initial=0.0), lambda x: x.sum(initial=2.5)):
        for tier in (0, 1):
            jitted = pyasc.jit(function, tier=tier)
            first = jitted(x)
            jitted.wait()
            assert jitted(x) == first
            np.testing.assert_allclose(first, function(x), rtol=1e-12, atol=1e-10)
