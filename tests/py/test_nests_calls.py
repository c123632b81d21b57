"""Loops compiled as a whole, rule by rule: functions called in loops, names behind them, what is not right yet."""
import math

import numpy as np
import pytest

from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


# -- Functions called in loops -----------------------------------------------------------


def twice(x):
    return x * 2


def writes_first(x, y):
    y[0] = 5.0
    return x.sum()


def writes_and_gives(x, v):
    r = x + 1
    x[0] = v
    return r


def sorted_pair(x, y):
    if x > y:
        x, y = y, x
    return x, y


def first_above(a, x):
    for i in range(len(a)):
        if a[i] > x:
            return i
    return -1


def none_of_it(a, i):
    a[i] += 1


def maybe(x):
    if x > 0:
        return x


def by_kind(x):
    if x > 0:
        return 1
    return x


def unbound_inside(x):
    if x > 0:
        y = 1
    return y


def factorial_of(n):
    return 1 if n < 2 else n * factorial_of(n - 1)


def adds_in_place(x, y):
    x += y
    return x


def row_of(m, i):
    return m[i]


def fresh(n):
    z = np.zeros(n)
    z[0] = n
    return z


def shadows(i, s):
    s = s + i
    i = s * 2
    return i


def many(*xs):
    return xs[0]


def keyword(x, *, y=2):
    return x * y


def counted(x):
    global COUNT
    COUNT += 1
    return x


COUNT = 0


def generator(n):
    yield from range(n)


def guarded(x, y):
    try:
        return x / y
    except ZeroDivisionError:
        return -1.0


def asserts(x):
    assert x < 1.0, "too much"
    return x


def raises(x):
    if x > 1.0:
        raise ValueError(f"no {x}")
    return x


def deep(x):
    return twice(twice(twice(x)) + twice(x))


def local_function(x):
    def inner(y):
        return y + x
    return inner(2)


squared = lambda x: x * x  # noqa: E731


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)), (vec(6, "i8"), vec(6)))
def lazy_arguments(a, b):
    s = 0.0
    for i in range(3):
        s += writes_first(a * 2, a)
        s += writes_first(a, a)
        s += writes_first(b + a, b)
        t = writes_and_gives(a, i)
        s += t.sum() + writes_and_gives(b, i).sum()
        u = twice(a)
        a[0] = 7.0
        s += u.sum()
    return s


@case((vec(6),), (vec(1),), (vec(6, "i8"),))
def functions_of_numbers(a):
    s = 0.0
    for i in range(len(a)):
        x, y = sorted_pair(a[i], s)
        s += x - y * 0.5 + first_above(a, s) + shadows(i, s)
        s += twice(i) + deep(a[i]) + squared(a[i]) + squared(i)
    return s, i, x, y


@case((vec(6),), (vec(1),))
def function_that_gives_nothing(a):
    s = 0
    for i in range(len(a)):
        none_of_it(a, i)
        s += i
    return s, none_of_it(a, 0)


@case((vec(6),), (np.ones(3),), (-np.ones(3),))
def function_of_two_kinds(a):
    s = 0.0
    for i in range(len(a)):
        x = by_kind(a[i])
        s += x
    return s, x


@case((vec(6),), (np.ones(3),), (-np.ones(3),))
def function_that_may_give_nothing(a):
    c = 0
    for i in range(len(a)):
        x = maybe(a[i])
        if x is None:
            c += 1
    return c


@case((np.ones(3),), (-np.ones(3),), (np.array([1.0, -1.0]),))
def function_with_unbound_name(a):
    c = 0
    for i in range(len(a)):
        c += unbound_inside(a[i])
    return c


@case((5,), (9,), (12,), (0,), (22,))
def recursive_function(n):
    s = 0
    for i in range(n):
        s += factorial_of(i)
    return s


@case((mat(4, 4), vec(4)), (mat(1, 1), vec(1)))
def functions_of_arrays(m, a):
    s = 0.0
    for i in range(len(m)):
        r = adds_in_place(m[i], a)
        r[0] = i
        t = row_of(m, i)
        t *= 2
        row_of(m, 0)[0] = 3
        z = fresh(len(a))
        z2 = fresh(len(a))
        z2[0] = -1
        s += z.sum() + z2.sum() + r.sum() + t.sum() + adds_in_place(a, 1).sum()
    return s


@case((vec(4), 3), (vec(4), 0))
def functions_of_other_kinds(a, n):
    s = 0.0
    for i in range(n):
        s += many(a[i], i) + keyword(a[i]) + keyword(a[i], y=3)
        for j in generator(i):
            s += j
        s += local_function(a[i])
    return s


@case((vec(4), 3), (vec(4), 0), (vec(4), 4))
def function_with_a_global(a, n):
    global COUNT
    COUNT = 0
    s = 0.0
    for i in range(n):
        s += counted(a[i])
    return s, COUNT


@case((vec(4), 0.0), (vec(4), 2.0), (vec(4), -1))
def functions_with_exceptions(a, x):
    s = 0.0
    for i in range(len(a)):
        a[i] += 1
        s += guarded(float(a[i]), x)
        s += asserts(s * 0.1) + raises(a[i])
    return s


@case((vec(4), np.sin), (vec(4), math.sin), (vec(4), twice), (vec(4), abs), (vec(4), float), (vec(4), lambda x: x + 1), (vec(4), np.float32))
def function_as_argument(a, f):
    s = 0.0
    for i in range(len(a)):
        s += f(a[i])
    return s


@case((vec(4), 3), (vec(4), 4))
def function_chosen(a, n):
    s = 0.0
    f = twice
    for i in range(n):
        s += f(a[i])
        f = squared if i % 2 else twice
    return s


class Point:
    def __init__(self, x):
        self.x = x

    def scaled(self, k):
        return self.x * k

    @staticmethod
    def plain(x):
        return x + 1

    @classmethod
    def of(cls, x):
        return x * 3

    def __call__(self, x):
        return x - self.x


@case((Point(2.0), vec(4)), (Point(3), vec(4)), (Point(np.float32(2)), vec(4)))
def methods_called(p, a):
    s = 0.0
    for i in range(len(a)):
        s += p.scaled(a[i])
    for i in range(len(a)):
        s += p.plain(a[i]) + p.of(a[i]) + Point.plain(i)
    for i in range(len(a)):
        s += p(a[i])
    return s


# -- Names behind loops --------------------------------------------------------------------


@case((vec(6), 3), (vec(6), 0), (vec(6), 6))
def names_of_inner_loops(a, n):
    log = []
    best = last = -1
    total = 0.0
    for k in range(n):
        log.append((best, last, total))
        for i in range(k + 1):
            if a[i] > 0:
                best = i
            last = i * k
            total += a[i]
        if k == 2:
            continue
        log.append(total)
        while last > 0:
            last -= 2
            best += 1
        log.append(last)
    else:
        log.append(best)
    return log, last


@case((vec(6), 3), (vec(6), 0), (vec(6), 9))
def names_in_finally(a, n):
    i = j = -1
    log = []
    try:
        try:
            for i in range(n):
                j = i * 2
                a[i] += j
        finally:
            log.append((i, j))
    except IndexError:
        log.append((i, j))
    return log


@case((vec(6), 3), (vec(6), 0))
def names_in_while_head(a, n):
    i = 0
    out = []
    while i < n:
        out.append(i)
        for j in range(3):
            i += 1
            a[j] += i
    return out, i


@case((vec(6), 3), (vec(6), 0))
def names_in_generators(a, n):
    s = 0
    for i in range(n):
        s += i
    g = (x + s for x in [1, 2])
    for i in range(n):
        s += i
    return list(g), [s for _ in [1]], {s: i for i in [1]}, (lambda q=s: q)()


@case((vec(6), 3), (vec(6), 0))
def names_of_augmented_targets(a, n):
    k = 0
    t = 1
    for i in range(n):
        k += 1
        t = t + k
    a[k] += t
    k -= 1
    a[:k] *= 2
    with np.errstate(all="ignore"):
        for i in range(n):
            t = i
        u = t
    if (v := t) > 0:
        u += v
    return f"{k} {t} {u}", *[t, u]


@case((3,), (0,))
def names_in_match_and_with(n):
    s = t = 0
    for i in range(n):
        s = i
        t = i + 0.5
    assert s >= 0, t
    del s
    try:
        return s
    except UnboundLocalError as e:
        return str(e), t


# -- Not right yet -------------------------------------------------------------------------


@case((np.ones(9), np.ones((9, 9))))
def empty_view_of_a_view(w, m):
    for i in range(9):
        w[:] += (m[1][9:] > 0).any()


class Mangled:
    def __init__(self):
        self.__k = 2.0
        setattr(self, "__k", 5.0)  # noqa: B010

    def total(self, a):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * self.__k
        return s


case((Mangled(), vec()))(Mangled.total)


@case(*[(np.random.default_rng(k).choice([0.0, -0.0], n),) for n in (9, 16, 33) for k in range(4)], fails="the sign of zero that max and min give")
def extremes_of_zeros(a):
    for i in range(2):
        s = a.min()
        t = a.max()
    return s, t


@case((mat(5, 5),))
def row_from_its_column(m):
    for i in range(3):
        m[i] = m[:, i + 1]
    return m


# -- Builtins that go through elements, which are not NumPy's functions of their names ----


@case((vec(9),), (vec(200),), (vec(0),), (vec(9, "f4"),), (vec(9, "?"),), (np.arange(250, 259).astype("u1"),), (vec(9, "i4"),))
def sums_of_builtins(a):
    s = 0.0
    t = sum(a)
    for i in range(len(a) + 3):
        s += sum(a) * i + sum(a[:i])
        t = sum(a[i:])
    return s, t


@case((vec(9),), (np.zeros(5),), (vec(0),), (np.ones(3, bool),), (np.array([0.0, np.nan]),), (mat(1, 3),), (mat(3, 3),))
def truths_of_builtins(a):
    c = 0
    t = u = None
    for i in range(4):
        t, u = any(a[i:]), all(a > 0)
        if any(a[:i]) or not all(a):
            c += 1
    return c, t, u


@case((mat(3, 4),), (mat(0, 4),), (mat(1, 1),))
def sums_of_rows(m):
    s = 0.0
    for i in range(5):
        s += sum(m) * i
    return s


# -- Functions that write what is read around their call ---------------------------------


def bump(v, k):
    v[k] += 1
    return v[k]


def put(v, x):
    v[:] = x
    return x


@case((vec(9), vec(9, seed=1)), (vec(9, "i8"), vec(9, "i8", 1)))
def read_before_the_call(a, b):
    s = 0
    for i in range(len(a)):
        a[i] += bump(a, i // 2)
        b[i] -= a[i] * bump(a, i) + a[i]
        s += a[i] if bump(a, i) > 0 and a[i] > 0 else b[i]
        a[i], b[0] = b[0], bump(b, 0)
    return s


@case((vec(9), vec(9, seed=1)), (vec(9, "f4"), vec(9, "f4", 1)))
def arrays_before_the_call(a, b):
    for i in range(len(a)):
        b[:] = a * 2 + bump(a, i)


@case((vec(9), vec(9, seed=1)))
def views_before_the_call(a, b):
    for i in range(len(a)):
        b[:] = a + bump(a, i)
        b[:5] += put(b, 0.5)


@case((vec(9), vec(9, seed=1)))
def masks_before_the_call(a, b):
    s = 0.0
    for i in range(len(a)):
        a[a > 0] += bump(a, i)
        s += (np.minimum(a, 0.5) * put(a, b[i])).sum()
    return s
