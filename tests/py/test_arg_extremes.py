"""argmax and argmin: kernels of pyasc's own, behind what makes their operand."""
import numpy as np
import pytest

import pyasc
from layouts import layouts, made
from same import freeze

DTYPES = "?bhilBHILfd"
SHAPES = ((1,), (2,), (7,), (64,), (1030,), (3, 5), (5, 1), (1, 6), (40, 3), (9, 70), (4, 600), (3, 4, 5), (2, 1, 9))


def same(jitted, plain, *args):
    expected = freeze(plain(*args))
    for _ in range(3):
        assert freeze(jitted(*args)) == expected, args


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_layouts(name, tier):
    for keepdims in (False, True):
        for axis in (None, 0, -1, 1):
            def plain(x):
                return getattr(x, name)(axis=axis, keepdims=keepdims)

            def function(x):
                return getattr(np, name)(x, axis, keepdims=keepdims)

            methods = pyasc.jit(plain, tier=tier), pyasc.jit(function, tier=tier)
            for k, shape in enumerate(SHAPES):
                if axis == 1 and len(shape) < 2:
                    continue
                for dtype in DTYPES if k % 3 == 0 else "id":
                    for _, x in layouts(made(shape, dtype, k)):
                        same(methods[k % 2], (plain, function)[k % 2], x)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["i4", "u1", "f4", "f8"])
def test_with_their_producer(dtype, tier):
    def plain(x, y):
        z = x + y
        return (z * 2).argmax(), np.argmin(z - x * 3, axis=0), (x + 1).argmax(axis=-1), np.argmax(z > 3)

    jitted = pyasc.jit(plain, tier=tier)
    for k, shape in enumerate(SHAPES + ((3000,), (5, 2500), (2500, 5), (7, 2600, 3), (3, 5, 700))):
        same(jitted, plain, made(shape, dtype, k), made(shape, dtype, k + 1))
    assert tier == 0 or not jitted.report()["fallback"], jitted.report()["reasons"]


def test_are_compiled():
    def plain(x):
        return x.argmax(), np.argmin(x, axis=0), np.argmax(x * 2, axis=1), x.argmin(keepdims=True)

    for dtype in DTYPES:
        jitted = pyasc.jit(plain, tier=1)
        same(jitted, plain, made((30, 20), dtype, 3))
        assert not jitted.report()["fallback"] or dtype == "?", jitted.report()["reasons"]
    strided = pyasc.jit(lambda x: (x[::2].argmax(), x[:, 0].argmin(), x[::-1].argmax(axis=0)), tier=1)
    same(strided, lambda x: (x[::2].argmax() * 0 + x[::2].argmax(), x[:, 0].argmin(), x[::-1].argmax(axis=0)),
         made((30, 20), "d", 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_first_of_equals_and_of_nans(dtype):
    rng = np.random.default_rng(1)
    largest, least = pyasc.jit(lambda x: x.argmax(), tier=1), pyasc.jit(lambda x: x.argmin(), tier=1)
    down = pyasc.jit(lambda x: (x.argmax(axis=0), x.argmin(axis=0)), tier=1)
    for n in (1, 3, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 500, 1025, 4097, 9000, 20000):
        for top in (1, 3, 100):
            x = rng.integers(0, top + 1, n).astype(dtype)
            for _ in range(3):
                assert largest(x) == x.argmax() and least(x) == x.argmin()
                if x.dtype.kind == "f":
                    x[rng.integers(0, n)] = rng.choice([np.nan, np.inf, -np.inf])
        x = np.arange(n).astype(dtype)
        assert largest(x) == x.argmax() and least(x[::-1]) == x[::-1].argmin()
        for m in (2, 3, 5, 16, 33):
            y = rng.integers(0, 3, (n % 400 + 1, m)).astype(dtype)
            if y.dtype.kind == "f":
                y[rng.random(y.shape) < 0.02] = np.nan
            assert freeze(down(y)) == freeze((y.argmax(axis=0), y.argmin(axis=0)))


def test_errors_and_objects():
    jitted = pyasc.jit(lambda x, a: np.argmax(x, axis=a))
    for _ in range(2):
        with pytest.raises(ValueError, match="empty"):
            jitted(np.empty(0), 0)
        with pytest.raises(np.exceptions.AxisError):
            jitted(np.ones((2, 3)), 2)
        assert freeze(jitted(np.empty((0, 3)).T.reshape(0, 3), 1)) == freeze(np.empty((0, 3)).argmax(axis=1))


def test_given_result():
    def plain(x):
        out = np.zeros(x.shape[1], np.intp)
        np.argmax(x * 2, axis=0, out=out)
        out += 1
        k = x.argmax(axis=1)
        k[0] = 7
        return out, k, x.argmax(axis=1), x[x.argmax(axis=0), np.arange(x.shape[1])]

    jitted = pyasc.jit(plain, tier=1)
    same(jitted, plain, made((20, 30), "d", 2))


def test_in_loops():
    def plain(x, n):
        picked = 0
        for i in range(n):
            y = x * (i + 1.0)
            k = np.argmax(y, axis=0)
            x = x - 0.5 * y.mean()
            picked = picked + k
        return picked, x

    jitted = pyasc.jit(plain, tier=1, numerics="strict")
    same(jitted, plain, made((20, 30), "d", 2), 6)


def test_other_extents_need_no_trace():
    def plain(x):
        return (x * 2).argmax()

    jitted = pyasc.jit(plain, tier=1)
    for n in (100, 200, 300, 5000, 31):
        same(jitted, plain, made((n,), "d", 2))
    assert not jitted.report()["fallback"]
