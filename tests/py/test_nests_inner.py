"""Functions defined in the function, called in its loops that are compiled as a whole."""

import numpy as np

import pyasc
from nesting import cases, checks_of, vec

case, CASES = cases()
test_case, test_compiled = checks_of(CASES)


ODE = ((np.array([1.0, 0.0]), 0.01, 30), (np.array([0.5, 0.25]), 0.02, 7), (np.array([1.0, 2.0]), 0.1, 0))


@case(*ODE)
def runge_kutta(y, dt, n):
    def f(y):
        return np.array([y[1], (1 - y[0] ** 2) * y[1] - y[0]])

    for _ in range(n):
        k1 = f(y)
        k2 = f(y + dt / 2 * k1)
        k3 = f(y + dt / 2 * k2)
        k4 = f(y + dt * k3)
        y = y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


@case(*ODE)
def of_arguments(y, mu, n):
    """What it reads of the function around it: a number, an array, another function."""
    weights = np.array([0.25, -0.5])
    half = lambda x: x / 2  # noqa: E731

    def f(y):
        return mu * half(y) + weights * y[0]

    for i in range(n):
        y = y + f(y) * (i + mu)
    return y


@case((3.0, 20), (0.5, 7), (2, 4))
def of_numbers(x, n):
    def f(a, b):
        if a > b:
            return a - 1
        return a * 0.5 + x

    total = 0.0
    for i in range(n):
        total += f(total, i)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def two_of_one_name(x, k):
    if k > 0:
        def f(v):
            return v * k
    else:
        def f(v):
            return v - k

    total = 0.0
    for v in x:
        total += f(v)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def plain_bound_again(x, k):
    """What it reads is another thing when it is called."""
    def f(v):
        return v * k

    total = 0.0
    k = k + 1
    for v in x:
        total += f(v)
        k = k + 0.5
    return total, k


@case((vec(12), 2.0), (vec(5), -1.5))
def plain_of_the_turn(x, k):
    scale = k

    def f(v):
        return v * scale

    total = 0.0
    for v in x:
        scale = v
        total += f(v)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def in_the_loop(x, k):
    total = 0.0
    for j in range(3):
        def f(v):
            return v * k + j

        for v in x:
            total += f(v)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def changes_its_array(x, k):
    out = np.zeros(4)

    def add(i, v):
        out[i] += v * k
        return out[i]

    total = 0.0
    for i in range(len(x)):
        total += add(i % 4, x[i])
    return out, total


@case((vec(12), 2), (vec(5), 5))
def plain_recursive(x, n):
    def power(v, n):
        return 1.0 if n == 0 else v * power(v, n - 1)

    total = 0.0
    for v in x:
        total += power(v, n)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def plain_with_defaults(x, k):
    def f(v, a=k, *, b=2):
        return v * a + b

    total = 0.0
    for v in x:
        total += f(v) + f(v, 3.0) + f(v, b=1)
    return total


@case((vec(12), 2.0), (vec(5), -1.5))
def plain_counting(x, k):
    count = 0

    def f(v):
        nonlocal count
        count += 1
        return v * k

    total = 0.0
    for v in x:
        total += f(v)
    return total, count


@case((vec(12), 2.0), (vec(5), -1.5))
def plain_same_line(x, k):
    f, g = (lambda v: v + k), (lambda v: v - k)
    total = 0.0
    for v in x:
        total += f(v) * g(v)
    return total


def test_made_elsewhere():
    """A function that another call has made has the values of that call."""
    def make(k):
        def f(v):
            return v * k
        return f

    make = pyasc.jit(make)
    made = [make(2.0), make(3.0)]

    def total(x, f):
        s = 0.0
        for v in x:
            s += f(v)
        return s

    jitted = pyasc.jit(total, numerics="strict")
    x = vec(12)
    for _ in range(3):
        for f in made:
            assert jitted(x, f) == total(x, f)
