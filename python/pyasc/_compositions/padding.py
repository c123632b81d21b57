"""Arrays with a border."""

import numpy as np


def _widths(pad_width, ndim):
    """(before, after) for each axis, or None."""
    if type(pad_width) is int:
        return [(pad_width, pad_width)] * ndim
    if not isinstance(pad_width, (list, tuple)):
        return None
    rows = [(row, row) if type(row) is int else tuple(row) if isinstance(row, (list, tuple)) else () for row in pad_width]
    if all([type(n) is int for n in pad_width]):
        if len(pad_width) == 2:
            rows = [tuple(pad_width)]
        elif len(pad_width) != 1:
            return None
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    if len(rows) == 1:
        rows = rows * ndim
    if len(rows) != ndim or not all([len(row) == 2 and min(row) >= 0 for row in rows]):
        return None
    return rows


def _borders(mode, first, n, before, after):
    """Index ranges, along an axis of n elements from `first` on, that the two borders are copies of."""
    end = first + n
    if mode == "edge":
        return slice(first, first + 1), slice(end - 1, end)
    if mode == "wrap":
        return slice(end - before, end), slice(first, first + after)
    inner = mode == "reflect"  # the element at the edge is not repeated
    left = slice(first + before - 1 + inner, first - 1 + inner if first + inner else None, -1)
    right = slice(end - 1 - inner, end - 1 - inner - after if end - 1 - inner - after >= 0 else None, -1)
    return left, right


def pad(array, pad_width, mode="constant", **kwargs):
    if mode not in ("edge", "reflect", "symmetric", "wrap") or kwargs:
        return NotImplemented
    array = np.asarray(array)
    widths = _widths(pad_width, array.ndim)
    if widths is None or array.ndim == 0 or array.size == 0:
        return NotImplemented
    for n, pair in zip(array.shape, widths):
        if mode != "edge" and max(pair) > (n - 1 if mode == "reflect" else n):
            return NotImplemented  # the border is more than one copy
    order = "F" if array.flags.fnc else "C"
    padded = np.empty([n + sum(pair) for n, pair in zip(array.shape, widths)], array.dtype, order)
    padded[tuple([slice(pair[0], pair[0] + n) for n, pair in zip(array.shape, widths)])] = array
    for axis, (before, after) in enumerate(widths):
        done = (slice(None),) * axis
        rest = [slice(b, b + n) for n, (b, _) in zip(array.shape[axis + 1:], widths[axis + 1:])]
        n = array.shape[axis]
        left, right = _borders(mode, before, n, before, after)
        if before:
            padded[(*done, slice(0, before), *rest)] = padded[(*done, left, *rest)]
        if after:
            padded[(*done, slice(before + n, None), *rest)] = padded[(*done, right, *rest)]
    return padded
