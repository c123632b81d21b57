"""Loops that may be compiled as a whole, compared with what Python does: for test_nests*.py."""
import copy
import warnings

import numpy as np
import pytest

import pyasc
from same import freeze, outcome


def cases():
    """A decorator that keeps functions with the arguments they are called with, and its list."""
    kept = []

    def case(*argsets, fails=None, times=2):
        def keep(function):
            marks = [pytest.mark.xfail(strict=False, reason=fails)] if fails else []
            kept.append(pytest.param(function, argsets, times, id=function.__name__, marks=marks))
            return function
        return keep
    return case, kept


def checks_of(kept):
    """Two tests of each case: its results, and that it is compiled as a whole, unless its name begins with plain_."""
    @pytest.mark.parametrize("function, argsets, times", kept)
    def test_case(function, argsets, times):
        compare(function, argsets, times)

    @pytest.mark.parametrize("function, argsets, times", kept)
    def test_compiled(function, argsets, times):
        jitted = pyasc.jit(function, tier=1)
        for _ in range(2):
            jitted(*argsets[0])
        loops = jitted.explain().count("compiled loop")
        assert loops >= 1 or function.__name__.startswith("plain_"), jitted.explain()[:2000]
    return test_case, test_compiled


def load(source, tmp_path, **names):
    """The function f of a source, which is in a file for the time of the test."""
    path = tmp_path / "program.py"
    path.write_text(source)
    space = dict(names)
    exec(compile(source, str(path), "exec"), space)
    return space["f"]


def picture(function, args):
    """What a call with copies of the arguments gives, and what it leaves of them."""
    args = args() if callable(args) else copy.deepcopy(args)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return outcome(function, *args), freeze(list(args))


def compare(function, argsets, times=2):
    """Strict in tier 1 as Python; else in both tiers the same. Each set of arguments in turn."""
    strict = pyasc.jit(function, numerics="strict", tier=1)
    tiers = [pyasc.jit(function, numerics="numpy", tier=tier) for tier in (0, 1)]
    for turn in range(times):
        for k, args in enumerate(argsets):
            expected = picture(function, args)
            assert picture(strict, args) == expected, f"arguments {k}, turn {turn}"
            zero, one = (picture(f, args) for f in tiers)
            assert one == zero, f"arguments {k}, turn {turn}, tier 1 is not tier 0"
            assert zero[0][0] == expected[0][0] and shape(zero) == shape(expected), f"arguments {k}, turn {turn}"


def shape(x):
    """A picture without what roundings may change."""
    if isinstance(x, (tuple, list)):
        if len(x) and x[0] in ("array", "float", "float64", "float32"):
            return tuple(x[:-1])
        return tuple(shape(v) for v in x)
    return None if isinstance(x, bytes) else x


def vec(n=8, dtype="f8", seed=0, low=-5, high=6):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.standard_normal(n).astype(dtype)
    if np.dtype(dtype).kind == "b":
        return rng.integers(0, 2, n).astype(bool)
    return rng.integers(0 if np.dtype(dtype).kind == "u" else low, high, n).astype(dtype)


def mat(n=5, m=6, dtype="f8", seed=0):
    return vec(n * m, dtype, seed).reshape(n, m)
