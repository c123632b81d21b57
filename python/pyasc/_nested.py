"""Loops in rewritten source: those that may become a nest, those that are watched turn by turn."""

import ast

from ._nodes import LOAD, PREFIX, STORE, constant, name_node, placed
from ._switches import is_list, restored


def nested_loop(rewriter, nest, loop, line, sure, plain=None):
    """Statements that try the hook with the values of the loop's names, and run `loop` where it gives
    None. `line`: a node with the loop's place; `sure`: names that are bound there; `plain`: the loop as it is
    written, which runs where the hook gives a list.

        try: v1 = x                      # of each name that may be bound or not
        except NameError: v1 = UNBOUND
        ...
        try: result = nest((v1, ...), (outer, ...))
        except NameError: result = None  # of a name from outside
        if result is None:
            loop
        elif result.__class__ is list:
            x = result[0]                    # of names that are bound
            ...
            plain
        else:
            if result[0]: return result[1]   # of a loop that returns
            x, ... = result
    """
    result = rewriter.temporary()
    names, out = [], []  # of each slot: the name whose value it gets; None of a value that is not read
    for name in nest.inputs:
        if name.startswith(" ") or name in nest.unread:
            names.append(None)
        elif name in sure:
            names.append(name)
        else:
            names.append(rewriter.temporary())
            out.append(_caught(rewriter, rewriter.set(names[-1], name_node(name), line),
                               rewriter.set(names[-1], rewriter.outside("UNBOUND"), line)))
    inputs = ast.Tuple(elts=[name_node(n) if n else rewriter.outside("UNBOUND") for n in names], ctx=LOAD)
    outer = ast.Tuple(elts=[rewriter.visit(placed(name_node(n), line)) for n in nest.outer],
                      ctx=LOAD)
    call = rewriter.hook(rewriter.nest_hook(nest, plain is not None), inputs, outer, at=line)
    out.append(_caught(rewriter, rewriter.set(result, call, line), rewriter.set(result, constant(None), line)))
    used = [name_node(n, STORE) for n in names if n and n.startswith(PREFIX)]
    if used:
        out.append(ast.Assign(targets=used, value=constant(None)))
    other = _behind(nest, result)
    if plain is not None:
        read = [name if value else None for name, value in zip(nest.inputs, names)]
        other = [ast.If(test=is_list(rewriter, result), body=restored(rewriter, read, sure, result) + [plain], orelse=other)]
    test = ast.Compare(left=name_node(result), ops=[ast.Is()], comparators=[constant(None)])
    out.append(ast.If(test=test, body=loop, orelse=other))
    return [placed(part, line) for part in out]


def _caught(rewriter, attempt, otherwise):
    handler = ast.ExceptHandler(type=rewriter.outside("NameError"), name=None, body=[otherwise])
    return ast.Try(body=[attempt], handlers=[handler], orelse=[], finalbody=[])


def _behind(nest, result):
    """What is done with what the hook gave."""
    part = lambda i: ast.Subscript(name_node(result), constant(i), LOAD)  # noqa: E731
    names, out = name_node(result), []
    if nest.returns >= 0:
        out = [ast.If(test=part(0), body=[ast.Return(part(1))], orelse=[])]
        names = part(2)
    if nest.outputs:
        targets = ast.Tuple(elts=[name_node(nest.inputs[s], STORE) for s in nest.outputs], ctx=STORE)
        out.append(ast.Assign(targets=[targets], value=names))
    return out or [ast.Pass()]


def watched_loop(rewriter, node, carried, switch):
    """The loop fed by a hook that sees the end of each turn (see trace/loop.c)."""
    first = switch.first(node) if switch else []
    loop, state = rewriter.temporary(), rewriter.temporary()
    make = rewriter.set(loop, rewriter.hook("loop", rewriter.visit(node.iter), at=node.iter), node)
    names = ast.Tuple(elts=[name_node(n) for n in carried], ctx=LOAD)
    unbound = ast.ExceptHandler(type=rewriter.outside("NameError"), name=None,
                                body=[rewriter.set(state, constant(None), node)])
    end = [
        ast.Try(body=[rewriter.set(state, names, node)], handlers=[unbound], orelse=[],
                finalbody=[]),
        ast.Expr(ast.Call(func=ast.Attribute(value=name_node(loop), attr="turn", ctx=LOAD),
                          args=[name_node(state)], keywords=[])),
    ]
    turns = ast.For(target=node.target, iter=name_node(loop),
                    body=first + rewriter.block(node.body) + end, orelse=[], type_comment=None)
    rolled = lambda: ast.Attribute(value=name_node(loop), attr="rolled", ctx=LOAD)  # noqa: E731
    after = ast.Tuple(elts=[name_node(n, STORE) for n in (*carried, node.target.id)],
                      ctx=STORE)
    finish = ast.If(
        test=ast.Compare(left=rolled(), ops=[ast.IsNot()], comparators=[constant(None)]),
        body=[ast.Assign(targets=[after], value=rolled())], orelse=[])
    drop = ast.Assign(targets=[name_node(loop, STORE), name_node(state, STORE)],
                      value=constant(None))
    out = [make, turns, finish, drop]
    if switch:
        out = switch.ahead(node) + out[:3] + switch.behind(node, switch.for_rest(node.target.id, loop, node)) + [drop]
    return [placed(part, node) for part in out]
