"""Arrays put together from others: every part is computed where it belongs."""
import itertools

import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made

LAYOUTS = list(layouts("f8"))


@pytest.mark.parametrize("first, second", list(itertools.product(LAYOUTS, LAYOUTS)))
def test_layouts(first, second):
    def joined(x, y):
        return np.concatenate((x, y)), np.concatenate([y, x], 0)

    def beside(x, y):
        return np.concatenate([x, y], axis=1), np.concatenate([x, y], -1), np.hstack([x, y]), np.vstack([x, y])

    def stacked(x, y):
        return np.stack([x, y]), np.stack([x, y], 1), np.stack((x, y), axis=-1), np.array([x, y])

    x, y = layouts("f8")[first], layouts("f8")[second]
    for function in (joined, beside, stacked):
        check(function, (x, y), compiled=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    def flat(x, y):
        return (np.concatenate([x, y]), np.hstack((x, y, x)), np.vstack([x, x]), np.column_stack([x, x * 2]),
                np.stack([x, x]), np.append(x, y), np.append(x, 1), np.append(x, 1.5), np.tile(x, 3),
                np.column_stack([x, np.stack([x, x], 1)]))

    def pending(x, y):
        return np.concatenate([x + x, y * y, x]), np.stack([x + x, x * x])

    for other in ("f8", "f4", "i4", dtype):
        check(flat, (made(dtype, (7,)), made(other, (7,))))
        check(pending, (made(dtype, (7,)), made(other, (9,))))


def test_memory():
    def written(x):
        y = np.concatenate([x, x + 1])
        x[0] = 50
        y[1] = 60
        z = np.stack([y, y])
        z[0, 0] = 70
        return y, z, np.concatenate([x])

    def views(x):
        y = np.concatenate([x[1:], x[:1]])
        x[:] = np.concatenate([x[1:], x[:1]])
        return y

    def grows(x):
        y = x
        for i in range(4):
            y = np.append(y, y[-1] + 1)
        return y

    for function in (written, views, grows):
        check(function, (made("f8", (6,)),), (made("f4", (600,)),), compiled=False)
    x = made("f8", (4,))
    jitted = pyasc.jit(lambda x: np.concatenate([x]))
    y = jitted(x)
    y[0] = 99
    assert x[0] != 99


def test_refused():
    def shapes(x, y):
        return np.concatenate([x, y])

    def axis(x, y):
        return np.concatenate([x, x], 2)

    def none(x, y):
        return np.concatenate([])

    def stacked(x, y):
        return np.stack([x, y])

    def numbers(x, y):
        return np.concatenate([x, 1.0])

    def sums(x, y):
        return np.hstack([x.sum(), y.sum()]), np.append(x, x.sum()), np.vstack([x[0], y[0, :1].sum()])

    def typed(x, y):
        return np.concatenate([x, x], dtype=np.float32), np.concatenate([x, x], axis=None)

    for function in (shapes, axis, none, stacked, numbers, sums, typed):
        check(function, (made("f8"), made("f8", (5, 6))), compiled=False)
    check(shapes, (np.array(1.0), np.array(2.0)), (made(">f8"), made("f8")), compiled=False)


def test_out():
    def into(x, y):
        np.concatenate([x, x], out=y)
        return y

    def list_of_one(x, y):
        parts = []
        for i in range(3):
            parts.append(x * i)
        return np.concatenate(parts), np.array(parts)

    for function in (into, list_of_one):
        check(function, (made("f8", (3,)), made("f8", (6,))), compiled=False)


def test_pad_of_a_column():
    """An axis of one element may have any step: the result is in C order."""
    def padded(x):
        return np.pad(x[:, None], 2), np.pad(x[None], 1), np.pad(x[:, None].T, 1)

    check(padded, (made("f8", (5,)),), (made("i4", (1,)),), compiled=False)
