"""Repeats, tiles, rolls and other shapes: see __init__.py."""

import itertools
import math

import numpy as np

from . import (
    as_array, axis_of, blank, call, fits, flat, instead_of, is_number, is_scalar, layout, numbers, real, record, refuse,
    repeated, shares,
)


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
    if isinstance(repeats, (list, tuple)):
        refuse(len(repeats) != shape[axis])
        repeats = as_array(repeats)
    if type(repeats) is int:
        refuse(repeats < 0)
    else:
        refuse(not isinstance(repeats, np.ndarray) or repeats.dtype != np.intp or repeats.shape != (shape[axis],))
        repeats = repeats if layout(repeats)[0] else repeats.copy()
    return record(np.ndarray.repeat, False, a if layout(a)[0] else a.copy("C"), repeats, axis)


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
        if a.size == 0:
            refuse(type(shift) is not int)
            return a.copy()
        return call(np.roll, flat(a), shift, 0).reshape(a.shape)
    axes = (0,) if axis is None else (axis,) if type(axis) is int else tuple(axis)
    shifts = (shift,) if type(shift) is int else tuple(shift)
    refuse(any(type(s) is not int for s in shifts))
    axes = [axis_of(d, a.ndim) for d in axes]
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
        return NotImplemented if copy is None else call(np.empty, real(a).reshape(shape, order=order).shape, a.dtype)
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


@instead_of(np.resize)
def resize(a, new_shape):
    a, shape = as_array(a).ravel(), (new_shape,) if type(new_shape) is int else tuple(new_shape)
    refuse(any(type(n) is not int or n < 0 for n in shape))
    size = math.prod(shape)
    if a.size == 0 or size == 0:
        return call(np.zeros, shape, a.dtype)
    refuse(size > 64 * a.size)
    return np.concatenate((a,) * -(-size // a.size))[:size].reshape(shape)


def at_least(arys, widened):
    if len(arys) == 1 and is_scalar(arys[0]):
        return widened(call(np.array, arys))
    refuse(len(arys) < 2)
    arys = [call(np.array, [x]) if is_scalar(x) else as_array(x) for x in arys]
    refuse(any(x.ndim == 0 for x in arys))
    return tuple(widened(x) for x in arys)


@instead_of(np.atleast_1d)
def atleast_1d(*arys):
    return at_least(arys, lambda x: x)


@instead_of(np.atleast_2d)
def atleast_2d(*arys):
    return at_least(arys, lambda x: x[np.newaxis, :] if x.ndim == 1 else x)


@instead_of(np.atleast_3d)
def atleast_3d(*arys):
    def widened(x):
        return x[np.newaxis, :, np.newaxis] if x.ndim == 1 else x[:, :, np.newaxis] if x.ndim == 2 else x
    return at_least(arys, widened)


# -- Long ones of numbers ----------------------------------------------------------------------

PLAN_BYTES = 1 << 18  # longer arrays of constants are not kept by plans: jit/plan_made.c
BLOCK = 4096


def counted(n, dtype, make):
    """make(0, 1, 2, ...) of n numbers, in one new array: a row of numbers and a column of where blocks begin."""
    row = call(np.arange, BLOCK, dtype=dtype)
    blocks, rest = divmod(n, BLOCK)
    result = blank(row, (n,), None)
    starts = call(np.arange, 0, blocks * BLOCK, BLOCK, dtype=dtype)
    result[:blocks * BLOCK].reshape(blocks, BLOCK)[...] = make(row + starts[:, None])
    if rest:
        result[blocks * BLOCK:] = make(row[:rest] + blocks * BLOCK)
    return result


@instead_of(np.arange)
def arange(*args, **kwargs):
    refuse(not all(is_number(x) for x in args) or any(name != "dtype" for name in kwargs))
    known = np.arange(*args, **kwargs)
    refuse(known.nbytes <= PLAN_BYTES or known.dtype not in (np.int64, np.float64) or known.size > 1 << 31)
    start, step = known[0].item(), (known[1] - known[0]).item()
    i = np.arange(known.size, dtype=known.dtype)
    refuse(not np.array_equal(i * step + start, known))
    return counted(known.size, known.dtype, (lambda i: i) if (start, step) == (0, 1) else lambda i: i * step + start)


def between(start, stop, num, endpoint, axis):
    """linspace from arrays, or to them."""
    refuse(type(num) is not int or num < 2 or type(endpoint) is not bool or type(axis) is not int)
    ends = [x if is_scalar(x) else as_array(x) for x in (start, stop)]
    refuse(not all(is_number(x) or (isinstance(x, np.ndarray) and x.ndim) for x in ends))
    dtype = np.result_type(*[x if is_number(x) else x.dtype for x in ends], float(num))
    refuse(dtype.char not in "fd" or any(type(x) is complex for x in ends))
    start, stop = [x if is_number(x) or x.dtype == dtype else x.astype(dtype) for x in ends]
    delta = np.subtract(stop, start)
    steps = num - 1 if endpoint else num
    step = delta / steps
    y = call(np.arange, 0, num, dtype=dtype).reshape((num,) + (1,) * delta.ndim)
    y = y / steps * delta if bool((step == 0).any()) else y * step
    y = y + start
    if endpoint:
        y[-1] = stop
    return np.moveaxis(y, 0, axis) if axis else y


@instead_of(np.linspace)
def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0):
    if not (is_scalar(start) and is_scalar(stop)):
        refuse(retstep or dtype is not None)
        return between(start, stop, num, endpoint, axis)
    refuse(isinstance(start, np.timedelta64) or isinstance(stop, np.timedelta64))  # integers, for Python
    whole = [isinstance(x, np.integer) or (isinstance(x, int) and not is_number(x)) for x in (start, stop)]
    if any(whole):  # integers of this call
        refuse(not all([isinstance(x, (int, float, np.integer, np.float64)) for x in (start, stop)]))
        start, stop = (call(np.float64, x) if is_whole else x for x, is_whole in zip((start, stop), whole))
        return call(np.linspace, start, stop, num, endpoint, retstep, dtype)
    refuse(not is_number(start) or not is_number(stop) or type(num) is not int or num * 8 <= PLAN_BYTES)
    refuse(retstep or dtype not in (None, float, np.float64) or isinstance(start, complex) or isinstance(stop, complex))
    known = np.linspace(start, stop, num, endpoint)
    step = (float(stop) - float(start)) / (num - 1 if endpoint else num)
    i = np.arange(num, dtype=np.float64)
    i = i * step + float(start)
    i[-1] = stop if endpoint else i[-1]
    refuse(not np.array_equal(i, known))
    result = counted(num, np.float64, lambda i: i * step + float(start))
    if endpoint:
        result[-1] = float(stop)
    return result


# -- x.flat ------------------------------------------------------------------------------------


def element_key(x, i):
    """Where element number i is."""
    refuse(not -x.size <= i < x.size)
    return tuple(int(k) for k in np.unravel_index(i % x.size, x.shape))


@instead_of(np.flatiter.__getitem__)
def flat_get(x, key):
    refuse(x.ndim == 0 or key is None or isinstance(key, tuple) or (isinstance(key, np.ndarray) and key.ndim != 1))
    if type(key) is int:
        return x[element_key(x, key)]
    result = flat(x)[key]
    return result.copy() if isinstance(key, slice) or key is Ellipsis else result


@instead_of(np.flatiter.__setitem__)
def flat_set(x, key, value):
    """Values are taken again from the first on, or not to the last."""
    refuse(x.ndim == 0 or x.size == 0 or (is_number(value) and not fits(value, x.dtype)))
    if type(key) is int:
        refuse(not is_scalar(value))
        x[element_key(x, key)] = value
        return
    refuse(isinstance(value, np.ndarray) and shares(x, value))  # NumPy reads what it has written
    if isinstance(key, (list, np.ndarray)):
        i = as_array(key)
        refuse(i.ndim != 1 or i.dtype.kind not in "iu" or i.size == 0 or not layout(x)[0] or
               (isinstance(key, np.ndarray) and shares(x, i)))
        x.reshape(-1)[i] = repeated(value, i.size, x.dtype)
        return
    refuse(type(key) is not slice and key is not Ellipsis)
    n = x.size if key is Ellipsis else len(range(*key.indices(x.size)))
    if n == 0:
        return
    whole, c = n == x.size and (key is Ellipsis or key.step in (None, 1)), layout(x)[0]
    values = repeated(value, n, x.dtype)
    if whole and not c:
        x[...] = values if is_scalar(values) or values.size == 1 else values.reshape(x.shape)
        return
    to = x.reshape(-1) if c else x.ravel()
    to[key] = values
    if not c:
        x[...] = to.reshape(x.shape)


@instead_of(np.ndindex)
def ndindex(*shape):
    shape = shape[0] if len(shape) == 1 and isinstance(shape[0], (tuple, list)) else shape
    refuse(not shape or any(type(n) is not int or n < 0 for n in shape))
    return itertools.product(*map(range, shape))


@instead_of(np.ndenumerate)
def ndenumerate(arr):
    refuse(not isinstance(arr, np.ndarray) or arr.ndim == 0)
    return zip(ndindex(*arr.shape), flat_iter(arr))


@instead_of(np.flatiter.__iter__)
def flat_iter(x):
    if layout(x)[0]:
        return iter(x.reshape(-1))
    return (x[k] for k in np.ndindex(x.shape))


# -- Views -------------------------------------------------------------------------------------


def shown(x, shape):
    """x broadcast, as a window that may be written."""
    x = call(np.array, [x]) if is_scalar(x) else as_array(x)
    refuse(x.ndim == 0)
    if x.shape == shape:
        return x
    steps = [0 if n == 1 else step for n, step in zip(x.shape, layout(x)[2])]
    return call(np.lib.stride_tricks.as_strided, x, shape, [0] * (len(shape) - x.ndim) + steps)


@instead_of(np.broadcast_arrays)
def broadcast_arrays(*args, subok=False):
    shapes = [() if is_scalar(x) else as_array(x).shape for x in args]
    shape = np.broadcast_shapes(*shapes)
    refuse(shape == () or 0 in shape)
    return tuple(shown(x, shape) for x in args)


@instead_of(np.broadcast_to)
def broadcast_to(array, shape, subok=False):
    refuse(not is_scalar(array) and not isinstance(array, (list, tuple)))
    return call(np.broadcast_to, call(np.array, [array] if is_scalar(array) else array), shape)
