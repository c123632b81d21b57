"""Arguments that lie in each other's memory: what is written through one is seen through the others."""
import numpy as np

import pyasc
from same import freeze


def result(function, base, views):
    """What the function gives and leaves, of arguments made of a copy of the base; and which results are arguments."""
    x = base.copy(order="K")
    args = [view(x) for view in views]
    try:
        got = function(*args)
    except Exception as error:
        return type(error), str(error), freeze([x])
    parts = got if isinstance(got, tuple) else (got,)
    return freeze(list(parts)), freeze([x]), [[p is a for a in args] for p in parts]


def check(function, base, *views, compiled=True):
    for numerics in ("strict", "numpy"):
        for tier in (0, 1):
            jitted = pyasc.jit(function, tier=tier, numerics=numerics)
            for _ in range(3):
                assert result(jitted, base, views) == result(function, base, views), (tier, numerics)
                jitted.wait()
            if compiled and tier == 1:
                assert not jitted.report()["fallback"], jitted.report()["reasons"]


whole, tail, back, column = lambda x: x, lambda x: x[2:], lambda x: x[::-1], lambda x: x[:, 1]


def test_parts_of_one():
    def f(a, t, b):
        t += 10
        first = b[0]
        a[0] = -1
        return first, b[-1], a.sum(), t[:2] * 2

    check(f, np.arange(8.0), whole, tail, back)
    check(f, np.arange(8), tail, whole, back)


def test_column_of_a_matrix():
    def f(m, c):
        c[:] = c[::-1]
        m[0] = c[1:]
        m += c[:, None]
        return m.copy(), c * 2

    check(f, np.arange(6.0).reshape(3, 2), whole, column)
    check(f, np.asfortranarray(np.arange(6.0).reshape(3, 2)), whole, column)


def test_shifted():
    def f(x, y):
        y[...] = x[:len(y)] * 2
        x[1:] += y[:len(x) - 1] if len(y) >= len(x) else y[0]
        return x, y, x + 1

    for base in (np.arange(10.0), np.arange(10, dtype="u1")):
        for views in ((whole, tail), (tail, whole), (whole, back), (whole, lambda x: x[::2]), (whole, lambda x: x[8:2:-2])):
            check(f, base, *views, compiled=False)


def test_the_result_is_the_argument():
    def f(x, y):
        y += 1
        return y, x, y[1:], x[:2]

    check(f, np.arange(6.0), whole, tail)
    check(f, np.arange(6.0), tail, whole)


def test_out():
    def f(a, o):
        np.add(a, 1, out=o)
        np.multiply(o, a, out=a)
        return o

    check(f, np.arange(6.0), whole, back)
    check(f, np.arange(9.0).reshape(3, 3), whole, lambda x: x.T)


def test_indices_and_masks():
    def f(a, t):
        a[t > 3] = 0
        t[[0, 1]] = a[[2, 0]]
        a[a < 2] += t[0]
        return a[t[:2].astype(int)], np.flatnonzero(t)

    check(f, np.arange(9.0), whole, back)


def test_what_is_only_read():
    def f(a, t):
        return a[:6] + t, a.sum()

    check(f, np.arange(8.0), whole, tail)


def test_loops():
    def f(a, t, n):
        for i in range(n):
            t *= 0.5
            a[i % 3] += t[-1]
        return a.sum()

    def elements(a, t):
        for i in range(len(t)):
            t[i] = a[i] + 1
        return a

    for n in (3, 40):
        jitted = pyasc.jit(f)
        for _ in range(3):
            x, y = np.arange(8.0), np.arange(8.0)
            assert jitted(x, x[2:], n) == f(y, y[2:], n) and (x == y).all()
    check(elements, np.arange(8.0), whole, tail, compiled=False)


def test_one_function_for_all():
    """Plans for arguments that share memory, in one way or another, and for those that do not, side by side."""
    def f(a, b):
        a[1:] += b[:-1]
        b *= 2
        return a * b

    for tier in (0, 1):
        jitted = pyasc.jit(f, tier=tier)
        for _ in range(3):
            for make in (lambda x: (x[:6], np.ones(6)), lambda x: (x[:6], x[2:8]), lambda x: (x[:6], x[:6][::1]), lambda x: (x[:6], x[6:]),
                         lambda x: (x[:6], x[5:11]), lambda x: (x[6:], x[:6])):
                x, y = np.arange(12.0), np.arange(12.0)
                assert freeze(jitted(*make(x))) == freeze(f(*make(y)))
                assert freeze(x) == freeze(y)


def test_interleaved_and_partly_shared():
    def f(a, b):
        a += b
        b[0] = 7
        return a.sum()

    for views in ((lambda x: x[::2], lambda x: x[1::2]), (lambda x: x[:6], lambda x: x[3:9])):
        check(f, np.arange(12.0), *views, compiled=False)


def test_readonly():
    def f(a, b):
        a[0] = 5
        b[0] = 6
        return b

    def locked(x):
        y = x[1:]
        y.flags.writeable = False
        return y

    check(f, np.arange(5.0), whole, locked, compiled=False)
    check(f, np.arange(5.0), locked, whole, compiled=False)


def test_other_dtypes():
    def f(a, b):
        a[0] = 1.5
        b[1] = 3
        return a, b

    check(f, np.arange(5.0), whole, lambda x: x.view("i8"), compiled=False)
    check(f, np.arange(5.0), whole, lambda x: x.view("c16") if x.size % 2 == 0 else x[:4].view("c16"), compiled=False)


def test_arrays_in_arrays_of_objects():
    def f(a):
        b = a + 1
        made = np.array([a, b, None], dtype=object)
        put = np.empty(1, dtype=object)
        put[0] = b
        made[0][1] = 5
        put[0][2] = 7
        return a.sum(), b * 2, made[0] is a, made[1] is b, put[0] is b

    check(f, np.arange(4.0), whole, compiled=False)
