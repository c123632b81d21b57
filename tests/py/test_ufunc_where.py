"""Ufuncs with out, where and dtype: as ops with a store, a select or casts."""
import numpy as np
import pytest

from moves import check, made


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "c16"])
def test_where(dtype):
    x, y, m = made(dtype), made(dtype, seed=1), made("?", seed=2)

    def into_own(x, y, m):
        return np.add(x, y, out=np.zeros_like(x), where=m), np.multiply(x, y, out=x.copy(), where=~m)

    def into_argument(x, y, m):
        return np.subtract(x, y, out=x, where=m) is x, np.negative(y, out=y, where=m[0]) is y

    def broadcast(x, y, m):
        z = np.full((2, 5, 7), 3, x.dtype)
        np.add(x, y[0], out=z, where=m)
        np.multiply(x[0], 2, out=z[1], where=m[:, :1])
        return z

    check(into_own, (x, y, m), (x, x, m))
    check(into_argument, (x, y, m))
    check(broadcast, (x, y, m))


def test_quotients_of_what_is_not_zero():
    def f(x, z):
        return np.divide(x, z, out=np.full(4, 9.0), where=z != 0), np.log(x, out=np.zeros(4), where=x > 0)

    check(f, (np.array([1.0, -2.0, 0.0, 3.0]), np.array([0.0, 2.0, 0.0, -4.0])))


def test_out_of_another_dtype_and_shape():
    def f(x, y):
        a, b = np.empty((3, 5, 7)), np.empty((5, 7), "f4")
        return np.add(x, y, out=a), np.multiply(x, y, b), np.negative(x, out=(b[::-1],)), a, b

    def refused(x, y):
        return np.add(x, y, out=np.empty((5, 7), "i4"))

    def too_small(x, y):
        return np.add(x, y, out=np.empty((1, 7)))

    x, y = made("f8"), made("f8", seed=1)
    check(f, (x, y), (x[:, :1], y[:1]))
    check(f, (made("i4"), made("i2", seed=1)))
    for function in (refused, too_small):
        check(function, (x, y), compiled=False)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1"])
def test_dtype(dtype):
    def f(x, y):
        return np.add(x, y, dtype="f8"), np.multiply(x, 2, dtype=np.float64), np.sqrt(abs(x), dtype="f8")

    def narrower(x, y):
        return np.add(x, y, dtype=np.float32), np.subtract(x, 1.5, dtype="f4"), np.add(x, y, out=np.zeros(x.shape), dtype="f4")

    def refused(x, y):
        return np.add(x, y, dtype="i1")

    x, y = made(dtype), made(dtype, seed=3)
    check(f, (x, y))
    check(narrower, (x, y), compiled=dtype[0] == "f")
    check(refused, (x, y), compiled=False)
