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


_syntax = _pyasc.syntax  # trace/syntax.c, which says what these do
_syntax["setup"](FIELDS, ast.AST, ast.stmt, ast.Name, ast.Call, ast.Constant, ast.AugAssign, LOAD, PREFIX)
parts_of, walk, of_kind, names_in, statements_of, loaded_names, stored_names, placed, copied, name_node, constant, hook_call, visited = (
    _syntax[name] for name in ("parts_of", "walk", "of_kind", "names_in", "statements_of", "loaded_names", "stored_names",
                               "placed", "copied", "name_node", "constant", "hook_call", "visited"))


def copied_arguments(args):
    strip = lambda a: a and placed(ast.arg(a.arg, a.annotation), a)  # noqa: E731
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
