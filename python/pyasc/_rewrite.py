"""A function's source with hooks in place of the operations a trace has to see.

Loads of globals and outer names, attributes, items, calls, iteration, conditions and stores go
through the hooks of trace/hooks.c, which do what Python does for ordinary values. Line numbers,
file, names, defaults and cells stay the function's own. The source is trusted only if it
compiles to a code object equal to the function's.
"""

import __future__

import ast
import builtins
import linecache
import os
import sys
import types

from . import _pyasc

#: id -> code object made here: functions with such code need no rewriting. Kept for good.
made = {}

#: Names whose use shows the machinery: functions that use them run plain.
SHOWING = {"locals", "vars", "dir", "eval", "exec", "globals", "__import__", "breakpoint"}

#: Builtins that use up a generator at once.
EAGER = {"sum", "any", "all", "min", "max", "list", "tuple", "set", "dict", "sorted", "frozenset",
         "join"}

PREFIX = "_pyasc_"
HOOKS = {PREFIX + name: hook for name, hook in _pyasc.hooks.items()}
HOOKS[PREFIX + "slice"] = slice
HOOKS[PREFIX + "NameError"] = NameError

_twins = {}  # id of code -> rewritten code, or the reason why there is none; the code
_HOOK_CELLS = {name: types.CellType(hook) for name, hook in HOOKS.items()}


class NotRewritten(Exception):
    """The source holds something that is left alone."""

    reason = "not_rewritten"


class NoSource(NotRewritten):
    """No source is known, or it is not the function's."""

    reason = "no_source"


# -- From a function to its twin ------------------------------------------------------


def rewrite(function):
    """The function with hooks, or None where it has to run plain."""
    if isinstance(function, types.MethodType):
        twin = rewrite(function.__func__)
        return twin and types.MethodType(twin, function.__self__)
    if not isinstance(function, types.FunctionType) or _is_foreign(function):
        return None
    code = function.__code__
    key = id(code)
    if key not in _twins:
        try:
            twin_code = _twin_code(function)
        except NotRewritten as left:
            twin_code = left.reason
        except (SyntaxError, OSError, ValueError, RecursionError):
            twin_code = NoSource.reason
        _twins[key] = (twin_code, code)  # the code is kept, so that its id stays its own
    twin_code = _twins[key][0]
    if isinstance(twin_code, str):
        return None
    cells = dict(zip(code.co_freevars, function.__closure__ or ()))
    closure = tuple(_HOOK_CELLS.get(n) or cells[n] for n in twin_code.co_freevars)
    twin = types.FunctionType(
        twin_code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    twin.__qualname__ = function.__qualname__
    return twin


def reason(function):
    """The name of the reason why `rewrite` gave None."""
    function = getattr(function, "__func__", function)
    twin_code = _twins.get(id(getattr(function, "__code__", None)), (NotRewritten.reason,))[0]
    return twin_code if isinstance(twin_code, str) else NotRewritten.reason


_stdlib = os.path.dirname(os.__file__)


def _is_foreign(function):
    """Code of libraries is called, not traced."""
    module = function.__module__ or ""
    if module.split(".")[0] in ("numpy", "scipy", "pyasc"):
        return True
    name = function.__code__.co_filename
    return name.startswith("<frozen") or (
        name.startswith(_stdlib) and "site-packages" not in name and "dist-packages" not in name
    )


def _twin_code(function):
    code = function.__code__
    if code.co_flags & 0x2A0 or SHOWING & set(code.co_names):
        raise NotRewritten
    tree, classes = _definition(function)
    rewriter = _Rewriter(code, classes)
    node = rewriter.definition(tree)
    factory = _wrap(node, tuple(code.co_freevars) + tuple(HOOKS), classes)
    compiled = compile(
        ast.fix_missing_locations(factory), code.co_filename, "exec",
        flags=code.co_flags & _future_flags(), dont_inherit=True,
    )
    twin = _inner(compiled, code.co_name)
    _register(twin)
    return twin


def _first(node):
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


def _register(code):
    made[id(code)] = code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            _register(const)


def _future_flags():
    flags = 0
    for name in __future__.all_feature_names:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def _inner(compiled, name):
    """The code of the definition that `_wrap` wrapped: the last one that functions and classes on
    the way to it hold. Those before it are of decorators and defaults."""
    code = compiled
    while code.co_name != name or code is compiled:
        held = [c for c in code.co_consts if isinstance(c, types.CodeType)]
        if not held:
            raise NoSource
        code = held[-1]
    return code


def _wrap(node, names, classes, nested=True):
    """A module whose code holds the definition's, `names` being outer names of it."""
    body = [node if isinstance(node, ast.stmt) else ast.copy_location(ast.Expr(node), node)]
    for name in reversed(classes):
        body = [ast.copy_location(
            ast.ClassDef(name=name, bases=[], keywords=[], body=body, decorator_list=[],
                         type_params=[]), node)]
    if not nested:
        return ast.Module(body=body, type_ignores=[])
    args = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names if n != "__class__"],
        kwonlyargs=[], kw_defaults=[], defaults=[],
    )
    for arg in args.args:
        ast.copy_location(arg, node)
    # What the definition binds is a name of the factory, not of the module, unless it says so.
    bound = classes[0] if classes else getattr(node, "name", None)
    if bound and bound not in names:
        body = [ast.copy_location(ast.Global(names=[bound]), node), *body]
    factory = ast.FunctionDef(name="_pyasc_factory", args=args, body=body, decorator_list=[],
                              type_params=[])
    return ast.Module(body=[ast.copy_location(factory, node)], type_ignores=[])


# -- Finding the source -------------------------------------------------------------------


def _last_line(code):
    last = max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            last = max(last, _last_line(const))
    for _, end, _, _ in code.co_positions():
        last = max(last, end or 0)
    return last


def _definition(function):
    """The function's node, undecorated, and the names of the classes around it."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines or code.co_firstlineno > len(lines):
        raise NoSource
    parts = function.__qualname__.split(".")[:-1]
    classes = []
    for part in reversed(parts):
        if part == "<locals>":
            break
        classes.insert(0, part)
    for node in _candidates(lines, code):
        for names in ((), *([classes] if classes else [])):
            if _compiles_equal(node, function, list(names)):
                return node, list(names)
    raise NoSource


def _parse(lines, first, last):
    text = "".join(lines[first - 1 : last])
    indented = text[:1] in " \t"
    # Empty lines give every node the line it has in the file.
    return ast.parse("\n" * (first - 2) + "if 1:\n" + text if indented else "\n" * (first - 1) + text)


def _candidates(lines, code):
    """Definitions in the source that may be the function's."""
    first, last = code.co_firstlineno, _last_line(code)
    start = first
    for attempt in range(40):
        try:
            tree = _parse(lines, start, min(last + attempt, len(lines)))
            break
        except SyntaxError:
            continue
    else:
        if code.co_name != "<lambda>":
            raise NoSource
        tree = None
    if tree is None or code.co_name == "<lambda>":
        # A lambda may begin in the middle of a statement.
        for start in range(first, max(first - 20, 0), -1):
            for end in range(last, min(last + 20, len(lines)) + 1):
                try:
                    tree = _parse(lines, start, end)
                except SyntaxError:
                    continue
                for node in ast.walk(tree):
                    if isinstance(node, ast.Lambda) and node.lineno <= last:
                        yield node
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _first(node) == first:
            node = _undecorated(node)
            yield node


def _undecorated(node):
    """The definition without decorators and defaults: they are not evaluated again."""
    node.decorator_first = _first(node)
    return node


def _compiles_equal(node, function, classes):
    code = function.__code__
    scope = function.__globals__
    modules = [n for n in code.co_names if isinstance(scope.get(n), types.ModuleType)]
    flags = code.co_flags & _future_flags()
    for guess in (lambda: modules, list, lambda: _imported(function)):
        imports = guess()
        tree = _wrap(node, code.co_freevars, classes, nested=bool(code.co_flags & 0x10))
        for name in imports:
            # Code depends on which global names are imported: methods of these are called otherwise.
            alias = ast.copy_location(ast.alias(name=name), node)
            tree.body.insert(0, ast.copy_location(ast.Import(names=[alias]), node))
        try:
            compiled = compile(tree, code.co_filename, "exec",
                               flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        if _inner(compiled, code.co_name) == code:
            return True
    return False


def _imported(function):
    """Names among the function's globals that its file, or notebook cell, imports."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        left = ast.parse("".join(lines)).body
    except (SyntaxError, ValueError):
        return []
    names = set()
    while left:
        node = left.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.stmt) and not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            left += ast.iter_child_nodes(node)
        elif isinstance(node, (ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))):
            left += node.body
    return [name for name in code.co_names if name in names]


# -- Scopes -----------------------------------------------------------------------------------


class _Bound(ast.NodeVisitor):
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


def _argument_names(args):
    every = args.posonlyargs + args.args + args.kwonlyargs
    every += [a for a in (args.vararg, args.kwarg) if a]
    return {a.arg for a in every}


def _leaves(body):
    """True if a loop's body can be left in the middle, or handles errors."""
    kinds = (ast.Break, ast.Continue, ast.Return, ast.Try, ast.With, ast.Yield, ast.YieldFrom,
             ast.Await, ast.Delete, ast.Global, ast.Nonlocal, getattr(ast, "TryStar", ast.Try))
    return any(isinstance(n, kinds) for part in body for n in ast.walk(part))


def _loads(node, but=None):
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


def _live_in(body):
    """Names that may be read in a turn before it binds them."""
    bound = set()
    for statement in body:
        if isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            inner = set(_live_in(statement.body)) - {statement.target.id}
            after = set().union(*map(_loads, statement.orelse))
            yield from (_loads(statement.iter) | inner | after) - bound
            continue
        yield from _loads(statement) - bound
        if isinstance(statement, (ast.Assign, ast.AnnAssign)):
            targets = getattr(statement, "targets", None) or [statement.target]
            for target in targets:
                for part in ast.walk(target):
                    if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                        bound.add(part.id)


# -- The rewriting ------------------------------------------------------------------------------


def _name(identifier, ctx=None):
    return ast.Name(id=identifier, ctx=ctx or ast.Load())


def _hook(hook, *args, at):
    call = ast.Call(func=_name(PREFIX + hook), args=list(args), keywords=[])
    return ast.copy_location(call, at)


def _text(value):
    return ast.Constant(value=value)


def _holds_place(target):
    """True if a target stores to an attribute or an item."""
    return any(isinstance(n, (ast.Attribute, ast.Subscript)) for n in ast.walk(target)
               if isinstance(getattr(n, "ctx", None), ast.Store))


class _Rewriter(ast.NodeTransformer):
    def __init__(self, code, classes):
        self.root_free = set(code.co_freevars)
        self.cells = code.co_cellvars
        self.scopes = []  # sets of names bound in enclosing functions, innermost last
        self.outer = []   # names of globals (or of cells of the root) that are assigned
        self.classes = list(classes)
        self.temporaries = 0
        self.roots = []   # nodes of the enclosing functions, innermost last
        self.shares_cells = False  # an inner function changes an outer one's names
        self.eager = set()  # ids of arguments of builtins that use up a generator at once

    # A definition: the root's, or one inside of it.

    def definition(self, node):
        self.shares_cells = bool(self.cells) and any(isinstance(n, ast.Nonlocal) for n in ast.walk(node))
        if isinstance(node, ast.Lambda):
            return self._lambda(node, placeholders=True)
        new = self._function(node)
        new.decorator_list = []
        placeholder = lambda: ast.copy_location(_text(None), node)  # noqa: E731
        new.args.defaults = [placeholder() for _ in new.args.defaults]
        new.args.kw_defaults = [d and placeholder() for d in new.args.kw_defaults]
        self._plain_annotations(new)
        return new

    def _plain_annotations(self, node):
        node.returns = None
        args = node.args
        for arg in args.posonlyargs + args.args + args.kwonlyargs + [args.vararg, args.kwarg]:
            if arg is not None:
                arg.annotation = None

    def _open(self, args, body):
        bound = _Bound()
        for part in body:
            bound.visit(part)
        names = (bound.names | _argument_names(args)) - bound.outer - bound.nonlocals
        self.scopes.append(names)
        outside = {n for n in bound.nonlocals if not any(n in s for s in self.scopes[:-1])}
        self.outer.append((bound.outer | outside) & bound.names)
        return bound

    def _close(self):
        self.scopes.pop()
        self.outer.pop()

    def _function(self, node):
        bound = self._open(node.args, node.body)
        if bound.yields:
            self._close()
            raise NotRewritten
        self.roots.append(node)
        body = self._block(node.body)
        self.roots.pop()
        new = ast.FunctionDef(
            name=node.name, args=self._copied_args(node.args), body=body,
            decorator_list=list(node.decorator_list), returns=node.returns, type_comment=None,
            type_params=[],
        )
        self._close()
        return ast.copy_location(new, node)

    def _copied_args(self, args):
        strip = lambda a: a and ast.copy_location(ast.arg(arg=a.arg, annotation=a.annotation), a)  # noqa: E731
        return ast.arguments(
            posonlyargs=[strip(a) for a in args.posonlyargs], args=[strip(a) for a in args.args],
            vararg=strip(args.vararg), kwonlyargs=[strip(a) for a in args.kwonlyargs],
            kw_defaults=list(args.kw_defaults), kwarg=strip(args.kwarg),
            defaults=list(args.defaults),
        )

    def _lambda(self, node, placeholders=False):
        bound = self._open(node.args, [node.body])
        if bound.yields:
            self._close()
            raise NotRewritten
        args = self._copied_args(node.args)
        body = self.visit(node.body)
        self._close()
        if placeholders:
            args.defaults = [_text(None) for _ in args.defaults]
            args.kw_defaults = [d and _text(None) for d in args.kw_defaults]
        else:
            args.defaults = [self.visit(d) for d in args.defaults]
            args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        return ast.copy_location(ast.Lambda(args=args, body=body), node)

    def _block(self, body):
        out = []
        for statement in body:
            new = self.visit(statement)
            if isinstance(new, list):
                out += new
            elif new is not None:
                out.append(new)
        return out

    def visit_FunctionDef(self, node):
        if node.name in self.outer[-1] or node.decorator_list:
            raise NotRewritten  # decorators are called by Python itself
        new = self._function(node)
        new.args.defaults = [self.visit(d) for d in new.args.defaults]
        new.args.kw_defaults = [d and self.visit(d) for d in new.args.kw_defaults]
        mark = ast.Assign(targets=[_name(node.name, ast.Store())],
                          value=_hook("local", _name(node.name), at=node))
        return [new, ast.copy_location(mark, node)]

    def visit_Lambda(self, node):
        return _hook("local", self._lambda(node), at=node)

    def visit_ClassDef(self, node):
        if node.name in self.outer[-1]:
            raise NotRewritten
        if node.decorator_list or node.keywords:
            raise NotRewritten
        node.bases = [self.visit(b) for b in node.bases]
        self.classes.append(node.name)
        body = []
        for part in node.body:
            if isinstance(part, ast.FunctionDef) and all(
                isinstance(d, ast.Name) and d.id in ("property", "staticmethod", "classmethod")
                for d in part.decorator_list
            ):
                new = self._function(part)
                new.args.defaults = [self.visit(d) for d in new.args.defaults]
                new.args.kw_defaults = [d and self.visit(d) for d in new.args.kw_defaults]
                body.append(new)
            elif self._is_quiet(part):
                body.append(part)
            else:
                raise NotRewritten  # it runs without hooks
        self.classes.pop()
        node.body = body
        mark = ast.Assign(targets=[_name(node.name, ast.Store())],
                          value=_hook("local", _name(node.name), at=node))
        return [node, ast.copy_location(mark, node)]

    def _is_quiet(self, part):
        """A part of a class's body that runs no code worth seeing."""
        value = getattr(part, "value", None)
        return isinstance(part, ast.Pass) or (
            isinstance(part, (ast.Expr, ast.Assign, ast.AnnAssign))
            and (value is None or isinstance(value, ast.Constant)))

    def visit_AsyncFunctionDef(self, node):
        raise NotRewritten

    visit_Match = visit_AsyncFor = visit_AsyncWith = visit_AsyncFunctionDef

    # Names.

    def visit_Name(self, node):
        if not isinstance(node.ctx, ast.Load) or node.id.startswith(PREFIX):
            return node
        if any(node.id in scope for scope in self.scopes):
            return node
        if node.id in self.root_free:
            return node if node.id == "__class__" else _hook("value", node, at=node)
        if node.id in SHOWING:
            raise NotRewritten
        return _hook("name", node, _text(node.id), at=node)

    # Expressions.

    def visit_Call(self, node):
        func = node.func
        if isinstance(func, ast.Name) and func.id == "super" and not node.args:
            return node
        name = func.id if isinstance(func, ast.Name) else getattr(func, "attr", "")
        if name in EAGER:
            self.eager.update(map(id, node.args))
        args = [self._starred(a) for a in node.args]
        keywords = [self._keyword(k) for k in node.keywords]
        call = ast.Call(func=_name(PREFIX + "call"), args=[self.visit(func), *args],
                        keywords=keywords)
        return ast.copy_location(call, node)

    def _keyword(self, node):
        value = self.visit(node.value)
        if node.arg is None:
            value = _hook("mapping", value, at=node.value)
        return ast.copy_location(ast.keyword(arg=node.arg, value=value), node)

    def _starred(self, node):
        if not isinstance(node, ast.Starred):
            return self.visit(node)
        value = _hook("iterate", self.visit(node.value), at=node)
        return ast.copy_location(ast.Starred(value=value, ctx=ast.Load()), node)

    def visit_Starred(self, node):
        return self._starred(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def _mangled(self, name):
        if self.classes and name.startswith("__") and not name.endswith("__"):
            return "_" + self.classes[-1].lstrip("_") + name
        return name

    def visit_Attribute(self, node):
        return _hook("attribute", self.visit(node.value), _text(self._mangled(node.attr)), at=node)

    def _key(self, node):
        if isinstance(node, ast.Slice):
            parts = [self.visit(p) if p else _text(None) for p in (node.lower, node.upper, node.step)]
            return _hook("slice", *parts, at=node)
        if isinstance(node, ast.Tuple):
            elements = [self._key(e) for e in node.elts]
            return ast.copy_location(ast.Tuple(elts=elements, ctx=ast.Load()), node)
        return self.visit(node)

    def visit_Subscript(self, node):
        return _hook("item", self.visit(node.value), self._key(node.slice), at=node)

    # Operators: objects that have operators of their own end the trace first.

    def _operand(self, node, hook="operand"):
        return node if isinstance(node, ast.Constant) else _hook(hook, node, at=node)

    def visit_BinOp(self, node):
        self.generic_visit(node)
        node.left, node.right = self._operand(node.left), self._operand(node.right)
        return node

    def visit_UnaryOp(self, node):
        self.generic_visit(node)
        node.operand = self._operand(node.operand, "test" if isinstance(node.op, ast.Not) else "operand")
        return node

    def visit_BoolOp(self, node):
        self.generic_visit(node)
        node.values = [self._operand(v, "test") for v in node.values[:-1]] + node.values[-1:]
        return node

    def visit_FormattedValue(self, node):
        self.generic_visit(node)
        node.value = self._operand(node.value)
        return node

    def _compared(self, node):
        equal = all(isinstance(op, (ast.Eq, ast.NotEq, ast.Is, ast.IsNot)) for op in node.ops)
        hook = "compared" if equal else "operand"
        node.left = self._operand(node.left, hook)
        node.comparators = [self._operand(c, hook) for c in node.comparators]
        return node

    def visit_Compare(self, node):
        self.generic_visit(node)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Is, ast.IsNot)):
            if isinstance(node.comparators[0], ast.Constant) or isinstance(node.left, ast.Constant):
                return node
            same = _hook("same", node.left, node.comparators[0], at=node)
            if isinstance(node.ops[0], ast.IsNot):
                same = ast.copy_location(ast.UnaryOp(op=ast.Not(), operand=same), node)
            return same
        return self._compared(node)

    def _made(self, node):
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        return _hook("local", node, at=node)

    visit_List = visit_Dict = visit_Set = _made

    def _comprehension(self, node):
        if isinstance(node, ast.GeneratorExp) and id(node) not in self.eager:
            raise NotRewritten  # it would carry tracers to where they are not known
        bound = set()
        for generator in node.generators:
            for part in ast.walk(generator.target):
                if isinstance(part, ast.Name):
                    bound.add(part.id)
                elif isinstance(part, (ast.Attribute, ast.Subscript)):
                    raise NotRewritten
        first = node.generators[0]
        outermost = self.visit(first.iter)
        self.scopes.append(bound)
        generators = []
        for k, g in enumerate(node.generators):
            source = outermost if k == 0 else self.visit(g.iter)
            generators.append(ast.comprehension(
                target=g.target, iter=_hook("iterate", source, at=g.iter),
                ifs=[_hook("test", self.visit(i), at=i) for i in g.ifs], is_async=g.is_async))
            if g.is_async:
                raise NotRewritten
        if isinstance(node, ast.DictComp):
            new = ast.DictComp(key=self.visit(node.key), value=self.visit(node.value),
                               generators=generators)
        else:
            new = type(node)(elt=self.visit(node.elt), generators=generators)
        self.scopes.pop()
        new = ast.copy_location(new, node)
        return new if isinstance(node, ast.GeneratorExp) else _hook("local", new, at=node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_IfExp(self, node):
        self.generic_visit(node)
        node.test = _hook("test", node.test, at=node.test)
        return node

    # Statements.

    def visit_If(self, node):
        node.test = _hook("test", self.visit(node.test), at=node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return node

    def visit_While(self, node):
        return self.visit_If(node)

    def visit_Assert(self, node):
        self.generic_visit(node)
        node.test = _hook("test", node.test, at=node.test)
        return node

    def visit_With(self, node):
        before = []
        for item in node.items:
            item.context_expr = _hook("context", self.visit(item.context_expr), at=item.context_expr)
            if item.optional_vars is not None and _holds_place(item.optional_vars):
                raise NotRewritten
        node.body = before + self._block(node.body)
        return node

    def visit_Try(self, node):
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        node.finalbody = self._block(node.finalbody)
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = [self._mark("caught", handler.body[0])] + self._block(handler.body)
        if any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for part in node.finalbody
               for n in ast.walk(part)):
            raise NotRewritten  # it may swallow an exception
        return [self._mark("tries", node), node] if node.handlers else node

    def _mark(self, hook, at):
        return ast.copy_location(ast.Expr(_hook(hook, at=at)), at)

    visit_TryStar = visit_Try

    def _temporary(self):
        self.temporaries += 1
        return f"{PREFIX}{self.temporaries}"

    def visit_For(self, node):
        if node.target is None or self._is_outer(node.target):
            raise NotRewritten
        carried = self._carried(node)
        if carried is not None:
            return self._watched(node, carried)
        iterable = _hook("iterate", self.visit(node.iter), at=node.iter)
        body = self._block(node.body)
        if isinstance(node.target, ast.Name):
            target = node.target
            first = [ast.copy_location(
                ast.Assign(targets=[target], value=_hook("value", _name(target.id), at=target)),
                node.target)]
        else:
            name = self._temporary()
            target = ast.copy_location(_name(name, ast.Store()), node.target)
            first = self._store(node.target, _name(name), node.target)
            first.append(ast.copy_location(ast.Delete(targets=[_name(name, ast.Del())]), node.target))
        new = ast.For(target=target, iter=iterable, body=first + body,
                      orelse=self._block(node.orelse), type_comment=None)
        return ast.copy_location(new, node)

    def _carried(self, node):
        """Names that go from turn to turn of a loop that may become a region; None for others."""
        call = node.iter
        plain = (isinstance(call, ast.Call) and isinstance(call.func, ast.Name)
                 and call.func.id == "range" and isinstance(node.target, ast.Name))
        if not plain or node.orelse or self.shares_cells or _leaves(node.body):
            return None
        bound = _Bound()
        for part in node.body:
            bound.visit(part)
        if node.target.id in bound.names or bound.names & self.outer[-1]:
            return None
        inside = set(_live_in(node.body))
        outside = _loads(self.roots[-1], but=node)
        return sorted(bound.names & (inside | outside))

    def _watched(self, node, carried):
        """The loop fed by a hook that sees the end of each turn (see trace/loop.c)."""
        loop, state = self._temporary(), self._temporary()
        make = self._set(loop, _hook("loop", self.visit(node.iter), at=node.iter), node)
        names = ast.Tuple(elts=[_name(n) for n in carried], ctx=ast.Load())
        unbound = ast.ExceptHandler(type=_name(PREFIX + "NameError"), name=None,
                                    body=[self._set(state, _text(None), node)])
        end = [
            ast.Try(body=[self._set(state, names, node)], handlers=[unbound], orelse=[],
                    finalbody=[]),
            ast.Expr(ast.Call(func=ast.Attribute(value=_name(loop), attr="turn", ctx=ast.Load()),
                              args=[_name(state)], keywords=[])),
        ]
        turns = ast.For(target=node.target, iter=_name(loop),
                        body=self._block(node.body) + end, orelse=[], type_comment=None)
        rolled = lambda: ast.Attribute(value=_name(loop), attr="rolled", ctx=ast.Load())  # noqa: E731
        after = ast.Tuple(elts=[_name(n, ast.Store()) for n in (*carried, node.target.id)],
                          ctx=ast.Store())
        finish = ast.If(
            test=ast.Compare(left=rolled(), ops=[ast.IsNot()], comparators=[_text(None)]),
            body=[ast.Assign(targets=[after], value=rolled())], orelse=[])
        drop = ast.Assign(targets=[_name(loop, ast.Store()), _name(state, ast.Store())],
                          value=_text(None))
        out = [make, turns, finish, drop]
        for part in out:
            for child in ast.walk(part):
                if "lineno" in child._attributes and not hasattr(child, "lineno"):
                    ast.copy_location(child, node)
        return out

    def _is_outer(self, target):
        return any(isinstance(n, ast.Name) and n.id in self.outer[-1] for n in ast.walk(target))

    def _store(self, target, value, at):
        """Statements that store `value` (already rewritten) to a target."""
        if isinstance(target, ast.Name):
            if target.id in self.outer[-1]:
                value = _hook("outer", value, at=at)
            return [ast.copy_location(ast.Assign(targets=[target], value=value), at)]
        if isinstance(target, ast.Attribute):
            call = _hook("store_attribute", self.visit(target.value),
                         _text(self._mangled(target.attr)), value, at=target)
            return [ast.copy_location(ast.Expr(call), at)]
        if isinstance(target, ast.Subscript):
            call = _hook("store_item", self.visit(target.value), self._key(target.slice), value,
                         at=target)
            return [ast.copy_location(ast.Expr(call), at)]
        # A tuple or list: unpacked into names, places are stored to in order.
        stores, elements, names = [], [], []
        for element in target.elts:
            starred = isinstance(element, ast.Starred)
            inner = element.value if starred else element
            if isinstance(inner, ast.Name) and inner.id not in self.outer[-1]:
                elements.append(element)
                continue
            name = self._temporary()
            names.append(name)
            place = ast.copy_location(_name(name, ast.Store()), inner)
            if starred:
                place = ast.copy_location(ast.Starred(value=place, ctx=ast.Store()), element)
            elements.append(place)
            stores += self._store(inner, _name(name), at)
        unpacked = ast.copy_location(ast.Tuple(elts=elements, ctx=ast.Store()), target)
        assign = ast.Assign(targets=[unpacked], value=_hook("iterate", value, at=at))
        out = [ast.copy_location(assign, at)] + stores
        if names:
            out.append(ast.copy_location(
                ast.Delete(targets=[_name(n, ast.Del()) for n in names]), at))
        return out

    def visit_Assign(self, node):
        value = self.visit(node.value)
        simple = len(node.targets) == 1
        if simple:
            return self._evaluated(node.targets[0], value, node)
        name = self._temporary()
        out = [ast.copy_location(ast.Assign(targets=[_name(name, ast.Store())], value=value), node)]
        for target in node.targets:
            out += self._store(target, _name(name), node)
        out.append(ast.copy_location(ast.Delete(targets=[_name(name, ast.Del())]), node))
        return out

    def _evaluated(self, target, value, node):
        """One target: the value comes before the target's own expressions."""
        if isinstance(target, (ast.Attribute, ast.Subscript)) and not isinstance(
            value, (ast.Name, ast.Constant)
        ):
            name = self._temporary()
            assign = ast.Assign(targets=[_name(name, ast.Store())], value=value)
            return [ast.copy_location(assign, node), *self._store(target, _name(name), node),
                    ast.copy_location(ast.Delete(targets=[_name(name, ast.Del())]), node)]
        return self._store(target, value, node)

    def visit_AnnAssign(self, node):
        if node.value is None:
            return None if isinstance(node.target, ast.Name) and False else node
        return self._evaluated(node.target, self.visit(node.value), node)

    def visit_AugAssign(self, node):
        target, value = node.target, self.visit(node.value)
        if isinstance(target, ast.Name):
            value = self._operand(value)
            if target.id not in self.outer[-1]:
                # An array that came here unseen, as a default value, is seen before it is written.
                seen = _hook("operand", _hook("value", _name(target.id), at=target), at=target)
                new = ast.AugAssign(target=target, op=node.op, value=value)
                return [*self._store(ast.copy_location(_name(target.id, ast.Store()), target), seen,
                                     node), ast.copy_location(new, node)]
            name = self._temporary()
            load = self.visit(_name(target.id))
            out = self._augmented(name, load, node, value)
            return out + self._store(target, _name(name), node) + self._deleted([name], node)
        names = [self._temporary() for _ in range(3)]
        owner, key, item = names
        out = [self._set(owner, self.visit(target.value), node)]
        if isinstance(target, ast.Attribute):
            out.append(self._set(key, _text(self._mangled(target.attr)), node))
            load, store = "attribute", "store_attribute"
        else:
            out.append(self._set(key, self._key(target.slice), node))
            load, store = "item", "store_item"
        loaded = _hook(load, _name(owner), _name(key), at=target)
        out += self._augmented(item, loaded, node, value)
        call = _hook(store, _name(owner), _name(key), _name(item), at=target)
        out.append(ast.copy_location(ast.Expr(call), node))
        return out + self._deleted(names, node)

    def _set(self, name, value, at):
        return ast.copy_location(ast.Assign(targets=[_name(name, ast.Store())], value=value), at)

    def _augmented(self, name, load, node, value):
        change = ast.AugAssign(target=_name(name, ast.Store()), op=node.op, value=self._operand(value))
        load = self._operand(load)
        return [self._set(name, load, node), ast.copy_location(change, node)]

    def _deleted(self, names, at):
        return [ast.copy_location(ast.Delete(targets=[_name(n, ast.Del()) for n in names]), at)]

    def visit_Delete(self, node):
        out = []
        for target in node.targets:
            if isinstance(target, ast.Attribute):
                call = _hook("delete_attribute", self.visit(target.value),
                             _text(self._mangled(target.attr)), at=target)
                out.append(ast.copy_location(ast.Expr(call), node))
            elif isinstance(target, ast.Subscript):
                call = _hook("delete_item", self.visit(target.value), self._key(target.slice),
                             at=target)
                out.append(ast.copy_location(ast.Expr(call), node))
            elif isinstance(target, ast.Name) and target.id not in self.outer[-1]:
                out.append(ast.copy_location(ast.Delete(targets=[target]), node))
            else:
                raise NotRewritten
        return out

    def visit_Import(self, node):
        if any((a.asname or a.name.split(".")[0]) in self.outer[-1] for a in node.names):
            raise NotRewritten
        return node

    visit_ImportFrom = visit_Import
