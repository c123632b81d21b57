"""Parts of syntax trees: names, constants and calls of hooks."""

import ast

from . import _pyasc

PREFIX = "_pyasc_"
HOOKS = {PREFIX + name: hook for name, hook in _pyasc.hooks.items()}
HOOKS[PREFIX + "slice"] = slice
HOOKS[PREFIX + "NameError"] = NameError
HOOKS[PREFIX + "UNBOUND"] = _pyasc.UNBOUND


#: Nodes that hold no others and no names.
LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


def name_node(identifier, ctx=None):
    return ast.Name(id=identifier, ctx=ctx or ast.Load())


def hook_call(hook, *args, at):
    call = ast.Call(func=name_node(PREFIX + hook), args=list(args), keywords=[])
    return ast.copy_location(call, at)


def constant(value):
    return ast.Constant(value=value)


def parts_of(node):
    """The nodes in a node, but for operators and contexts."""
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            yield from (part for part in value if isinstance(part, ast.AST))
        elif isinstance(value, ast.AST) and name != "ctx" and name != "op":
            yield value


def walk(node):
    """The node and all nodes in it, but for operators and contexts, in no order."""
    left = [node]
    while left:
        node = left.pop()
        yield node
        left += parts_of(node)


def statements_of(body):
    """The statements, and those in them."""
    left = list(body)
    while left:
        node = left.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, name, ())


def place(node, line=1, column=0):
    """Gives what has no place in the source the place of what it is in."""
    left = [(node, line, column)]
    while left:
        part, line, column = left.pop()
        if "lineno" in part._attributes:
            line = part.lineno = getattr(part, "lineno", line)
            column = part.col_offset = getattr(part, "col_offset", column)
        left += [(inner, line, column) for inner in parts_of(part)]
    return node


def copied_arguments(args):
    strip = lambda a: a and ast.copy_location(ast.arg(arg=a.arg, annotation=a.annotation), a)  # noqa: E731
    return ast.arguments(
        posonlyargs=[strip(a) for a in args.posonlyargs], args=[strip(a) for a in args.args],
        vararg=strip(args.vararg), kwonlyargs=[strip(a) for a in args.kwonlyargs],
        kw_defaults=list(args.kw_defaults), kwarg=strip(args.kwarg),
        defaults=list(args.defaults),
    )


def makes_list(node):
    """True of `[a, b] * n`, `[a] + b` and sums of these: a new list, if it is one."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Add)):
        return makes_list(node.left) or makes_list(node.right)
    return isinstance(node, (ast.List, ast.ListComp))
