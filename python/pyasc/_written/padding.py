"""Arrays with a border."""

import numpy as np

from . import as_array, call, in_dtype, instead_of


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


def _place(mode, i, n):
    """The element that stands at place i, which may lie outside of the n there are."""
    if mode == "wrap":
        return i % n
    if mode == "symmetric":
        i %= 2 * n
        return min(i, 2 * n - 1 - i)
    if n == 1:
        return 0
    i %= 2 * (n - 1)
    return min(i, 2 * (n - 1) - i)


def _repeated(array, widths, mode):
    """Borders of more than one copy: gathered, axis by axis."""
    for axis, (before, after) in enumerate(widths):
        n = array.shape[axis]
        if before or after:
            places = [_place(mode, i - before, n) for i in range(n + before + after)]
            array = np.take(array, call(np.array, places), axis=axis)
    return array


def _pairs(given, ndim):
    """A value for both sides of each axis, or None."""
    if type(given) in (int, float):
        return [(given, given)] * ndim
    if not isinstance(given, (list, tuple)):
        return None
    if len(given) == 2 and all([type(v) in (int, float) for v in given]):
        return [tuple(given)] * ndim
    rows = [tuple(row) for row in given if isinstance(row, (list, tuple)) and len(row) == 2]
    if len(rows) != len(given) or not all([type(v) in (int, float) for row in rows for v in row]):
        return None
    return rows * ndim if len(rows) == 1 else rows if len(rows) == ndim else None


def _ramp(end, edge, width, axis):
    """From `end` to next to the edge, in equal steps, as numpy.linspace has them."""
    shape = [1] * edge.ndim
    shape[axis] = width
    edge = in_dtype(edge, np.float64)
    places, step = call(np.arange, 0.0, width).reshape(shape), (edge - end) / width
    if np.any(step == 0):
        return places / width * (edge - end) + end
    return places * step + end


def _border(mode, line, side, width, axis, value):
    """What a border of one axis is, from the line of elements before or after it."""
    before = (slice(None),) * axis
    if mode == "constant":
        return value
    if mode == "maximum":
        return line.max(axis=axis, keepdims=True)
    if mode == "minimum":
        return line.min(axis=axis, keepdims=True)
    if mode == "mean":
        mean = line.mean(axis=axis, keepdims=True)
        return mean if line.dtype.kind == "f" else np.rint(mean)
    edge = line[(*before, slice(0, 1) if side == 0 else slice(-1, None))]
    ramp = _ramp(value, edge, width, axis)
    ramp = ramp if line.dtype.kind == "f" else np.floor(ramp)
    return ramp if side == 0 else ramp[(*before, slice(None, None, -1))]


def _copied(padded, mode, widths, axis, n):
    """Borders that are copies of windows."""
    before, after = widths[axis]
    left, right = _borders(mode, before, n, before, after)
    done = (slice(None),) * axis
    if before:
        padded[(*done, slice(0, before))] = padded[(*done, left)]
    if after:
        padded[(*done, slice(before + n, None))] = padded[(*done, right)]


#: Modes that take another argument than the width, and what it is without one.
_VALUES = {"constant": ("constant_values", 0), "linear_ramp": ("end_values", 0)}


def _takes(array, mode):
    if mode == "linear_ramp" or mode == "mean":
        return array.dtype.char == "d" or array.dtype.kind in "iu"
    return mode in ("edge", "reflect", "symmetric", "wrap", "constant", "empty") or (
        mode in ("maximum", "minimum") and array.dtype.kind in "iufb")


@instead_of(np.pad)
def pad(array, pad_width, mode="constant", **kwargs):
    array = as_array(array)
    widths = _widths(pad_width, array.ndim)
    name, value = _VALUES.get(mode, (None, 0)) if isinstance(mode, str) else (None, 0)
    if not isinstance(mode, str) or not _takes(array, mode) or widths is None or array.ndim == 0 or array.size == 0:
        return NotImplemented
    values = _pairs(kwargs.get(name, value), array.ndim)
    if any([key != name for key in kwargs]) or values is None:
        return NotImplemented
    if array.dtype.kind not in "fc" and not all([type(v) is int and abs(v) < 128 for row in values for v in row]):
        return NotImplemented  # a cast that NumPy does
    copies = mode in ("edge", "reflect", "symmetric", "wrap")
    if copies and mode != "edge":
        most = [max(pair) - (n - 1 if mode == "reflect" else n) for n, pair in zip(array.shape, widths)]
        if max(most) > 0:
            return NotImplemented if array.flags.fnc else _repeated(array, widths, mode)
    order = "F" if array.flags.fnc else "C"
    padded = call(np.empty, [n + sum(pair) for n, pair in zip(array.shape, widths)], array.dtype, order)
    padded[tuple([slice(pair[0], pair[0] + n) for n, pair in zip(array.shape, widths)])] = array
    for axis, (before, after) in enumerate(widths):
        rest = [slice(b, b + n) for n, (b, _) in zip(array.shape[axis + 1:], widths[axis + 1:])]
        n = array.shape[axis]
        window = padded[(*(slice(None),) * (axis + 1), *rest)]
        if copies:
            _copied(window, mode, widths, axis, n)
            continue
        done = (slice(None),) * axis
        line = window[(*done, slice(before, before + n))]
        if mode != "empty" and before:
            window[(*done, slice(0, before))] = _border(mode, line, 0, before, axis, values[axis][0])
        if mode != "empty" and after:
            window[(*done, slice(before + n, None))] = _border(mode, line, 1, after, axis, values[axis][1])
    return padded
