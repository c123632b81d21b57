"""Loops compiled as a whole, rule by rule: more of slices."""
import math

import numpy as np
import pytest

from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


@case((vec(9), vec(9, seed=1)), (vec(9, "f4"), vec(9, "f4", 1)), (vec(1), vec(1)), (vec(0), vec(0)), (vec(9, "i8"), vec(9, "i8")), (vec(9), vec(9, "f4")))
def dots(a, b):
    s = 0.0
    for i in range(4):
        s += np.dot(a, b) + a @ b + a.dot(b)
        s += np.dot(a[i:], b[i:]) + a[::2] @ b[::2] + a[::-1] @ b + np.dot(a[::-1], b[::-1]) + (a * 2) @ b
    return s


@case((vec(9), vec(1)), (vec(1), vec(9)), (vec(9), vec(8)), (vec(1), vec(1)))
def dots_of_lengths(a, b):
    s = 0.0
    for i in range(3):
        s += np.dot(a, b)
    return s


@case((vec(9), 1), (vec(9), 3), (vec(1), 1), (vec(2), 1))
def dots_of_slices(a, k):
    s = 0.0
    for i in range(3):
        s += np.dot(a, a[:1])
    for i in range(k):
        s += a[i:] @ a[:1]
    return s


@case((mat(5, 5), vec(5)), (mat(1, 1), vec(1)))
def dots_of_rows(m, a):
    s = 0.0
    for i in range(len(m)):
        s += m[i] @ a + m[:, i] @ a + np.dot(m[i], m[:, i]) + m[i, ::-1] @ a
        a[i] = m[i, :i] @ a[:i] + m[i, i + 1:] @ a[i + 1:]
    return s


@case((mat(5, 5), vec(5)), (mat(1, 1), vec(1)))
def matrix_vector(m, a):
    for i in range(3):
        a = m @ a
        a = a / np.sqrt(a @ a)
    return a


@case((mat(5, 6),), (mat(5, 6, "f4"),), (mat(5, 6, "i8"),), (mat(2, 2),))
def shapes(m):
    s = 0
    for i in range(m.shape[0]):
        s += len(m[i]) + m.ndim + m[i:].shape[0] + m[:, 1:].shape[1] + len(m)
        r = m[i]
        s += int(r[0]) + int(m[i][1]) + int(m[i, :][1]) + int(m[i:][0, 1]) + int(m[:, 1][i])
    return s, m.size


@case((mat(5, 6),), (mat(2, 2),))
def new_axes(m):
    s = 0.0
    for i in range(2):
        p = m[i][:, None] * m[i][None, :]
        s += p[0, 1] + p[1, 0]
        m[:] = m + m[:, :1] + m[i, None]
    return s


@case((vec(6), vec(6, seed=1)), (vec(6, "i8"), vec(6, "i8", 1)), (vec(6, "f4"), vec(6)), (vec(6, "i8"), vec(6)))
def where(a, b):
    s = 0.0
    for i in range(3):
        a[:] = np.where(a > b, a, b)
        c = np.where(a < 0.5, a, 0.0)
        d = np.where(b > i, 1, a)
        s += c.sum() + d.sum()
        x = np.where(a[i] > 0, 1.0, 2.0)
    return s, x, c


@case((vec(6),), (vec(6, "i8"),))
def comparisons_into_bools(a):
    f = np.zeros(len(a), bool)
    for i in range(3):
        f[:] = a > i
        f |= a < -1
        f[0] = i > 1
        f &= ~(a == 0)
        g = a > 0
        h = g & f
    return f, g, h


@case((vec(6), 2), (vec(6, "f4"), 2.5), (vec(6, "i8"), 2), (vec(6, "i8"), 2.5), (vec(6, "u1"), 2), (vec(6, "u1"), 300), (vec(6, "u1"), -1), (vec(6, "i4"), 0), (vec(6, "?"), True),
      (vec(6, "f4"), np.float64(0.1)), (vec(6, "i4"), np.int64(3)), (vec(6, "i1"), np.int16(300)))
def in_place_on_views(a, k):
    for i in range(3):
        a[i:] += k
        a[:i] *= k
        v = a[1:]
        v -= k
        v[0] += 1
    return a


@case((vec(6, "i8"), 2), (vec(6, "i8"), 0), (vec(6), 0), (vec(6, "i8"), -3), (vec(6, "u1"), 2), (vec(6, "f4"), 2))
def in_place_divisions(a, k):
    for i in range(2):
        a[i:] //= k
        a[1:] %= k
    return a


@case((vec(6, "i8"), 2), (vec(6), 2), (vec(6), 0), (vec(6, "f4"), 3))
def in_place_true_divisions(a, k):
    for i in range(2):
        a[0] = 9
        a[i:] /= k
    return a


@case((vec(6), 2), (vec(6, "i8"), 2), (vec(6), 0.5), (vec(6), -1), (vec(6, "i8"), -1), (vec(6, "f4"), 2), (vec(6), 3), (vec(6, "i8"), 3))
def powers_of_arrays(a, k):
    s = 0.0
    for i in range(2):
        t = a ** 2
        u = a[1:] ** k
        s += t.sum() + u.sum()
    return s, t, u


@case((vec(6), vec(5)), (vec(6), vec(6)), (vec(6), vec(1)), (vec(1), vec(6)))
def shapes_that_do_not_fit(a, b):
    for i in range(2):
        a[:] = b
        a += 1
        c = a * b
    return c


@case((vec(6), 3), (vec(6), 1), (vec(6), 0), (vec(6), 6), (vec(6), 7))
def run_time_lengths(a, k):
    for i in range(k):
        a[i:i + 2] = a[:2]
        a[:i] = a[k - i - 1:k - 1]
    return a


@case((vec(6), 1), (vec(6), 2))
def truth_of_arrays(a, k):
    c = 0
    for i in range(3):
        if a[:k]:
            c += 1
    return c


@case((vec(6),), (vec(6, "i8"),))
def index_by_bool(a):
    s = 0.0
    for i in range(3):
        b = i > 1
        s += a[b].sum()
    return s


@case((vec(6),), (vec(6, "i8"),))
def index_by_numpy_bool(a):
    s = 0.0
    for i in range(3):
        b = a[0] > 1
        s += a[b].sum()
    return s


@case((mat(5, 5), np.array([1, 2])), (mat(5, 5), np.array([7, 2])))
def too_many_indices(m, k):
    s = 0.0
    for i in range(2):
        s += m[k[0], k[1]]
        m[k[0]][k[1]] += 1
    return s


@case((vec(5),),)
def index_of_a_number(a):
    s = 0.0
    for i in range(2):
        s += a[i][0]
    return s


@case((vec(5), 3), (vec(5), -6), (vec(5), -5), (vec(5), 5))
def index_from_outside(a, k):
    s = 0.0
    for i in range(2):
        s += a[k]
        a[k] = s
    return s


@case((np.zeros((3, 4, 5)) + np.arange(5.0), 2), (np.zeros((3, 4, 5)), 3), (np.zeros((3, 4, 5), "f4"), -1))
def three_axes(c, k):
    s = 0.0
    for i in range(3):
        for j in range(4):
            c[i, j] += j
            c[i, :, k] *= 2
            s += c[i, j, k] + c[k][j][i] + c[:, j, i].sum()
            c[i][j][1:] = c[i, j, :-1]
    return s


@case((np.array([1.0, 0.0]), np.zeros(3)), (np.array([1.0, 1.0]), np.zeros(3)), (np.array([1.0, -1.0]), np.zeros(3)), times=3)
def bool_behind_writes(a, out):
    for i in range(2):
        r = not a[i] < 0
        t = not a[i]
        out[i] += 1
    return r, t


@case((np.array([1.0, 0.0]), np.zeros(3)), (np.array([1.0, 1.0]), np.zeros(3)), (np.array([1.0, -1.0]), np.zeros(3)), times=3)
def branch_behind_writes(a, out):
    s = 0.0
    c = 0
    for i in range(2):
        s += a[i]
        c += i
        out[i] += 1
    if s > 1.5:
        out[2] += 1
    if out[0] + s > 2.5:
        a[0] += 100
    if c > 1:
        out += 1
    return [0] * int(s + 5)


@case((vec(8), 3), (vec(8), 9), (vec(8, seed=1), 3), (vec(8), 8), times=3)
def failing_behind_effects(a, n):
    log = []
    for i in range(3):
        a[i] += 1
    log.append(float(a[0]))
    for i in range(n):
        a[i] = math.sqrt(abs(a[i])) + i
    log.append(float(a[0]))
    for i in range(4):
        a[i] = math.sqrt(a[i] - i)
    return log


EFFECTS = []


@case(*[(vec(8, seed=k), n) for n in (3, 8) for k in range(4)], times=1)
def failing_behind_outside_effects(a, n):
    EFFECTS.append(n)
    b = a + 0.5
    try:
        for i in range(n):
            b[i] = math.sqrt(b[i])
    except ValueError:
        EFFECTS.append("failed")
    EFFECTS.append(float(b.sum()))
    out = list(EFFECTS)
    EFFECTS.clear()
    return out


@case(*[(vec(n),) for n in (1, 2, 3, 5, 40, 100000)], times=1)
def slice_bounds_of_both_signs(a):
    s = 0.0
    c = 0
    for i in range(-3, 3):
        t = a[:i] * 2
        u = a[i:] + 1
        s += t.sum() + u.sum()
        for j in range(-2, 2):
            v = a[i:j] + 1
            w = a[i:i + 3] * 2
            z = a[-j:] * 2
            s += v.sum() + w.sum() + z.sum()
            c = c * 3 % 1000 + len(v) + 2 * len(w) + 4 * len(z)
    return s, c


@case((mat(5, 5), 3), (mat(5, 5), 5), (mat(1, 1), 2), times=1)
def scratch_of_broadcast(m, n):
    for i in range(n):
        if i == 1:
            m[:, :2] = (m * m[0, :i])[:, :2] if i > 2 else m[:, :2]
    for i in range(n):
        m[:, :5] = m * m[0, :i]
    return m


@case(*[(mat(5, 5), vec(5), np.array(k)) for k in ([0, 1, 2], [0, 9, 0], [5, 5, 5], [4, 5, 4], [-9, -1, 4])])
def slices_of_empty_slices(m, a, k):
    for i in range(3):
        m[:i, 1] = a[k[i]:100][:1]
    for i in range(3):
        m[:i, 1][-1:] = a[k[i]:][:1]
    return m


@case((np.zeros(5), np.ones(5)),)
def broadcast_that_fails_behind_writes(a, b):
    for i in range(1, 4):
        a[0:3] -= 2
        b[:] = b + a[:i + 2]


@case(*[(np.random.default_rng(s).integers(-7, 8, 5),) for s in range(4)])
def unused_element_out_of_range(k):
    s = 0.0
    for i in range(5):
        s = k[k[i]]
        s = 3
    return s


# NumPy copies a row as its elements come: where it crosses the row that is read, some are read too late.
@case((mat(6, 6), [0, 5, 2]), (mat(6, 6).T, [4, 3, 1]), (mat(6, 6, "i4"), [5, 0, 1]))
def rows_of_columns(m, ks):
    for k in ks:
        for i in range(len(m)):
            m[i] = m[:, k]
            m[:, k] = m[i - 1]
            m[i, 1:4] = m[2:5, k]
            m[i, :] = m[:, 2][::-1]


@case((mat(6, 6),), (mat(5, 5, "f4"),), (mat(6, 6).T,))
def triangles_mirrored(m):
    for i in range(len(m)):
        m[i, i + 1:] = m[i + 1:, i]
        m[:i, i] = m[i, :i]
        m[i, :] = m[:, i]


@case((vec(12),), (vec(8, "i8"),))
def rows_of_other_steps(x):
    h = len(x) // 2
    for i in range(4):
        x[::2] = x[:h]
        x[:h] = x[::2]
        x[h:] = x[1::2]
        x[::-2] = x[:h]


@case(*[(vec(n),) for n in (1, 2, 3, 0)])
def slices_that_begin_behind_the_end(b):
    t = u = v = 0
    for i in range(3):
        for e in b[2:]:
            t = t + e
        for e in b[3:2:2]:
            u = e
        for e in b[2:-1]:
            v += e
    return t, u, v, len(b)
