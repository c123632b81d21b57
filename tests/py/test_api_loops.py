"""What a function says of its loops, and what is asked of it before the first call."""
import re

import numpy as np
import pytest

import pyasc


def ema(x, k):
    y, s = np.empty_like(x), x[0]
    for i in range(len(x)):
        s = s + k * (x[i] - s)
        y[i] = s
    return y


def solved(a, b):
    for i in range(1, len(a)):
        a[i] -= b[i] * a[i - 1]
    return a


@pytest.mark.parametrize("first", ["explain", "lower", "shape_infer"])
def test_loops_are_compiled_before_the_first_call(first):
    """What is asked before a call compiles its loops; no turn of theirs is traced."""
    for plain, args in ((ema, (np.linspace(0, 1, 3000), 0.3)), (solved, (np.linspace(0, 1, 3000), np.linspace(1, 0, 3000)))):
        if first == "shape_infer":
            if plain is ema:
                continue
            f = pyasc.jit(plain, shape_infer=[(3000,), (3000,)])
        else:
            f = pyasc.jit(plain)
            getattr(f, first)(*args)
        theirs, ours = ([a.copy() if isinstance(a, np.ndarray) else a for a in args] for _ in range(2))
        for _ in range(2):
            assert plain(*theirs).tobytes() == f(*ours).tobytes()
        assert "<compiled loop at line" in f.explain()
        assert sum(plan["slots"] for entry in f._facts()["entries"] for plan in entry["plans"]) < 20


def test_explain_says_why_a_loop_is_not_compiled():
    def f(x):
        out = []
        for v in x:
            if v > 0.5:
                out.append(2 ** int(v * 8))
        return np.array(out)

    jitted, x = pyasc.jit(f), np.linspace(0, 1, 40)
    for _ in range(2):
        assert jitted(x).tobytes() == f(x).tobytes()
    assert re.search(r"the loop at line \d+ is not compiled as a whole: an int to the power of a number that is not known", jitted.explain())
    assert "call: number.numpy.int64 (20 times)" in jitted.explain()


def test_report_when_the_code_of_a_loop_is_there():
    def f(x):
        s = 0.0
        for i in range(len(x)):
            s += x[i] * 2
        return s

    jitted = pyasc.jit(f)
    jitted(np.linspace(0, 1, 3000))
    jitted.wait()
    assert jitted.report() == {**jitted.report(), "fallback": False, "reasons": []}
