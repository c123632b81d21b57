"""Arrays of ever other lengths: what first calls of a shape cost in all, beside NumPy.

    env -u OPENBLAS_CORETYPE -u OPENBLAS_L2_SIZE ./run python benchmarks/lengths.py
"""

import time

import numpy as np

import pyasc


def chain(x, y):
    return ((x * 2 + y) * (x - y) + x * x - y * 3 + 1) / (x + 5)


def total(function, arrays):
    begin = time.perf_counter()
    for x, y in arrays:
        function(x, y)
    return time.perf_counter() - begin


def main():
    lengths = np.random.default_rng(0).permutation(np.arange(100, 10_000))
    arrays = [(np.ones(n), np.ones(n)) for n in lengths]
    times = []
    for _ in range(3):
        jitted = pyasc.jit(chain)
        times.append((total(chain, arrays), total(jitted, arrays)))
        traces = jitted.cache_info().traces
    plain, traced = (float(np.median(t)) for t in zip(*times))
    print(f"{len(lengths)} lengths: NumPy {plain * 1e3:.0f} ms, pyasc {traced * 1e3:.0f} ms, "
          f"{traced / plain:.2f} of it; {traces} trace(s)")


if __name__ == "__main__":
    main()
