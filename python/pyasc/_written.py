"""Functions of NumPy that move elements, written with views, stores and simpler ones.

The tracer runs these instead of NumPy's (trace/written.c): arrays that they get are its tracers, so that what
they do becomes operations of the plan.

Law 1: what comes back has NumPy's values, dtype, shape, order in memory and writability.
Law 2: what NumPy refuses, and what is not done here, is NumPy's: an exception, or NotImplemented, before anything
       is written.
"""

import numpy as np

from ._pyasc import hooks

#: A call as the user's code makes it: so are arrays of constants made.
call = hooks["call"]
layout, blank, real, shares = hooks["layout"], hooks["blank"], hooks["real"], hooks["shares"]
#: A call of NumPy's own, for which plans have functions of their own (jit/own.def), and if it writes its first
#: argument.
record = hooks["record"]

TABLE = {}


def instead_of(*callables):
    """The function stands for these of NumPy."""
    def keep(function):
        TABLE.update(dict.fromkeys(callables, function))
        return function
    return keep


def table():
    """All of them, by NumPy's callable."""
    from . import _written_joins, _written_places, _written_shapes, _written_ufuncs  # noqa: F401: they fill the table

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
    return isinstance(x, (int, float, complex, np.generic))


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


def repeated(v, n, dtype):
    """n elements of v, from the first on again and again; one element, where it has one. A list is made of a dtype."""
    if is_scalar(v):
        return v
    v = flat(call(np.array, v, dtype) if isinstance(v, (list, tuple)) else as_array(v))
    refuse(v.size == 0)
    if v.size == 1:
        return v
    if v.size >= n:
        return v[:n]
    result = blank(v, (-(-n // v.size), v.size), None)
    result[...] = v
    return result.reshape(-1)[:n]


def fits(number, dtype):
    """True if a Python number is stored in an array as what it is."""
    kind = dtype.kind
    if type(number) is bool:
        return kind == "b"
    if type(number) is int:
        return kind in "fc" or (kind in "iu" and np.iinfo(dtype).min <= number <= np.iinfo(dtype).max)
    return kind in ("fc" if type(number) is float else "c")
