"""Loops compiled as a whole, rule by rule: each of them does what Python does."""
import math
import signal
import threading
import time

import numpy as np
import pytest

import pyasc
from nesting import cases, compare
from same import freeze, outcome

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


def vec(n=8, dtype="f8", seed=0, low=-5, high=6):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(n).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    return rng.integers(0 if np.dtype(dtype).kind == "u" else low, high, n).astype(dtype)


def mat(n=5, m=6, dtype="f8", seed=0):
    return vec(n * m, dtype, seed).reshape(n, m)


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


# -- Types that change -------------------------------------------------------------------


@case((vec(),), (vec(0),), (vec(8, "f4"),), (vec(8, "i8"),), (vec(8, "i4"),), (vec(8, "?"),), (vec(8, "u1"),))
def sum_from_int(a):
    s = 0
    for i in range(len(a)):
        s += a[i]
    return s


@case((vec(),), (vec(0),), (vec(8, "f4"),), (vec(8, "i8"),), (vec(8, "u8"),))
def sum_from_float(a):
    s = 0.0
    for x in a:
        s = s + x
    return s


@case((vec(),), (vec(8, "f4"),), (vec(8, "i8"),), (vec(0),), (np.array([-3.5, -1.0]),))
def maximum_by_hand(a):
    m = -1
    for i in range(len(a)):
        if a[i] > m:
            m = a[i]
    k = 0
    for i in range(len(a)):
        k = max(k, a[i])
    return m, k


@case((5,), (0,), (1,))
def int_to_float(n):
    s = 1
    for i in range(n):
        s = s / 2
    t = 0
    for i in range(n):
        t += 0.5
    return s, t


@case((vec(4),), (vec(0),), (vec(1),))
def first_turn_differs(a):
    prev = None
    s = 0.0
    for i in range(len(a)):
        if prev is not None:
            s += a[i] - prev
        prev = a[i]
    return s, prev


@case((5,), (0,), (1,), (2,))
def kind_by_turn(n):
    x = 0
    for i in range(n):
        if i % 2:
            x = 1.5
        else:
            x = i
    return x


@case((vec(5),), (vec(0),))
def swapped_types(a):
    x, y = 0, 1.0
    for i in range(len(a)):
        x, y = y, x
    z = 1
    w = 2.0
    for i in range(len(a)):
        t = z
        z = w
        w = t
    return x, y, z, w


@case((5,), (0,), (1,))
def bool_to_int(n):
    b = False
    c = True
    for i in range(n):
        b = b + True
        c = c and i > 2
    return b, c


@case((5,), (0,))
def bound_in_turns(n):
    for i in range(n):
        x = i * 2
        y = x + 0.5
    return x, y


@case((vec(5), 0.0), (vec(5), 100.0))
def bound_in_one_way(a, x):
    for i in range(len(a)):
        if a[i] > x:
            found = i
    return found


@case((vec(5), 0.0), (vec(5), 100.0))
def unbound_read_inside(a, x):
    s = 0
    for i in range(len(a)):
        if a[i] > x:
            k = i
        s += k
    return s


@case((3,), (0,))
def unbound_behind(n):
    for i in range(n):
        for j in range(i):
            k = j
    return k


# -- Python's ints -----------------------------------------------------------------------


@case((10,), (92,), (100,), (0,), (93,))
def fibonacci(n):
    a, b = 0, 1
    for i in range(n):
        a, b = b, a + b
    return a


@case((10,), (39,), (40,), (41,), (60,))
def powers_of_three(n):
    k = 1
    for i in range(n):
        k *= 3
    return k


@case((20,), (21,), (25,))
def factorial(n):
    k = 1
    for i in range(1, n + 1):
        k *= i
    return k


@case((10,), (63,), (64,), (65,))
def shifted_left(n):
    k = 1
    s = 0
    for i in range(n):
        k <<= 1
        s |= 1 << i
    return k, s


@case((7, 3), (-7, 3), (7, -3), (-7, -3), (0, 5), (5, 0), (-(2**63), -1), (2**63 - 1, -1))
def division(x, y):
    s = 0
    for i in range(4):
        s = s * 100 + x // y
        s = s * 10 + x % y
        x += 1
    return s


@case((vec(9, "i8"), 3), (vec(9, "i8"), -3), (vec(9, "i8"), 0), (vec(9, "i4"), 2), (vec(9, "u1"), 7))
def division_of_data(k, y):
    s = 0
    t = 0.0
    for i in range(len(k)):
        n = int(k[i])
        s += n // y * 7 + n % y
        t += n / y
        t -= n % (y + 0.5)
        t += n // (y + 0.5)
        k[i] = k[i] // y + k[i] % y
    return s, t


@case((np.array([-(2**63), 5]), -1), (np.array([2**63 - 1, 5]), -1))
def division_that_overflows(k, y):
    s = 0
    for i in range(len(k)):
        s += int(k[i]) // y
        s ^= -int(k[i])
        s ^= abs(int(k[i]))
    return s


@case((np.array([2**62, 2**62]),), (np.array([2**31, -(2**31)]),), (np.array([3, -4]),))
def overflows_of_data(k):
    s = 0
    for i in range(len(k)):
        n = int(k[i])
        s += n * n
        s -= n
        n += n
        s = s + n
    return s


@case((vec(6, "i8"), 2), (vec(6, "i8"), 0), (vec(6, "i8"), 62), (vec(6, "i8"), 63), (vec(6, "i8"), 64), (vec(6, "i8"), -1))
def shifts_of_data(k, by):
    s = 0
    for i in range(len(k)):
        n = int(k[i])
        s ^= (n >> by) + (n << by)
    return s


@case((vec(6, "i8"), 2), (vec(6, "i8"), 0), (vec(6, "i8"), 64), (vec(6, "i4"), 31), (vec(6, "u1"), 7), (vec(6, "i8"), -1),
      (vec(6, "i8"), 70))
def shifts_of_elements(k, by):
    for i in range(len(k)):
        k[i] = (k[i] >> by) ^ (k[i] << by)
    return k


@case((3,), (0,), (-2,), (10,))
def powers(n):
    s = 0
    t = 0.0
    for i in range(1, 5):
        s += i ** 2 + n ** 3 + i ** 0
        t += i ** -1 + i ** 0.5 + 2 ** i
    return s, t


@case((3,), (0,), (-2,), (0.5,), (-0.5,), (np.float64(-2.5),), (np.int64(3),), (np.int64(-1),), (np.float32(1.7),))
def powers_of_kinds(x):
    s = 0.0
    for i in range(3):
        s = s + x ** i + x ** 2 + i ** x + x ** 0.5
    return s


@case((0,), (1,))
def zero_to_negative_power(n):
    s = 0.0
    for i in range(n, 3):
        s += i ** -1
    return s


@case((5, 3), (-5, 3), (2**40, 2**41), (-1, 0))
def bits(x, y):
    s = 0
    for i in range(6):
        s ^= (x & y) + (x | y) * 3 + (x ^ y) - ~x
        x -= 2
        y += 3
    return s


@case((1,), (2**32,), (12345,))
def xorshift(seed):
    x = seed
    s = 0
    for i in range(20):
        x ^= (x << 13) & 0xFFFFFFFFFFFFFFFF
        x ^= x >> 7
        x ^= (x << 17) & 0xFFFFFFFFFFFFFFFF
        s += x & 1
    return x, s


@case((1,), (12345,), (2**31 - 2,))
def congruential(seed):
    x = seed
    s = 0.0
    for i in range(50):
        x = (1103515245 * x + 12345) % 2147483648
        s += x / 2147483648
    return x, s


@case((True, False), (True, True), (False, 3), (2, True))
def bools_as_numbers(p, q):
    s = 0
    for i in range(3):
        b = i > 0
        c = i < 2
        s += (b & c) + (b | c) * 2 + (b ^ c) * 4 + (p + q) + (b + b) + -b + (p & b) + abs(b) + (p * 3)
        d = b & c
        e = b + c
        f = b & 1
        g = +b
    return s, d, e, f, g


@case((3,), (2**63,), (-(2**63),), (2**64,), (2**63 - 1,))
def large_from_outside(n):
    s = 0
    for i in range(3):
        s += n
        if n > 5:
            s += 1
    return s


# -- Exceptions --------------------------------------------------------------------------


@case((vec(), 8), (vec(), 9), (vec(), 7), (vec(0), 1))
def index_error_after_writes(a, n):
    for i in range(n):
        a[i] = a[i] * 2 + i
    return a.sum()


@case((vec(), 5), (vec(), -9), (vec(), -8), (vec(), 8))
def index_error_after_writes_elsewhere(a, k):
    a += 1
    b = a * 2
    for i in range(5):
        b[i] = 7
        a[i] -= b[k]
    return a, b


@case((vec(6), np.array([1, 2, 0, -1, -6, 5])), (vec(6), np.array([1, 2, 9, 0])), (vec(6), np.array([1, -7])),
      (vec(6), np.array([1, 2, 0], np.int32)), (vec(6), np.array([1, 2, 0], np.uint8)), (vec(6), np.array([1, 2, 0], np.uint64)),
      (vec(6), np.array([1, 250], np.uint8)), (vec(6), np.array([1, -2], np.int8)), (vec(6), np.array([True, False])),
      (vec(6), np.array([1.0, 2.0])))
def indices_from_data(a, k):
    s = 0.0
    for i in range(len(k)):
        s += a[k[i]]
        a[k[i]] = s
        a[k[i] - 1] += 1
    return s


@case((vec(), 1.0), (vec(), 0.0), (vec(8, "i8"), 0), (vec(8, "f4"), 0))
def divided_by_zero(a, x):
    s = 0.0
    for i in range(len(a)):
        a[i] = i
        s += 1 / (x + i)
        s += a[i] / x
    return s


@case((np.array([1.0, 4.0, -1.0]),), (np.array([1.0, 4.0]),), (np.array([np.nan, np.inf]),), (np.array([0.0, -0.0]),))
def domain_of_sqrt(a):
    s = 0.0
    for i in range(len(a)):
        a[i] = math.sqrt(a[i])
        s += a[i]
    return s


@case((np.array([1.0, np.nan]),), (np.array([1.0, np.inf]),), (np.array([-1e30, 1.0]),), (np.array([2.7, -2.7]),),
      (np.array([9.3e18]),), (np.array([-2.0**63]),), (np.array([2.7, -2.7], "f4"),))
def int_of_float(a):
    s = 0
    for i in range(len(a)):
        s += int(a[i])
        s += math.floor(a[i]) * 10 + math.ceil(a[i]) * 100
    return s


@case((np.array([0, 1, 2]),), (np.array([2**63 - 1, 2**63 + 5], np.uint64),), (np.array([1, 2], np.uint8),))
def int_of_element(k):
    s = 0
    for i in range(len(k)):
        s += int(k[i])
        s -= float(k[i]) > 3
    return s


@case((700.0,), (710.0,), (1.0,), (-800.0,))
def math_overflow(x):
    s = 0.0
    for i in range(3):
        s += math.exp(x)
        s += math.cosh(x / 2)
        s += x ** 2.0
    return s


@case((1.0,), (0.0,), (-1.0,), (float("inf"),), (float("nan"),))
def math_log(x):
    s = 0.0
    for i in range(1, 4):
        s += math.log(x * i)
        s += math.log10(x * i) + math.log2(x * i) + math.log1p(x)
    return s


@case((1e200,), (1.0,))
def float_overflow(x):
    s = 1.0
    for i in range(3):
        s *= x
    return s, x ** 2


@case((vec(), 3), (vec(), 8), (vec(), 20))
def exception_caught(a, n):
    s = 0.0
    try:
        for i in range(n):
            a[i] = i
            s += a[i]
    except IndexError as e:
        return s, i, str(e)
    return s, i


@case((vec(), 3), (vec(), 20))
def exception_with_finally(a, n):
    log = []
    try:
        for i in range(n):
            a[i] = i
    finally:
        log.append(i)
        a[0] = -1
    return log


@case((np.array([3, 0, 1]),), (np.array([3, 1]),))
def exception_of_int_division(k):
    s = 0
    for i in range(len(k)):
        try:
            s += 10 // int(k[i])
        except ZeroDivisionError:
            s += 1000
    return s


@case((vec(), 3.0), (vec(), 2.5))
def float_as_index(a, k):
    s = 0.0
    for i in range(3):
        s += a[k]
    return s


@case((vec(), 3.0),)
def float_as_range(a, k):
    s = 0.0
    for i in range(k):
        s += a[i]
    return s


# -- NumPy's scalars ---------------------------------------------------------------------


@case(*[(vec(7, d, low=0, high=100), k) for d in ("u1", "i1", "i2", "i4", "i8", "u2", "u4", "u8", "?", "f4", "f8") for k in (1, 3)],
      *[(vec(7, d), -1) for d in ("u1", "i1", "i4", "u8", "u4", "f4")], (vec(7, "u1"), 300), (vec(7, "i1"), 128), (vec(7, "i1"), -129),
      (vec(7, "i4"), 2**31), (vec(7, "i8"), 2**63), times=1)
def elements_and_int(a, k):
    s = 0
    for i in range(len(a)):
        x = a[i] + k
        y = a[i] * k
        z = k - a[i]
        s = s + x * 2 + y + z
        a[i] = x
    return s, x, y, z


@case(*[(vec(7, d, low=-100, high=100), vec(7, e, 1)) for d in ("u1", "i1", "i4", "i8", "u8", "?", "f4", "f8") for e in ("u1", "i2", "i8", "u8", "f4", "?")], times=1)
def elements_of_two_dtypes(a, b):
    c = 0
    for i in range(len(a)):
        x = a[i] + b[i]
        y = a[i] * b[i]
        z = a[i] / (b[i] + 10)
        if a[i] < b[i]:
            c += 1
        if a[i] == b[i]:
            c += 10
        w = a[i] >= b[i]
    return x, y, z, c, w


@case(*[(vec(7, d, low=-100, high=100), vec(7, e, 1)) for d in ("u1", "i1", "i8", "u8", "f4", "f8") for e in ("u1", "i8", "f4")], times=1)
def elements_divided(a, b):
    for i in range(len(a)):
        x = a[i] // b[i]
        y = a[i] % b[i]
        z = -a[i]
        w = abs(a[i])
        v = +a[i]
    return x, y, z, w, v


@case((vec(7, "i8"), vec(7, "i4", 1)), (vec(7, "u1"), vec(7, "u1", 1)), (vec(7, "?"), vec(7, "?", 1)), (vec(7, "i1"), vec(7, "u1")),
      (vec(7), vec(7)), (vec(7, "?"), vec(7, "i8")))
def element_bits(a, b):
    s = 0
    for i in range(len(a)):
        x = a[i] & b[i]
        y = a[i] | b[i]
        z = a[i] ^ b[i]
        w = ~a[i]
        s += int(x) + int(w)
    return x, y, z, w, s


@case((vec(7, "?"),), (vec(7, "i8"),))
def bools_subtracted(a):
    for i in range(1, len(a)):
        x = a[i] - a[i - 1]
    return x


@case((vec(7, "u1"), 300), (vec(7, "u1"), -1), (vec(7, "i8"), 2**63), (vec(7, "u8"), -1), (vec(7, "u8"), 2**64), (vec(7, "i1"), 2**40), (vec(7, "u8"), 3))
def elements_compared_with_int(a, k):
    c = 0
    for i in range(len(a)):
        if a[i] < k:
            c += 1
        if k <= a[i]:
            c += 10
        if a[i] != k:
            c += 100
    return c


@case((np.array([2**63, 1, 5], np.uint64), np.array([-1, 1, 2**62])), (np.array([2.0**53 + 2, 1, 5]), np.array([2**53 + 1, 1, 2**62])))
def large_compared(u, k):
    c = 0
    for i in range(len(u)):
        if u[i] > k[i]:
            c += 1
        if u[i] == k[i]:
            c += 10
    return c


@case((vec(7, "u1", high=256), 1), (vec(7, "i1", low=-128, high=127), 1), (vec(7, "i4"), 5), (vec(7, "u1"), 200), (vec(7, "u1"), 256), (vec(7, "u1"), -1),
      (vec(7, "i4"), 2**31), (vec(7, "i4"), 1.5), (vec(7, "?"), True), (vec(7, "?"), 1), (vec(7, "f4"), 0.1), (vec(7, "f4"), 1e300),
      (vec(7, "i8"), np.float64(1.5)), (vec(7, "i4"), np.int64(2**40)), (vec(7, "u1"), np.int64(-1)), (vec(7, "f4"), np.float64(0.1)))
def element_updated(a, k):
    for i in range(len(a)):
        a[i] += k
        a[i] *= 2
        a[i] -= k
    return a


@case((vec(7, "u1", high=256), 1), (vec(7, "u1"), 256), (vec(7, "u1"), -1), (vec(7, "i4"), 2**31), (vec(7, "i4"), 1.5), (vec(7, "i4"), float("nan")),
      (vec(7, "?"), 2), (vec(7, "f4"), 0.1), (vec(7, "f4"), 1e300), (vec(7, "i8"), np.float64(1.5)), (vec(7, "i4"), np.int64(2**40)),
      (vec(7, "u1"), np.int64(-1)), (vec(7, "u1"), np.int64(300)), (vec(7, "f4"), np.float64(0.1)), (vec(7, "?"), 0.5), (vec(7, "u8"), -1), (vec(7, "i8"), True))
def element_stored(a, k):
    for i in range(len(a) - 1):
        a[i + 1] = k
    return a


@case((vec(6, "f4"), 0.1), (vec(6, "f4"), 3), (vec(6, "f4"), np.float64(0.1)), (vec(6, "f4"), np.float32(0.1)), (vec(6, "f4"), 1e-50), (vec(6, "f4"), 2**60 + 1), (vec(6, "f4"), 16777217))
def singles(a, x):
    s = np.float32(0)
    for i in range(len(a)):
        s = s + a[i] * x
        t = x * a[i]
        u = a[i] / 3
        a[i] = s * 0.1 + u
    return s, t, u


@case((np.array([0.0, -0.0, 1.0, np.nan]), np.array([-0.0, 0.0, np.nan, 1.0])), (vec(4), vec(4, seed=1)), (vec(4, "i8"), vec(4)), (vec(4, "i8"), vec(4, "i8", 1)))
def extremes(a, b):
    s = 0.0
    for i in range(len(a)):
        x = max(a[i], b[i])
        y = min(a[i], b[i])
        z = max(a[i], 0)
        w = min(0.0, a[i], b[i])
        s += 1 / (x + 0.5) + 1 / (y + 0.25)
        a[i] = y
        b[i] = x
    return x, y, z, w, s


@case((0.0, -0.0), (-0.0, 0.0), (float("nan"), 1.0), (1.0, float("nan")), (1, 1.0), (1.0, 1), (2, True), (np.float64(1), 1), (np.int64(2), 2))
def extremes_of_equals(x, y):
    s = 0
    for i in range(3):
        p = max(x, y)
        q = min(x, y)
        s += 1
    return p, q, s


@case((vec(5),), (vec(5, "i8"),), (vec(5, "f4"),), (vec(5, "u1"),), (vec(5, "?"),), (vec(5, "i4"),))
def scalar_ufuncs(a):
    for i in range(len(a)):
        p = np.sqrt(a[i])
        q = np.abs(a[i])
        r = np.maximum(a[i], 1)
        s = np.minimum(a[i], 0.5)
        t = np.floor(a[i])
        u = np.add(a[i], 1)
        v = np.multiply(2, a[i])
        w = np.isnan(a[i])
    return p, q, r, s, t, u, v, w


@case((3,), (0,), (-2,), (2.5,), (True,), (np.float32(1.5),), (np.uint8(9),))
def ufuncs_of_numbers(x):
    for i in range(3):
        p = np.sqrt(x)
        q = np.abs(x)
        r = np.maximum(x, 1)
        s = np.add(x, i)
        t = np.exp(x)
        u = np.sin(i)
        v = np.negative(x)
        w = np.square(x)
    return p, q, r, s, t, u, v, w


@case((3, 2), (3, 0), (-7, 2), (7.5, -2), (2.5, 0), (True, True), (np.float32(1.5), 2), (np.uint8(9), 4), (np.int8(-128), -1), (np.uint8(9), 300), (np.int64(2), -1))
def ufuncs_of_two(x, y):
    for i in range(3):
        p = np.floor_divide(x, y)
        q = np.mod(x, y)
        r = np.divide(x, y)
        s = np.less(x, y)
        t = np.logical_and(x, y)
        u = np.subtract(x, i)
    return p, q, r, s, t, u


@case((vec(4), vec(4), vec(4)),)
def ufunc_with_out_by_position(a, b, c):
    for i in range(3):
        r = np.add(a, b, c)
        a[0] += 1
    return r.sum(), c


@case((0.5,), (-0.5,), (1.0,), (2.0,), (0,), (np.float32(0.3),), (True,), (1e300,), (float("inf"),), (float("nan"),), (np.float64(0.25),))
def math_functions(x):
    r = []
    s = 0.0
    for i in range(2):
        s += math.sin(x) + math.cos(x) + math.tan(x) + math.atan(x) + math.tanh(x) + math.asinh(x)
        s += math.atan2(x, i) + math.fabs(x) + math.hypot(x, i)
        s += math.exp(-abs(x)) + math.expm1(-abs(x)) + math.erf(x)
    r.append(s)
    return r


@case((0.5,), (-0.5,), (1.0,), (2.0,), (-2.0,), (float("inf"),), (float("nan"),))
def math_functions_with_domains(x):
    s = 0.0
    for i in range(2):
        s += math.asin(x)
        s += math.acos(x)
        s += math.atanh(x * 0.9)
        s += math.fmod(x, 0.3)
        s += math.pow(x, 2 + i)
    return s


@case((5.5, 2.0), (-5.5, 2.0), (5.5, -2.0), (0.0, -2.0), (-0.0, 2.0), (float("inf"), 2.0), (5.0, float("inf")), (-5.0, float("inf")), (5.0, 0.0), (1e308, 1e-308), (5.0, float("nan")))
def float_division(x, y):
    for i in range(3):
        p = x // y
        q = x % y
        r = x / y
    return p, q, r


@case((np.float64(5.5), 2.0), (-5.5, np.float64(2.0)), (np.float64(0.0), -2.0), (np.float64("inf"), 2.0), (5.0, np.float64("inf")), (-5.0, np.float64("inf")),
      (np.float64(5.0), 0.0), (np.float64(1e308), 1e-308), (np.float32(5.5), 0.1), (np.int64(7), np.int64(0)), (np.int64(-(2**63)), -1), (np.uint8(7), 0), (np.int64(7), 2.5))
def scalar_division(x, y):
    for i in range(3):
        p = x // y
        q = x % y
        r = x / y
    return p, q, r


@case((1.7,), (-1.7,), (2,), (np.float64(1.7),), (np.float32(1.7),), (np.int64(5),), (True,), (np.bool_(True),), (np.uint8(3),))
def math_of_kinds(x):
    for i in range(2):
        p = math.floor(x)
        q = math.ceil(x)
        t = math.isnan(x)
        u = int(x)
        v = float(x)
        w = bool(x)
        y = abs(x)
    return p, q, t, u, v, w, y


@case((1.7,), (2,), (np.float64(1.7),), (np.float32(1.7),), (np.int64(5),), (True,), (np.bool_(True),))
def math_trunc(x):
    for i in range(2):
        p = math.trunc(x)
    return p


@case((1.7,), (2,), (-3,), (np.float64(1.7),), (np.int64(5),), (True,), (np.bool_(True),), (np.uint8(3),))
def unary_of_kinds(x):
    for i in range(2):
        p = -x
        q = +x
        r = not x
    return p, q, r


# -- Constants and the outside -----------------------------------------------------------

SCALE = 2
TABLE = np.arange(12.0)
FACTORS = (1.5, 2, np.float64(3))


@case((vec(),), (vec(3),))
def globals_read(a):
    s = 0.0
    for i in range(len(a)):
        a[i] = a[i] * SCALE + TABLE[i]
        s += FACTORS[0] * FACTORS[1] + FACTORS[2]
        s += math.pi + np.pi
    return s


@case((vec(), 2.0), (vec(3), 3))
def closure_called(a, k):
    def scaled(x):
        return x * k
    s = 0.0
    for i in range(len(a)):
        s += scaled(a[i])
    return s


@case((vec(), 2.0), (vec(3), 3), (vec(0), 3))
def closure_sees_names(a, k):
    s = 0.0
    i = -1

    def now():
        return s, i
    for i in range(len(a)):
        s += a[i] * k
    return now()


@case((vec(),), (vec(0),))
def names_changed_by_closure(a):
    s = 0.0

    def add(x):
        nonlocal s
        s += x
    for i in range(len(a)):
        add(a[i])
        s += 1
    return s


@case((vec(), 3), (vec(), 9))
def names_in_locals(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    return sorted(locals().items(), key=lambda x: x[0])[1:]


@case((vec(), 3), (vec(), 0))
def name_deleted(a, n):
    s = 0.0
    for i in range(n):
        t = a[i]
        s += t
    del t
    del i
    return s


@case((vec(), 3), (vec(), 0))
def carried_by_an_outer_loop(a, n):
    out = []
    prev = 0.0
    j = -1
    for k in range(n):
        out.append((prev, j))
        for j in range(k):
            prev = prev * 0.5 + a[j]
    return out


@case((vec(), 3), (vec(), 0))
def carried_into_handler(a, n):
    c = 0
    try:
        for k in range(n):
            c = 0
            for j in range(k):
                c += 1
            [][0]
    except IndexError:
        return c
    return -c


@case((vec(), 3), (vec(), 0))
def read_in_a_comprehension_behind(a, n):
    c = 0
    for j in range(n):
        c += 1
    return [c + i for i in range(2)], (lambda: j)() if n else None


@case((vec(), 3), (vec(), 0), (vec(), 9))
def effects_around(a, n):
    log = []
    log.append("before")
    for i in range(n):
        a[i] *= 2
    log.append(("after", i))
    for i in range(n):
        a[i] += 1
    log.append(a[0])
    return log


@case((mat(4, 4),), (mat(3, 3),))
def loops_in_comprehension(m):
    def total(row):
        s = 0.0
        for x in row:
            s += x
        return s
    return [total(r) for r in m]


@case((6,), (0,), (1,))
def recursion(n):
    s = 0
    for i in range(n):
        s += i
    return s + (recursion(n - 1) if n > 0 else 0)


@case((vec(), 2.0), (vec(), 0.0))
def errstate_inside(a, x):
    s = 0.0
    try:
        with np.errstate(all="raise"):
            for i in range(len(a)):
                s += a[i] / x
    except FloatingPointError as e:
        return s, str(e)
    return s


@case((vec(),),)
def errstate_set_inside(a):
    old = np.seterr(all="raise")
    try:
        s = np.float64(0)
        for i in range(len(a)):
            s += 1e308 * 10 * a[i] / (a[i] - a[i])
    except FloatingPointError as e:
        return str(e)
    finally:
        np.seterr(**old)
    return s


class Holder:
    def __init__(self, k):
        self.k = k
        self.table = np.arange(6.0)
        self.asked = 0

    @property
    def counted(self):
        self.asked += 1
        return self.asked


@case((Holder(2), vec(6)), (Holder(2.5), vec(6)), (Holder(np.int64(3)), vec(4)))
def attributes_read(h, a):
    s = 0.0
    for i in range(len(a)):
        s += h.k * a[i] + h.table[i]
        h.table[i] = s
    return s


@case((Holder(2), 4), (Holder(2), 0))
def property_read(h, n):
    s = 0
    for i in range(n):
        s += h.counted
    return s


@case((Holder(2), 4), (Holder(2), 0))
def attribute_missing(h, n):
    s = 0
    for i in range(n):
        if i > 10:
            s += h.missing
        s += 1
    for i in range(n):
        s += h.missing
    return s


@case((Holder(2), 4), (Holder(2), 0))
def attribute_written(h, n):
    for i in range(n):
        h.k = h.k + i
    for i in range(n):
        h.k += 1
    return h.k


class Method:
    def __init__(self):
        self.w = np.array([1.0, 2.0, 3.0])

    def total(self, a):
        s = 0.0
        for i in range(len(a)):
            s += self.w[i % 3] * a[i]
        return s


@case((Method(), vec()), (Method(), vec(2)))
def method_called(o, a):
    s = 0.0
    for k in range(3):
        s += o.total(a)
    return s


@case((vec(), (1, 2.5, 3)), (vec(), (1.0, 2, 3)), (vec(), (np.float64(2), 1, 2)))
def tuple_argument(a, t):
    s = 0.0
    x, y, z = t
    for i in range(len(a)):
        s += a[i] * t[0] + t[1] - t[-1] * x + y * z
    return s


@case((vec(), [1, 2.5, 3]), (vec(), [1.0, 2, 3]))
def list_argument(a, t):
    s = 0.0
    for i in range(3):
        s += a[i] * t[i]
        t[i] = i
    return s


# -- Layouts -----------------------------------------------------------------------------


def layouts(n=6, dtype="f8"):
    m = np.arange(n * n).reshape(n, n).astype(dtype)
    return [m, np.asfortranarray(m), m[::-1], m[:, ::-1], np.repeat(np.repeat(m, 2, 0), 2, 1)[::2, ::2], m.T, np.ascontiguousarray(m[:3])[:, :3],
            m[:0], m[:, :0], np.broadcast_to(m[0], (3, n)), m.astype(m.dtype.newbyteorder()), np.ma.array(m), m[:1, :1]]


@case(*[lambda k=k: (layouts()[k],) for k in range(13)], *[lambda k=k: (layouts(dtype="i4")[k],) for k in (1, 2, 4)], times=1)
def layout_read(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s = s * 0.9 + m[i, j]
    return s


@case(*[lambda k=k: (layouts()[k],) for k in range(13)], times=1)
def layout_written(m):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            m[i, j] = m[i, j] * 2 + m[i - 1, j - 1]
    return m


def frozen(a):
    a.flags.writeable = False
    return a


@case(lambda: (frozen(vec()), 3), (vec(), 3), lambda: (frozen(vec()), 0))
def read_only(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    for i in range(n):
        a[i] = s
    return s


def overlapping(kind):
    a = np.arange(10.0)
    return {"same": (a, a), "ahead": (a[1:], a[:-1]), "behind": (a[:-1], a[1:]), "apart": (a[:5], a[5:]), "back": (a, a[::-1]), "other": (a, a.copy())}[kind]


@case(*[lambda k=k: overlapping(k) for k in ("other", "same", "ahead", "behind", "apart", "back")])
def overlapping_arguments(a, b):
    s = 0.0
    for i in range(min(len(a), len(b))):
        a[i] = b[i] + 1
        s += b[i]
    return s


@case((vec(10),), (vec(3),))
def view_in_a_name(a):
    v = a[1:]
    for i in range(len(v)):
        v[i] = a[i] * 0.5 + v[i]
    w = v
    for i in range(len(v)):
        w[i] += 1
    return a, v, a.sum()


@case((vec(10),),)
def pending_values(a):
    b = a * 2
    c = b + 1
    for i in range(len(a)):
        b[i] += c[i]
        a[i] = b[i]
    d = b * c
    b += 1
    return a, b, c, d


# -- Slices ------------------------------------------------------------------------------


@case((vec(), 3, 6), (vec(), -3, 9), (vec(), 6, 3), (vec(), -20, 20), (vec(), 20, 30), (vec(), 0, -1), (vec(0), 0, 1), (vec(8, "i4"), 1, 5))
def slice_bounds(a, p, q):
    s = 0.0
    for i in range(4):
        s += a[p:q].sum() + a[p:].sum() - a[:q].sum()
        a[p:q] += 1
        a[p + i:q] = i
        s += a[p:q:2].sum() + a[::-1].sum() + a[q:p:-1].sum() + a[p::-2].sum()
    return s


@case((vec(),), (vec(3),), (vec(1),))
def slices_from_negative(a):
    s = 0.0
    for i in range(-4, 5):
        t = a[:i] * 2
        s += t.sum()
        u = a[i:] + 1
        s += u.sum()
        for x in a[i:]:
            s += x
        v = a[i:i + 3] * 3
        s += v.sum() + len(v)
    return s


@case((vec(12), np.array([-3, 2, -12, 12, 15, -20, 0])),)
def slices_from_data(a, k):
    s = 0.0
    c = 0
    for i in range(len(k)):
        p = int(k[i])
        t = a[:p] * 2
        u = a[p:] * 3
        v = a[p:p + 4] + 1
        w = a[k[i]:8] - 1
        c = c * 3 + len(t) + len(u) + len(v) + len(w)
        s += t.sum() + u.sum() + v.sum() + w.sum()
        a[p:] += 1
        a[:p] = 0.5
    return s, c


@case((vec(12),), (vec(12, "i4"),), (vec(2),))
def overlap_in_slices(a):
    for i in range(3):
        a[1:] = a[:-1]
        a[:-1] = a[1:] * 2
        a[:] = a[::-1]
        a[1:] += a[:-1]
        a[::2] = a[::-2][:len(a[::2])]
    return a


@case((vec(6),), (vec(1),), (vec(6, "i8"),))
def broadcast_of_itself(a):
    for i in range(3):
        a[0:] = a[0:1] + 1
        a[:] = a[:1] * a
        a[i:] = a[i:i + 1] * 2 - a[i:]
    return a


@case((mat(5, 5),), (mat(1, 1),))
def broadcast_of_rows(m):
    n = len(m)
    for i in range(n):
        m[0:] = m[0:1] + 1 - m[0:]
        m[i:, :] -= m[i:i + 1, :] * 0.5
        m[:, 0:] += m[:, 0:1]
        m[0:, i] = m[0, i] + m[0:, i]
    return m


@case((mat(5, 5),), (mat(2, 2),))
def transposes(m):
    for i in range(2):
        m[:] = m.T
        m[:] = m + m.T
        m[0] = m[:, 0]
        m[:, 1] = m[1] * 2
        m.T[0] += 1
    return m


@case((mat(6, 5),), (mat(2, 2),))
def tuple_of_rows_swapped(m):
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1], m[i]
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1].copy(), m[i].copy()
    return m


@case((mat(6, 5),), (mat(2, 2),))
def tuple_of_expressions(m):
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1] * 2, m[i] * 3
    return m


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def tuple_of_vectors(a, b):
    for i in range(3):
        a[:], b[:] = b + 1, a + 2
        t = (a * 2, b * 3)
        a[:] = 0.25
        b += t[0] + t[1]
        a += t[0]
    return a, b


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def several_targets(a, b):
    for i in range(3):
        a[:] = b[:] = a + b
        b[1:] = a[1:] = b[:-1] + 1
        x = a[0] = b[0] + 1
    return a, b, x


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def lazy_and_later_write(a, b):
    s = 0.0
    for i in range(3):
        t = a + b
        u = a[::-1]
        v = t if i > 1 else a
        a[0] = 100.0
        s += t.sum() + u.sum() + v.sum()
    return s


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def aliases_of_arrays(a, b):
    s = 0.0
    for i in range(3):
        t = a * 2
        u = t
        u += 1
        t[0] = 5
        v = u[1:]
        v[:] = i
        s += t.sum() * u.sum()
        p, q = a, b
        p[0] += 1
        q[:] = p
    return s


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)), (vec(6, "f4"), vec(6)))
def arrays_swapped(a, b):
    for i in range(5):
        b[1:] = a[:-1] * 0.5
        b[0] = i
        a, b = b, a
    return a, b


@case((vec(6), vec(6, seed=1)),)
def array_rebound(a, b):
    for i in range(4):
        a = a + b
        b = a[::-1] * 0.5
    return a, b


@case((vec(6), vec(6, seed=1)),)
def array_rebound_in_inner(a, b):
    s = 0.0
    for k in range(3):
        u = np.zeros(len(a))
        for j in range(4):
            t = u[::-1] + b
            u = t
        s += u[0] + u.sum()
    return s


@case((vec(6),), (vec(1),), (vec(0),))
def new_arrays(a):
    n = len(a)
    s = 0.0
    for i in range(4):
        z = np.zeros(n)
        o = np.ones(n)
        e = np.empty(n)
        e[:] = a
        z[:2] = i
        o += z
        c = a.copy()
        c += 1
        d = np.zeros_like(a)
        d[::2] = 3
        w = np.ones((n, 2))
        w[:, 0] += a
        s += z.sum() + o.sum() + e.sum() + c.sum() + d.sum() + w[:, 0].sum()
    return s, z, o, c


@case((vec(6), -1), (vec(6), 0), (vec(6), 3))
def new_arrays_of_sizes(a, k):
    s = 0.0
    for i in range(3):
        z = np.zeros(k + i)
        z[0] = 1
        s += z.sum() + len(z)
        y = np.zeros((i, k))
        s += y.shape[0] + y.shape[1]
    return s


@case((vec(6),), (vec(6, "f4"),), (vec(6, "i8"),), (vec(6, "i4"),), (vec(6, "u1"),), (vec(6, "?"),), (vec(1),))
def reductions(a):
    for i in range(2):
        p = a.sum()
        q = a.mean()
        r = a.max()
        s = a.min()
        t = a.any()
        u = a.all()
        v = (a > 0).sum()
        w = np.sum(a) + np.max(a)
        x = (a * a).sum()
    return p, q, r, s, t, u, v, w, x


@case((vec(6), 3), (vec(6), 0), (vec(6), 6), (vec(6, "i8"), 6))
def reductions_of_empty(a, k):
    s = 0.0
    for i in range(k, 8):
        s += a[i:].max()
    return s


@case((vec(6), 3), (vec(6), 7))
def sums_of_empty(a, k):
    s = 0.0
    for i in range(k):
        p = a[i:].sum()
        q = a[i:].any()
        r = a[i:].all()
        t = a[i:].mean()
    return p, q, r, t


@case((np.array([1.0, np.nan, 3.0]),), (np.array([0.0, -0.0, 0.0]),), (np.array([-0.0, 0.0]),), (np.array([-0.0] * 40),), (np.array([np.inf, -np.inf]),), (np.array([-0.0] * 7 + [0.0] * 33),))
def reductions_of_specials(a):
    for i in range(2):
        p = a.sum()
        r = a.max()
        s = a.min()
        q = a[::-1].min()
        v = a[1:].sum()
    return p, r, s, q, v


@case((vec(300),), (vec(300, "f4"),), (vec(129),), (vec(127, "f4"),), (vec(2000),), (vec(16, "f4"),))
def sums_of_lengths(a):
    s = 0.0
    for i in range(0, len(a), 7):
        s += a[i:].sum() + a[:i].sum() + a[i::2].sum() + a[::-1].sum() + (a[i:] * 2).sum()
        s += a[i:].mean()
    return s


@case((mat(5, 6),), (mat(5, 6, "i8"),), (mat(1, 1),))
def reductions_of_rows(m):
    s = 0.0
    for i in range(len(m)):
        s += m[i].sum() + m[:, i].sum() + m[i, 1:].mean() + m.sum() + m.max() + m[i:, :3].min()
    return s


@case((vec(9), vec(9, seed=1)), (vec(9, "f4"), vec(9, "f4", 1)), (vec(1), vec(1)), (vec(0), vec(0)), (vec(9, "i8"), vec(9, "i8")), (vec(9), vec(9, "f4")))
def dots(a, b):
    s = 0.0
    for i in range(4):
        s += np.dot(a, b) + a @ b + a.dot(b)
        s += np.dot(a[i:], b[i:]) + a[::2] @ b[::2] + a[::-1] @ b + np.dot(a[::-1], b[::-1]) + (a * 2) @ b
    return s


@case((vec(9), vec(1)), (vec(1), vec(9)), (vec(9), vec(8)), (vec(1), vec(1)))
def dots_of_lengths(a, b):
    s = 0.0
    for i in range(3):
        s += np.dot(a, b)
    return s


@case((vec(9), 1), (vec(9), 3), (vec(1), 1), (vec(2), 1))
def dots_of_slices(a, k):
    s = 0.0
    for i in range(3):
        s += np.dot(a, a[:1])
    for i in range(k):
        s += a[i:] @ a[:1]
    return s


@case((mat(5, 5), vec(5)), (mat(1, 1), vec(1)))
def dots_of_rows(m, a):
    s = 0.0
    for i in range(len(m)):
        s += m[i] @ a + m[:, i] @ a + np.dot(m[i], m[:, i]) + m[i, ::-1] @ a
        a[i] = m[i, :i] @ a[:i] + m[i, i + 1:] @ a[i + 1:]
    return s


@case((mat(5, 5), vec(5)), (mat(1, 1), vec(1)))
def matrix_vector(m, a):
    for i in range(3):
        a = m @ a
        a = a / np.sqrt(a @ a)
    return a


@case((mat(5, 6),), (mat(5, 6, "f4"),), (mat(5, 6, "i8"),), (mat(2, 2),))
def shapes(m):
    s = 0
    for i in range(m.shape[0]):
        s += len(m[i]) + m.ndim + m[i:].shape[0] + m[:, 1:].shape[1] + len(m)
        r = m[i]
        s += int(r[0]) + int(m[i][1]) + int(m[i, :][1]) + int(m[i:][0, 1]) + int(m[:, 1][i])
    return s, m.size


@case((mat(5, 6),), (mat(2, 2),))
def new_axes(m):
    s = 0.0
    for i in range(2):
        p = m[i][:, None] * m[i][None, :]
        s += p[0, 1] + p[1, 0]
        m[:] = m + m[:, :1] + m[i, None]
    return s


@case((vec(6), vec(6, seed=1)), (vec(6, "i8"), vec(6, "i8", 1)), (vec(6, "f4"), vec(6)), (vec(6, "i8"), vec(6)))
def where(a, b):
    s = 0.0
    for i in range(3):
        a[:] = np.where(a > b, a, b)
        c = np.where(a < 0.5, a, 0.0)
        d = np.where(b > i, 1, a)
        s += c.sum() + d.sum()
        x = np.where(a[i] > 0, 1.0, 2.0)
    return s, x, c


@case((vec(6),), (vec(6, "i8"),))
def comparisons_into_bools(a):
    f = np.zeros(len(a), bool)
    for i in range(3):
        f[:] = a > i
        f |= a < -1
        f[0] = i > 1
        f &= ~(a == 0)
        g = a > 0
        h = g & f
    return f, g, h


@case((vec(6), 2), (vec(6, "f4"), 2.5), (vec(6, "i8"), 2), (vec(6, "i8"), 2.5), (vec(6, "u1"), 2), (vec(6, "u1"), 300), (vec(6, "u1"), -1), (vec(6, "i4"), 0), (vec(6, "?"), True),
      (vec(6, "f4"), np.float64(0.1)), (vec(6, "i4"), np.int64(3)), (vec(6, "i1"), np.int16(300)))
def in_place_on_views(a, k):
    for i in range(3):
        a[i:] += k
        a[:i] *= k
        v = a[1:]
        v -= k
        v[0] += 1
    return a


@case((vec(6, "i8"), 2), (vec(6, "i8"), 0), (vec(6), 0), (vec(6, "i8"), -3), (vec(6, "u1"), 2), (vec(6, "f4"), 2))
def in_place_divisions(a, k):
    for i in range(2):
        a[i:] //= k
        a[1:] %= k
    return a


@case((vec(6, "i8"), 2), (vec(6), 2), (vec(6), 0), (vec(6, "f4"), 3))
def in_place_true_divisions(a, k):
    for i in range(2):
        a[0] = 9
        a[i:] /= k
    return a


@case((vec(6), 2), (vec(6, "i8"), 2), (vec(6), 0.5), (vec(6), -1), (vec(6, "i8"), -1), (vec(6, "f4"), 2), (vec(6), 3), (vec(6, "i8"), 3))
def powers_of_arrays(a, k):
    s = 0.0
    for i in range(2):
        t = a ** 2
        u = a[1:] ** k
        s += t.sum() + u.sum()
    return s, t, u


@case((vec(6), vec(5)), (vec(6), vec(6)), (vec(6), vec(1)), (vec(1), vec(6)))
def shapes_that_do_not_fit(a, b):
    for i in range(2):
        a[:] = b
        a += 1
        c = a * b
    return c


@case((vec(6), 3), (vec(6), 1), (vec(6), 0), (vec(6), 6), (vec(6), 7))
def run_time_lengths(a, k):
    for i in range(k):
        a[i:i + 2] = a[:2]
        a[:i] = a[k - i - 1:k - 1]
    return a


@case((vec(6), 1), (vec(6), 2))
def truth_of_arrays(a, k):
    c = 0
    for i in range(3):
        if a[:k]:
            c += 1
    return c


@case((vec(6),), (vec(6, "i8"),))
def index_by_bool(a):
    s = 0.0
    for i in range(3):
        b = i > 1
        s += a[b].sum()
    return s


@case((vec(6),), (vec(6, "i8"),))
def index_by_numpy_bool(a):
    s = 0.0
    for i in range(3):
        b = a[0] > 1
        s += a[b].sum()
    return s


@case((mat(5, 5), np.array([1, 2])), (mat(5, 5), np.array([7, 2])))
def too_many_indices(m, k):
    s = 0.0
    for i in range(2):
        s += m[k[0], k[1]]
        m[k[0]][k[1]] += 1
    return s


@case((vec(5),),)
def index_of_a_number(a):
    s = 0.0
    for i in range(2):
        s += a[i][0]
    return s


@case((vec(5), 3), (vec(5), -6), (vec(5), -5), (vec(5), 5))
def index_from_outside(a, k):
    s = 0.0
    for i in range(2):
        s += a[k]
        a[k] = s
    return s


@case((np.zeros((3, 4, 5)) + np.arange(5.0), 2), (np.zeros((3, 4, 5)), 3), (np.zeros((3, 4, 5), "f4"), -1))
def three_axes(c, k):
    s = 0.0
    for i in range(3):
        for j in range(4):
            c[i, j] += j
            c[i, :, k] *= 2
            s += c[i, j, k] + c[k][j][i] + c[:, j, i].sum()
            c[i][j][1:] = c[i, j, :-1]
    return s


@case((np.array([1.0, 0.0]), np.zeros(3)), (np.array([1.0, 1.0]), np.zeros(3)), (np.array([1.0, -1.0]), np.zeros(3)), times=3)
def bool_behind_writes(a, out):
    for i in range(2):
        r = not a[i] < 0
        t = not a[i]
        out[i] += 1
    return r, t


@case((np.array([1.0, 0.0]), np.zeros(3)), (np.array([1.0, 1.0]), np.zeros(3)), (np.array([1.0, -1.0]), np.zeros(3)), times=3)
def branch_behind_writes(a, out):
    s = 0.0
    c = 0
    for i in range(2):
        s += a[i]
        c += i
        out[i] += 1
    if s > 1.5:
        out[2] += 1
    if out[0] + s > 2.5:
        a[0] += 100
    if c > 1:
        out += 1
    return [0] * int(s + 5)


@case((vec(8), 3), (vec(8), 9), (vec(8, seed=1), 3), (vec(8), 8), times=3)
def failing_behind_effects(a, n):
    log = []
    for i in range(3):
        a[i] += 1
    log.append(float(a[0]))
    for i in range(n):
        a[i] = math.sqrt(abs(a[i])) + i
    log.append(float(a[0]))
    for i in range(4):
        a[i] = math.sqrt(a[i] - i)
    return log


EFFECTS = []


@case(*[(vec(8, seed=k), n) for n in (3, 8) for k in range(4)], times=1)
def failing_behind_outside_effects(a, n):
    EFFECTS.append(n)
    b = a + 0.5
    try:
        for i in range(n):
            b[i] = math.sqrt(b[i])
    except ValueError:
        EFFECTS.append("failed")
    EFFECTS.append(float(b.sum()))
    out = list(EFFECTS)
    EFFECTS.clear()
    return out


@case(*[(vec(n),) for n in (1, 2, 3, 5, 40, 100000)], times=1)
def slice_bounds_of_both_signs(a):
    s = 0.0
    c = 0
    for i in range(-3, 3):
        t = a[:i] * 2
        u = a[i:] + 1
        s += t.sum() + u.sum()
        for j in range(-2, 2):
            v = a[i:j] + 1
            w = a[i:i + 3] * 2
            z = a[-j:] * 2
            s += v.sum() + w.sum() + z.sum()
            c = c * 3 % 1000 + len(v) + 2 * len(w) + 4 * len(z)
    return s, c


@case((mat(5, 5), 3), (mat(5, 5), 5), (mat(1, 1), 2), times=1)
def scratch_of_broadcast(m, n):
    for i in range(n):
        if i == 1:
            m[:, :2] = (m * m[0, :i])[:, :2] if i > 2 else m[:, :2]
    for i in range(n):
        m[:, :5] = m * m[0, :i]
    return m


@case(*[(mat(5, 5), vec(5), np.array(k)) for k in ([0, 1, 2], [0, 9, 0], [5, 5, 5], [4, 5, 4], [-9, -1, 4])])
def slices_of_empty_slices(m, a, k):
    for i in range(3):
        m[:i, 1] = a[k[i]:100][:1]
    for i in range(3):
        m[:i, 1][-1:] = a[k[i]:][:1]
    return m


@case((np.zeros(5), np.ones(5)),)
def broadcast_that_fails_behind_writes(a, b):
    for i in range(1, 4):
        a[0:3] -= 2
        b[:] = b + a[:i + 2]


@case(*[(np.random.default_rng(s).integers(-7, 8, 5),) for s in range(4)], fails="an element that is read and not used is not looked at")
def unused_element_out_of_range(k):
    s = 0.0
    for i in range(5):
        s = k[k[i]]
        s = 3
    return s


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


@case((np.ones(9), np.ones((9, 9))), fails="an empty view of a view in a loop that is rolled up, tier 0")
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


case((Mangled(), vec()), fails="a private name in a loop is read as it is written")(Mangled.total)


@case(*[(np.random.default_rng(k).choice([0.0, -0.0], n),) for n in (9, 16, 33) for k in range(4)], fails="the sign of zero that max and min give")
def extremes_of_zeros(a):
    for i in range(2):
        s = a.min()
        t = a.max()
    return s, t


@case((mat(5, 5),), fails="NumPy itself reads behind its own writes here")
def row_from_its_column(m):
    for i in range(3):
        m[i] = m[:, i + 1]
    return m


# -- What changes between calls ----------------------------------------------------------


def jits(function, **settings):
    return [function] + [pyasc.jit(function, tier=tier, numerics="strict", **settings) for tier in (0, 1)]


def alike(calls):
    """Each call with each of the functions: plain first."""
    seen = [[outcome(c) for c in one] for one in zip(*calls)]
    assert seen[1:] == seen[:1] * (len(seen) - 1)


def with_globals(source, tmp_path, **names):
    path = tmp_path / "program.py"
    path.write_text(source)
    scope = {"__name__": "program", "np": np, "math": math, **names}
    exec(compile(source, str(path), "exec"), scope)
    return scope


def check_changes(source, tmp_path, changes, arguments, names):
    """`f` of the source, called after each change of its globals, plain and jitted."""
    got = []
    for make in (lambda f: f, lambda f: pyasc.jit(f, tier=0, numerics="strict"), lambda f: pyasc.jit(f, tier=1, numerics="strict")):
        scope = with_globals(source, tmp_path, **names())
        f = make(scope["f"])
        seen = []
        for change in [lambda s: None, lambda s: None, *changes, lambda s: None]:
            change(scope)
            args = arguments()
            with np.errstate(all="ignore"):
                seen.append((outcome(f, *args), freeze(args), freeze([v for k, v in scope.items() if k.startswith("G")])))
        got.append(seen)
    for number, (p, q, r) in enumerate(zip(*got)):
        assert q == p and r == p, f"call {number}"


GLOBAL_NUMBER = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * G
        a[i] = G
    return s
"""


@pytest.mark.parametrize("values", [(1, 2, 3), (1, 1.0, True), (2.0, np.float64(2), np.float32(2)), (np.int64(3), 3, np.int8(3)), (2**40, 2**70, None)])
def test_global_number(values, tmp_path):
    changes = [lambda s, v=v: s.update(G=v) for v in values]
    check_changes(GLOBAL_NUMBER, tmp_path, changes, lambda: [vec(6)], lambda: {"G": values[0]})


GLOBAL_ARRAY = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * G[i]
        G[i] += 1
    return s
"""


def test_global_array(tmp_path):
    def put(s):
        s["G"][2] = 100
    changes = [put, lambda s: s.update(G=np.arange(6.0)), lambda s: s.update(G=np.arange(6)), lambda s: s.update(G=np.arange(12.0)[::2]),
               lambda s: s.update(G=np.arange(3.0)), lambda s: s.update(G=np.arange(6.0)), lambda s: setattr(s["G"].flags, "writeable", False),
               lambda s: s.update(G=[1, 2, 3, 4, 5, 6]), lambda s: s.update(G=np.arange(6.0)[::-1]), lambda s: s.update(G=np.ones(6, "f4"))]
    check_changes(GLOBAL_ARRAY, tmp_path, changes, lambda: [vec(6)], lambda: {"G": np.arange(6.0)})


HELPER = """
def h(x, y=2.0):
    return x * y + G

def f(a):
    s = 0.0
    for i in range(len(a)):
        s += h(a[i], i)
        a[i] = h(s, 1.5)
    return s
"""


def test_helper_changes(tmp_path):
    def other(x, y=3):
        return x - y

    def code(s):
        s["h"].__code__ = other.__code__
    changes = [lambda s: s.update(G=2), lambda s: s.update(G=np.float64(2)), lambda s: s.update(h=other), code, lambda s: s.update(h=max), lambda s: s.update(h=math.pow),
               lambda s: s.update(h=np.maximum), lambda s: s.update(h=lambda x, y: x + y), lambda s: s.update(h=lambda x: x)]
    check_changes(HELPER, tmp_path, changes, lambda: [vec(6)], lambda: {"G": 1.0})


DEFAULTS = """
def h(x, y=2.0, *, z=1.0):
    return x * y + z

def f(a):
    s = 0.0
    for i in range(len(a)):
        s += h(a[i])
    return s
"""


def test_defaults_change(tmp_path):
    changes = [lambda s: setattr(s["h"], "__defaults__", (3.0,)), lambda s: setattr(s["h"], "__kwdefaults__", {"z": 5.0}), lambda s: setattr(s["h"], "__defaults__", None)]
    check_changes(DEFAULTS, tmp_path, changes, lambda: [vec(6)], lambda: {})


BUILTIN = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += abs(a[i]) + max(a[i], 0.0)
    return s
"""


def test_builtins_shadowed(tmp_path):
    changes = [lambda s: s.update(abs=lambda x: x), lambda s: s.update(max=min), lambda s: s.pop("abs"), lambda s: s.update(range=lambda n: [0]), lambda s: s.update(len=lambda n: 2), lambda s: s.pop("range")]
    check_changes(BUILTIN, tmp_path, changes, lambda: [vec(6)], lambda: {})


MODULES = """
import types
Gm = types.SimpleNamespace(k=2.0, t=(1, 2.5), n=3)

def f(a):
    s = 0.0
    for i in range(Gm.n):
        s += a[i] * Gm.k + Gm.t[0]
        a[i] = s
    return s
"""


def test_attributes_change(tmp_path):
    changes = [lambda s: setattr(s["Gm"], "k", 3), lambda s: setattr(s["Gm"], "t", (2.0, 1)), lambda s: setattr(s["Gm"], "n", 5), lambda s: setattr(s["Gm"], "n", 9), lambda s: delattr(s["Gm"], "k")]
    check_changes(MODULES, tmp_path, changes, lambda: [vec(6)], lambda: {})


CLOSURE = """
def make():
    k = 2.0
    w = np.arange(6.0)
    def set(v):
        nonlocal k
        k = v
    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * k + w[i]
            w[i] = s
        return s
    return f, set

f, Gset = make()
"""


def test_cells_change(tmp_path):
    changes = [lambda s: s["Gset"](3), lambda s: s["Gset"](np.float32(1.5)), lambda s: s["Gset"](2.0), lambda s: s["Gset"](None)]
    check_changes(CLOSURE, tmp_path, changes, lambda: [vec(6)], lambda: {})


def test_many_ints():
    """Other ints in turn: neither slow nor forgetful."""
    def f(n):
        s = 0
        for i in range(n % 7):
            s += i * n
        return s
    plain, *jitted = jits(f)
    for n in range(1000):
        expected = plain(n)
        assert [j(n) for j in jitted] == [expected, expected]


def test_many_lengths():
    def f(a, n):
        s = 0.0
        for i in range(n):
            s += a[i] * i
            a[i] = s
        return s
    plain, *jitted = jits(f)
    for n in range(60):
        for m in (n, n // 2, n + 1):
            kinds = [outcome(g, np.arange(float(n)), m) for g in (plain, *jitted)]
            assert kinds[1:] == kinds[:1] * 2


def test_dtypes_in_turn():
    def f(a, b):
        s = 0
        for i in range(len(a)):
            s += a[i] * b[i]
            a[i] += b[i]
        return s
    plain, *jitted = jits(f)
    for turn in range(2):
        for d in ("f8", "f4", "i8", "i4", "u1", "?", "i1", "u8", "f2", "c16", "O", ">f8", "g"):
            for e in ("f8", "i4", "u1"):
                seen = []
                for g in (plain, *jitted):
                    a, b = vec(5, "i4", low=0).astype(d), vec(5, "i4", 1, low=0).astype(e)
                    with np.errstate(all="ignore"):
                        seen.append((outcome(g, a, b), freeze([a, b])))
                assert seen[1:] == seen[:1] * 2, (d, e)


class Alarm(Exception):
    pass


def stop(signum, frame):
    raise Alarm


def long_nested(a, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += a[j % 8] * 1e-9
            a[0] = s
    return s


def long_inner(a, n):
    s = 0.0
    for j in range(n * n):
        s = s * 0.5 + a[3]
    return s


def long_while(a, n):
    i = 0
    while i != n * n:
        i = (i * 3 + 1) % 1000003
    return i


def long_slices(a, n):
    for i in range(n * n):
        a[1:] += a[:-1] * 1e-3
    return a


def long_sums(a, n):
    b = np.zeros(10**6)
    s = 0.0
    for i in range(n * n):
        s += b.sum()
        s += b @ b
        s += b.max()
    return s


@pytest.mark.parametrize("function", [long_nested, long_inner, long_while, long_slices, long_sums], ids=lambda f: f.__name__)
def test_stopped_by_a_signal(function):
    before = signal.signal(signal.SIGALRM, stop)
    try:
        jitted = pyasc.jit(function, tier=1)
        for turn in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.4)
            start = time.perf_counter()
            with pytest.raises(Alarm):
                jitted(np.zeros(8), 10**7)
            assert time.perf_counter() - start < 0.4 + 0.3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads():
    def f(a, n):
        s = 0.0
        for i in range(n):
            for j in range(len(a)):
                s = s * 0.5 + a[j]
                a[j] += 1
        return s
    jitted = pyasc.jit(f, tier=1, numerics="strict")
    wrong = []

    def work(k):
        for turn in range(20):
            n = (k + turn) % 5
            a, b = vec(8 + k % 3, seed=k), vec(8 + k % 3, seed=k)
            if freeze([f(a, n), a]) != freeze([jitted(b, n), b]):
                wrong.append((k, turn))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_many_axes_and_arrays():
    arrays = [np.full((2,) * 6, float(k)) for k in range(24)]
    names = ", ".join(f"a{k}" for k in range(24))
    body = "".join(f"        s += a{k}[i, 0, 1, 0, 1, i]\n        a{k}[i, i, i, i, i, i] += 1\n" for k in range(24))
    source = f"def f({names}):\n    s = 0.0\n    for i in range(2):\n{body}    return s\n"
    import linecache
    linecache.cache["<many>"] = (len(source), None, source.splitlines(True), "<many>")
    scope = {}
    exec(compile(source, "<many>", "exec"), scope)
    compare(scope["f"], [tuple(arrays)])


def test_many_names():
    names = [f"x{k}" for k in range(80)]
    source = "def f(n):\n" + "".join(f"    {x} = {k}.0\n" for k, x in enumerate(names)) + "    for i in range(n):\n" + "".join(f"        {x} += {y}\n" for x, y in zip(names, names[1:] + names[:1]))
    source += "    return " + ", ".join(names) + "\n"
    import linecache
    linecache.cache["<names>"] = (len(source), None, source.splitlines(True), "<names>")
    scope = {}
    exec(compile(source, "<names>", "exec"), scope)
    compare(scope["f"], [(3,), (0,), (20,)])
