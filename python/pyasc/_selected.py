"""What an expression selects by its values, as a statement of its own ahead of the one that it is in.

    y = x[x > 0].mean()          # how many elements there are says the mask

        a = x > 0
        b = x[a]
        y = b.mean()

A trace holds for one number of elements; what is on both sides of such a statement does not depend on it.
"""

import ast
import re

import numpy as np

from ._nodes import LOAD, STORE, constant, name_node, parts_of, placed, walk

#: Of a module: what they return has as many elements as their arguments' values say. `where` with one argument, too.
SELECTING = {"nonzero", "flatnonzero", "argwhere", "unique", "compress", "extract", "union1d", "intersect1d", "setdiff1d"}

MASKS = {"isnan", "isfinite", "isinf", "isin", "isclose", "logical_and", "logical_or", "logical_not", "logical_xor",
         "greater", "less", "equal", "not_equal", "greater_equal", "less_equal", "signbit"}

#: Methods and builtins that change nothing: they may be called in another order.
PURE = {"sum", "mean", "std", "var", "max", "min", "any", "all", "argmax", "argmin", "astype", "copy", "reshape", "ravel",
        "flatten", "dot", "cumsum", "cumprod", "prod", "round", "clip", "conj", "transpose", "item", "tolist", "nonzero",
        "len", "abs", "float", "int", "range", "sorted", "zip", "enumerate", "bool", "complex"}

MODULES = {"np", "numpy", "math"}

#: Of these, functions that write an argument.
WRITING = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}

TEMPORARY = re.compile(r"_pyasc(\d+)_")

#: What is evaluated now and then, or more than once.
CONDITIONAL = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr,
               ast.NamedExpr)


class Selections:
    """Names of masks in a function, and the statements that are made ahead of others."""

    def __init__(self, body):
        self.temporaries = {n.id for s in body for n in walk(s) if isinstance(n, ast.Name) and TEMPORARY.fullmatch(n.id)}
        self.count = max((int(TEMPORARY.fullmatch(n)[1]) for n in self.temporaries), default=0)
        self.masks = set()
        for node in (part for statement in body for part in walk(statement)):
            if isinstance(node, ast.Assign) and self._is_mask(node.value):
                self.masks |= {t.id for t in node.targets if isinstance(t, ast.Name)}

    def _is_mask(self, node):
        if isinstance(node, ast.Compare):
            return not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        if isinstance(node, ast.UnaryOp):
            return isinstance(node.op, ast.Invert)
        if isinstance(node, ast.BinOp):
            return isinstance(node.op, (ast.BitAnd, ast.BitOr, ast.BitXor)) and (
                self._is_mask(node.left) or self._is_mask(node.right))
        if isinstance(node, ast.Name):
            return node.id in self.masks
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in MASKS

    def selects(self, node):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            keys = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
            return any(map(self._is_mask, keys))
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            return False
        alone = node.func.attr == "where" and len(node.args) == 1 and not node.keywords
        return alone or node.func.attr in SELECTING

    def any_in(self, node):
        return any(map(self.selects, walk(node)))

    def ahead(self, statement):
        """Statements that do what `statement` does, its selections being statements of their own."""
        field = {ast.Assign: "value", ast.AugAssign: "value", ast.AnnAssign: "value", ast.Expr: "value", ast.Return: "value",
                 ast.If: "test"}.get(type(statement))
        value = getattr(statement, field, None) if field else None
        if value is None or not self.any_in(value) or not _is_pure(value) or _stores_by_mask(statement):
            return [statement]
        before = []
        setattr(statement, field, self._lifted(value, before, isinstance(statement, ast.Assign)))
        return [placed(new, statement) for new in before] + [statement]

    def _lifted(self, node, before, whole=False):
        """The expression with names in place of what it selects; `whole`: it may stay, as it is all of the statement."""
        if isinstance(node, CONDITIONAL):
            return node
        for name, value in ast.iter_fields(node):
            if isinstance(value, list):
                setattr(node, name, [self._lifted(part, before) if isinstance(part, ast.expr) else part for part in value])
            elif isinstance(value, ast.expr):
                setattr(node, name, self._lifted(value, before))
        for keyword in getattr(node, "keywords", ()):
            keyword.value = self._lifted(keyword.value, before)
        if not self.selects(node):
            return node
        if isinstance(node, ast.Subscript):
            node.slice = self._named_key(node.slice, before)
            node.value = self._named(node.value, before)
        else:
            node.args = [self._named(a, before) for a in node.args]
        return node if whole else self._named(node, before)

    def _named_key(self, key, before):
        if isinstance(key, ast.Tuple):
            key.elts = [self._named_key(e, before) for e in key.elts]
            return key
        return key if isinstance(key, ast.Slice) else self._named(key, before)

    def _named(self, node, before):
        if isinstance(node, (ast.Name, ast.Constant, ast.Starred)):
            return node
        self.count += 1
        name = f"_pyasc{self.count}_"
        self.temporaries.add(name)
        if self._is_mask(node):
            self.masks.add(name)
        before.append(ast.Assign(targets=[name_node(name, STORE)], value=node))
        return placed(name_node(name, LOAD), node)

    def forgotten(self, statements):
        """Statements behind these, after which the temporaries that they read hold nothing."""
        read = {n.id for s in statements for n in walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        return [placed(ast.Assign(targets=[name_node(n, STORE)], value=constant(None)), statements[-1])
                for n in sorted(read & self.temporaries)]


def _is_pure(node):
    """True if parts of the expression may be computed in another order."""
    for part in walk(node):
        if isinstance(part, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)):
            return False
        if isinstance(part, ast.Call) and not _is_pure_call(part):
            return False
    return True


def _is_pure_call(call):
    name = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
    if any(keyword.arg in ("out", None) for keyword in call.keywords) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    owner = call.func.value if isinstance(call.func, ast.Attribute) else None
    if not isinstance(owner, ast.Name) or owner.id not in MODULES:
        return name in PURE
    known = getattr(np, name, None)
    if isinstance(known, np.ufunc):
        return len(call.args) <= known.nin  # one more is written
    return name not in WRITING and (len(call.args) <= 2 or name in ("where", "clip", "full", "linspace", "arange"))


def _stores_by_mask(statement):
    """x[m] = x[m] * 2: there is nothing to select."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    keys = {ast.dump(t.slice) for t in targets if isinstance(t, ast.Subscript)}
    return bool(keys) and any(isinstance(p, ast.Subscript) and ast.dump(p.slice) in keys for p in walk(statement.value))


def is_selection(statement, selections):
    """True of a statement that selects, and does nothing else."""
    return isinstance(statement, ast.Assign) and selections.selects(statement.value) and not any(
        selections.selects(part) for inner in parts_of(statement.value) for part in walk(inner))
