"""Windows on arrays that a name has on each way through a branch or a loop that is compiled as a whole.

More random programs: `PYASC_EXAMPLES=3000 ./run python -m pytest tests/py/test_nest_windows.py`.
"""
import os

import numpy as np
import pytest

import pyasc
import windows
from same import freeze


def both_ways_in_a_loop_of_windows(x, c):
    s = 0.0
    for k in range(1,3):
        y = x[k:]
        t = y
        for i in range(len(x)-3):
            if x[i] > c: t = y
            else:
                t = y
                s += 1
            s += t[i]*(i+1)
    return s


def in_tuples(x, c):
    s = 0.0
    for k in range(1,3):
        y = x[k:]
        t = (y, 1.0)
        for i in range(len(x)-3):
            if x[i] > c: t = (y, 2.0)
            else:
                t = (y, 3.0)
            s += t[0][i]*t[1]
    return s


def of_an_argument(x, c):
    s = 0.0
    y = x[2:]
    for i in range(len(x)-3):
        if x[i] > c: t = y
        else: t = y
        s += t[i]*(i+1)
    return s


def of_the_turn(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:]
        if x[i] > c: t = y
        else: t = y
        s += t[1]*(i+1)
    return s


def conditional_expression(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:]
        t = y if x[i] > c else y
        s += t[1]*(i+1)
    return s


def nested_ways(x, c):
    s = 0.0
    y = x[2:]
    for i in range(len(x)-3):
        y = x[i+1:]
        if x[i] > c:
            if x[i] > 2*c: t = y
            else: t = y
        else: t = y
        s += t[1]*(i+1)
    return s


def new_array(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:]+1
        if x[i] > c: t = y
        else: t = y
        s += t[1]*(i+1)
    return s


def one_of_two(x, i, c):
    if x[i] > c: return x[i:]
    else: return x[1:]


def called_one_of_two(x, c):
    s = 0.0
    for i in range(len(x)-3):
        t = one_of_two(x,i,c)
        s += t[1]*(i+1)
    return s


def the_same(x, i, c):
    y = x[i:]
    if x[i] > c: return y
    else: return y


def called(x, c):
    s = 0.0
    for i in range(len(x)-3):
        t = the_same(x,i,c)
        s += t[1]*(i+1)
    return s


def the_same_early(x, i, c):
    y = x[i:]
    if x[i] > c: return y
    return y


def called_early(x, c):
    s = 0.0
    for i in range(len(x)-3):
        t = the_same_early(x,i,c)
        s += t[1]*(i+1)
    return s


def assigned_to_itself(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:]
        for k in range(2):
            if x[i] > c: y = y
            s += y[1]*(i+k)
    return s


def taken_over(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:]
        t = y
        for k in range(2):
            t = y
            s += t[1]*(i+k)
        s -= t[0]
    return s


def broken_while(x, c):
    s = 0.0
    for i in range(len(x)-3):
        y = x[i:i+3]
        t = y
        n = 0
        while n < 3:
            if y[n] > c:
                t = y
                break
            n += 1
        else:
            t = y
        s += t[1]*(i+n)
    return s


PROGRAMS = (both_ways_in_a_loop_of_windows, in_tuples, of_an_argument, of_the_turn, conditional_expression, nested_ways, new_array,
            called_one_of_two, called, called_early, assigned_to_itself, taken_over, broken_while)


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("tier", [0, 1])
def test_windows(function, tier):
    jitted = pyasc.jit(function, numerics="strict", tier=tier)
    x = np.arange(120) / 40
    for c in (1.0, 2.0, -3.0, 0.5):
        for _ in range(3):
            assert freeze(jitted(x, c)) == freeze(function(x, c))
            jitted.wait()


def test_random_programs():
    for seed in range(int(os.environ.get("PYASC_EXAMPLES", "60"))):
        windows.check(seed)
