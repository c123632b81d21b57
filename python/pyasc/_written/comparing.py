"""Arrays compared with each other."""

import numpy as np

from . import as_array, call, flat, instead_of, record, refuse


@instead_of(np.isclose)
def isclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    x, y = (v if v.__class__ in (int, float) else as_array(v) for v in (a, b))
    if isinstance(x, (int, float)) and isinstance(y, (int, float)):
        x, y = call(np.float64, x), call(np.float64, y)
    if type(rtol) is not float or type(atol) is not float or not (abs(rtol) < np.inf and abs(atol) < np.inf):
        return NotImplemented
    finite = True
    if type(y) in (int, float):
        y, finite = float(y), abs(y) < np.inf
    elif y.dtype.kind in "biu":
        y = y.astype(np.float64)
    elif y.dtype.kind not in "fc":
        return NotImplemented
    else:
        finite = np.isfinite(y)
    result = (abs(x - y) <= atol + rtol * abs(y)) & finite | (x == y)
    if equal_nan:
        result = result | ((x != x) & (y != y))
    return result


@instead_of(np.isin)
def isin(element, test_elements, assume_unique=False, invert=False, *, kind=None):
    x = as_array(element)
    if isinstance(test_elements, np.generic):
        refuse(x.dtype != test_elements.dtype or x.ndim == 0 or kind is not None or type(invert) is not bool)
        found = flat(x) == test_elements
        return (~found if invert else found).reshape(x.shape)
    if isinstance(test_elements, np.ndarray):
        return _among(x, test_elements, invert, kind)
    number = {"i": int, "u": int, "f": float}.get(x.dtype.kind)
    if number is None or not isinstance(test_elements, (list, tuple)) or not 1 <= len(test_elements) <= 24:
        return NotImplemented
    if kind is not None or not all([type(v) in (int, number) and abs(v) < 2**53 for v in test_elements]):
        return NotImplemented
    if number is float and any([abs(v) > np.finfo(x.dtype).max or float(x.dtype.type(v)) != v for v in test_elements]):
        return NotImplemented  # NumPy compares float64
    shape, x = x.shape, flat(x)
    found = x == test_elements[0]
    for value in test_elements[1:]:
        found = found | (x == value)
    return (~found if invert else found).reshape(shape)


def _among(x, elements, invert, kind):
    refuse(x.dtype != elements.dtype or x.dtype.kind not in "iuf" or x.dtype.char in "eg" or x.ndim == 0)
    refuse(kind is not None or elements.size == 0 or type(invert) is not bool)
    found = record(np.isin, False, flat(x), flat(elements)).reshape(x.shape)
    return ~found if invert else found


@instead_of(np.array_equiv)
def array_equiv(a1, a2):
    a1, a2 = as_array(a1), as_array(a2)
    try:
        np.broadcast_shapes(a1.shape, a2.shape)
    except ValueError:
        return False
    return bool(as_array(a1 == a2).all())


@instead_of(np.allclose)
def allclose(a, b, rtol=1.0e-5, atol=1.0e-8, equal_nan=False):
    return bool(np.all(np.isclose(a, b, rtol, atol, equal_nan)))


@instead_of(np.array_equal)
def array_equal(a1, a2, equal_nan=False):
    if equal_nan:
        return NotImplemented
    a1, a2 = as_array(a1), as_array(a2)
    if a1.shape != a2.shape:
        return False
    return bool((a1 == a2).all())
