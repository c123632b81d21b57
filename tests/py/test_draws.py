"""Loops that draw random numbers one by one are compiled, draw what NumPy and Python draw, and leave generators as these do."""
import linecache
import random
import threading

import numpy as np
import pytest

import pyasc

SOURCE = """
def f(rng, x, n):
    s = 0.0
    for i in range(n):
        {body}
        x[i % len(x)] += v
        s += v * (i + 1)
    return s
"""

GENERATOR = ["rng.random()", "rng.uniform(-2, 3)", "rng.uniform()", "rng.uniform(0.5)", "rng.standard_normal()", "rng.normal()",
             "rng.normal(1.0, 2.5)", "rng.normal(3)", "rng.exponential(2.0)", "rng.exponential()", "rng.standard_exponential()",
             "rng.integers(10)", "rng.integers(-5, 7)", "rng.integers(0, 2**33)", "rng.integers(0, 1)", "rng.integers(5, 6 + i)",
             "rng.integers(0, 2**32)", "rng.integers(0, 2**32 - 1)", "rng.integers(-2**40, 2**41)",
             "rng.random() if rng.integers(2) else rng.normal()"]
STATE = ["rng.random()", "rng.rand()", "rng.uniform(2, 5)", "rng.randn()", "rng.normal()", "rng.normal(1, 0.5)", "rng.standard_normal()",
         "rng.randint(7)", "rng.randint(-3, 9)", "rng.randint(0, 2**40)", "rng.random_sample()", "rng.randint(0, 2**32)",
         "rng.randint(0, 2) * rng.rand() + rng.normal()", "rng.randint(3, 4 + i)", "rng.uniform(3, 1)"]
PYTHON = ["random.random()", "random.uniform(1, 4)", "random.randint(1, 6)", "random.randrange(10)", "random.randrange(-4, 9)",
          "random.randint(0, 2**40)", "random.random() * random.randint(0, 3)", "random.uniform(-1.5, 1)", "random.randint(0, 2**32 - 1)"]
BITS = [np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM]


def function(body):
    text = SOURCE.format(body=body)
    file = f"<draws {body}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    namespace = {"np": np, "random": random}
    exec(compile(text, file, "exec"), namespace)  # noqa: S102
    return namespace["f"]


def state(rng):
    if rng is None:
        return repr((np.random.get_state(legacy=False), random.getstate()))
    return repr(rng.get_state(legacy=False) if isinstance(rng, np.random.RandomState) else rng.bit_generator.state)


def seen(call, make, jitted):
    """What five calls give, and how they leave the generator."""
    rng = make()
    np.random.seed(4)
    random.seed(6)
    out = []
    for turn in range(5):
        x = np.zeros(7)
        out.append((call(rng, x, 700 + turn), x.tolist(), state(rng)))
        out.append(np.random.random() if rng is None else rng.normal())
        if jitted and turn < 2:
            call.wait()
    return out


CASES = [("v = " + b, lambda k=k: np.random.Generator(BITS[k](5))) for i, b in enumerate(GENERATOR) for k in {0, i % len(BITS)}]
CASES += [("v = " + b, lambda: np.random.RandomState(3)) for b in STATE]
CASES += [("v = " + b.replace("rng", "np.random"), lambda: None) for b in STATE]
CASES += [("v = " + b, lambda: None) for b in PYTHON]


@pytest.mark.parametrize("body, make", CASES, ids=[body for body, _ in CASES])
def test_draws(body, make):
    f = function(body)
    jitted = pyasc.jit(f)
    assert repr(seen(jitted, make, True)) == repr(seen(f, make, False))
    assert "compiled loop" in jitted.explain()


def bounds(rng, n):
    t = 0
    for i in range(n):
        t += rng.integers(0, 50 - i)
    return t


def places(rng, x, n):
    for _ in range(n):
        x[rng.integers(0, len(x) + 1)] += 1
    return x


def mixed(rng, n):
    a, s = rng.random(3), 0.0
    for _ in range(n):
        s += rng.normal()
    b = rng.random()
    for i in range(n):
        s += rng.random() * i
    return s, a, b, rng.integers(5)


def parting(rng, n):
    s = 0.0
    for _ in range(n):
        if rng.random() < 0.5:
            s += 1
        else:
            s -= rng.normal()
    if s > 0:
        return s, rng.random()
    return -s, rng.random(2)


def large(rng, n):
    t = 1
    for _ in range(n):
        t = t * 3 + int(rng.random() * 4)
    return t


def narrower(rng, n, scale):
    s = 0.0
    for i in range(n):
        s += rng.normal(0, scale - i * 0.01)
    return s


def unused(rng, n):
    for _ in range(n):
        rng.random()


def two(a, b, n):
    s = 0.0
    for _ in range(n):
        s += a.random() - b.normal()
    return s


def shuffled(rng, x, n):
    for _ in range(n):
        for i in range(x.shape[0]):
            j = rng.integers(0, i + 1)
            x[i], x[j] = x[j], x[i]
    return x


def helper(rng):
    return rng.normal() * 2


def through_a_helper(rng, n):
    s = 0.0
    for _ in range(n):
        s += helper(rng)
    return s


def made(seed, n):
    rng = np.random.default_rng(seed)
    s = 0.0
    for _ in range(n):
        s += rng.random()
    return s


def walk(n):
    x, best = 0, 0
    while -n < x < n:
        x += 1 if random.random() < 0.5 else -1
        best = max(best, x)
    return best


def spins(s, steps):
    n = s.shape[0]
    for _ in range(steps):
        i, j = np.random.randint(0, n), np.random.randint(0, n)
        d = 2 * s[i, j] * (s[(i + 1) % n, j] + s[(i - 1) % n, j] + s[i, (j + 1) % n] + s[i, (j - 1) % n])
        if d <= 0 or np.random.rand() < np.exp(-0.4 * d):
            s[i, j] = -s[i, j]
    return s.sum(), s


def new(k):
    return np.random.default_rng(k)


@pytest.mark.parametrize("f, arguments, compiled", [
    (bounds, lambda: (new(0), 45), False), (bounds, lambda: (new(0), 60), False), (places, lambda: (new(0), np.zeros(5), 300), False),
    (places, lambda: (new(0), np.zeros(500), 100), True), (mixed, lambda: (new(0), 200), True), (parting, lambda: (new(0), 201), True),
    (large, lambda: (new(0), 100), False), (narrower, lambda: (new(0), 300, 1.0), False), (narrower, lambda: (new(0), 300, 10.0), True),
    (unused, lambda: (new(0), 300), True), (two, lambda: (new(0), new(1), 300), True), (two, lambda: (new(2),) * 2 + (300,), True),
    (shuffled, lambda: (new(0), np.arange(50.0), 20), True), (through_a_helper, lambda: (new(0), 300), True),
    (made, lambda: (7, 400), True), (walk, lambda: (30,), True), (spins, lambda: (np.where(new(1).random((9, 9)) < 0.5, 1, -1), 400), True)])
def test_programs(f, arguments, compiled):
    outcomes = []
    jitted = pyasc.jit(f)
    for call in (f, jitted):
        np.random.seed(1)
        random.seed(2)
        args = arguments()
        for turn in range(8):
            copies = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
            try:
                got = repr(call(*copies))
            except ValueError as error:
                got = repr(error)
            except IndexError as error:
                got = repr(error)
            outcomes.append((got, repr(copies), [state(a) for a in args if hasattr(a, "bit_generator")], state(None)))
            if call is jitted and turn < 3:
                call.wait()
    half = len(outcomes) // 2
    pictures = [(got, kept[kept.find("array"):] if "array" in kept else "", states, outer) for got, kept, states, outer in outcomes]
    assert pictures[half:] == pictures[:half]
    assert not compiled or "compiled loop" in jitted.explain()


def test_a_generator_of_several_threads():
    def total(rng, n):
        s = 0.0
        for _ in range(n):
            s += rng.random()
        return s

    jitted = pyasc.jit(total)
    for _ in range(2):
        jitted(new(1), 1000)
        jitted.wait()
    rng, expected = new(0), new(0)

    def work():
        for _ in range(20):
            jitted(rng, 2000)
            rng.random(1000)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected.random(5 * 20 * 3000)
    assert rng.bit_generator.state == expected.bit_generator.state


def test_attributes_and_globals():
    class Model:
        def __init__(self):
            self.rng = new(3)

        def step(self, n):
            s = 0.0
            for _ in range(n):
                s += self.rng.random()
            return s

    plain, model = Model(), Model()
    jitted = pyasc.jit(model.step)
    for turn in range(6):
        assert jitted(300) == plain.step(300)
        jitted.wait()
    assert "compiled loop" in jitted.explain()


def test_generators_that_share_their_bits():
    def g(a, b, n):
        s = 0.0
        for _ in range(n):
            s += a.random() - b.normal()
        return s

    jitted = pyasc.jit(g)
    for turn in range(6):
        bits, other = np.random.PCG64(turn), np.random.PCG64(turn)
        pairs = [[np.random.Generator(x) for _ in range(2)] for x in (bits, other)]
        assert jitted(*pairs[0], 300) == g(*pairs[1], 300)
        assert bits.state == other.state
        jitted.wait()


def test_generators_of_several_threads_in_either_order():
    def g(a, b, n):
        s = 0.0
        for _ in range(n):
            s += a.random() - b.normal()
        return s

    jitted = pyasc.jit(g)
    for _ in range(2):
        jitted(new(0), new(1), 1000)
        jitted.wait()
    a, b = new(2), new(3)
    threads = [threading.Thread(target=lambda x=x, y=y: [jitted(x, y, 3000) for _ in range(30)]) for x, y in [(a, b), (b, a)] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)


def test_seeds_in_the_function():
    def f(n):
        np.random.seed(3)
        random.seed(4)
        s = 0.0
        for _ in range(n):
            s += np.random.rand() - random.random()
        return s

    jitted = pyasc.jit(f)
    for turn in range(5):
        assert jitted(500 + turn // 3) == f(500 + turn // 3)
        assert np.random.random() == (f(500 + turn // 3), np.random.random())[1]
        jitted.wait()
    assert "compiled loop" in jitted.explain()


def test_results_of_other_kinds_than_before():
    """Python's float or NumPy's, as the numbers come: the array and the generator are as they are without pyasc."""
    def f(x, g, least):
        s = 0.0
        for i in range(len(x)):
            r = g.random()
            x[i] += r
            if r > least:
                s = x[i]
        return s

    jitted = pyasc.jit(f, tier=1, numerics="strict")
    for turn, least in enumerate([0.5, 2.0, 0.5, 2.0, 0.9, 2.0]):
        xs, gs = [np.ones(50), np.ones(50)], [np.random.default_rng(turn) for _ in range(2)]
        for _ in range(2):
            expected, got = f(xs[0], gs[0], least), jitted(xs[1], gs[1], least)
            assert type(got) is type(expected) and got == expected
            assert np.array_equal(*xs) and gs[0].bit_generator.state == gs[1].bit_generator.state


def test_python_generator_of_a_loop_that_is_left():
    """An int of more than 64 bits: the loop is left in the middle, the generator is as it was before."""
    def f(x, n):
        s = 1
        for i in range(300):
            if x[i] > random.random():
                s = s * n
        return s

    jitted, x = pyasc.jit(f, tier=1), np.linspace(0, 1, 300)
    for n in (1, 1, 3, 1, 3):
        random.seed(5)
        expected = f(x, n), random.random()
        random.seed(5)
        assert (jitted(x, n), random.random()) == expected
