"""Memory that effects got: what is written to it later, and which object it is."""

import numpy as np
import pytest

import pyasc
from same import freeze


class Place:
    pass


KEPT = []


def stores_then_writes(o, x):
    o.w = x * 2
    o.w[0] = -1
    y = x + 1
    KEPT.append(y)
    y *= 3
    for i in range(9):
        y += i
    z = x - 1
    KEPT.append(z[1:])
    z[:2] = 7
    return 0


def test_what_is_written_after_it_was_given_away():
    jitted, a, b = pyasc.jit(stores_then_writes), Place(), Place()
    for k in range(4):
        x, pictures = np.arange(4.0) + k, []
        for called, place in ((stores_then_writes, b), (jitted, a)):
            KEPT.clear()
            called(place, x)
            pictures.append((freeze(place.w), freeze(KEPT)))
        assert pictures[0] == pictures[1]
    assert jitted.report()["ops_effect"] > 0


def test_equal_arrays_given_away_are_several():
    kept = []

    def gives(x):
        for _ in range(2):
            kept.append(x * 2)
            kept.append(x[::-1])
        return x * 2

    jitted = pyasc.jit(gives)
    for _ in range(4):
        kept.clear()
        kept.append(jitted(np.arange(3.0)))
        assert len({id(a) for a in kept}) == 5
        assert not np.shares_memory(kept[0], kept[2]) and not np.shares_memory(kept[0], kept[4])
        kept[0] += 100
        np.testing.assert_array_equal(kept[2], [0, 2, 4])


def test_one_array_in_an_attribute_and_a_list():
    kept = []

    def gives(o, y):
        o.x = y * 2
        kept.append(o.x)
        return 1 if y.sum() > 0 else 2

    jitted, o = pyasc.jit(gives), Place()
    for s in (1, 1, -1, -1, 1, -1):
        kept.clear()
        assert jitted(o, np.ones(3) * s) == (1 if s > 0 else 2)
        assert o.x is kept[0]


def test_a_window_in_an_attribute_is_the_one_returned():
    def turns(o, y):
        o.w = o.x[::-1]
        o.w -= y
        return o.w

    jitted, o = pyasc.jit(turns), Place()
    o.x = np.arange(4.0)
    for k in range(3):
        assert jitted(o, np.ones(4)) is o.w
        np.testing.assert_array_equal(o.x, np.arange(4.0) - k - 1)


def test_errors_of_powers_come_in_order():
    kept = []

    def raised(q, b, n):
        y = np.power(q, n)
        kept.append(1)
        return y

    def constant(q, b, n):
        y = np.power(q, -1)
        kept.append(1)
        return 1

    def unused(q, b, n):
        b**n
        return 1

    for function in (raised, constant, unused):
        jitted = pyasc.jit(function)
        for n in (np.int64(1), np.int64(-1), np.int64(2), np.int64(-2)):
            kept.clear()
            args = np.arange(1, 6), np.array([True, False, True, True, False]), n
            try:
                function(*args)
                expected = None
            except ValueError as error:
                expected = str(error)
            wanted = kept[:]
            kept.clear()
            if expected:
                with pytest.raises(ValueError) as caught:
                    jitted(*args)
                assert str(caught.value) == expected
            else:
                jitted(*args)
            assert kept == wanted


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_generators_are_inputs(make):
    def walk(rng, x, other=None):
        y = x + rng.normal(size=3)
        if other is not None:
            y = y * other.uniform(size=3)
        return y.sum() + rng.uniform(), rng

    jitted, x = pyasc.jit(walk), np.arange(3.0)
    for seed in range(40):
        a, b = make(seed), make(seed)
        got, expected = jitted(a, x), walk(b, x)
        assert got[0] == expected[0] and got[1] is a
    assert jitted.cache_info().traces == 1
    for seed in range(40):
        pairs = [(make(seed), make(seed + 1)) for _ in range(2)]
        if seed % 3 == 0:
            pairs = [(p[0], p[0]) for p in pairs]
        assert jitted(pairs[0][0], x, pairs[0][1])[0] == walk(pairs[1][0], x, pairs[1][1])[0]
    assert jitted.cache_info().traces <= 4


def test_a_generator_that_is_argument_and_global():
    shared = np.random.default_rng(3)

    def both(rng, x):
        return x + rng.random() - shared.random()

    jitted = pyasc.jit(both)
    for rngs in ((shared,) * 2, (np.random.default_rng(1), np.random.default_rng(1)), (shared,) * 2):
        state = shared.bit_generator.state
        expected = both(rngs[0], np.ones(2))
        shared.bit_generator.state = state
        np.testing.assert_array_equal(jitted(rngs[1], np.ones(2)), expected)
    import sys

    rng = np.random.default_rng(0)
    jitted = pyasc.jit(lambda r, x: x + r.random())
    jitted(rng, np.ones(2)), jitted(rng, np.ones(2))
    assert sys.getrefcount(rng) == 2
