"""Tuples in loops compiled as a whole: what they carry, go over and leave behind."""

import math

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_compiled(function, argsets, times):
    jitted = pyasc.jit(function, tier=1)
    for _ in range(2):
        jitted(*argsets[0])
    assert ("compiled loop" in jitted.explain()) == (not function.__name__.startswith("plain_"))


# -- Carried -----------------------------------------------------------------------------


@case((vec(60),), (vec(1),), (vec(0),))
def nearest_pair(a):
    best = math.inf
    pair = (-1, -1)
    for i in range(len(a)):
        for j in range(i + 1, len(a)):
            d = abs(a[i] - a[j])
            if d < best:
                best = d
                pair = (i, j)
    return best, pair


@case((vec(300),), (vec(2, "f4"),))
def of_the_last_turn(a):
    for i in range(len(a)):
        t = (i, a[i], i % 2 == 0, complex(i, a[i]))
    return t


@case((vec(300),), (vec(0),))
def states(a):
    s = (0.0, 1.0)
    for i in range(len(a)):
        x, y = s
        s = (x + float(a[i]) * y, y - 0.1 * x)
    return s


@case((vec(300),), (vec(0),), (vec(1),))
def python_then_numpy(a):
    s = ((0.0, 1), 2)
    for i in range(len(a)):
        s = ((s[0][0] + a[i], s[0][1] + 1), s[1])
    return s


@case((vec(300), 150), (vec(8), 9))
def until_a_break(a, n):
    t = (0, 0.0)
    for i in range(len(a)):
        if i == n:
            break
        t = (i, t[1] + a[i])
    return t, t[0]


@case((vec(300),))
def while_swapping(a):
    t = (1, 2)
    n = 0
    while n < len(a):
        t = t[1], t[0]
        if a[n] > 0:
            t = t[0] + 1, t[1]
        n += 1
    return t, n


@case((vec(300),))
def chosen(a):
    s = 0.0
    for i in range(len(a)):
        low, high = (a[i], 1.0) if a[i] < 0.5 else (0.5, a[i])
        s += high - low
    return s


@case((vec(300),))
def plain_of_two_lengths(a):
    t = (1, 2)
    for i in range(len(a)):
        if a[i] > 0:
            t = (1, 2, 3)
        else:
            t = (i, 5)
    return t


@case((vec(300),), (vec(0),))
def plain_tuple_or_number(a):
    t = 0
    for i in range(len(a)):
        t = (i, t) if i % 2 else i
    return t


@case((mat(60, 5),))
def rows_in_tuples(a):
    t = (a[0], 0)
    for i in range(len(a)):
        for j in range(a.shape[1]):
            a[i, j] += 1
        t = (a[i], i)
    return t


# -- Gone over ---------------------------------------------------------------------------


@case((mat(12, 11, "i8"),), (mat(1, 1, "i8"),))
def neighbours(g):
    n, m = g.shape
    t = 0
    for i in range(n):
        for j in range(m):
            for di in (-1, 0, 1):
                for dj in [-1, 0, 1]:
                    if di == 0 and dj == 0:
                        continue
                    t += g[(i + di) % n, (j + dj) % m] * (di + 2 * dj)
    return t


@case((mat(12, 11),), (mat(1, 1),))
def offsets(g):
    n, m = g.shape
    t = 0
    for i in range(n):
        for j in range(m):
            for k, (di, dj) in enumerate(((0, 1), (1, 0), (0, -1), (-1, 0))):
                a, b = i + di, j + dj
                if 0 <= a < n and 0 <= b < m:
                    t += g[a, b] * k
                    if t > 1e6:
                        break
    return t, k, di, dj


WEIGHTS = (0.25, 0.5, 0.25)


@case((vec(100),))
def weights_from_outside(a):
    out = np.zeros(len(a))
    for i in range(1, len(a) - 1):
        for k, w in enumerate(WEIGHTS):
            out[i] += w * a[i + k - 1]
        for x, y in zip((1, 2, 3), (0.5, 1.5)):
            out[i] += x * y
    return out, k, w


@case((vec(200),))
def ints_and_floats(a):
    s = 0.0
    for i in range(len(a)):
        for c in (1, 2.5, 2):
            s += a[i] * c
    return s, c


# -- Lists are no tuples -----------------------------------------------------------------


@case((vec(300),), (vec(0),))
def plain_list_with_a_name(a):
    p = [0.0, 1.0]
    for i in range(len(a)):
        p = [a[i], 2.0]
    return p


@case((vec(300),))
def plain_list_in_a_tuple(a):
    p = (0, [1.0])
    for i in range(len(a)):
        p = (i, [a[i]])
    return p


@case((vec(300),))
def lists_as_arrays(a):
    s = 0.0
    out = np.zeros((len(a), 2))
    for i in range(len(a)):
        x, y = [a[i], 2.0]
        out[i] = [x * y, y]
        s += np.array([x, y]).sum()
    return s, out


# -- Functions that give nothing, scalars ------------------------------------------------


def sink(a, i):
    while i > 0:
        if a[i] >= a[i - 1]:
            return
        a[i], a[i - 1] = a[i - 1], a[i]
        i -= 1


def keep(a, i, x):
    if x > 0:
        a[i] = x
        return None


@case((vec(200),), (vec(1),))
def functions_that_give_nothing(a):
    for i in range(len(a)):
        sink(a, i)
    for i in range(len(a)):
        keep(a, i, float(a[i]) - 0.1)
    return a


@case((vec(300, "u1"),), (vec(0, "u1"),))
def narrow_scalars(a):
    h = np.uint32(2166136261)
    t = np.int8(0)
    for b in a:
        h = np.uint32((int(h) ^ int(b)) * 16777619 & 0xFFFFFFFF)
        t = np.int8(b)
    return h, t


@case((vec(300),), (vec(9, low=-300),), (np.array([1.0, 127.9, -128.9, 300.0]),), (np.array([1.0, np.nan]),))
def scalars_of_floats(a):
    s = 0
    for x in a:
        s += int(np.int8(x)) + int(np.uint16(float(x) if x > 0 else 1.5)) + int(np.bool_(x))
    return s


@case((vec(300, "i8"),), (np.array([1, 300, -300, 2**40]),))
def scalars_that_wrap(a):
    s = 0
    for x in a:
        s += int(np.uint8(x)) * 3 + int(np.int32(x)) + int(np.uint64(x) > 5)
    return s


@case((vec(300, "i8"),), (np.array([1, 300, -300, 2**40]),))
def scalars_that_do_not_fit(a):
    s = 0
    for x in a:
        s += int(np.int8(int(x)))
    return s
