"""Complex numbers of Python's and NumPy's in loops compiled as a whole: what an operator between them makes."""
import random

import numpy as np
import pytest

import pyasc
from nesting import compare, load, picture

VALUES = ["z", "w", "x[i]", "f[i]", "c[i]", "d[i]", "k", "a", "2", "1.5", "1j", "9007199254740993", "s", "t"]


def program(seed):
    rng = random.Random(seed)

    def value():
        first = rng.choice(VALUES)
        return first if rng.random() < 0.4 else f"({first} {rng.choice('+-*')} {rng.choice(VALUES)})"

    return f"""
def f(x, f, c, d, z, w, k, a):
    s = {rng.choice(['0', '0.0', '0j', 'z'])}
    t = {rng.choice(['1', '1.0', 'z', 'w'])}
    n = 0
    for i in range(len(x)):
        if {value()} {rng.choice(['==', '!='])} {value()}:
            n += 1
        if x[i] > 0:
            s = {value()}
        else:
            t = {value()}
        if s == t:
            n += 10
        if {value()} != s:
            n += 100
    return n, s, t
"""


def arguments():
    x = np.array([1.0, -1, 2, 0.1, 3, -2, 0, 4])
    return (x, x.astype("f4"), x + 1j * x[::-1], (x * 1j + 0.1).astype("c8"), 1 + 0.1j, np.complex64(0.1), 3,
            np.float32(0.1))


@pytest.mark.parametrize("seed", range(60))
def test_program(seed, tmp_path):
    source = program(seed)
    plain = load(source, tmp_path)
    function = pyasc.jit(plain, numerics="strict", tier=1)
    for _ in range(3):
        assert picture(function, arguments()) == picture(plain, arguments()), source


@pytest.mark.parametrize("operator", ["+", "-", "*", "/", "=="])
def test_float64_right_of_a_complex_number(operator):
    """float64 is a float: the operator is Python's. complex128 is a complex: it is NumPy's."""
    space = {}
    source = f"def f(z, x):\n    s = z\n    for v in x:\n        s = z {operator} v\n    return s, type(s).__name__"
    exec(source, space)
    function = pyasc.jit(space["f"], numerics="strict", tier=1)
    for dtype in "dFDf":
        for _ in range(2):
            args = (1 + 0.1j, np.array([2.5, 3.0]).astype(dtype))
            assert picture(function, args) == picture(space["f"], args)



def cubes(z):
    total = z[0]
    for k in range(len(z)):
        total = total + z[k] ** 3
        z[k] = z[k] ** 3 - 1
    w = z * 1
    for k in range(3):
        w = w - (w ** 3 - 1) / (3 * w ** 2 + 1)
    return total, w


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_cubes(dtype):
    values = [0, -0.0, 1, 1j, -1, complex(-0.0, -0.0), 2.5 - 1j, 1e30j, np.inf, complex(np.nan, 1)]
    compare(cubes, ((np.array(values, dtype),), (np.array(values[::-1], dtype),)))
