"""Rows whose arrays begin anywhere within a line of the caches: turns before the first whole line, and behind the last."""
import numpy as np
import pytest

import pyasc

LINE = 64


def at(values, offset):
    """A copy that begins `offset` bytes behind the start of a line."""
    memory = np.empty(values.nbytes + 2 * LINE, "u1")
    start = -memory.ctypes.data % LINE + offset
    place = memory[start : start + values.nbytes].view(values.dtype).reshape(values.shape)
    place[...] = values
    return place


def some(dtype, shape, seed):
    rng = np.random.default_rng(seed)
    if dtype == "?":
        return rng.random(shape) < 0.5
    return rng.integers(1, 100, shape).astype(dtype) if np.dtype(dtype).kind != "c" else (rng.normal(size=shape) + 1j).astype(dtype)


def combined(x, y, z):
    return x + y * z


def masked(x, y, z):
    return x ^ y & z


def in_place(x, y, z):
    x += y
    z[...] = x * y


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "?bhilefdFD")
def test_offsets(dtype, tier):
    if dtype == "?":
        functions = (masked,)
    else:
        functions = (combined, in_place)
    size = np.dtype(dtype).itemsize
    lanes = LINE // size
    rng = np.random.default_rng(7)
    for plain in functions:
        jitted = pyasc.jit(plain, tier=tier)
        for n in (64 * lanes - 1, 64 * lanes, 65 * lanes + 3, 70 * lanes + lanes // 2, 200 * lanes + 1):
            values = [some(dtype, n, k) for k in range(3)]
            for _ in range(12):
                offsets = rng.integers(0, lanes, 3) * size
                theirs, ours = ([at(v, o) for v, o in zip(values, offsets)] for _ in range(2))
                with np.errstate(all="ignore"):
                    expected, result = plain(*theirs), jitted(*ours)
                assert expected is None or expected.tobytes() == result.tobytes()
                assert [a.tobytes() for a in theirs] == [a.tobytes() for a in ours], (n, offsets)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2"])
def test_rows(dtype):
    """Each row begins elsewhere; nothing outside of the rows is written."""
    def plain(x, out):
        out[1:-1, 1:-1] = x[1:-1, 1:-1] + (x[2:, 1:-1] + x[:-2, 1:-1] + x[1:-1, 2:] + x[1:-1, :-2])

    jitted = pyasc.jit(plain, tier=1)
    for width in (1030, 1037, 4099):
        x = some(dtype, (7, width), width)
        for offset in (0, 4 * x.itemsize, 7 * x.itemsize):
            theirs, ours = ([at(x, offset), at(np.zeros_like(x), 16)] for _ in range(2))
            plain(*theirs)
            jitted(*ours)
            assert theirs[1].tobytes() == ours[1].tobytes()


def test_addresses_that_are_not_those_of_the_dtype():
    jitted = pyasc.jit(combined, tier=1)
    for offset in (1, 3, 6):
        values = [at(some("f8", 5000, k), offset) for k in range(3)]
        assert jitted(*values).tobytes() == combined(*values).tobytes()


def test_results_past_the_caches():
    """The result is where its own lines begin."""
    def plain(x, y):
        return x[1:] * 2 + y[:-1]

    x, y = (at(some("f4", 9_000_003, k), 4 * k) for k in range(2))
    jitted = pyasc.jit(plain, tier=1)
    for _ in range(3):
        assert jitted(x, y).tobytes() == plain(x, y).tobytes()


REDUCTIONS = {
    "f8": (np.max, np.min, np.argmax, np.argmin, lambda x: (x * 2).max()),
    "f4": (np.max, np.min, np.argmax, np.argmin, lambda x: (x + x).min()),
    "i4": (np.max, np.min, np.sum, np.argmax, lambda x: (x * x).sum(), np.prod),
    "u1": (np.max, np.min, np.argmin, lambda x: (x ^ 3).max()),
    "?": (np.any, np.all, lambda x: (~x).any(), np.argmax),
}


@pytest.mark.parametrize("dtype", REDUCTIONS)
def test_reductions(dtype):
    size = np.dtype(dtype).itemsize
    rng = np.random.default_rng(3)
    for plain in REDUCTIONS[dtype]:
        jitted = pyasc.jit(plain, tier=1, numerics="strict")
        for n in (64 * LINE // size, 64 * LINE // size + 5, 20_000, 3 * 64 * LINE // size - 1):
            for trial in range(8):
                values = some(dtype, n, trial)
                if dtype == "?":
                    values[:] = trial % 2
                values[rng.integers(0, n)] = 0
                values[rng.integers(0, n)] = 1
                x = at(values, int(rng.integers(0, LINE // size)) * size)
                expected, result = plain(x), jitted(x)
                assert type(expected) is type(result) and expected.tobytes() == result.tobytes(), (n, trial)


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_greatest_of_zeros_and_nans(dtype):
    """No address shows: zeros are in order, and a NaN is NumPy's own."""
    jitted = [pyasc.jit(f, tier=1) for f in (np.max, np.min)]
    rng = np.random.default_rng(5)
    for n in (100, 3000, 5000):
        zeros = np.where(rng.random(n) < 0.5, 0.0, -0.0).astype(dtype)
        zeros[[0, -1]] = 0.0, -0.0
        some_nan = rng.random(n).astype(dtype)
        some_nan[rng.integers(0, n, 3)] = -np.nan
        for f, plain in zip(jitted, (np.max, np.min)):
            results = {(f(at(zeros, o)), f(at(zeros, o)))[1].tobytes() for o in range(0, LINE, zeros.itemsize)}
            assert len(results) == 1
            for offset in range(0, LINE, zeros.itemsize):
                x = at(some_nan, offset)
                assert f(x).tobytes() == plain(x).tobytes()


def test_results_with_the_reduction_of_them():
    """Elements are stored before the first line, too, and nothing else."""
    def plain(x, out):
        out[3:-3] = x * 2
        return out[3:-3].max()

    def both(x):
        y = x * 3
        return y, y.min()

    for function, n in ((plain, 2), (both, 1)):
        jitted = pyasc.jit(function, tier=1)
        for offset in (0, 8, 24, 56):
            x = at(some("f8", (6, 5000), offset), offset)
            outs = [at(np.zeros(30_006), 16) for _ in "ab"]
            args = ((x.reshape(-1), outs[0]), (x.reshape(-1), outs[1])) if n == 2 else ((x,), (x,))
            for _ in range(3):
                expected, result = function(*args[0]), jitted(*args[1])
            assert outs[0].tobytes() == outs[1].tobytes()
            if n == 1:
                assert expected[0].tobytes() == result[0].tobytes() and expected[1] == result[1]
            else:
                assert expected == result
