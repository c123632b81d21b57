"""Comparing what jitted and plain functions do."""
import copy
import functools
import os
import subprocess
import sys
import textwrap

import numpy as np

import pyasc


def freeze(x):
    """A comparable picture of a value: types, dtypes, shapes, strides order and bits."""
    if isinstance(x, np.ndarray):
        if x.dtype.hasobject or type(x) is not np.ndarray:
            return type(x).__name__, str(x.dtype), x.shape, repr(x)
        axes = [i for i, n in enumerate(x.shape) if n > 1]
        order = sorted(axes, key=lambda i: -abs(x.strides[i])) if x.size > 1 else []
        return "array", x.dtype.str, x.shape, order, bits(x)
    if isinstance(x, np.generic):
        return type(x).__name__, x.dtype.str, bits(np.asarray(x))
    if isinstance(x, (list, tuple)):
        return type(x).__name__, *(freeze(v) for v in x)
    if isinstance(x, dict):
        return "dict", *((freeze(k), freeze(v)) for k, v in x.items())
    if isinstance(x, (set, frozenset)):
        return type(x).__name__, sorted(map(repr, x))
    if isinstance(x, BaseException):
        return type(x).__name__, str(x)
    if isinstance(x, (float, complex)):
        return type(x).__name__, repr(x)
    if x is None or isinstance(x, (int, str, bytes, bool)):
        return type(x).__name__, x
    if hasattr(x, "__dict__") and not isinstance(x, type) and not callable(x):
        return type(x).__name__, freeze(vars(x))
    return type(x).__name__


def bits(x):
    """The bytes of an array's elements, any NaN being one."""
    x = np.ascontiguousarray(x)
    if x.dtype.char in "gG":  # their padding holds anything
        return [repr(v) for v in x.ravel()]
    if x.dtype.kind == "c":
        return bits(x.real), bits(x.imag)
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return x.tobytes()


def outcome(function, *args, **kwargs):
    """What a call returns or raises, as a picture."""
    try:
        return "returned", freeze(function(*args, **kwargs))
    except Exception as error:
        return "raised", freeze(error)


def assert_same(scenario, **settings):
    """`scenario(wrap)` has to give the same list for a jitting `wrap` and for one that does nothing."""
    expected = [freeze(v) for v in scenario(lambda f: f)]
    assert expected, "a scenario says what it saw"
    for wrap in (pyasc.jit, functools.partial(pyasc.jit, tier=0, **settings),
                 functools.partial(pyasc.jit, tier=1, **settings)):
        got = [freeze(v) for v in scenario(wrap)]
        for number, (e, g) in enumerate(zip(expected, got)):
            assert g == e, f"observation {number}: {g} instead of {e}"
        assert len(got) == len(expected)


def scenarios(namespace):
    """The functions `scenario_…` of a module, for pytest.mark.parametrize."""
    found = {n[9:]: f for n, f in namespace.items() if n.startswith("scenario_")}
    return list(found.values()), list(found)


def agrees(jitted, *args, plain=None, calls=3, **kwargs):
    """`jitted` gives what `plain` gives, on several calls."""
    plain = plain or jitted.__wrapped__
    for turn in range(calls):
        values = [a + turn if isinstance(a, np.ndarray) and a.dtype != bool else a for a in args]
        expected = freeze(plain(*copy.deepcopy(values), **kwargs))
        assert freeze(jitted(*copy.deepcopy(values), **kwargs)) == expected
    return True


def python(code, **env):
    """Output of a child process."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYASC_") or k == "PYASC_CACHE_DIR"}
    environment["PYTHONPATH"] = os.pathsep.join(
        [os.path.dirname(os.path.dirname(pyasc.__file__)), os.path.dirname(__file__)])
    done = subprocess.run([sys.executable, "-W", "error", "-c", textwrap.dedent(code)],
                          env={**environment, **env}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.strip()


def arrays():
    """Values of one signature: the third and fifth take other branches than the others."""
    up, down = np.arange(1.0, 5.0), -np.arange(1.0, 5.0)
    return [up, up * 2, down, up * 3, down * 2, up]


def seen(function, *rest, log=None):
    """Outcomes of calls with all arrays(); the log after each."""
    out = []
    for x in arrays():
        out.append(outcome(function, x.copy(), *rest))
        if log is not None:
            out.append(list(log))
    return out


def unseen(function):
    """A function whose source is not rewritten: pyasc calls it as it is."""
    @functools.wraps(function)
    def inner(*args, **kwargs):
        match 0:
            case 0:
                return function(*args, **kwargs)
    del inner.__wrapped__
    return inner
