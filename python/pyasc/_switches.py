"""Loops that go on without hooks where a trace has ended in the middle of them.

The loop is there twice, and the hooked one is left at the beginning of the turn that finds no trace any more:

    state = None
    for x in it:                             # hooked
        if over(state):
            state = bare(locals(), names)    # their real values; False: they are of a kind that needs the hooks
            if state.__class__ is list: break
        body
    else: ...
    if state.__class__ is list:
        names = state
        for target in rest(x, it): ...       # as it is written, from that turn on
"""

import ast

from ._nodes import LOAD, STORE, constant, name_node, names_in, placed
from ._scopes import Bound

#: What a loop that may be left has none of: names in these are not the loop's alone.
DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.Global, ast.Nonlocal)


class Switch:
    """A loop that may be left: `written` is what runs then."""

    def __init__(self, rewriter, written, sure):
        self.rewriter, self.state, self.written, self.sure = rewriter, rewriter.temporary(), written, sure
        found = names_in(written) | Bound([written]).names
        self.names = sorted(found & rewriter.scopes[-1])

    def ahead(self, at):
        """Statements before the loop."""
        return [placed(ast.Assign(targets=[name_node(self.state, STORE)], value=constant(None)), at)]

    def first(self, at):
        """Statements that begin a turn."""
        hook = self.rewriter.hook
        values = hook("bare", hook("locals", at=at), constant(tuple(self.names)), at=at)
        leave = [ast.Assign(targets=[name_node(self.state, STORE)], value=values),
                 ast.If(test=is_list(self.rewriter, self.state), body=[ast.Break()], orelse=[])]
        return [placed(ast.If(test=hook("over", name_node(self.state), at=at), body=leave, orelse=[]), at)]

    def behind(self, at, turns):
        """Statements behind the loop; `turns`: the ones that are left."""
        body = restored(self.rewriter, self.names, self.sure, self.state) + turns
        return [placed(ast.If(test=is_list(self.rewriter, self.state), body=body, orelse=[]), at)]

    def for_rest(self, item, items, at):
        """The written loop over an item and what is left of an iterator."""
        rest = self.rewriter.hook("rest", name_node(item), name_node(items), at=at)
        loop = self.written
        return [placed(ast.For(target=loop.target, iter=rest, body=loop.body, orelse=loop.orelse, type_comment=None), at)]

    def while_rest(self, rewriter, at):
        """The written loop, whose condition has been seen to hold."""
        once, loop = rewriter.temporary(), self.written
        test = ast.BoolOp(op=ast.Or(), values=[name_node(once), loop.test])
        set_once = lambda value: placed(ast.Assign(targets=[name_node(once, STORE)], value=constant(value)), at)  # noqa: E731
        return [set_once(True), placed(ast.While(test=test, body=[set_once(False)] + loop.body, orelse=loop.orelse), at)]


def is_list(rewriter, name):
    kind = ast.Attribute(name_node(name), "__class__", LOAD)
    return ast.Compare(left=kind, ops=[ast.Is()], comparators=[rewriter.outside("list")])


def restored(rewriter, names, sure, state):
    """Statements that give names the values in a list, None being no name; those that are not `sure` may be unbound."""
    out = []
    for k, name in enumerate(names):
        if name is None:
            continue
        value = ast.Subscript(name_node(state), constant(k), LOAD)
        store = ast.Assign(targets=[name_node(name, STORE)], value=value)
        if name not in sure:
            test = ast.Compare(left=value, ops=[ast.IsNot()], comparators=[rewriter.outside("UNBOUND")])
            store = ast.If(test=test, body=[store], orelse=[])
        out.append(store)
    return out + [ast.Assign(targets=[name_node(state, STORE)], value=constant(None))]
