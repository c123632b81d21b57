"""Ufuncs with out, where, dtype and casting, compared with NumPy."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made


def outs(o, n, m):
    r = np.add(n, 1, out=o)
    s = np.full(n.shape, 9, dtype=np.int16)
    np.multiply(n, 2, out=s, casting="unsafe")
    np.negative(n, out=s, where=n > 1, casting="unsafe")
    np.subtract(m, n, o)
    np.maximum(n, m[0], out=o[:1])
    np.multiply(m, n, out=m, where=m > n)
    np.add(m, [1, 2, 3], out=(o,))
    return r, s, o, m


def dtypes(x, i):
    return (np.add(x, i, dtype="f4", casting="same_kind"), np.multiply(i, 2, dtype=np.float64), np.sqrt(i % 7, dtype="f4"),
            np.add(x, 1, dtype=np.float32), np.multiply(i, i, dtype="i4", casting="same_kind"), np.divide(i, 3, dtype="f8"))


def test_out():
    for dtype in ("i8", "i4", "i2"):
        n = made(dtype, (3,))
        check(outs, (np.zeros((2, 3)), n, made("f8", (2, 3))), (np.zeros((2, 3)), n, made("f4", (2, 3))))
        check(outs, (np.zeros((3, 2)).T, n, made("f8", (2, 3))), (np.zeros((4, 6))[::2, ::2], n, made("f8", (3, 2)).T))


def test_dtype():
    check(dtypes, (made("f8", (5, 7)), made("i8", (5, 7))), (made("f8", (7, 5)).T, made("i4", (7, 5)).T))
    check(dtypes, (made("f4", (7,)), made("i8", (7,))))


def test_where_over_itself():
    def f(x, m):
        np.multiply(x[:-1], x[1:], out=x[1:], where=m)
        np.sqrt(abs(x), out=x, where=x > 2)
        np.add(x, x[::-1], out=x[::-1], where=x > 0)
        return x

    check(f, (made("f8", (9,)), made("?", (8,))), (made("f4", (9,)), made("?", (8,), 2)))


@pytest.mark.parametrize("dtype", DTYPES)
def test_all_dtypes(dtype):
    def f(x, y, o):
        np.add(x, y[0], out=o, casting="unsafe")
        np.multiply(x, y, out=o, where=y != 0, casting="unsafe")
        return o

    for to in DTYPES:
        check(f, (made(dtype, (3, 4)), made(dtype, (3, 4), 1), made(to, (3, 4), 2)), compiled=False)


def test_layouts():
    def f(x, o):
        np.add(x[0], 1, out=o)
        np.multiply(o, x, out=o, where=x > 0)
        return o

    for x in layouts("f8").values():
        for o in layouts("f8").values():
            if x.shape == o.shape == (6, 8):
                check(f, (x, o), compiled=False)


def test_what_numpy_refuses():
    def f(x, o, k):
        try:
            return [lambda: np.add(x, 1, out=o), lambda: np.add(x, x, o, casting="no"), lambda: np.add(x, 1, out=o, where=[1]),
                    lambda: np.add(x[:2], 1, out=o), lambda: np.add(x, 1, dtype="U3"), lambda: np.add(x, 1, out=o, dtype="i4"),
                    lambda: np.add(x, 1, where=x > 0, out=o), lambda: np.add(x, 1, out=3), lambda: np.add(x, 1, bad=3)][k]()
        except Exception as error:
            return type(error).__name__, str(error)

    for k in range(9):
        for o in (np.zeros(3, "i4"), np.zeros((3, 2)), np.zeros(3, "f4"), np.zeros((2, 3))):
            check(f, (made("f8", (3,)), o, k), compiled=False)
