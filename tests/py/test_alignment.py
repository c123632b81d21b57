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
