"""Arrays put together of parts of others."""

import numpy as np


def dstack(tup):
    return np.concatenate([np.atleast_3d(np.asarray(part)) for part in tup], axis=2)


def _axis_of(arr, axis):
    """The array and the axis meant, which counts from the front; None: not an axis."""
    if axis is None:
        return arr.ravel(), 0
    if type(axis) is not int or not -arr.ndim <= axis < arr.ndim:
        return arr, None
    return arr, axis % arr.ndim


def _joined(parts, axis, like):
    """The parts one behind the other, in the memory order that NumPy gives what is made of `like`."""
    extents = [part.shape[axis] for part in parts]
    shape = list(like.shape)
    shape[axis] = sum(extents)
    result = np.empty(shape, like.dtype, "F" if like.flags.fnc else "C")
    at, before = 0, (slice(None),) * axis
    for part, extent in zip(parts, extents):
        result[(*before, slice(at, at + extent))] = part
        at += extent
    return result


def delete(arr, obj, axis=None):
    arr, axis = _axis_of(np.asarray(arr), axis)
    if axis is None or type(obj) not in (int, slice, list, tuple):
        return NotImplemented
    n = arr.shape[axis]
    if type(obj) is int:
        obj = [obj]
    elif type(obj) is slice:
        obj = list(range(n)[obj])
    if not all([type(i) is int and -n <= i < n for i in obj]):
        return NotImplemented
    gone = sorted({i % n for i in obj})
    ends = [-1, *gone, n]
    before = (slice(None),) * axis
    kept = [arr[(*before, slice(i + 1, j))] for i, j in zip(ends, ends[1:]) if i + 1 < j]
    return _joined(kept, axis, arr) if len(kept) <= 16 else NotImplemented


def insert(arr, obj, values, axis=None):
    arr, axis = _axis_of(np.asarray(arr), axis)
    if axis is None or type(obj) is not int:
        return NotImplemented
    n = arr.shape[axis]
    if not -n <= obj <= n:
        return NotImplemented
    values = np.asarray(values).astype(arr.dtype)
    if values.ndim > arr.ndim:
        return NotImplemented
    values = values.reshape((1,) * (arr.ndim - values.ndim) + values.shape)
    values = np.moveaxis(values, 0, axis)  # a number is one place: what was first is where it goes
    at = obj + n if obj < 0 else obj
    shape = list(arr.shape)
    shape[axis] = values.shape[axis]
    before = (slice(None),) * axis
    parts = [arr[(*before, slice(None, at))], np.broadcast_to(values, shape), arr[(*before, slice(at, None))]]
    return _joined(parts, axis, arr)


def block(arrays):
    if not isinstance(arrays, list) or not arrays:
        return NotImplemented
    rows = [row if isinstance(row, list) else [row] for row in arrays]
    parts = [[np.asarray(part) for part in row] for row in rows]
    flat = [part for row in parts for part in row]
    nested = [isinstance(row, list) for row in arrays]
    depth = 2 if all(nested) else 1
    if any(nested) != all(nested) or not all([part.ndim in (1, 2) for part in flat]) or not all(parts):
        return NotImplemented
    if any([isinstance(part, (list, tuple)) for row in rows for part in row]):
        return NotImplemented
    ndim = max(depth, *[part.ndim for part in flat])
    wide = [[part.reshape((1,) * (ndim - part.ndim) + part.shape) for part in row] for row in parts]
    if depth == 1:
        return np.concatenate([part for row in wide for part in row], axis=-1)
    return np.concatenate([np.concatenate(row, axis=-1) for row in wide], axis=-2)
