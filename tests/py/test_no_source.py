"""Functions without source: traced as they are where nothing of them is missed, else plain."""

import numpy as np
import pytest

import pyasc
from same import freeze

TRACED = [
    "lambda x, y: x * 2 + y",
    "lambda x, y: np.sqrt(x * x + y) - np.pi",
    "lambda x, y: (x + y).sum(axis=0, keepdims=True) / K",
    "lambda x, y: np.linalg.norm(x) * y[1:, ::2]",
    "lambda x, y: np.where(x > y, x, -y).T",
    "lambda x, y: (x @ y.T, abs(x), x[0], math.exp(1.0))",
    "lambda x, y, k=3: x * k",
]
PLAIN = [
    "lambda x, y: x if x.sum() > 0 else y",
    "lambda x, y: [x, y]",
    "lambda x, y: f(x)",
    "lambda x, y: [v for v in x]",
    "lambda x, y: print(end='')",
    "lambda x, y: x * A",
    "lambda x, y: np.random.rand(2, 2) * 0 + x[:2, :2]",
]


def scope():
    import math

    return {"np": np, "math": math, "K": 2.5, "A": np.ones((3, 4)), "f": lambda x: x + 1}


def arguments(k):
    return np.linspace(-1, 2, 12).reshape(3, 4) + k, np.linspace(0, 5, 12).reshape(3, 4) * (k + 1)


@pytest.mark.parametrize("text", TRACED + PLAIN)
def test_as_numpy(text):
    function = eval(text, scope())
    jitted = pyasc.jit(function)
    for k in range(4):
        with np.errstate(all="ignore"):
            assert freeze(jitted(*arguments(k))) == freeze(function(*arguments(k)))
    plain = not jitted._facts()["entries"] or jitted._facts()["entries"][0]["plain"]
    assert plain == (text in PLAIN)


def test_names_are_guarded():
    names = scope()
    exec("def f(x):\n    y = x * K\n    return np.sqrt(y) + K\n", names)
    jitted, x = pyasc.jit(names["f"]), np.arange(3.0)
    for k in (2.5, 2.5, 3.5, 4.5):
        names["K"] = k
        np.testing.assert_array_equal(jitted(x), np.sqrt(x * k) + k)
    names["K"] = np.arange(3.0)
    np.testing.assert_array_equal(jitted(x), np.sqrt(x * x) + x)
    names["np"] = type("other", (), {"sqrt": staticmethod(lambda v: v * 0)})
    np.testing.assert_array_equal(jitted(x), x)


def test_a_store_or_a_jump_runs_plain():
    names = scope()
    exec("def f(x):\n    global K\n    K = x.sum()\n    return x + K\n", names)
    exec("def g(x):\n    for k in range(3):\n        x = x + k\n    return x\n", names)
    for name in "fg":
        jitted = pyasc.jit(names[name])
        for k in range(3):
            x = np.arange(3.0) + k
            assert freeze(jitted(x)) == freeze(names[name](x))
    assert names["K"] == 9.0
