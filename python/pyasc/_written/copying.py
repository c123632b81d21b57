"""Copies of arrays and numbers by the module copy."""

import copy as copies

import numpy as np

from . import instead_of, is_scalar, refuse


def copied(x):
    if isinstance(x, np.ndarray):
        refuse(x.ndim == 0)
        return x.copy(order="K")
    if isinstance(x, np.generic):
        return np.positive(x) if x.dtype.kind in "iufc" else NotImplemented
    refuse(not is_scalar(x) and not isinstance(x, str) and x is not None)
    return x


@instead_of(copies.copy)
def copy(x):
    return copied(x)


@instead_of(copies.deepcopy)
def deepcopy(x, memo=None):
    refuse(memo is not None)
    if type(x) is not tuple:
        return copied(x)
    refuse(len({id(v) for v in x}) < len(x) or not any([isinstance(v, np.ndarray) for v in x]))
    return tuple([deepcopy(v) for v in x])
