"""np.linspace between traced numbers, np.tril and np.triu: compiled, to the bit."""
import numpy as np
import pytest

import pyasc
from nesting import picture


def spaced(x, y, n):
    return np.linspace(x, y, n)


def of_elements(x):
    return np.linspace(x[0], x[1], 7), np.linspace(0, x[1], 5, dtype=np.float64) * 2, np.linspace(x[0], 1)


def written(x, y):
    z = np.linspace(x, y, 200)
    z[0] = 5
    return z[:, None] * 1j + z, z


def others(x, y):
    return (np.linspace(x, y, 1), np.linspace(x, y, 0), np.linspace(x, y, 4, False), np.linspace(x, y, 4, retstep=True),
            np.linspace(x, y, 4, dtype=int), np.linspace(x, y, 4, dtype="f4"))


def triangles(m):
    return np.triu(m), np.tril(m, 1), np.triu(m, -2) * 2, np.tril(m, -1) + m, np.triu(m, k=40)


PAIRS = [(0.5, 2.25), (1, 3), (2.0, 2.0), (0.1, 0.7), (float("nan"), 1.0), (-1e308, 1e308), (3.0, -4.5)]
MATRICES = [np.arange(12.0).reshape(3, 4), np.arange(12).reshape(4, 3).T, np.ones((30, 30), bool),
            np.random.default_rng(0).random((40, 41)).astype("f4"), np.ones((300, 300))]
CASES = [(spaced, [(*p, n) for n in (5, 2, 200) for p in PAIRS]), (of_elements, [(np.array(p, "f8"),) for p in PAIRS]),
         (written, PAIRS), (others, PAIRS[:2]), (triangles, [(m,) for m in MATRICES])]


@pytest.mark.parametrize("numerics", ["numpy", "strict"])
@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function, argsets", CASES)
def test_case(function, argsets, tier, numerics):
    compiled = pyasc.jit(function, tier=tier, numerics=numerics)
    with np.errstate(all="ignore"):
        for args in argsets:
            for _ in range(2):
                assert picture(compiled, args) == picture(function, args)
    if tier and function is triangles:
        assert not compiled.report()["fallback"], compiled.report()["reasons"]


def test_it_is_compiled():
    compiled = pyasc.jit(written, tier=1)
    for args in ((0.5, 1.0), (0.5, 2.0), (0.25, 1.0)):
        assert picture(compiled, args) == picture(written, args)
    assert not compiled.report()["fallback"], compiled.report()["reasons"]
