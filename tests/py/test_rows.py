"""Every elementwise row of ir/ops.def on special values, in both tiers, against NumPy."""
import warnings

import numpy as np
import pytest
from same import freeze

import pyasc

DTYPES = "?bhilBHILefdFD"
#: Rows whose ufunc NumPy spells otherwise, or does not have.
UFUNCS = {numpy: getattr(np, numpy or "", None) for _, numpy, _ in pyasc.ops()}
ROWS = sorted(name for name, ufunc in UFUNCS.items() if isinstance(ufunc, np.ufunc) and ufunc.nout == 1)


def special(dtype):
    """Values at which an operation may go wrong, of one dtype."""
    with np.errstate(all="ignore"):
        return _special(np.dtype(dtype))


def _special(d):
    if d.kind == "b":
        return np.array([False, True, True, False] * 16)
    if d.kind in "iu":
        info = np.iinfo(d)
        picked = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2, 64, 100]
        if d.kind == "i":
            picked += [-1, -2, -3, -7, -64]
        return np.array(picked * 4).astype(d)
    f = np.finfo(d)
    picked = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, 3.0, -3.0, np.inf, -np.inf, np.nan, f.tiny,
              -f.tiny, f.smallest_subnormal, f.max, f.min, f.eps, 1 + f.eps, 1e-3, 100.0, -0.75, 12.25]
    real = np.array(picked * 2, dtype=np.longdouble)
    if d.kind == "c":
        part = np.float32 if d.itemsize == 8 else np.float64
        parts = real.astype(part)
        return (parts + 1j * np.roll(parts, 7)).astype(d)
    return real.astype(d)


def operands(count, dtypes):
    """Operands that meet in many pairs of values."""
    made = []
    for k in range(count):
        values = special(dtypes[k])
        made.append(np.resize(np.roll(values, 5 * k), 331))
    return made


def combinations(ufunc):
    if ufunc.nin == 1:
        return [(d,) for d in DTYPES]
    same = [(d, d) for d in DTYPES]
    mixed = [("b", "d"), ("i", "f"), ("L", "l"), ("h", "H"), ("e", "f"), ("?", "i"), ("F", "d"), ("l", "?"),
             ("d", "l"), ("B", "b")]
    return same + mixed


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ROWS)
def test_values(name, tier):
    ufunc = getattr(np, name)
    unary = pyasc.jit(lambda x: ufunc(x), tier=tier, numerics="strict")
    binary = pyasc.jit(lambda x, y: ufunc(x, y), tier=tier, numerics="strict")
    jitted = unary if ufunc.nin == 1 else binary
    ran = 0
    for dtypes in combinations(ufunc):
        arrays = operands(ufunc.nin, dtypes)
        with np.errstate(all="ignore"):
            try:
                expected = ufunc(*arrays)
            except (TypeError, ValueError) as error:
                for _ in range(2):
                    with pytest.raises(type(error)):
                        jitted(*arrays)
                continue
            for call in range(3):
                got = jitted(*arrays)
                assert got.dtype == expected.dtype, dtypes
                if name in ("maximum", "minimum", "fmax", "fmin"):  # which zero comes of a tie is open
                    got, wanted = got + got.dtype.type(0), expected + expected.dtype.type(0)
                else:
                    wanted = expected
                assert freeze(got) == freeze(wanted), (dtypes, call)
        ran += 1
    assert ran and jitted._facts()["entries"] and not jitted._facts()["plain"]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("to", DTYPES)
def test_casts(to, tier):
    cast = pyasc.jit(lambda x: x.astype(to), tier=tier)
    for start in DTYPES:
        x = np.resize(special(start), 331)
        if np.dtype(start).kind in "fc" and np.dtype(to).kind in "iu":
            x = x[np.isfinite(x) & (np.abs(x) < 100)]  # NumPy's result beyond depends on the place
            if np.dtype(to).kind == "u":
                x = x[x.real >= 0]
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
            for _ in range(3):
                assert freeze(cast(x)) == freeze(x.astype(to)), start


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", DTYPES)
def test_select(dtype, tier):
    pick = pyasc.jit(lambda c, x, y: np.where(c, x, y), tier=tier)
    x, y = operands(2, (dtype, dtype))
    condition = np.resize([True, False, False], x.shape)
    for _ in range(3):
        assert freeze(pick(condition, x, y)) == freeze(np.where(condition, x, y))
