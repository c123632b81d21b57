"""Arrays parted into views."""

import numpy as np

from . import as_array, instead_of


def _parted(ary, ends, axis):
    before = (slice(None),) * axis
    starts = [0, *ends]
    return [ary[(*before, slice(i, j))] for i, j in zip(starts, [*ends, None])]


def _ends(ary, parts, axis, even):
    """Where each part but the last ends, or None."""
    if isinstance(parts, (list, tuple)):
        return list(parts) if all([type(i) is int for i in parts]) else None
    if type(parts) is not int or parts <= 0 or even and ary.shape[axis] % parts:
        return None
    size, longer = divmod(ary.shape[axis], parts)
    return [i * size + min(i, longer) for i in range(1, parts)]


def _split(ary, parts, axis, even):
    ary = as_array(ary)
    if type(axis) is not int or not -ary.ndim <= axis < ary.ndim:
        return NotImplemented
    axis = axis % ary.ndim
    ends = _ends(ary, parts, axis, even)
    if ends is None:
        return NotImplemented
    return _parted(ary, ends, axis)


@instead_of(np.array_split)
def array_split(ary, indices_or_sections, axis=0):
    return _split(ary, indices_or_sections, axis, False)


@instead_of(np.split)
def split(ary, indices_or_sections, axis=0):
    return _split(ary, indices_or_sections, axis, True)


@instead_of(np.hsplit)
def hsplit(ary, indices_or_sections):
    ary = as_array(ary)
    return _split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0, True)


@instead_of(np.vsplit)
def vsplit(ary, indices_or_sections):
    ary = as_array(ary)
    return _split(ary, indices_or_sections, 0, True) if ary.ndim > 1 else NotImplemented


@instead_of(np.dsplit)
def dsplit(ary, indices_or_sections):
    ary = as_array(ary)
    return _split(ary, indices_or_sections, 2, True) if ary.ndim > 2 else NotImplemented
