"""Elements where a mask is true: how many there are is another number each time."""
import numpy as np
import pytest

import pyasc
from moves import DTYPES, check, layouts, made
from nesting import picture


def mask(shape, share, seed=1):
    return np.random.default_rng(seed).random(shape) < share


@pytest.mark.parametrize("dtype", DTYPES + ["f2", "u8"])
@pytest.mark.parametrize("n", [0, 1, 7, 8, 9, 16, 17, 64, 100, 1000])
def test_sizes(dtype, n):
    def selected(x, m):
        return x[m], x[~m], x[m].sum()

    x = made(dtype, (n,))
    check(selected, *[(x, mask(n, share)) for share in (0, 0.02, 0.5, 0.98, 1)], compiled=False)
    check(selected, (x, np.r_[np.ones(n // 2, bool), np.zeros(n - n // 2, bool)]), compiled=False)


@pytest.mark.parametrize("layout", list(layouts("f8")))
@pytest.mark.parametrize("dtype", ["f8", "u1", "c16"])
def test_layouts(dtype, layout):
    def whole(x, m):
        return x[m], x[m.T.copy().T], x[m][::-1], (x + x)[m]

    def rows(x, m):
        return x[m[:, 0]], x[:, m[0]], x[m[:, 0], 0], x[m[:, 0]] * 2

    x = layouts(dtype)[layout]
    for function in (whole, rows):
        check(function, (x, mask(x.shape, 0.5)), (x, mask(x.shape, 0.2)), compiled=False)


def test_memory():
    def own(x):
        y = x[x > 0]
        y += 1
        x[:3] = -1
        z = x[x > 0]
        return y, z, x

    def loop(x):
        for i in range(5):
            x = x[x > x.mean()] if len(x) > 2 else x
        return x

    def many(x):
        return x[x > 0].mean(), x[x < 0].size, x[x != 0].max(), len(x[x > 100]), (x[x > 0] > 1).any()

    for function in (own, loop, many):
        check(function, (made("f8", (50,)),), (made("f8", (50,), 3),), compiled=False)
    jitted, x = pyasc.jit(lambda x: x[x > 0]), made("f8", (50,))
    for _ in range(3):
        y = jitted(x)
        y[:] = 99
        assert (x != 99).all() and y.flags.owndata and y.base is None


def test_errors():
    def wrong(x, m):
        return x[m]

    check(wrong, (made("f8", (5,)), mask(6, 0.5)), (made("f8", (5,)), mask(5, 0.5)), compiled=False)
    check(wrong, (made("f8", (5,)), mask((5, 1), 0.5)), (made("f8"), mask((5, 7), 0.5)), compiled=False)
    check(wrong, (made("f8", (5,)), np.True_), (np.array(2.0), np.array(True)), (made(">f8", (5,)), mask(5, 0.5)), compiled=False)


def test_nothing_is_called():
    jitted = pyasc.jit(lambda x: x[x > 0] * 2, tier=1)
    for seed in range(3):
        x = made("f8", (5000,), 0)
        assert picture(jitted, (x,)) == picture(jitted.__wrapped__, (x,))
    assert not jitted.report()["fallback"]


def test_from_one_mask_to_the_same():
    def moved(x, y):
        m = x > 0
        y[m] = x[m]
        return y

    def pending(x, y):
        z = y * 2
        m = x > y
        z[m] = (x + 1)[m]
        return z

    def augmented(x, y):
        m = x > 0
        y[m] += x[m]
        y[m] *= y[m]
        return y

    def changed(x, y):
        m = x > 0
        v = x[m]
        x[0] = 100
        y[m] = v
        m[0] = not m[0]
        return y, x

    def other_mask(x, y):
        m = x > 0
        v = x[m]
        m2 = x > 0
        m2[:] = m2[::-1]
        y[m] = v
        return y, m2

    def twice(x, y):
        m = x > 0
        v = x[m]
        y[m] = v
        x[m] = v + 1
        return y, x, v

    def converted(x, y):
        m = x > 0
        z = np.zeros(x.shape, np.float32)
        z[m] = x[m]
        i = np.zeros(x.shape, int)
        i[m] = x[m]
        return z, i

    def too_many(x, y):
        m = x > 0
        y[m] = x[~m]
        return y

    for shape in ((50,), (5, 7)):
        for function in (moved, pending, augmented, changed, other_mask, twice, converted, too_many):
            check(function, (made("f8", shape), made("f8", shape, 1)), (made("f8", shape, 2), made("f8", shape, 3)), compiled=False)
    check(moved, (made("f8", (500,)), made("f8", (500,), 1)), (made("f8", (500,), 2), made("f8", (500,), 3)))
    check(augmented, (made("f8", (500,)), made("f8", (500,), 1)), (made("f8", (500,), 2), made("f8", (500,), 3)), compiled=False)


def test_how_many_there_are_is_seen():
    def extents(x, y):
        v = x[x > 0]
        return len(v), y * v.shape[0], v.size

    def refused(x, y):
        v = x[x > 0]
        w = v + y  # noqa: F841
        return y

    def stored(x, y):
        m = x > 0
        v = x[m]
        y[m] = v
        return y, np.zeros(v.shape)

    def gone_over(x, y):
        n = 0
        for _ in x[x > 0]:
            n += 1
        return n, y

    argsets = [(np.array(v), np.arange(3.0)) for v in ([1.0, 2, 3], [1.0, 2, 3], [-1.0, 2, 3], [1.0, 1, 1], [-1.0, -1, 1], [0.0, 0, 0])]
    for function in (extents, refused, stored, gone_over):
        check(function, *argsets, compiled=False)
        check(function, *argsets[::-1], compiled=False)
