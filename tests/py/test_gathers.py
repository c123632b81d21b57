"""Elements taken from places that arrays of integers name: steps of plans, with NumPy's errors."""
import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made
from same import outcome

LAYOUTS = [name for name in layouts("f8") if name != "empty"]


def indices(n, shape, seed=0, dtype="i8"):
    return np.random.default_rng(seed).integers(-n if np.dtype(dtype).kind == "i" else 0, n, shape).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    def one(x, i):
        return x[i], np.take(x, i), x.take(i), x[::2][i % 3], x[i] + x[i]

    def two(x, i):
        return x[i], x[:, i], x[i, i], x[1:, i], x[i, ::2], np.take(x, i, 0), np.take(x, i, axis=1), x[..., i]

    check(one, (made(dtype, (9,)), indices(9, 5)), (made(dtype, (900,)), indices(900, 700)))
    check(two, (made(dtype, (6, 8)), indices(6, 5)), (made(dtype, (60, 80)), indices(60, 70)))


@pytest.mark.parametrize("dtype", ["g", "G"])
def test_dtypes_of_numpy_alone(dtype):
    def f(x, i):
        return x[i], np.take(x, i), x[i] + 1

    jitted = pyasc.jit(f)
    for _ in range(3):
        args = np.arange(9).astype(dtype), indices(9, 5)
        assert outcome(jitted, *args) == outcome(f, *args)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_layouts(layout):
    x = layouts("f8")[layout]
    n, m = x.shape

    def leading(x, i, j):
        return x[i], x[i, j], x[i[:, None], j], x[i][:, ::-1], x[i[::-1]], x[i[::2]]

    def columns(x, i, j):
        return x[:, j], x[::-1, j], x[2:5, j], x[..., j], x[:, j[::-1]]

    def number(x, i, j):
        return x[1, j], x[i, 0], x[-1, j], x[i, -1]

    args = x, indices(n, 4), indices(m, 4)
    for function in (leading, columns, number):
        check(function, args)


@pytest.mark.parametrize("first", ["C", "F", "strided", "row"])
def test_layouts_of_indices(first):
    i = indices(6, (3, 4))
    i = {"C": i, "F": np.asfortranarray(i), "strided": indices(6, (6, 8))[::2, ::2], "row": i[:1]}[first]
    x, y = made("f8", (6, 8)), made("f8", (6, 7, 8))

    def plain(x, i):
        return x[i], x[i, i], x[:, i], np.take(x, i, 1)

    def cube(y, i):
        return y[i], y[:, i], y[:, :, i], y[i, i], y[:, i, i], y[i, :, i], y[0, :, i], y[i, :, 0]

    check(plain, (x, i))
    check(cube, (y, i))


@pytest.mark.parametrize("dtype", ["i8", "i4", "i2", "i1", "u8", "u4", "u1"])
def test_dtypes_of_indices(dtype):
    def plain(x, i):
        return x[i], x[i, i], np.take(x, i), x[:, i] + 1

    check(plain, (made("f8", (6, 8)), indices(6, 5, dtype=dtype)), compiled=False)
    jitted = pyasc.jit(lambda x, i: x[i] + 1, tier=1)
    x, i = made("f8", (6,)), indices(6, 5, dtype=dtype)
    for _ in range(2):
        assert (jitted(x, i) == x[i] + 1).all()
    assert not jitted.report()["fallback"]


def test_lists():
    def lists(x):
        return x[[0, 2, -1]], x[:, [1]], x[[0, 1], [2, 3]], x[[3]] * 2

    def others(x):
        return x[[True, False, True, False, True]], x[[[0, 1], [1, 0]]], x[[]], x[(1, 2)], x[[0], None]

    check(lists, (made("f8"),), (made("i4"),))
    check(others, (made("f8"),), compiled=False)


def test_out_of_range():
    def get(x, i):
        return x[i]

    def columns(x, i):
        y = x * 2
        return y[:, i]

    def pair(x, i):
        return x[i, i]

    def taken(x, i):
        return np.take(x, i, axis=0)

    def wrapped(x, i):
        return np.take(x, i % 99, axis=0, mode="wrap"), x.take(i, mode="clip")

    def written(x, i):
        x[0] = 100
        return x[i]

    def caught(x, i):
        try:
            return x[i]
        except IndexError as error:
            return str(error)

    good, x = indices(5, 4), made("f8", (5, 6))
    for bad in (5, -6, 1 << 62, -(1 << 62), np.iinfo("i8").max, np.iinfo("i8").min):
        wrong = good.copy()
        wrong[2] = bad
        for function in (get, columns, pair, taken, wrapped, written, caught):
            check(function, (x, good), (x, wrong), (x, good), compiled=False)
        two = np.array([[0, bad], [7, 0]])
        check(get, (x, two), compiled=False)


def test_in_loops():
    def loop(x, i):
        y = x * 1.0
        for k in range(20):
            y = y[i] + 0.5
        return y

    def until(x, i):
        y = x * 1.0
        for k in range(20):
            y = y[i + k] + 0.5
        return y

    check(loop, (made("f8", (9,)), indices(9, 9)), compiled=False)
    check(until, (made("f8", (9,)), np.abs(indices(3, 9))), compiled=False)


def test_chains():
    def chain(x, i):
        return (np.sqrt(abs(x[i])) * 2 + 1)[i].sum()

    def rows(x, i):
        y = x[i]
        return (y - y.max(axis=1, keepdims=True)).sum(axis=1)

    def of_itself(i):
        return i[i], i[i[i]]

    def stays(x, i):
        y = x[i]
        x[0] = 5
        y[0] = 6
        return y, x[i]

    check(chain, (made("f8", (50,)), indices(50, 50)), compiled=False)
    check(rows, (made("f8", (50, 6)), indices(50, 70)), compiled=False)
    check(of_itself, (indices(9, 9) % 9,))
    check(stays, (made("f8", (50,)), indices(50, 50)))


def test_nothing_there():
    def empty(x, i):
        return x[i], x[:, i], x[i[:0]], np.take(x, i, 0)

    check(empty, (made("f8"), np.zeros(0, "i8")), compiled=False)
    check(empty, (made("f8", (0, 4)), np.zeros(0, "i8")), compiled=False)
    check(lambda x, i: x[i], (made("f8"), np.array(2)), (made("f8"), np.int64(1)), compiled=False)
    check(lambda x, i: x[i], (made(">f8"), indices(5, 4)), (made("f8"), indices(5, 4).astype(">i8")), compiled=False)


def test_along_an_axis():
    def sorted_rows(x):
        return np.take_along_axis(x, np.argsort(x, axis=1), axis=1), np.take_along_axis(x, np.argsort(x, 0), 0)

    def maximum(x):
        return np.take_along_axis(x, np.argmax(x, axis=-1, keepdims=True), axis=-1)

    for layout in LAYOUTS:
        check(sorted_rows, (layouts("f8")[layout],), compiled=False)
        check(maximum, (layouts("f8")[layout],), compiled=False)
    assert outcome(pyasc.jit(lambda x: np.take_along_axis(x, x, 0)), made("f8"))[0] == "raised"


@pytest.mark.parametrize("dtype", ["i4", "u8", "i8"])
def test_indices_in_other_orders(dtype):
    """Results lie, and errors come, in the order in which NumPy goes through the indices."""
    def taken(x, i):
        return x[i], x[None, i]

    def put(x, i):
        x[i] = i.ravel()[::-1].reshape(i.shape)
        return x

    x, i = made("f8", (9,)), np.arange(6).astype(dtype)
    many = [i[::-1], np.broadcast_to(i, (2, 6)), i.reshape(2, 3).T, i.reshape(2, 3)[::-1, ::-1], i[::-1] * 2]
    for indices_ in many:
        for function in (taken, put):
            check(function, (x, indices_), (x[:3], indices_), compiled=False)
