"""Runs of statements that may become one nest: a loop and what is done with its numbers behind it, and
whole functions of numbers."""

import ast

from ._nodes import of_kind, walk

#: Functions of numbers. What of these is called with an array makes no nest.
FUNCTIONS = {"abs", "min", "max", "int", "float", "bool", "len", "round"}
METHODS = {"sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
           "sinh", "cosh", "tanh", "pow", "power", "hypot", "floor", "ceil", "trunc", "fabs", "abs", "absolute",
           "copysign", "isnan", "isinf", "isfinite", "minimum", "maximum", "sign", "float64", "float32", "int64",
           "int32"}

#: What says that a statement is not of numbers alone.
OTHER = (ast.Slice, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.List)

LOOPS = (ast.For, ast.While)


def _is_of_numbers(node, calls=False):
    """True if nothing in the statement has to do with arrays as a whole, as far as one can see. `calls`: those
    of other functions have not either."""
    unread = set(map(id, walk(of_kind(node, ast.Raise))))
    for part in of_kind(node, (ast.Call, *OTHER)):
        if id(part) in unread:
            continue  # the plain function raises it
        if isinstance(part, ast.Call):
            name = part.func
            known = (isinstance(name, ast.Name) and (calls or name.id in FUNCTIONS)) or (
                isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.attr in METHODS)
            if not known or part.keywords:
                return False
        else:
            return False
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Return, ast.Pass, ast.Raise, ast.Assert))


def _operations(body):
    kinds = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.AugAssign)
    return len(of_kind(body, kinds))


def numbers_of(body):
    """True if the body of a function may be one of numbers alone, and is worth to be compiled as a whole."""
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # its docstring
    inner = [s for s in body if not isinstance(s, LOOPS)]
    return (_operations(body) > 1 and isinstance(body[-1], ast.Return)
            and all(_is_of_numbers(s, True) for s in inner)
            and not of_kind(body, (ast.Subscript, ast.Slice)))


def runs_of(body):
    """The body in parts: lists of statements. Those of several begin with a loop."""
    parts = []
    for statement in body:
        loop = isinstance(statement, LOOPS)
        begun = parts and isinstance(parts[-1][0], LOOPS)
        if begun and (loop or _is_of_numbers(statement)):
            parts[-1].append(statement)
        else:
            parts.append([statement])
    return parts
