"""Arguments that a function only reads, whatever container they are: what it gets in their place may be a copy."""

import ast
import builtins
import types

from ._nodes import walk
from ._source import definition_of, NotRewritten

#: Builtins that read a container, and keep nothing of it but what it holds.
READING = {"len", "sum", "min", "max", "any", "all", "list", "tuple", "dict", "sorted", "enumerate", "zip", "reversed",
           "isinstance"}

#: Methods that do the same.
METHODS = {"get", "keys", "values", "items", "copy", "index", "count"}

DEPTH_MAX = 8  # functions that give an argument to one another


def read_only(function):
    """Positions, in the order of a call, of the arguments of a function that are read in place, or given to functions
    that do no more than that: a tuple of ints. The source is not known: none."""
    bound = isinstance(function, types.MethodType)
    plain = function.__func__ if bound else function
    if not isinstance(plain, types.FunctionType):
        return ()
    code = plain.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return tuple(i - bound for i, name in enumerate(names) if i >= bound and _only_reads(plain, name, DEPTH_MAX))


def _only_reads(function, name, depth):
    try:
        tree, _ = definition_of(function)
    except (NotRewritten, SyntaxError, OSError, ValueError, RecursionError):
        return False
    allowed = {id(part) for node in walk(tree) for part in _read_by(node, function, name, depth)}
    return all(id(node) in allowed for node in walk(tree) if _names(node, name))


def _names(node, name):
    """True of a use of the name, of any kind; of an argument of a function in the function that has it, too."""
    if isinstance(node, ast.Name):
        return node.id == name
    return isinstance(node, (ast.Global, ast.Nonlocal)) and name in node.names


def _read_by(node, function, name, depth):
    """Parts of a node that it only reads, if they are the container."""
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
        return [node.value]
    if isinstance(node, (ast.For, ast.comprehension)):
        return [node.iter]
    if isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Load):
        return [node.value]
    if isinstance(node, ast.Assign) and all(isinstance(t, (ast.Tuple, ast.List)) for t in node.targets):
        return [node.value]
    if isinstance(node, ast.Compare) and all(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
        return node.comparators
    return _read_by_call(node, function, name, depth) if isinstance(node, ast.Call) else []


def _read_by_call(call, function, name, depth):
    parts = [keyword.value for keyword in call.keywords if keyword.arg is None]
    if isinstance(call.func, ast.Attribute) and call.func.attr in METHODS:
        parts.append(call.func.value)
    given = [(i, a) for i, a in enumerate(call.args) if isinstance(a, ast.Name) and a.id == name]
    given += [(k.arg, k.value) for k in call.keywords if k.arg and isinstance(k.value, ast.Name) and k.value.id == name]
    called = _called(call.func, function) if given else None
    if called is None or any(isinstance(a, ast.Starred) for a in call.args):
        return parts
    if not isinstance(called, types.FunctionType) or (called.__module__ or "").split(".")[0] == "numpy":
        return parts + [a for _, a in given]
    code = called.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    for place, argument in given:
        known = names[place] if isinstance(place, int) and place < code.co_argcount else place
        if depth and known in names and _only_reads(called, known, depth - 1):
            parts.append(argument)
    return parts


def _called(target, function):
    """What a call calls, if it is known to read alone: a builtin, a function of NumPy's or one of the user's; or None."""
    if isinstance(target, ast.Name):
        local = function.__code__.co_varnames + function.__code__.co_cellvars
        if target.id in local:
            return None
        value = _itself(_outer(function, target.id))
        if value is None and target.id in READING:
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
