"""Unknown code that changes, now and then, what it could reach: shapes, flags, lists, classes."""

import gc
import weakref

import numpy as np

import pyasc
from same import freeze, unseen


def sometimes(act):
    """Calls a function ten times, where unknown code does `act` on the fifth call and gives what it gives."""
    turn = []

    @unseen
    def code(*args):
        turn.append(1)
        if len(turn) == 5:
            return act(*args)
        return None
    return code


def compare(make, calls=9):
    """make(wrap) gives a function of nothing that calls a wrapped one; both ways are compared."""
    plain, jitted = make(lambda f: f), make(pyasc.jit)
    for _ in range(calls):
        assert freeze_call(jitted) == freeze_call(plain)


def freeze_call(function):
    try:
        return freeze(function())
    except Exception as e:
        return type(e).__name__, str(e)


def test_own_array_gets_another_shape():
    def make(wrap):
        code = sometimes(lambda y: setattr(y, "shape", (3, 2)))

        @wrap
        def f(x):
            y = x * 2
            code(y)
            return y + 1
        return lambda: f(np.arange(6.0))
    compare(make)


def test_own_array_gets_another_dtype():
    def make(wrap):
        code = sometimes(lambda y: setattr(y, "dtype", np.int64))

        @wrap
        def f(x):
            y = x * 2
            code(y)
            return y + 1
        return lambda: f(np.arange(6.0))
    compare(make)


def test_arrays_become_read_only():
    def make(wrap):
        code = sometimes(lambda y: y.setflags(write=False))

        @wrap
        def f(x):
            y = x * 2
            code(y)
            y += x
            return y
        return lambda: f(np.arange(6.0))
    compare(make)


def test_results_are_read_only():
    def make(wrap):
        kept = np.zeros(3)
        kept.flags.writeable = False
        turn = []

        @unseen
        def pick():
            turn.append(1)
            return kept if len(turn) == 5 else np.zeros(3)

        @wrap
        def f(x):
            r = pick()
            r += x
            return r
        return lambda: (f(np.ones(3)), kept.copy())
    compare(make)


def test_lists_that_are_given_are_the_list():
    def make(wrap):
        kept = []

        @unseen
        def registry():
            return kept

        @wrap
        def f(x):
            registry().append(1)
            return x + 1
        return lambda: (f(np.ones(2)), len(kept))
    compare(make)


def test_logging_names_the_line(caplog):
    import logging

    def step(x):
        logging.warning("sum")
        return x + 1

    jitted = pyasc.jit(step)
    with caplog.at_level(logging.INFO):
        for _ in range(3):
            jitted(np.ones(3))
    assert {(r.funcName, r.lineno) for r in caplog.records} == {("step", caplog.records[0].lineno)}
    assert len(caplog.records) == 3 and all(r.filename == "test_unknown_changes.py" for r in caplog.records)


def test_exceptions_are_let_go():
    class Wrong(Exception):
        pass

    alive = weakref.WeakSet()

    @unseen
    def fail(x):
        error = Wrong()
        alive.add(error)
        if len(alive) > 2:
            raise error

    def f(x):
        y = x * 2
        fail(y)
        return y + 1

    jitted = pyasc.jit(f)
    kept = []
    for _ in range(2):
        error = Wrong()
        kept.append(error)
        alive.add(error)
    for _ in range(20):
        try:
            jitted(np.ones(3))
        except Wrong:
            pass
    gc.collect()
    assert len(alive) <= 3


def test_an_argument_gets_another_shape():
    """Said, if the call has to be followed again; never a crash."""
    code = sometimes(lambda y: setattr(y, "shape", (3, 2)))

    def f(x):
        code(x)
        return x + 1

    jitted = pyasc.jit(f)
    for turn in range(9):
        try:
            assert jitted(np.arange(6.0)).size == 6
        except RuntimeError as e:
            assert "another shape or dtype" in str(e) and turn == 4


def test_init_and_properties_are_exchanged():
    class A:
        def __init__(self, x):
            self.q = x * 2

        @property
        def p(self):
            return self.q + 1

    def f(x):
        a = A(x)
        return a.q, a.p

    jitted, x = pyasc.jit(f), np.ones(3)
    before = A.__init__, A.p

    def first(self, x):
        self.q = x * 7

    for init, p in ((before[0], before[1]), (first, before[1]), (first, property(lambda self: self.q * 3)), before):
        A.__init__, A.p = init, p
        for _ in range(3):
            assert freeze(jitted(x)) == freeze(f(x))
