"""Traces that end in some turn of a loop, of programs that may or may not be traced as a whole."""

import numpy as np
import pytest

import pyasc
from same import freeze, outcome

CASES = []


class Ends:
    """What code that is not traced does: it ends the trace."""

    def __getitem__(self, key):
        return key


ends = Ends()


def case(function):
    CASES.append(function)
    return function


@pytest.mark.parametrize("turn", [-1, 0, 1, 2, 3, 5, 7, 9, 11, 14, 19])
@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_case(function, turn):
    jitted = pyasc.jit(function, numerics="strict")
    for call in range(3):
        a, b = (np.random.default_rng(turn + 1).standard_normal(16) for _ in range(2))
        assert outcome(jitted, a, turn) == outcome(function, b, turn), call
        assert freeze([a]) == freeze([b])


@case
def views_and_lists(a, k):
    x, out = a * 2, []
    for i in range(12):
        x = x + a[i]
        y = x[1:]
        y[0] += i
        if i == k:
            ends[0]
        out.append(x)
        out.append((i, y))
        x[x > 1] = 1
    return out, x, y


@case
def swaps(a, k):
    u, v = a * 1, a * 1
    for i in range(10):
        v[1:] = u[:-1] * 0.5
        if i == k:
            ends[0]
        u, v = v, u
        w = u + v
        w *= 2
    return u, v, w


@case
def dicts_and_else(a, k):
    d, s = {}, 0.0
    for i, (x, row) in enumerate(zip(a, [a, a[1:], a[2:], a * 3])):
        row[0] = x + 1
        d[i] = (row, x)
        if i == k:
            ends[0]
        s += row.sum()
    else:
        d["else"] = s
    return d, s, x, row


@case
def while_with_jumps(a, k):
    i, out = 0, []
    while i < 8:
        i += 1
        if i == k:
            ends[0]
        if i % 3 == 0:
            continue
        b = a[i:]
        b = b - b.mean() if i % 2 else b
        out += [b, b.max()]
        if i == 7:
            break
    else:
        out.append("never")
    return out, i, b


@case
def one_in_another(a, k):
    m, t = np.zeros((4, 5)), (a, 1)
    for i in range(4):
        for j in range(5):
            m[i, j] = t[0][i] * j + m[i - 1, j]
            if i * 5 + j == k:
                ends[0]
            t = (t[0] + 1, t[1] + j)
        m[i] = np.sort(m[i])
        row = m[i]
    row[0] = 99
    return m, t, row


@case
def errors(a, k):
    try:
        for i in range(30):
            a[i] *= 2
            if i == k:
                ends[0]
            z = np.sqrt(a[i])
            if i == 9:
                raise KeyError(i)
    except KeyError as error:
        z = (z, str(error))
    finally:
        a[0] = -1
    return z, i


@case
def what_things_are(a, k):
    seen = []
    for x in a:
        if len(seen) == k:
            ends[0]
        seen.append([x, type(x).__name__, isinstance(x, float), x == x, bool(x > 0)])
        shape = a is not None and a.shape
    return seen, shape


@case
def memory_of_others(a, k):
    n, c = 0, a.copy()
    view = c[::2]
    for i in range(6):
        view += i
        if i == k:
            ends[0]
        c[:] = c[::-1]
        n = n + int(c[0] > 0)
        p, q = np.dot(c, a), c.astype("f4")
    return n, c, view, p, q, c is view.base


@case
def rows_of_lists(a, k):
    rows = []
    for i in range(5):
        row = []
        for j in range(3):
            row.append(a[i] + j)
            if i * 3 + j == k:
                ends[0]
        rows.append(row)
        del row
    return rows


@case
def none_at_first(a, k):
    best = None
    for i in range(8):
        if i == k:
            ends[0]
        if best is None or a[i] > best:
            best = a[i]
            at = i
        a[i] = best
    return best, at
