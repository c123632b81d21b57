"""Functions of numbers alone, and loops with what is done with their numbers behind them, compiled as a whole."""
import math
import random
from math import exp as _exp, sqrt

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, load, picture, vec

case, CASES = cases()
NUMBERS = ((3.0, 4.0, 5.0), (3, 4, 5), (1.0, 1.0, 9.0), (np.float64(3), 4.0, 5.0), (np.float32(3), 4.0, 5.0),
           (True, 1, 1.5), (np.int64(3), 4, 5), (-0.0, 0.0, 0), (math.inf, 1.0, math.nan), (10**30, 1, 2))


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


@case(*NUMBERS)
def area(a, b, c):
    s = (a + b + c) / 2
    q = s * (s - a) * (s - b) * (s - c)
    if q < 0:
        return -1.0
    return abs(q) + s


@case(*NUMBERS)
def several_results(a, b, c):
    """With a docstring."""
    low = a if a < b else b
    high = b if low == a else a
    middle = (low + high) / 2
    return low, (high, middle), c > middle, 7, None


@case(*NUMBERS)
def without_division_by_zero(a, b, c):
    q = (a - b) * (b - c) * 2
    if q == 0:
        return 0
    return a / q + b // q - c % q


@case((12, 18), (12, 0), (7, 5), (10**30, 4), (True, 3), (np.int64(12), 18))
def greatest_common_divisor(a, b):
    while b:
        a, b = b, a % b
    return a


@case((2.0, 10), (3.0, 5), (0.0, 3), (9, 4), (np.float64(2), 3))
def root_by_newton(x, n):
    y = x
    for i in range(n):
        y = 0.5 * (y + x / y)
    return y, n


@case(*NUMBERS)
def calls_of_others(a, b, c):
    def squared(x):
        return x * x + 1

    d = squared(a) - squared(b)
    return d * 2 + squared(c) if d > 0 else squared(d)


@case((2.0, 3), (2, 3.0), (np.float64(2), 3))
def that_raises(a, b):
    if a * b + 1 > 6:
        raise ValueError("too much")
    return a + b * 2


@case((vec(),), (vec(1),), (np.zeros(3),), (vec(8, "f4"),), (vec(8, "i8"),))
def statistics(x):
    low = high = x[0]
    total = 0.0
    for v in x:
        if v < low:
            low = v
        if v > high:
            high = v
        total += v
    mean = total / len(x)
    spread = high - low
    return mean, spread, spread / 2 if spread > 0 else 0.0


@case((vec(), 3), (vec(), 20), (vec(), 0))
def array_and_number(x, n):
    c = 0
    for i in range(min(n, len(x))):
        x[i] *= 2
        c += 1
    c = c * 10 + 1
    x[0] = c
    return x, c


@case((vec(), 3), (vec(), -1))
def ints_that_are_known(x, n):
    k = 4
    for i in range(len(x)):
        if x[i] > n:
            x[i] = n
    k = k + 1
    y = np.zeros(k)
    return y + x[:k], k


@case((vec(),), (-abs(vec()),))
def two_loops(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
    s = s / 2
    if s < 0:
        return s
    t = 0.0
    for i in range(len(x)):
        t += (x[i] - s) * (x[i] - s)
    t = t / len(x)
    return s, t


@case((vec(8), vec(8, seed=1)),)
def arrays_behind_loops(x, y):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * y[i]
    y = y * s
    x = x + y
    return x, s


@case((np.arange(20, dtype=np.uint8), 0x8408))
def checksum(data, poly):
    c = 0xFFFF
    for b in data:
        cur = int(0xFF & b)
        for _ in range(8):
            if (c & 1) ^ (cur & 1):
                c = (c >> 1) ^ poly
            else:
                c >>= 1
            cur >>= 1
    c = ~c & 0xFFFF
    c = (c << 8) | ((c >> 8) & 0xFF)
    return c & 0xFFFF


def program(seed):
    """A function of three numbers."""
    rng = random.Random(seed)
    names = ["a", "b", "c"]

    def number(depth=0):
        if depth > 2 or rng.random() < 0.2:
            return rng.choice([*names, *names, "1", "0.5", "-2", "3"])
        return rng.choice([
            lambda: f"({number(depth + 1)} {rng.choice('+-*')} {number(depth + 1)})",
            lambda: f"({number(depth + 1)} {rng.choice(['/', '//', '%'])} {rng.choice(['2', '1.5', '-3', number(3)])})",
            lambda: f"({rng.choice(['-', 'abs', '+', 'float', 'not '])}({number(depth + 1)}))",
            lambda: f"({number(depth + 1)} if {test()} else {number(depth + 1)})",
            lambda: f"{rng.choice(['min', 'max'])}({number(depth + 1)}, {number(depth + 1)})",
            lambda: f"math.{rng.choice(['floor', 'sqrt', 'sin', 'fabs'])}({number(depth + 1)})",
            lambda: f"({test()})",
        ])()

    def test():
        return f"{number(3)} {rng.choice(['<', '>', '<=', '==', '!='])} {number(3)}"

    def statements(depth):
        lines = []
        for _ in range(rng.randrange(1, 4)):
            if depth < 2 and rng.random() < 0.4:
                lines += [f"if {test()}:", *("    " + line for line in statements(depth + 1))]
                if rng.random() < 0.3:
                    lines += [f"    return {number()}"]
                if rng.random() < 0.5:
                    lines += ["else:", *("    " + line for line in statements(depth + 1))]
            else:
                name = rng.choice([*names, "s", "t"])
                lines += [f"{name} = {number()}"]
                names.append(name) if depth == 0 else None
        return lines

    body = ["    " + line for line in ["s = t = 0", *statements(0)]]
    return "\n".join(["def f(a, b, c):", *body, f"    return {number()}, s, t", ""])


@pytest.mark.parametrize("seed", range(60))
def test_program(seed, tmp_path):
    source = program(seed)
    plain = load(source, tmp_path, math=math)
    function = pyasc.jit(plain, numerics="strict", tier=1)
    for args in (*NUMBERS, (-3, 2, 1), (0.5, -1.5, 2.25)):
        assert picture(function, args) == picture(plain, args), (args, source)


def test_they_are_compiled():
    for function, args in ((area, (3.0, 4.0, 5.0)), (several_results, (3.0, 4.0, 5.0)), (statistics, (vec(),)),
                           (root_by_newton, (2.0, 10)), (checksum, (np.arange(9, dtype=np.uint8), 0x8408))):
        compiled = pyasc.jit(function, tier=1)
        compiled(*args)
        compiled(*args)
        assert compiled.report()["kernels"] == 1 and not compiled.report()["fallback"], compiled.report()


def test_arrays_first():
    """A function that is rewritten for a call with arrays is compiled as a whole for one with numbers."""
    args, arrays = (3.0, 4.0, 5.0), (vec(8), vec(8), vec(8))
    compiled = pyasc.jit(area_of_any, tier=1, numerics="strict")
    for values in (arrays, args, arrays, args, args):
        assert picture(compiled, values) == picture(area_of_any, values)
    assert compiled.report()["kernels"] == 2, compiled.report()


def area_of_any(a, b, c):
    s = (a + b + c) / 2
    return s * (s - a) * (s - b) * (s - c) - abs(s)


def unbound_by_del(n):
    s = 0
    for i in range(n):
        s += i
    del s
    for i in range(n):
        s += i
    return s


def unbound_by_a_handler(n, k):
    try:
        raise ValueError
    except ValueError as n:
        pass
    for i in range(k):
        k += n
    return k


def bound_in_one_branch(c, n):
    if c:
        s = 1
    for i in range(n):
        s += i
    return s


def bound_behind_the_loop(n):
    for i in range(n):
        if i:
            s += i
        else:
            s = 0
    t = s + 1
    for i in range(n):
        t += i
    u = t * 2
    return u, t, s


def bound_in_the_run_itself(n):
    for i in range(n):
        if n > 2000:
            t += i
    t = i * 2
    u = t + 1
    return u


@pytest.mark.parametrize("function, argsets", [
    (unbound_by_del, ((500,), (0,))), (unbound_by_a_handler, ((3, 500),)),
    (bound_in_one_branch, ((0, 500), (1, 500))), (bound_behind_the_loop, ((500,), (0,), (1,))),
    (bound_in_the_run_itself, ((500,), (3000,), (0,)))])
def test_names_that_may_be_unbound(function, argsets):
    compare(function, argsets)


def squared_and_more(x):
    return x * x + 1.0


def of_names(a, b, c):
    x = sqrt(abs(a)) + _exp(-abs(b))
    return squared_and_more(x) * squared_and_more(c)


def that_raises(a: float, b: float, c: float):
    x: float = a * b
    if x < 0:
        raise ValueError("x is %r" % x)
    elif x > 50:
        raise OverflowError
    return sqrt(x) + c


def with_an_array(x):
    v = np.zeros(3)
    v[0] = x
    return v.sum()


def of_functions_of_arrays(a, b, c):
    x = a * b
    return with_an_array(x) + with_an_array(c)


def that_prints(a, b, c):
    x = a * b
    print(x, c)
    return x + c


@pytest.mark.parametrize("function", [of_names, that_raises, of_functions_of_arrays, that_prints])
def test_calls_by_name(function, capsys):
    for args in (*NUMBERS, (-3.0, 4.0, 5.0), (1.0, 2.0, -7.0), (30.0, 4.0, 1.0), (1e4, -1e4, 1e200)):
        compare(function, (args,))
    capsys.readouterr()


def test_calls_by_name_are_compiled():
    for function in (of_names, that_raises):
        jitted = pyasc.jit(function, tier=1)
        for _ in range(3):
            assert jitted(0.5, 4.0, 5.0) == pytest.approx(function(0.5, 4.0, 5.0), rel=1e-15)
        assert "<compiled loop" in jitted.explain()


def test_many_names(tmp_path):
    count = 220
    lines = ["def f(x0, y):", *(f"    x{i} = x{i - 1} * y + {i}.5" for i in range(1, count)), "    if y > 1:",
             *(f"        x{i} = x{i} - y" for i in range(count)), f"    return x{count - 1} + x{count // 2}, x7"]
    many = load("\n".join(lines), tmp_path)
    compare(many, ((0.3, 0.4), (0.3, 1.4), (3, 4), (3, 4.5)))
    jitted = pyasc.jit(many, tier=1)
    for _ in range(3):
        assert jitted(0.3, 0.4) == many(0.3, 0.4)
    assert "<compiled loop" in jitted.explain()
