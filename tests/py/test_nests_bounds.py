"""Python's ints in loops compiled as a whole: what is known of their bounds, and where they end."""

import numpy as np

from nesting import cases, checks_of, vec

case, CASES = cases()
test_case, test_compiled = checks_of(CASES)


MOST = 2 ** 63 - 1
#: What counting is said never to come to: programs that begin there must be right all the same.
COUNTED = 4557430888798830399
STARTS = (0, -3, 7, MOST - 5, -MOST + 5, 2 ** 61 - 3, 2 ** 61 + 1, 2 ** 62, COUNTED - 4, COUNTED - 3, COUNTED, COUNTED + 1, -COUNTED + 2, 2 ** 62 - 4096)


@case(*((vec(50), start) for start in STARTS))
def counts(x, n):
    for v in x:
        if v > 0:
            n += 1
    return n


@case(*((vec(50), start) for start in STARTS))
def counts_both_ways(x, n):
    m = n
    for v in x:
        if v > 0:
            n += 3
        else:
            m -= 4
    return n, m, n - m


@case(*((vec(20), start) for start in STARTS))
def counted_and_multiplied(x, n):
    total = 0
    for v in x:
        if v > 0:
            n += 1
        total = n * 2
    return n, total, n + n


@case(*((vec(9), start) for start in STARTS))
def counts_in_loops(x, n):
    k = 0
    for v in x:
        for w in x:
            if v < w:
                n += 1
                k += 2
        for w in x:
            k -= 1
    return n, k, k + 2 ** 62


@case((27, 1000), (2 ** 61 + 1, 1000), (7, 3), (-5, 40), (3 ** 38, 1000), (0, 5), (1, 5))
def collatz(k, most):
    steps = 0
    while k != 1 and steps < most:
        if k % 2 == 0:
            k = k // 2
        else:
            k = 3 * k + 1
        steps += 1
    return k, steps


@case((1, 200), (12345, 200), (-7, 200), (2 ** 62, 200), (0, 0))
def congruential(seed, n):
    s = seed
    total = 0
    for _ in range(n):
        s = (s * 1103515245 + 12345) % 2147483648
        total += s % 7 - s // 1000000
    return s, total


@case((100,), (2,), (0,))
def primes(n):
    count = 0
    for i in range(2, n):
        prime = True
        j = 2
        while j * j <= i:
            if i % j == 0:
                prime = False
                break
            j += 1
        if prime:
            count += 1
    return count


@case(*((vec(12, "i8", 3), by) for by in (1, 2, 7, -2, -1, 2 ** 40, -2 ** 40, MOST)))
def quotients(x, by):
    a = b = c = d = 0
    for v in x:
        k = int(v)
        a += k // by + k % by
        b += (k * k) // 3 + (k * k) % 8
        c += (k - 7) // 2 + (k - 7) % 4
        d += abs(k) // 5 - abs(k) % 16
    return a, b, c, d


@case((vec(12, "i8"), 2 ** 40), (vec(12, "i8"), 3), (vec(12, "i8"), MOST), (vec(12, "i8"), -MOST))
def overflows_on_the_other_way(x, k):
    """What is not done does not overflow."""
    for v in x:
        if k < 1000:
            k = k * k + 1
        else:
            k = k // 3 - 5
    return k


@case((vec(12, "i8"), 5), (vec(12, "i8"), MOST - 2), (vec(12, "i8"), -MOST))
def overflows_on_this_way(x, k):
    n = 0
    for v in x:
        if v > 0:
            k += 1
        else:
            k -= 1
        n += k & 7
    return k, n


@case((vec(40, "i8", 1, 0, 5), vec(30, "i8", 2, 0, 5)), (vec(3, "i8", 1, 0, 5), vec(1, "i8", 2, 0, 5)))
def edit_distance(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), np.int64)
    for i in range(len(a) + 1):
        d[i, 0] = i
    for j in range(len(b) + 1):
        d[0, j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            c = 0 if a[i - 1] == b[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + c)
    return d


@case((vec(30, "i8", 1, 0, 3), vec(30)), (vec(1, "i8"), vec(1)))
def asked_for_truth(a, x):
    """Numbers, bools and NumPy's in one condition."""
    n = 0
    for i in range(len(a)):
        if a[i] or (x[i] > 0 and a[i - 1]) or not (x[i] or i):
            n += 1
        n += 2 if (a[i] == 1 or (a[i] and x[i] > 0.5)) and not x[i] < -1 else 0
    return n
