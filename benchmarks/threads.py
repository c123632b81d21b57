"""One thread and two: how many times faster large calls are with both.

    ./run python benchmarks/threads.py [--threads 2]
"""

import argparse

import numpy as np

import common
import pyasc


def waves(x):
    return np.exp(-x) * np.sin(x) + np.cos(x)


def polynomial(x):
    y = x
    for k in range(30):
        y = y * x + k
    return y


def polynomial_fused(x):
    return polynomial(x)


def sum_of_exp(x):
    return np.exp(x).sum()


def softmax(x):
    rows = x.reshape(-1, 1000)
    e = np.exp(rows - rows.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def addition(x):
    return x + x


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    common.show_facts()
    for function in (waves, polynomial, polynomial_fused, sum_of_exp, softmax, addition):
        for n in (1_000_000, 4_000_000):
            x = np.linspace(0, 1, n)
            numerics = "fast" if function is polynomial_fused else "numpy"
            work = []
            for threads in (1, options.threads):
                jitted = pyasc.jit(function, threads=threads, numerics=numerics)
                jitted(x)
                jitted.wait()
                jitted(x)
                work.append((jitted, [x]))
            one, more = common.interleaved(work, rounds=21, batch=0.02, budget=2)
            print(f"{function.__name__:18} {n:>9}  {one * 1e3:8.2f} ms  {more * 1e3:8.2f} ms  {one / more:5.2f}x")


if __name__ == "__main__":
    main()
