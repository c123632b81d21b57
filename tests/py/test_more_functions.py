"""Functions that are several ops: round, clip, conj, averages, sums of powers; ufuncs with out and where."""
import warnings

import numpy as np
import pytest
from same import outcome

import pyasc


def values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=shape) * 50
    if np.dtype(dtype).kind == "c":
        return (x + 1j * rng.integers(0, 2, shape)).astype(dtype)
    x = x.astype(dtype)
    if np.dtype(dtype).kind == "f":
        x.flat[:6] = [0.0, -0.0, np.nan, np.inf, -np.inf, 0.5]
    return x


def layouts(x):
    return [x, x[::2], x.T, x[..., ::-1]]


def same(function, *args, fallback=False, **options):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        copies = [a.copy("K") for a in args]
        expected = outcome(function, *copies), [outcome(lambda: c) for c in copies]
        for tier in (0, 1):
            jitted = pyasc.jit(function, tier=tier, **options)
            for _ in range(3):
                copies = [a.copy("K") for a in args]
                got = outcome(jitted, *copies), [outcome(lambda: c) for c in copies]
                assert got == expected, (tier, args)
                jitted.wait()
    if expected[0][0] == "returned" and fallback is not None:
        assert jitted.report()["fallback"] is fallback, jitted.report()["reasons"]


@pytest.mark.parametrize("dtype", "efdbBhilL")
def test_round(dtype):
    for shape in ((40,), (3, 5), (3, 4, 2)):
        for x in layouts(values(dtype, shape)):
            for k in (0, 1, 3, -1, -2):
                same(lambda x: np.round(x, k), x)
                same(lambda x: (x + x).round(k), x)
            same(lambda x: (np.around(x), x.round(), np.round(x, decimals=1)), x)


@pytest.mark.parametrize("dtype", "efdbBhilL")
def test_clip(dtype):
    bounds = [(0, 10), (None, 3), (6, 3), (-1.5, 2.5), (1, np.nan), (np.nan, 2.0), (-1000000, 3), (0, 1e6), (None, None)]
    for shape in ((40,), (3, 5)):
        for x in layouts(values(dtype, shape)):
            for low, high in bounds:
                same(lambda x: np.clip(x, low, high), x)
            shuffled = np.random.default_rng(1).permutation(x.ravel()).reshape(x.shape)
            high = np.sort(shuffled.ravel()).reshape(x.shape)
            same(lambda x, y, z: (np.clip(x, y, z), np.clip(x, y, 5), np.clip(x, None, z)), x, shuffled, high,
                 fallback=None if dtype in "efd" else False)  # of floats, where they lie alike

            def into(x):
                result = np.clip(x, 1, 3, out=x)
                return result is x, x + 1
            same(into, x)


@pytest.mark.parametrize("dtype", "FD")
def test_complex(dtype):
    for shape in ((7,), (3, 5), (3, 4, 2)):
        for x in layouts(values(dtype, shape)):
            back = None if min(x.strides) < 0 else False
            same(lambda x: (x.conj(), x.conjugate(), np.iscomplex(x), np.isreal(x)), x)
            same(lambda x: (x * x.conj(), x * x[..., :1], np.square(x) + 1), x, fallback=back)
    same(lambda x, y: x[:, None] * y.ravel(), values(dtype, (4,)), values(dtype, (2, 3)))
    same(lambda x: x.conj() is x, np.arange(4.0))


@pytest.mark.parametrize("dtype", "fdilD")
def test_out_and_where(dtype):
    for shape in ((40,), (3, 5)):
        x, z = values(dtype, shape), (values(dtype, shape, 1).real > 0).astype(dtype)
        mask = np.random.default_rng(2).random(shape) < 0.5
        out = np.full(shape, 9).astype(np.divide(x, x + 1).dtype)
        same(lambda x, z, out: np.divide(x, z, out=np.full(x.shape, 9.0).astype(out.dtype), where=z != 0), x, z, out)

        def divided(x, z, out, mask):
            result = np.divide(x, z, out=out, where=mask)
            return result is out, out + 1
        same(divided, x, z, out, mask)
        same(lambda x, mask: (np.add(x, x, out=x, where=mask), x * 2), x, mask)
        same(lambda x, mask: np.multiply(x, 2, where=mask[..., :1], out=np.zeros_like(x)), x, mask)
        same(lambda x, mask: np.multiply(x, 2, x[::-1], where=mask), x, mask, fallback=None)
    same(lambda x, mask: np.power(x, x - 3, out=x, where=mask), np.arange(6), np.arange(6) > 2, fallback=None)
    same(lambda x, mask: np.add(x, 1, out=x, where=mask), np.arange(6.0), np.ones((2, 6), bool), fallback=None)


@pytest.mark.parametrize("dtype", "dfil")
def test_averages(dtype):
    rng = np.random.default_rng(3)
    for shape in ((7,), (3, 5), (2, 3, 4)):
        x = rng.integers(-9, 9, shape).astype(dtype)
        kind = "f4" if dtype == "f" else "f8"
        for axis in (None, 0, -1):
            whole = rng.random(shape).astype(kind)
            same(lambda x: np.average(x, axis=axis), x)
            same(lambda x, w: np.average(x, axis=axis, weights=w), x, whole)
            same(lambda x, w: np.average(x, axis=axis, weights=w), x, whole * 0, fallback=None)
            if axis is None and x.ndim > 1:
                continue
            n = shape[axis or 0]
            same(lambda x, w: np.average(x, axis=axis, weights=w, keepdims=True), x, rng.random(n).astype(kind))
            if dtype != "f":
                numbers, counts = [float(k + 1) for k in range(n)], np.arange(1, n + 1)
                same(lambda x: (np.average(x, axis=axis, weights=numbers), np.average(x, axis, counts)), x)
                same(lambda x: np.average(x, axis=axis, weights=numbers, returned=True), x)


@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
@pytest.mark.parametrize("dtype", "fd")
def test_sums_of_powers(name, dtype):
    ufunc, rng = getattr(np, name), np.random.default_rng(4)
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 1e30, -1e30, 700, -700], dtype)
    x, y = (np.concatenate([a.ravel(), rng.normal(size=3000).astype(dtype) * 10]) for a in np.meshgrid(special, special))
    with np.errstate(all="ignore"):
        expected = ufunc(x, y)
        results = []
        for tier in (0, 1):
            jitted = pyasc.jit(lambda x, y: ufunc(x, y), tier=tier)
            for _ in range(2):
                results.append(jitted(x, y))
                jitted.wait()
    assert not jitted.report()["fallback"]
    assert all(np.array_equal(r, results[0], equal_nan=True) for r in results)
    eps = np.finfo(dtype).eps
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(results[0][~finite], expected[~finite])
    error = np.abs(results[0][finite] - expected[finite])
    assert (error <= 2 * eps * np.maximum(np.abs(expected[finite]), 0.5)).all()
    same(lambda x, y: ufunc(x, y), x, y, numerics="strict", fallback=None)


@pytest.mark.parametrize("dtype", "fd")
def test_next_floats(dtype):
    info = np.finfo(dtype)
    special = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, info.max, -info.max, info.tiny,
                        info.smallest_subnormal, -info.smallest_subnormal], dtype)
    x, y = (a.ravel() for a in np.meshgrid(special, special))
    same(lambda x, y: (np.nextafter(x, y), np.spacing(x), np.nextafter(x, 0)), x, y)
    same(lambda x, y: (np.nextafter(x, y), np.spacing(x)), x.astype("f2"), y.astype("f2"), fallback=None)


@pytest.mark.parametrize("asked", ["f4", np.float64, "i2", int, "D"])
@pytest.mark.parametrize("dtype", "bhlfdD")
def test_dtypes_of_ufuncs(asked, dtype):
    x, y = values(dtype, (3, 5)), values(dtype, (5,), 1)
    numbers = np.dtype(asked).kind == np.dtype(dtype).kind or np.can_cast(dtype, asked, "same_kind")
    for function in (lambda x, y: np.add(x, y, dtype=asked), lambda x, y: np.multiply(x.T, 2, dtype=asked),
                     lambda x, y: np.negative(x[::2], dtype=asked)):
        same(function, x, y, fallback=False if numbers else None)
    same(lambda x, y: np.less(x, y, dtype=bool), x, y, fallback=None)
    same(lambda x, y: np.true_divide(x, y, dtype="f8"), x, y, fallback=None)


def test_sums_of_float16_in_other_dtypes():
    x = np.random.default_rng(6).normal(size=(40, 6)).astype("f2")
    for asked in ("f4", np.float64):
        same(lambda x: (x.mean(dtype=asked), x.sum(0, dtype=asked), np.mean(x, axis=1, dtype=asked)), x, numerics="strict")


def test_differences_of_differences():
    for dtype in "?ild":
        x = values(dtype, (6, 7)) if dtype != "?" else np.random.default_rng(0).random((6, 7)) < 0.5
        for n in (1, 2, 3, 5, 6, 7):
            for axis in (0, -1):
                same(lambda x: np.diff(x, n=n, axis=axis), x, fallback=False if n < x.shape[axis] and dtype != "?" else None)
