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


def check(function, make, calls=4, compiled=True):
    jitted = pyasc.jit(function)
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
