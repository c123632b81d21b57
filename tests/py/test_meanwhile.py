"""What others do to a function while one thread traces it, asks about it or makes its twin."""
import threading
import time

import numpy as np
import pytest

import pyasc
from pyasc import _api

X = np.arange(40.0)


@pytest.fixture
def slow_rewriting(monkeypatch):
    """While a function is rewritten, whatever is put in the list is called; other threads get their turn, too. Who
    comes first is last."""
    meanwhile, rewrite, delays = [], _api._rewrite, [0.2]

    def slowly(function, numbers, directory):
        for call in meanwhile:
            call()
        time.sleep(delays.pop() if delays else 0.02)
        return rewrite(function, numbers, directory)

    monkeypatch.setattr(_api, "_rewrite", slowly)
    return meanwhile


def together(*calls):
    results = [None] * len(calls)

    def run(i, call):
        try:
            results[i] = call()
        except BaseException as error:
            results[i] = error

    threads = [threading.Thread(target=run, args=item) for item in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    return results


def test_a_cache_that_is_cleared_while_facts_are_gathered():
    class Named:
        """Its name is made up by code, which takes the plans away that are being told of."""

        def __call__(self, x):
            match x:  # which is not traced
                case _:
                    return x + 1

        def __getattr__(self, name):
            jitted.cache_clear()
            [bytearray(n) for n in range(100, 5000, 16)]  # memory that was freed is another's now
            return "named"

    named = Named()
    jitted = pyasc.jit(lambda x: np.sqrt(named(x * 2) + x))
    for ask in (jitted.report, jitted.explain):
        for n in range(5):
            jitted(np.arange(10.0 + n))
        assert jitted.cache_info().currsize > 1
        assert "named" in str(ask())
        assert jitted.cache_info().currsize == 0


def test_a_cache_that_is_cleared_while_code_is_made_text():
    jitted, stop = pyasc.jit(lambda x: np.exp(x) * 3 + x), threading.Event()

    def clear():
        while not stop.is_set():
            jitted.cache_clear()
            time.sleep(0.001)

    other = threading.Thread(target=clear)
    other.start()
    try:
        for turn in range(15):
            jitted(X)
            try:
                assert "define" in jitted._code(0, 0, False)[0]
            except IndexError:
                pass  # it was cleared before
    finally:
        stop.set()
        other.join()


def test_plans_that_are_cleared_while_their_kernels_are_waited_for():
    """Calls with tier=1 wait without the GIL."""
    jitted = pyasc.jit(lambda x: np.exp(x) * 3 + x, tier=1, cache_dir="")
    stop = threading.Event()

    def clear():
        while not stop.is_set():
            jitted.cache_clear()
            time.sleep(0.0005)

    def call():
        for n in range(60):
            x = np.arange(20.0 + n % 13) / 10
            assert np.allclose(jitted(x), np.exp(x) * 3 + x)

    other = threading.Thread(target=clear)
    other.start()
    try:
        assert together(*[call] * 4) == [None] * 4
    finally:
        stop.set()
        other.join()


def with_match(x):
    match x.ndim:
        case 1:
            return x * 2


@pytest.mark.parametrize("plain", [lambda x: x * 2, with_match], ids=["rewritten", "runs plain"])
def test_threads_that_rewrite_at_once(slow_rewriting, plain):
    jitted = pyasc.jit(plain)
    results = together(*[lambda: jitted(X)] * 6)
    assert [np.array_equal(r, X * 2) for r in results] == [True] * 6
    assert np.array_equal(jitted(X), X * 2)


def exchanged(x):
    y = x + 1
    return y * exchange()


def test_code_that_is_exchanged_while_it_is_traced():
    """As autoreload does it; the function is called again with the new code, in the midst of the old one."""
    inner, later = [], (lambda x: x * 3).__code__

    def step():
        if exchanged.__code__ is not later:
            exchanged.__code__ = later
            inner.append(jitted(X))
        return 2

    global exchange
    exchange = lambda: max(map(lambda _: step(), [0]))  # called back by C: no part of the trace
    jitted = pyasc.jit(exchanged)
    assert np.array_equal(jitted(X), (X + 1) * 2)
    assert np.array_equal(inner[0], X * 3)
    assert np.array_equal(jitted(X), X * 3)


def test_a_call_beside_a_trial_has_its_effects(slow_rewriting):
    """explain(*args) traces up to the first effect; calls of other threads meanwhile are whole."""
    seen = []

    def function(x):
        seen.append(x.shape)
        return x * 2

    jitted = pyasc.jit(function)
    text, result = together(lambda: jitted.explain(X), lambda: time.sleep(0.02) or jitted(X))
    assert isinstance(text, str)
    assert np.array_equal(result, X * 2)
    assert seen == [(40,)]


def test_containers_that_change_while_the_function_is_rewritten(slow_rewriting):
    parts = [np.arange(50_000.0), np.ones(50_000)]

    def change():
        parts[:] = [np.arange(50_000.0) + 1, np.ones(50_000)]
        [np.zeros(50_000) for _ in range(8)]  # where the former ones were

    slow_rewriting.append(change)
    jitted = pyasc.jit(lambda parts: parts[0] + parts[1])
    assert np.array_equal(jitted(parts), np.arange(50_000.0) + 2)
