"""Which names a definition binds, reads and shares: what Python's symbol tables know."""

import ast

from ._nodes import LEAVES, parts_of, statements_of, walk


class Bound(ast.NodeVisitor):
    """Names bound in one function's body (not in the functions inside of it)."""

    def __init__(self):
        self.names, self.outer, self.nonlocals = set(), set(), set()
        self.yields = False

    def visit(self, node):
        return None if isinstance(node, LEAVES) else super().visit(node)

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load):
            self.names.add(node.id)

    def visit_FunctionDef(self, node):
        self.names.add(node.name)
        for part in node.decorator_list + node.args.defaults + node.args.kw_defaults:
            if part is not None:
                self.visit(part)

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        self.names.add(node.name)

    def visit_Lambda(self, node):
        for part in node.args.defaults + node.args.kw_defaults:
            if part is not None:
                self.visit(part)

    def _comprehension(self, node):
        for walrus in ast.walk(node):
            if isinstance(walrus, ast.NamedExpr):
                self.names.add(walrus.target.id)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_Import(self, node):
        for alias in node.names:
            self.names.add(alias.asname or alias.name.split(".")[0])

    visit_ImportFrom = visit_Import

    def visit_ExceptHandler(self, node):
        if node.name:
            self.names.add(node.name)
        self.generic_visit(node)

    def visit_Global(self, node):
        self.outer.update(node.names)

    def visit_Nonlocal(self, node):
        self.nonlocals.update(node.names)

    def visit_Yield(self, node):
        self.yields = True
        self.generic_visit(node)

    visit_YieldFrom = visit_Await = visit_Yield


def names_of_arguments(args):
    every = args.posonlyargs + args.args + args.kwonlyargs
    every += [a for a in (args.vararg, args.kwarg) if a]
    return {a.arg for a in every}


def leaves_early(body):
    """True if a loop's body can be left in the middle, or handles errors."""
    kinds = (ast.Break, ast.Continue, ast.Return, ast.Try, ast.With, ast.Delete, ast.Global, ast.Nonlocal,
             getattr(ast, "TryStar", ast.Try))
    return any(isinstance(n, kinds) for n in statements_of(body))


def loaded_names(node):
    """Names loaded in `node`. Of a statement they are found once, so as it was then."""
    known = getattr(node, "_loaded", None)
    if known is not None:
        return known
    found = set()
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load):
            found.add(node.id)
        return found
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    for part in parts_of(node):
        found |= loaded_names(part)
    if isinstance(node, ast.stmt):
        node._loaded = frozenset(found)
    return found


def live_in(body):
    """Names that may be read in a turn before it binds them."""
    bound = set()
    for statement in body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            inner = set(live_in(statement.body)) - {statement.target.id}
            after = set().union(*map(loaded_names, statement.orelse))
            yield from (loaded_names(statement.iter) | inner | after) - bound
            continue
        yield from loaded_names(statement) - bound
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = getattr(statement, "targets", None) or [statement.target]
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        bound.add(part.id)


def holds_place(target):
    """True if a target stores to an attribute or an item."""
    return any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in ast.walk(target)
               if isinstance(getattr(n, "ctx", None), ast.Store))


class Liveness(ast.NodeVisitor):
    """For each statement of a function's body the names that may be read behind it before they are bound
    again: `behind[id(statement)]`; and those that may be read from it on: `ahead[id(statement)]`. A name that an inner function reads is always live."""

    def __init__(self, body):
        self.behind, self.ahead = {}, {}
        self.always = set()
        self._first = {}  # id of a loop: names that its body may read first
        for part in body:
            for node in walk(part):
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp,
                                     ast.SetComp, ast.DictComp, ast.GeneratorExp)):
                    self.always |= loaded_names(node)
        self._block(body, set(), set(), set())

    def _block(self, body, live, ends, skips):
        """Names live before the statements, where `live` are behind them; `ends`, `skips`: where
        `break` and `continue` lead to."""
        for statement in reversed(body):
            self.behind[id(statement)] = live
            live = self._statement(statement, live, ends, skips)
            self.ahead[id(statement)] = live
        return live

    def _statement(self, node, live, ends, skips):
        if isinstance(node, ast.Break):
            return ends
        if isinstance(node, ast.Continue):
            return skips
        if isinstance(node, (ast.Return, ast.Raise)):
            return loaded_names(node)
        if isinstance(node, ast.If):
            return (self._block(node.body, live, ends, skips) | self._block(node.orelse, live, ends, skips)
                    | loaded_names(node.test))
        if isinstance(node, (ast.For, ast.While)):
            return self._loop(node, live, ends, skips)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            bound = {n.id for t in targets for n in _names_of_target(t)}
            return (live - bound) | loaded_names(node)
        if isinstance(node, ast.Delete):
            return live | {n.id for t in node.targets for n in ast.walk(t) if isinstance(n, ast.Name)}
        if isinstance(node, (ast.Expr, ast.AugAssign, ast.Pass)):
            return live | loaded_names(node)
        # With, try and the like: whatever is read in them may be, and nothing is bound for sure.
        for part in ast.walk(node):
            if isinstance(part, (ast.For, ast.While)):
                self.behind[id(part)] = live | loaded_names(node) | ends | skips
        return live | loaded_names(node) | ends | skips

    def _loop(self, node, live, ends, skips):
        after = self._block(node.orelse, live, ends, skips)
        head = loaded_names(node.iter if isinstance(node, ast.For) else node.test)
        target = {n.id for n in _names_of_target(node.target)} if isinstance(node, ast.For) else set()
        # Names live at the head are those behind it, and those that the body reads first or leaves to what is behind.
        if id(node) not in self._first:
            self._first[id(node)] = self._block(node.body, set(), set(), set())
        first = self._first[id(node)]
        if any(isinstance(n, ast.Break) for n in statements_of(node.body)):
            first = first | live  # `break` leads past the `else`, which may bind them
        again = (first - target) | after | (head if isinstance(node, ast.While) else set())
        self._block(node.body, again, live, again)
        self.behind[id(node)] = live | after
        places = loaded_names(node.target) if isinstance(node, ast.For) else set()
        return again | head | places


def _names_of_target(target):
    if isinstance(target, ast.Name):
        return [target]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [n for e in target.elts for n in _names_of_target(e)]
    if isinstance(target, ast.Starred):
        return _names_of_target(target.value)
    return []
