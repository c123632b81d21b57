"""Runs of statements that may become one nest: a loop and what is done with its numbers behind it, and
whole functions of numbers."""

import ast

from ._nodes import walk

#: Functions of numbers. What of these is called with an array makes no nest.
FUNCTIONS = {"abs", "min", "max", "int", "float", "bool", "len", "round"}
METHODS = {"sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "asin", "acos", "atan", "atan2",
           "sinh", "cosh", "tanh", "pow", "power", "hypot", "floor", "ceil", "trunc", "fabs", "abs", "absolute",
           "copysign", "isnan", "isinf", "isfinite", "minimum", "maximum", "sign", "float64", "float32", "int64",
           "int32"}

LOOPS = (ast.For, ast.While)


def _is_of_numbers(node, calls=False):
    """True if nothing in the statement has to do with arrays as a whole, as far as one can see. `calls`: those
    of other functions have not either."""
    unread = {id(part) for raised in walk(node) if isinstance(raised, ast.Raise) for part in walk(raised)}
    for part in walk(node):
        if id(part) in unread:
            continue  # the plain function raises it
        if isinstance(part, ast.Call):
            name = part.func
            known = (isinstance(name, ast.Name) and (calls or name.id in FUNCTIONS)) or (
                isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) and name.attr in METHODS)
            if not known or part.keywords:
                return False
        elif isinstance(part, (ast.Slice, ast.MatMult, ast.Lambda, ast.FunctionDef, ast.ClassDef, ast.List)):
            return False
    return isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.If, ast.Return, ast.Pass, ast.Raise, ast.Assert))


def _operations(body):
    kinds = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.AugAssign)
    return sum(isinstance(part, kinds) for statement in body for part in walk(statement))


def numbers_of(body):
    """True if the body of a function may be one of numbers alone, and is worth to be compiled as a whole."""
    if len(body) > 1 and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]  # its docstring
    inner = [s for s in body if not isinstance(s, LOOPS)]
    return (_operations(body) > 1 and isinstance(body[-1], ast.Return)
            and all(_is_of_numbers(s, True) for s in inner)
            and not any(isinstance(p, (ast.Subscript, ast.Slice)) for s in body for p in walk(s)))


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
