"""A loop in a `try`: what its handler sees of the names is what they were where it was left."""

import math

import numpy as np
import pyasc
import pytest


def calls(n, a):
    t = 0.0
    try:
        for i in range(n):
            t += math.gamma(30 - a[i])
    except ValueError as error:
        return t, i, str(error)
    return t


def takes(n, a):
    t, at = 0.0, np.arange(n) * 3
    try:
        for i in range(n):
            t = t + a[at[i]] * 2
    except IndexError as error:
        return t, i, str(error)
    return t


def shapes(n, a):
    x = a[:20]
    try:
        for i in range(n):
            x = x + a[i:i + 20]
    except ValueError as error:
        return x, i, str(error)
    return x


def in_order(n, a):
    out, i = np.zeros(n), -1
    try:
        for i in range(n):
            out[i] = math.sqrt(20 - a[i])
    except ValueError:
        out[i] = -1
    finally:
        out[0] = i
    return out


def finishes(n, a):
    i = -1
    try:
        for i in range(n):
            a[0] = a[i] + math.sqrt(20 - a[i])
    finally:
        a[1] = i
    return a


@pytest.mark.parametrize("tier", [0, 1, None])
def test_finally(tier):
    jitted = pyasc.jit(finishes, numerics="strict", **({} if tier is None else {"tier": tier}))
    for n in (60, 60, 60, 10, 60):
        results = []
        for f in (jitted, finishes):
            a = np.arange(60.0)
            try:
                f(n, a)
            except ValueError as error:
                results.append((a, str(error)))
            else:
                results.append((a, ""))
        np.testing.assert_equal(*results)
        jitted.wait()


@pytest.mark.parametrize("tier", [0, 1, None])
@pytest.mark.parametrize("function", [calls, takes, shapes, in_order])
def test_names_where_it_was_left(function, tier):
    jitted = pyasc.jit(function, numerics="strict", **({} if tier is None else {"tier": tier}))
    for n in (60, 60, 60, 10, 60):
        np.testing.assert_equal(jitted(n, np.arange(60.0)), function(n, np.arange(60.0)))
        jitted.wait()
