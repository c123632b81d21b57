"""Operands that do not lie in memory one element behind the other."""

import numpy as np


def chain(x, y):
    return (x + y) * 2 - x * y


def vectors_of_three(p, q):
    return (p - q) * 0.5 + q


def of_columns(m, out):
    out[:, 2] = m[:, 3] * 2.0


def of_two_columns(m, out):
    out[:, 2] = m[:, 3] * 2.0 + m[:, 5]


def and_across(m, out):
    return m.T + m


def pairwise_differences(p):
    return p[:, None] - p[None, :]


def cases():
    rng = np.random.default_rng(4)
    for n in (1_000, 100_000, 1_000_000):
        x, y = rng.random(2 * n), rng.random(n)
        yield f"x[::2], y {n}", chain, (x[::2], y)
        yield f"x[::-1], y {n}", chain, (x[:n][::-1], y)
    x = rng.random(300_000).astype("f4")
    yield "x[::3] float32 100000", chain, (x[::3], x[:100_000])
    b = rng.integers(0, 100, 200_000).astype("i1")
    yield "x[::2] int8 100000", chain, (b[::2], b[:100_000])
    z = rng.random(100_000) + 1j * rng.random(100_000)
    yield "z.real, z.imag 100000", chain, (z.real, z.imag)
    m, v = rng.random((1000, 1000)), rng.random((1000, 1))
    yield "m.T, m 1000x1000", chain, (m.T, m)
    yield "m, column 1000x1000", chain, (m, v)
    yield "m[:, ::2] 1000x500", chain, (m[:, ::2], m[:, 1::2])
    for n, k in ((100, 40), (1000, 40), (20_000, 40), (2000, 2000)):
        c = rng.random((n, k))
        yield f"one column of {n}x{k}", of_columns, (c, np.zeros_like(c))
        yield f"two columns of {n}x{k}", of_two_columns, (c, np.zeros_like(c))
    for n in (300, 1000, 2000, 2048, 3000):
        yield f"m.T + m {n}x{n}", and_across, (rng.random((n, n)), None)
    for width in (3, 4, 10):
        p = rng.random((100_000, width))
        yield f"rows of {width} and a vector", vectors_of_three, (p, p[0])
        yield f"rows of {width} of {width + 1}", vectors_of_three, (rng.random((100_000, width + 1))[:, :width], p)
    yield "pairwise differences (300, 300, 3)", pairwise_differences, (rng.random((300, 3)),)
