"""Objects of classes with operators and subscripts of their own."""
import numpy as np

import pyasc
from same import freeze


def agrees(function, *args):
    for tier in (0, 1):
        jitted = pyasc.jit(function, tier=tier)
        for _ in range(3):
            assert freeze(jitted(*args)) == freeze(function(*args))
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


def test_of_a_class_made_in_the_call():
    def points(x):
        class Point:
            scale = 2.0

            def __init__(self, v):
                self.v = v

            def moved(self, d):
                return Point(self.v + d * self.scale)

            def __add__(self, other):
                return Point(self.v + other.v)

            def __len__(self):
                return len(self.v)

            def __getitem__(self, i):
                return self.v[i]

            def __bool__(self):
                return bool(self.v[0] > 0)

            def __eq__(self, other):
                return (self.v == other.v).all()

        p = Point(x).moved(1) + Point(x)
        return p.v, p.scale, [q.v.sum() for q in (p, p.moved(-1))], len(p), p[1], 1 if p else 2, p == p

    agrees(points, np.arange(5.0))
    agrees(points, -np.arange(5.0))


class Table:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, i):
        return self.values[i] * 2


def test_subscripts_of_an_object_from_outside():
    table = Table(np.arange(4.0))

    def shifted(x):
        return table[1] + x

    x = np.arange(3.0)
    agrees(shifted, x)
    jitted = pyasc.jit(shifted)
    former = Table.__getitem__
    for change in (lambda: table.values.__setitem__(1, 7.0), lambda: setattr(table, "values", np.ones(5)),
                   lambda: setattr(Table, "__getitem__", lambda self, i: self.values[i] * 3)):
        jitted(x)
        change()
        assert freeze(jitted(x)) == freeze(shifted(x))
    Table.__getitem__ = former
    assert freeze(jitted(x)) == freeze(shifted(x))


def test_the_class_has_its_own_name():
    def outer():
        def outer(x):
            class Point:
                pass

            return Point.__qualname__, x * 2

        return outer

    jitted = pyasc.jit(outer())
    for _ in range(2):
        assert freeze(jitted(np.arange(2.0))) == freeze(outer()(np.arange(2.0)))
