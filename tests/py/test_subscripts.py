"""x[key] and x[key] = y with masks, arrays, lists, slices, ints and None in the key, compared with NumPy."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made


def values(shape=(6, 8), seed=3):
    rng = np.random.default_rng(seed)
    return dict(i=rng.integers(-shape[0], shape[0], 5), j=rng.integers(-shape[1], shape[1], 5).astype("i4"),
                m=rng.random(shape) < 0.4, row=rng.random(shape[1]) < 0.5, column=rng.random(shape[0]) < 0.5)


#: Keys as source.
KEYS = ["m", "column", ":, row", "column, 1", "-2, row", "column, ::2", "column, None, ::-1",
        "..., row", "None, m", "m, None", "i, j", "i[:, None], j", "i[None], 2", "i, ::3", "1:, j", "::-1, j[None]",
        "[0, 3, -1]", "[[0, 1], [2, 2]], [1, 0]", ":, [True] * 3 + [False] * 5", "i[:3], [0, 1, 2]", "i, None, j",
        "i[::-1], 0", "..., i, j", "i, ..., 1", "m[:, 0]", "m & ~m", "j[:0]", "i.reshape(5, 1), [[1, 2]]"]


def built(key, store=None, tmp_path=None):
    """A function of a file, so that it has a source."""
    body = f"    return x[{key}]\n" if store is None else f"    x[{key}] = {store}\n    return x\n"
    source = f"import numpy as np\ndef f(x, v, i, j, m, row, column):\n{body}"
    path = tmp_path / f"program{len(list(tmp_path.iterdir()))}.py"
    path.write_text(source)
    space = {}
    exec(compile(source, str(path), "exec"), space)
    return space["f"]


@pytest.mark.parametrize("key", KEYS)
def test_reading(key, tmp_path):
    f = built(key, None, tmp_path)
    for dtype in ("f8", "u1", "c16"):
        for x in layouts(dtype).values():
            if x.shape == (6, 8):
                check(f, (x, 0, *values().values()), (x, 0, *values(seed=7).values()), compiled=True)


@pytest.mark.parametrize("dtype", DTYPES + ["f2", "u8"])
def test_dtypes(dtype, tmp_path):
    for key in ("m", "column, 1", "i, j", "i, ::3", ":, row"):
        check(built(key, None, tmp_path), (made(dtype, (6, 8)), 0, *values().values()), compiled=dtype != "f2")
        for store in ("1", "v[0, 0]"):
            check(built(key, store, tmp_path), (made(dtype, (6, 8)), made(dtype, (6, 8), 2), *values().values()),
                  compiled=False)


@pytest.mark.parametrize("key", KEYS)
def test_storing(key, tmp_path):
    for store in ("3", f"v[{key}]", f"v[{key}] * 2 + 1", f"x[{key}][::-1] + 1"):
        f = built(key, store, tmp_path)
        for dtype in ("f8", "i2"):
            for name, x in layouts(dtype).items():
                if x.shape == (6, 8) and name != "broadcast":
                    check(f, *((x, made(dtype, (6, 8), 5), *values(seed=s).values()) for s in (3, 7)))


@pytest.mark.parametrize("key,store", [("m", "[1.5]"), ("column", "v[0]"), ("column", "v[:1]"), (":, row", "v[:, :1]"),
                                       ("i[:3], j[:3]", "[7, 8, 9]"), ("i[:3, None], j", "v[:1, :5]"), ("i", "v[None, 0]"),
                                       ("i[:2]", "[[1], [2]]"), ("m", "np.arange(m.sum())"), ("i, j", "v[0, 1]")])
def test_values(key, store, tmp_path):
    f = built(key, store, tmp_path)
    for dtype in ("f8", "f4", "i8"):
        check(f, (made("f8", (6, 8)), made(dtype, (6, 8), 5), *values().values()), compiled=False)
        check(f, (made(dtype, (6, 8)), made(dtype, (6, 8), 5), *values().values()), compiled=False)


def test_three_axes():
    def f(x, m, i, k):
        y = x.copy()
        y[m, 1] = x[m, 0]
        y[i, :, k] += 1
        return x[m], x[m, 1], x[m[:, 0]], x[:, m[0]], x[i, :, k], x[:, i, k], x[m[:, 0], :, 0], x[..., 0][m], y

    x, rng = made("f8", (4, 5, 6)), np.random.default_rng(0)
    for order in "CF":
        check(f, (np.asarray(x, order=order), rng.random((4, 5)) < 0.5, np.array([0, 2]), np.array([[1], [3]])),
              (np.asarray(x, order=order), rng.random((4, 5)) < 0.5, np.array([1, -1]), np.array([[0], [-3]])))


def test_one_element():
    def f(x, y):
        return x[x.argmax()], y[y.argmin() // 8, y.argmin() % 8], x[-x.argmax() - 1]

    check(f, *((made(d, (9,)), made(d, (6, 8))) for d in ("f8", "i4", "?", "c16") if d != "c16"), compiled=False)


def test_what_is_wrong():
    def get(x, k):
        return x[k]

    def put(x, k):
        x[k] = [1.0, 2.0]
        return x

    x = made("f8", (6, 8))
    for key in (np.ones(5, bool), np.ones((6, 7), bool), np.array([7]), np.array([0, -7]), np.array([1.0])):
        check(get, (x, key), compiled=False)
        check(put, (x, key), compiled=False)
    check(put, (x[0], np.array([1, 1, 0, 1, 0, 0, 0, 0], bool)), compiled=False)


def test_memory_of_its_own():
    """Indices and values may be in the memory that is written."""
    def f(x):
        x[x] = x[::-1]
        x[x[:3]] = x[2:5]
        x[x > 3] = x[x > 3][::-1]
        x[[0, 1, 2]] = x[1:4]
        return x

    check(f, (np.array([3, 1, 4, 0, 2, 5]),), (np.array([0, 0, 5, 5, 2, 1]),), compiled=False)


def test_positions():
    def f(x):
        return np.nonzero(x), x.nonzero(), np.flatnonzero(x), np.argwhere(x), np.where(x), np.where(x > 0), x[np.nonzero(x)]

    for dtype in DTYPES + ["f2"]:
        for shape in ((0,), (1,), (7,), (8,), (65,), (1000,), (5, 7), (3, 0), (2, 3, 4), (16, 33)):
            x = made(dtype, shape)
            x = np.where(np.random.default_rng(1).random(shape) < 0.5, x, x.dtype.type(0))
            check(f, (x,), (x * 0 if dtype != "?" else x & False,), compiled=dtype not in ("c16", "f2") and x.size > 0)
    for x in layouts("f8").values():
        check(f, (x - x[:1].sum() if x.size else x,), compiled=x.size > 0)


def test_bools_of_other_bits():
    """A bool's byte may be any: what is not 0 is true."""
    def f(m, x):
        y = x.copy()
        y[m] = x[m][::-1]
        return np.nonzero(m)[0], np.flatnonzero(m), x[m], y

    for n in (5, 8, 17, 100):
        check(f, (np.random.default_rng(n).integers(0, 5, n).astype("u1").view("?"), made("f8", (n,))))
