"""Functions that change no list or dict that was there before: neither their arguments' nor one that they reach otherwise."""

import ast
import builtins
import math
import types

import numpy

from ._nodes import of_kind, walk
from ._scopes import Bound, names_of_arguments
from ._source import definition_of, NotRewritten

#: Builtins that change nothing.
BUILTINS = {"abs", "all", "any", "bool", "complex", "dict", "divmod", "enumerate", "float", "int", "isinstance", "len", "list", "max",
            "min", "pow", "print", "range", "reversed", "round", "sorted", "str", "sum", "tuple", "type", "zip", "repr", "set"}
EXCEPTIONS = {name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)}

#: Methods of arrays, numbers, strings, lists, dicts and generators that do not, whatever of these has them.
METHODS = {"get", "keys", "values", "items", "copy", "index", "count", "sum", "mean", "std", "var", "min", "max", "argmin", "argmax",
           "any", "all", "prod", "cumsum", "cumprod", "dot", "astype", "reshape", "ravel", "flatten", "transpose", "round", "clip",
           "tolist", "conj", "conjugate", "nonzero", "repeat", "take", "trace", "diagonal", "searchsorted", "squeeze", "swapaxes",
           "argsort", "normal", "random", "uniform", "standard_normal", "integers", "exponential", "rand", "randn", "randint", "join",
           "startswith", "endswith", "upper", "lower", "strip", "split", "format", "ptp", "fill", "view", "is_integer"}

#: The same where a list has been made by the function.
CHANGING = {"append", "extend", "insert", "pop", "sort", "reverse", "add", "update", "clear"}

#: Functions of NumPy's that change what they are given, or keep it.
WRITING = {"shuffle", "put", "place", "copyto", "putmask", "fill_diagonal", "put_along_axis", "frompyfunc", "vectorize", "nditer",
           "apply_along_axis", "apply_over_axes", "fromfunction", "piecewise", "fromiter", "ndenumerate"}

CALLS_MAX = 8


def is_pure(function, calls=CALLS_MAX):
    """True if that can be told from the source of the function and of those that it calls, and from the globals as they are."""
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType) or calls == 0:
        return False
    try:
        tree, classes = definition_of(function)
    except (NotRewritten, SyntaxError, OSError, ValueError, RecursionError):
        return False
    return not classes and _Reader(function, tree, calls).is_pure()


class _Reader:
    def __init__(self, function, tree, calls):
        self.function, self.tree, self.calls = function, tree, calls
        self.arguments = names_of_arguments(tree.args)
        self.local = set()  # of functions in it, too
        for node in of_kind(tree, (ast.FunctionDef, ast.Lambda)):
            body = node.body if isinstance(node.body, list) else [node.body]
            self.local |= Bound(body).names
            self.arguments |= names_of_arguments(node.args)
        self.local |= {n.id for n in of_kind(tree, ast.Name) if not isinstance(n.ctx, ast.Load)}
        self.local -= self.arguments
        self.inner = {n.name for n in of_kind(tree, ast.FunctionDef) if n is not tree}
        self.inner |= {t.id for n in of_kind(tree, ast.Assign) if isinstance(n.value, ast.Lambda) for t in n.targets
                       if isinstance(t, ast.Name)}

    def is_pure(self):
        return all(self._may_be(node) for node in walk(self.tree))

    def _may_be(self, node):
        if isinstance(node, (ast.Global, ast.Nonlocal, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Delete, ast.With, ast.Match)):
            return False
        if isinstance(node, (ast.Subscript, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
            return _is_of_name(node)  # an array, or a list of the function's own: arguments are looked at apart
        if isinstance(node, ast.Compare):
            return all(not isinstance(op, (ast.Is, ast.IsNot)) or _is_none(c) for op, c in zip(node.ops, node.comparators))
        if isinstance(node, ast.keyword) and node.arg == "dtype" and isinstance(node.value, ast.Constant):
            return not str(node.value.value).lower().startswith("o")
        if isinstance(node, ast.Call):
            return self._may_call(node.func)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id not in self.local | self.arguments | self.inner:
            return self._may_load(node.id)
        return True

    def _may_call(self, target):
        if isinstance(target, ast.Name):
            return target.id in self.inner or target.id not in self.local | self.arguments
        if not isinstance(target, ast.Attribute):
            return False
        base = target.value
        while isinstance(base, ast.Attribute):
            base = base.value
        if isinstance(base, ast.Name) and base.id not in self.local | self.arguments and isinstance(self._value(base.id), types.ModuleType):
            return target.attr not in WRITING
        own = isinstance(base, ast.Name) and base is target.value and base.id in self.local
        return target.attr in METHODS or (own and target.attr in CHANGING)

    def _value(self, name):
        code = self.function.__code__
        if name in code.co_freevars:
            try:
                return self.function.__closure__[code.co_freevars.index(name)].cell_contents
            except (ValueError, TypeError):
                return None
        return self.function.__globals__.get(name, getattr(builtins, name, None))

    def _may_load(self, name):
        value = self._value(name)
        value = value.__wrapped__ if type(value).__module__ == "pyasc" and hasattr(value, "__wrapped__") else value
        if isinstance(value, types.ModuleType):
            return value in (numpy, math) or value.__name__.split(".")[0] == "numpy"
        if isinstance(value, types.FunctionType):
            return (value.__module__ or "").split(".")[0] == "numpy" or is_pure(value, self.calls - 1)
        if name in BUILTINS | EXCEPTIONS:
            return value is getattr(builtins, name)
        if isinstance(value, numpy.ndarray):
            return not value.dtype.hasobject
        return isinstance(value, (int, float, complex, str, type(None), numpy.generic, numpy.ufunc))


def _is_of_name(node):
    while isinstance(node, ast.Subscript):
        node = node.value
    return isinstance(node, ast.Name)


def _is_none(node):
    return isinstance(node, ast.Constant) and node.value is None
