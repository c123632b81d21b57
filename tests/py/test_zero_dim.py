"""Arrays without axes, and scalars, as operands and results."""
import numpy as np
import pytest

from moves import check

DTYPES = ["f8", "f4", "f2", "i8", "i2", "u1", "?", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_operators(dtype):
    def f(a, n):
        return a * n, a + n, np.negative(a) if a.dtype != bool else a, a == n, np.square(a), a[...], a[()] + n, a[None] + n

    def choices(a, s, x):
        return np.where(a > 1, x, 0), np.where(a > 1, a, s), np.asarray(a) * 1, np.where(x > 0, a, x), x * a[()]

    for value in (0, 1, 3):
        check(f, (np.array(value, dtype), 2), compiled=dtype not in ("c16", "f2"))
        if dtype != "c16":
            check(choices, (np.array(value, dtype), np.float32(2), np.arange(4, dtype="f8")), compiled=dtype != "f2")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("value", [0, -0.0, 1, -3, 2.5, np.nan, np.inf])
def test_reductions(dtype, value):
    if np.dtype(dtype).kind in "iu?" and not float(value).is_integer() or np.dtype(dtype).kind in "u?" and value < 0:
        pytest.skip("no value of this dtype")

    def of_arrays(a):
        return a.sum(), a.prod(), a.max(), a.min(), a.any(), a.all(), np.sum(a), np.max(a), np.any(a)

    def of_scalars(x):
        s = x[0]
        return s.sum(), s.prod(), s.max(), s.min(), s.any(), s.all(), np.sum(s), np.amin(s), np.all(s)

    check(of_arrays, (np.array(value, dtype),), compiled=dtype != "c16")
    check(of_scalars, (np.array([value], dtype),), compiled=dtype != "c16")


def test_stores():
    def f(z, one):
        for _ in range(3):
            z[z > 0] = -0.0
        z[...] = z + 1
        return z.sum() / one, z.prod(), z

    for dtype in ("f8", "f4", "f2"):
        check(f, *[(np.array(v, dtype), np.ones(3)) for v in (2.0, -0.0, 0.0, -1.0)], compiled=False)


def test_python_floats():
    def f(a, b, x):
        return a + b, a * b - 2, -a, abs(a), x * (a + b), np.sqrt(a) + np.exp(-b), np.sqrt(2 * np.pi) * x, np.add(5, a), 5 + a

    def quotient(a, b):
        return a / b, 1 / b

    check(f, (3.5, 1.25, np.arange(3.0)), (2.0, -0.0, np.arange(3.0)), (np.inf, 1.0, np.arange(3.0)))
    check(quotient, (3.5, 1.25), (1.0, 0.0), (0.0, -2.0), (1.0, 0.0), compiled=False)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "i1"])
def test_quotients_of_scalars(dtype):
    def f(v, w):
        return v[0] // w[0], v[0] % w[0], v[0] // 3, v[0] % 3, 7 // w[0], 7 % w[0]

    values = [0, 1, 2, 3, 7, 100] + ([255] if dtype == "u1" else [-7, -3, -1])
    values += [np.nan, np.inf, -np.inf, -0.0, 0.5, -2.5, 1e30] if dtype[0] == "f" else [np.iinfo(dtype).min]
    with np.errstate(all="ignore"):
        check(f, *[(np.array([a], dtype), np.array([b], dtype)) for a in values for b in values], tiers=(1,))


def test_an_empty_argument_is_returned_as_itself():
    import pyasc

    def f(y):
        return np.atleast_2d(y), np.squeeze(y), y[:0], y.T

    for y in (np.zeros((0, 4), "f4"), np.zeros((2, 0))[:, ::2], np.zeros((8, 4))[:0].T, np.asfortranarray(np.zeros((3, 0))[:, ::-1])):
        expected = [part is y for part in f(y)]
        for tier in (0, 1):
            jitted = pyasc.jit(f, tier=tier)
            for _ in range(3):
                assert [part is y for part in jitted(y)] == expected
