"""Assignments and deletions in rewritten source: places are stored to by hooks, in the order that Python has."""

import ast

from ._masked import masked, masked_assignment, unless
from ._nodes import DELETE, STORE, constant, name_node, placed
from ._source import NotRewritten


class Stores:
    """The part of the rewriter that is about statements which store."""

    def store(self, target, value, at):
        """Statements that store `value` (already rewritten) to a target."""
        if isinstance(target, ast.Name):
            if target.id in self.outer[-1]:
                free = target.id in self.root_free or any(target.id in s for s in self.scopes)
                value = self.hook("outer", value, at=at) if free else self.hook(
                    "outer_global", value, constant(target.id), at=at)
            return [placed(ast.Assign(targets=[target], value=value), at)]
        if isinstance(target, ast.Attribute):
            call = self.hook("store_attribute", self.visit(target.value),
                         constant(self._mangled(target.attr)), value, at=target)
            return [placed(ast.Expr(call), at)]
        if isinstance(target, ast.Subscript):
            call = self.hook("store_item", self._owner(target.value), self.key(target.slice), value,
                         at=target)
            return [placed(ast.Expr(call), at)]
        # A tuple or list: unpacked into names, places are stored to in order.
        stores, elements, names = [], [], []
        for element in target.elts:
            starred = isinstance(element, ast.Starred)
            inner = element.value if starred else element
            if isinstance(inner, ast.Name) and inner.id not in self.outer[-1]:
                elements.append(element)
                continue
            name = self.temporary()
            names.append(name)
            place = placed(name_node(name, STORE), inner)
            if starred:
                place = placed(ast.Starred(value=place, ctx=STORE), element)
            elements.append(place)
            stores += self.store(inner, name_node(name), at)
        unpacked = placed(ast.Tuple(elts=elements, ctx=STORE), target)
        assign = ast.Assign(targets=[unpacked], value=self.hook("iterate", value, at=at))
        out = [placed(assign, at)] + stores
        if names:
            out.append(placed(
                ast.Delete(targets=[name_node(n, DELETE) for n in names]), at))
        return out

    def visit_Assign(self, node):
        target, simple = node.targets[0], len(node.targets) == 1
        if simple and (out := masked_assignment(self, node)) is not None:
            return out
        value = self.visit(node.value)
        if simple:
            return self.evaluated(target, value, node)
        name = self.temporary()
        out = [placed(ast.Assign(targets=[name_node(name, STORE)], value=value), node)]
        for target in node.targets:
            out += self.store(target, name_node(name), node)
        out.append(placed(ast.Delete(targets=[name_node(name, DELETE)]), node))
        return out

    def evaluated(self, target, value, node):
        """One target: the value comes before the target's own expressions."""
        if isinstance(target, (ast.Attribute, ast.Subscript)) and not isinstance(
            value, (ast.Name, ast.Constant)
        ):
            name = self.temporary()
            assign = ast.Assign(targets=[name_node(name, STORE)], value=value)
            return [placed(assign, node), *self.store(target, name_node(name), node),
                    placed(ast.Delete(targets=[name_node(name, DELETE)]), node)]
        return self.store(target, value, node)

    def visit_AnnAssign(self, node):
        if node.value is None:
            return node
        return self.evaluated(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node):
        names = [self.temporary() for _ in range(3)]
        test = masked(self, node, *names[:2]) if isinstance(node.target, ast.Subscript) else None
        target, value = node.target, self.visit(node.value)
        if isinstance(target, ast.Name):
            if target.id not in self.outer[-1]:
                value = self._added(target.id, value, node)
                # An array that came here unseen, as a default value, is seen before it is written.
                seen = self.hook("augmented", self.hook("value", name_node(target.id), at=target), at=target)
                new = ast.AugAssign(target=target, op=node.op, value=value)
                return [*self.store(placed(name_node(target.id, STORE), target), seen,
                                     node), placed(new, node)]
            name = self.temporary()
            load = self.visit(placed(name_node(target.id), target))
            out = self._augmented(name, load, node, value)
            return out + self.store(target, name_node(name), node) + self.deleted([name], node)
        owner, key, item = names
        out = [self.set(owner, self.visit(target.value), node)]
        if isinstance(target, ast.Attribute):
            out.append(self.set(key, constant(self._mangled(target.attr)), node))
            load, store = "attribute", "store_attribute"
        else:
            out.append(self.set(key, self.key(target.slice), node))
            load, store = "item", "store_item"
        loaded = self.hook(load, name_node(owner), name_node(key), at=target)
        change = self._augmented(item, loaded, node, value)
        call = self.hook(store, name_node(owner), name_node(key), name_node(item), at=target)
        change.append(placed(ast.Expr(call), node))
        if test is not None:
            change = unless(test, change + self.deleted([names.pop()], node), node)
        return out + change + self.deleted(names, node)

    def set(self, name, value, at):
        return placed(ast.Assign(targets=[name_node(name, STORE)], value=value), at)

    def _added(self, name, value, at):
        return value if isinstance(value, ast.Constant) else self.hook("added", name_node(name), value, at=at)

    def _augmented(self, name, load, node, value):
        change = ast.AugAssign(target=name_node(name, STORE), op=node.op, value=self._added(name, value, node))
        load = self._operand(load)
        return [self.set(name, load, node), placed(change, node)]

    def deleted(self, names, at):
        return [placed(ast.Delete(targets=[name_node(n, DELETE) for n in names]), at)]

    def visit_Delete(self, node):
        out = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                call = self.hook("delete_attribute", self.visit(target.value),
                             constant(self._mangled(target.attr)), at=target)
                out.append(placed(ast.Expr(call), node))
            elif isinstance(target, ast.Subscript):
                call = self.hook("delete_item", self.visit(target.value), self.key(target.slice),
                             at=target)
                out.append(placed(ast.Expr(call), node))
            elif isinstance(target, ast.Name) and target.id not in self.outer[-1]:
                out.append(placed(ast.Delete(targets=[target]), node))
            else:
                raise NotRewritten
        return out
