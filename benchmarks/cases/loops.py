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


def count_inside(points):
    count = 0
    for i in range(points.shape[0]):
        if points[i, 0] ** 2 + points[i, 1] ** 2 < 1:
            count += 1
    return 4 * count / points.shape[0]


def longest_chain(n):
    best = at = 0
    for i in range(1, n):
        k, steps = i, 0
        while k != 1:
            if k % 2 == 0:
                k = k // 2
            else:
                k = 3 * k + 1
            steps += 1
        if steps > best:
            best, at = steps, i
    return best, at


def count_primes(n):
    count = 0
    for i in range(2, n):
        prime = True
        j = 2
        while j * j <= i:
            if i % j == 0:
                prime = False
                break
            j += 1
        if prime:
            count += 1
    return count


def matrix_product(a, b):
    out = np.zeros((a.shape[0], b.shape[1]))
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total
    return out


def convolution(x, kernel):
    out = np.zeros((x.shape[0] - kernel.shape[0] + 1, x.shape[1] - kernel.shape[1] + 1))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            total = 0.0
            for k in range(kernel.shape[0]):
                for m in range(kernel.shape[1]):
                    total += x[i + k, j + m] * kernel[k, m]
            out[i, j] = total
    return out


def game_of_life(board, turns):
    n, m = board.shape
    for _ in range(turns):
        new = np.zeros_like(board)
        for i in range(n):
            for j in range(m):
                alive = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            alive += board[(i + di) % n, (j + dj) % m]
                new[i, j] = 1 if alive == 3 or (alive == 2 and board[i, j]) else 0
        board = new
    return board


def shortest_paths(distances):
    d = distances.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


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
    yield "count_inside 10000", count_inside, (rng.random((10_000, 2)),)
    yield "longest_chain 500", longest_chain, (500,)
    yield "count_primes 1000", count_primes, (1000,)
    yield "matrix_product 30", matrix_product, (square[:30, :30].copy(), square[30:, 30:].copy())
    yield "convolution 40, 5x5", convolution, (rng.random((40, 40)), rng.random((5, 5)))
    yield "game_of_life 24", game_of_life, (rng.integers(0, 2, (24, 24)), 3)
    yield "shortest_paths 24", shortest_paths, (rng.random((24, 24)),)
