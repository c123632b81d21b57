"""Functions that move elements, compared with NumPy: for test_copies, test_joins, test_gathers, test_scatters."""
import copy

import numpy as np

import pyasc
from nesting import picture

DTYPES = ["f8", "f4", "i8", "i4", "i2", "u1", "?", "c16"]


def made(dtype, shape=(5, 7), seed=0):
    rng = np.random.default_rng(seed)
    x = rng.integers(-50, 50, shape) if np.dtype(dtype).kind in "iu" else rng.standard_normal(shape) * 5
    if dtype == "?":
        return x > 0
    return (abs(x) if dtype == "u1" else x).astype(dtype)


def layouts(dtype, shape=(6, 8)):
    """Arrays of one dtype and two axes as they may lie in memory."""
    big = made(dtype, (2 * shape[0], 2 * shape[1]))
    return {
        "C": made(dtype, shape), "F": np.asfortranarray(made(dtype, shape)), "strided": big[::2, ::2],
        "reversed": made(dtype, shape)[::-1, ::-1], "broadcast": np.broadcast_to(made(dtype, shape[1:]), shape),
        "window": big[1:1 + shape[0], 3:3 + shape[1]], "turned": made(dtype, shape[::-1]).T,
        "column": big[:, :1][:shape[0]], "empty": made(dtype, (0, shape[1])),
    }


def strides(x):
    """The strides of arrays in what a function gives; they count where an axis has several elements."""
    if isinstance(x, (tuple, list)):
        return [strides(v) for v in x]
    if not isinstance(x, np.ndarray):
        return None
    axes = [s for s, n in zip(x.strides, x.shape) if n > 1] if x.size else []
    return axes, x.flags.writeable


def check(plain, *argsets, compiled=True, tiers=(0, 1), numerics="strict"):
    """`plain` jitted gives on every set of arguments what it gives itself, call after call; tier 1 without
    calls of NumPy where it is `compiled`."""
    for tier in tiers:
        jitted = pyasc.jit(plain, tier=tier, numerics=numerics)
        for args in argsets:
            for turn in range(2):
                assert picture(jitted, args) == picture(plain, args), (tier, turn)
            try:
                expected = plain(*copy.deepcopy(args))
            except Exception:
                continue
            assert strides(jitted(*copy.deepcopy(args))) == strides(expected)
        if compiled and tier == 1:
            assert not jitted.report()["fallback"], jitted.report()["reasons"]
