"""Loops compiled as a whole, rule by rule: types that change, Python's ints, exceptions."""
import math

import numpy as np
import pytest

from nesting import cases, compare, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


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
