"""Arrays of ever other lengths: what first calls of a shape cost in all, beside NumPy.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./run python benchmarks/lengths.py [--lengths 9900] [--only NAME ...]
"""

import argparse
import time

import numpy as np

import pyasc


def chain(x, y):
    return ((x * 2 + y) * (x - y) + x * x - y * 3 + 1) / (x + 5)


def normalised(x, y):
    return (x - x.mean()) / x.std() + y.mean()


def softmax(x, y):
    e = np.exp(x - x.max())
    return e / e.sum()


def differences(x, y):
    return x[1:] - x[:-1]


def gradient(x, y):
    return np.gradient(x)


def neighbours(x, y):
    out = np.zeros_like(x)
    out[1:-1] = x[2:] - 2 * x[1:-1] + x[:-2]
    return out


def covariance(x, y):
    return ((x - x.mean()) * (y - y.mean())).sum() / (len(x) - 1)


def moving_average(x, y):
    c = np.cumsum(x)
    return (c[5:] - c[:-5]) / 5


def halves(x, y):
    n = len(x) // 2
    return x[:n] + x[n:2 * n]


def groups_of_four(x, y):
    return x[:len(x) // 4 * 4].reshape(-1, 4).mean(axis=1)


def joined(x, y):
    return np.concatenate([x, y]) * 2


def convolved(x, y):
    return np.convolve(x, np.ones(5) / 5, "valid") * 2


def distances(x, y):
    x = x[:len(x) // 50 + 2]
    return np.sqrt((x[:, None] - x[None, :])**2 + 1).sum(axis=1)


def branch(x, y):
    return x * 2 if x.sum() > y.sum() else x - 1


def smoothed(x, y):
    out = np.empty_like(x)
    out[0] = x[0]
    for i in range(1, len(x)):
        out[i] = 0.25 * x[i] + 0.75 * out[i - 1]
    return out


FUNCTIONS = (chain, normalised, softmax, differences, gradient, neighbours, covariance, moving_average, halves, groups_of_four, joined,
             convolved, distances, branch, smoothed)


def total(function, arrays):
    begin = time.perf_counter()
    for x, y in arrays:
        function(x, y)
    return time.perf_counter() - begin


def measure(function, arrays):
    times = []
    for _ in range(3):
        jitted = pyasc.jit(function)
        times.append((total(function, arrays), total(jitted, arrays)))
        traces = jitted.cache_info().traces
    plain, traced = (float(np.median(t)) for t in zip(*times))
    print(f"{function.__name__}, {len(arrays)} lengths: NumPy {plain * 1e3:.0f} ms, pyasc {traced * 1e3:.0f} ms, "
          f"{traced / plain:.2f} of it; {traces} trace(s)", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--lengths", type=int, default=9_900, help="how many, of those from 100 to 10,000")
    parser.add_argument("--only", nargs="*", help="names of functions")
    options = parser.parse_args()
    lengths = np.random.default_rng(0).permutation(np.arange(100, 10_000))[:options.lengths]
    arrays = [(np.linspace(1, 2, n), np.ones(n)) for n in lengths]
    for function in FUNCTIONS:
        if not options.only or function.__name__ in options.only:
            some = arrays[:len(arrays) // 20] if function is smoothed else arrays  # its loop takes NumPy a millisecond
            measure(function, some)


if __name__ == "__main__":
    main()
