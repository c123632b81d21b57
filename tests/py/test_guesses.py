"""Calls that take other paths in turn: which plan is tried first, and plain calls where that is no gain."""

import numpy as np
import pytest

import pyasc
from same import freeze

A = np.random.default_rng(0).random((60, 60))
X = np.random.default_rng(1).random(500)


def head(x, k):
    return np.sort(x)[:k] * 2


def trimmed(x, part):
    n = int(part * len(x))
    return np.sort(x)[n:len(x) - n] + 1


def outcomes(a):
    s = np.linalg.svd(a, compute_uv=False).sum()
    if s > 300:
        return a + 1
    if s > 200:
        return a - 1
    if s > 100:
        return a * 2
    return s


def changes(a, log):
    b = np.linalg.inv(a)
    log.append(float(b[0, 0]))
    if b[0, 0] > 0:
        a += 1
        return a[0]
    a -= 1
    return a[1]


def fails(a):
    s = np.linalg.svd(a, compute_uv=False)
    if s.sum() > 600:
        raise ValueError("too large")
    return s[:3]


CYCLES = [(head, [(X, k) for k in range(5, 12)]), (head, [(X, k) for k in (3, 3, 9, 3, True, 9, -4)]),
          (trimmed, [(X, part / 50) for part in range(1, 8)]), (trimmed, [(X, part) for part in (0.1, 0.2, 0, 0.1, np.float64(0.2))]),
          (outcomes, [(A * factor,) for factor in (1, 2, 3, 4, 6)])]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function, calls", CYCLES, ids=[f"{f.__name__}{i}" for i, (f, _) in enumerate(CYCLES)])
def test_paths_in_turn(function, calls, tier):
    jitted = pyasc.jit(function, tier=tier, numerics="strict")
    expected = [freeze(function(*args)) for args in calls]
    for _ in range(100):
        for args, right in zip(calls, expected):
            assert freeze(jitted(*args)) == right


def test_paths_in_any_order():
    """As many calls as plain ones rest, and look again."""
    jitted = pyasc.jit(outcomes, numerics="strict")
    inputs = [A * factor for factor in (1, 2, 3, 4)]
    expected = [freeze(outcomes(a)) for a in inputs]
    for i in np.random.default_rng(2).integers(0, 4, 3000):
        assert freeze(jitted(inputs[i])) == expected[i]
    for i in [1] * 300:  # one path from here on
        assert freeze(jitted(inputs[i])) == expected[i]
    assert not jitted.report()["fallback"]


def test_effects_happen_once():
    jitted = pyasc.jit(changes)
    logs, arrays = ([], []), ([A.copy(), -A], [A.copy(), -A])
    for i in range(500):
        got, right = (f(a[i % 2], log) for f, a, log in zip((jitted, changes), arrays, logs))
        assert np.allclose(got, right)
    assert len(logs[0]) == len(logs[1]) == 500
    assert np.allclose(logs[0], logs[1])
    assert np.allclose(arrays[0], arrays[1])


def test_exceptions():
    jitted = pyasc.jit(fails, numerics="strict")
    for i in range(500):
        if i % 2:
            with pytest.raises(ValueError, match="too large"):
                jitted(A * 9)
        else:
            a = A * (1 + i % 3)
            assert freeze(jitted(a)) == freeze(fails(a))


def filled(n):
    x = np.zeros(n)
    s = 0.0
    for i in range(n):
        s = s * 0.9 + i
        x[i] = s
    return x


@pytest.mark.parametrize("many", [5, 12, 30])
def test_loops_of_many_lengths_stay_code(many):
    """A plan for each number of turns."""
    jitted = pyasc.jit(filled, numerics="strict")
    lengths = [1000 + 7 * i for i in range(many)]
    for n in (1000, 1001, 1002):
        jitted(n)
        jitted.wait()
    for _ in range(3):
        for n in lengths:
            assert freeze(jitted(n)) == freeze(filled(n))
    info = jitted.cache_info()
    assert info.traces <= many + 8
    assert info.hits >= 2 * many


def test_more_lengths_than_plans():
    jitted = pyasc.jit(filled, numerics="strict")
    for n in (1000, 1001, 1002):
        jitted(n)
        jitted.wait()
    for n in list(range(1000, 1100)) + list(range(1000, 1100)):
        assert freeze(jitted(n)) == freeze(filled(n))
    hits = jitted.cache_info().hits
    for n in range(1000, 1100):
        assert freeze(jitted(n)) == freeze(filled(n))
    assert jitted.cache_info().hits >= hits + 20
