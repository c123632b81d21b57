"""Ufuncs with `out`, `where`, `dtype` or `casting`: see __init__.py."""

import numpy as np

from . import as_array, call, instead_of, is_number, is_scalar, refuse, shares


def loop_inputs(function, args, dtype, casting):
    """The operands in the dtypes of the loop that gives `dtype`."""
    dtypes = [type(x) if is_number(x) else x.dtype for x in args]
    loop = function.resolve_dtypes((*dtypes, None), signature=(None,) * len(args) + (np.dtype(dtype),), casting=casting)
    refuse(loop[-1] != dtype)
    cast = []
    for x, to in zip(args, loop):
        refuse(not is_number(x) and not np.can_cast(x.dtype, to, casting))
        cast.append(x if is_number(x) or x.dtype == to else x.astype(to))
    return cast


def places_of(shape, key):
    """A key of slices and arrays as one of arrays that broadcast to the selection's shape."""
    refuse(len(key) > len(shape) or not all([isinstance(k, (int, slice, list, np.integer, np.ndarray)) for k in key]))
    refuse(any([isinstance(k, bool) for k in key]))
    key = [k if isinstance(k, (slice, int, np.integer)) else as_array(k) for k in (*key, *[slice(None)] * (len(shape) - len(key)))]
    at = [d for d, k in enumerate(key) if not isinstance(k, slice)]
    arrays = [key[d] for d in at if isinstance(key[d], np.ndarray)]
    refuse(not arrays or any([k.dtype.kind not in "iu" or k.ndim == 0 for k in arrays]))
    block = len(np.broadcast_shapes(*[k.shape for k in arrays]))
    first = at[0] if at[-1] - at[0] == len(at) - 1 else 0  # where the arrays' axes are in the result
    slices = [d for d in range(len(key)) if d not in at]
    after = len(slices) - first
    places = []
    for d, k in enumerate(key):
        if isinstance(k, slice):
            behind = len(slices) - slices.index(d) - 1 + (block if slices.index(d) < first else 0)
            k = call(np.arange, *k.indices(shape[d]))
            places.append(k.reshape(k.shape + (1,) * behind))
        else:
            places.append(k.reshape(k.shape + (1,) * after) if isinstance(k, np.ndarray) else k)
    return tuple(places)


@instead_of(np.ufunc.at)
def at(function, a, indices, *b):
    refuse(not isinstance(indices, tuple) or not any([isinstance(k, slice) for k in indices]) or not isinstance(a, np.ndarray))
    return call(function.at, a, places_of(a.shape, indices), *b)


@instead_of(np.ufunc)
def ufunc(function, *args, out=None, where=True, casting="same_kind", dtype=None):
    refuse(function.nout != 1 or casting not in ("same_kind", "unsafe"))
    if len(args) > function.nin:
        refuse(out is not None)
        args, out = args[:function.nin], args[function.nin]
    if isinstance(out, tuple):
        out, = out
    refuse(out is None and where is not True)
    args = [x if is_scalar(x) else as_array(x) for x in args]
    refuse(all(is_scalar(x) or x.ndim == 0 for x in args))
    if dtype is not None:
        refuse(any(is_scalar(x) and not is_number(x) for x in args))
        args = loop_inputs(function, args, dtype, casting)
    result = call(function, *args)
    refuse(not isinstance(result, np.ndarray) or (dtype is not None and result.dtype != dtype))
    if out is None:
        return result
    refuse(not isinstance(out, np.ndarray) or not np.can_cast(result.dtype, out.dtype, casting))
    refuse(result.dtype.kind == "c" and out.dtype.kind != "c")
    refuse(np.broadcast_shapes(result.shape, out.shape) != out.shape)
    if where is not True:
        mask = as_array(where)
        refuse(mask.dtype != bool or np.broadcast_shapes(mask.shape, out.shape) != out.shape)
        # NumPy casts all of a copy of `out` there and back, where it needs one.
        refuse(result.dtype != out.dtype and any([isinstance(x, np.ndarray) and x is not out and shares(x, out) for x in (*args, mask)]))
        result = np.where(mask, result if result.dtype == out.dtype else result.astype(out.dtype), out)
    out[...] = result
    return out
