"""numerics="fast": products and sums rounded once, nothing else, and the same bits in both tiers."""

import fractions

import numpy as np
import pytest

import pyasc
from same import freeze


def forms(x, y, z):
    return x * y + z, z + x * y, x * y - z, z - x * y, x * y + y * z


def in_place(x, y, z):
    z = z + 0
    z += x * y
    z -= 2 * x
    return z


def product_used_again(x, y, z):
    p = x * y
    return p + z, p, p - z


def not_contracted(x, y, z):
    p = x * y
    s = p.sum()  # the product is computed here
    return p + z, s, (x + y) * z, x / y + z, x ** 2 + z


def polynomial(x, y, z):
    return ((0.5 * x + 0.25) * x - 0.125) * x + 1.5


FUNCTIONS = [forms, in_place, product_used_again, not_contracted, polynomial]


@pytest.mark.parametrize("dtype", ["f8", "f4"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_tiers_agree(function, dtype):
    rng = np.random.default_rng(0)
    for shape in ((1003,), (17, 33), (5, 1)):
        x, y, z = (rng.normal(size=shape).astype(dtype) for _ in range(3))
        got = []
        for tier in (0, 1):
            jitted = pyasc.jit(function, numerics="fast", tier=tier)
            for _ in range(3):
                got.append(freeze(jitted(x, y, z)))
            got.append(freeze(jitted(x[::-1].copy()[::-1], y, z)))
        assert all(g == got[0] for g in got)


def test_rounded_once():
    """On CPUs with fused multiply-add: the exact result of x * y + z, rounded."""
    jitted = pyasc.jit(lambda x, y, z: x * y + z, numerics="fast")
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 200))
    z = -x * y + z * 1e-16
    exact = [float(fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)) for a, b, c in zip(x, y, z)]
    got = jitted(x, y, z)
    assert (got == exact).all() or (got == x * y + z).all()
    if "multiply_add" in jitted.explain():
        assert (got == exact).all() and (got != x * y + z).any()


def test_specials():
    values = np.array([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, 1e100])
    x, y, z = (g.ravel() for g in np.meshgrid(values, values, values))
    for tier in (0, 1):
        got = pyasc.jit(forms, numerics="fast", tier=tier)(x, y, z)
        with np.errstate(all="ignore"):
            expected = forms(x, y, z)
        for g, e in zip(got, expected):
            np.testing.assert_array_equal(np.isnan(g), np.isnan(e))
            np.testing.assert_array_equal(np.isinf(g) & ~np.isnan(e), np.isinf(e))


@pytest.mark.parametrize("dtype", ["i8", "u1", "?", "f2", "F", "D"])
def test_other_dtypes_are_numpys(dtype):
    rng = np.random.default_rng(0)
    x, y, z = (rng.integers(0, 5, 50).astype(dtype) for _ in range(3))

    def f(x, y, z):
        return x * y + z

    jitted = pyasc.jit(f, numerics="fast")
    for _ in range(2):
        assert freeze(jitted(x, y, z)) == freeze(f(x, y, z))


def test_numpy_mode_is_not_contracted():
    rng = np.random.default_rng(1)
    x, y, z = rng.normal(size=(3, 2000))
    for tier in (0, 1):
        jitted = pyasc.jit(forms, tier=tier)
        for _ in range(2):
            assert freeze(jitted(x, y, z)) == freeze(forms(x, y, z))
