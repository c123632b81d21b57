"""The conformance cases of tests/conformance, in both numerics modes and both tiers."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "conformance"
RUNS = [(mode, tier, turn) for mode in ("strict", "numpy") for tier in (0, 1) for turn in (1, 2)
        if turn == 1 or (mode, tier) == ("numpy", 1)]


def run(mode, tier, digests):
    command = [sys.executable, str(FOLDER / "run_cases.py"), "--digests", str(digests)]
    if mode == "strict":
        command.append("--all-exact")
    env = {**os.environ, "PYASC_NUMERICS": mode, "PYASC_TIER": str(tier),
           "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """(mode, tier, turn) -> (finished process, digests)."""
    folder = tmp_path_factory.mktemp("digests")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        waiting = {key: pool.submit(run, key[0], key[1], folder / "-".join(map(str, key)))
                   for key in RUNS}
    return {key: (w.result(), folder / "-".join(map(str, key))) for key, w in waiting.items()}


@pytest.mark.parametrize("key", RUNS, ids=lambda key: "-".join(map(str, key)))
def test_cases_pass(runs, key):
    process, _ = runs[key]
    assert process.returncode == 0, process.stdout[-3000:] + process.stderr[-2000:]
    assert process.stdout.strip().endswith(" 0 failed")


@pytest.mark.parametrize("one, other", [
    (("strict", 0, 1), ("strict", 1, 1)),
    (("numpy", 0, 1), ("numpy", 1, 1)),
    (("numpy", 1, 1), ("numpy", 1, 2)),
], ids=["strict tiers", "numpy tiers", "repeated"])
def test_bits_are_the_same(runs, one, other):
    first, second = (runs[key][1].read_text().splitlines() for key in (one, other))
    assert len(first) > 3000
    assert [p for p in zip(first, second) if p[0] != p[1]] == []
    assert len(first) == len(second)
