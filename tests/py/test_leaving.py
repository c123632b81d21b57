"""What a traced call leaves behind holds no tracers: containers with hashed items, exceptions, bound methods."""
import pickle
from collections import abc
from typing import Protocol, SupportsIndex, runtime_checkable

import numpy as np
import pytest

import pyasc

KEPT = []
TABLE = {5: 1}


def frozen(x):
    return frozenset({int(x[0])})


def tuples_in_sets(x):
    return {(1, int(x[0])), (2, x.sum())}


def keys(x):
    return {(int(x[0]), 1): 2, frozenset([x.max()]): [x.min()]}


def generated(x):
    return frozenset(int(v) for v in x)


def kept(x):
    KEPT.append(frozenset([int(x[0])]))
    KEPT.append({(int(x[1]), "a"): {x.sum()}})
    return 1


def nested(x):
    return [({frozenset([(x.sum(), int(x[0]))])}, {"a": {(float(x[1]),)}})]


def bound(x):
    return [x.sum()].append.__self__, {1: x.sum()}.get


def caught(x):
    try:
        raise ValueError(frozenset([x.sum()]), [x.max()])
    except ValueError as error:
        return error


@pytest.mark.parametrize("function", [frozen, tuples_in_sets, keys, generated, kept, nested, bound, caught])
def test_results(function):
    jitted = pyasc.jit(function)
    for turn in range(3):
        x = np.arange(1, 4) + turn
        KEPT.clear()
        expected = repr((function(x), KEPT)) if function is not bound else repr(function(x)[1](1))
        KEPT.clear()
        got = jitted(x)
        assert (repr((got, KEPT)) if function is not bound else repr(got[1](1))) == expected
        if function is not bound:
            assert b"Tracer" not in pickle.dumps((got, KEPT))


def missing(x):
    return TABLE[int(x[0])]


def missing_pair(x):
    return {(7, 1): x}[(int(x[0]), 2)]


def removed(x):
    s = {9}
    s.remove(int(x[0]))


def popped(x):
    return {7: x}.pop(int(x[0]))


def asserted(x):
    assert x.sum() < 0, ("bad", x * 2, float(x[1]))


def asserted_in_helper(x):
    helper(x.sum())


def helper(v):
    assert v < 0, v


def chained(x):
    try:
        missing(x)
    except KeyError as error:
        raise ValueError(x.max()) from error


@pytest.mark.parametrize("function", [missing, missing_pair, removed, popped, asserted, asserted_in_helper, chained])
def test_exceptions(function):
    jitted = pyasc.jit(function)
    for turn in range(3):
        x = np.arange(3) + 10 * turn
        said = []
        for call in (function, jitted):
            with pytest.raises(Exception) as caught_one:
                call(x)
            error = caught_one.value
            said.append((type(error), repr(error.args), repr(error.__cause__)))
            assert b"Tracer" not in pickle.dumps(error)
        assert said[0] == said[1]


@runtime_checkable
class Rounds(Protocol):
    def __round__(self): ...


class OfOne(type):
    def __instancecheck__(cls, value):
        return type(value) is np.float64


class One(metaclass=OfOne):
    pass


CLASSES = [abc.Iterable, abc.Sized, abc.Container, abc.Hashable, abc.Collection, abc.Sequence, SupportsIndex, Rounds, One,
           (int, abc.Iterable), (abc.Sized, float), np.ndarray, int, float, np.floating, object]


def test_isinstance_of_abstract_classes():
    def f(x, k):
        values = (x, x.sum(), x[0], k, k * 2, float(k), int(x[1]), x.shape, len(x), x > 1, x[x > 1], [x], x.dtype)
        return [isinstance(v, c) for v in values for c in CLASSES]

    jitted = pyasc.jit(f)
    for k in (2.0, 3.0, np.float64(3), np.int64(2), 4, 5, 6):
        for n in (3, 4, 5):
            x = np.arange(float(n))
            assert jitted(x, k) == f(x, k)
