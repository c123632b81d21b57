"""Division by one number, which kernels may do without a division: NumPy's bits."""

import numpy as np
import pytest

import pyasc

FINITE = np.finfo(np.float32)
EDGES = [0.0, 1.0, 3.0, 7.0, 1 / 3, FINITE.max, FINITE.tiny, FINITE.smallest_subnormal, np.inf, np.nan,
         2.0**-100, 2.0**-99, 2.0**100, 2.0**99, 2.0**24, 2.0**25, 2.0**-24, 2.0**-25, 16777215.0, 8388609.0]


def numbers(n):
    rng = np.random.default_rng(3)
    bits = rng.integers(0, 2**32, n, dtype=np.uint32).view(np.float32)
    usual = rng.normal(0, 1, n).astype(np.float32)
    x = np.where(rng.random(n) < 0.5, bits, usual)
    x[:2 * len(EDGES)] = EDGES + [-e for e in EDGES]
    return x


def same(a, b):
    np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
    np.testing.assert_array_equal(a[~np.isnan(a)].view(np.uint32), b[~np.isnan(b)].view(np.uint32))


@pytest.mark.parametrize("numerics", ["numpy", "strict"])
def test_by_a_row(numerics):
    @pyasc.jit(numerics=numerics, tier=1)
    def f(x, s):
        return x / s, (x + 1) / s

    x = numbers(64 * 100 + 7)
    x = np.lib.stride_tricks.sliding_window_view(x, 107)[::100].copy()
    s = np.concatenate([np.float32(EDGES + [-e for e in EDGES]), numbers(100)[60:]])[:len(x), None].copy()
    with np.errstate(all="ignore"):
        for _ in range(3):
            for got, expected in zip(f(x, s), (x / s, (x + 1) / s)):
                same(got, expected)


@pytest.mark.parametrize("s", EDGES + [-3.0, -0.0, 0.1, 1e-20, 1e20])
def test_by_a_number(s):
    @pyasc.jit(tier=1)
    def f(x, s):
        return x / s

    x, s = numbers(3001), np.float32(s)
    with np.errstate(all="ignore"):
        for _ in range(3):
            same(f(x, s), x / s)
