"""Functions of each element."""

import numpy as np

from . import as_array, call, instead_of, is_scalar, layout, refuse


@instead_of(np.fix)
def fix(x, out=None):
    return np.trunc(as_array(x)) if out is None else NotImplemented


@instead_of(np.angle)
def angle(z, deg=False):
    z = as_array(z)
    a = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return a * (180 / np.pi) if deg else a


@instead_of(np.real)
def real(val):
    return val.real if is_scalar(val) else NotImplemented


@instead_of(np.imag)
def imag(val):
    refuse(not is_scalar(val))
    real = isinstance(val, np.generic) and val.dtype.kind != "c"
    return call(val.dtype.type, 0) if real else val.imag


@instead_of(np.sinc)
def sinc(x):
    x = np.pi * as_array(x)
    if x.dtype.kind != "f" or x.dtype.char == "g":
        return NotImplemented
    y = np.where(x, x, float(np.finfo(x.dtype).eps))
    return np.sin(y) / y


@instead_of(np.polyval)
def polyval(p, x):
    if isinstance(x, np.poly1d) or not isinstance(p, (list, tuple, np.ndarray)):
        return NotImplemented
    p, x = as_array(p), as_array(x)
    if p.ndim != 1 or len(p) > 64:
        return NotImplemented
    y = np.zeros_like(x)
    for i in range(len(p)):
        y = y * x + p[i]
    return y


def _infinite(x, out, below):
    x = as_array(x)
    refuse(out is not None or x.ndim == 0 or x.dtype.kind not in "biuf")
    return np.isinf(x) & (np.signbit(x) if below else ~np.signbit(x))


@instead_of(np.isposinf)
def isposinf(x, out=None):
    return _infinite(x, out, False)


@instead_of(np.isneginf)
def isneginf(x, out=None):
    return _infinite(x, out, True)


@instead_of(np.isreal)
def isreal(x):
    refuse(not isinstance(x, np.ndarray) or x.ndim == 0 or x.dtype.kind not in "biufc")
    if x.dtype.kind == "c":
        return x.imag == 0
    c, fortran, _ = layout(x)
    return call(np.ones, x.shape, bool, "F" if fortran and not c else "C")


@instead_of(np.real_if_close)
def real_if_close(a, tol=100):
    refuse(not isinstance(a, np.ndarray) or a.dtype.kind not in "biuf")
    return a


# -- Polynomials -------------------------------------------------------------------------------


def _coefficients(p):
    refuse(isinstance(p, np.poly1d) or is_scalar(p))
    p = as_array(p)
    refuse(p.ndim != 1 or p.dtype.kind not in "biufc")
    return p


def _of_one_length(a, b):
    a, b = _coefficients(a), _coefficients(b)
    short = a if len(a) < len(b) else b
    zeros = call(np.zeros, abs(len(a) - len(b)), short.dtype)
    if len(a) < len(b):
        a = np.concatenate((zeros, a))
    elif len(b) < len(a):
        b = np.concatenate((zeros, b))
    return a, b


@instead_of(np.polyadd)
def polyadd(a1, a2):
    return np.add(*_of_one_length(a1, a2))


@instead_of(np.polysub)
def polysub(a1, a2):
    return np.subtract(*_of_one_length(a1, a2))


@instead_of(np.polyder)
def polyder(p, m=1):
    p = _coefficients(p)
    refuse(type(m) is not int or m < 0)
    for _ in range(m):
        refuse(len(p) == 0)
        p = p[:-1] * call(np.arange, len(p) - 1, 0, -1)
    return p


@instead_of(np.polyint)
def polyint(p, m=1, k=None):
    p = _coefficients(p)
    refuse(type(m) is not int or m < 1 or not (k is None or (m == 1 and type(k) in (int, float))))
    for _ in range(m):
        p = np.concatenate((p / call(np.arange, len(p), 0, -1), call(np.array, [0.0 if k is None else k])))
    return p


@instead_of(np.vander)
def vander(x, N=None, increasing=False):
    x = _coefficients(x)
    n = len(x) if N is None else N
    refuse(type(n) is not int or not 1 <= n <= 64 or x.dtype.kind == "c" or type(increasing) is not bool)
    dtype = np.promote_types(x.dtype, int)
    result = call(np.empty, (len(x), n), dtype)
    powers = result if increasing else result[:, ::-1]
    powers[:, 0] = 1
    x = power = x if x.dtype == dtype else x.astype(dtype)
    for k in range(1, n):
        powers[:, k] = power
        power = power * x if k < n - 1 else None
    return result
