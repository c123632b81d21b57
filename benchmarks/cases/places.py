"""Positions of extremes, running sums, and elements taken from places and put there."""

import numpy as np


def position(x):
    return np.argmax(x, axis=-1)


def position_of_chain(x):
    return (x * 2 + 1).argmax()


def running(x):
    return np.cumsum(x, axis=-1)


def running_down(x):
    return np.cumsum(x, axis=0)


def taken(x, i):
    return x[i]


def taken_and_used(x, i):
    return x[i] * 2 + 1


def put(x, i, v):
    x[i] += v


def picked(x):
    return x[x > 0.5].sum()


def cases():
    rng = np.random.default_rng(5)
    for n in (100, 10_000, 1_000_000):
        x, i = rng.random(n), rng.integers(0, n, n)
        yield f"argmax {n}", position, (x,)
        yield f"(x*2+1).argmax() {n}", position_of_chain, (x,)
        yield f"cumsum {n}", running, (x,)
        yield f"x[i] {n}", taken, (x, i)
        yield f"x[i]*2+1 {n}", taken_and_used, (x, i)
        yield f"x[i] += v {n}", put, (x, i, rng.random(n))
        yield f"x[mask].sum() {n}", picked, (x,)
    for dtype in ("f8", "f4", "i8"):
        m = (rng.random((1000, 1000)) * 1000).astype(dtype)
        yield f"argmax of rows {dtype} 1000x1000", position, (m,)
        yield f"argmax of rows {dtype} 10000x300", position, ((rng.random((10_000, 300)) * 1000).astype(dtype),)
        yield f"cumsum along rows {dtype} 1000x1000", running, (m,)
        yield f"cumsum down columns {dtype} 1000x1000", running_down, (m,)
