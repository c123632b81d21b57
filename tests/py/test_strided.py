"""Strided, reversed, transposed and broadcast operands in both tiers, against NumPy's bits."""
import numpy as np
import pytest
from same import freeze

import pyasc

DTYPES = "?bhilBHILefdFD"


def values(dtype, shape, seed):
    """Random bits where every one of them is a value, else random values with special ones."""
    rng = np.random.default_rng(seed)
    d = np.dtype(dtype)
    size = int(np.prod(shape))
    if d.kind == "b":
        return rng.integers(0, 2, size).astype(bool).reshape(shape)
    if d.kind in "iu":
        return rng.integers(0, 256, size * d.itemsize, dtype=np.uint8).view(d).reshape(shape)
    x = rng.standard_normal(size)
    if d.kind == "c":
        return (x + 1j * rng.standard_normal(size)).astype(d).reshape(shape)
    x[rng.integers(0, size, size // 9)] = np.resize([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310], size // 9)
    return x.astype(d).reshape(shape)


def views(x):
    """Views of a 3-d array, all of the shape of its half: (a, b, c) to (a/2, b/2, c/2)."""
    a, b, c = (n // 2 for n in x.shape)
    yield "corner", x[:a, :b, :c]
    yield "steps", x[:2 * a:2, :2 * b:2, :2 * c:2]
    yield "back", x[a - 1::-1, :b, c - 1::-1]
    yield "back by two", x[:a, :b, 2 * c - 1::-2][:, :, :c]
    yield "shifted", x[1:a + 1, 1:b + 1, 1:c + 1]
    yield "one column", x[:a, :b, 1:2]
    yield "one row", x[:a, 1:2, :c]
    yield "vector", x[0, 0, :c]
    yield "strided vector", x[0, 0, :2 * c:2]
    yield "packed", np.ascontiguousarray(x[:a, :b, :c])
    yield "fortran", np.asfortranarray(x[:a, :b, :c])
    yield "crosswise", np.ascontiguousarray(x[:a, :b, :c].transpose(2, 0, 1)).transpose(1, 2, 0)


SHAPES = [(2, 3, 3), (4, 40, 3), (3, 5, 17), (2, 3, 70), (3, 65, 4), (1, 1, 2500), (2, 1030, 2), (33, 1, 34)]


def pairs(dtype, shape):
    """Two operands, every view once on either side."""
    big = tuple(2 * n + 2 for n in shape)
    left, right = list(views(values(dtype, big, 1))), list(views(values(dtype, big, 2)))
    for k in range(len(left)):
        for step in (0, 3, 7):
            yield left[k][0], right[(k + step) % len(right)][0], left[k][1], right[(k + step) % len(right)][1]


def arithmetic(x, y):
    return x + y, (x == y)


def chain(x, y):
    return np.where(x == y, x, y) + x


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_pairs_of_views(dtype, shape, tier):
    with np.errstate(all="ignore"):
        for function in (arithmetic, chain):
            jitted = pyasc.jit(function, tier=tier)
            for x_name, y_name, x, y in pairs(dtype, shape):
                expected = freeze(function(x, y))
                for _ in range(2):
                    assert freeze(jitted(x, y)) == expected, (x_name, y_name)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "lfdFD")
def test_mixed_dtypes(dtype, tier):
    def function(x, y):
        return x * 2 + y, x.real - y, (x - x.imag).real
    jitted = pyasc.jit(function, tier=tier)
    with np.errstate(all="ignore"):
        for shape in SHAPES:
            for _, _, x, y in pairs(dtype, shape):
                y = y.real.astype("f4")
                for _ in range(2):
                    assert freeze(jitted(x, y)) == freeze(function(x, y))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "bhidD")
def test_results_in_windows(dtype, tier):
    """Stores with strides; nothing around them changes."""
    def function(out, x):
        out[::2, ::-1] = x + x
        out[1::2, 1:-1:3] -= x[:, 1:-1:3]
        out[:, 0] = x[0, 0] * out[:, 1]
        return out
    jitted = pyasc.jit(function, tier=tier)
    with np.errstate(all="ignore"):
        for shape in ((4, 5), (40, 3), (20, 300), (2, 2600)):
            x = values(dtype, (shape[0] // 2, shape[1]), 3)
            for layout in (lambda v: v, np.asfortranarray, lambda v: np.repeat(v, 2, 1)[:, ::2]):
                for _ in range(2):
                    a, b = (layout(values(dtype, shape, 4)) for _ in range(2))
                    function(a, x), jitted(b, x)
                    assert freeze(b) == freeze(a)


@pytest.mark.parametrize("tier", [0, 1])
def test_writes_that_overlap(tier):
    """In-place updates between windows of one array that share elements."""
    def shift(x):
        x[1:] += x[:-1]
        x[:-2] = x[2:] * 2
        x[::2] = x[::-2][:len(x[::2])] + 1
        return x

    def turn(x):
        n = min(x.shape)
        x[:n, :n] += x[:n, :n].T
        x[:, 1:] = x[:, :-1] - x[:, 1:]
        x[::-1] *= x
        return x
    for function, shapes in ((shift, [(5,), (64,), (3001,)]), (turn, [(3, 4), (40, 41), (70, 3), (3, 300)])):
        jitted = pyasc.jit(function, tier=tier)
        for shape in shapes:
            for _ in range(3):
                a = np.arange(1.0, np.prod(shape) + 1).reshape(shape)
                assert freeze(jitted(a.copy())) == freeze(function(a.copy())), (function.__name__, shape)


def random_view(rng, x):
    """A view of x by random slices, axes in random order."""
    for axis in range(x.ndim):
        index = [slice(None)] * x.ndim
        n = x.shape[axis]
        step = int(rng.choice([1, 1, 2, 3, -1, -2]))
        start = int(rng.integers(0, 3)) if step > 0 else n - 1 - int(rng.integers(0, 3))
        index[axis] = slice(start, None, step)
        x = x[tuple(index)]
    return x.transpose(rng.permutation(x.ndim))


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 5))
    shape = [int(rng.choice([1, 2, 3, 4, 10, 33, 150] if ndim < 3 else [1, 2, 3, 5, 9])) for _ in range(ndim)]
    big = [3 * max(shape) + 6] * ndim
    args = []
    for k in range(3):
        view = random_view(rng, values(rng.choice(list("hlfdF")), big, 100 * seed + k))
        keep = [slice(0, 1) if rng.random() < 0.2 else slice(0, n) for n in shape]
        args.append(view[tuple(keep)])
    steps = rng.integers(0, 5, 6).tolist()

    def program(x, y, z):
        v = x + y
        for s in steps:
            if s == 0:
                v = v - z
            elif s == 1:
                v = np.where(v == x, z, v)
            elif s == 2:
                v = v + v
            elif s == 3:
                v = -v
            else:
                v = v + y
        return v, x - z
    with np.errstate(all="ignore"):
        expected = freeze(program(*args))
        for tier in (0, 1):
            jitted = pyasc.jit(program, tier=tier)
            for _ in range(2):
                assert freeze(jitted(*args)) == expected
            assert jitted._facts()["entries"] and not jitted._facts()["plain"]


def test_strided_groups_are_compiled():
    jitted = pyasc.jit(lambda x, y: (x + y) * 2, tier=1)
    x = np.arange(6000.0)
    for a, b in ((x[::2], x[3000:]), (x[::-1], x), (x.reshape(60, 100).T, np.ones((100, 60)))):
        for _ in range(2):
            assert freeze(jitted(a, b)) == freeze((a + b) * 2)
    assert "compiled" in jitted.explain() and "tier 0" not in jitted.explain()


# -- Steps of a few items, as they lie ---------------------------------------------------


def guarded(count, dtype, low):
    """An array that begins, or ends, where a page begins that no one may read."""
    import ctypes
    import mmap

    page = mmap.PAGESIZE
    room = -(-count * np.dtype(dtype).itemsize // page) * page
    memory = mmap.mmap(-1, room + 2 * page)
    whole = np.frombuffer(memory, np.uint8)
    libc, start = ctypes.CDLL(None), whole.ctypes.data
    for at in (0, room + page):
        assert libc.mprotect(ctypes.c_void_p(start + at), page, 0) == 0
    inner = whole[page:page + room]
    bytes = count * np.dtype(dtype).itemsize
    return (inner[:bytes] if low else inner[room - bytes:]).view(dtype)


STEPS = [-1, 2, 3, 4, -2, 5]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4", "i2", "?", "F"])
@pytest.mark.parametrize("step", STEPS)
def test_runs_at_the_end_of_memory(step, dtype):
    def f(x, y):
        return x[::step] * y + x[::step]

    jitted = pyasc.jit(f, tier=1)
    for count in list(range(1, 70)) + [127, 128, 129, 500]:
        for low in (False, True):
            length = (count - 1) * abs(step) + 1
            x = guarded(length, dtype, low)
            x[:] = np.arange(length) % 50
            y = (np.arange(count) % 7).astype(dtype)
            assert freeze(jitted(x, y)) == freeze(f(x, y))


@pytest.mark.parametrize("tier", [0, 1])
def test_steps_meet(tier):
    def f(x, y, z):
        a = x[:, ::2] + y[:, ::-1] * z[::3, :1]
        return a, a * x[:, 1::2] - y[::-1, ::1], np.where(x[:, ::-2] > 0, z[::3, 0:1], y)

    jitted = pyasc.jit(f, tier=tier)
    rng = np.random.default_rng(0)
    for rows, n in ((1, 40), (7, 33), (50, 3), (3, 200)):
        x, y, z = rng.normal(size=(rows, 2 * n)), rng.normal(size=(rows, n)), rng.normal(size=(3 * rows - 2, 4))
        for _ in range(2):
            assert freeze(jitted(x, y, z)) == freeze(f(x, y, z))


def test_columns_of_points():
    def f(points):
        x, y, z = points[:, 0], points[:, 1], points[:, 2]
        return np.sqrt(x * x + y * y + z * z)

    jitted = pyasc.jit(f, tier=1)
    for n in (1, 5, 64, 1001):
        points = np.random.default_rng(n).normal(size=(n, 3))
        for _ in range(2):
            assert freeze(jitted(points)) == freeze(f(points))


def test_in_place_backwards():
    def f(x):
        x[:] = x[::-1] + x
        x[::2] *= 3
        return x

    jitted = pyasc.jit(f, tier=1)
    for n in (1, 2, 9, 64, 300):
        a, b = np.arange(n) * 1.0, np.arange(n) * 1.0
        for _ in range(3):
            assert freeze(jitted(a)) == freeze(f(b))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "u1"])
@pytest.mark.parametrize("rows, columns", [(2, 2), (1, 4), (4, 2), (2, 4), (3, 1)])
def test_negatives(dtype, rows, columns):
    """NumPy's loop is wrong at some steps; here it may be called with others than NumPy calls it with."""
    def negative(x):
        return -x, np.isfinite(x)

    for shape in [(3, 2), (5, 2), (4, 5), (9, 7), (40, 2)]:
        big = np.arange(shape[0] * rows * shape[1] * columns).astype(dtype).reshape(shape[0] * rows, -1)
        if big.dtype.kind == "f":
            big[::2] = [np.nan, np.inf, -np.inf, 1][rows - 1]
        for x in (big[::rows, ::columns], big[::-rows, ::-columns]):
            for tier in (0, 1):
                jitted = pyasc.jit(negative, tier=tier)
                for _ in range(3):
                    minus, finite = jitted(x)
                    assert np.array_equal(minus, -x.copy(), equal_nan=big.dtype.kind == "f")
                    assert np.array_equal(finite, np.isfinite(x.copy()))
