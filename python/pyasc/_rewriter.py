"""The syntax tree of a definition with hooks in place of what a trace has to see (trace/hooks.c)."""

import ast
import functools
import types

from ._lists import grown_lists
from ._nested import nested_loop, watched_loop
from ._nests import describe
from ._nodes import (DELETE, LEAVES, LOAD, PREFIX, STORE, constant, copied, copied_arguments, hook_call, loaded_names,
                     makes_list, name_node, names_in, of_kind, placed, statements_of, visited, walk)
from ._runs import LOOPS, numbers_of, runs_of
from ._scopes import (Bound, Liveness, bound_surely, holds_place, last_stores, leaves_early, live_in, names_of_arguments,
                      unbound_in)
from ._source import NotRewritten
from ._stores import Stores
from ._switches import DEFINITIONS, Switch

#: Names whose use shows the machinery: functions that use them run plain.
SHOWING = {"locals", "vars", "dir", "eval", "exec", "globals", "__import__", "breakpoint"}

#: Builtins that use up a generator at once.
EAGER = {"sum", "any", "all", "min", "max", "list", "tuple", "set", "dict", "sorted", "frozenset",
         "join"}

#: Methods that change their owner and read nothing of it but what they return.
CHANGING = {"append", "extend", "insert", "add", "discard", "update", "appendleft", "clear"}


class Rewriter(Stores):
    def __init__(self, code, classes, numbers=True):
        self.root_free = set(code.co_freevars)
        self.cells = code.co_cellvars
        self.has_inner = any(isinstance(part, types.CodeType) and (part.co_name == "<lambda>" or part.co_name[:1] != "<")
                             for part in code.co_consts)
        self.scopes = []  # sets of names bound in enclosing functions, innermost last
        self.outer = []   # names of globals (or of cells of the root) that are assigned
        self.classes = list(classes)
        self.temporaries = 0
        self.used = set()  # names of what is used from outside: hooks
        self.hook = functools.partial(hook_call, self.used)
        self.nests = {}    # name of a loop's hook -> what `nest_hook` of the extension makes it of
        self.sure = []    # of these functions: names that are bound for sure where the rewriter is
        self.unsure = []  # names that may be unbound again
        self.liveness = []  # of these functions
        self.roots = []   # nodes of the enclosing functions, innermost last
        self.shares_cells = False  # an inner function changes an outer one's names
        self.numbers = numbers  # the arguments of the root may be numbers
        self.complete = True    # nothing is left out because they are not
        self.written = 0        # loops around that are there as they are written, too
        self.eager = set()  # ids of arguments of builtins that use up a generator at once
        self.inner = {}  # (name, line) of functions in the root -> their node as it was, or None: there are several
        self.stores = {}  # name -> line where it is last bound; if there are such functions

    def visit(self, node):
        return _VISITS[type(node)](self, node)

    def generic_visit(self, node):
        return visited(self, node, _VISITS)

    # A definition: the root's, or one inside of it.

    def definition(self, node):
        self.stores = last_stores(node) if self.has_inner else {}
        self.shares_cells = bool(self.cells) and bool(of_kind(node, ast.Nonlocal))
        if isinstance(node, ast.Lambda):
            return self._lambda(node, placeholders=True)
        new = self._function(node)
        new.decorator_list = []
        placeholder = lambda: placed(constant(None), node)  # noqa: E731
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
        bound = Bound(body)
        names = (bound.names | names_of_arguments(args)) - bound.outer - bound.nonlocals
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
        self.unsure.append(unbound_in(node.body))
        self.sure.append(names_of_arguments(node.args) - self.unsure[-1])
        self.liveness.append(self._liveness_of(node))
        if self.liveness[-1]:
            own = self.scopes[-1] - self.outer[-1] - names_of_arguments(node.args)
            self.liveness[-1].grown = grown_lists(node, own, True)
        body = self._seen_defaults(node) + self._body(node.body)
        self.liveness.pop()
        self.sure.pop()
        self.unsure.pop()
        self.roots.pop()
        new = ast.FunctionDef(
            name=node.name, args=copied_arguments(node.args), body=body,
            decorator_list=list(node.decorator_list), returns=node.returns, type_comment=None,
            type_params=[],
        )
        self._close()
        return placed(new, node)

    def _numbers(self):
        """True if the function that is looked at may be called with numbers alone."""
        return self.numbers or len(self.roots) > 1

    def _liveness_of(self, node):
        """What only loops and functions of numbers need."""
        needed = self._numbers() or any(isinstance(part, LOOPS) for part in statements_of(node.body))
        return Liveness(node.body) if needed else None

    def _seen_defaults(self, node):
        """Arrays that are default values become known before anything is done with them, and the dict of keywords."""
        args = node.args
        positional = (args.posonlyargs + args.args)[-len(args.defaults):] if args.defaults else []
        pairs = [*zip(positional, args.defaults), *zip(args.kwonlyargs, args.kw_defaults)]
        seen = [self.set(a.arg, self.hook("value", name_node(a.arg), at=node), node) for a, default in pairs
                if not isinstance(default, (ast.Constant, type(None)))]
        if args.kwarg:  # Python has made this dict for the call
            seen.append(placed(ast.Expr(self.hook("local", name_node(args.kwarg.arg), at=node)), node))
        return seen

    def _lambda(self, node, placeholders=False):
        bound = self._open(node.args, [node.body])
        if bound.yields:
            self._close()
            raise NotRewritten
        args = copied_arguments(node.args)
        body = self.visit(node.body)
        self._close()
        if placeholders:
            args.defaults = [constant(None) for _ in args.defaults]
            args.kw_defaults = [d and constant(None) for d in args.kw_defaults]
        else:
            args.defaults = [self.visit(d) for d in args.defaults]
            args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        return placed(ast.Lambda(args=args, body=body), node)

    def block(self, body):
        """Statements that may be run or not: what they bind is not sure to be bound behind them."""
        before = set(self.sure[-1])
        out = self._statements(body)
        self.sure[-1] = before
        return out

    def _statements(self, body):
        out = []
        for statement in body:
            new = self.visit(statement)
            out += new if type(new) is list else [new]
            if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
                self.sure[-1] |= bound_surely(statement) - self.unsure[-1]
        return out

    def _body(self, body):
        """The statements of a function: as one nest, in runs that may be nests, or one by one."""
        numbers = self._numbers()
        whole = self._nest(body, "numbers") if numbers and numbers_of(body) else None
        self.complete &= numbers
        line, out, first = placed(ast.Pass(), body[0]), [], set(self.sure[-1])
        for run in runs_of(body):
            sure = set(self.sure[-1])
            nest = self._nest(run, "run") if len(run) > 1 else None
            at = placed(ast.Pass(), run[0])
            plain = self._statements(run)
            out += plain if nest is None else nested_loop(self, nest, plain, at, sure)
        return out if whole is None else nested_loop(self, whole, out, line, first)

    def _keep_inner(self, node, name):
        place = name, node.lineno
        self.inner[place] = copied(node) if place not in self.inner and not self.classes else None

    def visit_FunctionDef(self, node):
        if node.name in self.outer[-1] or node.decorator_list:
            raise NotRewritten  # decorators are called by Python itself
        self._keep_inner(node, node.name)
        new = self._function(node)
        new.args.defaults = [self.visit(d) for d in new.args.defaults]
        new.args.kw_defaults = [d and self.visit(d) for d in new.args.kw_defaults]
        mark = ast.Assign(targets=[name_node(node.name, STORE)],
                          value=self.hook("local", name_node(node.name), at=node))
        return [new, placed(mark, node)]

    def visit_Lambda(self, node):
        self._keep_inner(node, "<lambda>")
        return self.hook("local", self._lambda(node), at=node)

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
        mark = ast.Assign(targets=[name_node(node.name, STORE)],
                          value=self.hook("local", name_node(node.name), at=node))
        return [node, placed(mark, node)]

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
            return node if node.id == "__class__" else self.hook("value", node, at=node)
        if node.id in SHOWING:
            raise NotRewritten
        return self.hook("name", node, constant(node.id), at=node)

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
        if isinstance(func, ast.Attribute) and func.attr in CHANGING:
            func = self.hook("attribute", self._owner(func.value), constant(func.attr), at=func)
        else:
            func = self.visit(func)
        call = self.hook("call", func, *args, at=node)
        call.keywords = keywords
        return call

    def _owner(self, node):
        """An expression whose value is about to be changed, as a container is."""
        new = self.visit(node)
        hook = new.func.id.removeprefix(PREFIX) if isinstance(new, ast.Call) and new is not node else ""
        if isinstance(node, (ast.Name, ast.Attribute)) and hook in ("name", "value", "attribute"):
            new.func.id = PREFIX + "owner_" + hook
            self.used.add(new.func.id)
        return new

    def _keyword(self, node):
        value = self.visit(node.value)
        if node.arg is None:
            value = self.hook("mapping", value, at=node.value)
        return placed(ast.keyword(arg=node.arg, value=value), node)

    def _starred(self, node):
        if not isinstance(node, ast.Starred):
            return self.visit(node)
        value = self.hook("iterate", self.visit(node.value), at=node)
        return placed(ast.Starred(value=value, ctx=LOAD), node)

    def visit_Starred(self, node):
        return self._starred(node) if isinstance(node.ctx, ast.Load) else self.generic_visit(node)

    def _mangled(self, name):
        if self.classes and name.startswith("__") and not name.endswith("__"):
            return "_" + self.classes[-1].lstrip("_") + name
        return name

    def visit_Attribute(self, node):
        return self.hook("attribute", self.visit(node.value), constant(self._mangled(node.attr)), at=node)

    def key(self, node):
        if isinstance(node, ast.Slice):
            parts = [self.visit(p) if p else constant(None) for p in (node.lower, node.upper, node.step)]
            return self.hook("slice", *parts, at=node)
        if isinstance(node, ast.Tuple):
            elements = [self.key(e) for e in node.elts]
            return placed(ast.Tuple(elts=elements, ctx=LOAD), node)
        return self.visit(node)

    def visit_Subscript(self, node):
        return self.hook("item", self.visit(node.value), self.key(node.slice), at=node)

    # Operators: objects that have operators of their own end the trace first.

    def _operand(self, node, hook="operand"):
        return node if isinstance(node, ast.Constant) else self.hook(hook, node, at=node)

    def visit_BinOp(self, node):
        fresh = makes_list(node)
        self.generic_visit(node)
        node.left, node.right = self._operand(node.left), self._operand(node.right)
        return self.hook("local_list", node, at=node) if fresh else node

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
            same = self.hook("same", node.left, node.comparators[0], at=node)
            if isinstance(node.ops[0], ast.IsNot):
                same = placed(ast.UnaryOp(op=ast.Not(), operand=same), node)
            return same
        return self._compared(node)

    def _made(self, node):
        self.generic_visit(node)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        return self.hook("local", node, at=node)

    visit_List = visit_Dict = visit_Set = _made

    def _comprehension(self, node):
        if isinstance(node, ast.GeneratorExp) and id(node) not in self.eager:
            raise NotRewritten  # it would carry tracers to where they are not known
        bound = set()
        for generator in node.generators:
            for part in walk(generator.target):
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
                target=g.target, iter=self.hook("iterate", source, at=g.iter),
                ifs=[self.hook("test", self.visit(i), at=i) for i in g.ifs], is_async=g.is_async))
            if g.is_async:
                raise NotRewritten
        if isinstance(node, ast.DictComp):
            new = ast.DictComp(key=self.visit(node.key), value=self.visit(node.value),
                               generators=generators)
        else:
            new = type(node)(elt=self.visit(node.elt), generators=generators)
        self.scopes.pop()
        new = placed(new, node)
        return new if isinstance(node, ast.GeneratorExp) else self.hook("local", new, at=node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    def visit_IfExp(self, node):
        self.generic_visit(node)
        node.test = self.hook("test", node.test, at=node.test)
        return node

    # Statements.

    def visit_If(self, node):
        node.test = self.hook("test", self.visit(node.test), at=node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node

    def visit_While(self, node):
        return self._either(self._nest([node]), node, self._hooked_while)

    def _hooked_while(self, node, switch):
        loop = self.visit_If(node)
        if switch is None:
            return [loop]
        loop.body = switch.first(node) + loop.body
        return switch.ahead(node) + [loop] + switch.behind(node, switch.while_rest(self, node))

    def visit_Assert(self, node):
        self.generic_visit(node)
        node.test = self.hook("test", node.test, at=node.test)
        return node

    def visit_With(self, node):
        before = []
        for item in node.items:
            item.context_expr = self.hook("context", self.visit(item.context_expr), at=item.context_expr)
            if item.optional_vars is not None and holds_place(item.optional_vars):
                raise NotRewritten
        node.body = before + self.block(node.body)
        return node

    def visit_Try(self, node):
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        node.finalbody = self.block(node.finalbody)
        for handler in node.handlers:
            handler.type = handler.type and self.visit(handler.type)
            handler.body = [self._mark("caught", handler.body[0])] + self.block(handler.body)
        if any(isinstance(n, (ast.Return, ast.Break, ast.Continue)) for n in statements_of(node.finalbody)):
            raise NotRewritten  # it may swallow an exception
        return [self._mark("tries" if node.handlers else "finishes", node), node]

    def _mark(self, hook, at):
        return placed(ast.Expr(self.hook(hook, at=at)), at)

    visit_TryStar = visit_Try

    def outside(self, name):
        """One of HOOKS by its name."""
        self.used.add(PREFIX + name)
        return name_node(PREFIX + name)

    def nest_hook(self, nest, plain):
        """The name of the hook of a nest; `plain`: the loop is there as it is written, too."""
        name = f"nest{len(self.nests) + 1}"
        self.nests[PREFIX + name] = nest.description, tuple(nest.outputs), nest.returns, plain
        return name

    def temporary(self):
        self.temporaries += 1
        return f"{PREFIX}{self.temporaries}"

    def visit_For(self, node):
        if node.target is None or self._is_outer(node.target):
            raise NotRewritten
        nest = self._nest([node])
        return self._either(nest, node, self._hooked_for)

    def _nest(self, statements, kind=None):
        """Statements as what may be compiled as a whole, or None; of the tree as it was."""
        if self.shares_cells or not self.roots:
            return None
        live = self.liveness[-1]
        behind = live.behind.get(id(statements[-1]), None)
        if behind is None:
            return None
        ahead = live.ahead.get(id(statements[0]))
        read = ahead if ahead is None else {self._mangled(name) for name in ahead | live.always}
        return describe(statements, self._mangled, self.scopes[-1] - self.outer[-1], behind | live.always, read, kind, live)

    def _runs_written(self, node):
        """True if a loop may run as it is written: what it reads are the function's own names, and names from outside."""
        if self.shares_cells or not self.roots or self.outer[-1]:
            return False
        if of_kind(node, DEFINITIONS) or any(names_in(node) & scope for scope in self.scopes[:-1]):
            return False
        names = of_kind(node, (ast.Name, ast.Attribute)) if self.classes else ()  # Python changes some in a class
        return not any((part.id if isinstance(part, ast.Name) else part.attr).startswith("__") for part in names)

    def _either(self, nest, node, hooked):
        """Statements of a loop: the hook's, where it makes a nest of it, or those of `hooked`; both may be given up for
        the loop as it is written."""
        line, sure = placed(ast.Pass(), node), set(self.sure[-1])
        wanted = self.written == 0 or (nest is not None and self.written == 1)
        written = copied(node) if wanted and self._runs_written(node) else None
        switch = Switch(self, written, sure) if written is not None and self.written == 0 else None
        self.written += written is not None
        loop = hooked(node, switch)
        self.written -= written is not None
        return loop if nest is None else nested_loop(self, nest, loop, line, sure, written)

    def _hooked_for(self, node, switch):
        carried = self._carried(node)
        if carried is not None:
            return watched_loop(self, node, carried, switch)
        iterable = self.hook("iterate", self.visit(node.iter), at=node.iter)
        body, before, behind = self.block(node.body), [], []
        if isinstance(node.target, ast.Name):
            name, target = node.target.id, node.target
            first = [placed(
                ast.Assign(targets=[target], value=self.hook("value", name_node(target.id), at=target)),
                node.target)]
        else:
            name = self.temporary()
            target = placed(name_node(name, STORE), node.target)
            first = self.store(node.target, name_node(name), node.target)
            first.append(placed(ast.Delete(targets=[name_node(name, DELETE)]), node.target))
        if switch is not None:
            items = self.temporary()
            before = switch.ahead(node) + [self.set(items, self.hook("begin", iterable, at=node.iter), node)]
            behind = switch.behind(node, switch.for_rest(name, items, node)) + [self.set(items, constant(None), node)]
            iterable, first = name_node(items), switch.first(node) + first
        new = ast.For(target=target, iter=iterable, body=first + body,
                      orelse=self.block(node.orelse), type_comment=None)
        return before + [placed(new, node)] + behind

    def _carried(self, node):
        """Names that go from turn to turn of a loop that may become a region; None for others."""
        call = node.iter
        plain = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
        plain = plain and isinstance(node.target, ast.Name) and not node.orelse and not self.shares_cells
        if not plain or leaves_early(node.body):
            return None
        bound = Bound(node.body)
        if node.target.id in bound.names or bound.names & self.outer[-1]:
            return None
        inside = set(live_in(node.body))
        behind = self.liveness[-1].behind.get(id(node), loaded_names(self.roots[-1]))
        return sorted(bound.names & (inside | behind | self.liveness[-1].always))

    def _is_outer(self, target):
        return bool(self.outer[-1]) and any(n.id in self.outer[-1] for n in of_kind(target, ast.Name))

    def visit_Import(self, node):
        if any((a.asname or a.name.split(".")[0]) in self.outer[-1] for a in node.names):
            raise NotRewritten
        return node

    visit_ImportFrom = visit_Import


def _visit_of(kind):
    """How a node of this class is rewritten."""
    if issubclass(kind, LEAVES):
        return lambda self, node: node
    return getattr(Rewriter, "visit_" + kind.__name__, Rewriter.generic_visit)


_VISITS = {kind: _visit_of(kind) for kind in vars(ast).values() if isinstance(kind, type) and issubclass(kind, ast.AST)}
