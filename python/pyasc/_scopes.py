"""Which names a definition binds, reads and shares: what Python's symbol tables know."""

import ast

from ._lists import lists_of
from ._nodes import loaded_names, names_in, of_kind, parts_of, statements_of, stored_names


class Bound:
    """Names that statements, or an expression, bind in their function (not in the functions inside of it)."""

    def __init__(self, nodes):
        self.names, self.outer, self.nonlocals = set(), set(), set()
        self.yields = False
        for node in nodes:
            self._add(_bound_by(node) if isinstance(node, ast.stmt) else self._find([node]))

    def _add(self, other):
        if other is not self:
            self.names |= other.names
            self.outer |= other.outer
            self.nonlocals |= other.nonlocals
            self.yields |= other.yields

    def _find(self, left):
        """The nodes' own names; the list is used up."""
        for node in stored_names(left, self.names, _BINDING):
            if type(node) in _BINDING:
                self._find(_BINDING[type(node)](self, node))
            else:
                self._add(_bound_by(node))
        return self

    # What binds names in its own way gives the parts that are left.

    def _function(self, node):
        self.names.add(node.name)
        return node.decorator_list + self._lambda(node)

    def _lambda(self, node):
        return [part for part in node.args.defaults + node.args.kw_defaults if part is not None]

    def _class(self, node):
        self.names.add(node.name)
        return []

    def _comprehension(self, node):
        self.names |= {walrus.target.id for walrus in of_kind(node, ast.NamedExpr)}
        return []

    def _import(self, node):
        self.names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
        return []

    def _handler(self, node):
        if node.name:
            self.names.add(node.name)
        return parts_of(node)

    def _global(self, node):
        self.outer.update(node.names)
        return []

    def _nonlocal(self, node):
        self.nonlocals.update(node.names)
        return []

    def _yield(self, node):
        self.yields = True
        return parts_of(node)


_BINDING = {
    ast.FunctionDef: Bound._function, ast.AsyncFunctionDef: Bound._function, ast.Lambda: Bound._lambda,
    ast.ClassDef: Bound._class, ast.ListComp: Bound._comprehension, ast.SetComp: Bound._comprehension,
    ast.DictComp: Bound._comprehension, ast.GeneratorExp: Bound._comprehension, ast.Import: Bound._import,
    ast.ImportFrom: Bound._import, ast.ExceptHandler: Bound._handler, ast.Global: Bound._global,
    ast.Nonlocal: Bound._nonlocal, ast.Yield: Bound._yield, ast.YieldFrom: Bound._yield, ast.Await: Bound._yield,
}


def _bound_by(statement):
    """What a statement binds. It is found once, so as the statement was then."""
    bound = statement.__dict__.get("_bound")
    if bound is None:
        bound = statement._bound = Bound(())
        bound._find(_BINDING[type(statement)](bound, statement) if type(statement) in _BINDING else parts_of(statement))
    return bound


def bound_surely(statement):
    """Names that an assignment binds wherever it succeeds."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    if isinstance(statement, ast.AnnAssign) and statement.value is None:
        return set()
    return {n.id for target in targets for n in _names_of_target(target)}


def unbound_in(body):
    """Names that a statement may unbind."""
    names = set()
    for node in statements_of(body):
        if isinstance(node, ast.Delete):
            names |= names_in(node.targets)
        elif isinstance(node, ast.ExceptHandler):
            names.add(node.name)
    return names


def names_of_arguments(args):
    every = args.posonlyargs + args.args + args.kwonlyargs
    every += [a for a in (args.vararg, args.kwarg) if a]
    return {a.arg for a in every}


def leaves_early(body):
    """True if a loop's body can be left in the middle, or handles errors."""
    kinds = (ast.Break, ast.Continue, ast.Return, ast.Try, ast.With, ast.Delete, ast.Global, ast.Nonlocal,
             getattr(ast, "TryStar", ast.Try))
    return any(isinstance(n, kinds) for n in statements_of(body))


def free_names(node):
    """Names that a function, a class or a generator reads from around it, and maybe some of its own."""
    own = set()
    if isinstance(node, (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef)):
        own = names_of_arguments(node.args)
        own |= Bound(node.body).names if isinstance(node.body, list) else set()
        own -= Bound(node.body).nonlocals if isinstance(node.body, list) else set()
    inside = Bound([node] if isinstance(node, ast.GeneratorExp) else parts_of(node))
    return (loaded_names(node) - own) | inside.nonlocals


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
                for part in of_kind(target, ast.Name):
                    if isinstance(part.ctx, ast.Store):
                        bound.add(part.id)


def holds_place(target):
    """True if a target stores to an attribute or an item."""
    return any(isinstance(n.ctx, ast.Store) for n in of_kind(target, (ast.Attribute, ast.Subscript)))


#: What has names of its own, and reads those of what it is in.
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp,
         ast.GeneratorExp)


class Liveness:
    """For each statement of a function's body the names that may be read behind it before they are bound
    again: `behind[id(statement)]`; and those that may be read from it on: `ahead[id(statement)]`. A name that an inner function reads is always live."""

    def __init__(self, body):
        self.behind, self.ahead = {}, {}
        self.always = set()
        self.lists = lists_of(body)
        self.grown = set()  # what grown_lists gave
        self._first = {}  # id of a loop: names that its body may read first
        for node in of_kind(body, INNER):
            self.always |= free_names(node)
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
            return live | names_in(node.targets)
        if isinstance(node, (ast.Expr, ast.AugAssign, ast.Pass)):
            return live | loaded_names(node)
        if isinstance(node, ast.With):
            every = live | loaded_names(node) | ends | skips
            self._block(node.body, every, every, every)
            return every
        # Try and the like: whatever is read in them may be, and nothing is bound for sure.
        for part in of_kind(node, (ast.For, ast.While)):
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


def last_stores(node):
    """Names bound in a function and in those in it -> the line where that is done last."""
    found = {}
    kinds = (ast.Name, ast.FunctionDef, ast.ClassDef, ast.ExceptHandler, ast.Import, ast.ImportFrom)
    for part in of_kind(node, kinds):
        names = ()
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names = (part.id,)
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)) or (isinstance(part, ast.ExceptHandler) and part.name):
            names = (part.name,)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names = tuple(alias.asname or alias.name.split(".")[0] for alias in part.names)
        for name in names:
            found[name] = max(part.lineno, found.get(name, 0))
    return found
