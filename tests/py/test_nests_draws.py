"""Compiled loops that draw arrays of random numbers, choose and shuffle; and several loops that draw or fill and write arrays."""

import numpy as np
import pyasc
import pytest

X = np.arange(30.0)


def vectors(rng, n):
    s = 0.0
    for i in range(n):
        v = rng.normal(size=3)
        s += v[0] * v[1] + v.sum() + rng.normal(1.0, 2.0, 2)[1] + rng.normal(scale=0.5, size=2)[0]
    return s


def places(rng, n):
    c = np.zeros((16, 16))
    for i in range(n):
        a, b = rng.integers(0, 16, 2)
        c[a, b] += 1
    return c


def walk(rng, n):
    x = np.zeros(5)
    for i in range(n):
        x += rng.standard_normal(5) * 0.1 + rng.uniform(-1, 1, 5)
    return x


def permutations(rng, n):
    out = np.empty(n)
    for i in range(n):
        p = rng.permutation(10)
        out[i] = p[0] + p[3] * 0.1 + rng.permutation(X)[:4].mean()
    return out


def shuffles(rng, n):
    x, out = X.copy(), np.empty(n)
    for i in range(n):
        rng.shuffle(x)
        out[i] = x[:5].mean() - x[5:].mean()
    return out, x


def choices(rng, n):
    out, total = np.empty(n), 0
    for i in range(n):
        out[i] = rng.choice(X, size=20).mean() + rng.choice(7) + rng.choice(X)
        total += rng.choice(9, 3)[1]
    return out, total


def matrices(rng, n):
    s = 0.0
    for i in range(n):
        m = rng.random((2, 3))
        s += m[1, 2] - m[0].sum() + rng.exponential(2.0, size=4).sum() + rng.standard_exponential(size=2)[0]
        s += rng.integers(5, size=3).sum() + rng.integers(low=2, high=9, size=2)[1]
    return s


def old(rs, n):
    s = 0.0
    for i in range(n):
        s += rs.rand(3).sum() + rs.randn(2)[1] + rs.normal(0, 2, size=2)[0] + rs.randint(0, 9, size=3)[2]
        s += rs.uniform(size=2)[0] + rs.permutation(6)[2] + rs.random_sample(2)[1]
    return s


def state_of(rng):
    return repr(rng.bit_generator.state) if isinstance(rng, np.random.Generator) else repr(rng.get_state(legacy=False))


def new_generator():
    return np.random.default_rng(3)


def new_state():
    return np.random.RandomState(5)


@pytest.mark.parametrize("function, make", [
    (vectors, new_generator), (places, new_generator), (walk, new_generator), (permutations, new_generator), (shuffles, new_generator),
    (choices, new_generator), (matrices, new_generator), (old, new_state), (shuffles, new_state), (permutations, new_state)])
@pytest.mark.parametrize("n", [40, 300])
def test_drawn_as_numpy_draws(function, make, n):
    jitted = pyasc.jit(function, numerics="strict")
    for _ in range(4):
        ours, plain = make(), make()
        np.testing.assert_equal(jitted(ours, n), function(plain, n))
        assert state_of(ours) == state_of(plain)
        jitted.wait()
    assert "compiled loop" in jitted.explain()


def refused(rng, n, size):
    s = 0.0
    for i in range(n):
        s += rng.normal(size=size - i).sum()
    return s


def empty(rng, n, size):
    s = 0.0
    for i in range(n):
        s += rng.choice(np.arange(size - i)) + 1
    return s


@pytest.mark.parametrize("function", [refused, empty])
def test_what_numpy_refuses(function):
    jitted = pyasc.jit(function)
    for size in (300, 300, 300, 20):
        outcomes = []
        for f in (jitted, function):
            rng = new_generator()
            try:
                outcomes.append((f(rng, 100, size), state_of(rng)))
            except ValueError as error:
                outcomes.append((str(error), state_of(rng)))
        np.testing.assert_allclose(*(o[0] for o in outcomes), rtol=1e-12) if size == 300 else None
        assert outcomes[0][1] == outcomes[1][1]
        assert size == 300 or outcomes[0] == outcomes[1]
        jitted.wait()


# Of several loops one turns out not to hold: what those before it have written stays.


def grows_and_draws(a, m, t, rng):
    n = len(a)
    for i in range(n - 1, 0, -1):
        for j in range(0, n, 2):
            t += rng.random() * 1e-9
            t -= int((a * t).sum()) > 3
            a[-2] *= 7
            m[i, -1] = -((i if a[-1] > 0 else i) if i != i * 2 else 0.5)
    return t


def grows_and_fills(a, m, t, rng):
    n, kept = len(a), [0.5] * 5
    for i in range(n - 1, 0, -1):
        for j in range(0, n, 2):
            kept[j % 5] *= 0.5
            t -= int((a * t).sum()) > 3
            a[-2] *= 7
            m[i, -1] = -((i if a[-1] > 0 else i) if i != i * 2 else kept[0])
    return t, kept


@pytest.mark.parametrize("function", [grows_and_draws, grows_and_fills])
def test_left_in_a_later_loop(function):
    jitted = pyasc.jit(function, numerics="strict", tier=1)
    for scale in (1e-60, 1e-60, 1e-20, 1e-30, 1.0, 1e-25, 1e-60):
        results = []
        for f in (jitted, function):
            a, m = np.linspace(1, 2, 12) * scale, np.zeros((12, 12), np.float32)
            rng = new_generator()
            results.append((f(a, m, 0.5, rng), a, m, state_of(rng)))
        np.testing.assert_equal(results[0], results[1])
