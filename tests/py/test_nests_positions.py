"""Positions of extremes, variances, and arrays that are changed in inner loops, in loops compiled as a whole."""

import numpy as np

from nesting import cases, checks_of, mat, vec

case, CASES = cases()
test_case, test_compiled = checks_of(CASES)


HOLES = mat(9, 7)
HOLES[2, 3] = HOLES[2, 5] = HOLES[4, 0] = np.nan
TIES = np.round(mat(9, 7))


@case(*((x,) for x in (mat(9, 7), HOLES, TIES, mat(9, 7, "f4"), mat(9, 7, "i4"), mat(9, 7, "u1"), mat(3, 1), mat(9, 7).T)))
def positions(x):
    out = np.zeros((x.shape[0], 4), np.int64)
    for i in range(x.shape[0]):
        out[i, 0] = np.argmax(x[i])
        out[i, 1] = x[i].argmin()
        out[i, 2] = np.argmin(x[i] * x[i])
        out[i, 3] = (x[i][::-1]).argmax()
    return out


@case((mat(4, 3), 2), (mat(4, 0), 0))
def of_nothing(x, n):
    k = 0
    for i in range(n + 1):
        k += np.argmax(x[i])
    return k


@case(*((x,) for x in (vec(40), vec(7), np.full(30, 2.5), vec(300) * 1e8)))
def deviations(x):
    out = np.zeros((len(x), 3))
    for i in range(len(x) - 5):
        w = x[i:i + 5]
        out[i, 0] = w.std()
        out[i, 1] = np.var(x[i:])
        out[i, 2] = np.std(w * 2 - 1)
    return out


@case((vec(40, "f4"),))
def plain_of_single_precision(x):
    out = np.zeros(len(x), np.float32)
    for i in range(len(x) - 5):
        out[i] = x[i:i + 5].std()
    return out


@case((mat(12, 7),), (mat(5, 5),))
def gram_schmidt(a):
    q = np.zeros_like(a)
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for i in range(j):
            v -= (q[:, i] @ a[:, j]) * q[:, i]
        q[:, j] = v / np.sqrt(v @ v)
    return q


@case((mat(5, 5), mat(5, 6), vec(5), vec(40, "i8", low=0, high=6)))
def viterbi(a, b, start, seen):
    n, length = a.shape[0], len(seen)
    d = np.zeros((length, n))
    back = np.zeros((length, n), np.int64)
    d[0] = start * b[:, seen[0]]
    for t in range(1, length):
        for j in range(n):
            p = d[t - 1] * a[:, j]
            k = np.argmax(p)
            back[t, j] = k
            d[t, j] = p[k] * b[j, seen[t]]
        d[t] /= abs(d[t]).sum()
    path = np.zeros(length, np.int64)
    path[length - 1] = np.argmax(d[length - 1])
    for t in range(length - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, d


@case((mat(6, 5), 3), (mat(6, 5), 0))
def changed_on_the_way(x, n):
    """The name has the same memory all the time, or views of it."""
    total = 0.0
    for i in range(x.shape[0]):
        row = x[i] * 2
        for _ in range(n):
            row += x[i]
            row[0] = row[1]
        total += row.sum()
    return total
