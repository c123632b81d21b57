"""np.clip and x.clip: bounds of all kinds, NaN, zeros of both signs, integers at their limits."""
import linecache

import numpy as np
import pytest

import pyasc
from same import outcome, freeze

NAN, INF = float("nan"), float("inf")
FLOATS = [NAN, -INF, -1.5, -0.0, 0.0, 1.5, INF, 3.0] * 5
BOUNDS = ["-1.0", "0.0", "-0.0", "2", "0", "float('nan')", "float('inf')", "None", "300", "-129", "127", "-128",
          "2**70", "np.float32(0.5)", "np.float64(0.5)", "np.int8(1)", "True", "x[3]", "x[0]", "s", "x", "-x", "1j"]


def program(text):
    text = f"def f(x, s):\n    {text}\n"
    name = f"<clip {text}>"
    linecache.cache[name] = len(text), None, text.splitlines(True), name
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


def arguments(dtype):
    kind = np.dtype(dtype).kind
    x = np.array(FLOATS, dtype) if kind in "fc" else np.arange(-20, 20).astype(dtype)
    return [x, x.reshape(5, 8).T[::2]]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "u1", "i4", "i8", "u8", "c8", "?"])
@pytest.mark.parametrize("low", BOUNDS)
def test_clip(low, dtype):
    for high in {low, *BOUNDS[::3], "0.0", "-0.0", "s", "x[3]"}:
        for text in (f"return np.clip(x, {low}, {high})", f"return (x * 1).clip({low}, {high}) + x"):
            plain = program(text)
            jitted = [pyasc.jit(plain, tier=tier) for tier in (0, 1)]
            for x in arguments(dtype):
                for s in (0.25, NAN):
                    expected = outcome(plain, x, s)
                    for f in jitted:
                        for _ in range(2):
                            assert outcome(f, x, s) == expected, (text, s)


@pytest.mark.parametrize("text", [
    "np.clip(x, 0.0, 1.0, x); return x", "np.clip(x, 0.0, 1.0, out=x); return x", "return x.clip(0.0, 1.0, x)",
    "return x.clip(min=0.0), x.clip(max=1), np.clip(x, a_min=0, a_max=None), np.clip(a=x, a_min=0.0, a_max=1.0)",
    "return np.clip(x, 0.0, 1.0, dtype='f4', casting='unsafe')", "return np.clip(s, 0.0, 1.0), np.clip(x[3], 0, 1)",
])
def test_clip_forms(text):
    plain = program(text)
    jitted = pyasc.jit(plain)
    for s in (0.25, 0.25, 3.0, -0.0):
        x, y = np.array(FLOATS), np.array(FLOATS)
        assert outcome(jitted, y, s) == outcome(plain, x, s)
        assert freeze(x) == freeze(y)


@pytest.mark.parametrize("bounds", ["0.1, 0.9", "-s, s", "x[3], 5"])
def test_clip_is_fused(bounds):
    jitted = pyasc.jit(program(f"return np.clip(x * 2 + 1, {bounds}) * 2"), tier=1)
    jitted(np.linspace(-1, 1, 100), 2.0)
    report = jitted.report()
    assert report["kernels"] >= 1 and report["ops_library"] == 0
