"""Parts of syntax trees: names, constants and calls of hooks."""

import ast

from . import _pyasc

PREFIX = "_pyasc_"
HOOKS = {PREFIX + name: hook for name, hook in _pyasc.hooks.items()}
HOOKS[PREFIX + "slice"] = slice
HOOKS[PREFIX + "list"] = list
HOOKS[PREFIX + "locals"] = locals
HOOKS[PREFIX + "begin"] = iter
HOOKS[PREFIX + "NameError"] = NameError
HOOKS[PREFIX + "UNBOUND"] = _pyasc.UNBOUND


LOAD, STORE, DELETE = ast.Load(), ast.Store(), ast.Del()

#: Nodes that hold no others and no names.
LEAVES = (ast.Constant, ast.expr_context, ast.operator, ast.unaryop, ast.cmpop, ast.boolop)


#: Class of nodes -> its fields that hold nodes, but for operators and contexts; if it has a place.
FIELDS = {
    kind: (() if issubclass(kind, LEAVES) else
           tuple(n for n in kind._fields if n not in ("ctx", "op", "ops", "id", "attr", "kind", "type_comment")),
           "lineno" in kind._attributes)
    for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}


def parts_of(node):
    """The nodes in a node, but for operators and contexts."""
    parts = []
    for name in FIELDS[type(node)][0]:
        value = getattr(node, name, None)
        if type(value) is list:
            parts += [part for part in value if isinstance(part, ast.AST)]
        elif isinstance(value, ast.AST):
            parts.append(value)
    return parts


def walk(node):
    """The node and all nodes in it, but for operators and contexts, in no order."""
    found = [node]
    for node in found:
        found += parts_of(node)
    return found


def statements_of(body):
    """The statements, and those in them."""
    left = list(body)
    while left:
        node = left.pop()
        yield node
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, name, ())


def placed(node, at):
    """The node with the place of `at`, which parts of it that have none get, too. What is in a part with a place has
    one."""
    line, column, end, end_column = at.lineno, at.col_offset, at.end_lineno, at.end_col_offset
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = line, column, end, end_column
    left = parts_of(node)
    for part in left:
        if FIELDS[type(part)][1]:
            if "lineno" in part.__dict__:
                continue
            part.lineno, part.col_offset, part.end_lineno, part.end_col_offset = line, column, end, end_column
        left += parts_of(part)
    return node


def copied(node):
    """The node and all in it once more."""
    kind = type(node)
    new = kind()
    own = new.__dict__
    own.update(node.__dict__)
    own.pop("_bound", None)  # what is known of it is of the node itself
    own.pop("_loaded", None)
    for name in FIELDS[kind][0]:
        value = own.get(name)
        if type(value) is list:
            own[name] = [copied(part) if isinstance(part, ast.AST) else part for part in value]
        elif isinstance(value, ast.AST):
            own[name] = copied(value)
    return new


def name_node(identifier, ctx=LOAD):
    return ast.Name(identifier, ctx)


def constant(value):
    return ast.Constant(value)


def hook_call(hook, *args, at):
    name = ast.Name(PREFIX + hook, LOAD)
    call = ast.Call(name, list(args), [])
    line, column, end, end_column = at.lineno, at.col_offset, at.end_lineno, at.end_col_offset
    for node in (name, call):
        node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = line, column, end, end_column
    for part in args:
        if "lineno" not in part.__dict__:
            placed(part, at)
    return call


def copied_arguments(args):
    strip = lambda a: a and placed(ast.arg(arg=a.arg, annotation=a.annotation), a)  # noqa: E731
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
