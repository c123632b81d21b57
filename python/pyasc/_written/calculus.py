"""Differences, derivatives and integrals of samples."""

import numpy as np

from . import as_array, axis_of, call, instead_of, is_scalar, refuse


def _along(axis, ndim, part):
    """An index that takes `part` of one axis and all of the others."""
    index = [slice(None)] * ndim
    index[axis] = part
    return tuple(index)


def _beside(a, axis, x):
    """What is put before or behind the samples."""
    if is_scalar(x):
        x = call(np.array, [x])
        x = np.broadcast_to(x, (*a.shape[:axis], 1, *a.shape[axis + 1:]))
    return as_array(x)


@instead_of(np.diff)
def diff(a, n=1, axis=-1, prepend=np._NoValue, append=np._NoValue):
    a = as_array(a)
    refuse(type(n) is not int or not 1 <= n <= 8 or a.ndim == 0)
    axis = axis_of(axis, a.ndim)
    whole = prepend is np._NoValue and append is np._NoValue
    refuse(whole and n == 1)
    if not whole:
        parts = [a if x is a else _beside(a, axis, x) for x in (prepend, a, append) if x is not np._NoValue]
        a = np.concatenate(parts, axis)
    for _ in range(n):
        a = call(np.diff, a, axis=axis)
    return a


def _running(ufunc, x, axis, dtype, out, include_initial):
    x = as_array(x)
    refuse(out is not None or x.ndim == 0 or (axis is None and x.ndim > 1))
    axis = axis_of(0 if axis is None else axis, x.ndim)
    sums = call(ufunc.accumulate, x, axis=axis, dtype=dtype)
    if not include_initial:
        return sums
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1:])
    return np.concatenate([call(np.full, shape, ufunc.identity, sums.dtype), sums], axis)


@instead_of(np.cumulative_sum)
def cumulative_sum(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return _running(np.add, x, axis, dtype, out, include_initial)


@instead_of(np.cumulative_prod)
def cumulative_prod(x, /, *, axis=None, dtype=None, out=None, include_initial=False):
    return _running(np.multiply, x, axis, dtype, out, include_initial)


@instead_of(np.ediff1d)
def ediff1d(ary, to_end=None, to_begin=None):
    if to_end is not None or to_begin is not None:
        return NotImplemented
    x = as_array(ary).ravel()
    return x[1:] - x[:-1]


@instead_of(np.trapezoid)
def trapezoid(y, x=None, dx=1.0, axis=-1):
    y = as_array(y)
    if x is None:
        steps = dx
    else:
        x = as_array(x)
        steps = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        if x.ndim == 1:
            shape = [1] * y.ndim
            shape[axis] = steps.shape[0]
            steps = steps.reshape(shape)
    after, before = y[_along(axis, y.ndim, slice(1, None))], y[_along(axis, y.ndim, slice(None, -1))]
    return (steps * (after + before) / 2.0).sum(axis)


@instead_of(np.unwrap)
def unwrap(p, discont=None, axis=-1, *, period=2 * np.pi):
    p = as_array(p)
    if p.dtype.kind != "f" or type(period) is not float:
        return NotImplemented  # whole periods of integers have rules of their own
    if discont is None:
        discont = period / 2
    high, low = period / 2, -(period / 2)
    step = np.diff(p, axis=axis)
    turned = np.mod(step - low, period) + low
    turned = np.where((turned == low) & (step > 0), high, turned)
    correction = np.where(abs(step) < discont, 0, turned - step)
    rest = _along(axis, p.ndim, slice(1, None))
    up = p.copy("K") if p.dtype.isnative else p.astype(step.dtype)
    up[rest] = p[rest] + correction.cumsum(axis)
    return up


def _steps(f, axes, varargs):
    """For each axis a spacing, or the spacings between samples."""
    if len(varargs) == 0:
        return [1.0] * len(axes)
    if len(varargs) == 1 and np.ndim(varargs[0]) == 0:
        return [varargs[0]] * len(axes)
    if len(varargs) != len(axes):
        return None
    steps = []
    for axis, places in zip(axes, varargs):
        places = as_array(places) if np.ndim(places) else places
        if np.ndim(places) > 1 or np.ndim(places) == 1 and len(places) != f.shape[axis]:
            return None
        if np.ndim(places) == 1:
            if places.dtype.kind in "iu":
                places = places.astype(np.float64)
            differences = np.diff(places)
            uniform = bool((differences == differences[0]).all())
            places = differences[0] if uniform else differences
        steps.append(places)
    return steps


def _combined(f, axis, weights, places):
    """The weighted sum of windows of f: first to last, as NumPy adds them."""
    a, b, c = weights
    i, j, k = [_along(axis, f.ndim, place) for place in places]
    return a * f[i] + b * f[j] + c * f[k]


def _inner(f, axis, step):
    places = slice(None, -2), slice(1, -1), slice(2, None)
    if np.ndim(step) == 0:
        after, before = f[_along(axis, f.ndim, places[2])], f[_along(axis, f.ndim, places[0])]
        return (after - before) / (2.0 * step)
    h, k = step[0:-1], step[1:]
    shape = [1] * f.ndim
    shape[axis] = -1
    weights = -k / (h * (h + k)), (k - h) / (h * k), h / (k * (h + k))
    return _combined(f, axis, [w.reshape(shape) for w in weights], places)


def _first(f, axis, step, order):
    if order == 1:
        h = step if np.ndim(step) == 0 else step[0]
        return (f[_along(axis, f.ndim, 1)] - f[_along(axis, f.ndim, 0)]) / h
    if np.ndim(step) == 0:
        weights = -1.5 / step, 2.0 / step, -0.5 / step
    else:
        h, k = step[0], step[1]
        weights = -(2.0 * h + k) / (h * (h + k)), (h + k) / (h * k), -h / (k * (h + k))
    return _combined(f, axis, weights, (0, 1, 2))


def _last(f, axis, step, order):
    if order == 1:
        h = step if np.ndim(step) == 0 else step[-1]
        return (f[_along(axis, f.ndim, -1)] - f[_along(axis, f.ndim, -2)]) / h
    if np.ndim(step) == 0:
        weights = 0.5 / step, -2.0 / step, 1.5 / step
    else:
        h, k = step[-2], step[-1]
        weights = k / (h * (h + k)), -(k + h) / (h * k), (2.0 * k + h) / (k * (h + k))
    return _combined(f, axis, weights, (-3, -2, -1))


@instead_of(np.gradient)
def gradient(f, *varargs, axis=None, edge_order=1):
    f = as_array(f)
    if f.dtype.kind not in "iufc" or edge_order not in (1, 2):
        return NotImplemented
    if axis is None:
        axes = tuple(range(f.ndim))
    else:
        given = list(axis) if isinstance(axis, tuple) else [axis]
        axes = [a % f.ndim for a in given if -f.ndim <= a < f.ndim]
        if len(axes) != len(given) or len(set(axes)) != len(axes):
            return NotImplemented
    steps = _steps(f, axes, varargs)
    if not axes or steps is None or min([f.shape[a] for a in axes]) < edge_order + 1:
        return NotImplemented
    if f.dtype.kind in "iu":
        f = f.astype(np.float64)
    parts = []
    for a, step in zip(axes, steps):
        part = np.empty_like(f)
        part[_along(a, f.ndim, slice(1, -1))] = _inner(f, a, step)
        part[_along(a, f.ndim, 0)] = _first(f, a, step, edge_order)
        part[_along(a, f.ndim, -1)] = _last(f, a, step, edge_order)
        parts.append(part)
    return parts[0] if len(axes) == 1 else tuple(parts)
