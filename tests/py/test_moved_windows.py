"""Windows that ints among the arguments move: one trace for all places, NumPy's result at each."""
import random

import numpy as np
import pytest

import pyasc
from same import outcome


def history(i, K, x):
    K[i + 1] = x.sum()


def element(i, K, x):
    K[i] = x[i]
    return K[i] * 2, x[2 * i - 3], x[-i]


def two(i, K, x):
    K[i], K[i + 1] = x.sum(), x.mean()
    return K[i + 1] - K[i]


def read_after_write(i, K, x):
    K[i] = 5.0
    K[i + 1] = K[i] + x[0]
    K[i] += 1
    return K[i], K[i + 1], K.sum()


def windows(i, K, x):
    K[i:i + 4] = x[:4]
    K[i + 1:i + 5] += x[i:i + 4]
    return x[i:i + 3] * 2, K[i:i + 6:2].sum()


def overlapping(i, K, x):
    K[i + 1:i + 8] = K[i:i + 7]
    K[i:i + 7] = K[i + 1:i + 8] * 2
    return K.sum()


def of_results(i, K, x):
    y = x * 2
    y[i] = 7
    return y, y[i + 1], (x + 1)[i]


def rows(i, K, x):
    A = K.reshape(10, 10)
    A[i, :] = x[:10]
    A[:, i] -= A[i]
    return A[i] @ A[:, i], A[i, i], A[i:i + 2, 1:3] + 1, A[::2].T[i]


def views(i, K, x):
    v = K[i:i + 9]
    v[2] = x[0]
    v[i] = x[1]
    w = v[::-1]
    w += 1
    return v.copy(), w.sum(), v


def products(i, K, x):
    return x[i:i + 5] @ x[i + 1:i + 6], np.dot(K[i:i + 3], x[:3]), np.linalg.norm(x[i:i + 3])


def ends(i, K, x):
    return x[:i].sum(), x[i:].sum(), x[-i:].copy(), x[i::2] * 2


def loops(i, K, x):
    total = 0.0
    for k in range(4):
        total += x[i + k] * K[k]
        K[i + k] = total
    return total


def choices(i, K, x):
    if x[i] > 0:
        K[i] = x[i]
    else:
        K[i + 1] = -x[i]
    return K[i]


def masks(i, K, x):
    K[i:i + 7][x[:7] > 0] = 3
    K[i:i + 7][K[i:i + 7] > 1] -= 1
    return np.where(x > x[i], x, 0)


def ring(i, K, x):
    K[i % 7] = x[i // 2]
    K[(i + 1) % 7] -= K[i % 7]
    r = i % 7
    return K[r:r + 3] * 2


def nearest(i, K, x):
    p = np.argmin(abs(K - x[i]))
    A = K.reshape(20, 5)
    A[p % 20] += 1
    K[p] = i
    q = int(np.argmax(x + i))
    return A[p // 5].sum(), K[p], x[q], K[q:q + 3] - x[:3], p, q


def pivot(i, K, x):
    A = K.reshape(10, 10)
    p = np.argmax(abs(A[3:, 3])) + 3
    A[[3, p]] = A[[p, 3]]
    t = A[p].copy()
    A[p], A[i] = A[i], t
    A[:, p] *= i
    return A[p] @ A[3], A[3, p], np.linalg.norm(A[p])


CASES = [history, element, two, read_after_write, windows, overlapping, of_results, rows, views, products, ends, loops,
         choices, masks, ring, nearest, pivot]


def started(length=30):
    return np.linspace(-1, 2, 100), np.cos(np.arange(length))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", CASES)
def test_all_places(function, tier):
    jitted = pyasc.jit(function, tier=tier, numerics="strict")
    K, x = started()
    L, y = started()
    for i in [3, 4, 5, 1, 0, 2, 6, 9, -1, -3, 8, 4, 25, 200, -200, 2**40, 2**70, True, np.int64(3), 7, 2.0, 5, 98, 99]:
        assert outcome(jitted, i, K, x) == outcome(function, i, L, y), i
        assert K.tobytes() == L.tobytes(), i


@pytest.mark.parametrize("function", [f for f in CASES if f not in (ends, choices)])
def test_one_trace_for_all_places(function):
    jitted = pyasc.jit(function)
    for i in range(2, 9):
        jitted(i, *started())
    assert jitted.cache_info().traces <= 3
    assert not any(entry["plain"] for entry in jitted._facts()["entries"])


@pytest.mark.parametrize("function", CASES)
def test_other_lengths(function):
    """An array of another length leaves other places to the window."""
    jitted = pyasc.jit(function, numerics="strict")
    for n, i in [(30, 3), (30, 4), (31, 4), (12, 5), (12, 9), (40, 9), (11, 8), (100, 20), (100, 95), (9, 8), (5, 6), (20, 8)]:
        K, x = started(n)
        L, y = started(n)
        assert outcome(jitted, i, K, x) == outcome(function, i, L, y), (n, i)
        assert K.tobytes() == L.tobytes(), (n, i)


def cast(x, i):
    x[i] = 1.5
    x[i:i + 2] = 2.7
    x[i] *= 2
    x[i + 1] = x[i] > 2
    x[i] = np.argmin(x)


def crossed(x, i):
    m = x.reshape(4, 4)
    m[i] = m[:, i]
    m[i, 0], m[i, 1] = m[i, 1], m[i, 0] * 0.5
    m[:, i] = (1, 2, 3, 4)


def of_lists(x, i):
    x[i:i + 4] = [1, 2, 3, 4.5]
    x[[i, i + 1]] = x[[i + 1, i]]
    x[i:i + 3] = x[i + 1:i + 4][::-1]


def of_objects(x, i):
    x[i] = "3"
    x[i] = None


def in_turns(x, i):
    for j in range(3):
        x[i + j] = j * 1.7
    x[np.argmax(x)] = -1.9
    x[i:i + 4] = np.float32(3.3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["i8", "f8", "f4", "i4", "u1", "c16", "?"])
@pytest.mark.parametrize("function", [cast, crossed, of_lists, of_objects, in_turns])
def test_stores_that_are_calls(function, dtype):
    """What no window takes as it is goes the general way, and there, too, to the place of this call."""
    for tier in (0, 1):
        jitted = pyasc.jit(function, tier=tier, numerics="strict")
        for i in (0, 1, 2, 3, 1, 0, 3, 2, 5, -1, 12):
            x, y = np.arange(16).astype(dtype), np.arange(16).astype(dtype)
            assert outcome(jitted, y, i) == outcome(function, x, i), i
            assert x.tobytes() == y.tobytes(), i


def test_several_ints():
    def f(i, j, A, x):
        A[i, j] += x[i] * x[j]
        A[j, i] = A[i, j] - A[i + 1, j]
        t = A[i:i + 2, j:j + 2] * 2
        A[i - 1:i + 1, j] = x[j:j + 2]
        return t, A[i] + A[:, j], x[i + j], x[i + 2 * j - 3]

    for tier in (0, 1):
        jitted = pyasc.jit(f, tier=tier, numerics="strict")
        A, B, x = np.arange(64.0).reshape(8, 8), np.arange(64.0).reshape(8, 8), np.sin(np.arange(8))
        for i in range(-2, 9):
            for j in range(-1, 9):
                assert outcome(jitted, i, j, A, x) == outcome(f, i, j, B, x), (i, j)
                assert A.tobytes() == B.tobytes(), (i, j)
    jitted = pyasc.jit(f)
    for i in range(1, 4):
        for j in range(1, 4):
            jitted(i, j, A, x)
    assert jitted.cache_info().traces <= 3


def test_kept_views_are_of_their_place():
    @pyasc.jit
    def f(i, x):
        x[i] = -1
        return x[i:i + 3]

    x = np.arange(20.0)
    kept = [f(i, x) for i in range(10)]
    assert all(v.base is x for v in kept)
    np.testing.assert_array_equal([v[0] for v in kept], np.full(10, -1.0))
    kept[4][1] = 9
    assert x[5] == 9


ATOMS = ["i", "j", "i + 1", "j - 1", "2 * i", "i + j", "5 - i", "-i", "-1", "3", "i - j", "0"]
STATEMENTS = [
    "a[{0}] = b[{1}]", "a[{0}] += 1", "s = a[{0}] * b[{1}]", "a[{0}] = s", "a[{0}:{0} + 3] = b[{1}:{1} + 3]",
    "t = a[{0}:{0} + 4]", "t[{0}] = s", "t *= 2", "b[{1}:{1} + 3] -= a[{0}:{0} + 3]", "u = a + b[{0}]", "s += u[{1}]",
    "a[:] = a[::-1]", "a[{0}:] = 2", "u[{0}] = a[{1}]", "m[{0}, {1}] = s", "m[{0}] += m[{1}]", "s += m[:, {0}].sum()",
    "t = m[{0}]", "m.T[{0}, 1:3] = b[{1}:{1} + 2]", "if s > 1:\n        a[{0}] = 1", "b = a[{0}:{0} + 6]", "out.append(t)",
    "for k in range(3):\n        a[{0} + k] += b[k]", "s = float(a[{0}])", "out.append(u.copy())", "i += 1", "j = i + 2",
    "i = i % 4", "j = i // 2", "i = int(b.argmax())", "j = np.argmin(a)", "i = j", "j = int(s) % 3", "j = np.int64(i)",
    "for k in range(4):\n        i = i + 1\n        a[{0}] = b[k]", "for k in range(4):\n        a[{0}] += b[{1}]",
    "for k in range(4):\n        j = (j + i) % 5\n        m[{0}] += m[j]",
]


def program(seed):
    rng = random.Random(seed)
    body = [rng.choice(STATEMENTS).format(rng.choice(ATOMS), rng.choice(ATOMS)) for _ in range(rng.randint(2, 8))]
    lines = ["def f(i, j, a, b, m):", "    s, t, u, out = 1.5, a[:4], a + 1, []", *("    " + line for line in body),
             "    return s, t, u, out, i, j"]
    namespace = {}
    exec("\n".join(lines), namespace)
    namespace["f"].__pyasc_source__ = source = "\n".join(lines)
    return source, rng


def arrays(rng_seed, aliased):
    rng = np.random.default_rng(rng_seed)
    n = int(rng.integers(8, 14))
    a = rng.integers(-3, 4, 2 * n).astype(float)
    b = a[n:] if aliased == 1 else a[n // 2:n // 2 + n][::-1] if aliased == 2 else rng.integers(-3, 4, n).astype(float)
    return a[:n], b, rng.integers(-3, 4, (6, 6)).astype(float)


@pytest.mark.parametrize("block", range(8))
def test_random_programs(block, tmp_path):
    for seed in range(block * 12, block * 12 + 12):
        source, rng = program(seed)
        path = tmp_path / f"p{seed}.py"
        path.write_text(source)
        namespace = {}
        exec(compile(source, str(path), "exec"), namespace)
        f = namespace["f"]
        jitted = pyasc.jit(f, tier=seed % 2, numerics="strict")
        for call in range(14):
            i, j = rng.randint(-2, 7), rng.randint(0, 5)
            aliased = rng.choice([0, 0, 1, 2])
            one, other = arrays(seed * 100 + call // 4, aliased), arrays(seed * 100 + call // 4, aliased)
            with np.errstate(all="ignore"):
                assert outcome(jitted, i, j, *one) == outcome(f, i, j, *other), (seed, call, i, j, source)
            for x, y in zip(one, other):
                assert x.tobytes() == y.tobytes(), (seed, call, i, j, source)


def test_exceptions_ahead_of_stores_come_from_the_line():
    def f(a, i, j):
        a[0] += 1
        b = a * 2
        a[i % j] = b[i % j]
        return a

    def g(a, i, j):
        k = i % j
        a[k] = 1.0
        return a

    for function, line in ((f, 3), (g, 1)):
        jitted = pyasc.jit(function, numerics="strict")
        for i, j in [(1, 3), (2, 4), (5, 3), (4, 0), (7, 0), (3, 2)]:
            x, y = np.arange(8.0), np.arange(8.0)
            assert outcome(jitted, y, i, j) == outcome(function, x, i, j)
            assert x.tobytes() == y.tobytes()
            if j == 0:
                with pytest.raises(ZeroDivisionError) as caught:
                    jitted(y, i, j)
                assert caught.traceback[-1].lineno + 1 == function.__code__.co_firstlineno + line
