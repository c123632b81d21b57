"""Traces that end in the middle of a loop: the call goes on without hooks, and what it does is what Python does."""

import numpy as np
import pytest

import pyasc
from pyasc import _rewrite
from same import freeze, outcome

CASES = []
HOOKED = {"methods", "objects_with_slots", "functions_in_it", "globals_in_it", "the_same_objects"}  # they need hooks, or are plans


@pytest.fixture
def left(monkeypatch):
    """Whether hooks were given up, for each time that they might have been."""
    answers, cell = [], _rewrite._HOOK_CELLS["_pyasc_bare"]
    bare = cell.cell_contents

    def spied(*args):
        answers.append(bare(*args))
        return answers[-1]

    monkeypatch.setattr(cell, "cell_contents", spied)
    return answers


def case(function):
    CASES.append(function)
    return function


def numbers(n=6000):
    return np.random.default_rng(0).standard_normal(n)


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_case(function, left):
    jitted = pyasc.jit(function, numerics="strict")
    for turn in range(2):
        a, b = numbers(), numbers()
        assert outcome(jitted, a) == outcome(function, b), turn
        assert freeze([a]) == freeze([b])
    assert any(left) == (function.__name__ not in HOOKED), left


@case
def lists_and_dicts(a):
    out, seen, names = [], {}, {"first": a[:3]}
    for i in range(len(a)):
        if a[i] > 0:
            out.append(a[i])
            seen[i % 7] = a[i] + seen.get(i % 7, 0)
        names["last"] = a[i:i + 2]
    return out, seen, names, len(out), type(out[0]), type(seen[3])


@case
def breaks_and_else(a):
    out = []
    for x in a:
        out.append(x * 2)
    else:
        out.append("else")
    for k, x in enumerate(a):
        if k % 3 == 0:
            continue
        out.append((k, x))
        if k == 5000:
            break
    else:
        out.append("never")
    return out, k, x


@case
def while_loops(a):
    out, i = [], 0
    while (k := i * 2) < len(a) or out.append("end"):
        i += 1
        if a[k] < 0:
            continue
        out.append([k, a[k]])
    else:
        out.append(k)
    while True:
        i -= 1
        if i < 10:
            break
        out.append(i)
    return out, i, k


@case
def returns_in_the_middle(a):
    d = {}
    for i, (x, y) in enumerate(zip(a, a[::-1])):
        d[i] = x, y
        if i == 4000:
            return d, x, y
    return "never"


@case
def raises_in_the_middle(a):
    out = []
    try:
        for i in range(len(a) + 1):
            out.append(a[i] * i)
            last = a[i]
    except IndexError as error:
        return out, last, i, str(error)
    finally:
        out.append("finally")
    return "never"


@case
def raises_out_of_it(a):
    out = []
    for i in range(len(a) + 1):
        out.extend([a[i] * i])
    return out


@case
def names_that_may_be_unbound(a):
    out = []
    for i in range(len(a)):
        if i == 5500:
            late = a[i]
        if a[i] > 100:
            never = i
        out.append(i)
        if i == 10:
            del out[3]
    try:
        return late, never
    except UnboundLocalError as error:
        return late, str(error), out


@case
def iterators_go_on(a):
    it, out = iter(a), []
    for x in it:
        out.append((x, next(it)))
    others = zip(it, out)
    for i, x in enumerate(map(abs, a)):
        out.append(x)
        if i == 5000:
            break
    return out, x, list(others)


@case
def the_same_objects(a):
    b, rows, out = a, [a, a[1:]], []
    for i in range(len(a)):
        out.append(b is a and rows[0] is a and i)
        if i == 5000:
            b[i] = 7
            rows[1][3] = 9
    return out, a is b, rows[0] is b, a[5000], a[4]


@case
def others_in_it(a):
    out, text, some = [], "", set()
    for i in range(len(a)):
        try:
            if i % 1000 == 999:
                raise ValueError(i)
            out.append(max(a[i], 0.5))
        except ValueError as error:
            text += str(error)
        with np.errstate(all="ignore"):
            out[-1] = np.sqrt(out[-1]) + [x * 2 for x in (a[i], 1)][0]
        some.add(i % 4)
        if i % 5 == 0:
            some.discard(rest := i % 4)
    return out, text, sorted(some), rest


@case
def loops_in_loops(a):
    table = [[0.0] * 60 for _ in range(60)]
    for i in range(60):
        for j in range(60):
            best = a[i + j]
            for k in (i - 1, j - 1):
                if k >= 0 and table[k][j] > best:
                    best = table[k][j]
            table[i][j] = best
    return table


@case
def arrays_that_change(a):
    x, out = a[:4] * 2, []
    for i in range(len(a) // 2):
        x = x + a[i]
        y = x[1:]
        y[0] = i
        if i % 500 == 0:
            out.append(x)
            out.append(y)
    return out, x, y


class Sum:
    def __init__(self):
        self.total = 0.0
        self.__hidden = []

    def add(self, a):
        for i in range(len(a)):
            self.total += a[i]
            self.__hidden.append(i)
            hidden = self.__hidden
        return self.total, hidden


@case
def methods(a):
    s = Sum()
    return s.add(a), s.total


@case
def functions_in_it(a):
    scale, out = a[0], []

    def scaled(x):
        parts = []
        for i in range(3000):
            parts.append(x * scale)
        return parts

    for i in range(len(a)):
        out.append((lambda: scale + i)())
    return out, scaled(a[1])


class Filter:
    def __init__(self, weights):
        self.weights, self.seen, self.parts = weights, [], {"last": None}

    def run(self, a):
        state = 0.0
        for i in range(len(a)):
            state = 0.5 * state + self.weights[i % 3] * a[i]
            if state > 0:
                self.seen.append(state)
                self.parts["last"] = (i, state)
        return state


@case
def objects(a):
    f = Filter(a[:3] * 2)
    g = Filter([1, 2, 3])
    return f.run(a), f.seen, f.parts, f.weights, [g.run(a[:2500]), g.__dict__]


@case
def closures(a):
    scale, out = a[:2] * 2, []

    def scaled(x, by=a[2]):
        return x * by if x > 0 else scale[0] + x

    for i in range(len(a)):
        out.append((i, scaled(a[i])))
        if i == 5000:
            scale[0] = 7
    return out, scale, scaled(a[1]), type(scaled(a[3]))


class Slots:
    __slots__ = ("x", "y")


@case
def objects_with_slots(a):
    s, out = Slots(), []
    s.x = a * 2
    for i in range(len(a)):
        s.y = s.x[i]
        out.append(s.y + i)
    return out, s.x, s.y


STATE = 0


@case
def globals_in_it(a):
    global STATE
    STATE, out = 0, []
    for i in range(len(a)):
        STATE += 1
        out.append(a[i] + STATE)
    return out


def test_what_others_hold_is_what_they_get():
    kept = []

    def f(a):
        for i in range(len(a)):
            kept.append(a[i] if i % 2 else a[i:i + 2])

    a = numbers()
    pyasc.jit(f)(a)
    jitted, kept[:] = freeze(list(kept)), []
    f(a)
    assert freeze(list(kept)) == jitted
