"""The option errstate: floating-point warnings are those of plain NumPy."""
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import pyasc


def f(x):
    y = x / (x - 1)
    return np.log(y - 2) * 2


def loop(x):
    s = np.float64(0)
    for v in x:
        s += 1 / (v - 1)
    return s


def shown(function, *args):
    """(result, warnings with their lines)"""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = function(*args)
    return result, [(w.category, str(w.message), w.filename, w.lineno) for w in found]


@pytest.mark.parametrize("plain", [f, loop])
def test_warnings_and_their_places(plain):
    x = np.arange(6.0)
    jitted = pyasc.jit(plain, errstate=True)
    expected = shown(plain, x)
    assert expected[1]
    for _ in range(3):
        result = shown(jitted, x)
        assert result[1] == expected[1]
        assert result[0].tobytes() == expected[0].tobytes()
    assert "errstate=True" in jitted.explain()


def test_none_without_it():
    jitted = pyasc.jit(f)
    for _ in range(3):
        assert shown(jitted, np.arange(6.0))[1] == []


def test_compiled_where_they_are_ignored():
    jitted = pyasc.jit(f, errstate=True)
    x = np.arange(2.0, 8.0)
    with np.errstate(all="ignore"):
        for _ in range(3):
            assert shown(jitted, x)[1] == []
    jitted.wait()
    assert jitted.cache_info().hits == 2 and not jitted.report()["fallback"]
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        jitted(np.arange(6.0))
    assert shown(jitted, np.arange(6.0))[1] == shown(f, np.arange(6.0))[1]


def test_values():
    with pyasc.options(errstate=True):
        jitted = pyasc.jit(f)
    assert shown(jitted, np.arange(6.0))[1]
    assert shown(pyasc.jit(f, errstate=False), np.arange(6.0))[1] == []
    for wrong in (1, "maybe", None, 1.0):
        with pytest.raises(ValueError, match="errstate"):
            pyasc.jit(f, errstate=wrong)


@pytest.mark.parametrize("text, count", [("1", 1), ("true", 1), ("0", 0)])
def test_environment(text, count):
    code = "import warnings, numpy as np, pyasc; w = warnings.catch_warnings(record=True); found = w.__enter__(); " \
           "warnings.simplefilter('always'); pyasc.jit(lambda x: 1 / x)(np.zeros(3)); print(len(found))"
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYASC_ERRSTATE": text},
                          capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(count)


def test_called_by_a_function_without_it():
    inner = pyasc.jit(f, errstate=True)
    outer = pyasc.jit(lambda x: inner(x) + 1)
    expected = shown(f, np.arange(6.0))[1]
    for _ in range(3):
        assert shown(outer, np.arange(6.0))[1] == expected
    assert "errstate" in outer.explain()


def wants_them_inside(x):
    with np.errstate(all="warn"):
        y = 1 / (x - 1)
    return y * 2


def test_wanted_in_the_function_alone():
    jitted, silent = pyasc.jit(wants_them_inside, errstate=True), pyasc.jit(wants_them_inside)
    with np.errstate(all="ignore"):
        expected = shown(wants_them_inside, np.arange(6.0))[1]
        assert expected
        for _ in range(3):
            assert shown(jitted, np.arange(6.0))[1] == expected
            assert shown(silent, np.arange(6.0))[1] == []
    silent.wait()
    assert not silent.report()["fallback"], silent.explain()
