"""Calls that take other paths in turn, and sizes given as arguments: steady calls beside NumPy.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./run python benchmarks/paths.py [--only NAME ...]
"""

import argparse
import time

import numpy as np

import pyasc

X = np.random.default_rng(0).random(3000)
A = np.random.default_rng(0).random((120, 120))


def head(x, k):
    return np.sort(x)[:k].mean()


def product(a, k):
    return (a @ a)[:k].sum()


def reduced(a, k):
    u, s, v = np.linalg.svd(a)
    return (u[:, :k] * s[:k]) @ v[:k]


def moving_mean(x, width):
    sums = np.cumsum(x)
    return (sums[width:] - sums[:-width]) / width


def exponentials(x, k):
    return np.exp(x)[:k].sum()


def decided(a):
    s = np.linalg.svd(a, compute_uv=False)
    if s.sum() > 400:
        return s * 2
    return s


def filled(n):
    x = np.zeros(n)
    s = 0.0
    for i in range(n):
        s = s * 0.9 + i
        x[i] = s
    return x


KS = range(4, 12)
CASES = ((head, [(X, k) for k in KS]), (product, [(A, k) for k in KS]), (reduced, [(A, k) for k in KS]), (moving_mean, [(X, k) for k in KS]),
         (exponentials, [(X, k) for k in KS]), (decided, [(A,), (A * 5,)] * 4), (filled, [(n,) for n in range(1000, 1030)]))


def total(function, calls):
    begin = time.perf_counter()
    for args in calls:
        function(*args)
    return time.perf_counter() - begin


def measure(function, calls):
    jitted = pyasc.jit(function)
    for _ in range(3):
        total(jitted, calls)
        jitted.wait()
    for _ in range(400 // len(calls)):
        total(jitted, calls)
    rounds = [(total(function, calls), total(jitted, calls)) for _ in range(21)]
    plain, traced = (float(np.median(times)) for times in zip(*rounds))
    print(f"{function.__name__}, {len(calls)} calls in turn: NumPy {plain * 1e3:.2f} ms, pyasc {traced * 1e3:.2f} ms, {traced / plain:.2f} of it",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", help="names of functions")
    options = parser.parse_args()
    for function, calls in CASES:
        if not options.only or function.__name__ in options.only:
            measure(function, calls)


if __name__ == "__main__":
    main()
