"""ptp, average and fill: a reduction and a little around it, or a store."""
import numpy as np
import pytest

from moves import DTYPES, check, layouts, made


@pytest.mark.parametrize("layout", list(layouts("f8")))
@pytest.mark.parametrize("dtype", DTYPES)
def test_layouts(dtype, layout):
    def spans(x):
        return np.ptp(x), np.ptp(x, 0), np.ptp(x, axis=-1), np.ptp(x, axis=None)

    def averages(x):
        return np.average(x), np.average(x, 0), np.average(x, axis=1), np.average(x, None)

    def weighted(x):
        return np.average(x, weights=abs(x) + 1), np.average(x, returned=True), np.ptp(x, keepdims=True)

    x = layouts(dtype)[layout]
    for function in (spans, averages, weighted):
        check(function, (x,), compiled=False)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0, 3, 2.5, True, -1, 300, np.nan, 1j, np.float32(1.5)])
def test_fill(dtype, number):
    def own(x):
        y = x + x
        y.fill(number)
        return y, y + x

    def argument(x):
        x.fill(number)
        return x

    def window(x):
        y = x[1:, ::2]
        y.fill(number)
        return x

    for function in (own, argument, window):
        check(function, (made(dtype),), compiled=False)


def test_nothing_is_called():
    def functions(x):
        y = np.empty_like(x)
        y.fill(2)
        return np.ptp(x) + np.average(x), y * 2

    check(functions, (made("f8", (5000,)),), (made("f8", (5000,), 1),), numerics="numpy", tiers=(1,))


def test_refused():
    def nothing(x):
        return np.ptp(x[:0])

    def axis(x):
        return np.average(x, 5)

    def readonly(x):
        x.fill(1)
        return x

    for function in (nothing, axis):
        check(function, (made("f8"),), compiled=False)
    x = made("f8")
    x.flags.writeable = False
    check(readonly, (x,), compiled=False)
