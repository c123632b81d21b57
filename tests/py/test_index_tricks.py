"""np.mgrid, np.ogrid, np.r_, np.c_, np.s_: objects that are indexed are calls of the plan."""
import numpy as np
import pytest

import pyasc
from nesting import cases, picture

case, CASES = cases()
X = np.arange(4.0)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times, tier):
    compiled = pyasc.jit(function, tier=tier)
    for args in argsets:
        for _ in range(times):
            assert picture(compiled, args) == picture(function, args)
    assert tier == 0 or not compiled.report()["fallback"], compiled.report()["reasons"]


@case((3, 2.5), (3, -1.0), (4, 2.5))
def grid(n, x):
    i, j = np.mgrid[0:n, 0:3]
    i[0, 0] = 7  # each call has its own
    return i * x + j


@case((X,), (X * 2,))
def open_grid(x):
    g = np.ogrid[0:1:5j, 0:2:3j]
    return g[0] + g[1] * x[1]


@case((X,), (X * 2,))
def rows_and_columns(x):
    return np.r_[x, 1.0, x * 2] * 2, np.c_[x, x + 1].sum()


@case((X,), (X * 2,))
def traced_bounds(x):
    return np.r_[x[0]:x[3]:4j], np.r_["-1", x, x]


@case((X,), (X * 2,))
def slices(x):
    return x[np.s_[1:3]], x[np.index_exp[1:, ]] * 2
