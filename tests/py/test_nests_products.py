"""Products of matrices and vectors in loops compiled as a whole: NumPy's bits in every mode."""
import random

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, load, picture
from same import freeze

case, kept = cases()


def square(n=4, dtype="f8", seed=0, count=90):
    rng = np.random.default_rng(seed)
    made = rng.standard_normal((count, n, n)) * 3
    if np.dtype(dtype).kind == "c":
        made = made + 1j * made[::-1]
    return made.astype(dtype)


def sets(n=4, dtypes="dfDFil"):
    return [(square(n, d), square(n, d, 1), square(n, d, 2)) for d in dtypes]


@case(*sets(), *sets(17, "dD"))
def matrices(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] @ y[i]
        out[i] += y[i] @ x[i] @ y[i]


@case(*sets())
def transposed(x, y, out):
    for i in range(len(x)):
        out[i] = np.matmul(x[i].T, y[i]) - x[i] @ x[i].T


@case(*sets())
def vectors(x, y, out):
    for i in range(len(x)):
        out[i, 0] = x[i] @ y[i, 1]
        out[i, 1] = x[i, :, 2] @ y[i]
        out[i, 2] = x[i, ::-1] @ y[i, ::-1, 0]
        out[i, 3] = x[i, 0] @ y[i, :, 0] + x[i, 1].dot(y[i, 2])


@case(*sets())
def dots(x, y, out):
    for i in range(len(x)):
        out[i] = np.dot(x[i], y[i])
        out[i, 0] += np.dot(x[i], y[i, 0]) + x[i, 1].dot(y[i])


@case(*sets())
def stacks(x, y, out):
    for i in range(3, 80):
        out[:i] += x[:i] @ y[i]
        out[i:, 0] -= x[i:] @ y[i, 0]
        out[i - 3:i] = x[i - 3:i] @ y[i - 3:i]


@case(*sets())
def of_expressions(x, y, out):
    for i in range(len(x)):
        a = x[i] @ (y[i] * 2)
        b = (a - x[i]) @ y[i]
        out[i] = a + b


@case(*sets())
def changing_sizes(x, y, out):
    for i in range(len(x)):
        for n in range(4):
            out[i, :n, :n] = x[i, :n] @ y[i, :, :n]
            out[i, n, n:] -= x[i, n, :n] @ y[i, :n, n:]


@case((np.arange(90 * 6).reshape(90, 2, 3) % 7 - 3.0, np.arange(90 * 15).reshape(90, 3, 5) % 5 - 2.0, np.zeros((90, 2, 5))))
def oblong(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] @ y[i]
        out[i] += np.dot(x[i], y[i])


@case((square(2), square(3), square(2)))
def that_do_not_fit(x, y, out):
    for i in range(len(x)):
        out[i] = x[i] @ y[i]


@case(*sets(3, "dD"))
def an_array_that_is_added_to(x, y, out):
    for _ in range(60):
        out += x @ y
        if out[0, 0, 0] > 0:
            out -= y
    return out.sum()


@pytest.mark.parametrize("function, argsets, times", kept)
def test_products(function, argsets, times):
    compare(function, argsets, times)


def test_scattering():
    def scattering(neighbours, dh, g, d, sigma):
        for k in range(g.shape[0]):
            for e in range(g.shape[1]):
                for w in range(d.shape[0]):
                    for i in range(d.shape[-2]):
                        for j in range(d.shape[-1]):
                            for a in range(neighbours.shape[0]):
                                for b in range(neighbours.shape[1]):
                                    if e - w >= 0:
                                        left = g[k, e - w, neighbours[a, b]] @ dh[a, b, i]
                                        right = dh[a, b, j] * d[w, a, b, i, j]
                                        sigma[k, e, a] += left @ right

    rng = np.random.default_rng(0)

    def numbers(*shape):
        return rng.random(shape) + 1j * rng.random(shape)

    args = (rng.integers(0, 5, (5, 2)).astype("i4"), numbers(5, 2, 2, 3, 3), numbers(2, 3, 5, 3, 3),
            numbers(2, 5, 2, 2, 2), np.zeros((2, 3, 5, 3, 3), complex))
    for numerics in ("strict", "numpy"):
        function = pyasc.jit(scattering, numerics=numerics, tier=1)
        for _ in range(3):
            assert picture(function, args) == picture(scattering, args)
        report = function.report()
        assert not report["fallback"] and report["ops_compiled"] == 1, report


def test_large_products_are_calls():
    def f(x, y, out):
        for i in range(len(x)):
            out[i] = x[i] @ y[i]

    function = pyasc.jit(f, tier=1)
    x = square(80, count=12)
    for _ in range(2):
        assert picture(function, (x, x, x.copy())) == picture(f, (x, x, x.copy()))
    assert "<compiled" not in function.explain()


OPERANDS = ["x[i]", "y[i]", "x[i].T", "y[i, ::-1]", "x[i, 0]", "y[i, :, 1]", "(x[i] + y[i])", "(2 * y[i, 1])", "x[j, ::2]",
            "y[j, :, 1:]", "x[i, 1:, :3]", "x[:3]", "y[i, None]", "a", "b"]


FORMS = ["out[i] = {}", "out[i] += {}", "out[i, 1] = {}", "t = {}; out[i] -= t", "s = s + {}", "out[:3] -= {}",
         "out[j, 0, 1] += {}", "out[i, :, j] = {}"]


def statement(rng):
    """One that is right for arrays of matrices of four rows."""
    x, a = np.ones((9, 4, 4)), np.ones((4, 4))
    while True:
        first, second, third = (rng.choice(OPERANDS) for _ in range(3))
        product = rng.choice([f"{first} @ {second}", f"np.matmul({first}, {second})", f"np.dot({first}, {second})",
                              f"{first}.dot({second})", f"({first} @ {second}) @ {third}"])
        made = rng.choice(FORMS).format(product)
        values = {"x": x, "y": x, "out": x.copy(), "a": a, "b": a[0], "i": 5, "j": 1, "s": np.float64(1), "np": np}
        try:
            exec(made, values)
        except ValueError:
            continue
        if np.ndim(values["s"]) == 0:
            return made


def program(seed):
    rng = random.Random(seed)
    body = "\n            ".join(statement(rng) for _ in range(3))
    return f"""
import numpy as np
def f(x, y, out, a, b):
    s = x[0, 0, 0]
    for i in range(3, len(x)):
        for j in range(i % 3):
            {body}
    return s
"""


@pytest.mark.parametrize("seed", range(60))
def test_program(seed, tmp_path):
    source = program(seed)
    plain = load(source, tmp_path)
    dtype = "dDfFl"[seed % 5]
    x, y, out = square(4, dtype, seed, 40), square(4, dtype, seed + 1, 40), square(4, dtype, seed + 2, 40)
    if seed % 4 == 1:
        x, y = np.asfortranarray(x), np.ascontiguousarray(y[:, :, ::-1])[:, :, ::-1]
    args = (x, y, out, x[0].copy(), y[0, 0].copy())
    for numerics in ("strict", "numpy"):
        function = pyasc.jit(plain, numerics=numerics, tier=1)
        for _ in range(2):
            assert picture(function, args) == picture(plain, args), source


# np.dot copies what lies backwards, or is one element again and again; the operator does not.
LAYOUTS = [lambda x: x[::-1], lambda x: np.repeat(x, 2)[::-2], lambda x: np.tile(x[:, None], 3)[::-1, 1],
           lambda x: np.broadcast_to(x[:1], x.shape), lambda x: np.repeat(x, 2)[::2]]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("view", LAYOUTS)
def test_dot_of_what_lies_backwards(view, dtype):
    def dots(w, p):
        s = np.zeros(9, p.dtype)
        for i in range(len(s)):
            s[i] = np.dot(w, p) + p.dot(w[::-1]) - np.dot(w[i:], w[i:]) + w @ p + p @ w[::-1]
            p[i] += 0.3
        return s

    for seed in range(4):
        w, p = np.random.default_rng(seed).standard_normal((2, 20)).astype(dtype)
        jitted = pyasc.jit(dots, numerics="strict", tier=1)
        for _ in range(2):
            assert freeze(jitted(view(w), p.copy())) == freeze(dots(view(w), p.copy()))
        assert not jitted.report()["fallback"]
