"""Copies: of their own memory, in NumPy's order of axes, made with what they copy or what reads them."""
import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made

LAYOUTS = list(layouts("f8"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_copies(dtype, layout):
    def copies(x):
        return x.copy(), np.copy(x), np.array(x), x.copy(order="K"), x.copy("A"), x.copy("F")

    def casts(x):
        return x.astype(x.dtype), x.astype(x.dtype, copy=False), np.asarray(x), np.asarray(x, np.complex128)

    def flat(x):
        return x.flatten(), x.ravel(), x[0:1].ravel(), x[:, 0].flatten(), x[:, 1:2].ravel()

    def packed(x):
        return np.ascontiguousarray(x), np.asfortranarray(x), np.ascontiguousarray(x[::2])

    x = layouts(dtype)[layout]
    for function in (copies, casts, flat, packed):
        check(function, (x,), compiled=False)


def test_nothing_is_called():
    def copies(x):
        y = x.copy()
        z = np.copy(y + 1)
        w = np.array(z) * 2
        y[0] = 3
        return y, z, w, w.copy(), x.astype(np.float64), (x + 1).flatten(), np.array(x[::2])

    check(copies, (made("f8"),), (made("f8", (100,)),))


@pytest.mark.parametrize("n", [3, 100, 5000])
def test_memory_is_the_copy_s_own(n):
    def written(x):
        y = x.copy()
        y += 1
        x[1] = 100
        z = x.copy()
        x[:] = 5
        y[0] = z[1]
        return y, z

    def twice(x):
        y = x.copy()
        z = x.copy()
        y[0] = 1
        z[0] = 2
        w = x.copy()
        return y, z, w

    def of_pending(x):
        y = x + 1
        z = y.copy()
        y *= 2
        z -= 1
        return y, z, y.copy() is y

    def loop(x):
        y = x.copy()
        for i in range(5):
            old = y.copy()
            y[1:-1] = (old[:-2] + old[2:]) / 2
        return y, old

    def untouched(x):
        return x.copy()

    for function in (written, twice, of_pending, loop):
        check(function, (made("f8", (n,)),), (made("f4", (n,)),))
    jitted = pyasc.jit(untouched)
    x = made("f8", (n,))
    for _ in range(3):
        y = jitted(x)
        y[0] = 77
        assert x[0] != 77 and y.base is None and y.flags.owndata and y.flags.writeable


def test_what_is_no_copy():
    def numbers(x):
        return x.sum().copy(), np.array(x.sum()), np.copy(x[0, 0]), np.array(x[0, 0].item())

    def views(x):
        return x.ravel().base is x, np.asarray(x) is x, np.ascontiguousarray(x) is x

    def others(x):
        return np.array(x, ndmin=3), np.array(x, order="F"), np.array(x, copy=False), np.copy(x, "F", True)

    def scalars(x):
        return np.array([1, 2]), np.array([x[0, 0], 2.0]), np.array([[1.0], [x[0, 1]]])

    def bad(x):
        return x.copy("Q")

    def bad_type(x):
        return x.astype("nothing")

    for function in (numbers, views, others, scalars, bad, bad_type):
        check(function, (made("f8"),), compiled=False)
    check(lambda x: x.copy(), (np.array(3.0),), (made(">f8"),), compiled=False)


def test_other_extents():
    def copies(x):
        return x.copy() * 2, np.array(x)

    jitted = pyasc.jit(copies)
    for n in (5, 6, 7, 100, 1):
        x = made("f8", (n,))
        assert all((a == b).all() for a, b in zip(jitted(x), copies(x)))
