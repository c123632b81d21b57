"""Beside Fourier transforms."""

import numpy as np


def _shifted(x, axes, sign):
    x = np.asarray(x)
    if axes is None:
        axes = range(x.ndim)
    elif type(axes) is int:
        axes = [axes]
    for axis in axes:
        n = x.shape[axis]
        x = np.roll(x, n // 2 if sign > 0 else -(n // 2), axis)
    return x


def fftshift(x, axes=None):
    return _shifted(x, axes, 1)


def ifftshift(x, axes=None):
    return _shifted(x, axes, -1)
