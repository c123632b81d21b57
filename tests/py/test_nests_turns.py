"""Loops compiled as a whole, rule by rule: ranges, jumps and conditions."""

import numpy as np
import pytest

from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


# -- How many turns ----------------------------------------------------------------------


@case((vec(), 0), (vec(), 3), (vec(), -2), (vec(0), 0), (vec(0), 1))
def turns_of_range(a, n):
    s = 0.0
    last = -7
    for i in range(n):
        s += a[i]
        last = i
    return s, last


@case((8, 0, -1), (8, 0, 1), (8, 0, -3), (0, 8, 3), (0, 8, 0), (1, 1, 1), (-3, 4, 2), (4, -3, -2), (10, 3, -10))
def steps_of_range(start, stop, step):
    s = 0
    for i in range(start, stop, step):
        s = s * 3 + i
    return s


@case((vec(),), (vec(1),), (vec(0),))
def triangle(a):
    s = 0.0
    n = len(a)
    for i in range(n):
        for j in range(i):
            s += a[i] * a[j]
        for j in range(i, n):
            s -= a[j]
        for j in range(n - 1, i, -1):
            s *= 0.5
            s += a[j]
    return s


@case((vec(),), (vec(1),), (vec(0),))
def loop_variable_behind(a):
    for i in range(len(a)):
        a[i] = i
    return i


@case((3,), (0,))
def loop_variable_assigned(n):
    s = 0
    i = 100
    for i in range(n):
        s += i
        i = i * 10
        s += i
    return s, i


@case((3,), (0,), (7,))
def bound_changed_inside(n):
    s = 0
    for i in range(n):
        n = n - 1
        s += n
    return s, n


@case((np.array([0, 3, 1, -2, 5]),), (np.array([0, 0]),), (np.array([], int),))
def inner_turns_from_data(k):
    s = 0
    last = -1
    for i in range(len(k)):
        for j in range(1, int(k[i])):
            last = j
            s += j
        for j in range(k[i]):
            s += j * 2
        for j in range(k[i], -3, -1):
            s += j
    return s, last


@case((np.array([0, 3, 1, -2, 5]),), (np.array([0, 0]),), (np.array([-4, -1]),))
def inner_name_behind_from_data(k):
    s = 0
    for i in range(len(k)):
        n = int(k[i])
        for j in range(1, n):
            last = j
            s += j
    return s, last, j


@case((np.array([2**62, 1]),), (np.array([-(2**62), 1]),), (np.array([2**63 - 1, 1]),), (np.array([-(2**63), 3]),))
def ends_far_away(k):
    s = 0
    for i in range(len(k)):
        n = int(k[i])
        for j in range(n - 2, n):
            s ^= j
        for j in range(n, n - 2, -1):
            s ^= j
    return s


@case((vec(),), (vec(1),))
def range_variable_step(a):
    s = 0.0
    for i in range(1, 4):
        for j in range(0, len(a), i):
            s += a[j] * i
    return s


@case((vec(), vec(5, seed=1)), (vec(3), vec(0)), (vec(2), vec(2, "i4")))
def zipped(a, b):
    s = 0.0
    t = 0
    for x, y in zip(a, b):
        s += x * y
        t += 1
    for i, (x, y) in enumerate(zip(a, b)):
        s += x * i
    for i, x in enumerate(a, 5):
        s -= i * x
    for x, i in zip(b, range(3, 0, -1)):
        s += i
    return s, t


@case((vec(),), (vec(1),), (vec(0),))
def backwards(a):
    s = 0.0
    for i in reversed(range(len(a))):
        s = s * 0.5 + a[i]
    for i in reversed(range(2, len(a), 3)):
        s = s * 0.5 + a[i]
    for i in reversed(range(len(a), 1, -1)):
        s = s * 0.5 + a[i - 1]
    for x in reversed(a):
        s = s * 0.25 + x
    for x in a[::-1]:
        s = s * 0.25 + x
    return s


@case((vec(),), (vec(0),))
def elements_changed_while_gone_over(a):
    s = 0.0
    for i, x in enumerate(a):
        if i + 1 < len(a):
            a[i + 1] += x
        s += x
    for x in a:
        a = a[:2]
        s += x
    return s


@case((mat(),), (mat(0, 3),), (mat(3, 0),))
def rows_gone_over(m):
    s = 0.0
    for row in m:
        row += 1
        s += row.sum()
        for x in row:
            s += x
    for i, row in enumerate(m):
        row[:] = row[::-1]
    return s


@case((vec(4),), (vec(9),), (vec(2),))
def subscript_as_target(a):
    s = 0
    for a[0] in range(4):
        s += 1
    for i, a[i] in enumerate(range(3)):
        s += i
    return s


# -- Jumps -------------------------------------------------------------------------------


@case((vec(), 0.0), (vec(), 9.0), (vec(), -9.0), (vec(0), 0.0))
def found_or_not(a, x):
    for i in range(len(a)):
        if a[i] > x:
            k = i
            break
    else:
        k = -1
    return k


@case((vec(), 0.0), (vec(), 9.0), (vec(), -9.0), (vec(0), 0.0))
def returned_from_inside(a, x):
    n = len(a)
    for i in range(n):
        for j in range(i + 1, n):
            if a[i] + a[j] > x:
                return i, j
    return None


@case((vec(), 0.0), (vec(), 9.0), (vec(), -9.0))
def returned_number(a, x):
    s = 0.0
    for i in range(len(a)):
        s += a[i]
        if s > x:
            return s
    return -1


@case((vec(20), 0.3), (vec(20), -5.0), (vec(20), 5.0))
def jumps_in_nested(a, x):
    c = 0
    d = 0
    for i in range(len(a)):
        if a[i] < -x:
            continue
        for j in range(len(a)):
            if j == i:
                continue
            if a[j] > x:
                c += 1
                break
            d += j
        else:
            d += 1000
            continue
        c += 100
        if c > 1500:
            break
    else:
        d = -d
    return c, d


@case((10,), (0,), (1,), (100,))
def while_else(n):
    i = 0
    while i < n:
        i += 3
        if i == 9:
            break
    else:
        i = -i
    return i


@case((10, 3), (0, 0), (7, 7))
def while_true(n, k):
    i = 0
    s = 0
    while True:
        i += 1
        if i % 2:
            continue
        if i > n and s > k or i > 50:
            break
        s += i
    return i, s


@case((vec(), 2), (vec(), 8), (vec(), 9))
def while_short_circuit(a, k):
    i = 0
    while i < len(a) and a[i] < k and not a[i] != a[i]:
        i += 1
    j = len(a) - 1
    while j >= 0 and (a[j] > 0 or a[j] < -1):
        j -= 1
    return i, j


@case((5,), (0,))
def else_returns(n):
    for i in range(n):
        if i == 7:
            break
    else:
        return "none"
    return i


@case((np.array([3, 0, 2]),), (np.array([0]),))
def while_on_number(k):
    c = 0
    for i in range(len(k)):
        n = k[i]
        while n:
            n -= 1
            c += 1
    return c, n


# -- Conditions --------------------------------------------------------------------------


@case((vec(9), 0.1), (vec(9, "i8"), 2), (vec(9, "f4"), 0.5), (vec(9, "u1"), 1))
def chains(a, x):
    c = 0
    for i in range(len(a)):
        if -1 < a[i] <= x < 3:
            c += 1
        if 0 <= i < 4 != i:
            c += 10
        if not a[i] > x or a[i] == x and i:
            c += 100
        c += 1000 if a[i] < 0 else 2000 if a[i] > 1 else 0
    return c


@case((5, 0), (0, 0), (3, 7))
def logic_as_values(n, k):
    s = 0
    for i in range(n):
        t = i and k
        u = i or 5
        s += t * 10 + u
    return s


@case((vec(6),), (vec(6, "i8"),), (np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e308]),))
def truth(a):
    c = 0
    for i in range(len(a)):
        if a[i]:
            c += 1
        if not a[i]:
            c += 10
        c += bool(a[i]) * 100
        b = a[i] > 0
        if b:
            c += 1000
        if not b:
            c += 10000
    return c, b


@case((np.array([2**53 + 1, 2**53, 2**53 - 1]), float(2**53)), (np.array([1, 2]), float("nan")),
      (np.array([1, 2]), float("inf")), (np.array([1, 2]), 1.0))
def ints_beside_floats(k, x):
    c = 0
    for i in range(len(k)):
        n = int(k[i])
        if n > x:
            c += 1
        if n == x:
            c += 10
        if k[i] > x:
            c += 100
        if k[i] == x:
            c += 1000
        if n <= x:
            c += 10000
    return c


@case((None, 3), (1, 3), (None, 0))
def none_compared(x, n):
    c = 0
    for i in range(n):
        if x is None:
            c += 1
        if x is not None and i > 0:
            c += 10
    return c


@case((True, 3), (False, 3))
def bool_identity(x, n):
    c = 0
    for i in range(n):
        if x is True:
            c += 1
        b = i > 1
        if b is True:
            c += 10
        if b == True:  # noqa: E712
            c += 100
    return c


# -- Steps that are not known ------------------------------------------------------------


@case((100, 3), (1000, 7), (5, 3), (100, -3), (3, 1))
def multiples_crossed_out(n, s):
    prime = np.ones(n, dtype=np.bool_)
    i = 2
    while i * i < n:
        if prime[i]:
            for k in range(i * i, n, i):
                prime[k] = False
        i += 1
    c = 0
    for k in range(n - 1, 0, -i):
        c += k * prime[k]
    for k in range(3, n, s):
        c -= k
    return prime, c


@case((np.arange(64.0),), (np.arange(13.0),), (np.arange(0.0),))
def butterflies(x):
    n, half = len(x), 1
    while half < n:
        for i in range(0, n, 2 * half):
            for j in range(i, i + half):
                if j + half < n:
                    a, b = x[j], x[j + half]
                    x[j], x[j + half] = a + b, a - b
        half *= 2
    return x


@case((vec(), 0), (vec(), 2))
def step_of_zero(x, s):
    t = 0.0
    for i in range(0, len(x), s):
        t += x[i]
    return t
