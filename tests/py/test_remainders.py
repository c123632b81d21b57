"""Remainders and floor division of floats: exact, so the same bits as NumPy's in every mode."""

import numpy as np
import pytest

import pyasc

FUNCTIONS = [lambda x, y: np.fmod(x, y), lambda x, y: x % y, lambda x, y: x // y, lambda x, y: np.divmod(x, y)[1]]


def operands(dtype, rng):
    """Pairs whose quotients are hard: huge, next to a whole number, of subnormal numbers."""
    n, info = 700, np.finfo(dtype)
    bits = f"u{info.dtype.itemsize}"
    normal = lambda: rng.normal(size=n).astype(dtype)
    yield tuple(rng.integers(0, 2 ** (8 * info.dtype.itemsize), n, dtype=bits).view(dtype) for _ in range(2))
    yield normal() * 10, normal()
    y = normal()
    whole = (y * rng.integers(-1000, 1000, n)).astype(dtype)
    yield whole, y
    yield np.nextafter(whole, np.array(np.inf, dtype)), y
    yield np.nextafter(whole, np.array(0, dtype)), y
    special = np.array([0.0, -0.0, 1, -1, 1.5, np.inf, -np.inf, np.nan, info.tiny, info.smallest_subnormal, info.max,
                        -info.max, 3, 7, 1e-3], dtype)
    yield tuple(a.ravel() for a in np.meshgrid(special, special))
    yield (normal() * info.tiny * 10).astype(dtype), (normal() * info.smallest_subnormal * 100).astype(dtype)
    x = (2.0 ** rng.integers(-14, 15, n) * (1 + rng.random(n))).astype(dtype)
    yield x, np.nextafter(x, np.array(np.inf, dtype))
    yield (y * 10 ** rng.uniform(0, 4 if dtype == "f2" else 20, n)).astype(dtype), y


@pytest.mark.parametrize("numerics", ["strict", "numpy"])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
@pytest.mark.parametrize("number", range(len(FUNCTIONS)))
def test_bits(number, dtype, numerics):
    function, bits = FUNCTIONS[number], f"u{np.dtype(dtype).itemsize}"
    jitted = pyasc.jit(function, tier=1, numerics=numerics)
    with np.errstate(all="ignore"):
        for seed in range(4):
            for x, y in operands(dtype, np.random.default_rng(seed)):
                expected = function(x, y)
                for _ in range(2):
                    got = jitted(x, y)
                    wrong = (got.view(bits) != expected.view(bits)) & ~(np.isnan(got) & np.isnan(expected))
                    assert not wrong.any(), (x[wrong][:3], y[wrong][:3], got[wrong][:3], expected[wrong][:3])
