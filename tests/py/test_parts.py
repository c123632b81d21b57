"""round, clip, diff and pad: slices, ufuncs and stores of others."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made

LAYOUTS = list(layouts("f8"))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", "c16"])
def test_layouts(dtype, layout):
    def rounded(x):
        return np.round(x), x.round(), np.around(x, 2), x.round(-1), x.round(decimals=3), np.round(x, decimals=1)

    def differences(x):
        return np.diff(x), np.diff(x, axis=0), np.diff(x, 1, 1), np.diff(x, n=2)

    def padded(x):
        return np.pad(x, 1), np.pad(x, ((1, 2), (0, 3))), np.pad(x, (2, 1)), np.pad(x, 1, mode="edge"), np.pad(x, [0, 1], "edge")

    def clipped(x):
        return np.clip(x, 0, None), np.clip(x, None, 1), x.clip(min=0), x.clip(max=1), x.clip(0, 1), np.clip(x, 0, 1)

    x = layouts(dtype)[layout]
    for function in (rounded, differences, padded, clipped):
        if function is rounded and dtype == "?":
            continue
        check(function, (x,), compiled=False)


@pytest.mark.parametrize("dtype", DTYPES)
def test_special_values(dtype):
    x = made(dtype, (40,))
    if x.dtype.kind in "fc":
        x[:6] = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e300 if dtype != "f4" else 1e30]

    def functions(x):
        return np.diff(x), np.pad(x, 3), np.pad(x, 2, "edge"), np.pad(x, (0, 1)), np.pad(x, 0)

    def bounds(x):
        return np.clip(x, 0, None), np.clip(x, None, 2), np.clip(x + x, x, None)

    def floats(x):
        return np.round(x, 0), np.round(x, 1), x.round(3), x.round(10), x.round(15), x.round(-1), x.round(-2), x.round(2) + 1

    check(functions, (x,))
    if dtype not in "?c16":
        check(bounds, (x,), compiled=dtype not in ("u1",))
    if x.dtype.kind == "f":
        check(floats, (x,))


def test_constants_of_pad():
    def plain(x):
        return (np.pad(x, 1, constant_values=7), np.pad(x, 1, "constant", constant_values=2.5),
                np.pad(x, 1, constant_values=(1, 2)), np.pad(x, 2, mode="reflect"), np.pad(x, 1, mode="wrap"),
                np.pad(x, 1, constant_values=-3), np.pad(x, 1, constant_values=1000))

    def memory(x):
        y = np.pad(x, 1)
        x[:] = 5
        y[2] = 9
        return y, np.pad(y, 1, "edge")

    for dtype in DTYPES:
        if dtype != "u1":
            check(plain, (made(dtype, (6,)),), (made(dtype, (4, 5)),), compiled=False)
        check(memory, (made(dtype, (6,)),), (made(dtype, (4, 5)),))


def test_refused():
    def negative(x):
        return np.pad(x, -1)

    def mode(x):
        return np.pad(x, 1, "nothing")

    def axis(x):
        return np.diff(x, axis=4)

    def widths(x):
        return np.pad(x, (1, 2, 3))

    def bounds(x):
        return np.clip(x, None, None)

    for function in (negative, mode, axis, widths, bounds):
        check(function, (made("f8"),), compiled=False)
