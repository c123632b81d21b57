"""A function's source with hooks in place of the operations a trace has to see.

Loads of globals and outer names, attributes, items, calls, iteration, conditions and stores go
through the hooks of trace/hooks.c, which do what Python does for ordinary values. Line numbers,
file, names, defaults and cells stay the function's own. The source is trusted only if it
compiles to a code object equal to the function's.
"""

import gc
import os
import types

from . import _kept
from ._nodes import HOOKS
from ._nests import keep_inner
from ._rewriter import Rewriter, SHOWING
from ._source import FUTURE, around, definition_of, inner_code, module_around, NoSource, NotRewritten
from ._unfolded import unfolded

#: id -> code object made here: functions with such code need no rewriting. Kept for good.
made = {}

_twins = {}  # (id of code, numbers) -> rewritten code, or the reason why there is none; the code; cells of its nests' hooks
_HOOK_CELLS = {name: types.CellType(hook) for name, hook in HOOKS.items()}


def rewrite(function, numbers=True, directory=None):
    """The function with hooks, or None where it has to run plain. `numbers`: the arguments may all be numbers; else
    what only a call of numbers needs may be left out. `directory`: where twins are kept between processes, or None."""
    if isinstance(function, types.MethodType):
        twin = rewrite(function.__func__, numbers, directory)
        return twin and types.MethodType(twin, function.__self__)
    if not isinstance(function, types.FunctionType) or _is_foreign(function):
        return None
    code = function.__code__
    known = _twins.get((id(code), True)) or _twins.get((id(code), numbers))
    if known is None:
        complete, cells = True, {}
        collects = gc.isenabled()
        gc.disable()  # some thousand nodes, none of them garbage till the end
        try:
            twin_code, complete, cells = _twin_code(function, numbers, directory)
        except NotRewritten as left:
            twin_code = left.reason
        except (SyntaxError, OSError, ValueError, RecursionError):
            twin_code = NoSource.reason
        finally:
            if collects:
                gc.enable()
        known = _twins[id(code), complete] = twin_code, code, cells  # the code is kept, so that its id stays its own
    twin_code, _, nests = known
    if isinstance(twin_code, str):
        return None
    cells = {**dict(zip(code.co_freevars, function.__closure__ or ())), **nests}
    closure = tuple(_HOOK_CELLS.get(n) or cells[n] for n in twin_code.co_freevars)
    twin = types.FunctionType(
        twin_code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    return twin


def reason(function):
    """The name of the reason why `rewrite` gave None."""
    function = getattr(function, "__func__", function)
    twin_code = _twins.get((id(getattr(function, "__code__", None)), True), (NotRewritten.reason,))[0]
    return twin_code if isinstance(twin_code, str) else NotRewritten.reason


_stdlib = os.path.dirname(os.__file__)


def _is_foreign(function):
    """Code of libraries is called, not traced."""
    module = function.__module__ or ""
    if module.split(".")[0] in ("numpy", "scipy", "pyasc"):
        return True
    name = function.__code__.co_filename
    return name.startswith("<frozen") or (
        name.startswith(_stdlib) and "site-packages" not in name and "dist-packages" not in name
    )


def _twin_code(function, numbers, directory=None):
    """The code, whether it is as good for calls of numbers, and cells of the hooks of its nests: what these know is no
    part of the code, which Python would go through to find equal constants."""
    code = function.__code__
    if code.co_flags & 0x2A0 or SHOWING & set(code.co_names):
        raise NotRewritten
    key = _kept.key(function, numbers) if directory else None
    kept = key and _kept.read(directory, key, function)
    if kept:
        _register(kept[0], None)
        return kept
    tree, classes = definition_of(function)
    tree = unfolded(tree)
    rewriter = Rewriter(code, classes, numbers)
    node = rewriter.definition(tree)
    outer = around(function, tree)
    factory = module_around(node, (*code.co_freevars, *rewriter.used), classes, outer=outer)
    compiled = compile(
        factory, code.co_filename, "exec",
        flags=code.co_flags & FUTURE, dont_inherit=True,
    )
    twin = inner_code(compiled, code.co_name, outer)
    _register(twin, rewriter)
    if key:
        _kept.write(directory, key, twin, rewriter.nests, rewriter.complete)
    return twin, rewriter.complete, _kept.cells(rewriter.nests)


def _register(code, rewriter):
    made[id(code)] = code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            _register(const, rewriter)
            node = rewriter and rewriter.inner.get((const.co_name, const.co_firstlineno))
            if node is not None:
                keep_inner(const, node, rewriter.stores)


