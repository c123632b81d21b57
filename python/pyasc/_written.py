"""Functions of NumPy that move elements, written with views, stores and simpler ones.

The tracer runs these instead of NumPy's (trace/written.c): arrays that they get are its tracers, so that what
they do becomes operations of the plan.

Law 1: what comes back has NumPy's values, dtype, shape, order in memory and writability.
Law 2: what NumPy refuses, and what is not done here, is NumPy's: an exception, or NotImplemented, before anything
       is written.
"""

import math

import numpy as np

from ._pyasc import hooks

#: A call as the user's code makes it: so are arrays of constants made.
call = hooks["call"]
layout, blank, real = hooks["layout"], hooks["blank"], hooks["real"]
#: A call of NumPy's own, for which plans have functions of their own: jit/own.def.
record = hooks["record"]

TABLE = {}


def instead_of(*callables):
    """The function stands for these of NumPy."""
    def keep(function):
        TABLE.update(dict.fromkeys(callables, function))
        return function
    return keep


def table():
    return TABLE


def refuse(condition):
    """Leaves the rest to NumPy if the condition holds."""
    if condition:
        raise NotImplementedError


def as_array(x):
    return x if isinstance(x, np.ndarray) else call(np.asarray, x)


def is_number(x):
    return type(x) in (int, float, complex, bool)


def is_scalar(x):
    """Python's numbers, and NumPy's."""
    return is_number(x) or isinstance(x, np.generic)


def axis_of(axis, ndim):
    refuse(type(axis) is not int or not -ndim <= axis < ndim)
    return axis % ndim


def flat(x):
    """x in C order as one axis: a view where it can be one."""
    return x.reshape(-1) if layout(x)[0] else x.ravel()


def along(ndim, axis, part):
    """A key that is `part` along an axis."""
    return (slice(None),) * axis + (part,) + (slice(None),) * (ndim - axis - 1)


def numbers(n):
    return call(np.arange, n)


def store_out(out, result, same=True):
    """`out` with the values of the result in it."""
    if out is None:
        return result
    refuse(not isinstance(out, np.ndarray) or out.shape != result.shape or (same and out.dtype != result.dtype))
    refuse(not np.can_cast(result.dtype, out.dtype, "same_kind"))
    out[...] = result
    return out


# -- Elements at places ------------------------------------------------------------------------


def places(indices, extent, mode):
    """Indices as int64 that are in range, but where the mode is 'raise'."""
    i = as_array(indices)
    refuse(i.dtype.kind not in "iub" or i.dtype == np.uint64 or i.ndim == 0)
    i = i if i.dtype == np.intp else i.astype(np.intp)
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


def repeated(v, n):
    """n elements of v, from the first on again and again; one element, where it has one."""
    if is_scalar(v):
        return v
    v = flat(as_array(v))
    refuse(v.size == 0)
    if v.size == 1:
        return v
    return v[:n] if v.size >= n else v.take(numbers(n) % v.size)


@instead_of(np.put, np.ndarray.put)
def put(a, ind, v, mode="raise"):
    refuse(not layout(a)[0] or a.size == 0)
    if type(ind) is int:
        i, n = place(ind, a.size, mode), 1
    else:
        i = flat(places(ind, a.size, mode))
        n = i.size
    refuse(n == 0 or (type(v) is float and a.dtype.kind in "iub"))
    values = repeated(v, n)
    a.reshape(-1)[i] = values[0] if type(ind) is int and not is_scalar(values) else values


@instead_of(np.place)
def place_values(arr, mask, vals):
    m = as_array(mask)
    refuse(m.shape != arr.shape or not layout(arr)[0] or is_number(vals))
    i = call(np.flatnonzero, m)
    if i.size:
        arr.reshape(-1)[i] = repeated(vals, i.size)


@instead_of(np.putmask)
def putmask(a, mask, values):
    m, v = as_array(mask), values
    refuse(m.shape != a.shape or a.ndim == 0)
    if is_number(v):
        refuse(not fits(v, a.dtype))
    else:
        v = as_array(v)
        refuse(v.ndim == 0 or not np.can_cast(v.dtype, a.dtype))
        if v.shape != a.shape:
            v = repeated(v, a.size)
            v = v.reshape((1,) * a.ndim) if v.size == 1 else v.reshape(a.shape)
        v = v.astype(a.dtype)
    a[...] = np.where(m if m.dtype == bool else m != 0, v, a)


def fits(number, dtype):
    """True if a Python number is stored in an array as what it is."""
    kind = dtype.kind
    if type(number) is bool:
        return kind == "b"
    if type(number) is int:
        return kind in "fc" or (kind in "iu" and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)
    return kind in ("fc" if type(number) is float else "c")


@instead_of(np.copyto)
def copyto(dst, src, casting="same_kind", where=True):
    refuse(dst.ndim == 0)
    if is_number(src):
        refuse(not fits(src, dst.dtype))
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
    flattened[key] = repeated(values, len(range(*key.indices(flattened.size))))


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
    a[(i,) * a.ndim] = repeated(val, n)


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


# -- Repeats, tiles, rolls ---------------------------------------------------------------------


@instead_of(np.repeat, np.ndarray.repeat)
def repeat(a, repeats, axis=None):
    a = as_array(a)
    refuse(a.ndim == 0)
    if axis is None:
        a, axis = (a if a.ndim == 1 else flat(a)), 0
    axis = axis_of(axis, a.ndim)
    shape = a.shape
    if isinstance(repeats, (list, tuple)) and len(repeats) == 1:
        repeats = repeats[0]
    if type(repeats) is int:
        refuse(repeats < 1 or a.size == 0)
        result = blank(a, shape[:axis] + (shape[axis] * repeats,) + shape[axis + 1:], None)
        parts = result.reshape(shape[:axis + 1] + (repeats,) + shape[axis + 1:])
        parts[...] = a[along(a.ndim, axis, slice(None))[:axis + 1] + (None,)]
        return result
    if isinstance(repeats, (list, tuple)):
        refuse(len(repeats) != shape[axis])
        i = np.repeat(np.arange(shape[axis]), repeats).tolist()
        return a.take(i, axis) if i else NotImplemented
    refuse(not isinstance(repeats, np.ndarray) or repeats.dtype != np.intp or repeats.shape != (shape[axis],))
    return a.take(record(np.ndarray.repeat, numbers(shape[axis]), repeats), axis)


@instead_of(np.tile)
def tile(A, reps):
    a = as_array(A)
    reps = (reps,) if type(reps) is int else tuple(reps)
    n = max(len(reps), a.ndim)
    refuse(n == 0 or any(type(r) is not int or r < 1 for r in reps) or a.size == 0)
    reps, shape = (1,) * (n - len(reps)) + reps, (1,) * (n - a.ndim) + a.shape
    if all(r == 1 for r in reps):
        return a.copy(order="K").reshape(shape)
    result = blank(a, [r * s for r, s in zip(reps, shape)], None)
    pairs = [extent for pair in zip(reps, shape) for extent in pair]
    result.reshape(pairs)[...] = a.reshape([extent for s in shape for extent in (1, s)]) if layout(a)[0] else a[
        (None, None) * (n - a.ndim) + (None, slice(None)) * a.ndim]
    return result


@instead_of(np.roll)
def roll(a, shift, axis=None):
    a = as_array(a)
    if axis is None and a.ndim != 1:
        return call(np.roll, flat(a), shift, 0).reshape(a.shape)
    axes = (0,) if axis is None else (axis,) if type(axis) is int else tuple(axis)
    shifts = (shift,) if type(shift) is int else tuple(shift)
    refuse(any(type(s) is not int for s in shifts))
    if a.size == 0:
        return a.copy(order="K")
    if axis is None or (len(axes) == 1 and len(shifts) > 1):
        return call(np.roll, a, sum(shifts), axes[0])
    return NotImplemented


# -- Shapes ------------------------------------------------------------------------------------


def shape_from(x, shape):
    shape = (shape,) if type(shape) is int else tuple(shape)
    if -1 in shape:
        rest = -math.prod(shape)
        refuse(shape.count(-1) != 1 or rest <= 0 or x.size % rest)
        shape = tuple(x.size // rest if s == -1 else s for s in shape)
    refuse(any(type(s) is not int or s < 0 for s in shape) or math.prod(shape) != x.size)
    return shape


def order_of(x, order):
    """'C' or 'F' for 'A', too."""
    c, fortran, _ = layout(x)
    order = {"A": "F" if fortran and not c else "C"}.get(order, order)
    refuse(order not in ("C", "F"))
    return order


def shows(x, shape, order):
    """True if the shape is a view of x."""
    try:
        real(x).reshape(shape, order=order, copy=False)
    except ValueError:
        return False
    return True


@instead_of(np.reshape)
def reshape(a, shape, order="C", copy=None):
    refuse(a.ndim == 0 or copy is False)
    if a.size == 0:
        return call(np.empty, real(a).reshape(shape).shape, a.dtype)
    shape, order = shape_from(a, shape), order_of(a, order)
    if shows(a, shape, order):
        return NotImplemented if copy is None else call(np.reshape, a.copy(order="K" if order == "C" else order), shape, order)
    if order == "F":
        return reshape_copy(a.T, shape[::-1]).T
    return reshape_copy(a, shape)


def reshape_copy(x, shape):
    """x in C order, with memory of its own or as a view."""
    return flat(x).reshape(shape)


@instead_of(np.ndarray.reshape)
def reshape_method(a, *shape, order="C", copy=None):
    refuse(copy is not None)
    return reshape(a, shape[0] if len(shape) == 1 else shape, order)


def in_memory(x):
    """x with its axes in the order in which it lies in memory."""
    strides = layout(x)[2]
    refuse(any(s < 0 for s in strides))
    return x.transpose(sorted(range(x.ndim), key=lambda d: -strides[d]))


@instead_of(np.ravel)
def ravel(a, order="C"):
    return ravel_method(as_array(a), order)


@instead_of(np.ndarray.ravel)
def ravel_method(a, order="C"):
    refuse(a.ndim == 0 or a.size == 0)
    if order == "K":
        c, fortran, _ = layout(a)
        return a.ravel() if c else a.T.ravel() if fortran else in_memory(a).ravel()
    order = order_of(a, order)
    if order == "C":
        return NotImplemented if layout(a)[0] else a.flatten()
    return a.T.ravel()


@instead_of(np.ndarray.flatten)
def flatten(a, order="C"):
    refuse(a.ndim == 0 or a.size == 0)
    if order == "K":
        return in_memory(a).flatten()
    return NotImplemented if order_of(a, order) == "C" else a.T.flatten()


# -- Arrays put together -----------------------------------------------------------------------


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
    parts = [as_array(x) for x in arrays]
    if axis is None:
        parts, axis = [flat(x) for x in parts], 0
        if dtype is None and out is None:
            return call(np.concatenate, parts, 0)
    if dtype is None and out is None:
        dtype = np.result_type(*[x.dtype for x in parts])
    return joined(parts, axis, dtype, casting, out)


def at_least(x, ndim):
    """x with axes put in as atleast_1d, atleast_2d and atleast_3d do."""
    x = as_array(x) if not is_number(x) and getattr(x, "shape", None) != () else call(np.array, [x])
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


@instead_of(np.delete)
def delete(arr, obj, axis=None):
    arr = as_array(arr)
    if axis is None:
        arr, axis = flat(arr), 0
    axis = axis_of(axis, arr.ndim)
    c, fortran, _ = layout(arr)
    refuse(not known_places(obj) or (fortran and not c))
    left = np.delete(np.arange(arr.shape[axis]), obj).tolist()
    refuse(not left or arr.size == 0)
    steps = {b - a for a, b in zip(left, left[1:])}
    if steps <= {1}:
        return arr[along(arr.ndim, axis, slice(left[0], left[-1] + 1))].copy()
    return arr.take(left, axis)


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
    if single and not is_scalar(values):  # values[..., None] moved to the axis, as an assignment has it
        at = obj if type(obj) is int else obj[0]
        values = values[(None,) * (arr.ndim - values.ndim)] if values.ndim < arr.ndim else values
        values = np.moveaxis(values, 0, axis) if type(obj) is int else values
        count = values.shape[axis]
        obj = [at] * count
    where = np.insert(np.full(n, -1), obj, np.arange(count))
    to = blank(arr, arr.shape[:axis] + (n + count,) + arr.shape[axis + 1:], None)
    old, new = np.flatnonzero(where < 0).tolist(), np.argsort(where, kind="stable")[n:].tolist()
    for places_, part in ((old, arr), (new, values)):
        steps = {b - a for a, b in zip(places_, places_[1:])}
        key = slice(places_[0], places_[-1] + 1) if steps <= {1} and places_ else places_
        if places_:
            to[along(arr.ndim, axis, key)] = part
    return to


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
