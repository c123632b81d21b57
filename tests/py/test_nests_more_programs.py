"""More programs with loops as people write them: compiled as a whole or not, they do what Python does."""
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


@case((8, 30), (3, 1), (0, 5))
def mandelbrot(n, most):
    out = np.zeros((n, n), dtype=np.int32)
    for i in range(n):
        for j in range(n):
            cx = -2.0 + 3.0 * j / n
            cy = -1.5 + 3.0 * i / n
            x = y = 0.0
            k = 0
            while x * x + y * y <= 4.0 and k < most:
                x, y = x * x - y * y + cx, 2.0 * x * y + cy
                k += 1
            out[i, j] = k
    return out


@case((vec(12).reshape(4, 3), np.zeros((4, 3)), np.ones(4), 5), (vec(3).reshape(1, 3), np.zeros((1, 3)), np.ones(1), 2))
def n_body(pos, vel, mass, steps):
    n = len(mass)
    for step in range(steps):
        for i in range(n):
            for j in range(n):
                if i != j:
                    dx = pos[j, 0] - pos[i, 0]
                    dy = pos[j, 1] - pos[i, 1]
                    dz = pos[j, 2] - pos[i, 2]
                    r2 = dx * dx + dy * dy + dz * dz + 0.01
                    f = mass[j] / (r2 * math.sqrt(r2))
                    vel[i, 0] += f * dx * 0.01
                    vel[i, 1] += f * dy * 0.01
                    vel[i, 2] += f * dz * 0.01
        for i in range(n):
            pos[i] += vel[i] * 0.01
    energy = 0.0
    for i in range(n):
        energy += 0.5 * mass[i] * (vel[i] @ vel[i])
    return energy


@case((ints(36, 0, 2).reshape(6, 6) * 2 - 1, np.random.default_rng(0).random((6, 6)), 0.4), ((ints(36, 0, 2) * 2 - 1).reshape(6, 6).astype("i1"), np.random.default_rng(1).random((6, 6)), 0.1))
def ising_sweep(s, r, beta):
    n, m = s.shape
    flips = 0
    for i in range(n):
        for j in range(m):
            e = 2 * s[i, j] * (s[(i + 1) % n, j] + s[i - 1, j] + s[i, (j + 1) % m] + s[i, j - 1])
            if e <= 0 or r[i, j] < math.exp(-beta * e):
                s[i, j] = -s[i, j]
                flips += 1
    return flips, s


@case((vec(20), 0.01, 0.1), (vec(0), 0.01, 0.1), (vec(20), 0, 0))
def kalman(z, q, r):
    x = 0.0
    p = 1.0
    out = np.zeros(len(z))
    for i in range(len(z)):
        p = p + q
        k = p / (p + r)
        x = x + k * (z[i] - x)
        p = (1 - k) * p
        out[i] = x
    return out, p


@case((vec(20), np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.5, 0.2])), (vec(2), np.array([0.1, 0.2, 0.1]), np.array([1.0, -0.5, 0.2])))
def iir_filter(x, b, a):
    y = np.zeros_like(x)
    for n in range(len(x)):
        for k in range(len(b)):
            if n >= k:
                y[n] += b[k] * x[n - k]
        for k in range(1, len(a)):
            if n >= k:
                y[n] -= a[k] * y[n - k]
        y[n] /= a[0]
    return y


@case((vec(20), 0.3), (vec(1), 0), (vec(20), 1))
def exponential_average(x, alpha):
    y = x[0]
    for v in x[1:]:
        y = alpha * v + (1 - alpha) * y
    return y


@case((np.log(np.random.default_rng(0).random((3, 3))), np.log(np.random.default_rng(1).random((3, 4))), ints(10, 0, 4)), (np.zeros((1, 1)), np.zeros((1, 4)), ints(1, 0, 4)))
def viterbi(trans, emit, obs):
    k, n = len(trans), len(obs)
    score = np.zeros((n, k))
    back = np.zeros((n, k), dtype=np.int64)
    for s in range(k):
        score[0, s] = emit[s, obs[0]]
    for t in range(1, n):
        for s in range(k):
            best = -np.inf
            arg = 0
            for p in range(k):
                v = score[t - 1, p] + trans[p, s]
                if v > best:
                    best = v
                    arg = p
            score[t, s] = best + emit[s, obs[t]]
            back[t, s] = arg
    path = np.zeros(n, int)
    last = 0
    for s in range(k):
        if score[n - 1, s] > score[n - 1, last]:
            last = s
    path[n - 1] = last
    for t in range(n - 2, -1, -1):
        path[t] = back[t + 1, path[t + 1]]
    return path, score


@case((vec(8), vec(9, 1)), (vec(0), vec(3)), (ints(5), ints(6)))
def time_warping(a, b):
    n, m = len(a), len(b)
    D = np.full((n + 1, m + 1), np.inf)
    D[0, 0] = 0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            c = abs(a[i - 1] - b[j - 1])
            D[i, j] = c + min(D[i - 1, j], D[i, j - 1], D[i - 1, j - 1])
    return D[n, m]


@case((vec(20), 5), (vec(20), 1), (vec(3), 5), (ints(20), 3))
def moving_median(x, k):
    n = len(x)
    out = np.zeros(n)
    w = np.zeros(k)
    for i in range(n - k + 1):
        w[:] = x[i:i + k]
        for p in range(1, k):
            v = w[p]
            q = p - 1
            while q >= 0 and w[q] > v:
                w[q + 1] = w[q]
                q -= 1
            w[q + 1] = v
        out[i] = w[k // 2]
    return out


@case((vec(20), 5), (vec(20), 1), (vec(3), 5))
def moving_average(x, k):
    out = np.zeros(len(x))
    for i in range(len(x)):
        lo = max(0, i - k)
        hi = min(len(x), i + k + 1)
        out[i] = x[lo:hi].mean()
    return out


@case((ints(10, 0, 10), ints(10, 0, 10, 1), 10), (ints(0), ints(0), 3), (ints(10, 0, 11), ints(10, 0, 11, 1), 10))
def union_find(u, v, n):
    parent = np.arange(n)
    sets = n
    for e in range(len(u)):
        a = u[e]
        b = v[e]
        while parent[a] != a:
            parent[a] = parent[parent[a]]
            a = parent[a]
        while parent[b] != b:
            parent[b] = parent[parent[b]]
            b = parent[b]
        if a != b:
            parent[a] = b
            sets -= 1
    return sets, parent


@case((np.array([0, 2, 4, 5, 6]), np.array([1, 2, 0, 3, 3, 0]), 0), (np.array([0, 2, 4, 5, 6], "i4"), np.array([1, 2, 0, 3, 3, 0], "i4"), 2), (np.array([0, 0]), np.array([], int), 0))
def breadth_first(ptr, adj, s):
    n = len(ptr) - 1
    dist = np.full(n, -1)
    queue = np.zeros(n, dtype=np.int64)
    head, tail = 0, 1
    queue[0] = s
    dist[s] = 0
    while head < tail:
        u = queue[head]
        head += 1
        for e in range(ptr[u], ptr[u + 1]):
            w = adj[e]
            if dist[w] < 0:
                dist[w] = dist[u] + 1
                queue[tail] = w
                tail += 1
    return dist, tail


@case((np.array([0, 2, 3, 5]), np.array([0, 2, 1, 0, 2]), vec(5), vec(3)), (np.array([0, 2, 3, 5]), np.array([0, 3, 1, 0, 2]), vec(5), vec(3)))
def sparse_product(ptr, col, val, x):
    y = np.zeros(len(ptr) - 1)
    for i in range(len(y)):
        s = 0.0
        for k in range(ptr[i], ptr[i + 1]):
            s += val[k] * x[col[k]]
        y[i] = s
    return y


@case((2.0, 1e-12), (0.0, 1e-12), (1e10, 1e-8), (2, 1e-10), (-1.0, 1e-10), (np.float64(3), 1e-12))
def newton_root(a, tol):
    x = 1.0
    n = 0
    while abs(x * x - a) > tol and n < 100:
        x = x - (x * x - a) / (2 * x)
        n += 1
    return x, n


@case((0.0, 1.0, 10), (0, 3, 100), (1.0, 1.0, 2), (0.0, 1.0, 0))
def simpson(a, b, n):
    def f(x):
        return math.exp(-x * x) + x
    h = (b - a) / n
    s = f(a) + f(b)
    for i in range(1, n):
        s += f(a + i * h) * (4 if i % 2 else 2)
    return s * h / 3


@case((vec(6), 0.5), (vec(0), 0.5), (ints(6), 3), (vec(6), 2), (ints(6), 0.5))
def horner(c, x):
    r = 0.0
    for k in c:
        r = r * x + k
    return r


@case((27,), (1,), (97,), (6171,), (2**62 + 1,))
def collatz(n):
    steps = 0
    top = n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        if n > top:
            top = n
        steps += 1
    return steps, top


@case((500,), (7,), (6,))
def perfect_numbers(n):
    found = []
    for k in range(2, n + 1):
        s = 1
        for d in range(2, k):
            if k % d == 0:
                s += d
        if s == k:
            found.append(k)
    return found


@case((0xEDB88320,), (0x82F63B78,))
def crc_table(poly):
    table = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = i
        for k in range(8):
            c = (c >> 1) ^ poly if c & 1 else c >> 1
        table[i] = c
    return table


@case((ints(30, 0, 256, dtype="u1"),), (ints(0, dtype="u1"),), (ints(30, 0, 256),))
def crc_and_checksums(data):
    crc = 0xFFFFFFFF
    a, b = 1, 0
    h = 2166136261
    for byte in data:
        crc ^= int(byte)
        for k in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 & -(crc & 1))
        a = (a + int(byte)) % 65521
        b = (b + a) % 65521
        h = ((h ^ int(byte)) * 16777619) & 0xFFFFFFFF
    return crc ^ 0xFFFFFFFF, (b << 16) | a, h


@case((vec(),), (np.array([1.0, np.nan, 2.0]),), (vec(1),), (ints(),))
def extremes_and_places(x):
    lo = hi = x[0]
    at = 0
    for i in range(1, len(x)):
        if x[i] < lo:
            lo = x[i]
        elif x[i] > hi:
            hi = x[i]
            at = i
    return lo, hi, at


@case((vec(20),), (ints(20, -9, 9),), (-np.ones(3),))
def largest_sum_of_a_run(x):
    best = cur = x[0]
    for i in range(1, len(x)):
        cur = max(x[i], cur + x[i])
        best = max(best, cur)
    return best


@case((vec(50),), (vec(1),), (vec(2).astype("f4"),))
def welford(x):
    n = 0
    mean = 0.0
    m2 = 0.0
    for v in x:
        n += 1
        d = v - mean
        mean += d / n
        m2 += d * (v - mean)
    return mean, m2 / (n - 1)


@case((np.zeros((8, 8)), 20), (np.zeros((3, 3)), 1), (np.zeros((8, 8)), 0))
def jacobi(u, n):
    u[0] = 1.0
    for k in range(n):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.25 * (v[i - 1, j] + v[i + 1, j] + v[i, j - 1] + v[i, j + 1])
        if np.abs(u - v).max() < 1e-3:
            break
    return u, k if n else None


@case((np.zeros((8, 8)), 20), (np.zeros((3, 3)), 1))
def gauss_seidel(u, n):
    u[:, 0] = 1.0
    for k in range(n):
        worst = 0.0
        for i in range(1, len(u) - 1):
            for j in range(1, len(u[0]) - 1):
                old = u[i, j]
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
                worst = max(worst, abs(u[i, j] - old))
        if worst < 1e-3:
            break
    return k, worst


@case((vec(16),), (vec(2),), (vec(1),))
def wave_equation(u):
    n = len(u)
    old = u.copy()
    for t in range(10):
        new = np.zeros(n)
        new[1:-1] = 2 * u[1:-1] - old[1:-1] + 0.3 * (u[2:] - 2 * u[1:-1] + u[:-2])
        old, u = u, new
    return u


@case((vec(8), vec(8, 1)), (vec(1), vec(1)))
def fourier_by_hand(re, im):
    n = len(re)
    out_re = np.zeros(n)
    out_im = np.zeros(n)
    for k in range(n):
        for t in range(n):
            angle = -2 * math.pi * k * t / n
            c, s = math.cos(angle), math.sin(angle)
            out_re[k] += re[t] * c - im[t] * s
            out_im[k] += re[t] * s + im[t] * c
    return out_re, out_im


@case((6,), (1,), (10,), (0,))
def pascal(n):
    t = np.zeros((n + 1, n + 1), dtype=np.int64)
    for i in range(n + 1):
        t[i, 0] = 1
        for j in range(1, i + 1):
            t[i, j] = t[i - 1, j - 1] + t[i - 1, j]
    return t


@case((8,), (4,), (1,), (2,))
def queens(n):
    col = np.full(n, -1)
    row = 0
    found = 0
    while row >= 0:
        col[row] += 1
        if col[row] >= n:
            col[row] = -1
            row -= 1
            continue
        good = True
        for k in range(row):
            if col[k] == col[row] or abs(col[k] - col[row]) == row - k:
                good = False
                break
        if good:
            if row == n - 1:
                found += 1
            else:
                row += 1
    return found


@case((3, 13, 7), (2, 100, 1000000007), (2, 62, 2**61), (5, 0, 3), (3**30, 50, 2**62))
def modular_power(b, e, m):
    r = 1
    b %= m
    while e > 0:
        if e & 1:
            r = r * b % m
        b = b * b % m
        e >>= 1
    return r


@case((vec(20), np.sort(vec(10, 1)), vec(10, 2)), (vec(3), np.array([0.0, 1.0]), np.array([1.0, 3.0])))
def interpolate(x, xp, fp):
    out = np.empty(len(x))
    for i in range(len(x)):
        if x[i] <= xp[0]:
            out[i] = fp[0]
        elif x[i] >= xp[-1]:
            out[i] = fp[-1]
        else:
            j = 0
            while xp[j + 1] < x[i]:
                j += 1
            t = (x[i] - xp[j]) / (xp[j + 1] - xp[j])
            out[i] = fp[j] + t * (fp[j + 1] - fp[j])
    return out


@case((vec(12).reshape(6, 2),), (vec(2).reshape(1, 2),), (np.zeros((3, 2)),))
def pair_distances(p):
    n = len(p)
    d = np.zeros((n, n))
    near = 1e300
    for i in range(n):
        for j in range(i + 1, n):
            d[i, j] = d[j, i] = np.sqrt(((p[i] - p[j]) ** 2).sum())
            if d[i, j] < near:
                near = d[i, j]
    return d, near


@case((vec(12).reshape(6, 2), 0.0, 0.0), (np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]), 0.5, 0.5))
def point_in_polygon(p, x, y):
    inside = False
    j = len(p) - 1
    for i in range(len(p)):
        if (p[i, 1] > y) != (p[j, 1] > y) and x < (p[j, 0] - p[i, 0]) * (y - p[i, 1]) / (p[j, 1] - p[i, 1]) + p[i, 0]:
            inside = not inside
        j = i
    return inside


@case((vec(12), 3), (vec(12), 0), (vec(12), 12), (vec(5), 7))
def rotate_in_place(a, k):
    n = len(a)
    for r in range(k):
        first = a[0]
        for i in range(n - 1):
            a[i] = a[i + 1]
        a[n - 1] = first
    return a


@case((ints(20, 0, 5),), (ints(1),), (ints(0),))
def run_lengths(a):
    values = np.zeros(len(a), int)
    counts = np.zeros(len(a), int)
    k = -1
    for i in range(len(a)):
        if i == 0 or a[i] != a[i - 1]:
            k += 1
            values[k] = a[i]
        counts[k] += 1
    return values[:k + 1], counts[:k + 1]


@case((mat(),), (mat(1, 1),), (mat(4, 4).astype("f4"),), (mat().T,))
def determinant(m):
    a = m.copy()
    n = len(a)
    det = 1.0
    for k in range(n):
        det *= a[k, k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i] -= f * a[k]
    return det


@case((mat(6, 4),), (mat(2, 2),))
def gram_schmidt(a):
    q = np.zeros_like(a)
    for j in range(a.shape[1]):
        v = a[:, j].copy()
        for k in range(j):
            v -= (q[:, k] @ a[:, j]) * q[:, k]
        q[:, j] = v / np.sqrt(v @ v)
    return q


@case((ints(10, 1, 100),), (ints(1),), (ints(2, 5, 6),))
def digits(a):
    s = 0
    for n in a:
        m = int(n)
        r = 0
        while m:
            m, d = divmod(m, 10)
            r = r * 10 + d
        s += r
    t = 0
    for n in a:
        while n > 0:
            t += n % 10
            n //= 10
    return s, t


@case((1.0, 0.1, 50), (0, 1, 3))
def series(x, eps, n):
    s = t = 1.0
    k = 0
    while abs(t) > eps * 1e-10 and k < n:
        k += 1
        t *= x / k
        s += t
    p = 0.0
    for i in range(n):
        p += (-1) ** i / (2 * i + 1)
    return s, k, 4 * p


@case((100, 7), (2, 1), (41, 3))
def josephus(n, k):
    alive = np.ones(n, dtype=bool)
    at = -1
    left = n
    while left > 1:
        c = 0
        while c < k:
            at = (at + 1) % n
            if alive[at]:
                c += 1
        alive[at] = False
        left -= 1
    for i in range(n):
        if alive[i]:
            return i
