"""x.flat: elements in C order, read, stored and gone over."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made


def reads(x, i):
    return (x.flat[3], x.flat[-1], x.flat[:], x.flat[1::3], x.flat[...], x.flat[[0, 2, 2]], x.flat[i], x.flat[x.flat[:] > 0],
            len(x.flat), x.flat.copy(), [v * 2 for v in x.flat][:5], list(x.flat)[-1], sum(x.flat[:4]), max(x.flat[:3]))


def stores(x, i):
    x.flat[:] = x.flat[:] + 1
    x.flat[::4] = 0
    x.flat[7] = 5
    x.flat[-2] = x[0, 0]
    x.flat[2:9] = x[1] * 2
    x.flat[3:40:2] = [1, 2, 3]
    x.flat[i] = [4, 5]
    x.flat[[1, 1, 40]] = x[0, :3] + 1
    return x


def whole(x, i):
    y = x.copy()
    y.flat = i
    x.flat = 3
    x.T.flat = x[0] + 1
    y.flat = x.T
    return x, y


def of_itself(x, i):
    x.flat[2:9] = x[1]
    x.T.flat = x[0]
    x.flat = x.T
    return x


INDICES = np.array([2, -1, 0, 3, -3])


@pytest.mark.parametrize("layout", [name for name in layouts("f8") if name not in ("empty", "column")])
@pytest.mark.parametrize("function", [reads, stores, whole, of_itself], ids=lambda f: f.__name__)
def test_layouts(function, layout):
    if layout != "broadcast" or function is reads:
        check(function, (layouts("f8")[layout], INDICES),
              compiled=layout == "C" and function in (stores, whole))


@pytest.mark.parametrize("dtype", DTYPES + ["f2", "u8"])
@pytest.mark.parametrize("function", [reads, stores, whole], ids=lambda f: f.__name__)
def test_dtypes(function, dtype):
    check(function, (made(dtype, (6, 8)), INDICES), compiled=False)


def test_while_it_is_written():
    def f(x):
        total = 0.0
        for k, v in enumerate(x.flat):
            x[-1, -1] += 1
            total += v * k
        return total, x

    for x in layouts("f8").values():
        if x.size and x.flags.writeable:
            check(f, (x,), compiled=False)


def test_as_an_iterator():
    def f(x):
        it = x.flat
        first = next(it)
        return first, next(it), it.index, it.coords, [v for v in it][:3], np.sum(x.flat), np.array(x.flat)

    def given_away(x):
        it = x.flat
        it[3] = 7
        return it.base is x, list(zip(it, range(3))), (it == 7).any()

    for x in (made("f8", (3, 4)), made("f8", (4, 3)).T):
        check(f, (x,), compiled=False)
        check(given_away, (x,), compiled=False)


def test_what_numpy_refuses():
    def f(x, k):
        try:
            return [lambda: x.flat[99], lambda: x.flat[1, 2], lambda: x.flat["a"], lambda: x.flat.__setitem__(99, 1), lambda: x.flat[1.5]][k]()
        except Exception as error:
            return type(error).__name__, str(error)

    for k in range(5):
        check(f, (made("f8", (3, 4)), k), compiled=False)


def test_places_and_elements():
    """ndindex and ndenumerate."""
    def enumerated(x):
        s, y = 0.0, x.copy()
        for (i, j), v in np.ndenumerate(x):
            s += v * i
            y[i, j] = j
        return s, y, list(np.ndenumerate(x))[3], [k for k, v in np.ndenumerate(x[0]) if v > 0]

    def indexed(x):
        y = np.zeros_like(x)
        for i, j in np.ndindex(x.shape):
            y[i, j] = x[i, j] * 2 + j
        for i, in np.ndindex(2):
            y[i] += 1
        return y, list(np.ndindex(2, 1)), sum(1 for _ in np.ndindex((2, 0)))

    for x in (made("f8", (3, 4)), made("f4", (4, 3)).T):
        check(enumerated, (x,), compiled=False)
        check(indexed, (x,), compiled=x.dtype == "f8")
