"""Loops compiled as a whole, rule by rule: NumPy's scalars, constants and the outside."""
import math

import numpy as np
import pytest

from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


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


@case((0.5,), (-0.5,), (7,), (np.float32(0.3),), (True,), (1e300,), (float("inf"),), (float("nan"),), (np.float64(-0.25),))
def math_error_functions(x):
    s = 0.0
    for i in range(3):
        s += math.erf(x) * math.erfc(x) + math.copysign(x, i - 1) + math.copysign(i, x)
        s += math.degrees(x) - math.radians(x + i)
    return s


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
