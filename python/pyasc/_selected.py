"""What an expression selects by its values, as a statement of its own ahead of the one that it is in.

    y = x[x > 0].mean()          # how many elements there are says the mask

        a = x > 0
        b = x[a]
        y = b.mean()

A trace holds for one number of elements; what is on both sides of such a statement does not depend on it.
"""

import ast
import re

from ._nodes import LOAD, STORE, constant, name_node, names_in, of_kind, parts_of, placed, walk

#: Of a module: what they return has as many elements as their arguments' values say. `where` with one argument, too.
SELECTING = {"nonzero", "flatnonzero", "argwhere", "unique", "compress", "extract", "union1d", "intersect1d", "setdiff1d"}

MASKS = {"isnan", "isfinite", "isinf", "isin", "isclose", "logical_and", "logical_or", "logical_not", "logical_xor",
         "greater", "less", "equal", "not_equal", "greater_equal", "less_equal", "signbit"}

TEMPORARY = re.compile(r"_pyasc(\d+)_")

#: What is evaluated now and then, more than once, or not from left to right.
CONDITIONAL = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.JoinedStr,
               ast.Dict)


class Selections:
    """Names of masks in a function, and the statements that are made ahead of others."""

    def __init__(self, body):
        self.temporaries = {n for n in names_in(body) if TEMPORARY.fullmatch(n)}
        self.count = max((int(TEMPORARY.fullmatch(n)[1]) for n in self.temporaries), default=0)
        self.masks = set()
        for node in of_kind(body, ast.Assign):
            if self._is_mask(node.value):
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
        if value is None or not self.any_in(value) or not _is_plain(value) or _stores_by_mask(statement):
            return [statement]
        if isinstance(statement, ast.AugAssign) and not isinstance(statement.target, ast.Name):
            return [statement]  # its target is read first
        before = []
        setattr(statement, field, self._lifted(value, before, isinstance(statement, ast.Assign)))
        return [placed(new, statement) for new in before] + [statement]

    def _lifted(self, node, before, whole=False):
        """The expression with names in place of what it selects, and of all that is computed ahead of that; `before` gets
        their statements. `whole`: it may stay, as it is all of the statement."""
        if isinstance(node, CONDITIONAL) or (isinstance(node, ast.Compare) and len(node.ops) > 1):
            return node
        places = _places(node)
        selects = self.selects(node)
        for k, (holder, key) in enumerate(places):
            start = len(before)
            new = self._lifted(_get(holder, key), before)
            if selects and not isinstance(new, (ast.Slice, ast.Tuple)):
                new = self._named(new, before)
            _set(holder, key, new)
            if len(before) > start:
                ahead = []
                for earlier in places[:k]:
                    if not _is_method(node, *earlier):
                        _set(*earlier, self._named(_get(*earlier), ahead))
                before[start:start] = ahead
        return self._named(node, before) if selects and not whole else node

    def _named(self, node, before):
        if isinstance(node, (ast.Name, ast.Constant, ast.Starred, ast.Slice)):
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
        read = {n.id for n in of_kind(list(statements), ast.Name) if isinstance(n.ctx, ast.Load)}
        return [placed(ast.Assign(targets=[name_node(n, STORE)], value=constant(None)), statements[-1])
                for n in sorted(read & self.temporaries)]


def _places(node):
    """Where the parts of an expression are, in the order in which they are computed."""
    places = []
    for name in node._fields:
        value = getattr(node, name, None)
        if isinstance(value, list):
            places += [(value, k) if isinstance(part, ast.expr) else (part, "value") for k, part in enumerate(value)
                       if isinstance(part, (ast.expr, ast.keyword))]
        elif isinstance(value, ast.expr):
            places.append((node, name))
    return places


def _get(holder, key):
    return holder[key] if isinstance(holder, list) else getattr(holder, key)


def _set(holder, key, value):
    if isinstance(holder, list):
        holder[key] = value
    else:
        setattr(holder, key, value)


def _is_method(call, holder, key):
    """True of `x.sum` in `x.sum(…)`: nothing is computed by it."""
    part = _get(holder, key)
    return holder is call and key == "func" and isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name)


def _is_plain(node):
    return not of_kind(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr, ast.Starred))


def _stores_by_mask(statement):
    """x[m] = x[m] * 2: there is nothing to select."""
    targets = getattr(statement, "targets", None) or [getattr(statement, "target", None)]
    keys = {ast.dump(t.slice) for t in targets if isinstance(t, ast.Subscript)}
    return bool(keys) and any(ast.dump(p.slice) in keys for p in of_kind(statement.value, ast.Subscript))


def is_selection(statement, selections):
    """True of a statement that selects, and does nothing else."""
    return isinstance(statement, ast.Assign) and selections.selects(statement.value) and not any(
        map(selections.selects, walk(parts_of(statement.value))))
