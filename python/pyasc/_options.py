"""Options: as decorator arguments, in `with pyasc.options(...)`, and from the environment.

An argument of the decorator wins over `with`, `with` wins over the environment.
"""

import contextvars
import os

#: in the order of TraceNumerics
NUMERICS = ("strict", "numpy", "fast")


def _directory(value):
    """An absolute path; "" stays empty, and switches the disk cache off."""
    path = os.fspath(value)
    if not isinstance(path, str) or "\0" in path:
        raise TypeError
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def _flag(value):
    """True or False; as text 1, 0, true or false."""
    if isinstance(value, str):
        return {"1": True, "true": True, "0": False, "false": False}[value.lower()]
    if not isinstance(value, bool):
        raise TypeError
    return value


#: name -> (environment variable, parser, what is allowed; None: any path, and "" for none)
TABLE = {
    "numerics": ("PYASC_NUMERICS", str, NUMERICS),
    "tier": ("PYASC_TIER", int, (0, 1)),
    "threads": ("PYASC_NUM_THREADS", int, range(1, 1025)),
    "errstate": ("PYASC_ERRSTATE", _flag, (False, True)),
    "device": ("PYASC_DEVICE", str, ("host", "auto")),
    "cache_dir": ("PYASC_CACHE_DIR", _directory, None),
    "log_level": ("PYASC_LOG_LEVEL", int, (0, 1, 2, 3, 4)),
}

_scope = contextvars.ContextVar("pyasc_options", default={})


def _known(allowed):
    if isinstance(allowed, range):
        return f"{allowed[0]} to {allowed[-1]}"
    return ", ".join(map(repr, allowed)) if allowed else "paths, and '' for none"


def check(name, value, source=None):
    """The value of an option in its type; ValueError or TypeError where it is not known. `source`: the
    environment variable that it is from."""
    if name not in TABLE:
        raise TypeError(f"unknown option {name!r}; known are {', '.join(sorted(TABLE))}")
    _, parse, allowed = TABLE[name]
    try:
        parsed = parse(value)
    except (TypeError, ValueError, KeyError, OSError):
        parsed = None
    if isinstance(value, (bool, float)) and parse is not _flag:
        parsed = None  # int() would take them
    if parsed is None or (allowed is not None and parsed not in allowed):
        known = _known(allowed)
        given = f"{source}={value}" if source else f"option {name}={value!r}"
        raise ValueError(f"{given}: known values are {known}")
    return parsed


def resolve(settings):
    """Checked settings of a decorator."""
    return {name: check(name, value) for name, value in settings.items()}


def current(name):
    """The value in force here, or None."""
    scope = _scope.get()
    if name in scope:
        return scope[name]
    variable, _, allowed = TABLE[name]
    text = os.environ.get(variable)
    return None if text is None or (text == "" and allowed) else check(name, text, variable)


def cache_dir(chosen):
    """The directory of kernels on disk with these options of a decorator, as bytes, or None."""
    path = chosen.get("cache_dir", current("cache_dir"))
    if path is None:
        base = os.environ.get("XDG_CACHE_HOME", "")
        if not os.path.isabs(base):  # as its specification says
            base = os.path.expanduser("~/.cache")
        path = os.path.join(base, "pyasc") if os.path.isabs(base) else ""
    return os.fsencode(path) if path else None


def threads(chosen):
    """The number of threads with these options of a decorator: negative, if a `with` around a call may
    choose another; 0: one for each CPU."""
    return chosen.get("threads") or -(current("threads") or 0)


def check_environment():
    """ValueError where a variable of the environment has no known value."""
    for name in TABLE:
        current(name)


class options:
    """`with pyasc.options(numerics="strict"):` sets options for functions decorated inside; and
    `threads` for calls made inside of functions decorated without it, too."""

    def __init__(self, **settings):
        self._settings = resolve(settings)
        self._tokens = []

    def __enter__(self):
        self._tokens.append(_scope.set({**_scope.get(), **self._settings}))
        return self

    def __exit__(self, *exc):
        _scope.reset(self._tokens.pop())
