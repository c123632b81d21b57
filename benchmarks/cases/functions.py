"""Functions that NumPy has in Python, and arithmetic of numbers around arrays."""

import numpy as np


def crossed(a, b):
    return np.cross(a, b) * 2


def slope(x):
    return np.gradient(x)


def chosen(x):
    return np.select([x > 0.8, x < 0.2], [x * 2, -x], 0.5)


def bordered(m):
    return np.pad(m, 2, mode="reflect")


def middle(x):
    return np.median(x)


def close(x, y):
    return np.allclose(x, y)


def weighted(x, y):
    return np.average(x, weights=y)


def area(x, y):
    return np.trapezoid(y, x)


def finite(x):
    return np.nan_to_num(x, posinf=9.0)


def halves(x):
    a, b = np.split(x, 2)
    return a + b


def guarded(x, y):
    return np.divide(x, y, out=np.zeros_like(x), where=y > 0.5)


def joined(x, y):
    return np.insert(np.delete(x, 3), 5, 1.0) + y


def members(i):
    return np.isin(i, [1, 5, 7])


def rotated(x, angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, -s], [s, c]]) @ x


def present_value(x, rate, years):
    return np.exp(-rate * years) * x + (rate + 0.5 * years) / 2


def cases():
    rng = np.random.default_rng(6)
    for n in (100, 10_000, 1_000_000):
        x, y, i = rng.random(n), rng.random(n), rng.integers(0, 9, n)
        side = int(n**0.5)
        yield f"cross {n}", crossed, (rng.random((n, 3)), rng.random((n, 3)))
        yield f"gradient {n}", slope, (x,)
        yield f"select {n}", chosen, (x,)
        yield f"pad reflect {side}x{side}", bordered, (rng.random((side, side)),)
        yield f"median {n}", middle, (x,)
        yield f"allclose {n}", close, (x, x + 1e-9)
        yield f"average with weights {n}", weighted, (x, y)
        yield f"trapezoid {n}", area, (np.sort(x), y)
        yield f"nan_to_num {n}", finite, (x,)
        yield f"split and add {n}", halves, (x,)
        yield f"divide where {n}", guarded, (x, y)
        yield f"delete and insert {n}", joined, (x, y)
        yield f"isin {n}", members, (i,)
        yield f"rotated 2x{n}", rotated, (rng.random((2, n)), 0.3)
        yield f"present value {n}", present_value, (x, 0.03, 7.5)
