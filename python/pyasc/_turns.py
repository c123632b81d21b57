"""Functions that are no one trace, as their loops are too long or they go too many ways: parts of them are functions of their
own, which are jitted. Each turn of a loop is a call:

    for target in items:
        if turn._pays:
            x, y = turn(target, x, y, z)     # the body, and behind it `return x, y`
        else:
            body                             # as it is written

The turn gets the names that it reads and gives back those that are read behind it. Where one of them has no value yet, or
the turn is not worth a call, the body runs as it is written. A function of several loops gets one function for each
loop; where such a one is too long in its turn, it is taken apart like any other. Where values say how many elements there
are (_selected.py), what is ahead of that and what is behind it are functions of their own in the same way.
"""

import ast
import types

from ._lists import Grown, grown_lists
from ._nodes import LOAD, PREFIX, STORE, constant, copied, loaded_names, name_node, names_in, of_kind, parts_of, placed, statements_of, walk
from ._rewriter import EAGER, SHOWING
from ._runs import LOOPS
from ._selected import Selections, is_selection
from ._scopes import Bound, free_names, Liveness, bound_surely, names_of_arguments, unbound_in
from ._source import FUTURE, definition_of, inner_code, known, module_around, NotRewritten
from ._unfolded import unfolded

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)

#: Statements after which names are not what they were, or are others' too.
FOREIGN = (*DEFINITIONS, ast.Global, ast.Nonlocal, ast.Delete, ast.Import, ast.ImportFrom, ast.AsyncFor, ast.AsyncWith,
           ast.Match)

#: Contexts that let exceptions pass.
PASSING = {"errstate", "catch_warnings", "printoptions", "open", "threadpool_limits"}

#: How a turn ends.
NORMAL, BREAK, RETURN = 0, 1, 2


def in_turns(function, make, whole):
    """The function in parts, and the list of those that are functions, made by `make`; or None. `whole`: its loops are not too
    long, as far as is known."""
    try:  # at the beginning: without memory Python 3.11 does not come out of handlers that are far behind it
        return _divided(function, make, whole)
    except (NotRewritten, SyntaxError, OSError, ValueError, RecursionError):
        return None


def _divided(function, make, whole):
    if isinstance(function, types.MethodType):
        made = _divided(function.__func__, make, whole)
        return made and (types.MethodType(made[0], function.__self__), made[1])
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    if code.co_flags & 0x2A0 or SHOWING & set(code.co_names):
        return None
    tree, classes = definition_of(function)
    tree = unfolded(tree)
    return _Divider(function, tree, classes, make).divided(whole) if isinstance(tree, ast.FunctionDef) else None


class _Divider:
    def __init__(self, function, tree, classes, make):
        self.function, self.tree, self.classes, self.make = function, copied(tree), classes, make
        self.selections = Selections(self.tree.body)
        body = self.tree.body = self._selected(self.tree.body)
        self.parts = any(is_selection(s, self.selections) for s in _outermost(body))
        bound = Bound(body)
        self.shared = bound.outer | bound.nonlocals
        self.local = (bound.names | names_of_arguments(self.tree.args)) - self.shared
        for node in walk(self.tree):  # names that functions in it read when they are called
            lazy = isinstance(node, ast.GeneratorExp) and not getattr(node, "_eager", False)
            if node is not self.tree and (lazy or isinstance(node, DEFINITIONS)):
                self.shared |= free_names(node)
            elif isinstance(node, ast.Call) and _name_of(node.func) in EAGER:
                for argument in node.args:
                    argument._eager = True
        self.changed = {name for node in of_kind(self.tree, ast.Nonlocal) for name in node.names}  # by functions in it
        self.functions = _local_functions(self.tree)
        self.fresh = not hasattr(tree, "_grown")  # no piece of another function
        own = self.local - names_of_arguments(self.tree.args)
        self.lists = grown_lists(self.tree, own, False) | getattr(tree, "_grown", set())
        made = grown_lists(self.tree, own, True) if "list" not in function.__globals__ else set()
        self.read = made - self.lists  # a turn by itself does not know what is in them
        self.called = set().union(*(names_in(part.targets) for part in of_kind(self.tree, ast.Assign)
                                    if isinstance(part.value, ast.Call)))
        self.live = Liveness(body)
        self.unsure = unbound_in(body)
        self.pieces = []

    def divided(self, whole):
        loops = [node for node in _outermost(self.tree.body) if isinstance(node, LOOPS)]
        whole = len(loops) > 1 or (whole and self.fresh)
        self.tree.body = self._block(self.tree.body, names_of_arguments(self.tree.args), whole, False)
        if not self.pieces:
            return None
        names = [name for name, _ in self.pieces] + [PREFIX + "Grown"]
        functions = [piece for _, piece in self.pieces]
        self.tree.decorator_list = []
        cells = [types.CellType(value) for value in [*functions, Grown]]
        divided = _compiled(self.tree, self.function, self.classes, names, cells)
        divided.__defaults__, divided.__kwdefaults__ = self.function.__defaults__, self.function.__kwdefaults__
        return divided, functions

    def _selected(self, body):
        """The statements with selections as statements of their own, but for what is in loops."""
        out = []
        for statement in body:
            for new in self.selections.ahead(statement):
                if not isinstance(new, (*LOOPS, *DEFINITIONS, ast.Try)):
                    for name in ("body", "orelse"):
                        if getattr(new, name, None):
                            setattr(new, name, self._selected(getattr(new, name)))
                out.append(new)
        return out

    def _block(self, body, sure, whole, caught):
        """The statements; `sure`: names that have values ahead of them. `caught`: exceptions in them may be."""
        sure, out, run = set(sure), [], []
        for statement in body:
            if self._is_part(statement):
                run.append(statement)
                continue
            out += self._run(run, sure, caught)
            run = []
            if isinstance(statement, LOOPS):
                new = None if caught else self._whole(statement, sure) if whole else self._turns(statement, sure)
                out += [statement] if new is None else new
                continue
            if isinstance(statement, ast.If):
                statement.body = self._block(statement.body, sure, whole, caught)
                statement.orelse = self._block(statement.orelse, sure, whole, caught)
            elif isinstance(statement, ast.With):
                passes = all(isinstance(item.context_expr, ast.Call) and _name_of(item.context_expr.func) in PASSING
                             for item in statement.items)
                statement.body = self._block(statement.body, sure, whole, caught or not passes)
            sure |= self._bound_by(statement)
            out += [statement, *self.selections.forgotten([statement])]
        return out + self._run(run, sure, caught)

    def _is_part(self, statement):
        """True of statements between loops and selections."""
        return not any(isinstance(s, (*LOOPS, ast.Try)) or is_selection(s, self.selections) for s in _outermost([statement]))

    def _bound_by(self, statement):
        assigns = isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign))
        return bound_surely(statement) - self.unsure if assigns else set()

    def _run(self, run, sure, caught):
        """Statements one behind the other as a call, where the function has parts; `sure` gets what they bind."""
        if not run:
            return []
        before, out = set(sure), None
        for statement in run:
            sure |= self._bound_by(statement)
        kinds = (ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.Subscript)
        worth = len(of_kind(run, kinds)) > 1
        reads = set().union(*map(loaded_names, run))
        behind = self.live.behind.get(id(run[-1]))
        if self.parts and worth and not caught and behind is not None and not reads & self.lists:
            jumps = any(isinstance(s, ast.Return) for s in statements_of(run))
            piece = self._piece(run, run[0], behind, before, jumps=jumps)
            out = piece and piece.called(run[0], before, [copied(s) for s in run], ast.Pass())
        return (out or run) + self.selections.forgotten(run)

    def _whole(self, loop, sure):
        """A loop as a call."""
        behind = self.live.behind.get(id(loop))
        if behind is None:
            return None
        piece = self._piece([loop], loop, behind, sure, jumps=_returns(loop), lists=self.lists | self.read)
        return piece and piece.growing(piece.called(loop, sure, [copied(loop)], ast.Pass()), loop)

    def _turns(self, loop, sure):
        """A loop whose turns are calls."""
        behind, again = self.live.behind.get(id(loop)), self.live.behind.get(id(loop.body[-1]))
        if behind is None or again is None:
            return None
        target, first = set(), []
        if isinstance(loop, ast.For):
            target = Bound([loop.target]).names
        elif loop.orelse:
            return None
        else:
            leave = placed(ast.If(test=ast.UnaryOp(op=ast.Not(), operand=copied(loop.test)), body=[ast.Break()], orelse=[]),
                           loop)
            first = [leave] if not isinstance(loop.test, ast.Constant) or not loop.test.value else []
        body = first + loop.body
        piece = self._piece(body, loop, behind | again, sure, jumps=_jumps(body))
        if piece is None:
            return None
        new = piece.called(loop, sure | target, [copied(s) for s in body], ast.Break())
        if isinstance(loop, ast.For):
            turned = ast.For(target=loop.target, iter=loop.iter, body=new, orelse=loop.orelse, type_comment=None)
        else:
            turned = ast.While(test=constant(True), body=new, orelse=[])
        return piece.growing([placed(turned, loop)], loop)

    def _piece(self, body, at, behind, sure, jumps, lists=None):
        """The statements as a function, or None."""
        bound = Bound(body)
        if bound.yields or bound.names & self.shared or not _is_own(body, self.classes):
            return None
        read = set().union(*map(loaded_names, body))
        if (read & self.local & self.changed) or read & {"super", "__class__"} or (jumps and _ends_with_finally(body)):
            return None
        made, captured = self._made_again(body, at)
        if captured & (bound.names | self.changed | self.lists | self.read) or captured - sure:
            return None
        outputs = bound.names & self.local & (behind | self.live.always)
        if outputs & unbound_in(body):
            return None  # `except … as e` takes the name away
        inputs = (Liveness(body).ahead[id(body[0])] & self.local) | (outputs - _surely(body)) | captured
        inputs -= {name for name, _ in made}
        lists = sorted(((lists or self.lists) & read & sure) - bound.names)
        if _grown_in(body) & self.local - set(lists) - self.called:
            return None  # no two turns have arguments of one kind
        inputs -= set(lists)
        name = f"{PREFIX}turn{len(self.pieces)}"
        piece = _Piece(name, sorted(inputs), sorted(outputs), lists, jumps, self.read)
        self.pieces.append((name, self._made(piece, body, at, [copied(definition) for _, definition in made])))
        return piece

    def _made_again(self, body, at):
        """Functions of the function's own that the statements call: pairs of name and definition, which is a piece's own, too; and
        the names that they have from around them."""
        made, captured = {}, set()
        left = set().union(*map(loaded_names, body)) & set(self.functions)
        while left:
            name = left.pop()
            made[name] = self.functions[name]
            free = _captured(made[name]) & self.local - {name}
            left |= (free & set(self.functions)) - set(made)
            captured |= free - set(self.functions)
        parts = [*body, *made.values()]
        if not all(node.lineno < at.lineno and _is_only_called(parts, name) for name, node in made.items()):
            return [], set()
        return sorted(made.items(), key=lambda item: item[1].lineno), captured

    def _made(self, piece, body, at, definitions):
        end = piece.end(NORMAL)
        parts = [copied(s) for s in body]
        if piece.jumps:
            parts = _Jumps(piece).block(parts)
        args = [placed(ast.arg(arg=n, annotation=None), at) for n in piece.inputs + piece.lists]
        arguments = ast.arguments(posonlyargs=[], args=args, kwonlyargs=[], kw_defaults=[], defaults=[])
        node = ast.FunctionDef(name=self.tree.name, args=arguments, body=definitions + parts + [placed(end, at)], decorator_list=[],
                               returns=None, type_comment=None, type_params=[])
        placed(node, at)
        node._grown = set(piece.lists) - self.read
        function = _compiled(node, self.function, self.classes, [], [])
        known[id(function.__code__)] = node, self.classes, function.__code__
        return self.make(function)


class _Piece:
    def __init__(self, name, inputs, outputs, lists, jumps, read):
        self.name, self.inputs, self.outputs, self.lists, self.jumps, self.read = name, inputs, outputs, lists, jumps, read

    def end(self, how, value=None):
        """The statement that ends the function."""
        values = [name_node(n) for n in self.outputs]
        if self.jumps:
            values = [constant(how), value or constant(None)] + values
        return ast.Return(ast.Tuple(elts=values, ctx=LOAD) if values else None)

    def called(self, at, sure, plain, leave):
        """Statements that call the function, or run `plain`."""
        call = ast.Call(func=name_node(self.name), args=[name_node(n) for n in self.inputs + self.lists], keywords=[])
        targets = ([PREFIX + "how", PREFIX + "value"] if self.jumps else []) + self.outputs
        if targets:
            call = ast.Assign(targets=[ast.Tuple(elts=[name_node(n, STORE) for n in targets], ctx=STORE)], value=call)
        else:
            call = ast.Expr(call)
        out = [call]
        if self.jumps:
            value = ast.If(test=_equal(PREFIX + "how", RETURN), body=[ast.Return(name_node(PREFIX + "value"))], orelse=[])
            out.append(ast.If(test=name_node(PREFIX + "how"), body=[value, leave], orelse=[]))
        unsure = [n for n in self.inputs if n not in sure]
        test = ast.Attribute(name_node(self.name), "_pays", LOAD)
        if not unsure:
            return [placed(ast.If(test=test, body=out, orelse=plain), at)]
        ready = PREFIX + "ready"
        check = ast.Assign(targets=[name_node(ready, STORE)], value=test)
        reads = ast.Expr(ast.Tuple(elts=[name_node(n) for n in unsure], ctx=LOAD))
        handler = ast.ExceptHandler(type=ast.Name("UnboundLocalError", LOAD), name=None,
                                    body=[ast.Assign(targets=[name_node(ready, STORE)], value=constant(False))])
        guarded = ast.Try(body=[check, reads], handlers=[handler], orelse=[], finalbody=[])
        return [placed(guarded, at), placed(ast.If(test=name_node(ready), body=out, orelse=plain), at)]

    def growing(self, loop, at):
        """The loop with lists in place of those that it appends to; these get what is in them at its end."""
        if not self.lists:
            return loop
        for node in of_kind(loop, ast.Name):
            if node.id in self.lists:
                node.id = PREFIX + node.id
        out = [ast.Assign(targets=[name_node(PREFIX + n, STORE)],
                          value=ast.Call(func=name_node(PREFIX + "Grown"), args=[name_node(n)] if n in self.read else [], keywords=[]))
               for n in self.lists]
        give = [ast.Assign(targets=[ast.Subscript(name_node(n), ast.Slice(None, None, None), STORE)], value=name_node(PREFIX + n))
                if n in self.read else
                ast.Expr(ast.Call(func=ast.Attribute(name_node(n), "extend", LOAD), args=[name_node(PREFIX + n)], keywords=[]))
                for n in self.lists]
        out.append(ast.Try(body=loop, handlers=[], orelse=[], finalbody=give))
        return [placed(part, at) for part in out]


class _Jumps:
    """The statements of a turn with what leaves it as what ends a function."""

    def __init__(self, piece):
        self.piece = piece

    def block(self, body, inner=False):
        return [self._statement(statement, inner) for statement in body]

    def _statement(self, node, inner):
        if isinstance(node, ast.Return):
            return placed(self.piece.end(RETURN, node.value), node)
        if isinstance(node, (ast.Break, ast.Continue)):
            how = BREAK if isinstance(node, ast.Break) else NORMAL
            return node if inner else placed(self.piece.end(how), node)
        loop = isinstance(node, LOOPS)
        for name in ("body", "orelse", "finalbody"):
            if getattr(node, name, None):
                setattr(node, name, self.block(getattr(node, name), inner or (loop and name == "body")))
        for handler in getattr(node, "handlers", ()):
            handler.body = self.block(handler.body, inner)
        return node


def _local_functions(tree):
    """Functions that a function makes once, and that are the same wherever they are made: name -> statement."""
    stored = [n.id for n in of_kind(tree, ast.Name) if not isinstance(n.ctx, ast.Load)]
    stored += [n.name for n in of_kind(tree, DEFINITIONS[:3]) if n is not tree]
    found = {}
    for node in tree.body:
        plain = isinstance(node, ast.FunctionDef) and not node.decorator_list
        named = isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda) and isinstance(node.targets[0], ast.Name)
        if not plain and not (named and len(node.targets) == 1):
            continue
        name, args = (node.name, node.args) if plain else (node.targets[0].id, node.value.args)
        inside = Bound(node.body if plain else [node.value.body])
        outer = of_kind(node, (ast.Global, ast.Nonlocal))
        if stored.count(name) == 1 and not args.defaults and not any(args.kw_defaults) and not inside.yields and not outer:
            found[name] = node
    return found


def _captured(definition):
    return free_names(definition.value if isinstance(definition, ast.Assign) else definition)


def _is_only_called(body, name):
    """True if the statements do no more with a function than call it."""
    known = {id(call.func) for call in of_kind(body, ast.Call)}
    return all(id(node) in known for node in of_kind(body, ast.Name) if node.id == name and isinstance(node.ctx, ast.Load))


def _name_of(node):
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def _equal(name, value):
    return ast.Compare(left=name_node(name), ops=[ast.Eq()], comparators=[constant(value)])


def _outermost(body):
    """The statements, and those in them, but for what is in loops and definitions."""
    for node in body:
        yield node
        if not isinstance(node, (*LOOPS, *DEFINITIONS)):
            for name in ("body", "orelse", "finalbody"):
                yield from _outermost(getattr(node, name, ()))
            for handler in getattr(node, "handlers", ()):
                yield from _outermost(handler.body)


def _jumps(body, inner=False):
    """True if statements of a turn may leave it before its end."""
    for node in body:
        if isinstance(node, ast.Return) or (not inner and isinstance(node, (ast.Break, ast.Continue))):
            return True
        loop = isinstance(node, LOOPS)
        parts = [handler.body for handler in getattr(node, "handlers", ())]
        if any(_jumps(part, inner) for part in parts + [getattr(node, "finalbody", [])]):
            return True
        if _jumps(getattr(node, "body", ()), inner or loop) or _jumps(getattr(node, "orelse", ()), inner):
            return True
    return False


def _returns(loop):
    return any(isinstance(node, ast.Return) for node in statements_of([loop]))


def _ends_with_finally(body):
    """True if something is done behind a jump."""
    return any(getattr(node, "finalbody", None) and _jumps([node]) for node in statements_of(body))


def _is_own(body, classes):
    """True if the statements read and bind names as any function does."""
    for node in walk(body):
        if isinstance(node, FOREIGN) or (isinstance(node, ast.GeneratorExp) and not getattr(node, "_eager", False)):
            return False
        name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
        if name.startswith(PREFIX) or (classes and name.startswith("__") and isinstance(node, ast.Name)):
            return False
    return True


def _surely(body):
    """Names that the statements bind wherever a turn ends."""
    names = set()
    for statement in body:
        if _jumps([statement]):
            break
        if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            names |= bound_surely(statement)
        elif isinstance(statement, ast.If):
            names |= _surely(statement.body) & _surely(statement.orelse)
    return names - unbound_in(body)


def _grown_in(body):
    """Names of what the statements make longer."""
    return {_name_of(c.func.value) for c in of_kind(body, ast.Call)
            if isinstance(c.func, ast.Attribute) and c.func.attr in ("append", "extend", "insert")
            and isinstance(c.func.value, ast.Name)}


def _compiled(node, function, classes, names, cells):
    """A function of the node with the cells and globals of `function`, and cells of its own."""
    code = function.__code__
    free = [n for n in code.co_freevars if n != "__class__"]
    module = module_around(node, tuple(free) + tuple(names), classes)
    made = compile(module, code.co_filename, "exec", flags=code.co_flags & FUTURE, dont_inherit=True)
    inner = inner_code(made, node.name)
    outer = dict(zip(code.co_freevars, function.__closure__ or ()))
    outer.update(zip(names, cells))
    new = types.FunctionType(inner, function.__globals__, function.__name__, None, tuple(outer[n] for n in inner.co_freevars))
    new.__qualname__ = function.__qualname__
    new.__module__ = function.__module__
    return new
