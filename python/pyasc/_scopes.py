"""Which names a definition binds, reads and shares: what Python's symbol tables know."""

import ast


class Bound(ast.NodeVisitor):
    """Names bound in one function's body (not in the functions inside of it)."""

    def __init__(self):
        self.names, self.outer, self.nonlocals = set(), set(), set()
        self.yields = False

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
    kinds = (ast.Break, ast.Continue, ast.Return, ast.Try, ast.With, ast.Yield, ast.YieldFrom,
             ast.Await, ast.Delete, ast.Global, ast.Nonlocal, getattr(ast, "TryStar", ast.Try))
    return any(isinstance(n, kinds) for part in body for n in ast.walk(part))


def loaded_names(node, but=None):
    """Names loaded in `node`, except inside of `but`."""
    found = set()

    def walk(at):
        if at is but:
            return
        if isinstance(at, ast.Name) and isinstance(at.ctx, ast.Load):
            found.add(at.id)
        elif isinstance(at, ast.AugAssign) and isinstance(at.target, ast.Name):
            found.add(at.target.id)
        for child in ast.iter_child_nodes(at):
            walk(child)

    walk(node)
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
