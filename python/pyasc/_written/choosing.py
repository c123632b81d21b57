"""One of several values for each element."""

import numpy as np

from . import as_array, call, in_dtype, instead_of


@instead_of(np.nan_to_num)
def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    if copy is False and not isinstance(x, np.ndarray):
        return NotImplemented
    x = as_array(x)
    if type(copy) is not bool or x.dtype.kind not in "fiub" or x.dtype.char == "g" or not copy and x.ndim == 0:
        return NotImplemented
    numbers = (nan, posinf, neginf)
    if not all([n is None or type(n) in (int, float) for n in numbers]) or nan is None:
        return NotImplemented
    if x.dtype.kind != "f":
        return x[()] if x.ndim == 0 else x.copy(order="K") if copy else x
    limits = np.finfo(x.dtype)
    high = float(limits.max) if posinf is None else float(posinf)
    low = float(limits.min) if neginf is None else float(neginf)
    y = np.where(x == -np.inf, low, x)
    y = np.where(x == np.inf, high, y)
    y = np.where(np.isnan(x), float(nan), y)
    if not copy:
        x[...] = y
        return x
    if x.ndim > 0 and not x.dtype.isnative:
        result = x.copy("K")
        result[...] = y
        return result
    return y[()] if x.ndim == 0 else y


@instead_of(np.select)
def select(condlist, choicelist, default=0):
    if len(condlist) != len(choicelist) or len(condlist) == 0:
        return NotImplemented
    choices = [c if c.__class__ in (int, float, complex) else as_array(c) for c in [*choicelist, default]]
    conditions = [as_array(c) for c in condlist]
    if not all([c.dtype == bool for c in conditions]):
        return NotImplemented
    dtype = np.result_type(*choices)
    shape = np.broadcast_shapes(*[np.shape(c) for c in [*conditions, *choices[:-1]]])
    if np.shape(choices[-1]) not in ((), shape):
        return NotImplemented
    result = in_dtype(as_array(choices[-1]), dtype)
    for condition, choice in zip(conditions[::-1], choices[-2::-1]):
        result = np.where(condition, in_dtype(as_array(choice), dtype), result)
    return call(np.ascontiguousarray, result) if shape else result


@instead_of(np.piecewise)
def piecewise(x, condlist, funclist, *args, **kw):
    x = as_array(x)
    conditions = list(condlist) if isinstance(condlist, (list, tuple)) else None
    if x.ndim == 0 or not conditions or len(funclist) not in (len(conditions), len(conditions) + 1):
        return NotImplemented
    conditions = [as_array(c) for c in conditions]
    if not all([c.dtype == bool and c.shape == x.shape for c in conditions]):
        return NotImplemented
    if len(funclist) == len(conditions) + 1:
        covered = conditions[0]
        for condition in conditions[1:]:
            covered = covered | condition
        conditions.append(~covered)
    result = np.zeros_like(x)
    for condition, function in zip(conditions, funclist):
        if not callable(function):
            result[condition] = function
            continue
        values = x[condition]
        if values.size > 0:
            result[condition] = call(function, values, *args, **kw)
    return result


@instead_of(np.fromfunction)
def fromfunction(function, shape, *, dtype=float, like=None, **kwargs):
    if like is not None:
        return NotImplemented
    return call(function, *call(np.indices, shape, dtype=dtype), **kwargs)
