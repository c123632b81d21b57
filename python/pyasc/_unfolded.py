"""List comprehensions as loops that fill a list, which may be compiled as a whole:

    y = np.array([f(v) for v in x])      →      each = []
                                                for v in x:
                                                    each.append(f(v))
                                                y = np.array(each)

Only where nothing but names, their attributes and constants is evaluated ahead of the comprehension in its statement, so that
all is done in the order in which it is written; not in loops, where such a list is made in each turn; and not of names that may
be unbound there, which is another error in a comprehension.
"""

import ast

from ._nodes import LOAD, STORE, copied, name_node, names_in, of_kind, placed
from ._scopes import Bound, bound_surely, names_of_arguments, unbound_in

#: What a loop cannot say, or says in another way.
OTHER = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom,
         ast.Starred)


def unfolded(tree):
    """The function's tree, changed in place."""
    if isinstance(tree, ast.FunctionDef) and of_kind(tree, ast.ListComp):
        unfolder = _Unfolder(tree)
        unfolder.block(tree, "body", names_of_arguments(tree.args) - unfolder.lost, False)
    return tree


class _Unfolder:
    def __init__(self, tree):
        self.taken, self.count = names_in(tree), 0
        self.lost = unbound_in(tree.body)
        bound = Bound(tree.body)
        self.local = bound.names | names_of_arguments(tree.args)
        # Names that others see: while the list is filled they would see it.
        self.shared = bound.outer | bound.nonlocals
        for node in of_kind(tree, (ast.FunctionDef, ast.Lambda, ast.ClassDef, ast.GeneratorExp)):
            if node is not tree:
                self.shared |= names_in(node)

    def fresh(self):
        while True:
            name = f"each{self.count}"
            self.count += 1
            if name not in self.taken:
                return name

    def block(self, owner, field, sure, caught):
        """`sure`: names that have values ahead of it; `caught`: exceptions may be."""
        out, sure = [], set(sure)
        for node in getattr(owner, field):
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)) and node.value is not None:
                out += self._statement(node, sure, caught)
            else:
                out.append(node)
            if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
                sure |= bound_surely(node) - self.lost
            elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                sure |= {node.name} - self.lost
            if isinstance(node, (ast.If, ast.With, ast.Try)):
                inner = caught or isinstance(node, (ast.Try, ast.With))
                for name in ("body", "orelse", "finalbody"):
                    if getattr(node, name, None):
                        self.block(node, name, sure, inner)
                for handler in getattr(node, "handlers", ()):
                    self.block(handler, "body", sure, inner)
        setattr(owner, field, out)

    def _is_sure(self, node, sure):
        own = names_in([part.target for part in node.generators])
        return not (names_in(node) - own) & self.local - sure

    def _statement(self, node, sure, caught):
        own = isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        held = node.value
        if own and not caught and _is_loop(held) and self._is_sure(held, sure):
            name = node.targets[0].id
            if name not in names_in(held) | self.shared:
                return self._filled(name, held)
        found, out = [], []
        _evaluated(node, "value", found)
        if not all(self._is_sure(getattr(o, f) if at is None else getattr(o, f)[at], sure) for o, f, at in found):
            return [node]
        for owner, field, at in found:
            held = getattr(owner, field)
            comprehension = held if at is None else held[at]
            name = self.fresh()
            out += self._filled(name, comprehension)
            new = placed(name_node(name), comprehension)
            if at is None:
                setattr(owner, field, new)
            else:
                held[at] = new
        return out + [node]

    def _filled(self, name, node):
        """Statements that fill a list of that name."""
        names = {n.id: self.fresh() for part in node.generators for n in of_kind(part.target, ast.Name)}
        first = node.generators[0].iter  # which knows none of them
        append = ast.Call(func=ast.Attribute(name_node(name), "append", LOAD), args=[_renamed(node.elt, names)], keywords=[])
        body = ast.Expr(append)
        for part in reversed(node.generators):
            for test in reversed(part.ifs):
                body = ast.If(test=_renamed(test, names), body=[body], orelse=[])
            over = copied(first) if part.iter is first else _renamed(part.iter, names)
            body = ast.For(target=_renamed(part.target, names), iter=over, body=[body], orelse=[], type_comment=None)
        empty = ast.Assign(targets=[name_node(name, STORE)], value=ast.List(elts=[], ctx=LOAD))
        return [placed(empty, node), placed(body, node)]


def _renamed(node, names):
    new = copied(node)
    for part in of_kind(new, ast.Name):
        part.id = names.get(part.id, part.id)
    return new


def _is_target(node):
    return isinstance(node, ast.Name) or (isinstance(node, ast.Tuple) and all(map(_is_target, node.elts)))


def _is_loop(node):
    return (isinstance(node, ast.ListComp) and all(_is_target(g.target) and not g.is_async for g in node.generators)
            and not of_kind([*node.generators, node.elt], OTHER))


def _evaluated(owner, field, found):
    """Collects where comprehensions are, in the order of evaluation. False: behind it nothing may be moved ahead."""
    held = getattr(owner, field)
    places = [(held, None)] if not isinstance(held, list) else [(part, at) for at, part in enumerate(held)]
    for node, at in places:
        if _is_loop(node):
            found.append((owner, field, at))
        elif isinstance(node, (ast.Tuple, ast.List)):
            if not _evaluated(node, "elts", found):
                return False
        elif isinstance(node, ast.Call):
            if _is_still(node.func):
                _evaluated(node, "args", found)
            return False
        elif isinstance(node, ast.BinOp):
            _evaluated(node, "left", found) and _evaluated(node, "right", found)
            return False
        elif not _is_still(node):
            return False
    return True


def _is_still(node):
    """True of names, attributes of names, and constants."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, (ast.Name, ast.Constant))
