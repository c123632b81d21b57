"""Products and norms of vectors."""

import numpy as np

from . import as_array, call, dense, instead_of


@instead_of(np.cross)
def cross(a, b, axisa=-1, axisb=-1, axisc=-1, axis=None):
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_array(a), as_array(b)
    if a.ndim < 1 or b.ndim < 1:
        return NotImplemented
    a, b = np.moveaxis(a, axisa, -1), np.moveaxis(b, axisb, -1)
    if a.shape[-1] != 3 or b.shape[-1] != 3:
        return NotImplemented  # two components are deprecated: NumPy warns
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    b0, b1, b2 = b[..., 0], b[..., 1], b[..., 2]
    first = a1 * b2 - a2 * b1
    c = call(np.empty, (*first.shape, 3), first.dtype)
    c[..., 0] = first
    c[..., 1] = a2 * b0 - a0 * b2
    c[..., 2] = a0 * b1 - a1 * b0
    return np.moveaxis(c, -1, axisc)


@instead_of(np.outer)
def outer(a, b, out=None):
    if out is not None:
        return NotImplemented
    a, b = as_array(a), as_array(b)
    return a.ravel()[:, np.newaxis] * b.ravel()[np.newaxis, :]


@instead_of(np.linalg.norm)
def norm(x, ord=None, axis=None, keepdims=False):
    x = as_array(x)
    if x.dtype.char not in "fd":
        return NotImplemented
    if axis is None and not keepdims and x.ndim == 1 and (ord is None or type(ord) is int and ord == 2) and dense(x):
        return np.sqrt(x.dot(x))
    if ord is not None and ord != 2 or type(axis) is not int:
        return NotImplemented
    return np.sqrt(np.add.reduce(x * x, axis=axis, keepdims=keepdims))


@instead_of(np.linalg.cross)
def linalg_cross(x1, x2, /, *, axis=-1):
    x1, x2 = as_array(x1), as_array(x2)
    if type(axis) is not int or x1.shape[axis] != 3 or x2.shape[axis] != 3:
        return NotImplemented
    return call(np.cross, x1, x2, axis=axis)
