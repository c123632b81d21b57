"""NumPy's functions that move elements, written with others for the tracer (python/pyasc/_written/)."""
import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made
from same import outcome

LAYOUTS = [name for name in layouts("f8") if name not in ("empty", "broadcast")]


def both(function, dtype="f8", layout="C", more=(), compiled=True):
    """With arrays of a dtype and a layout; in both tiers, twice, results, arguments and reports."""
    for numerics in ("strict", "numpy"):
        check(function, (layouts(dtype)[layout], *more), compiled=compiled, numerics=numerics)


def takes(x, i):
    return (np.take(x, i, axis=1), np.take(x, i), np.take(x, i % 4, axis=0, mode="clip"), x.take([13, -20], mode="wrap"),
            x.take([13, -20], mode="clip"), x.take(2, 1), x.take(5), x.take([[0, 1], [2, 2]], axis=-1), x.take(-1, axis=0),
            np.take(x, i.astype("i4"), 1), np.take(x, i * 5, 1, mode="wrap"), np.take(x, 99, mode="wrap"))


def takes_into(x, i, out):
    return np.take(x, i, axis=1, out=out), x.take(i, 1, out), out


def compresses(x, i):
    return (np.compress([True, False, True], x, axis=0), x.compress([1, 0, 1, 0], axis=1), np.extract(x > 0, x),
            np.compress(x[:, 0] > x[:, 1], x, 0), np.compress(x[0] > x[1], x, axis=-1), x.compress(x[0] > 0))


def puts(x, i):
    y = x.copy()
    np.put(y, [0, 5, -1], [7, 8])
    y.put(i, 3)
    np.put(y, [300, -400], 9, mode="clip")
    np.put(y, [[300, -400]], [1, 0], mode="wrap")
    np.put(y, 4, 1)
    np.place(y, y > 0, x[0])
    np.place(y, y < 2, [5, 6, 7])
    return y


def puts_by_masks(x, i):
    y, z = x.copy(), x.copy("K")
    np.putmask(y, y > 0, y)
    np.putmask(y, y < 1, x[0])
    np.putmask(z, z > 0, 1)
    np.copyto(y[0], x[1])
    np.copyto(y, x[0, 0], where=x[:, :1] > 0)
    np.copyto(z, x[:, :1], where=y > x)
    np.copyto(z[:, 0], y[:, 1])
    np.copyto(z.T, 1, where=(y > x).T)
    return y, z


def places_along(x, i):
    y = x.copy()
    np.put_along_axis(y, i[:4, None] % 4, 1, axis=1) if len(y) == 4 else np.put_along_axis(y, i[None] % 4, 1, axis=1)
    np.put_along_axis(y, x.argmax(0)[None], x[:1], axis=0)
    return y, np.take_along_axis(x, x.argmax(1)[:, None].astype("i4"), 1), np.take_along_axis(x, i, None)


def diagonals(x, i):
    return (np.diag(x[0]), np.diag(x[0], 2), np.diag(x[:, 0], -1), np.diag(x), np.diag(x, 1), np.diagflat(x[:2, :3]),
            np.diag([1, 2]), x[np.tril_indices(3)], x[np.triu_indices_from(x, 1)], x[np.tril_indices_from(x)],
            np.diag_indices_from(x[:4, :4]), np.diagflat(i, -2))


def filled(x, i):
    y, z, cube, tall = x.copy(), x.copy("K"), np.zeros((3, 3, 3), x.dtype), np.zeros((7, 2), x.dtype)
    np.fill_diagonal(y, 1)
    np.fill_diagonal(z, x[0])
    np.fill_diagonal(cube, x[0, :2])
    np.fill_diagonal(tall, x[0, 0], wrap=True)
    np.fill_diagonal(x.T, x[1, 0])
    return x, y, z, cube, tall


def repeats(x, i):
    return (np.repeat(x, 3), np.repeat(x, 2, axis=1), np.repeat(x, [2, 0, 1, 3, 1, 1], axis=0), x[0].repeat(2), x.repeat([2], -1),
            np.repeat(x[:5], abs(i), axis=0), np.repeat(x[0, :5], abs(i)), np.repeat(x[None], 2, axis=0))


def tiles(x, i):
    return (np.tile(x[0], (2, 2)), np.tile(x, 2), np.tile(x, (1, 2, 1)), np.tile(x, (3, 1)), np.tile(x.T, (2, 1)), np.tile(x, 1),
            np.tile(x[None, :2], (2, 1, 1, 2)), np.tile(x[:, 1], 3))


def rolls(x, i):
    return (np.roll(x, 1), np.roll(x, 7), np.roll(x, (1, 0, 1)), np.roll(x, (1, 1), axis=(1, 1)), np.roll(x[:0], 2),
            np.roll(x, 1, axis=(0, 1)), np.roll(x.T, -1), np.roll(x, (1, -2), (0, 1)), np.roll(x[1], (2, 3)))


def reshapes(x, i):
    return (x.reshape((3, 2, -1), order="F"), x.T.reshape(6, 8), np.reshape(x[:, ::2], (-1, 2)), x[:, :0].reshape(0, 7),
            x.T.reshape(-1, order="A"), x[::-1].reshape(8, 6), x.reshape(12, 4, order="F"), x.reshape(-1, order="F"),
            np.reshape(x, (4, 12), copy=True), x[:, ::2].reshape(2, -1), x.reshape(x.shape), (x + x).T.reshape(-1))


def ravels(x, i):
    return (x.ravel("F"), x.T.ravel("A"), x.ravel(), x.T.ravel(), x.flatten("F"), x.T.flatten("A"), np.ravel(x, "F"),
            x[:, ::2].ravel(), x[0].ravel("F"), x[None].flatten("F"))


def ravels_of_memory(x, i):
    return x.ravel("K"), x.T.ravel("K"), x.flatten("K"), x[None].swapaxes(0, 1).flatten("K"), (x + x).ravel("K")


def joins(x, i):
    b = x > 0
    return (np.concatenate([x, x[0]], axis=None), np.concatenate([x, b], dtype="f8", casting="unsafe"), np.hstack([x[0], 1]),
            np.vstack([i, i]), np.dstack([i, i]), np.dstack([x, x]), np.column_stack([x[0, :5], i]), np.append(x, i),
            np.stack([x[0], b[0]]), np.append(x, x, axis=1), np.concatenate([i, [1, 2]]), np.concatenate([i[:0], i[:0]]),
            np.concatenate([x[None], b[None]], axis=0)[1:, 0], np.hstack((i, 0.5)), np.concatenate(list(x.copy()) * 6))


def joins_into(x, i, out, other):
    return (np.concatenate([x[0], x[1]], out=out), np.stack([x[0, :8], x[1]], out=other), out, other)


def edits(x, i):
    y = x.copy()
    return (np.delete(y, 0), np.delete(y[0], [1, 3]), np.delete(y, slice(0, 2), 1), np.delete(y, -1, 0), np.delete(y[0], slice(1, 5, 2)),
            np.insert(y[0], 1, 1), np.insert(y[0], [1, 3], y[1, :2]), np.insert(y[0], 1, y[1, :3]), np.insert(y, 1, 0, axis=1),
            np.insert(y, 1, y[0], axis=0), np.insert(y, [1], y[:, :1], axis=1), np.insert(y, 2, y[:, 0], axis=1),
            np.insert(y[0], [2, 2], y[0, :2]), np.insert(y, [0, 2], y[:, :2], axis=1), np.insert(y[0], -1, y[2, 2]))


def grids(x, i):
    a, b = x[0], i
    return (x[np.ix_(i, [1, 2])], x[np.ix_(x[:, 0] > 0, i)], np.meshgrid(a, b), np.meshgrid(a, b, indexing="ij"),
            np.meshgrid(a, b, sparse=True), np.meshgrid(a), np.meshgrid(a, b, a[:3], indexing="ij"), np.meshgrid(a, 2.0))


def chooses(x, i):
    k = abs(i)[:, None] % 3
    return (np.choose(k, [x[:5], x[:5] + 1, x[0]]), np.choose([0, 1, 1], [x[0, :3], x[1, :3]]), np.choose(i, [x[0, :5], x[1, :5]], mode="wrap"),
            np.choose(i, (x[0, :5], x[1, 1]), mode="clip"), k.choose([x[0], x[1, :1], x[:5]]))


def numbered(x, i):
    j = x.argmax()
    k = abs(i)
    return (np.unravel_index(j, x.shape), x[np.unravel_index(j, x.shape)], np.unravel_index(k, (2, 3)), np.unravel_index(k[:, None], (2, 3), "F"),
            np.ravel_multi_index((k, k % 2), (6, 2)), np.ravel_multi_index((i, k[:, None]), (3, 4), mode="wrap"),
            np.ravel_multi_index((k, 1), (4, 5), order="F"), np.ravel_multi_index(np.unravel_index(j, x.shape), x.shape))


def broadcasts(x, i):
    a, b = np.broadcast_arrays(x[0], x[:, :1])
    c = np.stack(np.broadcast_arrays(x[0][None], x[:, 0][:, None], 1), axis=-1)
    return a + b, c, np.broadcast_to(x[0, 0], (2, 3)) * x[:2, :3], np.broadcast_to(x[0], x.shape), a[1], b.T


def reshaped_in_place(x, i):
    y, z = x + x, x[1:3].copy()
    y.shape = (x.size // 2, 2)
    z.shape = -1
    y[0] = 1
    w = x[0]
    w.shape = (2, -1)
    return y, z, y.sum(0), w, x


def contains(x, i):
    return 1 in x, x[0, 0] in x, 99.5 in x[0], 3 in i, i[1] in x, 7 not in i


def arrays(x, i):
    return (np.array(x, order="F"), np.array(x, copy=True), np.array(x[0], ndmin=2), np.array([1, 2], ndmin=3),
            np.array([[1, 2], [3, 4]], order="F"), np.asarray(x, order="F"), np.asarray([x[0], x[1]]), np.array(x.T, order="C"),
            np.array(x, dtype="f8", copy=True), np.array(x, copy=None) is x, np.asanyarray([1.0, 2]), np.array(x, ndmin=3, copy=False))


def items(x, i):
    return (x.item(3), x.item(1, 2), x[0, :1].item(), x[1].item(-1), x.item(x.argmax()), x[2].item(i[2]), np.digitize(x[0], [2, 5]),
            np.digitize(x, [5.0, 2.0]), np.digitize(x[0], [2, 5], right=True), np.digitize(x[1], (5, 2, 2), right=True))


FUNCTIONS = [takes, compresses, puts, puts_by_masks, places_along, diagonals, filled, repeats, tiles, rolls, reshapes, ravels, joins,
             edits, grids, chooses, numbered, broadcasts, reshaped_in_place, contains, arrays, items]
INDICES = np.array([2, -1, 0, 3, -3])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_layouts(function, layout):
    if layout == "column":
        pytest.skip("of one column")
    both(function, "f8", layout, (INDICES,), compiled=layout == "C")


@pytest.mark.parametrize("dtype", DTYPES + ["f2", "u8", "c8"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_dtypes(function, dtype):
    both(function, dtype, "C", (INDICES,), compiled=dtype in ("f8", "f4", "i8", "i4"))


def test_orders_of_memory():
    for layout in LAYOUTS:
        both(ravels_of_memory, "f8", layout, (INDICES,), compiled=layout == "C")


def test_out():
    x = made("f8", (6, 8))
    check(takes_into, (x, INDICES, np.zeros((6, 5))))
    check(takes_into, (x, INDICES, np.zeros((6, 4))), (x, INDICES, np.zeros((6, 5), "f4")), (x, INDICES, np.zeros((5, 6)).T), compiled=False)
    check(joins_into, (x, INDICES, np.zeros(16), np.zeros((2, 8))))
    check(joins_into, (x, INDICES, np.zeros(16, "f4"), np.zeros((2, 8))), (x, INDICES, np.zeros(16, "i4"), np.zeros((2, 8))),
          (x, INDICES, np.zeros(15), np.zeros((2, 8))), compiled=False)


def test_what_numpy_refuses():
    """The exceptions are NumPy's, and nothing has been written."""
    def one(x, k):
        y = x.copy()
        try:
            return [lambda: y.take([7]), lambda: y.take(1, 3), lambda: np.put(y, [9], 1), lambda: np.repeat(y, -1),
                    lambda: y.reshape(7, -1), lambda: np.diag(y, 1.5), lambda: np.concatenate([y, y[None]]), lambda: np.place(y, [True], 1),
                    lambda: np.copyto(y, [1, 2]), lambda: np.take(y, [0.5]), lambda: np.putmask(y, y > 0, []),
                    lambda: np.insert(y, 9, 1), lambda: np.delete(y, 9), lambda: np.ravel(y, "X"), lambda: np.tile(y, -1),
                    lambda: np.meshgrid(y, y, indexing="zz"), lambda: np.compress([[True]], y), lambda: np.take(y, 5, mode="no")][k]()
        except Exception as error:
            return type(error).__name__, str(error), y

    def more(x, k):
        i = x.astype(int)
        try:
            return [lambda: np.choose(i, [x, x]), lambda: np.unravel_index(i, (2, 2)), lambda: np.unravel_index(i.max(), (2,)),
                    lambda: np.ravel_multi_index((i, i), (3, 3)), lambda: np.choose(i, []), lambda: np.unravel_index(x, (9,)),
                    lambda: np.broadcast_arrays(x, x[:2]), lambda: setattr(x[1:], "shape", (3, 3)), lambda: np.choose(x, [x] * 9)][k]()
        except Exception as error:
            return type(error).__name__, str(error)

    for k in range(9):
        check(more, (np.arange(5.0), k), compiled=False)
    for k in range(18):
        check(one, (np.arange(5.0), k), compiled=False)


def test_empty():
    def f(x):
        return (np.repeat(x, 2), np.tile(x, 2), np.roll(x, 1), x.reshape(0, 3), np.concatenate([x, x], axis=None), np.diag(x[0] if x.ndim > 1 else x),
                np.compress([], x, 0), x.ravel("F"), np.append(x, x), np.meshgrid(x, x))

    for shape in ((0,), (0, 3)):
        for dtype in ("f8", "i4", "?"):
            check(f, (np.zeros(shape, dtype),), compiled=False)


def test_constants_that_are_returned():
    def made_of_numbers():
        return (np.arange(5), np.arange(0, 1, 0.3), np.arange(3, dtype="f4"), np.eye(3, 2, k=-1), np.tri(3, dtype=int), np.identity(2),
                np.linspace(0, 1, 5), np.logspace(0, 2, 3), np.geomspace(1, 8, 4), np.indices((2, 3)), np.tril_indices(3), np.diag_indices(2),
                np.array([[1, 2], [3, 4]]), np.asarray([1.5, 2]), np.hanning(4), np.vander([1, 2, 3]), np.arange(5, 0, -2), np.unravel_index([1, 5], (2, 3)))

    def changed(n):
        x, y = np.arange(6), np.eye(3)
        x[0] = n
        y += x[:3]
        z = np.arange(6).reshape(2, 3)
        z *= 2
        return x, y, z, np.arange(6), np.eye(3) + n

    check(made_of_numbers, ())
    check(changed, (7,))


def test_lists():
    def f(x, v):
        y = x.copy()
        y[0] = [1, 2, 3]
        y[1:] = [[4], [5]]
        y[:, 1] = [v, 1, x[0, 0]]
        y -= [1, 2, 3]
        z = np.array([[1, v], [x[0, 1], 2.5]])
        return y, z, x * [1, 2, 3], [[1], [2], [3]] - x, np.where([True, False, True], x, [1.5, 2, 3]), np.array([x[0], x[1]]), \
            np.array([x[:2, :2], z]), np.array([v, 1], dtype="f4"), np.asarray([1, 2]) * v, np.add(x, (1, 2, 3)), np.array([[[v]]]), x > [0, 1, 2]

    for dtype in ("f8", "f4"):
        check(f, (made(dtype, (3, 3)), 0.1), (made(dtype, (3, 3), 4), -2.25), numerics="strict")
    for dtype in ("i8", "u1"):
        check(f, (made(dtype, (3, 3)), 3), (made(dtype, (3, 3), 4), 200), compiled=False)


def test_lists_that_do_not_fit():
    def f(x, k):
        if k == 0:
            x[:] = [300, 1, 2]
        elif k == 1:
            x[:] = [1, 2]
        elif k == 2:
            x[:] = [[1, 2], [3]]
        elif k == 3:
            x[:] = [1.5, 2, 3]
        elif k == 4:
            x[:2] = ["1", "2"]
        else:
            x[:] = [[1, 2, 3]]
        return x

    for k in range(6):
        for dtype in ("u1", "f8", "i8"):
            check(f, (made(dtype, (3,)), k), compiled=False)


def test_span_of_time():
    def f(x):
        return np.linspace(x[0], x[1], 5)

    jitted = pyasc.jit(f)
    for dtype in ("m8[s]", "i8", "f8"):
        x = np.array([1, 5], dtype)
        for _ in range(2):
            assert outcome(jitted, x) == outcome(f, x)


@pytest.mark.parametrize("dtype", ["i1", "i2", "i8", "u1", "u4", "u8", "f4", "f8"])
def test_members(dtype):
    def f(x, y, z):
        return np.isin(x, y), np.isin(x, y, invert=True), np.isin(x.T, z[::2]), np.isin(x[:, ::2], z), np.isin(y, x), np.isin(z, y[:0])

    whole = "i8" if dtype[0] == "f" else dtype
    r, low, high = np.random.default_rng(5), np.iinfo(whole).min, np.iinfo(whole).max
    jitted = pyasc.jit(f)
    for turn in range(6):
        wide = turn % 2
        x, y, z = ((r.integers(low, high, n, whole, True) if wide else r.integers(0, 20, n)).astype(dtype) for n in ((6, 8), 300, 40))
        y[:9], z[:3], x[2:4] = x[0, 0], (low, high, 0), y[20:28]
        if dtype[0] == "f":
            x[0, :4], y[30:34], z[5:7] = (np.nan, -0.0, 0.0, np.inf), (np.nan, 0.0, -np.inf, np.inf), (-0.0, np.nan)
        assert outcome(jitted, x, y, z) == outcome(f, x, y, z)
    assert "<compiled isin>" in jitted.explain() and "sort" not in jitted.explain()


def test_integers_are_partitioned_in_the_middle_only():
    from pyasc._written.statistics import _ordered

    assert _ordered(np.arange(9), {4}, 0)[1] is None and _ordered(np.arange(9.0), {4}, 0)[1] == 8
