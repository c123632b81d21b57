"""Operands and results at a step of their own, read and written as they lie: the values are those of copies."""
import numpy as np
import pytest

import pyasc

DTYPES = ["f8", "f4", "i8", "i4", "u4", "u8", "i2", "?", "c16"]


def made(dtype, shape, seed=0):
    x = np.random.default_rng(seed).standard_normal(shape) * 9
    if np.dtype(dtype).kind == "u":
        x = abs(x)
    return (x > 0) if dtype == "?" else x.astype(dtype)


def columns(x, k):
    return x[:, 3] * x[:, k] + x[:, 5]


def backwards(x, k):
    return x[::-1, 3] + x[:, k], x[:, ::-5] + x[:, ::-5]


def stored(x, k):
    x[:, k] = x[:, 3] + x[:, 1]
    x[::7, 2] += x[::7, k]
    x[:, 4] = x[:, 4] * x[:, 4]
    return x


def across(x, k):
    n = min(x.shape)
    return x[:n, :n].T + x[:n, :n], x[:, ::6].T * x[:1, ::6].T


def two_results(x, k):
    d, m = x[:, k] + x[:, 3], x[:, k] * x[:, 3]
    x[:, k], x[:, 3] = d, m
    return x


def mixed(x, k):
    y = x.astype("f4")
    out = np.zeros(x.shape, "f8")
    out[:, k] = y[:, 1] + x.real[:, 2]
    out[:, 3] = out[:, k] > y[:, 3]
    return out, y[:, k] > x.real[:, 1]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [columns, backwards, stored, across, two_results, mixed])
def test_values(function, dtype, tier):
    compiled = pyasc.jit(function, tier=tier, numerics="strict")
    for shape in ((1, 9), (7, 9), (33, 40), (70, 31), (300, 40), (1000, 7), (5, 700)):
        for k in (0, 2):
            x = made(dtype, shape)
            for y in (x, np.asfortranarray(x), np.repeat(x, 3, axis=1)[:, ::3]):
                a, b = y.copy("K"), y.copy("K")
                for _ in range(2):
                    got, expected = compiled(a, k), function(b, k)
                    assert a.tobytes() == b.tobytes()
                    for g, e in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, expected))):
                        assert g.tobytes() == e.tobytes() and g.dtype == e.dtype and g.strides == e.strides


def test_they_are_compiled():
    """Where kernels take any step, one operation on columns is one."""
    function = pyasc.jit(stored, tier=1)
    x = made("f8", (300, 40))
    for _ in range(3):
        function(x, 2)
    function.wait()
    reasons = function.report()["reasons"]
    assert not reasons or all("strided" in reason for reason in reasons)
