"""cumsum and cumprod: one addition after the other, as NumPy has them."""
import numpy as np
import pytest

import pyasc
from layouts import layouts, made
from same import freeze

DTYPES = "?bhilBHILefdFD"
SHAPES = ((1,), (2,), (7,), (64,), (1030,), (3, 5), (5, 1), (1, 6), (40, 3), (9, 70), (3, 4, 5), (2, 1, 9), (50, 2100))


def same(jitted, plain, *args):
    with np.errstate(all="ignore"):
        expected = freeze(plain(*args))
        for _ in range(3):
            assert freeze(jitted(*args)) == expected, args


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["cumsum", "cumprod"])
def test_layouts(name, tier):
    for axis in (None, 0, -1, 1):
        def plain(x):
            return getattr(x, name)(axis=axis)

        def function(x):
            return getattr(np, name)(x, axis)

        both = pyasc.jit(plain, tier=tier), pyasc.jit(function, tier=tier)
        for k, shape in enumerate(SHAPES):
            if axis == 1 and len(shape) < 2:
                continue
            for dtype in DTYPES if k % 4 == 3 else "ifd":
                for _, x in layouts(made(shape, dtype, k)):
                    same(both[k % 2], (plain, function)[k % 2], x)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8", "?"])
def test_with_their_producer(dtype, tier):
    def plain(x, y):
        z = x + y
        return (z * 2).cumsum(axis=-1), np.cumprod(z + x * 3, axis=0), (x * 1).cumsum(axis=-1) * 2, np.cumsum(z > 3, axis=0)

    jitted = pyasc.jit(plain, tier=tier)
    for k, shape in enumerate(SHAPES + ((3000,), (5, 2500), (2500, 5), (7, 2600, 3), (3, 5, 700))):
        same(jitted, plain, made(shape, dtype, k), made(shape, dtype, k + 1))
    assert tier == 0 or not jitted.report()["fallback"], jitted.report()["reasons"]


def test_are_compiled():
    def plain(x):
        return x.cumsum(axis=0), np.cumprod(x, axis=1), np.cumsum(x[0]), (x * 2).cumsum(axis=1)

    for dtype in "bhilBHILfd":
        jitted = pyasc.jit(plain, tier=1)
        same(jitted, plain, made((30, 20), dtype, 3))
        assert not jitted.report()["fallback"], (dtype, jitted.report()["reasons"])


def test_results_are_arrays_of_their_own():
    def plain(x):
        a = x.cumsum(axis=0)
        a[0] = 1
        b = x.cumsum(axis=0)
        b += 1
        return a, b, x

    jitted = pyasc.jit(plain, tier=1)
    same(jitted, plain, made((20, 30), "d", 2))
    same(jitted, plain, made((20,), "i4", 2))


def test_in_loops():
    def plain(x, n):
        for i in range(n):
            y = np.cumsum(x * (i + 1.0), axis=0)
            x = x - 0.125 * y
        return x

    jitted = pyasc.jit(plain, tier=1)
    same(jitted, plain, made((20, 30), "d", 2), 6)


def test_other_extents_need_no_trace():
    def plain(x):
        return (x * 2).cumsum()

    jitted = pyasc.jit(plain, tier=1)
    for n in (100, 200, 300, 5000, 31):
        same(jitted, plain, made((n,), "d", 2))
    assert not jitted.report()["fallback"]


def test_empty_and_errors():
    jitted = pyasc.jit(lambda x, a: np.cumsum(x, axis=a))
    for _ in range(2):
        assert freeze(jitted(np.empty((0, 3)), 0)) == freeze(np.empty((0, 3)).cumsum(axis=0))
        assert freeze(jitted(np.empty((3, 0), "i4"), 0)) == freeze(np.empty((3, 0), "i4").cumsum(axis=0))
        with pytest.raises(np.exceptions.AxisError):
            jitted(np.ones((2, 3)), 2)


@pytest.mark.parametrize("tier", [0, 1])
def test_threads_change_nothing(tier):
    def plain(x, y):
        z = x * 2 + y
        return (z.argmax(), (x - y).argmin(), z.argmax(axis=0), z.argmin(axis=1), x.argmax(axis=0), x.argmax(axis=1),
                (z + 1).ravel().cumsum(), (x * y).cumsum(axis=0), (x + y).cumprod(axis=1), x.cumsum(axis=0), y.cumsum(axis=1))

    jitted = pyasc.jit(plain, tier=tier, threads=3)
    for shape in ((300, 1000), (1000, 300), (4, 100000), (100000, 4), (300000, 1), (1, 300000)):
        x, y = made(shape, "d", 2), made(shape, "d", 4)
        same(jitted, plain, x, y)
        x[shape[0] // 2, shape[1] // 2] = np.nan
        same(jitted, plain, x, y)


@pytest.mark.parametrize("threads", [1, 2])
def test_long_runs_in_parts(threads):
    def plain(x, y):
        return (x * 2 + y).cumsum(), x.cumsum(), (x + y).reshape(-1, 10).cumsum(axis=0), y.reshape(-1, 3).cumsum(axis=0)

    for tier in (0, 1):
        jitted = pyasc.jit(plain, tier=tier, threads=threads)
        same(jitted, plain, made((1500000,), "d", 2), made((1500000,), "d", 4))
