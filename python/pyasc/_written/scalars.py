"""Functions of arrays, of one number: of Python's, of NumPy's, or in an array without axes."""

import numpy as np

from . import call, instead_of, is_scalar, refuse


def numpys(x):
    """A number as NumPy's scalar."""
    if isinstance(x, np.ndarray):
        refuse(x.ndim > 0)
        return x[()]
    refuse(not is_scalar(x))
    if isinstance(x, np.generic):
        return x
    kind = np.bool_ if isinstance(x, bool) else np.int64 if isinstance(x, int) else np.float64 if isinstance(x, float) else np.complex128
    return call(kind, x)


def the_same(x):
    """The number as a result of its own."""
    return x if x.dtype.kind == "b" else np.positive(x)


@instead_of(np.round, np.around)
def round(a, decimals=0, out=None):
    refuse(out is not None)
    number = numpys(a)
    if number.dtype.kind in "iu":
        refuse(not isinstance(decimals, int) or decimals < 0)
        return the_same(number)
    refuse(number.dtype.kind != "f" or number is a)
    return number.round(decimals)


@instead_of(np.clip)
def clip(a, a_min=None, a_max=None, out=None, *, min=None, max=None):
    low, high = (a_min if min is None else min), (a_max if max is None else max)
    refuse(out is not None or (a_min is not None and min is not None) or (a_max is not None and max is not None))
    refuse(not all([x is None or is_scalar(x) for x in (low, high)]) or low is high is None)
    refuse(not is_scalar(a) and (not isinstance(a, np.ndarray) or a.ndim > 0 or a.dtype.kind not in "iuf"))
    refuse(any([isinstance(x, (bool, np.bool_, complex, np.complexfloating)) for x in (a, low, high)]))
    a = numpys(a)  # int64 and float64 are no weak types
    if isinstance(a, np.integer) and a.dtype.itemsize < 8:  # Python's ints are bounds of any size
        refuse(not all([isinstance(x, (np.generic, float)) for x in (low, high) if x is not None]))
    if low is not None:
        a = chosen(np.greater_equal, a, low)
    return a if high is None else chosen(np.less_equal, a, high)


def chosen(within, x, bound):
    """x where it is the bound or NaN, so that zeros keep their sign."""
    keep = call(np.logical_or, call(within, x, bound), call(np.not_equal, x, x))
    return call(np.where, keep, x, bound)[()]


@instead_of(np.sum)
def sum(a, axis=None, dtype=None, out=None):
    refuse(not (axis is dtype is out is None) or isinstance(a, np.generic))
    number = numpys(a)
    refuse(isinstance(a, np.ndarray) or number.dtype.kind == "c")
    return call(np.int64, a) if number.dtype.kind == "b" else the_same(number) + 0


def mean_of(a):
    """The mean of one number."""
    number = numpys(a)
    refuse(number.dtype.kind == "c" or number.dtype.char in "eg")
    return number + 0 if number.dtype.kind == "f" else call(np.float64, number)
