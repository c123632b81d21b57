"""Generators of random numbers that a function makes itself."""
import numpy as np
import pytest

import pyasc
from same import freeze


def compiled(jitted, *argsets, calls=3):
    for args in argsets:
        for _ in range(calls):
            assert freeze(jitted(*args)) == freeze(jitted.__wrapped__(*args))
            jitted.wait()
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


@pytest.mark.parametrize("tier", [0, 1])
def test_of_a_constant_or_given_seed(tier):
    @pyasc.jit(tier=tier)
    def constant(x):
        rng = np.random.default_rng(7)
        y = rng.random(3) + x
        return y * rng.standard_normal(3), rng.integers(0, 10, 4)

    @pyasc.jit(tier=tier)
    def given(x, seed):
        return np.random.default_rng(seed).random(x.shape) * x

    x = np.arange(3.0)
    for k in range(4):
        assert freeze(constant(x + k)) == freeze(constant.__wrapped__(x + k))
        assert freeze(given(x, k)) == freeze(given.__wrapped__(x, k))


def test_nothing_is_left_to_python():
    @pyasc.jit
    def older(x):
        state = np.random.RandomState(3)
        return state.rand(3) + x, state.randint(5, size=2)

    @pyasc.jit
    def spins(n):
        rng = np.random.default_rng(7)
        return np.where(rng.random((n, n)) < 0.5, -1, 1) * 2

    compiled(older, (np.arange(3.0),))
    compiled(spins, (3,), (4,))


def test_two_of_them_and_branches_on_what_they_draw():
    @pyasc.jit
    def walk(x):
        a, b = np.random.default_rng(1), np.random.default_rng(2)
        for _ in range(4):
            x = x + a.random(3) * b.random(3)
            if x[0] > 2:
                x = x - a.random(3)
        return x

    rng = np.random.default_rng(0)
    for _ in range(30):
        x = rng.random(3) * 3
        assert freeze(walk(x)) == freeze(walk.__wrapped__(x))


def test_each_call_has_its_own():
    class Holder:
        pass

    @pyasc.jit
    def kept(h, x):
        h.rng = np.random.default_rng(3)
        return h.rng.random(3) + x

    @pyasc.jit
    def returned(x):
        rng = np.random.default_rng(5)
        y = rng.permutation(x)
        rng.shuffle(y)
        return y, rng

    h, x = Holder(), np.arange(3.0)
    for _ in range(4):
        other = np.random.default_rng(3)
        assert freeze(kept(h, x)) == freeze(other.random(3) + x)
        assert h.rng.random() == other.random()
        y, rng = returned(x)
        z, like = returned.__wrapped__(x)
        assert freeze(y) == freeze(z) and rng.random() == like.random()


def test_refused_seeds():
    @pyasc.jit
    def f(seed):
        return np.random.default_rng(seed).random()

    with pytest.raises(ValueError, match="non-negative"):
        f(-1)
    assert f(3) == np.random.default_rng(3).random()
