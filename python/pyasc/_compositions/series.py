"""Functions of each element."""

import numpy as np


def fix(x, out=None):
    return np.trunc(np.asarray(x)) if out is None else NotImplemented


def angle(z, deg=False):
    z = np.asarray(z)
    a = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    return a * (180 / np.pi) if deg else a


def sinc(x):
    x = np.pi * np.asarray(x)
    if x.dtype.kind != "f" or x.dtype.char == "g":
        return NotImplemented
    y = np.where(x, x, np.finfo(x.dtype).eps)
    return np.sin(y) / y


def polyval(p, x):
    if isinstance(x, np.poly1d) or not isinstance(p, (list, tuple, np.ndarray)):
        return NotImplemented
    p, x = np.asarray(p), np.asarray(x)
    if p.ndim != 1 or len(p) > 64:
        return NotImplemented
    y = np.zeros_like(x)
    for i in range(len(p)):
        y = y * x + p[i]
    return y
