"""What a call costs: little work on 16 elements."""

import numpy as np


def add(x, y):
    return x + y


def add_scale(x, y):
    return (x + y) * 2


def with_scalar(x, a):
    return x * a + 1.0


def one_element(x):
    return x * x + 1.0


def two_results(x, y):
    return x + y, x - y


def in_place(x, y):
    x += y
    x *= 0.5


def cases():
    x, y = np.linspace(0.0, 1.0, 16), np.linspace(1.0, 2.0, 16)
    yield "add 16", add, (x, y)
    yield "(x+y)*2 16", add_scale, (x, y)
    yield "x*a+1 16, float a", with_scalar, (x, 1.5)
    yield "x*x+1, NumPy scalar", one_element, (np.float64(1.5),)
    yield "two results 16", two_results, (x, y)
    yield "in place 16", in_place, (x, y)
