"""Large expressions: groups are cut where they have too many nodes, operands or constants."""

import random

import numpy as np
import pytest

import pyasc
from same import freeze


def program(rnd, ninputs, nnodes, nconstants):
    """A function of `ninputs` arrays whose `nnodes` operations read any of those before them."""
    names = [f"a{i}" for i in range(ninputs)]
    constants = [repr(rnd.randint(1, 99) / 8 + k) for k in range(nconstants)]
    lines, known = [], list(names)
    for k in range(nnodes):
        recent = known[-rnd.choice([2, 5, 400]):]
        x, y = rnd.choice(recent), rnd.choice(recent + constants[:1] if not constants else recent + [rnd.choice(constants)])
        form = rnd.choice(["{x} + {y}", "{x} - {y}", "{x} * {y}", "np.maximum({x}, {y})", "abs({x}) + {y}",
                           "np.where({x} > {y}, {x}, 0.5)", "{x} * 0.25 + {y}", "np.sqrt(abs({x}))"])
        lines.append(f"    v{k} = {form.format(x=x, y=y)}")
        known.append(f"v{k}")
    kept = [known[-1]] + rnd.sample(known[ninputs:], min(nnodes, rnd.choice([1, 3, 30])))
    return f"def f({', '.join(names)}):\n" + "\n".join(lines) + f"\n    return {', '.join(kept)}\n"


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("seed", range(12))
def test_programs(seed, tier, tmp_path):
    rnd = random.Random(seed)
    text = program(rnd, rnd.choice([1, 3, 40]), rnd.choice([30, 130, 400]), rnd.choice([0, 5, 90]))
    path = tmp_path / "large.py"
    path.write_text(text)
    scope = {"np": np}
    exec(compile(text, str(path), "exec"), scope)
    function = scope["f"]
    rng = np.random.default_rng(seed)
    count = function.__code__.co_argcount
    jitted = pyasc.jit(function, tier=tier)
    with np.errstate(all="ignore"):
        for n in (37, 37, 1000):
            args = [rng.integers(-9, 9, n) / 4 for _ in range(count)]
            assert freeze(jitted(*args)) == freeze(function(*args))
    assert not jitted._facts()["entries"][0]["plain"]


@pytest.mark.parametrize("count, kernels", [(60, 1), (115, 1), (300, None)])
def test_many_constants(count, kernels, tmp_path):
    """A polynomial is one kernel as far as its nodes allow."""
    text = "def f(x):\n    y = x * 0.5\n" + "".join(
        f"    y = y * x + {1 + k / 128!r}\n" if k % 2 else f"    y = y - {k / 64!r}\n" for k in range(count * 2 // 3))
    path = tmp_path / "constants.py"
    path.write_text(text + "    return y\n")
    scope = {"np": np}
    exec(compile(text + "    return y\n", str(path), "exec"), scope)
    x = np.linspace(0, 1, 1000)
    jitted = pyasc.jit(scope["f"], tier=1)
    for _ in range(2):
        assert freeze(jitted(x)) == freeze(scope["f"](x))
    if kernels:
        assert jitted.report()["kernels"] == kernels
