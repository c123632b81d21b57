"""Elements put at places that arrays of integers name, and added there."""
import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made
from nesting import load
from test_gathers import LAYOUTS, indices


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    def put(x, i, v):
        x[i] = v
        y = x[::-1] + v[0]
        y[i] = 1
        y[i[:2]] = x[i[:2]]
        return y

    def own(x, i, v):
        y = x.copy()
        y[i] = v
        return y, x

    def more(x, i, v):
        y = x.copy()
        y[i] += v
        y[i] *= v
        return y

    for function in (put, own, more):
        check(function, (made(dtype, (9,)), indices(9, 6), made(dtype, (6,))),
              (made(dtype, (900,)), indices(900, 1200), made(dtype, (1200,))), compiled=False)


@pytest.mark.parametrize("layout", [name for name in LAYOUTS if name != "broadcast"])
def test_layouts(layout):
    def rows(x, i, v):
        x[i] = v[:, :x.shape[1]]
        x[i] = v[0, :x.shape[1]]
        x[i[:1]] = 7
        return x

    def columns(x, i, v):
        j = i % x.shape[1]
        x[:, j] = v[:x.shape[0], :4]
        x[i, j] = v[0, :4]
        x[1, j] = 2.5
        x[i, 0] = -1
        x[1:3, j] += 1
        return x

    def window(x, i, v):
        y = x[1:, ::-1]
        y[i % 5] = v[:4, :x.shape[1]]
        return y, x

    x = layouts("f8")[layout].copy() if False else layouts("f8")[layout]
    args = x, indices(6, 4), made("f8", (8, 9))
    for function in (rows, columns, window):
        check(function, (args[0], args[1], args[2][:4] if function is rows else args[2]), compiled=False)


def test_which_one_stays():
    def put(x, i, v):
        x[i] = v
        return x

    def square(x, i, v):
        x[i.reshape(5, 4)] = v.reshape(5, 4)
        return x

    def turned(x, i, v):
        x[i.reshape(5, 4).T] = v.reshape(4, 5)
        return x

    def backwards(x, i, v):
        x[i[::-1]] = v
        return x

    def augmented(x, i, v):
        x[i] += v
        x[i] -= 2 * v
        return x

    args = made("f8", (3,)), indices(3, 20), made("f8", (20,))
    for function in (put, square, turned, backwards, augmented):
        check(function, args, compiled=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_at(dtype):
    def added(x, i, v):
        np.add.at(x, i, v)
        y = x + x
        np.add.at(y, i, v[0])
        return x, y

    def taken_off(x, i, v):
        np.subtract.at(x, i, v)
        return x

    def others(x, i, v):
        np.maximum.at(x, i, v)
        np.multiply.at(x, i, 2)
        return x

    def rows(x, i, v):
        y = np.zeros((9, 4), x.dtype)
        np.add.at(y, (i % 9, i % 4), v)
        np.add.at(y, i % 9, y[:20])
        return y

    args = made(dtype, (5,)), indices(5, 20), made(dtype, (20,))
    for function in (added, taken_off, others, rows):
        check(function, args, compiled=False)


def test_put():
    def put(x, i, v):
        np.put(x, i, v)
        x.put(i[:2], 7.0)
        return x

    def short(x, i, v):
        np.put(x, i, v[:2])
        return x

    def modes(x, i, v):
        np.put(x, i + 20, v, mode="wrap")
        x.put(i, v, "clip")
        return x

    def square(x, i, v):
        y = x.reshape(3, 3)
        np.put(y, i, v)
        return y

    args = made("f8", (9,)), indices(9, 6), made("f8", (6,))
    for function in (put, short, modes, square):
        check(function, args, compiled=False)


def test_nothing_is_called():
    def steps(x, i, v):
        y = x * 2
        y[i] = v
        y[i] += v
        y[i[:2]] = 0
        np.add.at(y, i, v)
        np.subtract.at(y, i, 1.5)
        np.put(y, i, v)
        return y

    check(steps, (made("f8", (9,)), indices(9, 6), made("f8", (6,))))


def test_errors():
    def put(x, i, v):
        x[1] = 5
        x[i] = v
        return x

    def caught(x, i, v):
        try:
            x[i] = v
        except IndexError as error:
            return str(error), x

    def at(x, i, v):
        x += 1
        np.add.at(x, i, v)
        return x

    def shapes(x, i, v):
        x[i] = v[1:]
        return x

    good = indices(9, 6)
    bad = good.copy()
    bad[3] = 9
    x, v = made("f8", (9,)), made("f8", (6,))
    for function in (put, caught, at, shapes):
        check(function, (x, good, v), (x, bad, v), (x, good, v), compiled=False)
    readonly = made("f8", (9,))
    readonly.flags.writeable = False
    with pytest.raises(ValueError):
        pyasc.jit(lambda x, i, v: put(x, i, v))(readonly, good, v)


def test_memory():
    def own_values(x, i):
        x[i] = x[:6]
        x[i] = x[i[::-1]]
        return x

    def own_indices(i):
        i[i] = i[::-1]
        return i

    def later(x, i):
        y = x[i]
        x[i] = 0.5
        z = x.copy()
        x[i] = y
        return y, z

    def converted(x, i):
        x[i] = i
        x[i] = np.float32(2.5)
        x[i] = x.sum()
        x[i] = True
        return x

    check(own_values, (made("f8", (9,)), indices(9, 6)), compiled=False)
    check(own_indices, (np.abs(indices(9, 9)),), compiled=False)
    check(later, (made("f8", (9,)), indices(9, 6)), compiled=False)
    check(converted, (made("f8", (9,)), indices(9, 6)), (made("f4", (9,)), indices(9, 6)), compiled=False)
    x = made("f8", (9,))
    i = np.arange(18).view("f8")[:9].view("i8") % 9
    both = np.zeros(9)
    check(lambda x, i: (x.__setitem__(i, 1.0), x)[1], (both, both.view("i8")), (x, i), compiled=False)


def test_in_loops():
    def loop(x, i, v):
        for k in range(10):
            x[i] = x[i] * 0.5 + v
        return x

    def histogram(x, i, v):
        for k in range(6):
            np.add.at(x, i[k:], v[k:])
        return x

    for function in (loop, histogram):
        check(function, (made("f8", (9,)), indices(9, 6), made("f8", (6,))), compiled=False)


@pytest.mark.parametrize("number", [0.1, 0.5, 16777217, True, 3])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "u8", "u4"])
def test_numbers_added(dtype, number):
    """np.add.at takes Python's numbers for float64 and int64."""
    def added(x, i):
        np.add.at(x, i, number)
        np.subtract.at(x, i[:1], number)
        x[i] += 1
        return x

    for start in range(3):
        x = ((np.arange(5) + start) * 1.37 + 1).astype(dtype)
        check(added, (x, np.array([0, 2, 2])), (x[:4], np.array([1, 2, 2])), compiled=False)


def test_errors_of_calls_without_results():
    """What is out of range is told even if no one needs the array."""
    def added(x, i):
        y = x * 2
        np.add.at(y, i, 1)
        return x

    def maximum(x, i):
        y = x * 2
        np.maximum.at(y, i, 1)
        return x

    def parts(x, i):
        np.add.reduceat(x, i)
        return x

    x = made("f8", (5,))
    for function in (added, maximum, parts):
        check(function, *((x, np.array(i)) for i in ([0, 1], [2, 3], [4, 9], [1, 2])), compiled=False)


@pytest.mark.parametrize("dtype", DTYPES + ["u4", "u8"])
def test_other_ufuncs_at(dtype):
    def f(x, i, v):
        np.multiply.at(x, i, v)
        np.maximum.at(x, i[::-1], v)
        np.minimum.at(x[1:], abs(i[:5]) % 8, v[:5])
        np.maximum.at(x, [0, 0, 1], v[3])
        return x

    x, v = made(dtype, (9,)), made(dtype, (30,), 4)
    compiled = dtype in ("f8", "f4", "i8", "i4", "u4", "u8")
    check(f, (x, indices(9, 30), v), (x[::-1], indices(9, 30), v * 2 if dtype != "?" else v), compiled=compiled)
    if dtype in ("f8", "f4"):
        special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1, -1, np.nan, 0.0] * 4, dtype)[:30]
        for seed in range(5):
            mixed = np.random.default_rng(seed).permutation(special)
            check(f, (mixed[:9], indices(9, 30), mixed), (x, indices(9, 30), mixed))


@pytest.mark.parametrize("key", ["i, :", ":, i", "1:, i", ":, i, ::2", "i, :, j", ":, i[:, None], j[:3]", "i, 1:, 2", ":, 1, j", "[0, 0, 1], :", "..., i"])
def test_slices_beside_places(key, tmp_path):
    f = load(f"def f(x, i, j, v):\n    np.add.at(x, np.s_[{key}], v)\n    np.maximum.at(x, np.s_[{key}], 2)\n    return x, x[{key}]\n",
             tmp_path, np=np)
    x, i, j = made("f8", (5, 5, 5)), np.array([0, 4, 0, 2, 2]), np.array([1, 1, 3, -1, 0])
    v = np.random.default_rng(1).random(x[eval(f"np.s_[{key}]", {"np": np, "i": i, "j": j})].shape)
    check(f, (x, i, j, v), (x.T, i, j, v * 2), (x, j, i, v[..., :1]), compiled="..." not in key)
