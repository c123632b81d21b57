"""Integers, booleans, complex numbers, and dtypes that meet."""

import numpy as np


def collatz_step(n):
    return np.where(n % 2 == 0, n // 2, 3 * n + 1)


def hash_bits(n):
    n = (n ^ (n >> 16)) * np.uint32(0x45D9F3B)
    n = (n ^ (n >> 16)) * np.uint32(0x45D9F3B)
    return n ^ (n >> 16)


def blend(a, b, alpha):
    return (a * (1.0 - alpha) + b * alpha).astype(np.uint8)


def mixed(x, i, y):
    return x * i + y * 0.5 - i


def mask(x, y):
    return (x > 0.2) & (x < 0.8) & ~(y > 0.5) | (x == y)


def complex_square(z, c):
    return z * z + c


def clipped(x):
    return np.clip(x, 0.1, 0.9) * 2.0


def cases():
    rng = np.random.default_rng(4)
    n = 100_000
    x, y = rng.random(n), rng.random(n)
    yield f"collatz_step int64 {n}", collatz_step, (rng.integers(1, 1000, n),)
    yield f"hash_bits uint32 {n}", hash_bits, (rng.integers(0, 2**32, n, dtype=np.uint32),)
    a, b = rng.integers(0, 256, (2, 256, 256, 3), dtype=np.uint8)
    yield "blend uint8 256x256x3", blend, (a, b, 0.25)
    yield f"float32, int32, float64 {n}", mixed, (
        x.astype("float32"), rng.integers(0, 9, n, dtype=np.int32), y)
    yield f"mask {n}", mask, (x, y)
    yield f"complex_square {n}", complex_square, (x + 1j * y, y - 1j * x)
    yield f"clipped {n}", clipped, (x,)
