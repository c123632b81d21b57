"""Loops over elements, numbers and rows, as they are written for Numba and Fortran."""

import math

import numpy as np


def masked_sum(x, bound):
    total = 0.0
    for i in range(x.shape[0]):
        if x[i] > bound:
            total += x[i]
    return total


def running_extremes(x):
    low = high = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] > high:
            high, at = x[i], i
        elif x[i] < low:
            low = x[i]
    return low, high, at


def exponential_smoothing(x, alpha):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = alpha * x[i] + (1 - alpha) * out[i - 1]
    return out


def edit_distance(a, b):
    previous = np.arange(len(b) + 1)
    current = np.zeros(len(b) + 1, dtype=np.int64)
    for i in range(len(a)):
        current[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j + 1] + 1, current[j] + 1, previous[j] + cost)
        previous[:] = current
    return previous[len(b)]


def sieve(n):
    prime = np.ones(n, dtype=np.bool_)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            for k in range(i * i, n, i):
                prime[k] = False
        i += 1
    return prime


def cholesky(matrix):
    a = matrix.copy()
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = math.sqrt(a[i, i])
    return a


def tridiagonal(lower, diagonal, upper, right):
    n = len(diagonal)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = upper[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / m
        d[i] = (right[i] - lower[i] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def escape_times(width, height, most):
    out = np.zeros((height, width), dtype=np.int64)
    for i in range(height):
        for j in range(width):
            c = complex(-2 + 3 * j / width, -1 + 2 * i / height)
            z, n = 0j, 0
            while n < most and z.real * z.real + z.imag * z.imag < 4:
                z = z * z + c
                n += 1
            out[i, j] = n
    return out


def sparse_product(values, columns, starts, x):
    out = np.zeros(len(starts) - 1)
    for row in range(len(starts) - 1):
        total = 0.0
        for k in range(starts[row], starts[row + 1]):
            total += values[k] * x[columns[k]]
        out[row] = total
    return out


def bisection(low, high, steps):
    for _ in range(steps):
        middle = 0.5 * (low + high)
        if math.cos(middle) > middle:
            low = middle
        else:
            high = middle
    return low


def relaxation(a, sweeps):
    for _ in range(sweeps):
        for i in range(1, a.shape[0] - 1):
            for j in range(1, a.shape[1] - 1):
                a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i, j + 1] + a[i + 1, j]) / 5.0
    return a


def cases():
    rng = np.random.default_rng(7)
    x = rng.standard_normal(10_000)
    square = rng.random((60, 60))
    counts = rng.integers(0, 12, 2000)
    starts = np.concatenate([[0], np.cumsum(counts)])
    yield "masked_sum 10000", masked_sum, (x, 0.5)
    yield "running_extremes 10000", running_extremes, (x,)
    yield "exponential_smoothing 10000", exponential_smoothing, (x, 0.1)
    yield "edit_distance 200x180", edit_distance, (rng.integers(0, 4, 200), rng.integers(0, 4, 180))
    yield "sieve 20000", sieve, (20_000,)
    yield "cholesky 60", cholesky, (square @ square.T + 60 * np.eye(60),)
    yield "tridiagonal 5000", tridiagonal, (rng.random(5000), 4 + rng.random(5000), rng.random(5000), x[:5000])
    yield "escape_times 60x40", escape_times, (60, 40, 50)
    yield "sparse_product 2000", sparse_product, (rng.random(starts[-1]), rng.integers(0, 500, starts[-1]), starts,
                                                  rng.random(500))
    yield "bisection 2000", bisection, (0.0, 1.0, 2000)
    yield "relaxation 60", relaxation, (rng.random((60, 60)), 2)
