"""Memory layouts: results have NumPy's strides for arguments of every layout."""
import itertools
import linecache

import numpy as np
import pytest

import pyasc

BASE = np.arange(120.0).reshape(2, 3, 4, 5)
COLUMN = np.arange(3.0)[:, None]


def arrays():
    for axes in itertools.permutations(range(4)):
        x = BASE.transpose(axes)
        yield from (x, x[::-1], x[:, ::2], x[:, :1], x[0], x[:, :, None], x[:0], x[0, :, 0], x[..., ::-1])
    yield from (np.broadcast_to(COLUMN, (3, 4)), np.broadcast_to(COLUMN, (2, 3, 4)))
    yield from (np.broadcast_to(COLUMN[:, 0], (2, 1, 3)), np.broadcast_to(COLUMN[:, 0], (2, 3)))
    yield np.broadcast_to(np.float64(1), (2, 3))
    colors = np.arange(600.0).reshape(10, 20, 3)
    yield from (colors[..., ::-1], colors[:, ::2, ::2], colors.transpose(1, 0, 2)[:, :, 1:])
    fortran = np.asfortranarray(BASE)
    yield from (fortran, fortran[:, None], fortran[:1])


def strides(x):
    return [n for n, size in zip(x.strides, x.shape) if size > 1] if x.size else []


def casts(x):
    return x.astype("f4"), (x + 1).astype("f4"), x.T.astype("i8"), x.astype("f8"), x.astype("c8") + x


def arithmetic(x):
    return x * 2, x + x.astype("i4"), np.sqrt(x), -x, x > 1, np.where(x > 1, x, 2.0)


@pytest.mark.parametrize("function", [casts, arithmetic])
@pytest.mark.parametrize("tier", [0, 1])
def test_strides(function, tier):
    jitted = pyasc.jit(function, tier=tier)
    for x in arrays():
        for _ in range(3):
            for expected, got in zip(function(x), jitted(x)):
                assert strides(got) == strides(expected), (x.shape, x.strides)
                assert got.flags.c_contiguous == expected.flags.c_contiguous
                assert got.flags.f_contiguous == expected.flags.f_contiguous
                assert got.tobytes() == expected.tobytes()


def windows(x):
    w = np.lib.stride_tricks.sliding_window_view(x, 2, writeable=True)
    w += 1
    return x


def strided(x):
    w = np.lib.stride_tricks.as_strided(x, (7, 2), (8, 8))
    w[...] = w * 2
    np.add(w, 1, out=w)
    return x


@pytest.mark.parametrize("function", [windows, strided])
def test_windows_that_overlap_themselves(function):
    jitted = pyasc.jit(function)
    for _ in range(4):
        assert jitted(np.arange(8.0)).tolist() == function(np.arange(8.0)).tolist()


REVERSED = [
    lambda x: x[:, ::-1], lambda x: x[::-1, ::-1], lambda x: x[::-1], lambda x: x[::2, ::-2],
    lambda x: x.T[:, ::-1], lambda x: x[:, None, ::-1], lambda x: x[:, :3][:, ::-1], lambda x: x[0, ::-1],
    lambda x: x.reshape(4, 16, 64)[..., ::-1], lambda x: np.ascontiguousarray(x[:, ::-1])[:, ::-1],
]


@pytest.mark.parametrize("name", ["exp", "log", "tan", "sinh", "cbrt", "log1p", "sqrt", "sin"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_elementary_functions_of_reversed_arrays(name, dtype):
    """NumPy's loops take other paths for other strides, with other last bits."""
    x = np.random.default_rng(0).random((64, 64)).astype(dtype)
    text = f"def function(x): return np.{name}(x), np.{name}(x) * 2 + 1\n"
    linecache.cache[f"<{name}>"] = len(text), None, [text], f"<{name}>"
    scope = {"np": np}
    exec(compile(text, f"<{name}>", "exec"), scope)
    for tier in (0, 1):
        jitted = pyasc.jit(scope["function"], tier=tier, numerics="strict")
        for view in REVERSED:
            for _ in range(2):
                for expected, got in zip(scope["function"](view(x)), jitted(view(x))):
                    assert got.tobytes() == expected.tobytes(), (view(x).shape, view(x).strides)
