"""Functions of NumPy in terms of other ones.

Where one is called in traced code, the function here is traced in its place, like a helper of the
user's: what it is composed of fuses with what is around it. One word of `NAMES` adds a function, which
a module of this package has under the same name (without what is before a dot) and with NumPy's parameters.

Law 1: values, dtype, shape, memory order and writability are NumPy's, for all that it takes.
Law 2: what it does not take it answers with NotImplemented, before anything is written: NumPy is called
       then, as it is where the function raises.
Law 3: there are no effects, and nothing is asked of values that NumPy does not ask, too.
"""

import functools
import importlib

import numpy as np

#: Module of this package -> functions of NumPy's namespace.
NAMES = {
    "calculus": "diff ediff1d gradient trapezoid unwrap",
    "choosing": "nan_to_num select piecewise fromfunction",
    "comparing": "allclose array_equal isclose isin",
    "joining": "block delete dstack insert",
    "padding": "pad",
    "parting": "array_split dsplit hsplit split vsplit",
    "products": "cross outer linalg.norm",
    "series": "angle fix polyval sinc",
    "statistics": "average median percentile ptp quantile",
    "transforms": "fft.fftshift fft.ifftshift",
}

_modules = {name: module for module, names in NAMES.items() for name in names.split()}


def _of_numpy(name):
    return functools.reduce(getattr, name.split("."), np)


@functools.cache
def _table():
    return {_of_numpy(name): name for name in _modules}


def functions():
    """NumPy's functions that are composed here."""
    return list(_table())


@functools.cache
def find(function):
    """What is traced where NumPy's function is called."""
    name = _table()[function]
    module = importlib.import_module("." + _modules[name], __name__)
    return getattr(module, name.rpartition(".")[2])
