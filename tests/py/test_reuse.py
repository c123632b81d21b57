"""Results in the memory of arrays that calls made: only where nothing else has these."""

import functools

import numpy as np
import pytest

import pyasc
from same import freeze

KEPT = []


def matmul_bias(a, b):
    return a @ b + b


def returned_too(a, b):
    c = a @ b
    return c, c + 1, c * 2


def view_returned(a, b):
    c = a @ b
    d = c + 1
    return d, c[1:]


def read_later(a, b):
    c = a @ b
    d = c + 1
    return d, np.sort(c, axis=0)


def kept_by_an_effect(a, b):
    c = a @ b
    KEPT.append(c)
    return c * 2


def chain(a, b):
    c = np.sort(a, axis=1)
    d = c * 2 + b
    e = np.sort(d, axis=1)
    return e - d


def two_readers(a, b):
    c = a @ b
    return c + 1, c - 1, c.sum(axis=0)


def other_dtype(a, b):
    c = a @ b
    return c > 0, c.astype(np.float32) * 2


def transposed(a, b):
    c = np.concatenate([a, b])
    return (c.T + c.T * 2).T + np.cumsum(c, axis=0)


def shifted(a, b):
    c = np.concatenate([a, b])
    return c[1:] + c[:-1]


def joined(a, b):
    c = np.concatenate([a, b]) * 2
    d = np.stack([a, b]).reshape(-1) + 1
    return c, d, np.concatenate([d, d[::-1]]) * d[0]


def joined_and_read_twice(a, b):
    c = np.concatenate([a, b])
    d = c * 2
    return d + np.pad(a, ((0, len(b)), (0, 0))), np.where(d > 0, d, 0).sum(axis=0)


def in_a_loop(a, b):
    for _ in range(9):
        a = a @ b * 0.5 + 1
    return a


def scalars(a, b):
    return np.linalg.det(a) * 2 + np.trace(b)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", [matmul_bias, returned_too, view_returned, read_later, kept_by_an_effect, chain,
                                      two_readers, other_dtype, transposed, shifted, joined, joined_and_read_twice, in_a_loop, scalars],
                         ids=lambda f: f.__name__)
def test_as_numpy(function, tier):
    jitted = pyasc.jit(function, tier=tier)
    rng = np.random.default_rng(1)
    for n in (3, 40, 40, 300):
        a, b = rng.normal(size=(2, n, n))
        KEPT.clear()
        results = [jitted(a, b) for _ in range(3)]
        kept = [k.copy() for k in KEPT]
        KEPT.clear()
        expected = [function(a.copy(), b.copy()) for _ in range(3)]
        assert freeze((results, kept)) == freeze((expected, KEPT))


def test_buffers_of_calls_that_raise():
    """What a call has taken is given back once, whoever has it."""
    def f(a, b):
        c = np.concatenate([a, b]) * 2
        d = np.concatenate([a, c]) + 1
        return c, np.linalg.inv(a), d * 3

    jitted = pyasc.jit(f)
    regular, singular, b = np.eye(40) + 1, np.ones((40, 40)) * 0, np.ones((3, 40))
    held = []
    for k in range(30):
        if k % 3 == 2:
            with pytest.raises(np.linalg.LinAlgError):
                jitted(singular, b)
        held.append(jitted(regular + k, b))
    assert [freeze(r) for r in held] == [freeze(f(regular + k, b)) for k in range(30)]


def test_an_array_that_the_callee_holds():
    @functools.lru_cache
    def table(n):
        match n:
            case _:
                return np.arange(n) * 1.0

    def f(x):
        return table(x.size) + x

    jitted, x = pyasc.jit(f), np.ones(50)
    for _ in range(4):
        assert freeze(jitted(x)) == freeze(f(x))
    assert freeze(table(50)) == freeze(np.arange(50) * 1.0)


def test_arrays_that_are_read_by_a_view_as_well():
    """x + x[::-1] does not go to the memory of x."""
    def turned(x):
        y = np.sort(x)
        return (y + y[::-1])[::2].sum()

    def picked(x):
        y = np.sort(x)
        m = y != y[::-1]
        return (y + y[::-1])[m], m

    def twice(x):
        y = np.sort(x)
        z = y + y[::-1]
        y[...] = z
        y.sort()
        return z * 2

    for tier in (0, 1):
        for function in (turned, picked, twice):
            jitted = pyasc.jit(function, tier=tier)
            for n in (15, 15, 15, 1000, 1000, 15):
                x = np.arange(float(n))
                assert freeze(jitted(x.copy())) == freeze(function(x.copy()))
