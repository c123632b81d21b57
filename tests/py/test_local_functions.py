"""Loops that call functions which the function itself makes: in the pieces of a function these are made again."""

import math

import numpy as np
import pyasc
import pytest
from same import freeze

X = np.random.default_rng(1).normal(size=300)


def sampler(x, n, rng):
    mu = 0.0

    def logp(mu):
        return -0.5 * ((x - mu) ** 2).sum()
    current, chain, accepted = logp(mu), [], 0
    for i in range(n):
        other = mu + 0.1 * rng.standard_normal()
        new = logp(other)
        if math.log(rng.random()) < new - current:
            mu, current = other, new
            accepted += 1
        chain.append([mu, current])
    return np.array(chain), accepted


def by_lambda(x, n, rng):
    mean = lambda k, i: x[i - k + 1:i + 1].mean()  # noqa: E731
    out = []
    for i in range(20, n):
        a, b = mean(5, i), mean(20, i)
        if a > b:
            out.append(a - b)
    return out


def of_another(x, n, rng):
    def cube(v):
        return v * v * v

    def both(v, w):
        return cube(v) + cube(w), v - w
    out = []
    for i in range(n - 1):
        s, d = both(x[i], x[i + 1])
        if d > 0:
            out.append(s)
    return out


@pytest.mark.parametrize("function", [sampler, by_lambda, of_another])
def test_compiled(function):
    jitted = pyasc.jit(function, numerics="strict")
    for _ in range(6):
        results = [freeze(f(X.copy(), 200, np.random.default_rng(4))) for f in (jitted, function)]
        assert results[0] == results[1]
        jitted.wait()
    assert "compiled loop" in jitted.explain()


def counts_calls(x, n, rng):
    calls = 0

    def seen(v):
        nonlocal calls
        calls += 1
        return v > 0
    out = []
    for i in range(n):
        if seen(x[i]):
            out.append(i + calls)
    return out, calls


def rebound(x, n, rng):
    scale = 1.0

    def scaled(v):
        return v * scale
    out = []
    for i in range(n):
        out.append(scaled(x[i]))
        scale = scale + 0.5
    return out, scale


def rebound_behind(x, n, rng):
    scale = 1.0

    def scaled(v):
        return v * scale
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(scaled(x[i]))
    scale = 5.0
    return out, scaled(2.0)


def reads_the_list(x, n, rng):
    out = [0.0]

    def last():
        return out[-1]
    for i in range(n):
        out.append(last() + x[i])
    return out


def puts_into_the_list(x, n, rng):
    parent = list(range(n))

    def find(k):
        while parent[k] != k:
            parent[k] = parent[parent[k]]
            k = parent[k]
        return k
    merged = []
    for i in range(n - 1):
        a, b = find(i), find(int(abs(x[i]) * 1000) % n)
        if a != b:
            parent[a] = b
            merged.append((a, b))
    return parent, merged


def kept(x, n, rng):
    def twice(v):
        return 2 * v
    functions, out = [], []
    for i in range(n):
        if x[i] > 0:
            out.append(twice(x[i]))
        functions.append(twice)
    return out, all(f is twice for f in functions)


def with_defaults(x, n, rng):
    k = 3.0

    def times(v, by=k):
        return v * by
    k = 5.0
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(times(x[i]))
    return out, k


def one_of_two(x, n, rng):
    if n > 100:
        def f(v):
            return v + 1
    else:
        def f(v):
            return v - 1
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(f(x[i]))
    return out


def made_behind(x, n, rng):
    out = []
    try:
        for i in range(n):
            if x[i] > 0:
                out.append(late(x[i]))
    except UnboundLocalError as error:
        out.append(str(error)[:10])

    def late(v):
        return v
    return out


def recursive(x, n, rng):
    def power(v, k):
        return 1.0 if k == 0 else v * power(v, k - 1)
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(power(x[i], i % 4))
    return out


def generator(x, n, rng):
    def pairs(k):
        yield k
        yield k + 1
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(sum(pairs(i)))
    return out


def given_on(x, n, rng):
    def square(v):
        return v * v

    def apply(f, v):
        return f(v) + 1
    out = []
    for i in range(n):
        if x[i] > 0:
            out.append(apply(square, x[i]))
    return out


def raises(x, n, rng):
    def check(v):
        if v > 2.5:
            raise ValueError(float(v))
        return v
    out = []
    try:
        for i in range(n):
            out.append(check(x[i]))
    except ValueError as error:
        out.append(error.args)
    return out


@pytest.mark.parametrize("function", [counts_calls, rebound, rebound_behind, reads_the_list, puts_into_the_list, kept, with_defaults,
                                      one_of_two, made_behind, recursive, generator, given_on, raises])
@pytest.mark.parametrize("tier", [-1, 1])
def test_as_in_python(function, tier):
    jitted = pyasc.jit(function, numerics="strict", **({"tier": tier} if tier > 0 else {}))
    for n in (200, 200, 200, 60, 200, 250):
        results = [freeze(f(X.copy(), n, np.random.default_rng(4))) for f in (jitted, function)]
        assert results[0] == results[1]
        jitted.wait()
