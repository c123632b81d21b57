"""The distance of two words: loops over elements, numbers and branches, compiled as a whole."""

import numpy as np

import pyasc


@pyasc.jit
def edit_distance(a, b, table):
    for j in range(len(b) + 1):
        table[0, j] = j
    for i in range(1, len(a) + 1):
        table[i, 0] = i
        for j in range(1, len(b) + 1):
            change = table[i - 1, j - 1]
            if a[i - 1] != b[j - 1]:
                change += 1
            table[i, j] = min(change, table[i - 1, j] + 1, table[i, j - 1] + 1)
    return table[len(a), len(b)]


def make_args(n=200):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 4, n), rng.integers(0, 4, n + 20)
    return a, b, np.empty((n + 1, n + 21), dtype=np.int64)


if __name__ == "__main__":
    print("distance", edit_distance(*make_args()))
    print(edit_distance.explain())
