"""Options: names, values, where they come from, what they do."""
import os
import sys
import numpy as np
import pytest

import pyasc
from same import agrees, freeze, python

X = np.arange(6.0)

# -- J9: options ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("settings, message", [
    ({"nothing": 1}, "unknown option 'nothing'; known are .*numerics.*tier"),
    ({"numerics": "sloppy"}, "numerics='sloppy': known values are 'strict', 'numpy', 'fast'"),
    ({"tier": 7}, "tier=7: known values are 0, 1"),
    ({"device": "tpu"}, "device='tpu': known values are 'host'"),
    ({"cache_dir": 3}, "cache_dir=3: known values are paths"),
    ({"log_level": 9}, "log_level=9: known values are 0, 1, 2, 3, 4"),
    ({"log_level": True}, "log_level=True: known values are 0, 1, 2, 3, 4"),
    ({"tier": 1.5}, "tier=1.5: known values are 0, 1"),
])
def test_unknown_options(settings, message):
    for make in (lambda: pyasc.jit(lambda x: x, **settings), lambda: pyasc.options(**settings),
                 lambda: pyasc.jit(**settings)(lambda x: x)):
        with pytest.raises((TypeError, ValueError), match=message):
            make()


def test_options_of_each_kind():
    allowed = [{name: value} for name, (_, _, values) in pyasc._options.TABLE.items() for value in values or [""]
               if name != "device" or value in ("host", "auto")]
    assert {"numerics": "strict"} in allowed and {"tier": 1} in allowed
    for settings in allowed:
        assert agrees(pyasc.jit(lambda x: x / 3 * 2, **settings), X)
        with pyasc.options(**settings):
            assert agrees(pyasc.jit(lambda x: x / 3 * 2), X)


def test_tier_of_scope_argument_and_environment():
    def compiled(function):
        function(np.ones(1000))
        function.wait()
        return [g["compiled"] for e in function._facts()["entries"] for p in e["plans"] for g in p["groups"]]

    with pyasc.options(tier=0):
        assert compiled(pyasc.jit(lambda x: x * 2 + 1)) == [False]
        assert compiled(pyasc.jit(lambda x: x * 2 + 1, tier=1)) == [True]
        with pyasc.options(tier=1):
            assert compiled(pyasc.jit(lambda x: x * 3 + 1)) == [True]
        assert compiled(pyasc.jit(lambda x: x * 3 + 2)) == [False]
    code = """
        import numpy as np, pyasc
        f = pyasc.jit(eval("lambda x: x"))
        print(pyasc._options.current("tier"), pyasc._options.current("numerics"))
        """
    assert python(code, PYASC_TIER="0", PYASC_NUMERICS="strict") == "0 strict"
    assert python(code) == "None None"


@pytest.mark.parametrize("name, value, known", [
    ("PYASC_TIER", "9", "0, 1"), ("PYASC_NUMERICS", "odd", "'strict', 'numpy', 'fast'"),
])
def test_unknown_values_in_the_environment(name, value, known):
    out = python("""
        import pyasc
        try:
            pyasc.jit(lambda x: x)(1.0)
        except ValueError as error:
            print(error)
        """, **{name: value})
    assert f"{name}={value}: known values are" in out and known in out


def test_import_is_quiet_and_light():
    out = python("import sys, pyasc; print('ast' in sys.modules, len(pyasc.__all__) > 0)")
    assert out.endswith("True")


# -- log_level ---------------------------------------------------------------------------


def branches(x):
    if x[0] > 0:
        return x * 2
    return x


def asks(x):
    sys._getframe()
    return x


def shows(x):
    return len(locals()), x


@pytest.mark.parametrize("level, count", [(0, 0), (1, 0), (2, 0), (3, 2), (4, 3)])
def test_log_level_plans(caplog, level, count):
    jitted = pyasc.jit(branches, log_level=level)
    for x in (np.ones(3), np.ones(3), -np.ones(3), -np.ones(3)):
        assert freeze(jitted(x)) == freeze(branches(x))
    records = [r for r in caplog.records if r.name == "pyasc"]
    assert len(records) == count
    assert all("branches" in r.getMessage() and __file__ in r.getMessage() for r in records)


@pytest.mark.parametrize("function, words", [(asks, "_getframe"), (shows, "locals()")])
def test_log_level_plain(caplog, function, words):
    for level, count in ((1, 0), (2, 1)):
        caplog.clear()
        with pyasc.options(log_level=level):
            jitted = pyasc.jit(function)
        for _ in range(3):
            jitted(np.ones(2))
        assert [r.levelname for r in caplog.records] == count * ["WARNING"]
        assert all(words in r.getMessage() for r in caplog.records)


def test_reason_without_source():
    jitted = pyasc.jit(eval("lambda x: [x + 1]"))
    jitted(np.ones(2))
    assert jitted.report()["reasons"] == ["the source of the function could not be found"]
