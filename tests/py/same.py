"""Comparing what jitted and plain functions do."""
import functools

import numpy as np

import pyasc


def freeze(x):
    """A comparable picture of a value: types, dtypes, shapes, strides order and bits."""
    if isinstance(x, np.ndarray):
        if x.dtype.hasobject or type(x) is not np.ndarray:
            return type(x).__name__, str(x.dtype), x.shape, repr(x)
        axes = [i for i, n in enumerate(x.shape) if n > 1]
        order = sorted(axes, key=lambda i: -abs(x.strides[i])) if x.size > 1 else []
        return "array", x.dtype.str, x.shape, order, bits(x)
    if isinstance(x, np.generic):
        return type(x).__name__, x.dtype.str, bits(np.asarray(x))
    if isinstance(x, (list, tuple)):
        return type(x).__name__, *(freeze(v) for v in x)
    if isinstance(x, dict):
        return "dict", *((freeze(k), freeze(v)) for k, v in x.items())
    if isinstance(x, (set, frozenset)):
        return type(x).__name__, sorted(map(repr, x))
    if isinstance(x, BaseException):
        return type(x).__name__, str(x)
    if isinstance(x, (float, complex)):
        return type(x).__name__, repr(x)
    if x is None or isinstance(x, (int, str, bytes, bool)):
        return type(x).__name__, x
    if hasattr(x, "__dict__") and not isinstance(x, type) and not callable(x):
        return type(x).__name__, freeze(vars(x))
    return type(x).__name__


def bits(x):
    """The bytes of an array's elements, any NaN being one."""
    x = np.ascontiguousarray(x)
    if x.dtype.char in "gG":  # their padding holds anything
        return [repr(v) for v in x.ravel()]
    if x.dtype.kind == "c":
        return bits(x.real), bits(x.imag)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return x.tobytes()


def outcome(function, *args, **kwargs):
    """What a call returns or raises, as a picture."""
    try:
        return "returned", freeze(function(*args, **kwargs))
    except Exception as error:
        return "raised", freeze(error)


def assert_same(scenario, **settings):
    """`scenario(wrap)` has to give the same list for a jitting `wrap` and for one that does nothing."""
    expected = [freeze(v) for v in scenario(lambda f: f)]
    assert expected, "a scenario says what it saw"
    for wrap in (pyasc.jit, functools.partial(pyasc.jit, tier=0, **settings),
                 functools.partial(pyasc.jit, tier=1, **settings)):
        got = [freeze(v) for v in scenario(wrap)]
        for number, (e, g) in enumerate(zip(expected, got)):
            assert g == e, f"observation {number}: {g} instead of {e}"
        assert len(got) == len(expected)


def scenarios(namespace):
    """The functions `scenario_…` of a module, for pytest.mark.parametrize."""
    found = {n[9:]: f for n, f in namespace.items() if n.startswith("scenario_")}
    return list(found.values()), list(found)
