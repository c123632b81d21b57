"""Reductions of columns: rows are joined to the results, several of them in a turn."""
import numpy as np
import pytest

import pyasc

FUNCTIONS = {
    "sum": lambda x, v: x.sum(axis=0),
    "max": lambda x, v: np.max(x, axis=0),
    "min": lambda x, v: (x * x).min(axis=0),
    "squares": lambda x, v: np.sum((x - v) * (x - v), axis=0),
    "outer": lambda x, v: x.reshape(1, *x.shape).sum(axis=1),
    "product": lambda x, v: (x + v).prod(axis=0),
    "mean": lambda x, v: x.mean(axis=0),
}


def check(plain, x, v):
    results = []
    for tier in (0, 1):
        jitted = pyasc.jit(plain, tier=tier, numerics="strict")
        with np.errstate(all="ignore"):
            expected = plain(x, v)
            for _ in range(2):
                result = jitted(x, v)
        assert expected.dtype == result.dtype and expected.tobytes() == result.tobytes(), tier
        results.append(result.tobytes())
    assert results[0] == results[1]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1"])
def test_any_number_of_rows(name, dtype):
    rng = np.random.default_rng(1)
    for rows in (2, 3, 4, 5, 7, 8, 9, 12, 50):
        for columns in (33, 64, 517, 1000, 1024, 2500):
            x = (rng.integers(0, 50, (rows, columns))).astype(dtype)
            check(FUNCTIONS[name], x, x[0])


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_signs_and_nans(dtype):
    rng = np.random.default_rng(2)
    for rows in (4, 6, 9, 100):
        x = rng.choice([0.0, -0.0, np.nan, 1.5, -np.inf], (rows, 700), p=[0.4, 0.4, 0.02, 0.1, 0.08]).astype(dtype)
        for name in ("sum", "max", "min"):
            check(FUNCTIONS[name], x, x[0])


def test_any_and_all():
    rng = np.random.default_rng(3)
    for rows in (3, 4, 11):
        x = rng.random((rows, 900)) < 0.7
        check(lambda x, v: x.any(axis=0), x, None)
        check(lambda x, v: np.all(x | v, axis=0), x, x[1])


def test_rows_of_a_larger_array():
    """Rows begin at places of their own, and there is something between them."""
    rng = np.random.default_rng(4)
    x = rng.random((50, 1213))
    for part in (x[:, 1:1001], x[::2, 3:], x[5:9], x[::-1, 2:900], x[1:]):
        for name in ("sum", "max", "squares"):
            check(FUNCTIONS[name], part, part[0])


def test_scalars_of_rows():
    """What is one element for a row is another in the next."""
    rng = np.random.default_rng(5)
    x, a = rng.random((30, 800)), rng.random((30, 1))
    check(lambda x, v: (x * v).sum(axis=0), x, a)
    check(lambda x, v: (x * v[3] + 2).sum(axis=0), x, a)


def test_far_rows():
    x = np.random.default_rng(6).random((1001, 4100)).astype("f4")
    check(FUNCTIONS["sum"], x, x[0])
    check(FUNCTIONS["squares"], x, x[0])
