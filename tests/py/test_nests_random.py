"""Random loops over elements, numbers and slices: compiled as a whole, they do what Python does."""

import os
import random

import numpy as np
import pytest

import pyasc
from same import freeze, outcome

EXAMPLES = int(os.environ.get("PYASC_EXAMPLES", "60"))


HELPERS = """
def twice(x):
    return x * 2

def squared(x):
    y = x
    y = y * x
    return y

def mixed(x, y):
    if x > y:
        x, y = y, x
    return x * 0.5 + y

def above(v, x):
    c = 0
    for e in v:
        if e > x:
            c += 1
    return c

def shift(v, x):
    v += x
    v[1:] = v[:-1] * 0.5

""".splitlines()


class Programs:
    """Source of functions f(a, b, m, k, x): vectors, a matrix, a vector of ints, a float."""

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.depth = 0
        self.loops = []
        self.numbers = ["s", "t"]
        self.ints = ["c"]

    def pick(self, *choices):
        return self.rng.choice(choices)

    def index(self, n="n"):
        names = [v for v in self.loops]
        simple = [str(self.rng.randrange(0, 3)), f"{n} - 1", "-1", "-2"]
        if not names:
            return self.pick(*simple)
        name = self.rng.choice(names)
        return self.pick(name, name, name, f"{name} - 1", f"{n} - 1 - {name}", f"({name} * 2) % {n}", f"k[{name}] % {n}", *simple)

    def integer(self, depth=0):
        if depth > 1:
            return self.pick("c", str(self.rng.randrange(-3, 5)), *(self.loops or ["2"]))
        return self.pick(
            lambda: self.integer(2),
            lambda: f"({self.integer(depth + 1)} {self.pick('+', '-', '*')} {self.integer(depth + 1)})",
            lambda: f"({self.integer(depth + 1)} {self.pick('//', '%')} {self.rng.randrange(1, 5)})",
            lambda: f"({self.integer(depth + 1)} {self.pick('&', '|', '^')} {self.rng.randrange(0, 9)})",
            lambda: f"max({self.integer(depth + 1)}, {self.integer(depth + 1)})",
            lambda: f"abs({self.integer(depth + 1)})",
            lambda: f"int(k[{self.index()}])",
            lambda: f"({self.integer(depth + 1)} {self.pick('<<', '>>')} {self.rng.randrange(0, 4)})",
            lambda: f"min({self.integer(depth + 1)}, len(a[{self.slice()}]))",
            lambda: f"({self.integer(depth + 1)} if {self.condition(2)} else {self.integer(depth + 1)})",
            lambda: f"int({self.number(2)})",
            lambda: f"math.floor({self.number(3)})",
            lambda: f"twice({self.integer(depth + 1)})",
            lambda: f"-{self.integer(depth + 1)} % {self.rng.randrange(1, 9)}",
            lambda: f"({self.condition(2)})",
        )()

    def number(self, depth=0):
        if depth > 2:
            return self.pick("s", "t", "x", f"{self.rng.uniform(-2, 2):.2f}", f"a[{self.index()}]", f"b[{self.index()}]")
        return self.pick(
            lambda: self.number(3),
            lambda: f"m[{self.index()}, {self.index()}]",
            lambda: f"({self.number(depth + 1)} {self.pick('+', '-', '*')} {self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} / (abs({self.number(depth + 1)}) + 1.5))",
            lambda: f"-{self.number(depth + 1)}",
            lambda: f"np.sqrt(abs({self.number(depth + 1)}))",
            lambda: f"math.sin({self.number(depth + 1)})",
            lambda: f"np.cos({self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)} if {self.condition()} else {self.number(depth + 1)})",
            lambda: f"({self.number(depth + 1)}) ** 2",
            lambda: f"min({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: f"{self.pick('a', 'b')}[{self.slice()}].{self.pick('sum', 'max', 'min', 'mean')}()",
            lambda: f"np.dot(a[:n - 2], b[2:])",
            lambda: f"{self.row()}[{self.index()}]",
            lambda: f"({self.row()} * {self.number(depth + 1)}).sum()",
            lambda: f"{self.pick('np.minimum', 'np.maximum', 'max')}({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: f"{self.pick('math.exp', 'math.atan', 'np.floor', 'np.abs', 'float', 'twice', 'squared')}({self.number(3)})",
            lambda: f"({self.number(depth + 1)} {self.pick('//', '%')} {self.rng.uniform(0.3, 2):.2f})",
            lambda: f"mixed({self.number(depth + 1)}, {self.number(depth + 1)})",
            lambda: f"k[{self.index()}]",
            lambda: f"{self.integer(1)}",
            lambda: f"above(a[{self.slice()}], {self.number(3)})",
        )()

    def row(self):
        return self.pick("m[IX]", "m[:, IX]", "m.T[IX]", "m[IX, ::-1]", "a", "b", "r", "h", "m[IX][::-1]").replace("IX", self.index())

    def vector(self):
        """Of n elements."""
        return self.pick(
            lambda: self.row(),
            lambda: f"({self.row()} {self.pick('+', '-', '*')} {self.row()})",
            lambda: f"({self.row()} * {self.number(2)})",
            lambda: f"twice({self.row()})",
            lambda: f"np.where({self.row()} < {self.number(3)}, {self.row()}, {self.row()})",
            lambda: f"{self.row()}.copy()",
            lambda: f"abs({self.row()})",
        )()

    def condition(self, depth=0):
        return self.pick(
            lambda: f"{self.number(2)} {self.pick('<', '>', '<=', '>=')} {self.number(2)}",
            lambda: f"{self.integer(1)} {self.pick('<', '==', '!=', '>')} {self.integer(1)}",
            lambda: f"{self.number(3)} > 0 and {self.integer(2)} < 3",
            lambda: f"not {self.integer(2)} % 2",
            lambda: f"0 < {self.integer(2)} <= 3 or {self.number(3)} > 1",
        )()

    def slice(self):
        names = self.loops
        ends = [f":{names[-1]} + 1", f"{names[-1]}:", f"{names[-1]} - 2:", f":-{names[-1]}", f"{names[0]} - 1:{names[-1]} + 2", f"{names[-1]}::2",
                f"c % n:{names[-1]}", f"int(k[{names[0]} % n]) - 4:"] if names else []
        return self.pick("1:", ":-1", ":n - 1", "::2", "1:n - 2", "::-1", *ends)

    def statement(self, indent):
        pad = "    " * indent
        kinds = ["number", "number", "int", "store", "store", "augment", "matrix", "row"]
        if self.depth < 3:
            kinds += ["if", "if", "for", "for"]
        if self.loops:
            kinds += ["jump", "while"]
        kind = self.rng.choice(kinds)
        if kind == "number":
            return [f"{pad}{self.pick('s', 't')} {self.pick('=', '+=', '-=', '=')} {self.number()}"]
        if kind == "int":
            return [f"{pad}c {self.pick('=', '+=')} ({self.integer()}) % 1000"]
        if kind == "store":
            return [f"{pad}{self.pick('a', 'b')}[{self.index()}] {self.pick('=', '+=', '*=')} {self.number()}"]
        if kind == "augment":
            return [f"{pad}k[{self.index()}] {self.pick('+=', '-=', '^=')} {self.integer(1)} % 50"]
        if kind == "matrix":
            return [f"{pad}m[{self.index()}, {self.index()}] = {self.number()}"]
        if kind == "row":
            return [self.pick(
                f"{pad}m[{self.index()}] = a * {self.number(2)} + b",
                f"{pad}a[1:] = a[:-1] * 0.5 + b[1:]",
                f"{pad}b[:] = np.where(a > {self.number(3)}, a, b)",
                f"{pad}m[1:-1, 1:-1] += 0.1 * (m[:-2, 1:-1] - m[2:, 1:-1])",
                f"{pad}r = m[{self.index()}] - a\n{pad}s = r.sum()",
                f"{pad}m[:, {self.index()}] *= 0.5",
                f"{pad}m[{self.index()}] = {self.vector()} * 1.0",
                f"{pad}m[:, {self.index()}] {self.pick('+=', '-=')} {self.vector()}",
                f"{pad}m[{self.index()}], m[{self.index()}] = {self.vector()} + 0.5, {self.vector()} * 0.5",
                f"{pad}a[:] = b[:] = {self.vector()} * 0.5",
                f"{pad}a[{self.slice()}] {self.pick('=', '+=', '*=')} {self.number(2)}",
                f"{pad}m[{self.slice()}, {self.index()}] -= {self.number(2)}",
                f"{pad}for e in {self.vector()}:\n{pad}    s = s * 0.5 + e",
                f"{pad}h = {self.vector()} * 0.25\n{pad}h[{self.index()}] = {self.number(3)}\n{pad}t = h.sum()",
                f"{pad}shift(m[{self.index()}], {self.number(3)})",
                f"{pad}z = np.zeros(n)\n{pad}z[{self.slice()}] = {self.number(3)}\n{pad}b += z",
                f"{pad}a[{self.index()}], b[{self.index()}] = b[{self.index()}], a[{self.index()}]",
                f"{pad}k[{self.slice()}] %= 7")]
        if kind == "jump":
            return [f"{pad}if {self.condition()}:", f"{pad}    {self.pick('break', 'continue')}"]
        self.depth += 1
        if kind == "if":
            out = [f"{pad}if {self.condition()}:"] + self.block(indent + 1)
            if self.rng.random() < 0.5:
                out += [f"{pad}else:"] + self.block(indent + 1)
        elif kind == "while":
            name = f"w{self.depth}"
            out = [f"{pad}{name} = 0", f"{pad}while {name} < {self.rng.randrange(2, 6)} and ({self.condition()}):",
                   f"{pad}    {name} += 1"]
            loops, self.loops = self.loops, self.loops[:0] + [name]
            out += [line.replace("break", "pass").replace("continue", "pass") for line in self.block(indent + 1)]
            self.loops = loops
        else:
            out = self.loop(indent)
        self.depth -= 1
        return out

    def loop(self, indent):
        pad = "    " * indent
        name = "ijlp"[len(self.loops) % 4] + str(self.depth)
        inner = self.loops[-1] if self.loops else "n"
        head = self.pick(f"for {name} in range(n)", f"for {name} in range(1, n - 1)", f"for {name} in range(n - 1, 0, -1)",
                         f"for {name} in range({inner})", f"for {name}, v in enumerate(a)", f"for {name} in range(0, n, 2)")
        out = [f"{pad}{head}:"]
        self.loops = self.loops + [name]
        out += self.block(indent + 1)
        self.loops = self.loops[:-1]
        return out

    def block(self, indent):
        return [line for _ in range(self.rng.randrange(1, 4)) for line in self.statement(indent)]

    def source(self):
        self.depth += 1
        lines = ["import math", "import numpy as np", *HELPERS, "def f(a, b, m, k, x):", "    n = len(a)", "    s = 0.0", "    t = x",
                 "    c = 0", "    r = a", "    h = b"]
        lines += self.loop(1) + self.loop(1)
        lines.append("    return s, t, c")
        return "\n".join(lines) + "\n"


class Late(Programs):
    """The same with names that are bound on some ways only, and read all the same: in loops, behind them, or not at all."""

    def number(self, depth=0):
        if depth and self.loops and self.rng.random() < 0.02:
            return self.rng.choice("uvw")
        return super().number(depth)

    def statement(self, indent):
        if self.rng.random() < 0.25:
            name, pad = self.rng.choice("uuvw"), "    " * indent
            value = self.pick(self.number, self.integer, lambda: f"({self.number(2)}) * 1j")()
            return [f"{pad}{name} = {value}"]
        return super().statement(indent)

    def source(self):
        lines = super().source().splitlines()
        result = self.pick("s, t, c, u", "a, u", "u, (v, c)", "s, w", "m, s, t", "(a, None), (u, m)")
        return "\n".join(lines[:-1] + [f"    return {result}"]) + "\n"


class Fills(Programs):
    """The same with lists that loops fill, which are returned or made into arrays; two of them are read, too."""

    def number(self, depth=0):
        if depth and self.loops and self.rng.random() < 0.04:
            return self.pick("seq[-1]", "seq[0]", f"seq[{self.integer(2)} % len(seq)]", "whole[-1]", f"seq[{self.loops[-1]}]", "float(seq[-1])")
        return super().number(depth)

    def integer(self, depth=0):
        if depth and self.loops and self.rng.random() < 0.04:
            return self.pick("len(seq)", "whole[-1]", "len(whole)", "whole[-len(whole)]", "len(out)")
        return super().integer(depth)

    def statement(self, indent):
        if self.loops and self.rng.random() < 0.12:
            return [f"{'    ' * indent}" + self.pick(lambda: f"seq.append(float({self.number()}))", lambda: f"seq.append({self.number()})",
                                                     lambda: f"whole.append({self.integer()} % 1000)")()]
        if self.loops and self.rng.random() < 0.06:
            pad = "    " * indent
            return self.pick(
                lambda: [f"{pad}if seq:", f"{pad}    s = seq.pop()"],
                lambda: [f"{pad}if len(whole) > 1:", f"{pad}    c = whole.pop() % 1000"],
                lambda: [f"{pad}while st and st[-1] > {self.integer(2)}:", f"{pad}    st.pop()", f"{pad}st.append({self.integer(1)} % 1000)"],
                lambda: [f"{pad}for e in {self.pick('seq', 'whole', 'st')}:", f"{pad}    t = t * 0.5 + e"],
                lambda: [f"{pad}s = 1.0 if {self.pick('not st', 'st and c > 1', 'seq or x > 0')} else t"])()
        if self.loops and self.rng.random() < 0.2:
            item = self.pick(self.number, self.integer, self.condition, lambda: f"({self.number(2)}) * 1j",
                             lambda: f"({self.integer(2)}, {self.number(2)})", lambda: f"[{self.number(2)}, ({self.integer(2)}, s)]",
                             lambda: self.pick("s", "t", "c", "True", "k[0]"))()
            return [f"{'    ' * indent}{self.rng.choice(['out', 'out', 'log'])}.append({item})"]
        return super().statement(indent)

    def source(self):
        lines = super().source().splitlines()
        lines.insert(lines.index("    h = b"), "    out, log, seq, whole, st = [], [x], [0.5], [3, 1], []")
        self.loops = ["i"]
        made = [f"    {self.pick('p', 'q', 'i')} = {self.pick('', 'np.array', 'sum', 'len')}([{self.pick(self.number, self.integer)()} "
                f"for i in range({self.pick('n', 'n - 1', '3')}){self.pick('', f' if {self.condition()}')}])" for _ in range(2)]
        self.loops = []
        if self.rng.random() < 0.5:
            lines[lines.index("    h = b") + 1:lines.index("    h = b") + 1] = ["    i = p = q = 1", *made]
        else:
            lines[-1:] = ["    i = p = q = 1", *made, lines[-1]]
        result = self.pick("out, s, i, p, q", "seq, s", "seq, whole", "st, seq[-2:], whole", "np.array(seq), len(whole)", "out, s, c", "out, log", "np.array(log), s", "len(out), sum(log), t", "np.array([0.5] + log[:1]), out[-3:]")
        return "\n".join(lines[:-1] + [f"    return {result}"]) + "\n"


class Puts(Programs):
    """The same with lists, and lists of lists, whose items loops read and change."""

    def place(self, n):
        loop = self.loops[-1] if self.loops else "1"
        return self.pick(f"c % {n}", f"({loop} + c) % {n}", f"{loop} % {n}", f"k[{loop} % 5] % {n}", "-1", "0", f"-c % {n} - {n}", loop)

    def number(self, depth=0):
        if depth and self.loops and self.rng.random() < 0.06:
            return self.pick(f"flt[{self.place(5)}]", f"mix[{self.place(4)}]", f"mix[{self.place(4)}] * mix[0]", f"gf[{self.place(2)}][{self.place(2)}]", f"rows[{self.place(2)}][1]",
                             f"lut[{self.place(3)}]", f"np.float64(flt[{self.place(5)}])")
        return super().number(depth)

    def integer(self, depth=0):
        if depth and self.loops and self.rng.random() < 0.06:
            return self.pick(f"tab[{self.place(6)}]", f"perm[{self.place(6)}]", f"grid[{self.place(3)}][{self.place(4)}]",
                             f"steps[{self.place(3)}]", "len(grid[1])", "len(tab)", f"steps[{self.place(3)}] * 2")
        return super().integer(depth)

    def statement(self, indent):
        pad = "    " * indent
        if self.loops and self.rng.random() < 0.25:
            return self.pick(
                lambda: [f"{pad}tab[{self.place(6)}] = ({self.integer()}) % 1000"],
                lambda: [f"{pad}tab[{self.place(6)}] += ({self.integer(1)}) % 5"],
                lambda: [f"{pad}flt[{self.place(5)}] = {self.pick('float', '', '0.5 * ')}({self.number()})"],
                lambda: [f"{pad}flt[{self.place(5)}] *= 0.5"],
                lambda: [f"{pad}mix[{self.place(4)}] = {self.pick('float', '', '0.5 * ')}({self.number()})"],
                lambda: [f"{pad}mix[{self.place(4)}] += {self.pick(self.number, lambda: str(self.rng.randrange(3)), lambda: 'c')()}"],
                lambda: [f"{pad}tru[{self.place(4)}] = bool({self.condition()})"],
                lambda: [f"{pad}if tru[{self.place(4)}]:", f"{pad}    c = c + 1"],
                lambda: [f"{pad}grid[{self.place(3)}][{self.place(4)}] = ({self.integer()}) % 1000"],
                lambda: [f"{pad}gf[{self.place(2)}][{self.place(2)}] -= float({self.number(1)})"],
                lambda: [f"{pad}e, d = {self.place(6)}, ({self.integer(1)}) % 6", f"{pad}perm[e], perm[d] = perm[d], perm[e]"],
                lambda: [f"{pad}for e in {self.pick('tab', 'steps', 'flt', 'lut')}:", f"{pad}    t = t * 0.5 + e"],
                lambda: [f"{pad}for e, (d, y) in zip(steps, rows):", f"{pad}    t = t + e * d - y"],
                lambda: [f"{pad}for row in rows:", f"{pad}    t = t + row[0] * row[1]"])()
        return super().statement(indent)

    def source(self):
        lines = super().source().splitlines()
        first = lines.index("    h = b")
        made = ["mix = [0, 2, 0, 0.5]" if self.rng.random() < 0.3 else "mix = [0] * 4", "tab, flt, tru = [0] * 6, [0.5] * 5, [False] * 4", "perm = list(range(6))", "grid = [[0] * 4 for _ in range(3)]",
                "gf = [[0.0, 1.0], [2.0, -3.0]]", "steps, lut, rows = [3, -1, 2], [0.5, 0.25, 2.0], [(1.0, 2.0), (0.5, -1.0)]",
                "e = d = y = row = 0"]
        if self.rng.random() < 0.15:
            made.append("grid[1] = grid[0]")
        if self.rng.random() < 0.1:
            made.append("tab[2] = 1.5")
        lines[first:first] = ["    " + line for line in made]
        result = self.pick("tab, s", "flt, perm", "tru, c", "grid, t", "gf, tab", "tab, flt, tru, grid, gf, perm, s", "np.array(grid), tab", "mix, s", "mix, flt, t")
        return "\n".join(lines[:-1] + [f"    return {result}"]) + "\n"


FLOATS = ["f8", "f8", "f8", "f4", "i8", "i4"]


def arguments(seed, program=0):
    rng = np.random.default_rng(seed)
    n = (9, 9, 5, 12)[program % 4]
    kinds = random.Random(program)
    a, b, m = (rng.standard_normal(shape) * 3 for shape in (n, n, (n, n)))
    if program % 3 == 0:
        a, b, m = (v.astype(kinds.choice(FLOATS)) for v in (a, b, m))
    if program % 5 == 0:
        m = np.asfortranarray(m)
    if program % 7 == 0:
        b = np.repeat(b, 2)[::2]
    k = rng.integers(0, 20, n).astype(kinds.choice(["i8", "i8", "i4", "u1"]))
    return a, b, m, k, float(rng.standard_normal())


def run(function, args):
    args = [a.copy(order="K") if isinstance(a, np.ndarray) else a for a in args]
    return outcome(function, *args), freeze(args)


#: Programs that were wrong once: a list or a generator, arrays that are written, and a result of another kind than before.
ONCE = [(Fills, 102), (Fills, 1475), (Puts, 87), (Puts, 831)]


@pytest.mark.parametrize("programs, seed", [(p, seed) for p in (Programs, Late, Fills, Puts) for seed in range(EXAMPLES)] + ONCE)
def test_program(programs, seed, tmp_path):
    """In strict mode as in Python; else in both tiers the same."""
    source = programs(seed).source()
    path = tmp_path / "program.py"
    path.write_text(source)
    scope = {"__name__": "program"}
    exec(compile(source, str(path), "exec"), scope)
    strict = pyasc.jit(scope["f"], numerics="strict", tier=1)
    loose = [pyasc.jit(scope["f"], numerics="numpy", tier=tier) for tier in (0, 1)]
    with np.errstate(all="ignore"):
        for k in (0, 0, 1, 2):
            args = arguments(1000 * seed + k, seed)
            assert run(strict, args) == run(scope["f"], args), source
            got, other = run(loose[1], args), run(loose[0], args)
            told = loose[0].explain() + loose[1].explain()
            if got[0][0] == "raised":
                continue  # no such call is kept, and some run plain
            if "fills a list" not in told and "more operations" not in told and "different paths" not in told:
                assert got == other, source  # else it runs plain, with NumPy's elementary functions
