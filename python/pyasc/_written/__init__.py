"""Functions of NumPy that others make up, written with operations, views, stores and simpler ones.

The tracer runs these instead of NumPy's (trace/written.c): arrays that they get are its tracers, so that what
they do becomes operations of the plan.

Law 1: what comes back has NumPy's values, dtype, shape, order in memory and writability.
Law 2: what NumPy refuses, and what is not done here, is NumPy's: an exception, or NotImplemented, before anything
       is written.
Law 3: nothing is asked of values that NumPy does not ask, and there are no effects.

A function runs as it stands, without hooks: calls that NumPy does not hand to its arguments (`np.array`, `np.empty`,
functions of the user's) go through `call`, and NumPy's scalars that are no tracers must not meet any.
"""

import copy
import functools
import importlib

import numpy as np

from .._pyasc import hooks

#: A call as the user's code makes it: so are arrays of constants made.
call = hooks["call"]
layout, dense, blank, real, shares = (hooks[name] for name in ("layout", "dense", "blank", "real", "shares"))
#: A call of NumPy's own, for which plans have functions of their own (jit/own.def), and if it writes its first
#: argument.
record = hooks["record"]

#: Module -> what it has functions for; it is imported when one of them is called.
NAMES = {
    "calculus": "cumulative_prod cumulative_sum diff ediff1d gradient trapezoid unwrap",
    "choosing": "fromfunction nan_to_num piecewise select",
    "copying": "copy.copy copy.deepcopy",
    "comparing": "allclose array_equal array_equiv isclose isin",
    "joins": "append array asanyarray asarray block column_stack concatenate delete digitize dstack hstack insert ix_ meshgrid stack vstack",
    "padding": "pad",
    "parting": "array_split dsplit hsplit split vsplit",
    "places": "choose compress copyto diag diag_indices_from diagflat extract fill_diagonal ndarray.choose ndarray.compress ndarray.put "
              "ndarray.take place put put_along_axis putmask ravel_multi_index take take_along_axis tril_indices_from "
              "triu_indices_from unravel_index",
    "products": "cross linalg.cross linalg.norm outer",
    "scalars": "around clip round sum",
    "series": "angle fix imag isneginf isposinf isreal polyadd polyder polyint polysub polyval real real_if_close sinc vander",
    "shapes": "arange atleast_1d atleast_2d atleast_3d broadcast_arrays broadcast_to flatiter.__getitem__ flatiter.__iter__ flatiter.__setitem__ linspace "
              "ndarray.flatten ndarray.ravel ndarray.reshape ndenumerate ndindex ravel repeat ndarray.repeat reshape resize roll tile",
    "statistics": "average mean median ndarray.mean ndarray.std ndarray.var percentile ptp quantile std var",
    "transforms": "fft.fftshift fft.ifftshift",
    "ufuncs": "ufunc ufunc.at",
}

#: NumPy's callable -> the function that stands for it, or the module that has it.
TABLE = {}


def instead_of(*callables):
    """The function stands for these of NumPy."""
    def keep(function):
        TABLE.update(dict.fromkeys(callables, function))
        return function
    return keep


def named(name):
    """What a name of NAMES stands for: of numpy's, or of the module copy's."""
    path = name.split(".")
    return functools.reduce(getattr, path[1:], copy) if path[0] == "copy" else functools.reduce(getattr, path, np)


def table():
    """All of them, by NumPy's callable."""
    for module, names in NAMES.items():
        for name in names.split():
            TABLE.setdefault(named(name), module)
    return TABLE


def load(module):
    """The module's functions into the table."""
    importlib.import_module("." + module, __name__)


def refuse(condition):
    """Leaves the rest to NumPy if the condition holds."""
    if condition:
        raise NotImplementedError


def as_array(x):
    return x if isinstance(x, np.ndarray) else call(np.asarray, x)


def in_dtype(x, dtype):
    """x, or a copy in another dtype."""
    return x if x.dtype == dtype else x.astype(dtype)


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
