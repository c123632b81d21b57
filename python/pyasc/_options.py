"""Options: as decorator arguments, in `with pyasc.options(...)`, and from the environment.

An argument of the decorator wins over `with`, `with` wins over the environment.
"""

import contextvars
import os

#: in the order of TraceNumerics
NUMERICS = ("strict", "numpy", "fast")

#: name -> (environment variable, parser, what is allowed)
TABLE = {
    "numerics": ("PYASC_NUMERICS", str, NUMERICS),
    "tier": ("PYASC_TIER", int, (0, 1)),
    "device": ("PYASC_DEVICE", str, ("host", "auto")),
    "log_level": ("PYASC_LOG_LEVEL", int, (0, 1, 2, 3, 4)),
}

_scope = contextvars.ContextVar("pyasc_options", default={})


def check(name, value):
    """The value of an option in its type; ValueError or TypeError where it is not known."""
    if name not in TABLE:
        raise TypeError(f"unknown option {name!r}; known are {', '.join(sorted(TABLE))}")
    _, parse, allowed = TABLE[name]
    try:
        parsed = parse(value)
    except (TypeError, ValueError):
        parsed = None
    if isinstance(value, (bool, float)):
        parsed = None  # int() would take them
    if parsed is None or (allowed is not None and parsed not in allowed) or (
        allowed is None and parsed < 1
    ):
        known = ", ".join(map(repr, allowed)) if allowed else "a number from 1"
        raise ValueError(f"option {name}={value!r}: known values are {known}")
    return parsed


def resolve(settings):
    """Checked settings of a decorator."""
    return {name: check(name, value) for name, value in settings.items()}


def current(name):
    """The value in force here, or None."""
    scope = _scope.get()
    if name in scope:
        return scope[name]
    text = os.environ.get(TABLE[name][0])
    return None if text in (None, "") else check(name, text)


def check_environment():
    """ValueError where a variable of the environment has no known value."""
    for name in TABLE:
        current(name)


class options:
    """`with pyasc.options(numerics="strict"):` sets options for functions decorated inside."""

    def __init__(self, **settings):
        self._settings = resolve(settings)
        self._tokens = []

    def __enter__(self):
        self._tokens.append(_scope.set({**_scope.get(), **self._settings}))
        return self

    def __exit__(self, *exc):
        _scope.reset(self._tokens.pop())
