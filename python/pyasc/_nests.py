"""Loops described for the nest compiler (trace/nest.c): their syntax as nested tuples.

A description is (kind, line, value, part, ...), parts being descriptions or None. Jumps are gone:
`break`, `continue` and `return` set flags, and what follows them runs under `if no flag is set`. A
loop that holds what has no description here is not described: its inner loops may be.
"""

import ast
from dataclasses import dataclass, field

from ._forms import FORMS
from ._lists import appended
from ._nodes import placed, PREFIX, statements_of
from ._scopes import Bound
from ._source import definition_of, NotRewritten

OPERATORS = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.MatMult: "matmul", ast.Pow: "pow", ast.LShift: "lshift", ast.RShift: "rshift", ast.BitAnd: "and_",
    ast.BitOr: "or_", ast.BitXor: "xor", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Is: "is", ast.IsNot: "is not", ast.USub: "neg",
    ast.UAdd: "pos", ast.Invert: "invert", ast.Not: "not",
}



#: Keywords of methods that draw random numbers; others have no description.
DRAWN = {"low", "high", "loc", "scale", "size", "a"}


class NotDescribed(Exception):
    """The loop holds what the nest compiler does not know."""


@dataclass
class Nest:
    """A described loop: `inputs` are the names of its slots, `outer` the names from outside."""

    description: tuple
    inputs: list
    outer: list
    outputs: list  # slots of the names that are read behind the loop
    returns: int   # the slot of the flag that says so, or -1; the value is in the next one
    unread: set    # names of slots whose values at the head are not read


@dataclass
class _Loop:
    ends: int    # slot of the flag that ends it, or -1
    skips: int   # slot of the flag that ends a turn


def _is_number_in_words(node):
    """True of `float("inf")` and the like."""
    known = isinstance(node.func, ast.Name) and node.func.id == "float" and len(node.args) == 1 and not node.keywords
    text = node.args[0].value if known and isinstance(node.args[0], ast.Constant) else None
    return isinstance(text, str) and text.strip().lower().lstrip("+-") in ("inf", "infinity", "nan")


@dataclass
class _Describer:
    mangled: object                               # a name as the class has it
    local: set                                    # names of the function's own
    slots: dict = field(default_factory=dict)
    outer: dict = field(default_factory=dict)
    loops: list = field(default_factory=list)
    lists: dict = field(default_factory=dict)     # that it may fill -> their Filled
    grown: set = field(default_factory=set)       # that may be filled by a loop by itself
    counts: dict = field(default_factory=dict)    # those that it does -> slot of how many there are
    flags: int = 0
    returns: int = -1

    def slot(self, name):
        return self.slots.setdefault(name, len(self.slots))

    def flag(self):
        self.flags += 1
        return self.slot(f" {self.flags}")

    # Expressions.

    def expression(self, node):
        method = _EXPRESSIONS.get(type(node))
        if method is None:
            raise NotDescribed(type(node).__name__)
        return method(self, node)

    def _Name(self, node):
        if node.id in self.local:
            return ("name", node.lineno, self.slot(node.id))
        return ("outer", node.lineno, self.outer.setdefault(node.id, len(self.outer)))

    def _Constant(self, node):
        if not isinstance(node.value, (bool, int, float, complex, type(None))):
            raise NotDescribed
        return ("const", node.lineno, node.value)

    def _BinOp(self, node):
        if type(node.op) not in OPERATORS:
            raise NotDescribed
        return ("binary", node.lineno, OPERATORS[type(node.op)], self.expression(node.left),
                self.expression(node.right))

    def _UnaryOp(self, node):
        return ("unary", node.lineno, OPERATORS[type(node.op)], self.expression(node.operand))

    def _Compare(self, node):
        if not all(type(op) in OPERATORS for op in node.ops):
            raise NotDescribed
        return ("compare", node.lineno, tuple(OPERATORS[type(op)] for op in node.ops),
                self.expression(node.left), *map(self.expression, node.comparators))

    def _BoolOp(self, node):
        kind = "and" if isinstance(node.op, ast.And) else "or"
        return (kind, node.lineno, None, *map(self.expression, node.values))

    def _IfExp(self, node):
        return ("choice", node.lineno, None, *map(self.expression, (node.test, node.body, node.orelse)))

    def _Call(self, node):
        names = tuple(k.arg for k in node.keywords)
        if _is_number_in_words(node):  # which must not go to another function
            number = ("const", node.lineno, float(node.args[0].value))
            return ("call", node.lineno, ("text",), self.expression(node.func), number)
        if not set(names) <= (DRAWN if isinstance(node.func, ast.Attribute) else set()) or any(isinstance(a, ast.Starred) for a in node.args):
            raise NotDescribed
        method = node.func if isinstance(node.func, ast.Attribute) and not node.args else None
        if method and method.attr == "pop" and isinstance(method.value, ast.Name) and method.value.id in self.local:
            return ("pop", node.lineno, None, self._Name(method.value))
        values = [*node.args, *(k.value for k in node.keywords)]
        return ("call", node.lineno, names or None, self.expression(node.func), *map(self.expression, values))

    def _Attribute(self, node):
        return ("attribute", node.lineno, self.mangled(node.attr), self.expression(node.value))

    def _Subscript(self, node):
        name = node
        while isinstance(name, ast.Subscript):
            name = name.value
        apart = isinstance(node.ctx, ast.Store) and isinstance(name, ast.Name) and name.id in self.grown
        return ("item", node.lineno, apart or None, self.expression(node.value), self.expression(node.slice))

    def _Slice(self, node):
        return ("slice", node.lineno, None, *(p and self.expression(p) for p in (node.lower, node.upper, node.step)))

    def _List(self, node):
        return ("list", node.lineno, None, *map(self.expression, node.elts))  # for np.array alone

    def _Tuple(self, node):
        return ("tuple", node.lineno, None, *map(self.expression, node.elts))

    # Statements: each gives its descriptions and the flags that it may set.

    def block(self, body):
        out, jumps = [], set()
        for i, statement in enumerate(body):
            rest = body[i + 1:]
            if rest and isinstance(statement, ast.If) and (_leaves(statement.body) or _leaves(statement.orelse)):
                # What follows is the other way's alone.
                then, other = statement.body, statement.orelse
                then, other = (then, other + rest) if _leaves(then) else (then + rest, other)
                merged = ast.If(test=statement.test, body=then, orelse=other)
                new, flags = self.statement(placed(merged, statement))
                return out + new, jumps | flags
            new, flags = self.statement(statement)
            out += new
            jumps |= flags
            if flags and i + 1 < len(body):
                rest, more = self.block(body[i + 1:])
                line = statement.lineno
                test = ("unset", line, tuple(sorted(flags)))
                out.append(("if", line, None, test, ("block", line, None, *rest), ("block", line, None)))
                jumps |= more
                break
        return out, jumps

    def _described_block(self, body, line, first=()):
        statements, jumps = self.block(body)
        return ("block", line, None, *first, *statements), jumps

    def statement(self, node):
        method = _STATEMENTS.get(type(node))
        if method is None:
            raise NotDescribed(type(node).__name__)
        return method(self, node)

    def _do_Pass(self, node):
        return [], set()

    def _do_Expr(self, node):
        if isinstance(node.value, ast.Constant):
            return [], set()
        if not isinstance(node.value, ast.Call):
            raise NotDescribed
        into = appended(node)
        if into and into[0] in self.lists:
            return [self._append(node.lineno, *into)], set()
        if into and into[0] in self.local:
            name, item = into
            return [("push", node.lineno, name in self.grown, self.expression(item), ("name", node.lineno, self.slot(name)))], set()
        return [("evaluate", node.lineno, None, self.expression(node.value))], set()

    def _append(self, line, name, item):
        """The value says whether floats are made of the items, whether a loop by itself may fill the list, and which names from
        outside have to be NumPy."""
        count = self.counts.setdefault(name, self.slot(f" items of {name}"))
        filled = self.lists[name]
        value = (filled.floats, name in self.grown, *(self.outer.setdefault(n, len(self.outer)) for n in sorted(filled.outer)))
        return ("append", line, value, self.expression(item), ("name", line, self.slot(name)), ("name", line, count))

    def _do_Assert(self, node):
        return ([("check", node.lineno, None, self.expression(node.test))] if __debug__ else []), set()

    def _do_Raise(self, node):
        return [("check", node.lineno, None, ("const", node.lineno, False))], set()

    def _do_Assign(self, node):
        targets = [self._target(t) for t in node.targets]
        return [("assign", node.lineno, None, self.expression(node.value), *targets)], set()

    def _do_AnnAssign(self, node):
        if node.value is None or not node.simple:
            raise NotDescribed
        return [("assign", node.lineno, None, self.expression(node.value), self._target(node.target))], set()

    def _target(self, node):
        if isinstance(node, ast.Name) and node.id in self.local:
            return self._Name(node)
        if isinstance(node, ast.Subscript):
            return self._Subscript(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return ("tuple", node.lineno, None, *map(self._target, node.elts))
        raise NotDescribed

    def _do_AugAssign(self, node):
        if isinstance(node.target, (ast.Tuple, ast.Attribute)) or type(node.op) not in OPERATORS:
            raise NotDescribed
        return [("augment", node.lineno, OPERATORS[type(node.op)], self._target(node.target),
                 self.expression(node.value))], set()

    def _do_If(self, node):
        test = self.expression(node.test)
        then, jumps = self._described_block(node.body, node.lineno)
        other, more = self._described_block(node.orelse, node.lineno)
        return [("if", node.lineno, None, test, then, other)], jumps | more

    def _do_Break(self, node):
        if not self.loops:
            raise NotDescribed  # of a loop around
        flag = self.loops[-1].ends
        return [self._set(node, flag, True)], {flag}

    def _do_Continue(self, node):
        if not self.loops:
            raise NotDescribed
        flag = self.loops[-1].skips
        return [self._set(node, flag, True)], {flag}

    def _do_Return(self, node):
        if self.returns < 0:
            self.returns = self.slot(" returns")
            self.slot(" value")
        value = self.expression(node.value) if node.value else ("const", node.lineno, None)
        flags = [self.returns, *(loop.ends for loop in self.loops)]
        keep = ("assign", node.lineno, None, value, ("name", node.lineno, self.returns + 1))
        return [keep, *(self._set(node, f, True) for f in flags)], set(flags)

    def _set(self, node, flag, value):
        return ("assign", node.lineno, None, ("const", node.lineno, value), ("name", node.lineno, flag))

    def _loop(self, node, head):
        """A loop; `head` are its parts before the body."""
        inside = list(statements_of(node.body))
        leaves = any(isinstance(n, (ast.Break, ast.Return)) for n in inside)
        skips = any(isinstance(n, ast.Continue) for n in inside)
        loop = _Loop(self.flag() if leaves else -1, self.flag() if skips else -1)
        self.loops.append(loop)
        first = [self._set(node, loop.skips, False)] if skips else []
        body, jumps = self._described_block(node.body, node.lineno, first)
        self.loops.pop()
        kind = "for" if isinstance(node, ast.For) else "while"
        out = [self._set(node, loop.ends, False)] if leaves else []
        out.append((kind, node.lineno, loop.ends, *head, body))
        jumps -= {loop.ends, loop.skips}
        if node.orelse:
            other, more = self._described_block(node.orelse, node.lineno)
            test = ("unset", node.lineno, (loop.ends,) if leaves else ())
            out.append(("if", node.lineno, None, test, other, ("block", node.lineno, None)))
            jumps |= more
        return out, jumps

    def _do_For(self, node):
        return self._loop(node, (self._target(node.target), self.expression(node.iter)))

    def _do_While(self, node):
        return self._loop(node, (self.expression(node.test),))


def _methods(start):
    """Class of nodes -> the method of that name."""
    return {kind: method for name, kind in vars(ast).items() if (method := vars(_Describer).get(start + name))}


_EXPRESSIONS, _STATEMENTS = _methods("_"), _methods("_do_")


def _leaves(body):
    """True if statements behind these are never reached."""
    if not body:
        return False
    last = body[-1]
    if isinstance(last, ast.If):
        return _leaves(last.body) and _leaves(last.orelse)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))


_functions = {}  # id of code -> what describe_function gave; the code
_inner = {}      # id of the rewritten code of a function in a function -> its node as it was; the code


def keep_inner(code, node, stores):
    """For a function in a function that may be described: all that it reads of those around it is bound before its own
    definition for good, by the lines `stores` of names, so that its cells have it."""
    free = [name for name in code.co_freevars if not name.startswith(PREFIX)]
    if all(stores.get(name, 0) < node.lineno for name in free):
        _inner[id(code)] = node, code


def describe_function(function):
    """A Python function, or the form of a builtin, as (description, slots, arguments, names from outside,
    slot of the flag that it has returned), or None. Its value is in the slot behind the flag."""
    function = FORMS.get(function, function)
    code = function.__code__
    if id(code) not in _functions:
        keep_description(code, _describe(code, lambda: definition_of(function)))
    return _functions[id(code)][0]


def keep_description(code, description):
    _functions[id(code)] = description, code


def inner_description(code):
    """What describe_function gives of a function in a function, as a tuple of one; () of other code."""
    if id(code) not in _inner:
        return ()
    if id(code) not in _functions:
        keep_description(code, _describe(code, None))
    return _functions[id(code)][:1]


def _describe(code, definition):
    inner = _inner.get(id(code))
    if code.co_cellvars or code.co_flags & 0x2AC or code.co_kwonlyargcount or (code.co_freevars and not inner):
        return None  # cells, *args, generators
    try:
        tree, classes = (inner[0], ()) if inner else definition()
        if classes:
            return None  # names may be its class's own
        local = {name for name in code.co_varnames if not name.startswith(PREFIX)}
        describer = _Describer(str, local)
        for name in code.co_varnames[:code.co_argcount]:
            describer.slot(name)
        body = [placed(ast.Return(tree.body), tree)] if isinstance(tree, ast.Lambda) else tree.body
        statements, _ = describer.block(body)
    except (NotRewritten, NotDescribed, SyntaxError, OSError, ValueError, RecursionError):
        return None
    if describer.returns < 0:
        describer.returns = describer.slot(" returns")
        describer.slot(" value")
    start = describer._set(tree, describer.returns, False)
    return (("block", tree.lineno, None, start, *statements), len(describer.slots), code.co_argcount,
            tuple(describer.outer), describer.returns)


def describe(nodes, mangled, local, live, read, kind=None, uses=None):
    """Statements as a Nest, or None.

    `mangled` gives a name as its class has it; `local`: names of the function, as a set; `live`: those
    that may be read behind the statements; `read`: those whose values at their head may be read, None:
    all; `kind`: "numbers" for a function whose arguments are to be numbers, "run" for several
    statements, no array worked on outside of the loops among them. `uses`: the Liveness of the function.
    """
    describer = _Describer(mangled, local)
    loops = {id(node) for node in nodes}
    if uses:
        describer.lists = {name: filled for name, filled in uses.lists.items()
                           if name in local and filled.loop in loops and not filled.outer & local}
        describer.grown = uses.grown
    try:
        statements, _ = describer.block(nodes)
    except (NotDescribed, RecursionError):
        return None
    if describer.returns >= 0:
        statements = [describer._set(nodes[0], describer.returns, False), *statements]
    statements = [*(describer._set(nodes[0], slot, 0) for slot in describer.counts.values()), *statements]
    bound = Bound(nodes)
    names = (bound.names | set(describer.counts)) & set(live)
    outputs = [slot for name, slot in describer.slots.items() if name in names]
    return Nest(("block", nodes[0].lineno, kind, *statements), list(describer.slots), list(describer.outer),
                outputs, describer.returns, set() if read is None else set(describer.slots) - read)
