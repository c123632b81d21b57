"""Loops compiled as a whole whose names hold Python's number on one way and NumPy's on another."""
import random

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, load, picture, vec
from same import outcome

case, CASES = cases()
SOME = ((vec(),), (np.zeros(8),), (-abs(vec()),), (vec() * 9,), (np.full(8, np.nan),), (vec(0),))


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


@case(*SOME, (vec(8, "f4"),), (vec(8, "i8"),), (vec(8, "u1"),))
def sum_of_some(a):
    s = 0.0
    for i in range(len(a)):
        if a[i] > 0.5:
            s += a[i]
    return s


@case(*SOME, (vec(8, "f4"),), (vec(8, "i8"),), (vec(8, "i2"),))
def largest(a):
    m = 0
    for x in a:
        if x > m:
            m = x
    return m


@case(*SOME)
def found_or_not(a):
    for x in a:
        if x > 0.9:
            return x
    return -1.0


@case(*SOME)
def place_and_value(a):
    best, at = 0.0, -1
    for i in range(len(a)):
        if a[i] * a[i] > best:
            best = a[i] * a[i]
            at = i
    return best, at, best > 1


@case(*SOME)
def zero_of_ints_has_no_sign(a):
    s = t = u = v = 0
    for x in a:
        if x > 3:
            s = t = u = x
        else:
            s = -s
            t = t * -2
            u = (u - 1) // 2 % -1
        v = -t
    return s, t, u, v


@case(*SOME)
def halves(a):
    s = 1
    for x in a:
        if x > 0:
            s = s / 2
        elif x < -2:
            s = x
    return s, s + 1, s * 2


@case(*SOME, times=1)
def ints_that_no_float_holds(a):
    s = 1
    for i in range(len(a) * 10):
        if a[0] > 1000:
            s = a[0]
        s = s * 3 + 1
    return s


@case((vec(8, "i8"),), (abs(vec(8, "i8")),), (np.full(8, 2**62),), (np.full(8, -1),))
def int64(a):
    s = c = 0
    for x in a:
        if x > 1:
            s = s + x
        else:
            c = c - 1
        if s > c:
            c = s
    return s, c


@case(*SOME)
def flags(a):
    any_, all_ = False, True
    for x in a:
        if x != 2:
            any_ = x > 0
        if not any_:
            all_ = x < 1
    return any_, all_


@case(*((a * (1 + 2j),) for a, in SOME))
def complex_numbers(a):
    s, p = 0j, 1.0 + 0j
    for z in a:
        if z.real > 0.5:
            s += z
            p = p * z
        else:
            s -= 1.5
    return s, p


@case(*SOME)
def conditional_expressions(a):
    s, t = 0, 0.0
    for x in a:
        s = x if x > 0.5 else 2
        t = max(t, x)
        t = min(t, 1.0) if s == 2 else t
    return s, t


@case(*SOME)
def found_by_a_helper(a):
    def first(v, bound):
        for x in v:
            if x > bound:
                return x
        return 0.0
    s = 0.0
    for i in range(len(a)):
        t = first(a[i:], 0.5)
        if t > s:
            s = t
    return s


@case((vec(), vec(seed=1)), (-abs(vec()), vec(seed=1)), (np.zeros(8), vec(seed=1)))
def while_it_writes(a, b):
    s = 0.0
    for i in range(len(a)):
        b[i] += s
        if a[i] > 0.7:
            s = a[i]
    return s, s * 2


@case((vec(), 0.5), (vec(), 0.9), (-abs(vec()), 0.9))
def python_of_another_kind_goes_on(a, x):
    s = 1.5
    for i in range(len(a)):
        if a[i] > x:
            s = a[i]
    for i in range(len(a)):
        a[i] = a[i] * s + (s > 1)
    return a.sum(), s


@case((np.array([0.1, 0.3], "f4"),), (np.array([0.0, 0.3], "f4"),), (np.array([0.1, 0.3]),))
def float32_rounds_what_it_is_compared_with(a):
    s, c = 0.0, 0
    for x in a:
        if x != 0:
            s = x
        if s == 0.1:
            c += 1
        if s > 0:
            c += 10
    return s, c


def program(seed):
    """Names that start as Python's numbers, and get Python's or NumPy's as it comes."""
    rng = random.Random(seed)
    names = ["s", "t", "u"]

    def number(depth=0):
        if depth > 1:
            return rng.choice([*names, *names, "x", "x", "1", "0", "0.5", "-2"])
        return rng.choice([
            lambda: number(2),
            lambda: f"({number(depth + 1)} {rng.choice('+-*')} {number(depth + 1)})",
            lambda: f"-{number(depth + 1)}",
            lambda: f"abs({number(depth + 1)})",
            lambda: f"({number(depth + 1)} / {rng.choice(['2', '1.5', '(2 + x * x)'])})",
            lambda: f"({number(depth + 1)} {rng.choice(['//', '%'])} {rng.choice(['2', '-3', '1.5'])})",
            lambda: f"{rng.choice(['min', 'max'])}({number(depth + 1)}, {number(depth + 1)})",
            lambda: f"({number(depth + 1)} if {test()} else {number(depth + 1)})",
        ])()

    def test():
        return f"{number(2)} {rng.choice(['<', '>', '<=', '==', '!='])} {number(2)}"

    def statements(depth):
        lines = []
        for _ in range(rng.randrange(1, 4)):
            if depth < 2 and rng.random() < 0.5:
                lines += [f"if {test()}:", *("    " + line for line in statements(depth + 1))]
                if rng.random() < 0.5:
                    lines += ["else:", *("    " + line for line in statements(depth + 1))]
            else:
                lines += [f"{rng.choice(names)} = {number()}"]
        return lines

    starts = [f"    {name} = {rng.choice(['0', '1', '0.0', '-0.0', '2.5', '-3'])}" for name in names]
    body = ["        " + line for line in statements(0)]
    end = rng.choice(["s, t, u", "s, t, u", "s + t, u", "s > t, u * 2"])
    return "\n".join(["def f(a):", *starts, "    for x in a:", *body, f"    return {end}", ""])


@pytest.mark.parametrize("seed", range(80))
def test_program(seed, tmp_path):
    source = program(seed)
    plain = load(source, tmp_path)
    function = pyasc.jit(plain, numerics="strict", tier=1)
    for k in range(6):
        a = vec(7, seed=k) * 10.0 ** (k % 3) if k < 4 else np.array([0.0, -0.0, 1, -1, 2, 3, -3])
        a = a.astype("f4") if k == 3 else a.astype("i8") if k == 5 else a
        assert picture(function, (a,)) == picture(plain, (a,)), source


def test_they_are_compiled():
    """The call is one step, and what it returns is of its own type each time."""
    for function in (sum_of_some, largest, found_or_not, place_and_value, complex_numbers):
        compiled = pyasc.jit(function, tier=1)
        for a in (vec() * 9, np.zeros(8)):
            a = a * (1 + 0j) if function is complex_numbers else a
            for _ in range(2):
                assert outcome(compiled, a) == outcome(function, a)
        assert compiled.report()["kernels"] > 0, function.__name__


@case((vec(300, "u1"), vec(300, "i4")), (vec(0, "u1"), vec(0, "i4")))
def narrow_or_pythons_compared(u, x):
    n = 0
    for i in range(1, len(u) - 1):
        s = 0
        for d in range(-1, 2):
            if d:
                s += u[i + d]
        if s == 3 or s > 250:
            n += 1
        if s < x[i]:
            n += 2
        if s <= 2.5:
            n += 4
        if s != -1:
            n += 8
    return n
