"""Averages, and what stands at a place of the sorted elements."""

import numpy as np

from . import along, as_array, call, in_dtype, instead_of, is_scalar, refuse
from .scalars import mean_of


@instead_of(np.average)
def average(a, axis=None, weights=None, returned=False, *, keepdims=False):
    if type(returned) is not bool or not (axis is None or type(axis) is int):
        return NotImplemented
    a = as_array(a)
    if a.size == 0:
        return NotImplemented
    if weights is None:
        mean = as_array(a.mean(axis, keepdims=keepdims))
        return _with_scale(mean, call(mean.dtype.type, a.size / mean.size), returned)
    weights = as_array(weights)
    if weights.shape != a.shape:
        if axis is None or weights.ndim != 1 or not -a.ndim <= axis < a.ndim or len(weights) != a.shape[axis]:
            return NotImplemented
        shape = [1] * a.ndim
        shape[axis] = len(weights)
        weights = weights.reshape(shape)
    exact = (np.float64,) if a.dtype.kind in "biu" else ()
    dtype = np.result_type(a.dtype, weights.dtype, *exact)
    if a.dtype.kind not in "biufc" or weights.dtype.kind not in "biufc":
        return NotImplemented
    scale = weights.sum(axis=axis, dtype=dtype, keepdims=keepdims)
    if np.any(scale == 0.0):
        return NotImplemented
    total = np.multiply(in_dtype(a, dtype), in_dtype(weights, dtype)).sum(axis, keepdims=keepdims)
    return _with_scale(as_array(total / scale), scale, returned)


def _with_scale(mean, scale, returned):
    """What average returns: scalars where there are no axes."""
    if not returned:
        return mean[()]
    shape = mean.shape
    mean = mean[()]
    if np.shape(scale) != shape:
        scale = call(np.full, shape, scale) if np.ndim(scale) == 0 else np.broadcast_to(scale, shape).copy()
    return mean, scale


@instead_of(np.ptp)
def ptp(a, axis=None, out=None, keepdims=False):
    if out is not None:
        return NotImplemented
    a = as_array(a)
    return np.subtract(np.max(a, axis=axis, keepdims=keepdims), np.min(a, axis=axis, keepdims=keepdims))


def _lines(a, axis):
    """The array, the axis meant (from the front; None: not one), and the index that keepdims is."""
    if axis is None:
        return a.ravel(), 0, (np.newaxis,) * a.ndim
    if type(axis) is not int or not -a.ndim <= axis < a.ndim:
        return a, None, None
    return a, axis % a.ndim, (*(slice(None),) * (axis % a.ndim), np.newaxis)


def _ordered(a, places, axis):
    """Partitioned at these places, and the greatest: NaN, if there is one. Of integers None: each place takes time."""
    if a.dtype.kind != "f":
        return np.partition(a, sorted(places), axis=axis), None
    last = a.shape[axis] - 1
    ordered = np.partition(a, sorted({*places, last}), axis=axis)
    return ordered, ordered[along(a.ndim, axis, last)]


def _checked(result, greatest, keepdims, kept):
    """NaN where there is one: it is the greatest then."""
    if greatest is not None:
        result = np.where(np.isnan(greatest), greatest, result)
        result = result[()] if result.ndim == 0 else result
    return as_array(result)[kept] if keepdims else result


@instead_of(np.median)
def median(a, axis=None, out=None, overwrite_input=False, keepdims=False):
    if out is not None or overwrite_input or type(keepdims) is not bool:
        return NotImplemented
    a, axis, kept = _lines(as_array(a), axis)
    if axis is None or a.ndim < 1 or a.size == 0 or a.dtype.char not in "fdbBhHiIlLqQ":
        return NotImplemented
    n, before = a.shape[axis], (slice(None),) * axis
    middle = n // 2
    ordered, greatest = _ordered(a, {(n - 1) // 2, middle}, axis)
    result = ordered[(*before, middle)]
    if a.dtype.kind != "f":
        result = result.astype(np.float64)
    if n % 2 == 0:
        below = ordered[(*before, middle - 1)]
        result = (below if a.dtype.kind == "f" else below.astype(np.float64)) + result
    result = result + 0.0  # a sum, which begins with 0
    if n % 2 == 0:
        result = result / 2
    return _checked(result, greatest, keepdims, kept)


def _at(ordered, q, n, before):
    """The place q of n ordered elements, between the two next to it (method "linear")."""
    place = (n - 1) * q
    if type(q) is int:
        return ordered[(*before, place)].copy() if ordered.ndim > 1 else ordered[place]
    low = int(place)
    t, high = place - low, low + 1
    if low >= n - 1:
        low, high, t = n - 1, n - 1, place + 1  # NumPy counts these from the end
    below, above = ordered[(*before, low)], ordered[(*before, high)]
    step = above - below
    return above - step * (1 - t) if t >= 0.5 else below + step * t


def _quantile(a, q, axis, keepdims):
    a, axis, kept = _lines(as_array(a), axis)
    if axis is None or a.ndim < 1 or a.size == 0 or a.dtype.char not in "fdbBhHiIlLqQ" or not 0 <= q <= 1:
        return NotImplemented
    if type(q) is int and not a.dtype.isnative:
        return NotImplemented  # elements as they are
    n, before = a.shape[axis], (slice(None),) * axis
    low = int((n - 1) * q)
    first = {0} if a.dtype.kind == "f" else set()  # as NumPy: which of 0.0 and -0.0 comes first
    ordered, greatest = _ordered(a, first | {low, min(low + 1, n - 1)}, axis)
    return _checked(_at(ordered, q, n, before), greatest, keepdims, kept)


@instead_of(np.quantile)
def quantile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    plain = out is None and not overwrite_input and method == "linear" and type(keepdims) is bool and weights is None
    return _quantile(a, q, axis, keepdims) if plain and type(q) in (int, float) else NotImplemented


@instead_of(np.percentile)
def percentile(a, q, axis=None, out=None, overwrite_input=False, method="linear", keepdims=False, *, weights=None):
    plain = out is None and not overwrite_input and method == "linear" and type(keepdims) is bool and weights is None
    return _quantile(a, q / 100, axis, keepdims) if plain and type(q) in (int, float) else NotImplemented


# -- Of the elements where a mask is true ------------------------------------------------------


def _where_sums(a, axis, dtype, keepdims, where):
    """The array, its mask, and how many there are."""
    a, where = as_array(a), as_array(where)
    refuse(a.dtype.char not in "?bBhHiIlLqQfd" or where.dtype != bool or dtype is not None or a.ndim == 0)
    refuse(type(keepdims) is not bool or where.ndim > a.ndim)
    count = np.sum(np.broadcast_to(where, a.shape) if where.shape != a.shape else where, axis=axis, keepdims=keepdims)
    return a, where, count


def _sum(a, axis, keepdims, where):
    """In float64, where the items are not floats."""
    if a.dtype.kind == "f":
        return np.sum(a, axis=axis, keepdims=keepdims, where=where)
    return np.sum(a, axis=axis, dtype=np.float64, keepdims=keepdims, where=where)


def _divided(total, count):
    """In float64, as NumPy divides by a count, in the place of the sum, whose layout stays."""
    if total.ndim > 0:
        return np.true_divide(total, count, out=total, casting="unsafe")
    result = total / count
    return result if result.dtype == total.dtype else result.astype(total.dtype)


@instead_of(np.mean, np.ndarray.mean)
def mean(a, axis=None, dtype=None, out=None, keepdims=False, *, where=True):
    if is_scalar(a) and axis is dtype is out is None and (keepdims is False or keepdims is np._NoValue) and (where is True or where is np._NoValue):
        return mean_of(a)
    refuse(where is True or where is np._NoValue or out is not None)
    a, where, count = _where_sums(a, axis, dtype, False if keepdims is np._NoValue else keepdims, where)
    return _divided(_sum(a, axis, keepdims, where), count)


def _variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction):
    refuse(where is True or where is np._NoValue or out is not None or mean is not np._NoValue or type(ddof) is not int)
    refuse(correction is not np._NoValue)
    keepdims = False if keepdims is np._NoValue else keepdims
    a, where, count = _where_sums(a, axis, dtype, keepdims, where)
    each = np.sum(np.broadcast_to(where, a.shape) if where.shape != a.shape else where, axis=axis, keepdims=True)
    centre = _divided(_sum(a, axis, True, where), each)
    off = a - centre
    return _divided(_sum(off * off, axis, keepdims, where), np.maximum(count - ddof, 0))


@instead_of(np.var, np.ndarray.var)
def var(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=np._NoValue, correction=np._NoValue):
    return _variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction)


@instead_of(np.std, np.ndarray.std)
def std(a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=np._NoValue, correction=np._NoValue):
    return np.sqrt(_variance(a, axis, dtype, out, ddof, keepdims, where, mean, correction))
