"""Loops over containers from outside: what happens to them meanwhile is seen."""

import numpy as np
import pytest

import pyasc
from same import freeze

L, D = [], {}


def fill(n=3):
    L[:] = [np.arange(2.0) + k for k in range(n)]
    D.clear()
    D.update({k: np.arange(2.0) * k for k in range(n)})


def grows(x):
    for v in L:
        if len(L) < 6:
            L.append(v * 2)
        x = x + v
    return x


def nexts(x):
    it = iter(L)
    a = next(it)
    L[1] = a + 5
    return x + next(it), [v.sum() for v in it]


def lazily(x):
    pairs = zip(L, enumerate(L))
    L[2] = x
    for a, (k, b) in pairs:
        x = x + a * k + b
    return x


def backwards(x):
    for v in reversed(L):
        L.append(x)
        x = x * 2 + v
    return x


def view(x):
    k, v, i = D.keys(), D.values(), D.items()
    D["z"] = x
    return len(k), len(v), len(i), sum(a.sum() for a in v)


def resized(x):
    for k in D.items():
        D[x.size + 10] = x
    return x


def values(x):
    for a in D.values():
        x = x + a
    for k, a in D.items():
        x = x * k + a
    for k in D:
        x = x + D[k] + D.get(k, 0) + D.get("no", 1)
    return x


def mapped(x):
    return list(map(lambda v: v * 2 + x, L)), [v for v in filter(lambda v: v.sum() > 2, L)], sum(L), max(len(L), 2)


def unpacks(x):
    a, b, c = L
    d, *e = L
    return a + b * c + d, e


def too_few(x):
    a, b = L
    return a


def handed_out(x):
    return D.values(), D.items(), L


@pytest.mark.parametrize("function", [grows, nexts, lazily, backwards, view, resized, values, mapped, unpacks, too_few])
def test_as_python(function):
    jitted = pyasc.jit(function)
    for k in range(4):
        states = []
        for called in (function, jitted):
            fill()
            try:
                result = freeze(called(np.ones(2) * k))
            except Exception as error:
                result = type(error).__name__, str(error)
            states.append((result, freeze(L), freeze(D)))
        assert states[0] == states[1]


def test_views_themselves_come_back():
    fill()
    values, items, l = pyasc.jit(handed_out)(np.ones(2))
    assert type(values) is type({}.values()) and type(items) is type({}.items()) and l is L
    D["new"] = np.ones(1)
    assert len(values) == 4


def test_loops_over_containers_have_plans():
    for function in (values, mapped):
        jitted = pyasc.jit(function)
        for k in range(4):
            fill()
            assert freeze(jitted(np.ones(2) * k)) == freeze(function(np.ones(2) * k))
        assert not jitted._facts()["entries"][0]["plain"]
