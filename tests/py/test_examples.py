"""Every example gives NumPy's results, to the bit in strict mode: first call, second call, other values."""

import copy
import importlib.util
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest

import pyasc

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "benchmarks"))

import common  # noqa: E402
from same import freeze  # noqa: E402

EXAMPLES = ROOT / "examples"
NAMES = sorted(p.stem for p in EXAMPLES.glob("*.py") if p.stem != "demo")
LOOPS = {"edit_distance"}  # in tier 0 they run plain


def load(name):
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def perturbed(args, seed):
    """The same shapes and dtypes with other values."""
    rng = np.random.default_rng(seed)
    out = []
    for a in common.copies(args):
        if isinstance(a, np.ndarray) and a.dtype.kind in "fc":
            a *= 1.0 + 0.01 * rng.standard_normal(a.shape)
        elif isinstance(a, float):
            a *= 1.01
        out.append(a)
    return out


def compare(function, args, call):
    wrong = common.call_difference(function, args)
    assert not wrong, f"{call}: {wrong}"


@pytest.mark.parametrize("settings", [{}, {"tier": 0}, {"tier": 1}], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_example_is_numpy_to_the_bit(name, settings):
    module = load(name)
    function, args = pyasc.jit(getattr(module, name), numerics="strict", **settings), module.make_args()
    compare(function, args, "first call")
    compare(function, args, "second call")
    function.wait()
    compare(function, args, "call after wait()")
    for seed in range(3):
        compare(function, perturbed(args, seed), f"perturbed {seed}")
    plain = settings.get("tier") == 0 and name in LOOPS
    assert plain or function.cache_info().hits > 0, "no call ran a plan"
    if settings.get("tier") == 0:
        assert function.report()["kernels"] == 0


@pytest.mark.parametrize("name", NAMES)
def test_example_has_the_same_bits_in_both_tiers(name):
    module = load(name)
    function, args = getattr(module, name), module.make_args()
    def run(f):
        mine = copy.deepcopy(args)
        return f(*mine), mine

    assert freeze(run(pyasc.jit(function, tier=0))) == freeze(run(pyasc.jit(function, tier=1)))


@pytest.mark.parametrize("name", NAMES)
def test_example_runs_by_itself(name):
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert "signature(s)" in done.stdout  # it ends with explain()


def test_readme_shows_what_is_there():
    text = (ROOT / "README.md").read_text()
    block = re.search(r"```python\n(.*?)```", text, re.S)[1]
    body = block[block.index("@pyasc.jit"):].rstrip()
    assert body in (EXAMPLES / "gray_scott_step.py").read_text()
    rows = re.findall(r"^\| `(\w+)` \| `(PYASC_\w+)` \|", text, re.M)
    assert sorted(rows) == sorted((name, row[0]) for name, row in pyasc._options.TABLE.items())
    for method in re.findall(r"`fn\.(\w+)", text):
        assert hasattr(pyasc.Function, method), method
    for name in re.findall(r"`pyasc\.(\w+)", text):
        assert hasattr(pyasc, name), name
