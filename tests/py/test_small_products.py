"""Products of small matrices and vectors, and norms: NumPy's bits in any layout."""
import numpy as np
import pytest

import pyasc
from same import outcome

SHAPES = [((2, 2), (2, 2)), ((3,), (3,)), ((3,), (3, 4)), ((5, 3), (3,)), ((7, 9), (9, 4)), ((16, 16), (16, 16)),
          ((1, 1), (1, 1)), ((2, 3), (4, 5)), ((0, 3), (3, 2)), ((2, 3, 3), (3, 3)), ((20, 20), (20, 20)), ((1, 5), (5, 1)),
          ((40,), (40,)), ((4, 1), (1, 6)), ((3,), (4,)), ((), (3,))]


def products(x, y):
    return x @ y, np.matmul(x, y)


def turned(x, y):
    return np.matmul(x.T, y[::-1]), x @ x.T, x.T @ x


def dots(x, y):
    return np.dot(x, y), x.dot(y), np.dot(x, x.T), x.dot(x[::-1])


def chain(x, y):
    z = x @ y
    return (z @ y.T - x.max()) @ x, z


def spread(x):
    """The same elements, each second one of an array."""
    each = tuple(slice(None, None, 2) for _ in x.shape)
    wide = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
    wide[each] = x
    return wide[each]


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray, spread])
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "c8", "i8", "f2"])
@pytest.mark.parametrize("function", [products, turned, dots, chain])
def test_bits(function, dtype, layout):
    numbers = np.random.default_rng(1)
    for numerics in ("strict", "numpy"):
        for left, right in SHAPES:
            x = layout((numbers.normal(size=left) * 3).astype(dtype)) if left else numbers.normal()
            y = layout((numbers.normal(size=right) * 3).astype(dtype))
            jitted = pyasc.jit(function, numerics=numerics)
            for _ in range(3):
                assert outcome(jitted, x, y) == outcome(function, x, y), (left, right)


def test_mixed_operands():
    def f(x, y, z):
        return x @ y, y @ x, x @ z, np.dot(x[0], y[0]), x @ [1.0, 2.0], np.matmul(x, y, out=z.copy())

    x, y, z = np.ones((2, 2)), np.ones((2, 2), "f4"), np.arange(4.0).reshape(2, 2)
    jitted = pyasc.jit(f, numerics="strict")
    for _ in range(3):
        assert outcome(jitted, x, y, z) == outcome(f, x, y, z)


def norm(x):
    return np.linalg.norm(x)


def norms(x):
    return (np.linalg.norm(x[::2]), np.linalg.norm(x.T), np.linalg.norm(x - 1) < 1e-3, np.linalg.norm(x, keepdims=True),
            np.linalg.norm(x, None), np.linalg.norm(x * 2, 1 if x.ndim == 1 else "fro"), np.linalg.norm(x, 2))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "c16", "f2"])
@pytest.mark.parametrize("function", [norm, norms])
def test_norms(function, dtype):
    for numerics in ("strict", "numpy"):
        for shape in ((7,), (1000,), (3, 4), (0,), (2, 3, 4), ()):
            jitted = pyasc.jit(function, numerics=numerics)
            for seed in range(3):
                x = (np.random.default_rng(seed).normal(size=shape) * 3).astype(dtype)
                assert outcome(jitted, x) == outcome(function, x), shape
