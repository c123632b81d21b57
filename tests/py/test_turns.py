"""Functions that are taken apart: turns of loops as functions of their own do what the loops do."""
import random
import sys

import numpy as np
import pytest

import pyasc
from pyasc import _turns
from same import freeze, outcome


class Called:
    """A piece that is called whatever it does, or every other time."""

    def __init__(self, function, always=True):
        self.function, self.always, self.calls = function, always, 0

    def __call__(self, *args):
        return self.function(*args)

    @property
    def _pays(self):
        self.calls += 1
        return self.always or self.calls % 3 != 0


SIMPLE = [
    "x = x * 0.5 + {i}", "y = x + y[::-1]", "s += float(x[{j} % 3])", "x[{j} % 4] = s", "n += 1", "out.append(n)",
    "out.append(x.copy())", "log.append((n, s))", "z = y - x", "s = s + z.sum()", "y -= 1", "q = n % 3", "s -= q",
    "w = [v * n for v in (1, 2)]", "s += sum(w)", "s += sum(v for v in w)", "box['k'] = n", "s += box.get('k', 0)",
    "holder.value = x", "s += len(log)", "n = int(s) % 5", "x, y = y, x", "s = max(s, 1.0)", "a, b = n, s", "s += a",
    "z = x[x > s]", "s += y[y > 0].sum()", "w = np.flatnonzero(x > 0)", "n += len(np.unique(x)) + w[0]", "m = y < 1",
    "z = x[m] * 2", "x[m] = y[m] + z[0]", "s += np.where(x > y)[0].size - x[m & (x > 0)].size", "t = x[~m].max() + s, n",
    "print(n)", "_ = n", "t = (n, s)", "n, s = t", "x = np.where(x > s, y, x)", "s += i", "i = 5",
]
JUMPS = ["break", "continue", "return n, x", "raise ValueError(n)"]
TESTS = ["x[x > 1].any()", "n % 2", "s > 3", "x[0] > y[1]", "n == 4", "i > 2", "not n", "len(out) > 3", "s < 100 and n < 9"]
HEADS = ["for i in range({k}):", "for i in range(n, n + {k}):", "for i, v in enumerate((1, 2, 3)):", "for v in x:",
         "for i in (3, 1, 2):", "for (i, j) in zip(range({k}), x):", "while n < {k}:", "while s > 0 and n < {k}:",
         "while True:"]


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def block(self, depth, loop, room):
        lines = []
        for _ in range(self.random.randint(1, room)):
            lines += self.statement(depth, loop)
        return lines

    def statement(self, depth, loop):
        kind = self.random.random()
        if kind < 0.62 or depth > 3:
            return [self.random.choice(SIMPLE).format(i=self.random.choice(["n", "1", "s"]), j=self.random.choice(["n", "2"]))]
        indent = lambda body: ["    " + line for line in body]  # noqa: E731
        if kind < 0.70 and loop:
            jump = self.random.choice(JUMPS)
            return [f"if {self.random.choice(TESTS)}:", "    " + jump]
        if kind < 0.80:
            lines = [f"if {self.random.choice(TESTS)}:", *indent(self.block(depth + 1, loop, 3))]
            return lines + (["else:", *indent(self.block(depth + 1, loop, 3))] if self.random.random() < 0.5 else [])
        if kind < 0.84:
            lines = ["try:", *indent(self.block(depth + 1, loop, 3))]
            return lines + ["except (ValueError, IndexError) as e:", "    n += 1"] if self.random.random() < 0.6 else (
                lines + ["finally:", "    s += 1"])
        if kind < 0.87:
            return ["with np.errstate(all='ignore'):", *indent(self.block(depth + 1, loop, 3))]
        head = self.random.choice(HEADS).format(k=self.random.randint(1, 7))
        first = ["n += 1", "g += 1", "if g > 60: break"] if head.startswith("while") else []
        lines = [head, *indent(first + self.block(depth + 1, True, 5))]
        return lines + (["else:", "    s += 7"] if self.random.random() < 0.15 else [])

    def program(self):
        body = self.block(0, False, 9)
        head = self.random.choice(HEADS).format(k=self.random.randint(2, 7))
        first = ["n += 1", "g += 1", "if g > 60: break"] if head.startswith("while") else []
        body += [head, *["    " + line for line in first + self.block(1, True, 7)]]
        if self.random.random() < 0.3:
            body += self.block(0, False, 4)
        names = self.random.sample(["n", "s", "x", "y", "out", "log", "i"], 5)
        lines = ["def f(x, y, n, s, box, holder, log):", "    out, g = [], 0", *("    " + line for line in body),
                 f"    return {', '.join(names)}"]
        return "\n".join(lines) + "\n"


class Holder:
    value = None


def arguments():
    return [np.array([1.0, -2.0, 3.0, 0.5]), np.array([0.5, 1.5, -1.0, 2.0]), 1, 2.0, {}, Holder(), []]


def loaded(source, path):
    path.write_text(source)
    namespace = {"np": np}
    exec(compile(source, str(path), "exec"), namespace)
    return namespace["f"]


def state_of(args):
    return [freeze(a) for a in args]


def quietly(function, *args):
    with np.errstate(all="ignore"):
        return outcome(function, *args)


def check(seed, path, make):
    source = Maker(seed).program()
    f = loaded(source, path)
    divided = _turns.in_turns(f, make, False)
    if divided is None:
        return False
    one, other = arguments(), arguments()
    expected = quietly(f, *one)
    assert quietly(divided[0], *other) == expected, f"seed {seed}\n{source}"
    assert state_of(one) == state_of(other), f"seed {seed}\n{source}"
    return True


@pytest.mark.parametrize("make", [Called, lambda piece: Called(piece, False)], ids=["always", "sometimes"])
@pytest.mark.parametrize("block", range(5))
def test_random_programs_in_pieces(block, make, tmp_path, capsys):
    """The transformation alone: pieces are plain functions."""
    divided = sum(check(seed, tmp_path / f"p{seed}.py", make) for seed in range(block * 100, block * 100 + 100))
    assert divided > 30


@pytest.mark.parametrize("block", range(4))
def test_random_programs_in_jitted_pieces(block, tmp_path, capsys):
    for seed in range(5000 + block * 20, 5020 + block * 20):
        check(seed, tmp_path / f"p{seed}.py", lambda piece: pyasc.jit(piece, numerics="strict"))


# -- Through the decorator ------------------------------------------------------------------------------------------


def same(function, *calls, **settings):
    """The jitted function, after calls that did what the plain one does."""
    jitted = pyasc.jit(function, numerics="strict", **settings)
    for make in calls:
        one, other = make(), make()
        assert outcome(jitted, *other) == outcome(function, *one)
        assert state_of(one) == state_of(other)
    return jitted


def pieces(jitted):
    return jitted._pieces or []


def simulation(x, n, rng):
    spikes, trace = [], []
    for t in range(n):
        x = x + 0.1 * (np.cos(x) - x) + 0.01 * rng.normal(size=x.size)
        level = np.abs(x).max()
        if level > 0.9:
            spikes.append(t)
            x = x * 0.5
        trace.append(level)
        if level > 100:
            return None
    return x, spikes, trace


def test_a_long_loop():
    jitted = same(simulation, *(lambda i=i: (np.ones(20), 1500, np.random.default_rng(i)) for i in range(4)))
    assert len(pieces(jitted)) == 1
    jitted.wait()
    report = jitted.report()
    assert report["fallback"] is False and report["ops_compiled"] + report["ops_tier0"] + report["ops_library"] > 0
    assert "in pieces" in jitted.explain()
    assert pieces(jitted)[0].cache_info().traces <= 6


def test_a_loop_that_ends_where_values_say_so():
    def solve(A, b, tol):
        x, k = np.zeros_like(b), 0
        r = b - A @ x
        while np.sqrt(r @ r) > tol:
            x = x + r / np.diag(A)
            r = b - A @ x
            k += 1
        return x, k

    A = np.random.default_rng(3).random((9, 9)) + 9 * np.eye(9)
    jitted = same(solve, *(lambda i=i: (A, np.random.default_rng(i).random(9), 10.0**-(i % 11)) for i in range(30)))
    assert len(pieces(jitted)) == 1
    assert jitted.cache_info().traces <= 6


def test_long_lists_are_results():
    def f(x, n):
        out = []
        for _ in range(n):
            x = np.sin(x) + 1
            y = x * 2
            out.append(y)
        return out

    jitted = same(f, *(lambda: (np.arange(3.0), 400) for _ in range(4)))
    jitted.wait()
    assert len(pieces(jitted)) == 1 and jitted.report()["fallback"] is False


def test_inner_loops_are_divided_too():
    def f(x, n):
        seen = []
        for i in range(3):
            y = x * i
            for k in range(n):
                y = np.sqrt(abs(y)) + x
                z = y - k
                seen.append(z.sum())
            x = y
        return x, seen

    same(f, *(lambda: (np.arange(4.0), 900) for _ in range(4)))


def test_several_loops():
    def f(x, n):
        seen = []
        for k in range(n):
            x = np.sqrt(abs(x)) + 1
            y = x * x
            seen.append(y[0])
        for k in range(n):
            x = x - 0.5 * np.cos(x)
            y = x + y
            seen.append(y.sum())
        return x, seen, k

    jitted = same(f, *(lambda: (np.arange(4.0), 800) for _ in range(5)))
    assert len(pieces(jitted)) == 2
    assert any(pieces(p) for p in pieces(jitted))


def test_a_method():
    class Walker:
        def __init__(self):
            self.x, self.steps, self.seen = np.zeros(5), 0, []

        @pyasc.jit(numerics="strict")
        def walk(self, n):
            for _ in range(n):
                self.x = self.x * 0.9 + np.arange(5.0)
                self.steps += 1
                if self.x[0] > 0:
                    break
            return self.x.sum()

    class Plain(Walker):
        walk = Walker.walk.__wrapped__

    one, other = Walker(), Plain()
    for _ in range(4):
        assert one.walk(900) == other.walk(900)
        np.testing.assert_array_equal(one.x, other.x)
        assert one.steps == other.steps


def test_exceptions_come_from_the_line():
    def f(x, n):
        seen = []
        for k in range(n):
            x = np.sqrt(abs(x)) + 1
            y = x * x
            seen.append(k)
            if k == n - 1:
                raise KeyError(k)  # here
        return x, y

    jitted = pyasc.jit(f)
    line = f.__code__.co_firstlineno + 7
    for _ in range(4):
        with pytest.raises(KeyError) as caught:
            jitted(np.ones(3), 1200)
        assert [e.lineno for e in caught.traceback if e.path == caught.traceback[-1].path][-1] + 1 == line


def test_names_without_a_value():
    def f(x, n, late):
        for k in range(n):
            if k == late:
                y = x * 2
            x = np.cos(x) + 0.5
            z = abs(x)
            if k > 3:
                x = x + y
            last = z.sum()
            print(end="")
        return x, last

    same(f, lambda: (np.ones(3), 1200, 0), lambda: (np.ones(3), 1200, 2), lambda: (np.ones(3), 1200, 2),
         lambda: (np.ones(3), 1200, 0), lambda: (np.ones(3), 0, 0), lambda: (np.ones(3), 1200, 900))


def test_one_list_of_two_names():
    def f(x, n):
        a = b = []
        for k in range(n):
            x = np.cos(x) + 1
            y = x * 2
            a.append(k)
            b.append(y)
        return a, b, a is b

    same(f, *(lambda: (np.ones(2), 900) for _ in range(4)))


def test_what_is_written_ahead_of_a_selection():
    def f(x):
        a = (np.multiply(x, 2, out=x) + x[x > 1].size) * 2
        b = np.add(x, 1, x).sum() + x[x > 2].sum()
        return a, b, np.cos(x[x > 0] * 2).sum() + 1

    same(f, *(lambda i=i: (np.random.default_rng(i).normal(size=30),) for i in range(12)))


def test_parts_around_selections():
    def f(x, y):
        z = np.sqrt(abs(x)) + y * 2
        some = z[z > 2.8]
        w = np.cumsum(some) * 2 + some
        return w, w.size, z

    jitted = same(f, *(lambda i=i: (np.random.default_rng(i).normal(size=30), np.ones(30)) for i in range(12)))
    assert len(pieces(jitted)) == 2
    assert jitted.cache_info().traces <= 5


def test_changed_code_and_defaults():
    def f(x, n, by=2.0):
        out = []
        for k in range(n):
            x = np.cos(x) * by
            y = x + 1
            out.append(y)
        return out

    def other(x, n, by=2.0):
        out = []
        for k in range(n):
            x = np.sin(x) * by
            y = x - 1
            out.append(y)
        return out

    jitted = pyasc.jit(f, numerics="strict")
    args = np.ones(3), 700
    for _ in range(3):
        assert outcome(jitted, *args) == outcome(f, *args)
    f.__defaults__ = (3.0,)
    for _ in range(3):
        assert outcome(jitted, *args) == outcome(f, *args)
    f.__code__ = other.__code__
    for _ in range(3):
        assert outcome(jitted, *args) == outcome(f, *args)


def test_threads_share_pieces():
    import concurrent.futures

    jitted = pyasc.jit(simulation, numerics="strict")
    call = lambda i: (np.ones(20), 600, np.random.default_rng(i % 3))  # noqa: E731
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(lambda i: outcome(jitted, *call(i)), range(40)))
    expected = [outcome(simulation, *call(i)) for i in range(3)]
    assert all(got[i] == expected[i % 3] for i in range(40))


def test_recursion_depth_is_python_s():
    def f(x, depth):
        out = []
        for k in range(300):
            x = np.cos(x) + 1
            y = x * 2
            out.append(y)
        return f(x, depth - 1) if depth else out

    same(f, *(lambda: (np.ones(2), 3) for _ in range(3)))
    assert sys.getrecursionlimit() > 100


def test_selections_in_expressions():
    """What is computed ahead of a selection in an expression stays ahead of it, as exceptions and effects show."""
    def f(x, log):
        def note(v, k):
            log.append(k)
            return v
        a = note(x, 1)[1] + note(x, 2)[note(x, 3) > 0].sum() * note(2, 4)
        b = (np.multiply(x, 2, out=x) + x[x > 1].size, {"k": x[x > 2].sum()}, x.dot(x) + np.sqrt(x[x > 0]).max())
        c = [x[9] if x.size > 9 else 0, *x[x > 3][:1], x[x > 0].sum() if x.any() else 1]
        log += x[x > 0][:1].tolist()
        if note(x, 5)[x > -9].size and note(x, 6).sum() > 0:
            a += x[x < 0].sum() / len(x[x != 0])
        return a, b, c, x[20] + x[np.ones(3, bool)].sum()

    def g(x, n):
        try:
            for k in range(n):
                x = np.cos(x) * 2
                if k > 600:
                    raise ValueError(k)
        except ValueError as error:
            x = x * 2
        for k in range(n):
            try:
                x = np.sin(x) + 1
                if k % 7 == 3:
                    raise KeyError(k)
            except KeyError as error:
                x = x - 1
            last = x.sum()
        return x, last

    same(f, *(lambda i=i: (np.random.default_rng(i).normal(size=8 + 5 * (i % 4)), []) for i in range(14)))
    same(g, *(lambda n=n: (np.ones(3), n) for n in (500, 900, 500, 900, 900)))


def test_names_of_exceptions():
    def f(x, n):
        error, seen = None, []
        for k in range(n):
            try:
                x = np.sin(x) + 1
                y = x * 2
                if k == 5:
                    raise KeyError(k)
            except KeyError as error:
                seen.append(str(error))
            seen.append(y)
        return seen, n

    same(f, *(lambda: (np.ones(3), 500) for _ in range(4)))


def test_an_exception_where_the_function_is_taken_apart(tmp_path):
    """The call raises, and is the one after which the function is given up as one trace: the exception stays."""
    def f(z, v, n):
        rng = np.random.default_rng(3)
        w = np.float32(0.5)
        q = 0
        while q < n:
            q += 1
            if z[q % n] >= 0.3:
                if q <= v or q <= rng.integers(3) and q > 54:
                    return v
                w = (v // 3) - (q + q)
        return w, missing  # noqa: F821

    z = np.random.default_rng(1).choice([-1.0, 0.0, 0.5, 1.0], size=133)
    z[1] = 1.0
    other = np.roll(z, 5)
    other[:3] = -1.0
    jitted = pyasc.jit(f, numerics="strict")
    for _ in range(3):
        assert jitted(z, True, 133) is True
        for _ in range(2):
            with pytest.raises(NameError):
                jitted(other, True, 133)
