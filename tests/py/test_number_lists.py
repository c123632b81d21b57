"""numpy.array of lists of numbers, some of them computed."""
import numpy as np
import pytest

import pyasc

from moves import check


def test_numbers_of_a_call():
    def matrices(dt, a):
        f = np.array([[1, dt], [0, 1]])
        q = 0.5 * np.array([[dt * 2, dt - 1], [1.0, dt]])
        return f, q, f @ q, np.array([dt, a]), np.asarray((dt, 2)), np.array([[a]]), np.array((a, 1j))

    check(matrices, (0.5, 3.25), (1.5, -0.0))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16", "f2"])
def test_elements(dtype):
    def picked(x):
        a = np.array([x[0], x[1], x[3]])
        b = np.array([[x[0], 1], [x[2], x[1]]])
        a[1] = x[2]
        return a, b, np.array([x[0]], dtype="f8" if x.dtype.kind != "c" else "c16"), np.array((x[0], [x][0][1]))

    def reduced(x):
        return np.array([x.max(), x.min()]), np.array([v * 2 for v in x[:3]]), np.asarray([x.sum(), 2.5])

    x = np.array([3, 1, 2, 0], dtype)
    check(picked, (x,), compiled=dtype not in ("f2",))
    if dtype not in ("c16", "?", "f2"):
        check(reduced, (x,), compiled=dtype in ("f8", "f4", "i8"))


def test_mixed_kinds():
    def f(x, n, i, s):
        return np.array([n, i[0]]), np.array([i[0], s]), np.array([s, True]), np.array([x[0], n]), np.array([[i[1], 2], [3, s]])

    check(f, (np.arange(3, dtype="f4"), 1.5, np.arange(3), np.float32(2.5)), (np.arange(3.0), 2.5, np.arange(3, dtype="i2"), np.float64(1)))


def test_what_is_no_array_of_numbers():
    def ragged(x):
        return np.array([[x[0], 1], [2]])

    def many(x):
        return np.array([v + 1 for v in x])

    check(ragged, (np.arange(3.0),), compiled=False)
    check(many, (np.arange(100.0),), compiled=False)


def test_the_array_is_a_new_one_each_time():
    def f(a):
        x = np.array([a, 1.0])
        x[1] += a
        return x

    jitted = pyasc.jit(f)
    kept = [jitted(float(k)) for k in range(4)]
    assert [list(k) for k in kept] == [[k, 1.0 + k] for k in range(4)]


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_reductions_of_lists(dtype):
    def arrays(a, b):
        return np.mean([a, b], axis=0), np.sum((a, b)), np.max([a, b], axis=1), np.any([a > 0, b > 0], axis=0)

    def numbers(a, b):
        return np.sum([a[0], b[1], 2]), np.max([a.sum(), b.sum()]), np.mean([1, 2, a[0]]), np.argmax([a[0], b[0]])

    for function in (arrays, numbers):
        check(function, (np.arange(4).astype(dtype), np.arange(4, 0, -1).astype(dtype)))


def test_reductions_of_what_is_no_array():
    def ragged(a, b):
        return np.sum([a, b[:2]])

    def plain(a, b):
        return np.sum([1, 2, 3]) + a, np.max([[1, 2], [3, 4]], axis=1)

    check(ragged, (np.arange(4.0), np.arange(4.0)), compiled=False)
    check(plain, (np.arange(4.0), np.arange(4.0)), compiled=False)


def test_ints_that_no_int64_holds():
    def f(x):
        return [str(v) for v in (np.array([x, 1]).dtype, np.array([[x], [x]]).tolist())]

    jitted = pyasc.jit(f)
    for x in (1, 2, 3, 2**63, 4, 2**70, -2**63, -2**63 - 1):
        assert jitted(x) == f(x), x
