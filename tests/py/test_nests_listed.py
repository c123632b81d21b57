"""Lists that compiled loops only read, lists of lists, and arrays stored through arrays of indices."""

import numpy as np
import pyasc
import pytest

RNG = np.random.default_rng(5)
STEPS = [(-1, 0), (1, 0), (0, -1), (0, 1)]
WEIGHTS = [0.25, 0.5, 0.125, 0.0625]


def freeze(value):
    """The value as what can be compared: types, and bits of floats."""
    if isinstance(value, np.ndarray):
        return (value.dtype, value.shape, value.tobytes())
    if isinstance(value, (list, tuple)):
        return (type(value), [freeze(v) for v in value])
    return (type(value), repr(value))


def check(function, make, calls=4, compiled=True, **options):
    jitted = pyasc.jit(function, **options)
    for k in range(calls):
        ours, plain = make(k), make(k)
        results = []
        for f, args in ((jitted, ours), (function, plain)):
            try:
                results.append(freeze(f(*args)))
            except Exception as error:  # noqa: BLE001
                results.append(repr(error))
        assert results[0] == results[1]
        assert freeze(list(ours)) == freeze(list(plain))
        jitted.wait()
    text = jitted.explain()
    assert ("<compiled loop" in text) == compiled, text


def vector(n=400):
    return lambda k: (np.random.default_rng(k).normal(size=n),)


def coefficients(x):
    b, a, y = [0.2, 0.4, 0.2], [1.0, -0.3, 0.1], np.empty_like(x)
    x1 = x2 = y1 = y2 = 0.0
    for i in range(len(x)):
        o = b[0] * x[i] + b[1] * x1 + b[2] * x2 - a[1] * y1 - a[-1] * y2
        x2, x1 = x1, x[i]
        y2, y1 = y1, o
        y[i] = o
    return y


def over_items(x):
    total = 0.0
    for i in range(len(x) - 4):
        for j, w in enumerate(WEIGHTS):
            total += w * x[i + j]
        for w, v in zip(WEIGHTS, x[i:i + 4]):
            total -= w * v * len(WEIGHTS)
    return total


def by_number(x):
    table, total = [3, 1, 4, 1, 5, 9, 2, 6], 0
    for i in range(len(x)):
        total += table[i % len(table)] // 2 - table[-1 - i % 3]
    return total


def lists_of_lists(x):
    grid, total = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], 0.0
    for i in range(len(x)):
        total += grid[i % 2][i % 3] * x[i]
        for row in grid:
            total += len(row) * row[1]
    return total, len(grid)


def moves(x):
    i = j = 5
    visits = np.zeros((11, 11))
    for v in x:
        di, dj = STEPS[int(abs(v) * 4) % 4]
        i, j = min(max(i + di, 0), 10), min(max(j + dj, 0), 10)
        visits[i, j] += 1
    return visits


def truths(x):
    keep, total = [True, False, True], 0
    for i in range(len(x)):
        if keep[i % 3]:
            total += 1
    return total, keep


def scalars(x):
    parts, total = [np.float32(0.5), np.float32(1.5)], np.float32(0)
    for i in range(len(x)):
        total = total + parts[i % 2]
    return total


def traced(x):
    ends, total = [x[0], x[-1] * 2], 0.0
    for i in range(len(x)):
        total += ends[i % 2] * i
    return total


@pytest.mark.parametrize("function", [coefficients, over_items, by_number, lists_of_lists, moves, truths, scalars, traced])
def test_lists_that_are_read(function):
    check(function, vector())


def weighted(x, w):
    total = 0.0
    for i in range(len(x)):
        total += w[i % len(w)] * x[i]
    return total


def test_arguments():
    check(weighted, lambda k: (np.arange(300.0), [0.5, 1.0 * k, 2.0]))
    check(weighted, lambda k: (np.arange(300.0), [1, k, 2]))
    check(weighted, lambda k: (np.arange(300.0), (0.5, 1.0 * k, 2.0)), compiled=False)


def test_items_of_several_types():
    check(weighted, lambda k: (np.arange(300.0), [1, 2.0, 3]), compiled=False)
    check(weighted, lambda k: (np.arange(300.0), [1, 1 << 70]), compiled=False)
    check(weighted, lambda k: (np.arange(300.0), [True, 2]), compiled=False)


def out_of_range(x, w):
    total = 0.0
    for i in range(len(x)):
        total += w[i] * x[i]
    return total


def test_out_of_range():
    check(out_of_range, lambda k: (np.arange(300.0), [1.0] * 3), compiled=False)


def large(x):
    factors, product = [2 ** 40, 3, 2 ** 61], 1
    for i in range(len(x)):
        product = factors[i % 3] * 4 + int(x[i] * 8)
    return product


def test_large_ints():
    check(large, vector(), compiled=False)  # no loop of int64 has them


def changed_between(x):
    w, totals = [1.0, 2.0], []
    for k in range(3):
        total = 0.0
        for i in range(len(x)):
            total += w[i % 2] * x[i]
        totals.append(total)
        w[0] += 1
    return totals


def other_name(x):
    w = [1.0, 2.0]
    v = w
    for i in range(len(x)):
        v.append(w[i] + x[i])
    return w


def item_and_name(x):
    rows, total = [[1.0, 2.0], [3.0, 4.0]], 0.0
    for i in range(len(x)):
        row = rows[i % 2]
        total += row[0] * row[-1]
    return total, row


def made_list(x):
    w, total = [1.0, 2.0], 0.0
    for i in range(len(x)):
        total += len(w * 2) + (w + w)[1] + w[i % 2]
    return total


@pytest.mark.parametrize("function", [changed_between, other_name, item_and_name, made_list])
def test_other_uses(function):
    jitted = pyasc.jit(function)
    x = np.linspace(-1, 1, 200)
    for _ in range(5):
        assert freeze(jitted(x)) == freeze(function(x))
        jitted.wait()


def test_global_list_that_changes():
    for first in (0.25, 1.5, 0.25, 7):
        WEIGHTS[0] = first
        check(over_items, vector(100), compiled=first != 7)
    WEIGHTS[0] = 0.25


# Stores through indices.


def scatter(x, at, n):
    for i in range(n):
        x[at[i:i + 3]] = i * 0.5


def scatter_more(x, at, n):
    for i in range(n):
        x[at[i:i + 3]] += i * 0.5


def scatter_itself(x, at, n):
    for i in range(n):
        x[at[i:i + 3]] = x[at[i + 1:i + 4]] * 2 - x[i]


def scatter_other(x, at, n):
    y = x[::-1] * 2
    for i in range(n):
        x[at[i:i + 4]] = y[i:i + 4] + i
        y[at[i + 4:i:-1]] = x[at[i:i + 4]]
    return y


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
@pytest.mark.parametrize("function", [scatter, scatter_more, scatter_itself, scatter_other])
def test_scatter(function, dtype):
    def make(k):
        rng = np.random.default_rng(k)
        low = 0 if dtype is np.uint8 else -50
        return rng.normal(size=50), rng.integers(low, 50, 60).astype(dtype), 45
    check(function, make)


def test_scatter_out_of_range():
    def make(k):
        rng = np.random.default_rng(k)
        at = rng.integers(0, 50, 60)
        at[40] = 50 if k % 2 else 49
        return rng.normal(size=50), at, 45
    check(scatter, make, calls=6)


def ranks(x):
    order = np.argsort(x, kind="stable")
    out, i, s = np.empty(len(x)), 0, x[order]
    while i < len(x):
        j = i
        while j + 1 < len(x) and s[j + 1] == s[i]:
            j += 1
        out[order[i:j + 1]] = (i + j) / 2 + 1
        i = j + 1
    return out


def test_ranks():
    check(ranks, lambda k: (np.round(np.random.default_rng(k).normal(size=200), 1),))


# Slices backwards.


def autoregression(x, p):
    w, out = x[:p] / 10, x.copy()
    for t in range(p + 1, len(x)):
        out[t] = w @ out[t - 1:t - p - 1:-1] + x[t]
    return out


def turned_around(x, p):
    total = 0.0
    for i in range(p + 1, len(x) - p):
        total += x[i + p:i:-1].sum() + len(x[i::-2]) + x[i - 1:i - p:-1].sum() + x[-1:i:-3].sum()
        x[i + 2:i:-1] = x[i:i + 2] * 0.5
    return total


@pytest.mark.parametrize("function", [autoregression, turned_around])
def test_slices_backwards(function):
    check(function, lambda k: (np.random.default_rng(k).normal(size=300), 3))


# Lists whose items loops change.


def knapsack(w, v, most):
    best = [0] * (most + 1)
    for i in range(len(w)):
        for c in range(most, int(w[i]) - 1, -1):
            t = best[c - int(w[i])] + int(v[i])
            if t > best[c]:
                best[c] = t
    return best


def common(a, b):
    n, m = len(a), len(b)
    dp = [[0] * (m + 1) for _ in range(n + 1)]
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1] + 1
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp[n][m], dp[-1][:5], len(dp[0])


def sieve(x, n):
    s = [True] * (n + 1)
    s[0] = s[1] = False
    for i in range(2, n + 1):
        if s[i]:
            for j in range(i * i, n + 1, i):
                if x[0] < 9:
                    s[j] = False
    return s


def counts(x, n):
    c = [0] * n
    for v in x:
        c[int(abs(v) * 7) % n] += 1
    return c


def shuffled(x, n):
    p = list(range(n))
    for k in range(n - 1):
        j = k + int(abs(x[k]) * 100) % (n - k)
        p[k], p[j] = p[j], p[k]
    return p


def smoothed(x, n):
    state = [0.0, 1.0, 2.0]
    for v in x:
        state[0] = 0.5 * (state[0] + float(v))
        state[1] += state[0]
        state[-1] = v
    return state


def sums(x, n):
    totals, parts = [0] * n, [[0] * 2 for _ in range(n)]
    for i in range(len(x)):
        totals[i % n] += x[i]
        parts[i % n][i % 2] = 0.5 * parts[i % n][i % 2] + i
    return totals, parts


def first_ones(x, n):
    firsts = [0, 1, 2] * n
    for i in range(50, len(x), 3):
        firsts[i % (2 * n)] = firsts[(i + 1) % (2 * n)] + 0.5 * float(x[i])
    return firsts


def heat(x, n):
    t = [[0.0] * n for _ in range(n)]
    for k in range(n):
        t[0][k] = 100.0 * float(x[k])
    for _ in range(5):
        for i in range(1, n - 1):
            for j in range(1, n - 1):
                t[i][j] = 0.25 * (t[i - 1][j] + t[i + 1][j] + t[i][j - 1] + t[i][j + 1])
    return t, x[0]


def numbers(k):
    rng = np.random.default_rng(k)
    return rng.integers(1, 30, 40), rng.integers(1, 90, 40), 150


def letters(k):
    rng = np.random.default_rng(k)
    return rng.integers(0, 4, 40), rng.integers(0, 4, 50)


def vector_and(n):
    return lambda k: (np.random.default_rng(k).normal(size=400), n)


@pytest.mark.parametrize("function, make", [
    (knapsack, numbers), (common, letters), (sieve, vector_and(400)), (counts, vector_and(10)), (shuffled, vector_and(300)),
    (smoothed, vector_and(3)), (sums, vector_and(7)), (first_ones, vector_and(20)), (heat, vector_and(24))])
def test_items_that_change(function, make):
    check(function, make, calls=6)


def rows_are_one(x, n):
    t = [[0.0] * n] * n
    for k in range(400):
        t[k % n][k * 7 % n] += float(x[k])
    return t


def row_by_name(x, n):
    t = [[0.0] * n for _ in range(n)]
    row = t[1]
    for k in range(400):
        t[k % n][k * 7 % n] += float(x[k])
        row[0] += 1.0
    return t, row, row is t[1]


def in_another(x, n):
    inner = [0] * n
    outer = [inner, inner]
    for k in range(400):
        inner[k % n] += 1
    return outer, outer[0] is inner


def too_far(x, n):
    t = [0] * n
    try:
        for k in range(400):
            t[k] = k
    except IndexError:
        t.append(-1)
    return t


def raises(x, n):
    t = [0] * n
    for k in range(400):
        t[k] = k
    return t


def overflows(x, n):
    t = [1] * n
    for k in range(400):
        t[k % n] = t[k % n] * 3 + k
    return t


def other_type(x, n):
    t = [0] * n
    for k in range(400):
        t[k % n] = k if k < 350 else 0.5
    return t


def not_one_type(x, n):
    t = [0, 1.5, 2] * n
    for k in range(400):
        t[k % n] += k
    return t


def same_objects(x, n):
    big = [10.0 ** 9 + i for i in range(n)]
    kept = list(big)
    for k in range(400):
        big[k % 2] += x[k] > 0
    return [a is b for a, b in zip(big, kept)][2:], big


def read_by_function(x, n):
    t = [0.0] * n

    def total():
        return sum(t)
    for k in range(400):
        t[k % n] += float(x[k])
    return total()


@pytest.mark.parametrize("function", [rows_are_one, row_by_name, in_another, too_far, raises, overflows, other_type, not_one_type,
                                      same_objects, read_by_function])
def test_lists_seen_otherwise(function):
    jitted = pyasc.jit(function)
    x = np.random.default_rng(3).normal(size=400)
    for n in (9, 9, 9, 5):
        results = []
        for f in (jitted, function):
            try:
                results.append(freeze(f(x, n)))
            except IndexError as error:
                results.append(repr(error))
        assert results[0] == results[1]
        jitted.wait()


# Pairs that are compared, means of matrices.


def pairs(x, n):
    i = j = c = 0
    p = (0, 1)
    for k in range(n):
        i, j = (i * 5 + 3) % 7, (j * 3 + 1) % 5
        if (i, j) == (3, 2):
            c += 1
        if (i, j) != (n - 1, n - 1) and (i,) != p:
            c += 2
        if (x[i], i) == (x[0], 0) or (i, j, 1) == (i, k, True):
            c += 5
    return c


def means(s, n):
    t = 0.0
    for k in range(n):
        s[k % 16, k % 9] *= -1
        t += s.mean() + (s * s).mean() + s[2].mean()
    return t


def test_pairs_and_means():
    check(pairs, lambda k: (np.arange(9.0) + k, 200))
    check(means, lambda k: (np.random.default_rng(k).normal(size=(16, 9)), 200), numerics="strict")
    check(means, lambda k: (np.random.default_rng(k).integers(-9, 9, (16, 9)), 200), numerics="strict")
    check(means, lambda k: (np.asfortranarray(np.random.default_rng(k).normal(size=(16, 9))), 200), compiled=False, numerics="strict")


def numbers_in_words(x):
    least, most, total = float("inf"), float("-INF"), float("nan")
    for i in range(len(x)):
        if x[i] < least:
            least = x[i]
        if x[i] > most:
            most = x[i]
        last = float(" Infinity ") if x[i] > 2 else float("nan")
    return least, most, total, last


def shadowed(x):
    float = lambda text: len(text) if isinstance(text, str) else -1  # noqa: E731
    total = 0
    for i in range(len(x)):
        total += float("inf") + float("nan")
    return total


def test_numbers_in_words():
    check(numbers_in_words, vector())
    check(shadowed, vector(), compiled=False)
