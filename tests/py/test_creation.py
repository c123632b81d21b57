"""Arrays that NumPy makes of constants: made once, unless someone may change or keep them."""
import numpy as np
import pytest

import pyasc
from moves import check, layouts, made
from same import freeze


def test_read():
    def numbers(x):
        n = len(x)
        return (x * np.arange(n), x + np.arange(0, n, 1.0), x * np.linspace(0, 1, n), x[:3] + np.arange(3, dtype="f4"),
                x[:4] * np.geomspace(1, 8, 4), x[:3] - np.array([1, 2, 3]), x * np.hanning(n), x[:2] + np.logspace(0, 1, 2))

    def matrices(x):
        return x * np.eye(5, 7), x[:5, :5] @ np.identity(5), x * np.tri(5, 7, 1), x * np.array([[1.0], [2], [3], [4], [5]])

    def views(x):
        i = np.arange(12).reshape(3, 4)
        return x[:4] * i[1], x[:3] + i[:, 2], i[::-1].sum() + x, np.arange(10)[::2] * x[:5]

    check(numbers, (made("f8", (9,)),), (made("f4", (90,)),))
    check(matrices, (made("f8"),), compiled=False)
    check(views, (made("f8", (9,)),), compiled=False)


def test_kept_or_written():
    def returned(x):
        y = np.arange(5)
        return y, x[:5] + y

    def window(x):
        y = np.arange(10.0)
        return y[2:5], x[:5] * y[:5]

    def written(x):
        y = np.arange(5.0)
        y[1] += 10
        y *= x[:5]
        return y.sum(), x[:5] + y

    def by_call(x):
        y = np.arange(5.0)
        np.put(y, [0], 7)
        np.multiply(x[:5], 2, out=y)
        return y.copy()

    def in_a_loop(x):
        y = np.arange(5.0)
        for i in range(10):
            y = y * 0.5 + x[:5]
            z = np.linspace(0, 1, 5)
            z[1:] = z[:-1] + y[1:]
        return y, z

    def sorted_in_place(x):
        y = np.array([3.0, 1.0, 2.0])
        y.sort()
        return y * x[:3]

    def reshaped(x):
        return np.arange(6).reshape(2, 3), x[:6].reshape(2, 3) * np.arange(6).reshape(2, 3)

    def in_a_list(x):
        return [np.eye(2), {"a": np.arange(2) + 0}], x * 2

    for function in (returned, window, written, by_call, in_a_loop, sorted_in_place, reshaped, in_a_list):
        check(function, (made("f8", (9,)),), compiled=False)

    def fresh(x):
        y = np.arange(4.0)
        return y, y + x[:4]

    jitted, x = pyasc.jit(fresh), made("f8", (9,))
    for _ in range(4):
        y, z = jitted(x)
        assert (y == np.arange(4)).all() and (z == y + x[:4]).all()
        y += 100


def test_seen_from_outside():
    seen = []

    def shown(x):
        y = np.arange(4.0)
        seen.append(y)
        return x[:4] + y

    jitted, x = pyasc.jit(shown), made("f8", (9,))
    for _ in range(4):
        z = jitted(x)
        assert (z == x[:4] + np.arange(4)).all()
        seen[-1][:] = 50


def test_large_ones():
    def large(x):
        return x * np.arange(len(x))

    def many(x):
        y = x
        for i in range(8):
            y = y + np.linspace(0, i, len(x))
        return y

    check(large, (made("f8", (100000,)),), compiled=False)
    check(many, (made("f8", (30000,)),), compiled=False)


@pytest.mark.parametrize("layout", list(layouts("f8")))
@pytest.mark.parametrize("dtype", ["f8", "i4", "?", "c16", "u1"])
def test_triangles(dtype, layout):
    def triangles(x):
        return np.tril(x), np.triu(x), np.tril(x, 1), np.triu(x, k=-2), np.triu(x + x, 2), np.tril(x, 100), np.triu(x, -100)

    check(triangles, (layouts(dtype)[layout],), compiled=False)
    check(triangles, (made("f8", (3, 4, 5)),), compiled=False)


def test_triangles_are_compiled():
    check(lambda x: (np.tril(x) * 2, np.triu(x, 1)), (made("f8", (20, 20)),), compiled=False)

    def triangles(x):
        return np.tril(x) * 2, np.triu(x, 1)

    check(triangles, (made("f8", (20, 20)),))


@pytest.mark.parametrize("dtype", ["g", "G", ">f8", ">c16", ">i2", "m8[s]"])
def test_dtypes_without_kernels(dtype):
    def kept():
        return np.arange(5, dtype=dtype), np.array([[1, 2], [3, 4]], dtype)[::-1], np.full((2, 3), 1, dtype), np.zeros((3, 2), dtype)

    def written(x):
        y = np.array([1, 2, 3, 4, 5], dtype)
        y[1] = 7
        y[2:] = x[:3]
        y += x
        return y, x + np.arange(5, dtype=dtype)

    for function, args in ((kept, ()), (written, (np.array([3, 1, 4, 1, 5], dtype),))):
        jitted = pyasc.jit(function)
        for _ in range(4):
            assert freeze(jitted(*args)) == freeze(function(*args))


def test_long_doubles():
    def matrices():
        return np.eye(3, dtype="g"), np.tri(3, dtype="g"), np.linspace(0, 1, 5, dtype="g"), np.identity(2, "G"), np.indices((2, 3), "g")

    jitted = pyasc.jit(matrices)
    for _ in range(3):
        assert freeze(jitted()) == freeze(matrices())
