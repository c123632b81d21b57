"""Loops that fill lists of Python, and read them: as they are in notebooks and in programs written without NumPy in mind."""

import numpy as np


def euler(y, dt, steps):
    ts, ys = [0.0], [y]
    for k in range(steps):
        ys.append(ys[-1] + dt * (1 - ys[-1] ** 2))
        ts.append(ts[-1] + dt)
    return np.array(ts), np.array(ys)


def close_pairs(x, reach):
    pairs = []
    for i in range(len(x)):
        for j in range(i):
            if abs(x[i] - x[j]) < reach:
                pairs.append((i, j))
    return pairs


def primes(n):
    found = []
    for k in range(2, n):
        prime = True
        for p in found:
            if p * p > k:
                break
            if k % p == 0:
                prime = False
                break
        if prime:
            found.append(k)
    return found


def largest_rectangle(heights):
    stack, best = [], 0.0
    for i in range(len(heights)):
        while stack and heights[stack[-1]] > heights[i]:
            h = heights[stack.pop()]
            width = i if not stack else i - stack[-1] - 1
            best = max(best, h * width)
        stack.append(i)
    return best


def crossings(signal, level):
    up = []
    for k in range(1, len(signal)):
        if signal[k - 1] < level <= signal[k]:
            up.append(k - 1 + (level - signal[k - 1]) / (signal[k] - signal[k - 1]))
    return np.diff(up).mean(), len(up)


def longest_chain(n):
    best = [1]
    for start in range(2, n):
        chain, k = [start], start
        while k != 1:
            k = k // 2 if k % 2 == 0 else 3 * k + 1
            chain.append(k)
        if len(chain) > best[0]:
            best = [len(chain), start]
    return best


def smoothed(x):
    return np.array([(x[i - 1] + 2 * x[i] + x[i + 1]) / 4 for i in range(1, len(x) - 1)])


def kernel_sums(x, y):
    return [sum([np.exp(-(a - b) ** 2) for b in y]) for a in x]


def knapsack(weights, values, most):
    best = [0] * (most + 1)
    for w, v in zip(weights, values):
        for c in range(most, int(w) - 1, -1):
            t = best[c - int(w)] + int(v)
            if t > best[c]:
                best[c] = t
    return best[most]


def warped(x, y):
    n, m = len(x), len(y)
    d = [[float("inf")] * (m + 1) for _ in range(n + 1)]
    d[0][0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            d[i][j] = abs(float(x[i - 1] - y[j - 1])) + min(d[i - 1][j], d[i][j - 1], d[i - 1][j - 1])
    return d[n][m]


def filtered(x, b, a):
    y, x1, x2, y1, y2 = [], 0.0, 0.0, 0.0, 0.0
    for v in x:
        o = b[0] * v + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[2] * y2
        x2, x1, y2, y1 = x1, v, y1, o
        y.append(o)
    return np.asarray(y)


def cases():
    rng = np.random.default_rng(5)
    yield "euler 2000", euler, (0.1, 0.001, 2000)
    yield "close_pairs 200", close_pairs, (rng.random(200), 0.01)
    yield "primes 2000", primes, (2000,)
    yield "largest_rectangle 1000", largest_rectangle, (rng.random(1000),)
    yield "crossings 5000", crossings, (np.cumsum(rng.standard_normal(5000)), 0.0)
    yield "longest_chain 100", longest_chain, (100,)
    yield "smoothed 3000", smoothed, (rng.random(3000),)
    yield "kernel_sums 50x50", kernel_sums, (rng.random(50), rng.random(50))
    yield "knapsack 40x300", knapsack, (rng.integers(1, 30, 40), rng.integers(1, 90, 40), 300)
    yield "warped 60x70", warped, (rng.random(60), rng.random(70))
    yield "filtered 1000", filtered, (rng.standard_normal(1000), [0.2, 0.4, 0.2], [1.0, -0.3, 0.1])
