"""Loops compiled as a whole, rule by rule: what changes between calls, signals, threads."""
import math
import signal
import threading
import time

import numpy as np
import pytest

import pyasc
from nesting import compare, vec
from same import freeze, outcome



# -- What changes between calls ----------------------------------------------------------


def jits(function, **settings):
    return [function] + [pyasc.jit(function, tier=tier, numerics="strict", **settings) for tier in (0, 1)]


def alike(calls):
    """Each call with each of the functions: plain first."""
    seen = [[outcome(c) for c in one] for one in zip(*calls)]
    assert seen[1:] == seen[:1] * (len(seen) - 1)


def with_globals(source, tmp_path, **names):
    path = tmp_path / "program.py"
    path.write_text(source)
    scope = {"__name__": "program", "np": np, "math": math, **names}
    exec(compile(source, str(path), "exec"), scope)
    return scope


def check_changes(source, tmp_path, changes, arguments, names):
    """`f` of the source, called after each change of its globals, plain and jitted."""
    got = []
    for make in (lambda f: f, lambda f: pyasc.jit(f, tier=0, numerics="strict"), lambda f: pyasc.jit(f, tier=1, numerics="strict")):
        scope = with_globals(source, tmp_path, **names())
        f = make(scope["f"])
        seen = []
        for change in [lambda s: None, lambda s: None, *changes, lambda s: None]:
            change(scope)
            args = arguments()
            with np.errstate(all="ignore"):
                seen.append((outcome(f, *args), freeze(args), freeze([v for k, v in scope.items() if k.startswith("G")])))
        got.append(seen)
    for number, (p, q, r) in enumerate(zip(*got)):
        assert q == p and r == p, f"call {number}"


GLOBAL_NUMBER = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * G
        a[i] = G
    return s
"""


@pytest.mark.parametrize("values", [(1, 2, 3), (1, 1.0, True), (2.0, np.float64(2), np.float32(2)), (np.int64(3), 3, np.int8(3)), (2**40, 2**70, None)])
def test_global_number(values, tmp_path):
    changes = [lambda s, v=v: s.update(G=v) for v in values]
    check_changes(GLOBAL_NUMBER, tmp_path, changes, lambda: [vec(6)], lambda: {"G": values[0]})


GLOBAL_ARRAY = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += a[i] * G[i]
        G[i] += 1
    return s
"""


def test_global_array(tmp_path):
    def put(s):
        s["G"][2] = 100
    changes = [put, lambda s: s.update(G=np.arange(6.0)), lambda s: s.update(G=np.arange(6)), lambda s: s.update(G=np.arange(12.0)[::2]),
               lambda s: s.update(G=np.arange(3.0)), lambda s: s.update(G=np.arange(6.0)), lambda s: setattr(s["G"].flags, "writeable", False),
               lambda s: s.update(G=[1, 2, 3, 4, 5, 6]), lambda s: s.update(G=np.arange(6.0)[::-1]), lambda s: s.update(G=np.ones(6, "f4"))]
    check_changes(GLOBAL_ARRAY, tmp_path, changes, lambda: [vec(6)], lambda: {"G": np.arange(6.0)})


HELPER = """
def h(x, y=2.0):
    return x * y + G

def f(a):
    s = 0.0
    for i in range(len(a)):
        s += h(a[i], i)
        a[i] = h(s, 1.5)
    return s
"""


def test_helper_changes(tmp_path):
    def other(x, y=3):
        return x - y

    def code(s):
        s["h"].__code__ = other.__code__
    changes = [lambda s: s.update(G=2), lambda s: s.update(G=np.float64(2)), lambda s: s.update(h=other), code, lambda s: s.update(h=max), lambda s: s.update(h=math.pow),
               lambda s: s.update(h=np.maximum), lambda s: s.update(h=lambda x, y: x + y), lambda s: s.update(h=lambda x: x)]
    check_changes(HELPER, tmp_path, changes, lambda: [vec(6)], lambda: {"G": 1.0})


DEFAULTS = """
def h(x, y=2.0, *, z=1.0):
    return x * y + z

def f(a):
    s = 0.0
    for i in range(len(a)):
        s += h(a[i])
    return s
"""


def test_defaults_change(tmp_path):
    changes = [lambda s: setattr(s["h"], "__defaults__", (3.0,)), lambda s: setattr(s["h"], "__kwdefaults__", {"z": 5.0}), lambda s: setattr(s["h"], "__defaults__", None)]
    check_changes(DEFAULTS, tmp_path, changes, lambda: [vec(6)], lambda: {})


BUILTIN = """
def f(a):
    s = 0.0
    for i in range(len(a)):
        s += abs(a[i]) + max(a[i], 0.0)
    return s
"""


def test_builtins_shadowed(tmp_path):
    changes = [lambda s: s.update(abs=lambda x: x), lambda s: s.update(max=min), lambda s: s.pop("abs"), lambda s: s.update(range=lambda n: [0]), lambda s: s.update(len=lambda n: 2), lambda s: s.pop("range")]
    check_changes(BUILTIN, tmp_path, changes, lambda: [vec(6)], lambda: {})


MODULES = """
import types
Gm = types.SimpleNamespace(k=2.0, t=(1, 2.5), n=3)

def f(a):
    s = 0.0
    for i in range(Gm.n):
        s += a[i] * Gm.k + Gm.t[0]
        a[i] = s
    return s
"""


def test_attributes_change(tmp_path):
    changes = [lambda s: setattr(s["Gm"], "k", 3), lambda s: setattr(s["Gm"], "t", (2.0, 1)), lambda s: setattr(s["Gm"], "n", 5), lambda s: setattr(s["Gm"], "n", 9), lambda s: delattr(s["Gm"], "k")]
    check_changes(MODULES, tmp_path, changes, lambda: [vec(6)], lambda: {})


CLOSURE = """
def make():
    k = 2.0
    w = np.arange(6.0)
    def set(v):
        nonlocal k
        k = v
    def f(a):
        s = 0.0
        for i in range(len(a)):
            s += a[i] * k + w[i]
            w[i] = s
        return s
    return f, set

f, Gset = make()
"""


def test_cells_change(tmp_path):
    changes = [lambda s: s["Gset"](3), lambda s: s["Gset"](np.float32(1.5)), lambda s: s["Gset"](2.0), lambda s: s["Gset"](None)]
    check_changes(CLOSURE, tmp_path, changes, lambda: [vec(6)], lambda: {})


def test_many_ints():
    """Other ints in turn: neither slow nor forgetful."""
    def f(n):
        s = 0
        for i in range(n % 7):
            s += i * n
        return s
    plain, *jitted = jits(f)
    for n in range(1000):
        expected = plain(n)
        assert [j(n) for j in jitted] == [expected, expected]


def test_many_lengths():
    def f(a, n):
        s = 0.0
        for i in range(n):
            s += a[i] * i
            a[i] = s
        return s
    plain, *jitted = jits(f)
    for n in range(60):
        for m in (n, n // 2, n + 1):
            kinds = [outcome(g, np.arange(float(n)), m) for g in (plain, *jitted)]
            assert kinds[1:] == kinds[:1] * 2


def test_dtypes_in_turn():
    def f(a, b):
        s = 0
        for i in range(len(a)):
            s += a[i] * b[i]
            a[i] += b[i]
        return s
    plain, *jitted = jits(f)
    for turn in range(2):
        for d in ("f8", "f4", "i8", "i4", "u1", "?", "i1", "u8", "f2", "c16", "O", ">f8", "g"):
            for e in ("f8", "i4", "u1"):
                seen = []
                for g in (plain, *jitted):
                    a, b = vec(5, "i4", low=0).astype(d), vec(5, "i4", 1, low=0).astype(e)
                    with np.errstate(all="ignore"):
                        seen.append((outcome(g, a, b), freeze([a, b])))
                assert seen[1:] == seen[:1] * 2, (d, e)


class Alarm(Exception):
    pass


def stop(signum, frame):
    raise Alarm


def long_nested(a, n):
    s = 0.0
    for i in range(n):
        for j in range(n):
            s += a[j % 8] * 1e-9
            a[0] = s
    return s


def long_inner(a, n):
    s = 0.0
    for j in range(n * n):
        s = s * 0.5 + a[3]
    return s


def long_while(a, n):
    i = 0
    while i != n * n:
        i = (i * 3 + 1) % 1000003
    return i


def long_slices(a, n):
    for i in range(n * n):
        a[1:] += a[:-1] * 1e-3
    return a


def long_sums(a, n):
    b = np.zeros(10**6)
    s = 0.0
    for i in range(n * n):
        s += b.sum()
        s += b @ b
        s += b.max()
    return s


@pytest.mark.parametrize("function", [long_nested, long_inner, long_while, long_slices, long_sums], ids=lambda f: f.__name__)
def test_stopped_by_a_signal(function):
    before = signal.signal(signal.SIGALRM, stop)
    try:
        jitted = pyasc.jit(function, tier=1)
        for turn in range(2):
            signal.setitimer(signal.ITIMER_REAL, 0.4)
            start = time.perf_counter()
            with pytest.raises(Alarm):
                jitted(np.zeros(8), 10**7)
            assert time.perf_counter() - start < 0.4 + 0.3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_threads():
    def f(a, n):
        s = 0.0
        for i in range(n):
            for j in range(len(a)):
                s = s * 0.5 + a[j]
                a[j] += 1
        return s
    jitted = pyasc.jit(f, tier=1, numerics="strict")
    wrong = []

    def work(k):
        for turn in range(20):
            n = (k + turn) % 5
            a, b = vec(8 + k % 3, seed=k), vec(8 + k % 3, seed=k)
            if freeze([f(a, n), a]) != freeze([jitted(b, n), b]):
                wrong.append((k, turn))
    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_many_axes_and_arrays():
    arrays = [np.full((2,) * 6, float(k)) for k in range(24)]
    names = ", ".join(f"a{k}" for k in range(24))
    body = "".join(f"        s += a{k}[i, 0, 1, 0, 1, i]\n        a{k}[i, i, i, i, i, i] += 1\n" for k in range(24))
    source = f"def f({names}):\n    s = 0.0\n    for i in range(2):\n{body}    return s\n"
    import linecache
    linecache.cache["<many>"] = (len(source), None, source.splitlines(True), "<many>")
    scope = {}
    exec(compile(source, "<many>", "exec"), scope)
    compare(scope["f"], [tuple(arrays)])


def test_many_names():
    names = [f"x{k}" for k in range(80)]
    source = "def f(n):\n" + "".join(f"    {x} = {k}.0\n" for k, x in enumerate(names)) + "    for i in range(n):\n" + "".join(f"        {x} += {y}\n" for x, y in zip(names, names[1:] + names[:1]))
    source += "    return " + ", ".join(names) + "\n"
    import linecache
    linecache.cache["<names>"] = (len(source), None, source.splitlines(True), "<names>")
    scope = {}
    exec(compile(source, "<names>", "exec"), scope)
    compare(scope["f"], [(3,), (0,), (20,)])


# -- What is read behind loops that are left in the middle, and what may raise -------------


def otherwise_bound(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    y = np.zeros(3)
    for i in range(n):
        if a[i] > 1e9:
            break
    else:
        s = 1.0
    return s, y


def otherwise_bound_in_loops(a, n):
    s = t = 0.0
    for i in range(n):
        s += a[i]
    y = np.zeros(2)
    for k in range(3):
        while t < 5:
            t += 1
            if a[k] > 1e9:
                break
        else:
            s, t = k, 0.0
        y = y + s
    return s, t, y


@pytest.mark.parametrize("function", [otherwise_bound, otherwise_bound_in_loops])
def test_names_bound_in_else_are_read_after_break(function):
    low = np.arange(1000.0)
    high = low.copy()
    high[1] = 1e10
    compare(function, [(low, 1000), (high, 1000), (low, 900)])


def unused_quotient(p, q):
    c = q
    c //= p
    c //= round(c, 1)
    return 1


def unused_quotients_in_place(c, e):
    d = c + e
    d //= d + 0
    d = c - 1
    d %= d + 0
    d = c - 2
    d /= d + 0
    d = c - 3.0
    d **= -1
    return 1


def test_augmented_divisions_raise_unused():
    compare(unused_quotient, [(-2.0, 4.0), (-2.0, 3.0), (-2.0, -0.0), (-2.0, 9.0)])
    compare(unused_quotients_in_place, [(k, 0.0) for k in (5.0, 0.0, 1.0, 2.0, 3.0, 7.0)])


# -- Loops that are left before anything is written --------------------------------------


def divides_before_it_writes(a, b, n, k):
    s = 0
    for i in range(n):
        s += 7 % (i - k)
        s -= int(b[i % 8])
    a[1:] = b[:-1] * s
    return s


@pytest.mark.parametrize("tier", [None, 1])
def test_left_before_a_write(tier):
    options = {} if tier is None else {"tier": tier}
    jitted = pyasc.jit(divides_before_it_writes, **options)
    for k in (-1, -2, 3, -1, 9, 0):
        seen = []
        for function in (divides_before_it_writes, jitted):
            a, b = np.arange(8.0), np.ones(8)
            seen.append((outcome(function, a, b, 300, k), freeze([a, b])))
        assert seen[1] == seen[0], k
        jitted.wait()
