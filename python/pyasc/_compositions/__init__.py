"""Functions of NumPy in terms of other ones.

Where one is called in traced code, the function here is traced in its place, like a helper of the
user's: what it is composed of fuses with what is around it. One line of `NAMES` adds a function, which
a module of this package has under the same name and with NumPy's parameters.

Law 1: values, dtype, shape, memory order and writability are NumPy's, for all that it takes.
Law 2: what it does not take it answers with NotImplemented, before anything is written: NumPy is called
       then, as it is where the function raises.
Law 3: nothing is asked of values (no branch on an element), and there are no effects.
"""

import functools
import importlib

import numpy as np

#: Module of this package -> functions of NumPy's namespace.
NAMES = {
    "products": "cross",
}

_modules = {name: module for module, names in NAMES.items() for name in names.split()}


def functions():
    """NumPy's functions that are composed here."""
    return [getattr(np, name) for name in _modules]


@functools.cache
def find(function):
    """What is traced where NumPy's function is called."""
    name = function.__name__
    return getattr(importlib.import_module("." + _modules[name], __name__), name)
