"""Programs with loops as people write them: compiled as a whole or not, they do what Python does."""
import math

import numpy as np
import pytest

from nesting import cases, compare

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_program(function, argsets, times):
    compare(function, argsets, times)


def vec(n=12, seed=0):
    return np.random.default_rng(seed).standard_normal(n)


def ints(n=12, low=0, high=20, seed=0, dtype="i8"):
    return np.random.default_rng(seed).integers(low, high, n).astype(dtype)


def mat(n=6, m=6, seed=0):
    return np.random.default_rng(seed).standard_normal((n, m))


@case((vec(),), (vec(1),), (vec(0),), (ints(),), (ints(dtype="u1"),))
def bubble_sort(a):
    n = len(a)
    for i in range(n):
        swapped = False
        for j in range(n - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
                swapped = True
        if not swapped:
            break
    return a


@case((vec(),), (vec(1),), (vec(0),), (ints(dtype="i4"),))
def insertion_sort(a):
    for i in range(1, len(a)):
        key = a[i]
        j = i - 1
        while j >= 0 and a[j] > key:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = key
    return a


@case((vec(),), (ints(),), (vec(2),))
def selection_sort(a):
    n = len(a)
    for i in range(n - 1):
        least = i
        for j in range(i + 1, n):
            if a[j] < a[least]:
                least = j
        if least != i:
            a[i], a[least] = a[least], a[i]
    return a


@case((vec(20),), (ints(20),), (vec(1),))
def shell_sort(a):
    gap = len(a) // 2
    while gap > 0:
        for i in range(gap, len(a)):
            t = a[i]
            j = i
            while j >= gap and a[j - gap] > t:
                a[j] = a[j - gap]
                j -= gap
            a[j] = t
        gap //= 2
    return a


@case((vec(16),), (ints(15),), (vec(0),), (vec(1),))
def heap_sort(a):
    n = len(a)
    for start in range(n // 2 - 1, -1, -1):
        root = start
        while 2 * root + 1 < n:
            child = 2 * root + 1
            if child + 1 < n and a[child] < a[child + 1]:
                child += 1
            if a[root] < a[child]:
                a[root], a[child] = a[child], a[root]
                root = child
            else:
                break
    for end in range(n - 1, 0, -1):
        a[0], a[end] = a[end], a[0]
        root = 0
        while 2 * root + 1 < end:
            child = 2 * root + 1
            if child + 1 < end and a[child] < a[child + 1]:
                child += 1
            if not a[root] < a[child]:
                break
            a[root], a[child] = a[child], a[root]
            root = child
    return a


@case((np.sort(vec(30)), 0.1), (np.sort(vec(30)), 9.0), (np.sort(vec(30)), -9.0), (vec(0), 0.0), (np.sort(ints(30)), 7))
def binary_search(a, x):
    lo, hi = 0, len(a)
    while lo < hi:
        mid = (lo + hi) // 2
        if a[mid] < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


@case((0.0, 2.0), (0, 2), (1.0, 1.5), (np.float64(0), np.float64(2)))
def bisection(lo, hi):
    for i in range(80):
        mid = (lo + hi) / 2
        if mid * mid - 2 > 0:
            hi = mid
        else:
            lo = mid
        if hi - lo < 1e-12:
            break
    return mid, i


@case((48, 36), (0, 5), (5, 0), (2**62, 3**20), (-48, 36), (17, 17), (2**70, 2**65))
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


@case((240, 46), (17, 5), (1, 1))
def extended_gcd(a, b):
    x0, x1, y0, y1 = 1, 0, 0, 1
    while b != 0:
        q = a // b
        a, b = b, a - q * b
        x0, x1 = x1, x0 - q * x1
        y0, y1 = y1, y0 - q * y1
    return a, x0, y0


@case((100,), (2,), (3,), (1000,))
def sieve(n):
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    i = 2
    while i * i < n:
        if prime[i]:
            for j in range(i * i, n, i):
                prime[j] = False
        i += 1
    return prime, prime.sum()


@case((100,), (1000,), (5,))
def sieve_by_slices(n):
    flags = np.ones(n)
    for i in range(2, int(n ** 0.5) + 1):
        if flags[i]:
            flags[i * i::i] = 0
    return flags.sum()


@case((60,), (2,), (97,))
def count_primes(n):
    c = 0
    for i in range(2, n):
        for j in range(2, i):
            if j * j > i:
                c += 1
                break
            if i % j == 0:
                break
        else:
            c += 1
    return c


@case((mat() @ mat().T + 6 * np.eye(6), vec(6)), (np.eye(2), vec(2)))
def conjugate_gradients(A, b):
    x = np.zeros(len(b))
    r = b - A @ x
    p = r.copy()
    rs = r @ r
    for i in range(50):
        Ap = A @ p
        alpha = rs / (p @ Ap)
        x += alpha * p
        r -= alpha * Ap
        new = r @ r
        if new < 1e-20:
            break
        p = r + (new / rs) * p
        rs = new
    return x, i


@case((mat() @ mat().T, vec(6)), (np.eye(1), vec(1)))
def power_iteration(A, v):
    n = len(v)
    w = np.zeros(n)
    old = 0.0
    for k in range(100):
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += A[i, j] * v[j]
            w[i] = s
        norm = 0.0
        for i in range(n):
            norm += w[i] * w[i]
        norm = math.sqrt(norm)
        for i in range(n):
            v[i] = w[i] / norm
        if abs(norm - old) < 1e-10:
            break
        old = norm
    return norm, k


@case((mat() + 3 * np.eye(6), vec(6)), (mat(2, 2), vec(2)), (np.zeros((3, 3)), vec(3)), (np.array([[0.0, 1.0], [1.0, 0.0]]), vec(2)))
def gauss_with_pivots(A, b):
    n = len(b)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[p, k]):
                p = i
        if A[p, k] == 0:
            raise ValueError("singular")
        if p != k:
            for j in range(n):
                A[k, j], A[p, j] = A[p, j], A[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = A[i, k] / A[k, k]
            A[i, k:] -= f * A[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - A[i, i + 1:] @ x[i + 1:]) / A[i, i]
    return x


@case((mat() + 5 * np.eye(6),), (mat(1, 1),))
def lu_in_place(A):
    n = A.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]
    return A


@case((mat() @ mat().T + 6 * np.eye(6),), (np.array([[4.0]]),), (np.array([[-1.0]]),))
def cholesky(A):
    n = len(A)
    L = np.zeros_like(A)
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j] - L[i, :j] @ L[j, :j]
            if i == j:
                L[i, i] = math.sqrt(s)
            else:
                L[i, j] = s / L[j, j]
    return L


@case((vec(8), vec(8, 1) + 5, vec(8, 2), vec(8, 3)), (vec(1), vec(1) + 5, vec(1), vec(1)))
def thomas(a, b, c, d):
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        d[i] = d[i] - w * d[i - 1]
    x = np.empty(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


@case((ints(8, 0, 4), ints(9, 0, 4, 1)), (ints(0), ints(3)), (ints(5), ints(5)), (ints(5, dtype="u1"), ints(4, dtype="u1")))
def edit_distance(a, b):
    n, m = len(a), len(b)
    D = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(n + 1):
        D[i, 0] = i
    for j in range(m + 1):
        D[0, j] = j
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            D[i, j] = min(D[i - 1, j] + 1, D[i, j - 1] + 1, D[i - 1, j - 1] + cost)
    return D[n, m]


@case((ints(8, 0, 4), ints(9, 0, 4, 1)), (ints(0), ints(3)))
def edit_distance_two_rows(a, b):
    prev = np.arange(len(b) + 1)
    cur = np.zeros(len(b) + 1, dtype=int)
    for i in range(len(a)):
        cur[0] = i + 1
        for j in range(len(b)):
            cost = int(a[i] != b[j])
            cur[j + 1] = min(cur[j] + 1, prev[j + 1] + 1, prev[j] + cost)
        prev, cur = cur, prev
    return prev[len(b)]


@case((ints(8, 0, 3), ints(9, 0, 3, 1)), (ints(0), ints(3)))
def longest_common_subsequence(a, b):
    L = np.zeros((len(a) + 1, len(b) + 1), int)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                L[i + 1, j + 1] = L[i, j] + 1
            elif L[i, j + 1] >= L[i + 1, j]:
                L[i + 1, j + 1] = L[i, j + 1]
            else:
                L[i + 1, j + 1] = L[i + 1, j]
    return L[-1, -1], L


@case((ints(6, 1, 9), ints(6, 1, 30, 1), 15), (ints(6, 1, 9), vec(6), 15), (ints(6, 1, 9), ints(6, 1, 30, 1), 0))
def knapsack(w, v, cap):
    best = np.zeros(cap + 1)
    for i in range(len(w)):
        for c in range(cap, w[i] - 1, -1):
            best[c] = max(best[c], best[c - w[i]] + v[i])
    return best


@case((ints(6, 1, 9), ints(6, 1, 30, 1), 15),)
def knapsack_table(w, v, cap):
    n = len(w)
    K = np.zeros((n + 1, cap + 1), dtype=np.int32)
    for i in range(n + 1):
        for c in range(cap + 1):
            if i == 0 or c == 0:
                K[i, c] = 0
            elif w[i - 1] <= c:
                K[i, c] = max(v[i - 1] + K[i - 1, c - w[i - 1]], K[i - 1, c])
            else:
                K[i, c] = K[i - 1, c]
    return K[n, cap]


@case((ints(5, 1, 9), 11), (np.array([1, 5, 10, 25]), 42), (np.array([5]), 3))
def coin_change(coins, amount):
    dp = np.full(amount + 1, amount + 1)
    dp[0] = 0
    for x in range(1, amount + 1):
        for c in coins:
            if c <= x:
                dp[x] = min(dp[x], dp[x - c] + 1)
    return dp[amount] if dp[amount] <= amount else -1


@case((vec(40).reshape(20, 2), vec(6, 1).reshape(3, 2)), (vec(4).reshape(2, 2), vec(2).reshape(1, 2)))
def k_means(x, centers):
    n, k = len(x), len(centers)
    label = np.zeros(n, dtype=int)
    for step in range(5):
        for i in range(n):
            best = 1e300
            for c in range(k):
                d = 0.0
                for j in range(2):
                    d += (x[i, j] - centers[c, j]) ** 2
                if d < best:
                    best = d
                    label[i] = c
        count = np.zeros(k)
        total = np.zeros((k, 2))
        for i in range(n):
            count[label[i]] += 1
            total[label[i]] += x[i]
        for c in range(k):
            if count[c] > 0:
                centers[c] = total[c] / count[c]
    return centers, label


@case((1.0, 0.0, 0.01, 100), (1, 0, 0.5, 3), (1.0, 0.0, 0.1, 0))
def runge_kutta(x, v, h, n):
    for i in range(n):
        k1, l1 = v, -x
        k2, l2 = v + 0.5 * h * l1, -(x + 0.5 * h * k1)
        k3, l3 = v + 0.5 * h * l2, -(x + 0.5 * h * k2)
        k4, l4 = v + h * l3, -(x + h * k3)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        v = v + h / 6 * (l1 + 2 * l2 + 2 * l3 + l4)
    return x, v


def lorenz(x, y, z):
    return 10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z


@case((50,), (0,))
def euler_of_lorenz(n):
    path = np.zeros((n, 3))
    x, y, z = 1.0, 1.0, 1.0
    for i in range(n):
        dx, dy, dz = lorenz(x, y, z)
        x += 0.01 * dx
        y += 0.01 * dy
        z += 0.01 * dz
        path[i] = x, y, z
    return path


@case((42, 30), (0, 5), (2**31, 3))
def lcg(seed, n):
    out = np.zeros(n, np.uint32)
    for i in range(n):
        seed = (seed * 1664525 + 1013904223) & 0xFFFFFFFF
        out[i] = seed
    return out, seed


@case((2463534242, 40), (1, 3))
def xorshift32(x, n):
    out = np.empty(n)
    for i in range(n):
        x ^= (x << 13) & 0xFFFFFFFF
        x ^= x >> 17
        x ^= (x << 5) & 0xFFFFFFFF
        out[i] = x / 4294967296
    return out, x


@case((ints(64, 0, 2).reshape(8, 8),), (ints(64, 0, 2, dtype="u1").reshape(8, 8),), (ints(64, 0, 2).reshape(8, 8).astype(bool),))
def game_of_life(g):
    n, m = g.shape
    new = np.zeros_like(g)
    for step in range(3):
        for i in range(n):
            for j in range(m):
                c = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di or dj:
                            c += g[(i + di) % n, (j + dj) % m]
                new[i, j] = 1 if c == 3 or (g[i, j] and c == 2) else 0
        g[:] = new
    return g


@case((ints(64, 0, 2).reshape(8, 8),), (np.ones((3, 3), int),))
def flood_fill(g):
    n, m = g.shape
    stack = np.zeros((n * m * 4, 2), dtype=np.int64)
    top = 1
    count = 0
    while top > 0:
        top -= 1
        i = stack[top, 0]
        j = stack[top, 1]
        if i < 0 or i >= n or j < 0 or j >= m or g[i, j] != g[0, 0] and g[i, j] != 9:
            continue
        if g[i, j] == 9:
            continue
        count += 1
        if i or j:
            g[i, j] = 9
        elif count > 1:
            continue
        for d in range(4):
            stack[top, 0] = i + (d == 0) - (d == 1)
            stack[top, 1] = j + (d == 2) - (d == 3)
            top += 1
    return count, g


@case((vec(),), (ints(),), (vec(0),), (ints(dtype="i4"),), (ints(dtype="u1", high=200),))
def prefix_sums(a):
    for i in range(1, len(a)):
        a[i] += a[i - 1]
    return a


@case((vec(50), 8), (np.array([np.nan, 1.0]), 4), (vec(50), 1), (np.array([]), 3))
def histogram(x, n):
    h = np.zeros(n, dtype=np.int64)
    lo, hi = -3.0, 3.0
    for i in range(len(x)):
        b = int((x[i] - lo) / (hi - lo) * n)
        if 0 <= b < n:
            h[b] += 1
    return h


@case((ints(50, 0, 8), 8), (ints(50, 0, 9), 8), (ints(50, 0, 8, dtype="u1"), 8))
def bin_count(x, n):
    h = np.zeros(n, int)
    for v in x:
        h[v] += 1
    return h


@case((np.abs(mat()) * 10,), (np.array([[0.0, np.inf], [1.0, 0.0]]),), (ints(36).reshape(6, 6),))
def floyd_warshall(d):
    n = len(d)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


@case((np.abs(mat()) * 10, 0), (np.abs(mat()) * 10, 5), (np.abs(mat()) * 10, 6))
def dijkstra_dense(w, source):
    n = len(w)
    dist = np.full(n, np.inf)
    done = np.zeros(n, bool)
    dist[source] = 0
    for step in range(n):
        u = -1
        for i in range(n):
            if not done[i] and (u < 0 or dist[i] < dist[u]):
                u = i
        done[u] = True
        for v in range(n):
            if dist[u] + w[u, v] < dist[v]:
                dist[v] = dist[u] + w[u, v]
    return dist


@case((mat(4, 5), mat(5, 3)), (mat(4, 5), mat(4, 3)), (mat(0, 5), mat(5, 3)), (mat(4, 5).astype("f4"), mat(5, 3)), (ints(20).reshape(4, 5), ints(15).reshape(5, 3)))
def matrix_multiply(a, b):
    n, m = a.shape[0], b.shape[1]
    c = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            for k in range(a.shape[1]):
                c[i, j] += a[i, k] * b[k, j]
    return c


@case((mat(7, 8), mat(3, 3)), (mat(7, 8).astype("f4"), mat(3, 3).astype("f4")), (mat(2, 2), mat(3, 3)))
def convolution(x, k):
    h, w = k.shape
    out = np.zeros((max(x.shape[0] - h + 1, 0), max(x.shape[1] - w + 1, 0)))
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            s = 0.0
            for p in range(h):
                for q in range(w):
                    s += x[i + p, j + q] * k[p, q]
            out[i, j] = s
    return out
