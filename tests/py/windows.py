"""Random programs whose names are windows on arrays, given from one to the other in branches and loops."""
import linecache
import random

import numpy as np

import pyasc
from same import freeze

WINDOWS = ["x[i:]", "x[1:]", "x[i:i + 9]", "x[::-1]", "x[i::2]", "x", "u[i]", "u[:, i]", "u[i, 1:]", "u[0]", "y", "t", "w", "x[2:][i:]",
           "u[i][2:]", "y[1:]", "t[1:]", "w[1:]"]
TESTS = ["x[i] > c", "s > c", "i % 3 == 0", "len(y) > 8", "len(t) > 8"]


def statements(rng, depth, n):
    indent = "    " * (depth + 2)
    for _ in range(n):
        kind, a, b = rng.random(), rng.choice("ytw"), rng.choice("ytw")
        if kind < 0.2:
            yield f"{indent}{a} = {rng.choice(WINDOWS)}"
        elif kind < 0.23:
            yield f"{indent}{a} = {rng.choice(WINDOWS)} if x[i] > c else {rng.choice(WINDOWS)}"
        elif kind < 0.3:
            yield f"{indent}{a} = {b} if x[i] > c else {b}"
        elif kind < 0.45:
            other = f"\n{indent}    s += 1" if rng.random() < 0.5 else ""
            yield f"{indent}if {rng.choice(TESTS)}:{other}\n{indent}    {a} = {b}\n{indent}else:\n{indent}    {a} = {b}"
        elif kind < 0.48:
            yield f"{indent}{a}, {b} = {b}, {a}"
        elif kind < 0.6 and depth < 2:
            yield f"{indent}if {rng.choice(TESTS)}:"
            yield from statements(rng, depth + 1, rng.randint(1, 2))
            if rng.random() < 0.8:
                yield f"{indent}else:"
                yield from statements(rng, depth + 1, rng.randint(1, 2))
        elif kind < 0.65 and depth < 2:
            yield f"{indent}for k in range(2):"
            yield from statements(rng, depth + 1, rng.randint(1, 2))
        elif kind < 0.7:
            yield f"{indent}{a}[0] = s"
        else:
            yield f"{indent}s += {a}[{rng.choice(['0', '-1', '1'])}] * {rng.choice(['i', '2.0', '1'])}"


def program(seed):
    """The function f(x, u, c) of the seed: x of shape (24,), u of (12, 14), float64; c a float."""
    rng = random.Random(seed)
    lines = ["def f(x, u, c):", "    s = 0.0", "    t = x", "    w = u[0]", "    for i in range(1, 12):",
             f"        y = {rng.choice([w for w in WINDOWS if w[0] in 'xu'])}", *statements(rng, 0, rng.randint(3, 6)),
             "        s += y[0] + 2 * t[0] + 3 * w[-1]", rng.choice(["    return s", "    return s, y", "    return s, t[0]"]), ""]
    source, name = "\n".join(lines), f"<windows {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {}
    exec(compile(source, name, "exec"), names)
    return names["f"], source


def outcome(function, seed, c):
    """What comes of a call, and what the arrays hold after it."""
    rng = np.random.default_rng(seed)
    arrays = rng.random(24), rng.random((12, 14))
    try:
        result = freeze(function(*arrays, c))
    except Exception as error:
        result = type(error).__name__
    return result, freeze(arrays)


def check(seed):
    function, source = program(seed)
    jitted = pyasc.jit(function, numerics="strict", tier=1)
    for c in (0.5, 1.0, 0.2, 0.5):
        assert outcome(jitted, seed, c) == outcome(function, seed, c), (seed, c, source)
        jitted.wait()
