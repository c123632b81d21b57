"""Functions of each element."""

import numpy as np

from . import as_array, instead_of


@instead_of(np.fix)
def fix(x, out=None):
    return np.trunc(as_array(x)) if out is None else NotImplemented


@instead_of(np.angle)
def angle(z, deg=False):
    z = as_array(z)
    a = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return a * (180 / np.pi) if deg else a


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
