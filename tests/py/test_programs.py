"""Random programs give what NumPy gives, to the bit: values, layouts, arguments, effects, exceptions.

The normal run is derandomized. More, with other seeds:

    PYASC_EXAMPLES=5000 ./run python -m pytest -q tests/py/test_programs.py
"""
import os
import random
import warnings

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, given, note, settings

import pyasc
from programs import Program
from same import freeze

EXAMPLES = int(os.environ.get("PYASC_EXAMPLES", "300"))
SEEDS = (0, 0, 1, 2, 0, 3)


def state(captured):
    return [freeze(c.bit_generator.state["state"]) if isinstance(c, np.random.Generator) else freeze(c)
            for c in captured]


def picture(function, captured, args, log):
    """All that one call shows: result or exception, arguments, log, captured arrays, shared memory."""
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = function(*args, log)
    except Exception as error:
        return "raised", type(error).__name__, freeze(args), freeze(log), state(captured)
    parts = list(result.values()) if isinstance(result, dict) else \
        list(result) if isinstance(result, (list, tuple)) else [result]
    known = [a for a in [*args, *captured] if isinstance(a, np.ndarray)]
    shared = [[p is a, isinstance(p, np.ndarray) and bool(np.shares_memory(p, a))]
              for p in parts for a in known]
    among = [isinstance(p, np.ndarray) and isinstance(q, np.ndarray) and bool(np.shares_memory(p, q))
             for i, p in enumerate(parts) for q in parts[:i]]
    flags = [p.flags.writeable for p in parts if isinstance(p, np.ndarray)]
    return "returned", freeze(result), freeze(args), freeze(log), state(captured), shared, among, flags


def check(rnd, path, tier):
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        program = Program(rnd)
    path.write_text(program.source)
    note(program.source)
    note(f"arguments: {program.specs}, s={program.scalar}, n={program.count}, tier {tier}")
    plain, plain_captured = program.load(path)
    function, captured = program.load(path)
    jitted = pyasc.jit(function, numerics="strict", tier=tier)
    for turn, seed in enumerate(SEEDS):
        expected = picture(plain, plain_captured, program.arguments(seed), [])
        got = picture(jitted, captured, program.arguments(seed), [])
        assert got == expected, f"call {turn}, arguments {seed}"
        if turn == 1:
            jitted.wait()


@pytest.mark.parametrize("tier", [0, 1])
def test_programs(tmp_path, tier):
    path = tmp_path / "program.py"

    @settings(max_examples=EXAMPLES // 2, deadline=None, derandomize=EXAMPLES <= 300, database=None,
              suppress_health_check=list(HealthCheck), print_blob=False)
    @given(st.integers(0, 2**63))
    def programs(seed):
        check(random.Random(seed), path, tier)

    programs()
