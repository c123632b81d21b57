"""Functions of complex numbers in kernels, on scalars and in loops compiled as a whole: NumPy's bits."""
import random

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, load, picture
from same import freeze

SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.0, 0.5, np.inf, -np.inf, np.nan, 1e-310, -3e300, 40.0]
UNARY = ["exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
         "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "sign", "reciprocal", "conjugate", "absolute", "negative",
         "isnan", "isfinite", "angle"]
BINARY = ["power", "float_power", "maximum", "minimum", "fmax", "fmin", "less", "less_equal", "greater", "greater_equal",
          "multiply", "divide", "add", "equal"]


def numbers(dtype="c16", n=0):
    rng = np.random.default_rng(n)
    made = [complex(x, y) for x in SPECIAL for y in SPECIAL] + list(rng.standard_normal(n) + 1j * rng.standard_normal(n))
    return np.array(made).astype(dtype)


@pytest.mark.parametrize("numerics", ["strict", "numpy"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize("name", UNARY + BINARY)
def test_kernels(name, dtype, numerics):
    if name == "angle" and numerics == "numpy":
        return  # arctan2 is a recipe
    ufunc = getattr(np, name)
    if name in UNARY:
        def f(x, y):
            return ufunc(x + 0) if name == "angle" else (ufunc(x * 1), x + 2)
    else:
        def f(x, y):
            return ufunc(x + y, y), x - y

    for n in (0, 1, 3, 4001):
        with np.errstate(all="ignore"):
            x = numbers(dtype, n)[-max(n, 1) if n else None:] if n in (1, 3) else numbers(dtype, n)
            args = (x, x[::-1].copy())
            expected = freeze(f(*args))
            for tier in (0, 1):
                function = pyasc.jit(f, numerics=numerics, tier=tier)
                for _ in range(2):
                    assert freeze(function(*args)) == expected, (n, tier)
            if name != "angle":
                assert not function.report()["fallback"], function.report()


def test_a_chain_is_one_kernel():
    def f(x, y):
        return np.exp(x * 2j) * y + np.sqrt(y) - x ** 3

    x = numbers(n=50)
    function = pyasc.jit(f, tier=1)
    with np.errstate(all="ignore"):
        for _ in range(2):
            assert freeze(function(x, x + 1j)) == freeze(f(x, x + 1j))
    report = function.report()
    assert report["kernels"] == 1 and not report["fallback"], report


case, kept = cases()


def sets():
    x = numbers("c16", 20)
    with np.errstate(all="ignore"):
        return made(x)


def made(x):
    return [(np.stack([x, x[::-1], x * 0.5, x + 1], 1).astype(d), np.stack([x[::-1], x, x - 1j, x], 1).astype(d),
             np.zeros((len(x), 4), d)) for d in ("c16", "c8")]


@case(*sets())
def of_numbers(x, y, out):
    n = 0
    for i in range(len(x)):
        for j in range(4):
            out[i, j] = np.exp(x[i, j]) * np.sqrt(y[i, j]) + np.log(x[i, j]) - np.power(x[i, j], 2.5) + x[i, j] ** 3
            out[i, j] += x[i, j] ** y[i, j] - np.abs(x[i, j]) + abs(y[i, j])
            if np.greater(x[i, j], y[i, j]) or np.isnan(x[i, j]):
                n += 1
    return n


@case(*sets())
def of_rows(x, y, out):
    for i in range(len(x)):
        out[i] = np.exp(x[i]) * y[i] + np.sin(y[i]) / np.cos(x[i]) - abs(x[i]) + np.abs(y[i]) * x[i] ** 2
        out[i] -= x[i] ** 3 - x[i] ** 0.5 + x[i] ** -1 + x[i] ** y[i] + 2.5 * x[i]
        out[i, 1:] *= np.conj(x[i, 1:]) * (1 + 2j)
        out[i, 0] += np.where(np.abs(x[i]) > 1, x[i], y[i])[0] if i < 0 else x[i, 0]
        out[i] = np.where(np.abs(y[i]) > 1, out[i], y[i])
        row = out[i]
        large = np.abs(row) > 5
        row[large] = 1j


@case(((np.arange(40) - 20) / 7 + 0.1j, 3, 0.3 + 0.2j), ((np.arange(40) - 20) / 7 + 0.1j, 0, 0j), (np.zeros(40, complex), 1, 10 + 1j))
def powers_of_pythons_numbers(x, k, z):
    s = z
    for i in range(len(x)):
        s = s ** 2 * 0.5 + 0.1j
        t = z ** -1 if k else z ** 0
        x[i] += s ** 3.0 - t
    return s, t


@case(((np.arange(80) - 40) / 7, 1), ((np.arange(80) - 40) / 7.0, 2))
def elementary_functions_of_numbers(x, k):
    s = x[0] * 0
    for v in x:
        s = s + np.exp(v) * np.sin(v) - np.tanh(v + k) + np.arctan2(v, s) + np.hypot(v, 1.5)
    return s


@case(*[(x[:, :1].copy(), y[:, :1].copy(), o[:, :1].copy()) for x, y, o in sets()])
def rows_of_one(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] * y[i]
        out[i] *= x[i]
        out[i, 0] *= y[i, 0]


@case(*sets())
def backwards(x, y, out):
    for i in range(len(x)):
        out[i, ::-1] = x[i, ::-1] * y[i] + abs(y[i, ::-1]) - np.exp(x[i, ::-2].sum()) if i < 0 else x[i, ::-1] * y[i]
        out[i] += np.abs(x[i, ::-1]) + np.square(y[i, ::-1]) - x[i, ::2][0]


@pytest.mark.parametrize("function, argsets, times", kept)
def test_loops(function, argsets, times):
    compare(function, argsets, times)


@pytest.mark.parametrize("function", [of_numbers, of_rows, powers_of_pythons_numbers, elementary_functions_of_numbers])
def test_loops_are_compiled(function):
    argsets = {"of_numbers": sets()[0], "of_rows": sets()[0]}
    args = argsets.get(function.__name__) or next(p.values[1] for p in kept if p.values[0] is function)[0]
    jitted = pyasc.jit(function, numerics="strict", tier=1)
    for _ in range(2):
        assert picture(jitted, args) == picture(function, args)
    assert "<compiled loop" in jitted.explain()


VALUES = ["z", "w", "x[1]", "x[2]", "c[1]", "a", "2", "1.5", "1j", "np.exp(z)", "np.sqrt(x[2])", "np.abs(z)", "np.log(w)", "abs(x[1])"]


@pytest.mark.parametrize("seed", range(60))
def test_scalars(seed, tmp_path):
    rng = random.Random(seed)

    def value(depth=0):
        if depth > 2 or rng.random() < 0.3:
            return rng.choice(VALUES)
        return f"({value(depth + 1)} {rng.choice(['+', '-', '*', '/', '**'])} {value(depth + 1)})"

    source = f"""
import numpy as np
def f(x, c, z, w, a):
    s = {value()}
    t = np.multiply({value()}, {value()}) - s
    return s, t, {value()} == t, np.square({value()}), x * s
"""
    plain = load(source, tmp_path)
    x = numbers(n=3)[-3:]
    args = (x, x.astype("c8"), x[0], np.complex64(0.3 - 0.2j), 1.5)
    for numerics in ("strict", "numpy"):
        function = pyasc.jit(plain, numerics=numerics, tier=1)
        for _ in range(2):
            assert picture(function, args) == picture(plain, args), source


def test_what_is_solved_for_points_of_the_plane_is_no_fallback():
    def integral(n, count, matrices, points, y):
        p, q = np.zeros((n, count), complex), np.zeros((n, count), complex)
        for z in points:
            t = np.zeros((n, n), complex)
            for k in range(3):
                t += np.power(z, 1.0 - k) * matrices[k]
            x = np.linalg.solve(t, y)
            if abs(z) < 1.0:
                x = -x
            p += x
            q += z * x
        return p, q

    rng = np.random.default_rng(0)
    points = np.exp(1j * np.arange(8)) * np.where(np.arange(8) % 2, 0.5, 2)
    args = (5, 7, rng.random((3, 5, 5)) + 1j * rng.random((3, 5, 5)), points, rng.random((5, 7)) + 0j)
    function = pyasc.jit(integral, tier=1)
    for _ in range(3):
        assert picture(function, args) == picture(integral, args)
    report = function.report()
    assert not report["fallback"], report
    assert not report["ops_effect"] and "complex.__abs__" in function.explain()
