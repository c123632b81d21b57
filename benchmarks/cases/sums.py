"""Reductions of every kind over arrays of growing size, with and without a producer."""

import numpy as np


def plain_sum(x):
    return np.sum(x)


def sum_of_squares(x):
    return np.sum(x * x)


def mean_of_difference(x, y):
    return np.mean(x - y)


def product(x):
    return np.prod(x * 0.5 + 1)


def largest_distance(x, y):
    return np.max(np.abs(x - y))


def any_above(x, y):
    return np.any(x - y > 10)


def row_sums(a):
    return np.sum(a * a, axis=-1)


def row_maxima(a):
    return np.max(np.abs(a), axis=-1)


def column_sums(a):
    return np.sum(a * a, axis=0)


def column_maxima(a):
    return np.max(np.abs(a), axis=0)


def centred(a):
    return a - np.mean(a, axis=-1, keepdims=True)


def variance(a):
    return np.var(a, axis=-1)


def cases():
    rng = np.random.default_rng(6)
    for n in (1_000, 10_000, 100_000, 1_000_000, 10_000_000):
        x, y = rng.random(n), rng.random(n)
        for function in (plain_sum, sum_of_squares):
            yield f"{function.__name__} {n}", function, (x,)
        if n in (1_000, 100_000):
            yield f"product {n}", product, (x,)
            for function in (mean_of_difference, largest_distance, any_above):
                yield f"{function.__name__} {n}", function, (x, y)
    yield "sum_of_squares float32 100000", sum_of_squares, (rng.random(100_000).astype("f4"),)
    yield "sum_of_squares int64 100000", sum_of_squares, (rng.integers(0, 9, 100_000),)
    for shape in ((100_000, 10), (1000, 1000), (20, 50_000)):
        a = rng.random(shape)
        for function in (row_sums, row_maxima, column_sums, column_maxima, centred, variance):
            yield f"{function.__name__} {shape[0]}x{shape[1]}", function, (a,)
