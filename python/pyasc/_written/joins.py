"""Arrays put together, edited, and grids: see __init__.py."""

import math

import numpy as np

from . import (
    along, as_array, axis_of, blank, call, fits, flat, instead_of, is_number, is_scalar, layout, real, refuse,
)


RUNS_MAX = 16    # slices that are stored one by one
LIST_MAX = 4096  # places that a plan keeps


def joined(arrays, axis, dtype, casting, out):
    """Parts along an axis, stored into an array of a dtype, or into `out`."""
    arrays = [as_array(x) for x in arrays]
    first = arrays[0]
    axis = axis_of(axis, first.ndim)
    shape = list(first.shape)
    shape[axis] = sum(x.shape[axis] for x in arrays)
    refuse(any(x.ndim != first.ndim or x.shape[:axis] + x.shape[axis + 1:] != first.shape[:axis] + first.shape[axis + 1:]
               for x in arrays))
    if out is None:
        to = blank(first, shape, dtype) if math.prod(shape) else call(np.empty, shape, dtype)
    else:
        to = out
        refuse(dtype is not None or not isinstance(out, np.ndarray) or out.shape != tuple(shape))
        refuse(any(np.shares_memory(real(out), real(x)) for x in arrays))
    refuse(any(not np.can_cast(x.dtype, to.dtype, casting) for x in arrays))
    refuse(out is None and any(not layout(x)[0] for x in arrays))
    at = 0
    for x in arrays:
        if x.shape[axis]:
            to[along(first.ndim, axis, slice(at, at + x.shape[axis]))] = x
        at += x.shape[axis]
    return to


@instead_of(np.concatenate)
def concatenate(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    refuse(not isinstance(arrays, (list, tuple)) or len(arrays) == 0)
    if axis is None and dtype is None and out is None:  # numbers count for little then
        refuse(all(is_scalar(x) for x in arrays))
        dtype = np.result_type(*[x if is_number(x) else x.dtype for x in arrays if not isinstance(x, (list, tuple))])
        refuse(any(isinstance(x, (list, tuple)) for x in arrays))
        return joined([flat(call(np.array, [x], dtype) if is_scalar(x) else x) for x in arrays], 0, dtype, casting, None)
    parts = [as_array(x) for x in arrays]
    if axis is None:
        parts, axis = [flat(x) for x in parts], 0
    if dtype is None and out is None:
        dtype = np.result_type(*[x.dtype for x in parts])
    return joined(parts, axis, dtype, casting, out)


def at_least(x, ndim):
    """x with axes put in as atleast_1d, atleast_2d and atleast_3d do."""
    x = call(np.array, [x]) if is_scalar(x) else as_array(x)
    x = x.reshape(1) if x.ndim == 0 else x
    if ndim > 1 and x.ndim == 1:
        x = x[None]
    return x[..., None] if ndim == 3 and x.ndim == 2 else x


@instead_of(np.hstack)
def hstack(tup, *, dtype=None, casting="same_kind"):
    parts = [at_least(x, 1) for x in tup]
    return call(np.concatenate, parts, int(parts[0].ndim > 1), dtype=dtype, casting=casting)


@instead_of(np.vstack)
def vstack(tup, *, dtype=None, casting="same_kind"):
    return call(np.concatenate, [at_least(x, 2) for x in tup], 0, dtype=dtype, casting=casting)


@instead_of(np.dstack)
def dstack(tup):
    return call(np.concatenate, [at_least(x, 3) for x in tup], 2)


@instead_of(np.column_stack)
def column_stack(tup):
    return call(np.concatenate, [x if x.ndim > 1 else x[:, None] for x in (at_least(x, 1) for x in tup)], 1)


@instead_of(np.stack)
def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    parts = [as_array(x) for x in arrays]
    axis = axis_of(axis, parts[0].ndim + 1)
    refuse(any(x.shape != parts[0].shape for x in parts))
    parts = [x[along(x.ndim + 1, axis, None)] for x in parts]
    return call(np.concatenate, parts, axis, out, dtype=dtype, casting=casting)


@instead_of(np.append)
def append(arr, values, axis=None):
    arr = as_array(arr)
    if axis is None:
        values = flat(as_array(values)) if not is_number(values) else call(np.array, [values])
        return call(np.concatenate, [flat(arr), values], 0)
    return call(np.concatenate, [arr, as_array(values)], axis)


def known_places(obj):
    """True if these are written in the program."""
    return type(obj) in (int, slice) or (isinstance(obj, (list, tuple)) and all(type(i) is int for i in obj))


def runs(mask):
    """Slices of what is true, few enough to store each by itself."""
    ends = np.flatnonzero(np.diff(np.concatenate(([False], mask, [False]))))
    refuse(len(ends) > 2 * RUNS_MAX)
    return [slice(int(a), int(b)) for a, b in zip(ends[::2], ends[1::2])]


def store_runs(to, axis, slices, values):
    """Values, one after the other, into slices along an axis."""
    at = 0
    for part in slices:
        n = part.stop - part.start
        to[along(to.ndim, axis, part)] = values[along(values.ndim, axis, slice(at, at + n))]
        at += n


@instead_of(np.delete)
def delete(arr, obj, axis=None):
    arr = as_array(arr)
    if axis is None:
        arr, axis = flat(arr), 0
    axis = axis_of(axis, arr.ndim)
    c, fortran, _ = layout(arr)
    refuse(not known_places(obj) or (fortran and not c) or arr.size == 0)
    left = np.ones(arr.shape[axis], bool)
    left[obj if type(obj) in (int, slice) else np.array(obj, np.intp)] = False
    refuse(not left.any())
    several = type(obj) not in (int, slice) and len(obj) != 1  # NumPy indexes by what is left then
    if several and (arr.ndim > 1 or left.size - left.sum() > RUNS_MAX):
        refuse(left.size > LIST_MAX)
        return arr[along(arr.ndim, axis, np.flatnonzero(left).tolist())]
    to, at = blank(arr, arr.shape[:axis] + (int(left.sum()),) + arr.shape[axis + 1:], None), 0
    for part in runs(left):
        to[along(arr.ndim, axis, slice(at, at + part.stop - part.start))] = arr[along(arr.ndim, axis, part)]
        at += part.stop - part.start
    return to


@instead_of(np.insert)
def insert(arr, obj, values, axis=None):
    arr = as_array(arr)
    if axis is None:
        arr, axis = flat(arr), 0
    axis, n = axis_of(axis, arr.ndim), arr.shape[axis_of(axis, arr.ndim)]
    c, fortran, _ = layout(arr)
    refuse(not known_places(obj) or (fortran and not c))
    if not is_scalar(values):
        values = as_array(values)
    refuse(is_number(values) and not fits(values, arr.dtype))
    single = type(obj) is int or (not isinstance(obj, slice) and len(obj) == 1)
    count = 1 if single else len(range(*obj.indices(n))) if isinstance(obj, slice) else len(obj)
    if single and not is_scalar(values):  # of one place there may be many values: numpy/lib/_function_base_impl.py
        at = obj if type(obj) is int else obj[0]
        values = values[(None,) * (arr.ndim - values.ndim)] if values.ndim < arr.ndim else values
        values = np.moveaxis(values, 0, axis) if type(obj) is int else values
        count = values.shape[axis]
        obj = [at] * count
    where = np.insert(np.full(n, -1), obj, np.arange(count))
    to = blank(arr, arr.shape[:axis] + (n + count,) + arr.shape[axis + 1:], None)
    store_runs(to, axis, runs(where < 0), arr)
    if not is_scalar(values):
        values = values[(None,) * (arr.ndim - values.ndim)]
    if is_scalar(values) or values.shape[axis] == 1:
        for part in runs(where >= 0):
            to[along(arr.ndim, axis, part)] = values
    else:
        refuse(values.shape[axis] != count or (np.diff(where[where >= 0]) < 0).any())
        store_runs(to, axis, runs(where >= 0), values)
    return to


# -- Arrays of one -----------------------------------------------------------------------------


@instead_of(np.array)
def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0):
    refuse(order not in ("K", "A", "C", "F") or type(ndmin) is not int)
    if not isinstance(object, np.ndarray):
        if order != "F" and ndmin == 0:
            return NotImplemented  # a list that no array is known for
        refuse(copy is False or (order == "F" and copy is None))
        object = call(np.array, object, dtype) if dtype is not None else call(np.array, object)
        result = object if order != "F" else object.copy("F")
    elif dtype is None or np.dtype(dtype) == object.dtype:
        fits_order = order in ("K", "A") or layout(object)[order == "F"]
        refuse(copy is False and not fits_order)
        result = object if copy is not True and fits_order else object.copy(order)
    else:
        refuse(copy is False or order not in ("K", "A") or object.ndim == 0)
        result = object.astype(dtype)
    return result[(None,) * (ndmin - result.ndim)] if ndmin > result.ndim else result


@instead_of(np.asarray, np.asanyarray)
def asarray(a, dtype=None, order=None, *, copy=None):
    return array(a, dtype, copy=copy, order=order or "K")


@instead_of(np.digitize)
def digitize(x, bins, right=False):
    refuse(not isinstance(bins, (list, tuple)) or not all(is_number(b) for b in bins) or not bins)
    x = as_array(x)
    refuse(x.dtype.kind == "c")
    steps = np.diff(bins)
    refuse(not ((steps >= 0).all() or (steps <= 0).all()))
    side = "left" if right else "right"
    if (steps >= 0).all():
        return call(np.searchsorted, call(np.array, list(bins)), x, side)
    return len(bins) - call(np.searchsorted, call(np.array, list(bins[::-1])), x, side)


# -- Grids -------------------------------------------------------------------------------------


@instead_of(np.ix_)
def ix_(*args):
    result = []
    for k, x in enumerate(args):
        x = as_array(x)
        refuse(x.ndim != 1 or x.size == 0)
        x = call(np.flatnonzero, x) if x.dtype == bool else x
        result.append(x[(None,) * k + (slice(None),) + (None,) * (len(args) - k - 1)])
    return tuple(result)


@instead_of(np.meshgrid)
def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    refuse(indexing not in ("xy", "ij") or not xi)
    xi = [flat(at_least(x, 1)) for x in xi]
    n = len(xi)
    axes = [1 - k if indexing == "xy" and n > 1 and k < 2 else k for k in range(n)]
    parts = [x[(None,) * axis + (slice(None),) + (None,) * (n - axis - 1)] for x, axis in zip(xi, axes)]
    refuse(not copy)
    if sparse:
        return tuple(x.copy() for x in parts)
    shape = np.broadcast_shapes(*[x.shape for x in parts])
    grids = tuple(blank(x, shape, None) for x in parts)
    for grid, x in zip(grids, parts):
        grid[...] = x
    return grids


# -- Blocks -------------------------------------------------------------------------------------


@instead_of(np.block)
def block(arrays):
    if not isinstance(arrays, list) or not arrays:
        return NotImplemented
    rows = [row if isinstance(row, list) else [row] for row in arrays]
    parts = [[as_array(part) for part in row] for row in rows]
    flat = [part for row in parts for part in row]
    nested = [isinstance(row, list) for row in arrays]
    depth = 2 if all(nested) else 1
    if any(nested) != all(nested) or not all([part.ndim in (1, 2) for part in flat]) or not all(parts):
        return NotImplemented
    if any([isinstance(part, (list, tuple)) for row in rows for part in row]):
        return NotImplemented
    ndim = max(depth, *[part.ndim for part in flat])
    wide = [[part.reshape((1,) * (ndim - part.ndim) + part.shape) for part in row] for row in parts]
    heights = [row[0].shape[-2] if ndim > 1 else 1 for row in wide]
    width = sum(part.shape[-1] for part in wide[0])
    if depth == 1:
        wide = [[part for row in wide for part in row]]
        heights, width = heights[:1], sum(part.shape[-1] for part in wide[0])
    for row, height in zip(wide, heights):
        if sum(part.shape[-1] for part in row) != width or any(part.shape[:-1] != row[0].shape[:-1] for part in row):
            return NotImplemented
    if any(part.flags.fnc for part in flat) or not width or not all(heights):
        return NotImplemented  # another order in memory
    shape = (sum(heights), width) if ndim > 1 else (width,)
    result, top = call(np.empty, shape, np.result_type(*flat)), 0
    for row, height in zip(wide, heights):
        left = 0
        for part in row:
            right = left + part.shape[-1]
            result[(slice(top, top + height), slice(left, right)) if ndim > 1 else slice(left, right)] = part
            left = right
        top += height
    return result
