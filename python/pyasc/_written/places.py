"""Elements taken from places and put there, diagonals and triangles: see __init__.py."""

import math

import numpy as np

from . import (
    along, as_array, axis_of, blank, call, fits, flat, in_dtype, instead_of, is_number, is_scalar, layout, numbers, record, refuse,
    repeated, store_out,
)


def places(indices, extent, mode):
    """Indices as int64 that are in range, but where the mode is 'raise'."""
    i = as_array(indices)
    refuse(i.dtype.kind not in "iub" or i.dtype == np.uint64 or i.ndim == 0)
    i = in_dtype(i, np.intp)
    if mode != "raise":
        refuse(mode not in ("clip", "wrap") or extent == 0)
        i = np.minimum(np.maximum(i, 0), extent - 1) if mode == "clip" else i % extent
    return i


def place(index, extent, mode):
    if mode == "clip":
        return min(max(index, 0), extent - 1)
    refuse(mode not in ("raise", "wrap") or (mode == "raise" and not -extent <= index < extent))
    return index % extent


@instead_of(np.take, np.ndarray.take)
def take(a, indices, axis=None, out=None, mode="raise"):
    if axis is None:
        axis, flattened = 0, a.ndim != 1
    else:
        axis, flattened = axis_of(axis, a.ndim), False
    refuse(a.ndim == 0)
    if flattened:
        a = flat(a)
    extent = a.shape[axis]
    refuse(extent == 0)
    if type(indices) is int:
        result = a[along(a.ndim, axis, place(indices, extent, mode))]
        result = result.copy() if isinstance(result, np.ndarray) else result
        return store_out(out, result) if isinstance(result, np.ndarray) or out is None else NotImplemented
    plain = isinstance(indices, np.ndarray) and indices.dtype == np.intp and indices.ndim > 0
    if plain and mode == "raise" and out is None and not flattened:
        return NotImplemented  # a step of its own: jit/plan_places.c
    return store_out(out, a.take(places(indices, extent, mode), axis))


def true_places(condition):
    c = as_array(condition)
    refuse(c.ndim != 1)
    return call(np.flatnonzero, c)


@instead_of(np.compress)
def compress(condition, a, axis=None, out=None):
    i = true_places(condition)
    return as_array(a).take(i, axis) if out is None else call(np.take, as_array(a), i, axis, out)


@instead_of(np.ndarray.compress)
def compress_method(a, condition, axis=None, out=None):
    return compress(condition, a, axis, out)


@instead_of(np.extract)
def extract(condition, arr):
    return flat(as_array(arr)).take(true_places(flat(as_array(condition))), 0)


@instead_of(np.take_along_axis)
def take_along_axis(arr, indices, axis=-1):
    if axis is None:
        return call(np.take_along_axis, flat(arr), indices, 0)
    if isinstance(indices, np.ndarray) and indices.dtype == np.intp:
        return NotImplemented
    return call(np.take_along_axis, arr, places(indices, 0, "raise"), axis)


@instead_of(np.put_along_axis)
def put_along_axis(arr, indices, values, axis):
    if axis is None:
        refuse(not layout(arr)[0])
        return put_along_axis(arr.reshape(-1), indices, values, 0)
    indices, axis = places(indices, 0, "raise"), axis_of(axis, arr.ndim)
    refuse(indices.ndim != arr.ndim)
    key = []
    for d, extent in enumerate(arr.shape):
        key.append(indices if d == axis else numbers(extent).reshape((1,) * d + (-1,) + (1,) * (arr.ndim - d - 1)))
    arr[tuple(key)] = values


@instead_of(np.put, np.ndarray.put)
def put(a, ind, v, mode="raise"):
    refuse(not layout(a)[0] or a.size == 0)
    if type(ind) is int:
        i, n = place(ind, a.size, mode), 1
    else:
        i = flat(places(ind, a.size, mode))
        n = i.size
    refuse(n == 0 or (type(v) is float and a.dtype.kind in "iub"))
    values = repeated(v, n, a.dtype)
    a.reshape(-1)[i] = values[0] if type(ind) is int and not is_scalar(values) else values


def as_stored(values, dtype):
    """Values as NumPy puts them into an array: lists are made of its dtype, arrays may be cast if that is safe."""
    if isinstance(values, (list, tuple)):
        return call(np.array, values, dtype)
    values = as_array(values)
    refuse(values.ndim == 0 or not np.can_cast(values.dtype, dtype))
    return values


@instead_of(np.place)
def place_values(arr, mask, vals):
    m, values = as_array(mask), as_stored(vals, arr.dtype)
    refuse(m.shape != arr.shape)
    m = m if m.dtype == bool else m != 0
    values = in_dtype(values, arr.dtype)
    c = layout(arr)[0]
    to = arr if c else arr.copy("C")
    record(np.place, True, to, m if layout(m)[0] else m.copy("C"), flat(values))
    if not c:
        arr[...] = to


@instead_of(np.putmask)
def putmask(a, mask, values):
    m, v = as_array(mask), values
    refuse(m.shape != a.shape or a.ndim == 0)
    if is_number(v):
        refuse(not fits(v, a.dtype))
    else:
        v = as_stored(v, a.dtype)
        if v.shape != a.shape:
            v = repeated(v, a.size, a.dtype)
            v = v.reshape((1,) * a.ndim) if v.size == 1 else v.reshape(a.shape)
        v = v.astype(a.dtype)
    a[...] = np.where(m if m.dtype == bool else m != 0, v, a)


@instead_of(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    refuse(dst.ndim == 0)
    if is_number(src):
        refuse(not fits(src, dst.dtype) or casting not in ("same_kind", "unsafe"))
    else:
        src = src if isinstance(src, np.generic) else as_array(src)
        refuse(src.ndim > dst.ndim or not np.can_cast(src.dtype, dst.dtype, casting))
        refuse(np.broadcast_shapes(src.shape, dst.shape) != dst.shape)
    if where is True:
        dst[...] = src
        return
    m = as_array(where)
    refuse(m.dtype != bool or np.broadcast_shapes(m.shape, dst.shape) != dst.shape)
    if not is_scalar(src):
        src = src.astype(dst.dtype)
    dst[...] = np.where(m, src, dst)


# -- Diagonals and triangles -------------------------------------------------------------------


def store_diagonal(a, start, step, stop, values):
    flattened = a.reshape(-1)
    key = slice(start, stop, step)
    flattened[key] = repeated(values, len(range(*key.indices(flattened.size))), a.dtype)


@instead_of(np.diag)
def diag(v, k=0):
    v = as_array(v)
    refuse(v.ndim not in (1, 2) or type(k) is not int)
    if v.ndim == 2:
        return v.diagonal(k)
    n = v.size + abs(k)
    refuse(v.size == 0)
    result = call(np.zeros, (n, n), v.dtype)
    first = k if k >= 0 else -k * n
    result.reshape(-1)[first:first + (v.size - 1) * (n + 1) + 1:n + 1] = v
    return result


@instead_of(np.diagflat)
def diagflat(v, k=0):
    return diag(flat(as_array(v)), k)


@instead_of(np.fill_diagonal)
def fill_diagonal(a, val, wrap=False):
    refuse(a.ndim < 2 or a.size == 0 or (is_number(val) and not fits(val, a.dtype)))
    if a.ndim > 2:
        refuse(len(set(a.shape)) != 1)
    if layout(a)[0]:
        step = 1 + sum(math.prod(a.shape[d + 1:]) for d in range(a.ndim - 1))
        stop = a.shape[1] * a.shape[1] if a.ndim == 2 and not wrap else a.size
        return store_diagonal(a, 0, step, min(stop, a.size), val)
    refuse(wrap and a.shape[0] > a.shape[1])
    n = min(a.shape)
    i = numbers(n)
    a[(i,) * a.ndim] = repeated(val, n, a.dtype)


@instead_of(np.tril_indices_from)
def tril_indices_from(arr, k=0):
    refuse(arr.ndim != 2)
    return call(np.tril_indices, arr.shape[0], k, arr.shape[1])


@instead_of(np.triu_indices_from)
def triu_indices_from(arr, k=0):
    refuse(arr.ndim != 2)
    return call(np.triu_indices, arr.shape[0], k, arr.shape[1])


@instead_of(np.diag_indices_from)
def diag_indices_from(arr):
    refuse(arr.ndim < 2 or len(set(arr.shape)) != 1)
    return call(np.diag_indices, arr.shape[0], arr.ndim)


# -- Numbers of elements -----------------------------------------------------------------------


def dense_index(i):
    """An index as plans have functions of their own for it."""
    if is_scalar(i):
        return i
    i = places(i, 0, "raise")
    return i if layout(i)[0] else i.copy("C")


@instead_of(np.unravel_index)
def unravel_index(indices, shape, order="C"):
    refuse(order not in ("C", "F") or is_number(indices))
    shape = (shape,) if type(shape) is int else tuple(shape)
    if order == "F":
        return unravel_index(indices, shape[::-1])[::-1]
    return record(np.unravel_index, False, dense_index(indices), shape)


@instead_of(np.ravel_multi_index)
def ravel_multi_index(multi_index, dims, mode="raise", order="C"):
    refuse(order not in ("C", "F") or not isinstance(multi_index, tuple) or all(is_number(i) for i in multi_index))
    dims = (dims,) if type(dims) is int else tuple(dims)
    modes = (mode,) * len(dims) if isinstance(mode, str) else tuple(mode)
    refuse(len(modes) != len(dims) or len(multi_index) != len(dims))
    if order == "F":
        return ravel_multi_index(multi_index[::-1], dims[::-1], modes[::-1])
    if any(isinstance(i, (np.ndarray, list)) for i in multi_index):
        parts = [i if is_scalar(i) else places(i, n, m) for i, n, m in zip(multi_index, dims, modes)]
        shape = np.broadcast_shapes(*[() if is_scalar(i) else i.shape for i in parts])
        full = [blank(next(i for i in parts if not is_scalar(i)), shape, np.intp) for _ in parts]
        for to, i in zip(full, parts):
            refuse(is_scalar(i) and not is_number(i))
            to[...] = i
        return record(np.ravel_multi_index, False, tuple(full), dims)
    refuse(set(modes) != {"raise"})
    return record(np.ravel_multi_index, False, multi_index, dims)


@instead_of(np.choose, np.ndarray.choose)
def choose(a, choices, out=None, mode="raise"):
    refuse(not isinstance(choices, (list, tuple)) or not choices)
    choices = [x if is_scalar(x) else as_array(x) for x in choices]
    refuse(all(is_scalar(x) for x in choices))
    a = places(a, len(choices), mode)
    dtype = np.result_type(*[x if is_number(x) else x.dtype for x in choices])
    choices = [call(np.array, [x], dtype) if is_scalar(x) else x for x in choices]
    choices = [in_dtype(x, dtype) for x in choices]
    return store_out(out, record(np.ndarray.choose, False, a, choices))
