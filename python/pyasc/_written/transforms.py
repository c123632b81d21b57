"""Beside Fourier transforms."""

import numpy as np

from . import as_array, instead_of


def _shifted(x, axes, sign):
    x = as_array(x)
    if axes is None:
        axes = range(x.ndim)
    elif type(axes) is int:
        axes = [axes]
    axes = tuple(axes)
    return np.roll(x, tuple(sign * (x.shape[axis] // 2) for axis in axes), axes)


@instead_of(np.fft.fftshift)
def fftshift(x, axes=None):
    return _shifted(x, axes, 1)


@instead_of(np.fft.ifftshift)
def ifftshift(x, axes=None):
    return _shifted(x, axes, -1)
