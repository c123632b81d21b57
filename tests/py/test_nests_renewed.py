"""Names that get a new array in each turn of a loop compiled as a whole: cur = new."""

import numpy as np
import pytest

import pyasc
from nesting import cases, checks_of, mat, vec
from same import freeze

case, CASES = cases()
test_case, test_compiled = checks_of(CASES)


TURNS = (7, 7, 1, 0, 3, 0, 9)
BOARD = np.random.default_rng(3).integers(0, 2, (16, 17))


@case(*((mat(12, 11), k) for k in TURNS))
def relaxed(g, steps):
    for _ in range(steps):
        new = np.zeros_like(g)
        for i in range(1, g.shape[0] - 1):
            for j in range(1, g.shape[1] - 1):
                new[i, j] = 0.25 * (g[i - 1, j] + g[i + 1, j] + g[i, j - 1] + g[i, j + 1])
        g = new
    return g


@case(*((BOARD, k) for k in TURNS))
def life(g, steps):
    n, m = g.shape
    for _ in range(steps):
        new = np.zeros_like(g)
        for i in range(n):
            for j in range(m):
                s = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di != 0 or dj != 0:
                            s += g[(i + di) % n, (j + dj) % m]
                new[i, j] = 1 if s == 3 or (s == 2 and g[i, j]) else 0
        g = new
    return g


@case(*((vec(30), k) for k in TURNS))
def of_a_copy(g, steps):
    u = g.copy()
    for _ in range(steps):
        new = u.copy()
        for i in range(1, len(u) - 1):
            new[i] = 0.5 * (u[i - 1] + u[i + 1])
        u = new
    return u, g


@case(*((vec(30), k) for k in TURNS))
def of_both_loops(g, steps):
    for k in range(steps):
        for _ in range(k + 1):
            new = np.zeros(len(g))
            for i in range(len(g)):
                new[i] = g[i] * 0.5 + k
            g = new
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_changed_before(g, steps):
    for _ in range(steps):
        g[0] = 7
        new = np.empty_like(g)
        for i in range(len(g)):
            new[i] = g[i] * 2
        g = new
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_two_names(g, steps):
    h = g
    for _ in range(steps):
        new = g.copy()
        for i in range(1, len(g)):
            new[i] = g[i - 1] + h[i]
        h = g
        g = new
    return g, h


@case(*((vec(30), k) for k in TURNS))
def plain_same_array_behind(g, steps):
    new = g
    for _ in range(steps):
        new = np.zeros(len(g))
        for i in range(len(g)):
            new[i] = g[i] + 1
        g = new
    return g, new, g is new


@case(*((vec(30), k) for k in TURNS))
def plain_kept_on_the_way(g, steps):
    best = g
    for _ in range(steps):
        new = np.zeros(len(g))
        s = 0.0
        for i in range(len(g)):
            new[i] = g[i] * 0.5 + 1
            s += new[i]
        if s > 3:
            best = new
        g = new
    return g, best


@case(*((mat(3, 4), k) for k in TURNS))
def plain_of_another_layout(g, steps):
    for k in range(steps):
        new = np.zeros((4, 3))
        for i in range(4):
            for j in range(3):
                new[i, j] = g[j, i] + k
        g = new.T
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_while(g, steps):
    k = 0
    while k < steps:
        new = np.zeros(len(g))
        for i in range(len(g)):
            new[i] = g[i] + k
        g = new
        k += 1
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_of_an_array_that_changes(g, steps):
    old = g
    for k in range(steps):
        old[k] += 1.0
        g = g * 2.0
    return g, old


@case(*((vec(30), k) for k in TURNS))
def plain_of_an_array_with_a_part_that_changes(g, steps):
    part = g[1:]
    for k in range(steps):
        part[k] += 1.0
        g = g * 2.0
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_in_a_branch(g, steps):
    for k in range(9):
        if k * k < steps:
            for _ in range(3):
                new = np.zeros_like(g)
                for i in range(len(g)):
                    new[i] = g[i - 1] + k
                g = new
    return g


@case(*((vec(30), k) for k in TURNS))
def plain_in_a_while(g, steps):
    k = 0
    while k < steps:
        for _ in range(3):
            new = np.zeros_like(g)
            for i in range(len(g)):
                new[i] = g[i - 1] + k
            g = new
        k += 1
    return g


def beside(g, w, steps):
    for k in range(steps):
        w[k] += 1.0
        g = g * 2.0
    return g


def test_the_same_argument_twice():
    jitted = pyasc.jit(beside, tier=1)
    for _ in range(2):
        for steps in (80, 0, 1):
            for apart in (True, False):
                g = vec(90)
                w = g.copy() if apart else g
                got, expected = jitted(g, w, steps), beside(x := vec(90), x.copy() if apart else x, steps)
                assert got.tobytes() == expected.tobytes() and w[:steps].tobytes() == (vec(90)[:steps] + 1).tobytes()


@pytest.mark.parametrize("made", [lambda x, y: y + y, lambda x, y: np.where(y > 1, x, y), lambda x, y: x * y, lambda x, y: y[:, 1:].T[1:].T * 2])
def test_order_of_axes(made):
    def f(x, y, steps):
        for _ in range(steps):
            x = made(x, y)
        return x

    jitted = pyasc.jit(f, tier=1)
    for steps in (9, 1, 0):
        for x in (mat(5, 6), mat(6, 5).T, mat(10, 12)[::2, ::-2]):
            for y in (mat(5, 6), mat(6, 5).T, mat(10, 12)[::2, ::-2], mat(12, 10).T[::2, ::2]):
                if made(x, y).shape == x.shape or steps < 2:
                    assert freeze(jitted(x, y, steps)) == freeze(f(x, y, steps))


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_identity(function, argsets, times):
    """Without a turn the name has the array that it came with; what is changed later is another's."""
    jitted = pyasc.jit(function)
    for x, steps in argsets:
        x = x.copy()
        result, expected = jitted(x, steps), function(x.copy(), steps)
        first = result[0] if isinstance(result, tuple) else result
        if function is not of_a_copy:
            assert (first is x) == (steps == 0)
        if isinstance(result, tuple):
            assert [a is result[0] for a in result[:2]] == [a is expected[0] for a in expected[:2]]
