"""Names that change their arrays with each other in loops compiled as a whole."""

import numpy as np

from nesting import cases, checks_of, mat, vec

case, CASES = cases()
test_case, test_compiled = checks_of(CASES)


@case((vec(40, "i8", low=0, high=4), vec(37, "i8", 1, 0, 4)), (vec(1, "i8"), vec(3, "i8")), (vec(0, "i8"), vec(3, "i8")))
def edit_distance(a, b):
    n, m = len(a), len(b)
    prev = np.arange(m + 1)
    cur = np.empty(m + 1, dtype=np.int64)
    for i in range(1, n + 1):
        cur[0] = i
        for j in range(1, m + 1):
            cost = 0 if a[i - 1] == b[j - 1] else 1
            cur[j] = min(prev[j] + 1, cur[j - 1] + 1, prev[j - 1] + cost)
        prev, cur = cur, prev
    return prev[m], prev, cur is prev


@case((mat(12, 13), 7), (mat(12, 13), 8), (mat(3, 3, "f4"), 1), (mat(3, 3), 0))
def of_two_axes(a, n):
    u = a * 1
    v = a + 0
    for k in range(n):
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
        t = u
        u = v
        v = t
    return u, v


@case((vec(30), 41), (vec(2), 2))
def while_it_is_large(a, n):
    x, y, k = a * 2, a * 0, 0
    while k < n:
        for i in range(len(a)):
            y[i] = x[i] * 0.5 + x[i - 1] * 0.25 + k
        x, y = y, x
        k += 1
    return x, y, k


@case((vec(30), 41), (vec(2), 3))
def plain_memory_of_the_loop(a, n):
    s = 0.0
    for r in range(3):
        x = np.zeros(8)
        y = np.ones(8)
        for k in range(n):
            for i in range(8):
                y[i] = x[i] * 0.5 + a[k % len(a)] + i
            x, y = y, x
        s += x[3] - y[2]
    return s


@case((vec(300), 9))
def views_are_of_the_turn(a, n):
    x, y = a * 2, a * 1
    s = 0.0
    for k in range(n):
        row = x[2:]
        for i in range(1, len(a)):
            y[i] = x[i - 1] + row[i % 3]
        x, y = y, x
    return x, y


@case((vec(60), 9), (vec(3), 2))
def begun_as_the_same(a, n):
    x = a * 2
    y = a * 2
    z = np.zeros(len(a))
    w = np.zeros(len(a))
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
            w[i] = z[i] + y[i]
        x, y = y, x
        z, w = w, z
    return x, y, z, w, a * 2


@case((vec(60), 9), (vec(60), 10))
def plain_three_in_turn(a, n):
    x, y, z = a * 2, a * 1, a + 1
    for k in range(n):
        for i in range(1, len(x)):
            z[i] = x[i - 1] * 0.5 + y[i] * k
        x, y, z = y, z, x
    return x, y, z


# -- Where others can tell which array is which ------------------------------------------


@case((vec(60), vec(60), 9), (vec(60), vec(60), 8))
def plain_arguments(x, y, n):
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        x, y = y, x
    return x, y


@case((vec(60), 9))
def plain_another_name(a, n):
    x, y = a * 2, a * 1
    z = x
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        x, y = y, x
    return x, y, z


@case((vec(60), 9))
def plain_in_a_list(a, n):
    both = [a * 2, a * 1]
    x, y = both
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        x, y = y, x
    return x, y, both


@case((vec(60), 9))
def plain_a_view_of_it(a, n):
    x, y = a * 2, a * 1
    z = x[1:]
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        x, y = y, x
    return x, y, z


@case((vec(60), 9))
def plain_a_view_behind(a, n):
    x, y = a * 2, a * 1
    z = x[1:]
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        z = x[1:]
        x, y = y, x
    return x, y, z


@case((vec(60), 9))
def plain_now_and_then(a, n):
    x, y = a * 2, a * 1
    for k in range(n):
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + k
        if k % 2:
            x, y = y, x
    return x, y


@case((vec(60), 9))
def plain_while_it_is_gone_over(a, n):
    x, y = a * 2, a * 1
    s = 0.0
    for v in x:
        for i in range(1, len(x)):
            y[i] = x[i - 1] * 0.5 + v
        x, y = y, x
        s += v
    return x, y, s


@case((vec(60), 9))
def plain_of_other_shapes(a, n):
    x, y = a * 2, a[1:] * 1
    for k in range(n):
        for i in range(1, len(y)):
            y[i - len(y) // 2] = x[i - 1] * 0.5 + k
        x, y = y, x
    return x, y
