"""Loops over ranges: kept as `for` regions where they can be, right in any case.

Each program runs plainly and jitted, on three sets of values of one signature, and is compared to
the bit: results, types, and arguments after the call. `kept` says that the loop has to be a region
in the plan. Random programs: `PYASC_EXAMPLES=3000 ./run python -m pytest tests/py/test_loops.py`.
"""
import importlib.util
import os
import random

import numpy as np
import pytest
from same import freeze

import pyasc


def jacobi(a, b, n):
    for t in range(1, n):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])


def rows(a, b, n):
    s = 0.0
    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = a[i].sum()
        s = s + out[i]
    return out, s, i


def rebind(a, b, n):
    x = a
    for k in range(n):
        y = x * 0.5 + b
        x = y * y - x
    return x, y, k


def clock(a, b, n):
    t, x, s, c = 0.0, a * 1, np.float64(0), 1.5
    for k in range(n):
        x = x + t
        t += 0.25
        s += b[0]
        c *= s
        s += 1
        c -= t
        x = x - c
    return x, t, s, c


def array_by_a_number(a, b, n):
    s = a.sum()
    s += b
    t = 2.0
    t *= a
    t += n
    u = a[0]
    u /= b[1]
    u **= 2
    return s, t, u


def equal_expressions(a, b, n):
    v, p = b * 1, a * 1
    acc = p * 2
    for k in range(n):
        v += acc * 0.5
        p += v
        acc = p * 3
        v += acc * 0.5
    return p, v, acc


def nest(a, b, n):
    out = np.zeros((n, n))
    m = np.outer(a[:n], b[:n])
    for i in range(1, n - 1):
        for j in range(1, n - 1):
            out[i, j] = m[i - 1, j] + m[i + 1, j] + m[i, j - 1] - m[i, j]
    return out


def moving_slices(a, b, n):
    out = np.zeros(n)
    for i in range(n):
        out[i] = a[i] * b[i]
        a[i : i + 3] += b[i]
    return out


def backwards(a, b, n):
    for i in range(n - 1, 0, -1):
        a[i - 1] = a[i] * 0.5 + b[i]
    return a[0]


def fibonacci(a, b, n):
    x, y = a[0], b[0]
    for _ in range(n):
        x, y = y, x + y
    return x, y


def swapped(a, b, n):
    x, y = a[0], b[0]
    for _ in range(n):
        x, y = y, x
    return x, y


def alias_kept(a, b, n):
    x = a * 1
    first = x
    for _ in range(n):
        x = x * 0.5 + first
    return x, first


def made_again(a, b, n):
    for _ in range(n):
        z = np.negative(b)
        v = a >= z
    z[1:] += z[:-1]
    return z, v


def branch_on_index(a, b, n):
    x = a * 1
    for i in range(n):
        if i == 5:
            x = x + 10
        x = x * 0.5
    return x


def counter(a, b, n):
    k, t = 0, 0.0
    for i in range(n):
        k += 1
        t += 0.5
        a[i] += k * t
    return k, t


def grows(a, b, n):
    seen = []
    for i in range(n):
        seen.append(a[i] + i)
    return seen


def grows_in_place(a, b, n):
    seen, found, d = [a], {1}, {}
    for j in range(n):
        u = a[0]
        seen += [j]
        found |= {j % 4}
        d |= {j: u}
    return seen, found, d, u


def grows_in_a_helper(a, b, n):
    def put(into, what):
        into += [what]

    seen = [a]
    for j in range(n):
        put(seen, 1)
        b = b * 0.5
    return len(seen), b


def grows_in_a_dict(a, b, n):
    d = {"seen": [a]}
    for j in range(n):
        d["seen"] += [1]
        b = b * 0.5
    return d, b


def doubles(a, b, n):
    two = [1]
    for _ in range(min(n, 9)):
        two *= 2
        a = a * 0.5
    return two, a


def shrinks(a, b, n):
    left, d = [a] * 20, dict.fromkeys(range(20))
    for j in range(n):
        del left[0]
        del d[j]
        b = b * 0.5
    return len(left), d, b


def triangular(a, b, n):
    s = np.zeros(n)
    for i in range(n):
        s[i] = a[: i + 1].sum()
    return s


def masks(a, b, n):
    x = a * 1
    for _ in range(n):
        x[x > 0.5] *= 0.5
        x = x + (x < b)
    return x


def shapes_change(a, b, n):
    x = a
    for _ in range(3):
        x = np.concatenate([x, b[:2]])
    for i in range(n):
        x = x[x > -1e9]
    return x


def raises_at_the_end(a, b, n):
    for i in range(len(a) + 1):
        a[i] += 1


def inner_function(a, b, n):
    def step(u, v):
        return u + v * 0.25

    for _ in range(n):
        a = step(a, b)
    return a


def temporaries_written(a, b, n):
    for i in range(n):
        t = np.zeros(3)
        t[1:] = a[i]
        t[0] += b[i]
        b[i] = t.sum()
    return t


KEPT = [jacobi, rows, rebind, equal_expressions, nest, moving_slices, backwards, fibonacci,
        inner_function, temporaries_written]
OTHERS = [made_again, swapped, alias_kept, branch_on_index, counter, grows, grows_in_place, grows_in_a_helper,
          grows_in_a_dict, doubles, shrinks, triangular, masks, shapes_change, raises_at_the_end]


def values(seed, n=14):
    rng = np.random.default_rng(seed)
    return rng.normal(size=n), rng.normal(size=n)


def run(function, seed, n):
    a, b = values(seed)
    try:
        result = function(a, b, n)
    except Exception as error:
        result = error
    return freeze((result, a, b))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("program", KEPT + OTHERS, ids=lambda f: f.__name__)
def test_program(program, tier):
    jitted = pyasc.jit(program, tier=tier)
    for seed in range(3):
        for n in (9, 0, 1, 2, 5, 12):
            assert run(jitted, seed, n) == run(program, seed, n), (seed, n)


@pytest.mark.parametrize("program", KEPT, ids=lambda f: f.__name__)
def test_kept_as_a_region(program):
    jitted = pyasc.jit(program, tier=0)
    run(jitted, 0, 12)
    assert " = for " in jitted.lower()["ir"]


def test_the_plan_does_not_grow_with_the_trip_count():
    steps = []
    for n in (10, 1000):
        jitted = pyasc.jit(jacobi, tier=0)
        jitted(*values(1), n)
        steps.append(jitted._facts()["entries"][0]["plans"][0]["steps"])
    assert steps[0] == steps[1]


# -- Random programs --------------------------------------------------------------------------


def expression(rng, names, index):
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice([
        f"{a} + {b}", f"{a} * 0.5 - {b}", f"{a} * {b} * 0.25", f"np.sqrt(np.abs({a}) + 1) - {b}",
        f"{a} - {b}[{index}]", f"{a} * 0.5 + {b}.sum() * 0.01", f"np.where({a} > {b}, {a}, 0.5)",
        f"{a}[::-1] + {b}", f"np.maximum({a}, {b}) * 0.5", f"{a} * 0.9",
    ])


def statement(rng, names, index):
    a, b = rng.choice(names), rng.choice(names)
    return rng.choice([
        f"{a} = {expression(rng, names, index)}",
        f"{a} = {expression(rng, names, index)}",
        f"{a}[{index}] = {b}[{index}] * 0.5 + 1",
        f"{a}[{index}] += {b}[-1]",
        f"{a}[1:] = {b}[:-1] * 0.5",
        f"{a}[1:-1] += {b}[2:] * 0.25",
        f"{a} *= 0.75",
        f"{a} += {b}",
        f"s = s + {a}[{index}]",
        f"s = {a}.sum()",
        f"{a} = {b}",
        f"{a} = {b}.copy()",
        f"{a}, {b} = {b}, {a}",
        f"t = {expression(rng, names, index)}",
        f"{a} = t * 0.5",
        *changes(index),
    ])


def changes(index):
    """Statements after which a container is the same object and holds something else."""
    return ["seen += [1]", f"seen += [{index}]", "seen *= 1", "seen.append(s)", "seen[0] = s", "seen = seen[-50:]; del seen[1:3]",
            "box['n'] = len(seen)", "box |= {len(box): s}"]


def source(seed):
    rng = random.Random(seed)
    names = ["x", "y", "z"]
    lines = ["import numpy as np", "", "def f(x, y, n):", "    z = x * 1", "    s = 0.0", "    t = y * 2",
             "    seen, box = [0], {}"]
    for _ in range(rng.randint(0, 2)):
        lines.append("    " + statement(rng, names, "0"))
    lines.append(f"    for i in range({rng.choice(['n', '1, n', 'n - 1, 0, -1', '0, n, 2'])}):")
    for _ in range(rng.randint(1, 4)):
        lines.append("        " + statement(rng, names, rng.choice(["i", "i", "-1", "3"])))
    if rng.random() < 0.4:
        lines.append("        for j in range(6):")
        for _ in range(rng.randint(1, 3)):
            lines.append("            " + statement(rng, names, rng.choice(["i", "j", "j + 1"])))
    for _ in range(rng.randint(0, 2)):
        lines.append("    " + statement(rng, names, "2"))
    lines.append("    return x, y, z, s, t, seen, box" + rng.choice(["", ", i"]))
    return "\n".join(lines) + "\n"


def test_random_programs(tmp_path):
    for seed in range(int(os.environ.get("PYASC_EXAMPLES", "150"))):
        text = source(seed)
        path = tmp_path / f"program_{seed}.py"
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        jitted = pyasc.jit(module.f, tier=0)
        for call in range(3):
            with np.errstate(all="ignore"):
                expected = run(module.f, call, 10)
                got = run(jitted, call, 10)
            assert got == expected, f"seed {seed}, call {call}:\n{text}"


@pytest.mark.parametrize("tier", [0, 1])
def test_values_that_share_what_they_are_made_of(tier):
    """A number with 2^60 ways to what it is made of is looked at a few times, not along each."""
    def f(x):
        s, t = x[0], x[1]
        for _ in (0,) * 60:
            s, t = t, s * 0.5 + t
        for i in range(0, 30, 2):
            x[i] = s
        return t

    jitted = pyasc.jit(f, tier=tier)
    for _ in range(3):
        x, y = np.arange(30.0), np.arange(30.0)
        assert (jitted(x), x.tolist()) == (f(y), y.tolist())
