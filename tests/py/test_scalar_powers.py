"""Powers of NumPy's scalars: compiled where elementary functions are recipes, the same in both tiers."""
import numpy as np
import pytest

import pyasc


def powers(x, k):
    s, m = x.sum(), x[0]
    return (s**2, s**3, 2.0 ** (-m), (m + 1) ** (-m), m**0.5, m**m, s**-1.0, np.power(s, 1.5), 2**m, m**k, (m * 0) ** 0,
            s**2.0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@pytest.mark.parametrize("numerics", ["numpy", "strict"])
def test_powers(dtype, numerics):
    x = np.array([2.25, 3.5, 1.125]).astype(dtype)
    compiled = [pyasc.jit(powers, tier=tier, numerics=numerics) for tier in (0, 1)]
    for k in (2, 2.5, np.float32(1.5)):
        expected = powers(x, k)
        for _ in range(3):
            results = [function(x, k) for function in compiled]
            assert repr(results[0]) == repr(results[1])
            for got, right in zip(results[0], expected):
                assert type(got) is type(right)
                if numerics == "strict" or dtype not in ("f8", "f4"):
                    assert got == right
                else:
                    assert abs(got - right) <= 2 * np.spacing(right)
    if numerics == "numpy" and dtype in ("f8", "f4"):
        assert not compiled[1].report()["fallback"]


@pytest.mark.parametrize("numerics", ["numpy", "strict"])
def test_fractions_of_negative_floats_in_loops(numerics):
    """Python's float to a fraction is complex where it is negative: in loops whose first turns were not, too."""
    def roots(x, out):
        s = 0.0
        for i in range(len(x)):
            root = float(x[i]) ** .5
            out[i] = abs(root)
            s = s + root
        return s, type(root)

    def by_variable(x, out):
        s = 0.0
        for i in range(len(x)):
            s = s + abs(pow(x[i].item(), out[i].item()))
        return s
    rng = np.random.default_rng(5)
    for function in (roots, by_variable):
        jitted = pyasc.jit(function, numerics=numerics)
        for n in (5, 60, 300):
            for x in (np.abs(rng.normal(size=n)), rng.normal(size=n), np.abs(rng.normal(size=n)), rng.normal(size=n)):
                for _ in range(2):
                    outs = [np.full(n, 1.5), np.full(n, 1.5)]
                    expected, got = function(x, outs[0]), jitted(x, outs[1])
                    assert np.allclose(got[0], expected[0], rtol=1e-15 * n) if isinstance(expected, tuple) else np.isclose(got, expected)
                    assert type(got) is type(expected) and np.array_equal(outs[0], outs[1])
                    assert not isinstance(expected, tuple) or got[1] is expected[1]
                    jitted.wait()
