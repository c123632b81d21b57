"""Stores to `x[mask]`: what may be computed for all elements and kept where the mask is true."""

import ast

from ._nests import OPERATORS
from ._nodes import LOAD, constant, copied, name_node, placed

#: Cheap enough to be computed where the mask is false, too.
CHEAP = (ast.Add, ast.Sub, ast.Mult, ast.Div)


def _is_pure(node):
    """True of an expression of names and numbers that may be computed twice."""
    if isinstance(node, ast.Compare):
        return all(map(_is_pure, [node.left, *node.comparators]))
    if isinstance(node, ast.BinOp):
        return _is_pure(node.left) and _is_pure(node.right)
    if isinstance(node, ast.UnaryOp):
        return _is_pure(node.operand)
    return isinstance(node, (ast.Name, ast.Constant))


def _may_be_mask(key):
    inverted = isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.Invert)
    joined = isinstance(key, ast.BinOp) and isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor))
    return isinstance(key, (ast.Compare, ast.Name)) or inverted or joined


class _Expander(ast.NodeVisitor):
    """The expression without its `[mask]`."""

    def __init__(self, key):
        self.key, self.arrays, self.numbers, self.functions, self.failed = (
            ast.dump(key), set(), set(), [], False)

    def expand(self, node):
        if isinstance(node, ast.Subscript):
            self.failed |= not isinstance(node.value, ast.Name) or ast.dump(node.slice) != self.key
            if not self.failed:
                self.arrays.add(node.value.id)
            return placed(node.value, node)
        if isinstance(node, ast.Name):
            self.numbers.add(node.id)
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            return placed(ast.UnaryOp(op=node.op, operand=self.expand(node.operand)), node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
            self.failed |= not isinstance(node.func.value, ast.Name)
            self.functions += [copied(node.func), constant(len(node.args))]
            return placed(ast.Call(func=node.func, args=[self.expand(a) for a in node.args], keywords=[]), node)
        square = (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)
                  and isinstance(node.right, ast.Constant) and type(node.right.value) is int and node.right.value == 2)
        if square or isinstance(node, ast.BinOp) and isinstance(node.op, CHEAP):
            return placed(
                ast.BinOp(left=self.expand(node.left), op=node.op, right=self.expand(node.right)), node)
        self.failed |= not isinstance(node, ast.Constant)
        return node


def _names(identifiers, at):
    return placed(ast.Tuple(elts=[name_node(i) for i in sorted(identifiers)], ctx=LOAD), at)


def masked(rewriter, node, owner, key):
    """A test that has done the assignment `x[mask] = value` or `x[mask] op= value` where it is true, or None.

    `owner` and `key` are names that hold x and the mask.
    """
    target, augments = node.target if isinstance(node, ast.AugAssign) else node.targets[0], isinstance(node, ast.AugAssign)
    signed = isinstance(node.value, ast.UnaryOp) and isinstance(node.value.op, (ast.USub, ast.UAdd))
    number = isinstance(node.value.operand if signed else node.value, (ast.Constant, ast.Name))
    if augments and type(node.op) not in OPERATORS or not _may_be_mask(target.slice) or number and not augments:
        return None
    expander = _Expander(target.slice)
    value = expander.expand(copied(node.value))
    if not number and (expander.failed or not expander.arrays or not _is_pure(target.slice)):
        return None
    tests = []
    if not number:
        arrays, numbers = rewriter.visit(_names(expander.arrays, node)), rewriter.visit(_names(expander.numbers, node))
        functions = rewriter.visit(placed(ast.Tuple(elts=expander.functions, ctx=LOAD), node))
        tests.append(rewriter.hook("masked", name_node(key), arrays, numbers, functions, at=node))
    operator = [constant(OPERATORS[type(node.op)])] if augments else []
    tests.append(rewriter.hook("augment_masked" if augments else "store_masked", name_node(owner), name_node(key), *operator,
                           rewriter.visit(value), constant(not number), at=node))
    return tests[0] if len(tests) == 1 else ast.BoolOp(op=ast.And(), values=tests)


def unless(test, body, at):
    """The statements of `body` where the test does not hold."""
    condition = ast.UnaryOp(op=ast.Not(), operand=test)
    return [placed(ast.If(test=condition, body=body, orelse=[]), at)]


def masked_assignment(rewriter, node):
    """The statements of `x[mask] = value`, where the value may be computed for all elements; else None."""
    target = node.targets[0]
    if not isinstance(target, ast.Subscript) or not isinstance(target.value, ast.Name):
        return None
    names = [rewriter.temporary() for _ in range(2)]
    test = masked(rewriter, node, *names)
    if test is None:
        return None
    places = [rewriter.visit(placed(name_node(target.value.id), target)), rewriter.key(copied(target.slice))]
    out = [rewriter.set(name, place, node) for name, place in zip(names, places)]
    plain = rewriter.evaluated(target, rewriter.visit(node.value), node)
    return out + unless(test, plain, node) + rewriter.deleted(names, node)
