"""Arguments that a function only reads, whatever container they are: what it gets in their place may be a copy."""

import ast
import builtins
import types

from ._nodes import parts_of, walk
from ._pure import is_pure
from ._source import definition_of, NotRewritten

#: Builtins that keep nothing of a container; those that give what is in it.
LOOKING = {len, any, all, isinstance}
GIVING = {min, max, sum, list, tuple, dict, sorted, enumerate, zip, reversed}
READING = LOOKING | GIVING

#: Methods that read a container, and keep nothing of it but what they give.
METHODS = {"get", "keys", "values", "items", "copy", "index", "count"}

CALLS_MAX = 8  # functions that give an argument to one another
DEEP = 32  # as deep as containers may be


def read_only(function):
    """For each argument of a function, in the order of a call, to what depth containers in it are only read: 0, not even
    itself; 1, itself; 2, those in it, too. A tuple of ints; an empty one: the source is not known, or it is not sure that the
    function changes nothing that an argument may be, too."""
    bound = isinstance(function, types.MethodType)
    plain = function.__func__ if bound else function
    if not isinstance(plain, types.FunctionType) or not is_pure(plain):
        return ()
    code = plain.__code__
    names = code.co_varnames[bound : code.co_argcount + code.co_kwonlyargcount]
    return tuple(_depth(plain, name, CALLS_MAX) for name in names)


def _depth(function, name, calls):
    """The same for one argument."""
    try:
        tree, _ = definition_of(function)
    except (NotRewritten, SyntaxError, OSError, ValueError, RecursionError):
        return 0
    nodes = walk(tree)
    around = {id(part): node for node in nodes for part in parts_of(node)}
    depths = [_depth_of_use(node, around, function, name, calls) for node in nodes if _names(node, name)]
    return min(depths, default=DEEP)


def _names(node, name):
    """True of a use of the name, of any kind; of an argument of a function in the function that has it, too."""
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names


def _depth_of_use(node, around, function, name, calls):
    """What comes out of a container may be changed, or be one with another name, unless it is only looked at."""
    depth, outer = 0, around[id(node)]
    while isinstance(outer, ast.Subscript) and outer.value is node:
        if not isinstance(outer.ctx, ast.Load):
            return depth
        if isinstance(outer.slice, ast.Slice):
            return depth + 1  # another list of the same items
        depth, node, outer = depth + 1, outer, around[id(outer)]
    if isinstance(outer, (ast.UnaryOp, ast.Compare)) and depth:
        return DEEP
    if isinstance(outer, ast.BinOp) and depth:
        return depth + 1
    if isinstance(outer, ast.Compare):
        return DEEP if all(isinstance(op, (ast.In, ast.NotIn)) for op in outer.ops) and node is not outer.left else 0
    gives = isinstance(outer, (ast.For, ast.comprehension)) and outer.iter is node
    gives |= isinstance(outer, ast.Starred) and isinstance(outer.ctx, ast.Load)
    gives |= isinstance(outer, ast.keyword) and outer.arg is None
    gives |= isinstance(outer, ast.Assign) and all(isinstance(t, (ast.Tuple, ast.List)) for t in outer.targets)
    gives |= isinstance(outer, ast.Attribute) and outer.attr in METHODS and _is_called(outer, around)
    if gives:
        return depth + 1
    if isinstance(outer, ast.keyword):
        node, outer = outer, around[id(outer)]
    if isinstance(outer, ast.Call) and node is not outer.func:
        return max(depth, depth + _depth_in_call(outer, node, function, calls))
    return depth


def _is_called(node, around):
    outer = around[id(node)]
    return isinstance(outer, ast.Call) and outer.func is node


def _depth_in_call(call, argument, function, calls):
    """To what depth a function that is called with the container only reads it."""
    called = _called(call.func, function)
    if called is None or any(isinstance(a, ast.Starred) for a in call.args):
        return 0
    if called in LOOKING or (called not in GIVING and not isinstance(called, types.FunctionType)):
        return DEEP
    if not isinstance(called, types.FunctionType):
        alone = called not in (min, max) or len(call.args) == 1
        return int(alone and (called in (zip, enumerate) or argument is call.args[0]))
    if (called.__module__ or "").split(".")[0] == "numpy":
        return DEEP
    code = called.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    place = call.args.index(argument) if argument in call.args else None
    known = argument.arg if place is None else names[place] if place < code.co_argcount else None
    return _depth(called, known, calls - 1) if calls and known in names else 0


def _called(target, function):
    """What a call calls, if it is known to read alone: a builtin, a function of NumPy's or one of the user's; or None."""
    if isinstance(target, ast.Name):
        local = function.__code__.co_varnames + function.__code__.co_cellvars
        if target.id in local:
            return None
        value = _itself(_outer(function, target.id))
        if value is None and getattr(builtins, target.id, None) in READING:
            return getattr(builtins, target.id)
        return value if isinstance(value, types.FunctionType) else None
    if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
        module = _outer(function, target.value.id)
        if isinstance(module, types.ModuleType) and module.__name__ == "numpy":
            return getattr(module, target.attr, None)
    return None


def _itself(value):
    """The function in a jitted one."""
    return value.__wrapped__ if type(value).__module__ == "pyasc" and hasattr(value, "__wrapped__") else value


def _outer(function, name):
    """The value of a name of the module or of a function around; None: there is none."""
    code = function.__code__
    if name in code.co_freevars:
        cell = function.__closure__[code.co_freevars.index(name)]
        try:
            return cell.cell_contents
        except ValueError:
            return None
    return function.__globals__.get(name)
