"""NumPy's functions of samples, polynomials and masks, written with others for the tracer (python/pyasc/_written/)."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made

LAYOUTS = [name for name in layouts("f8") if name not in ("broadcast", "column")]


def kinds(x):
    return np.isposinf(x), np.isneginf(x), np.isreal(x), np.real_if_close(x)[0], np.isreal(x[0]), np.isneginf(x.T)


def polynomials(x):
    p = x[0]
    return (np.polyadd(p, p[:3]), np.polysub(p[:2], p), np.polyadd(p, p), np.polyder(p), np.polyder(p, 2), np.polyder(p, m=0),
            np.polyint(p), np.polyint(p, 2), np.polyint(p, k=3), np.polyint(p, k=2.5), np.polyder([3, 2, 1]))


def powers(x):
    return np.vander(x[0]), np.vander(x[0], 4, increasing=True), np.vander(x[:, 0], 1), np.vander(x[1], N=2), np.vander([1, 2, 3])


def differences(x):
    return (np.diff(x, prepend=0), np.diff(x, append=x[:, :1]), np.diff(x, axis=0, prepend=x[:1], append=1), np.diff(x[0], 2, prepend=0),
            np.diff(x, prepend=x), np.diff(x, n=2, axis=0), np.diff(x[0], append=x[1, 1]))


def running(x):
    return (np.cumulative_sum(x, axis=0), np.cumulative_sum(x, axis=-1, include_initial=True), np.cumulative_prod(x[0]),
            np.cumulative_prod(x[:3, :2], axis=1, include_initial=True))


def members(x):
    return (np.isin(x, x[0]), np.isin(x, x[:, :1], invert=True), np.isin(x[0], x * 2), ~np.isin(x, x[1]), np.isin(x[0], x[0, 0]))


def equivalent(x):
    return (np.array_equiv(x, x), np.array_equiv(x, x[0]), np.array_equiv(x[0] * 0, x[0, 0] * 0), np.array_equiv(x, x[:, :2]),
            np.array_equiv(x, x > 0))


def crossed(x):
    return np.linalg.cross(x[:, :3], x[:, -3:]), np.linalg.cross(x[:3], x[-3:], axis=0)


def between(x):
    return (np.linspace(x[0], x[-1], 5), np.linspace(x, 3, 4), np.linspace(0, x[0], 4, endpoint=False), np.linspace(x, x, 3, axis=1),
            np.linspace(x, x + 1, 3, axis=-1))


def repeated(x):
    return np.resize(x, (2, 9)), np.resize(x, 3), np.resize(x.T, (9, 7)), np.resize(x[0], (0, 2))


def widened(x):
    return (np.atleast_1d(x, x[0, 0]), np.atleast_2d(x[0], x, x[1]), np.atleast_3d(x[0], x, x[None], 3.0), np.atleast_2d(x[0], [1, 2]))


def masked(x):
    b = x > x[0, 0]
    return (np.mean(x, where=b), np.mean(x, axis=1, where=b), x.mean(0, keepdims=True, where=b), np.mean(x, axis=1, where=b[0]),
            np.std(x, where=b), x.var(axis=0, where=b, ddof=1), x.std(1, where=b[:, :1], keepdims=True), np.var(x, where=b, axis=(0, 1)),
            np.mean(x, where=[True, False] * 4))


FUNCTIONS = [kinds, polynomials, powers, differences, running, members, equivalent, crossed, between, repeated, widened, masked]
#: In `strict` NumPy adds by runs of a mask, and finds orders of its own for these.
NUMPYS = {masked}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_layouts(function, layout):
    with np.errstate(all="ignore"):
        check(function, (layouts("f8")[layout],), (layouts("f8")[layout] + 1,), compiled=layout == "C" and function not in NUMPYS)


@pytest.mark.parametrize("dtype", DTYPES + ["f2", "u8", "c8"])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_dtypes(function, dtype):
    with np.errstate(all="ignore"):
        check(function, (made(dtype, (6, 8)),), compiled=dtype in ("f8", "f4", "i8") and function not in NUMPYS)


def test_masked_sums_have_kernels():
    x = np.round(made("f8", (6, 8)))
    check(lambda x: (np.mean(x, where=x > 0), np.mean(x, axis=1, where=x > 1)), (x,), (x + 1,), numerics="numpy")


def test_special_values():
    x = np.array([[np.inf, -np.inf, np.nan, -0.0, 0.0, 1.0]] * 2)
    with np.errstate(all="ignore"):
        for function in (kinds, members, differences, running, equivalent, powers):
            check(function, (x,), (x.astype("f4"),), (x[:, ::-1],), compiled=False)
