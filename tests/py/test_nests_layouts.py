"""Loops compiled as a whole, rule by rule: layouts and slices."""

import numpy as np
import pytest

from nesting import cases, compare, mat, vec

case, CASES = cases()


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


# -- Layouts -----------------------------------------------------------------------------


def layouts(n=6, dtype="f8"):
    m = np.arange(n * n).reshape(n, n).astype(dtype)
    return [m, np.asfortranarray(m), m[::-1], m[:, ::-1], np.repeat(np.repeat(m, 2, 0), 2, 1)[::2, ::2], m.T, np.ascontiguousarray(m[:3])[:, :3],
            m[:0], m[:, :0], np.broadcast_to(m[0], (3, n)), m.astype(m.dtype.newbyteorder()), np.ma.array(m), m[:1, :1]]


@case(*[lambda k=k: (layouts()[k],) for k in range(13)], *[lambda k=k: (layouts(dtype="i4")[k],) for k in (1, 2, 4)], times=1)
def layout_read(m):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s = s * 0.9 + m[i, j]
    return s


@case(*[lambda k=k: (layouts()[k],) for k in range(13)], times=1)
def layout_written(m):
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            m[i, j] = m[i, j] * 2 + m[i - 1, j - 1]
    return m


def frozen(a):
    a.flags.writeable = False
    return a


@case(lambda: (frozen(vec()), 3), (vec(), 3), lambda: (frozen(vec()), 0))
def read_only(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    for i in range(n):
        a[i] = s
    return s


def overlapping(kind):
    a = np.arange(10.0)
    return {"same": (a, a), "ahead": (a[1:], a[:-1]), "behind": (a[:-1], a[1:]), "apart": (a[:5], a[5:]), "back": (a, a[::-1]), "other": (a, a.copy())}[kind]


@case(*[lambda k=k: overlapping(k) for k in ("other", "same", "ahead", "behind", "apart", "back")])
def overlapping_arguments(a, b):
    s = 0.0
    for i in range(min(len(a), len(b))):
        a[i] = b[i] + 1
        s += b[i]
    return s


@case((vec(10),), (vec(3),))
def view_in_a_name(a):
    v = a[1:]
    for i in range(len(v)):
        v[i] = a[i] * 0.5 + v[i]
    w = v
    for i in range(len(v)):
        w[i] += 1
    return a, v, a.sum()


@case((vec(10),),)
def pending_values(a):
    b = a * 2
    c = b + 1
    for i in range(len(a)):
        b[i] += c[i]
        a[i] = b[i]
    d = b * c
    b += 1
    return a, b, c, d


# -- Slices ------------------------------------------------------------------------------


@case((vec(), 3, 6), (vec(), -3, 9), (vec(), 6, 3), (vec(), -20, 20), (vec(), 20, 30), (vec(), 0, -1), (vec(0), 0, 1), (vec(8, "i4"), 1, 5))
def slice_bounds(a, p, q):
    s = 0.0
    for i in range(4):
        s += a[p:q].sum() + a[p:].sum() - a[:q].sum()
        a[p:q] += 1
        a[p + i:q] = i
        s += a[p:q:2].sum() + a[::-1].sum() + a[q:p:-1].sum() + a[p::-2].sum()
    return s


@case((vec(),), (vec(3),), (vec(1),))
def slices_from_negative(a):
    s = 0.0
    for i in range(-4, 5):
        t = a[:i] * 2
        s += t.sum()
        u = a[i:] + 1
        s += u.sum()
        for x in a[i:]:
            s += x
        v = a[i:i + 3] * 3
        s += v.sum() + len(v)
    return s


@case((vec(12), np.array([-3, 2, -12, 12, 15, -20, 0])),)
def slices_from_data(a, k):
    s = 0.0
    c = 0
    for i in range(len(k)):
        p = int(k[i])
        t = a[:p] * 2
        u = a[p:] * 3
        v = a[p:p + 4] + 1
        w = a[k[i]:8] - 1
        c = c * 3 + len(t) + len(u) + len(v) + len(w)
        s += t.sum() + u.sum() + v.sum() + w.sum()
        a[p:] += 1
        a[:p] = 0.5
    return s, c


@case((vec(12),), (vec(12, "i4"),), (vec(2),))
def overlap_in_slices(a):
    for i in range(3):
        a[1:] = a[:-1]
        a[:-1] = a[1:] * 2
        a[:] = a[::-1]
        a[1:] += a[:-1]
        a[::2] = a[::-2][:len(a[::2])]
    return a


@case((vec(6),), (vec(1),), (vec(6, "i8"),))
def broadcast_of_itself(a):
    for i in range(3):
        a[0:] = a[0:1] + 1
        a[:] = a[:1] * a
        a[i:] = a[i:i + 1] * 2 - a[i:]
    return a


@case((mat(5, 5),), (mat(1, 1),))
def broadcast_of_rows(m):
    n = len(m)
    for i in range(n):
        m[0:] = m[0:1] + 1 - m[0:]
        m[i:, :] -= m[i:i + 1, :] * 0.5
        m[:, 0:] += m[:, 0:1]
        m[0:, i] = m[0, i] + m[0:, i]
    return m


@case((mat(5, 5),), (mat(2, 2),))
def transposes(m):
    for i in range(2):
        m[:] = m.T
        m[:] = m + m.T
        m[0] = m[:, 0]
        m[:, 1] = m[1] * 2
        m.T[0] += 1
    return m


@case((mat(6, 5),), (mat(2, 2),))
def tuple_of_rows_swapped(m):
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1], m[i]
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1].copy(), m[i].copy()
    return m


@case((mat(6, 5),), (mat(2, 2),))
def tuple_of_expressions(m):
    for i in range(len(m) - 1):
        m[i], m[i + 1] = m[i + 1] * 2, m[i] * 3
    return m


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def tuple_of_vectors(a, b):
    for i in range(3):
        a[:], b[:] = b + 1, a + 2
        t = (a * 2, b * 3)
        a[:] = 0.25
        b += t[0] + t[1]
        a += t[0]
    return a, b


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def several_targets(a, b):
    for i in range(3):
        a[:] = b[:] = a + b
        b[1:] = a[1:] = b[:-1] + 1
        x = a[0] = b[0] + 1
    return a, b, x


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def lazy_and_later_write(a, b):
    s = 0.0
    for i in range(3):
        t = a + b
        u = a[::-1]
        v = t if i > 1 else a
        a[0] = 100.0
        s += t.sum() + u.sum() + v.sum()
    return s


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)))
def aliases_of_arrays(a, b):
    s = 0.0
    for i in range(3):
        t = a * 2
        u = t
        u += 1
        t[0] = 5
        v = u[1:]
        v[:] = i
        s += t.sum() * u.sum()
        p, q = a, b
        p[0] += 1
        q[:] = p
    return s


@case((vec(6), vec(6, seed=1)), (vec(1), vec(1)), (vec(6, "f4"), vec(6)))
def arrays_swapped(a, b):
    for i in range(5):
        b[1:] = a[:-1] * 0.5
        b[0] = i
        a, b = b, a
    return a, b


@case((vec(6), vec(6, seed=1)),)
def array_rebound(a, b):
    for i in range(4):
        a = a + b
        b = a[::-1] * 0.5
    return a, b


@case((vec(6), vec(6, seed=1)),)
def array_rebound_in_inner(a, b):
    s = 0.0
    for k in range(3):
        u = np.zeros(len(a))
        for j in range(4):
            t = u[::-1] + b
            u = t
        s += u[0] + u.sum()
    return s


@case((vec(6),), (vec(1),), (vec(0),))
def new_arrays(a):
    n = len(a)
    s = 0.0
    for i in range(4):
        z = np.zeros(n)
        o = np.ones(n)
        e = np.empty(n)
        e[:] = a
        z[:2] = i
        o += z
        c = a.copy()
        c += 1
        d = np.zeros_like(a)
        d[::2] = 3
        w = np.ones((n, 2))
        w[:, 0] += a
        s += z.sum() + o.sum() + e.sum() + c.sum() + d.sum() + w[:, 0].sum()
    return s, z, o, c


@case((vec(6), -1), (vec(6), 0), (vec(6), 3))
def new_arrays_of_sizes(a, k):
    s = 0.0
    for i in range(3):
        z = np.zeros(k + i)
        z[0] = 1
        s += z.sum() + len(z)
        y = np.zeros((i, k))
        s += y.shape[0] + y.shape[1]
    return s


@case((vec(6),), (vec(6, "f4"),), (vec(6, "i8"),), (vec(6, "i4"),), (vec(6, "u1"),), (vec(6, "?"),), (vec(1),))
def reductions(a):
    for i in range(2):
        p = a.sum()
        q = a.mean()
        r = a.max()
        s = a.min()
        t = a.any()
        u = a.all()
        v = (a > 0).sum()
        w = np.sum(a) + np.max(a)
        x = (a * a).sum()
    return p, q, r, s, t, u, v, w, x


@case((vec(6), 3), (vec(6), 0), (vec(6), 6), (vec(6, "i8"), 6))
def reductions_of_empty(a, k):
    s = 0.0
    for i in range(k, 8):
        s += a[i:].max()
    return s


@case((vec(6), 3), (vec(6), 7))
def sums_of_empty(a, k):
    s = 0.0
    for i in range(k):
        p = a[i:].sum()
        q = a[i:].any()
        r = a[i:].all()
        t = a[i:].mean()
    return p, q, r, t


@case((np.array([1.0, np.nan, 3.0]),), (np.array([0.0, -0.0, 0.0]),), (np.array([-0.0, 0.0]),), (np.array([-0.0] * 40),), (np.array([np.inf, -np.inf]),), (np.array([-0.0] * 7 + [0.0] * 33),))
def reductions_of_specials(a):
    for i in range(2):
        p = a.sum()
        r = a.max()
        s = a.min()
        q = a[::-1].min()
        v = a[1:].sum()
    return p, r, s, q, v


@case((vec(300),), (vec(300, "f4"),), (vec(129),), (vec(127, "f4"),), (vec(2000),), (vec(16, "f4"),))
def sums_of_lengths(a):
    s = 0.0
    for i in range(0, len(a), 7):
        s += a[i:].sum() + a[:i].sum() + a[i::2].sum() + a[::-1].sum() + (a[i:] * 2).sum()
        s += a[i:].mean()
    return s


@case((mat(5, 6),), (mat(5, 6, "i8"),), (mat(1, 1),))
def reductions_of_rows(m):
    s = 0.0
    for i in range(len(m)):
        s += m[i].sum() + m[:, i].sum() + m[i, 1:].mean() + m.sum() + m.max() + m[i:, :3].min()
    return s
