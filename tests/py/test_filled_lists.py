"""Lists that loops fill, where it is not known how many items there will be: such loops are compiled by themselves."""
import pathlib
import subprocess
import sys

import numpy as np
import pytest

import pyasc
from nesting import compare

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "benchmarks"))

from cases.lists import close_pairs, crossings, largest_rectangle, longest_chain, primes, smoothed  # noqa: E402


def euler(y, dt, n):
    t = 0.0
    ts, ys = [t], [y]
    for i in range(n):
        y += dt * (-2 * y)
        t += dt
        ts.append(t)
        ys.append(y)
    return np.array(ts), np.array(ys)


def squares(n):
    out = []
    for k in range(n):
        if k % 3 == 0:
            out.append(k * k)
    return out


def halves(n):
    seq = [n]
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        seq.append(n)
    return seq


def pairs(x):
    out = []
    for i in range(len(x)):
        for j in range(i):
            if abs(x[i] - x[j]) < 0.1:
                out.append((i, j, x[i]))
    return out


def kinds(x):
    a, b, c, d = [], [], [], []
    for i in range(len(x)):
        a.append(x[i])
        b.append(x[i] > 0.5)
        c.append([i, float(x[i]) * 1j])
        d.append(i if i % 2 else 0.5)
        if x[i] < 0.25:
            d.append(x[i] > 0.1)
    return a, b, c, d


def found(x, limit):
    out = []
    total = 0.0
    for v in x:
        total += v
        if total > limit:
            out.append(total)
            return out, True
        out.append(v)
    return out, False


def raises(x, n):
    out = []
    for i in range(n):
        out.append(x[i] * 2)
    return out


def kept(x):
    out = [1.0]
    other = out
    for i in range(len(x)):
        out.append(x[i])
    return out is other, other


def rows(x):
    out = []
    for i in range(len(x)):
        out.append((x[i], i))
    return np.array(out)


def follows(y, dt, n):
    ys = [y]
    for k in range(n):
        ys.append(ys[-1] + dt * (1 - ys[-1]))
    return ys


def until(seed, n):
    out = []
    x = seed
    while len(out) < n:
        x = (1103515245 * x + 12345) % 2147483648
        if x % 3:
            out.append((x / 2147483648, x))
    return out


def sequence(n):
    f = [0, 1]
    for k in range(2, n):
        f.append((f[k - 1] + f[k - 2]) % 1000007)
    return f[-1], len(f)


def of_the_argument(x, most):
    best = [x[0]]
    for v in x:
        if v > best[-1]:
            best.append(v)
        if len(best) > most:
            break
    return best, best[len(best) // 2]


def too_far(n):
    out = [1.0]
    for k in range(n):
        out.append(out[k - 3] * 0.5)
    return out


def increasing(x):
    """What is left of a stack is a result."""
    stack, taken = [], 0
    for i in range(len(x)):
        while stack and x[stack[-1]] > x[i]:
            taken += stack.pop()
        stack.append(i)
    return stack, taken


def flood(grid, i, j):
    n = len(grid)
    rows, columns = [i], [j]
    count = 0
    while rows:
        i, j = rows.pop(), columns.pop()
        if i < 0 or j < 0 or i >= n or j >= n or grid[i, j]:
            continue
        grid[i, j] = 1
        count += 1
        for k in range(4):
            rows.append(i + (k == 0) - (k == 1))
            columns.append(j + (k == 2) - (k == 3))
    return count, rows


def takes_more(x):
    left = [1.0, 2.0]
    for v in x:
        left.pop()
    return left


def grows_while_gone_over(x):
    out = [1]
    for v in x:
        for o in out:
            if len(out) < 100:
                out.append(o + 1)
    return out


X = np.random.default_rng(3).random(200)
CASES = [
    (euler, [(1.0, 0.01, 300), (2.0, 0.01, 301), (1.0, 0.02, 0)]),
    (squares, [(1000,), (500,), (0,), (3,)]),
    (halves, [(97,), (871,), (1,), (6171,)]),
    (pairs, [(X,), (X[:100] * 3,), (X[::-2],)]),
    (kinds, [(X,), (1 - X,), (X.astype("f4"),), (X.astype("f2"),)]),
    (found, [(X, 60.0), (X, 1e9), (X * 2, 3.0)]),
    (raises, [(X, 200), (X, 150), (X, 300)]),
    (kept, [(X,), (X[1:],)]),
    (follows, [(1.0, 0.01, 300), (2.0, 0.01, 301), (1, 0.02, 200), (np.float64(3), 0.5, 300), (np.float32(3), 0.5, 300)]),
    (until, [(1, 200), (2, 300), (5, 0)]),
    (sequence, [(300,), (500,), (2,), (1000,)]),
    (of_the_argument, [(X, 100), (X[::-1] * 2, 100), (X, 2), (np.sort(X), 50), (X.astype("f4"), 10)]),
    (largest_rectangle, [(X,), (X[::-1] * 2,), (np.sort(X),), (X.astype("f4"),)]),
    (increasing, [(X,), (X[::-1],), (np.sort(X)[::-1],), (X.astype("f4"),)]),
    (primes, [(300,), (1000,), (2,), (500,)]),
    (close_pairs, [(X, 0.01), (X[:50], 0.1), (X, 0.0)]),
    (crossings, [(np.cumsum(X - 0.5), 0.0), (X, 0.5), (X[::-1], 0.9)]),
    (longest_chain, [(30,), (60,), (2,)]),
    (smoothed, [(X,), (X[:40],), (X[:2],)]),
    (flood, [((X.repeat(5).reshape(20, 50)[:, :20] > 0.7).astype(int), 3, 4), (np.zeros((20, 20), int), 0, 0)]),
    (takes_more, [(X[:2],), (X[:1],), (X,)]),
    (grows_while_gone_over, [(X[:20],), (X[:3],)]),
    (too_far, [(300,), (200,), (1,)]),
    (rows, [(X,), (X[1:],), (X.astype("f4"),)]),
]


@pytest.mark.parametrize("function, argsets", CASES, ids=[c[0].__name__ for c in CASES])
def test_case(function, argsets):
    compare(function, argsets, times=3)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_dtypes(dtype):
    """Items are of the type that the array's elements are."""
    def items(x, n):
        out = []
        for i in range(n):
            if i % 3:
                out.append(x[i])
        return out
    x = (np.random.default_rng(0).random(300) * 100 - (0 if dtype[0] in "u?" else 50)).astype(dtype)
    if dtype[0] == "c":
        x = x - 1j * x[::-1]
    compare(items, [(x, 200), (x, 300), (x[::-1], 250)], times=3)


def test_compiled():
    """The loop is code, in a function of its own."""
    jitted = pyasc.jit(euler)
    for n in (1000, 900, 1000, 900):
        jitted(1.0, 0.01, n)
        jitted.wait()
    jitted(1.0, 0.01, 800)
    assert "compiled loop" in jitted.explain()
    report = jitted.report()
    assert report["fallback"] is False and report["ops_compiled"] >= 1 and report["ops_effect"] == 0


def test_calls_before_the_code_is_there():
    """The loop runs as it is written, without hooks: the trace has ended."""
    def f(x, n):
        out = []
        for k in range(n):
            if x[k % 50] > 0.5:
                out.append(x[k % 50])
        return out

    jitted = pyasc.jit(f)
    for n in (30000, 30001, 29999):
        assert jitted(X, n) == f(X, n)
    jitted.wait()
    assert jitted(X, 29998) == f(X, 29998)


def test_own_list_of_a_called_function():
    """A called function fills its list: nothing is taken apart for that."""
    def main(x):
        total = 0.0
        for k in range(4):
            total += sum(squares(200 + k)) * x
        return total
    compare(main, [(1.0,), (2.5,)], times=3)


def test_items_are_gone_after_an_exception():
    """What a loop has filled when it raises is in the list, as in Python."""
    seen = []

    def fill(x, n):
        out = []
        seen.append(out)
        for i in range(n):
            out.append(float(x[i]))
        return len(out)
    jitted = pyasc.jit(fill)
    for _ in range(4):
        with pytest.raises(IndexError):
            jitted(X, 250)
        assert seen[-1] == X.tolist()


def conditional(x):
    y = np.array([i * x[i] for i in range(len(x)) if x[i] > 0.3])
    return y, [i for i in range(3)]


def shadowed(x):
    i = 7
    z = [i * j for i in range(len(x)) for j in range(i % 5)]
    return z, i


def of_itself(x):
    x = [x for x in x if x > 0.5]
    return x


def summed(x):
    return sum([v**2 for v in x]) + len([1 for v in x if v > 0.5])


def by_function(x):
    def h(t):
        return t * t + 1
    return np.array([h(v) for v in x])


def pairs_of(x):
    return np.mean([abs(a - b) for a in x for b in x]), [[v, v + 1] for v in x]


def caught(x):
    try:
        return [1 / v for v in [1, 0]]
    except ZeroDivisionError:
        return [v for v in x][:3]


def ordered(x):
    seen = []

    def tell(v):
        seen.append(v)
        return v
    return [tell(v) for v in (1, 2)] + [tell(v) for v in (3, 4)], tell(5), [tell(6) for _ in range(2)], seen


def seen_by_others(x):
    """An inner function reads the name while the list is made: what it was before."""
    rows = [1, 2, 3]

    def scale(v):
        return v * len(rows)
    rows = [scale(v) for v in x]
    return rows


def late(x):
    if x[0] > 2:
        scale = 2
    return [v * scale for v in x]


@pytest.mark.parametrize("function", [conditional, shadowed, of_itself, summed, by_function, pairs_of, caught, ordered, seen_by_others, late])
def test_comprehensions(function):
    """They are loops that fill lists."""
    compare(function, [(X,), (X[:50],), (1 - X,)], times=3)


def test_comprehension_is_compiled():
    jitted = pyasc.jit(pairs_of)
    for _ in range(3):
        jitted(X)
        jitted.wait()
    assert "compiled loop" in jitted.explain()


SHORT_OF_MEMORY = """
import resource
import pyasc

def numbers(n):
    out = []
    while len(out) < n:
        out.append(len(out) * 0.5)
    return len(out)

jitted = pyasc.jit(numbers)
for n in (2000, 3000, 4000, 5000, 6000):
    assert jitted(n) == n
    jitted.wait()
print("compiled loop" in jitted.explain())
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20),) * 2)
try:
    jitted(60_000_000)
except MemoryError:
    print("no memory")
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)
print(jitted(5000))
"""


def test_no_memory_for_the_items(tmp_path):
    """The loop ends with Python's exception, and goes on later."""
    path = tmp_path / "short_of_memory.py"
    path.write_text(SHORT_OF_MEMORY)
    ran = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, timeout=120)
    assert ran.stdout.split("\n")[:3] == ["True", "no memory", "5000"], ran.stderr
