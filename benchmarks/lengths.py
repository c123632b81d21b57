"""Arrays of ever other lengths: what first calls of a shape cost in all, beside NumPy.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./run python benchmarks/lengths.py
"""

import time

import numpy as np

import pyasc


def chain(x, y):
    return ((x * 2 + y) * (x - y) + x * x - y * 3 + 1) / (x + 5)


def normalised(x, y):
    return (x - x.mean()) / x.std() + y.mean()


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
          f"{traced / plain:.2f} of it; {traces} trace(s)")


def main():
    lengths = np.random.default_rng(0).permutation(np.arange(100, 10_000))
    arrays = [(np.linspace(1, 2, n), np.ones(n)) for n in lengths]
    for function in (chain, normalised):
        measure(function, arrays)


if __name__ == "__main__":
    main()
