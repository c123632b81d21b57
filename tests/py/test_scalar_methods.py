"""round and astype of NumPy's scalars."""
import numpy as np
import pytest

from moves import check


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_round(dtype):
    def rounded(x):
        return (np.round(x[0]), np.round(x[1], 2), x[2].round(3), round(x[3], 1), round(x[4], -1), np.around(x.mean(), 4),
                x.max().round(decimals=1))

    rng = np.random.default_rng(0)
    for scale in (1e-3, 1.0, 1e6):
        check(rounded, ((rng.standard_normal(5) * scale).astype(dtype),), (np.array([0.5, 1.5, 2.675, -0.05, 25.0], dtype),))
    check(rounded, (np.array([np.nan, np.inf, -np.inf, -0.0, 1e300 if dtype == "f8" else 1e30], dtype),))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i2", "u1", "?"])
def test_astype(dtype):
    def cast(x):
        return x[0].astype("f8"), x[1].astype(x.dtype), x[0].astype(np.float32) * 2, x.max().astype("c16")

    def narrower(x):
        return x[0].astype("i1"), x[1].astype(bool)

    x = np.array([3, 1, 0], dtype)
    check(cast, (x,))
    check(narrower, (x,), compiled=False)


def test_whole_numbers():
    def f(x):
        return round(x[0]), [round(float(v)) for v in x], round(x.sum(), None)

    check(f, (np.array([2.5, 3.5, -1.2]),), (np.array([0.5, 1e15, 7.0]),), compiled=False)
