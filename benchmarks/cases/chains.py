"""Chains of 2, 10 and 30 elementwise operations, from 16 to a million elements."""

import numpy as np


def chain_2(x, y):
    return (x + y) * x


def chain_10(x, y):
    a = x * y + x
    b = a * a - y
    c = np.minimum(b, x) * y
    d = np.maximum(c, a) - b
    return np.abs(d) * x


def chain_30(x, y):
    for _ in range(3):
        a = x * y + x
        b = a * a - y
        c = np.minimum(b, x) * y
        d = np.maximum(c, a) - b
        x = np.abs(d) * y
    return x


def cases():
    rng = np.random.default_rng(1)
    for function in (chain_2, chain_10, chain_30):
        for dtype in ("float32", "float64"):
            for n in (16, 1_000, 100_000, 1_000_000):
                x, y = rng.random(n).astype(dtype), rng.random(n).astype(dtype)
                yield f"{function.__name__} {dtype} {n}", function, (x, y)
