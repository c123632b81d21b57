"""Rewritten functions on disk, beside the kernels (jit/twins.c): a function that an earlier process has rewritten needs no source.

The key is all that a twin follows from: the function's code, but for names of files, its qualified name, Python and the
rewriter itself. The source has no part in it: it counts only if it compiles to that code. What is kept are the twin's code, what the
hooks of its nests are made of, and the descriptions of functions in it that nests may call.
"""

import marshal
import os
import sys
import types

from . import _pyasc
from ._nests import inner_description, keep_description
from ._nodes import HOOKS


def _identity():
    """Python and the rewriter: the sources that the extension was built from, and those that are loaded. None: they are no files."""
    try:
        files = sorted((f.name, s.st_size, s.st_mtime_ns) for f in os.scandir(os.path.dirname(__file__))
                       if f.name.endswith(".py") for s in [f.stat()])
    except OSError:
        return None
    what = _pyasc.TWIN_VERSION, sys.version, sys.implementation.cache_tag, sys.flags.optimize, files
    return _pyasc.digest(repr(what).encode())


_IDENTITY = _identity()  # at once: later there may be others


def _named(code, filename):
    """The code with another name of its file."""
    consts = tuple(_named(c, filename) if isinstance(c, types.CodeType) else c for c in code.co_consts)
    return code.replace(co_filename=filename, co_consts=consts)


def _codes_in(code):
    """All code in it, in one order."""
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield const
            yield from _codes_in(const)


def key(function, numbers):
    """The key of a function's twin, or None where it has none."""
    if _IDENTITY is None:
        return None
    try:
        # Version 0 says nothing of which objects are one, or interned: that may differ from process to process.
        code = marshal.dumps(_named(function.__code__, ""), 0)
        what = marshal.dumps((function.__qualname__, bool(numbers), len(code)), 0)
        return _IDENTITY + what + code
    except ValueError:
        return None


def cells(nests):
    """Cells of the hooks of nests."""
    return {name: types.CellType(_pyasc.nest_hook(nest)) for name, nest in nests.items()}


def read(directory, key, function):
    """The function's twin, whether it is as good for calls of numbers, and cells of the hooks of its nests; None: no process
    has kept it."""
    kept = _pyasc.twin_read(directory, key)
    if kept is None:
        return None
    try:
        code, nests, complete, inner = marshal.loads(kept)
        twin, hooks, described = _named(code, function.__code__.co_filename), cells(nests), dict(inner)
        if not {*hooks, *HOOKS, *function.__code__.co_freevars}.issuperset(twin.co_freevars):
            return None
        for k, code in enumerate(_codes_in(twin)):
            if k in described:
                keep_description(code, described[k])
        return twin, complete, hooks
    except (EOFError, ValueError, TypeError, AttributeError):
        return None  # not what `write` has made


def write(directory, key, twin, nests, complete):
    """Has the twin kept, some time."""
    inner = [(k, *d) for k, code in enumerate(_codes_in(twin)) if (d := inner_description(code))]
    try:
        kept = marshal.dumps((_named(twin, ""), nests, complete, inner))
    except ValueError:
        return  # a constant that is no one's to write
    _pyasc.twin_write(directory, key, kept)
