"""Stores to where a mask is true, of few and of many elements."""

import numpy as np


def clamped(x, k):
    y = x * 2
    y[y > k] = k
    return y


def scaled(x, k):
    y = x * 2
    y[y > k] *= 0.5
    return y


def iterated(z, c, k):
    z = z + 0
    m = z < k
    z[m] = z[m] ** 2 + c[m]
    return z


def divided(x, y, k):
    out = np.zeros_like(x)
    m = y > k
    out[m] = x[m] / y[m]
    return out


def cases():
    rng = np.random.default_rng(0)
    for n in (100, 10_000, 1_000_000):
        x, y = rng.random(n), rng.random(n)
        for share in (0.01, 0.5, 0.99):
            yield f"y[y > k] = k, {share} of {n}", clamped, (x, 2 - 2 * share)
            yield f"y[y > k] *= 0.5, {share} of {n}", scaled, (x, 2 - 2 * share)
            yield f"z[m] = z[m]**2 + c[m], {share} of {n}", iterated, (x, y, share)
            yield f"out[m] = x[m] / y[m], {share} of {n}", divided, (x, y, 1 - share)
    z = rng.random(10_000) + 1j * rng.random(10_000)
    yield "z[m] = z[m]**2 + c[m], complex, 0.5 of 10000", lambda z, c: iterated_complex(z, c), (z, z * 0.5)


def iterated_complex(z, c):
    z = z + 0
    m = abs(z) < 0.8
    z[m] = z[m] ** 2 + c[m]
    return z
