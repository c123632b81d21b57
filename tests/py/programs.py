"""Random programs: real source text, generated line by line beside a NumPy run that says what is valid.

A program is a module with globals, a helper, and a function `f(x, y, z, s, n, log)` that is an
inner function with a cell. Lines that raise are mostly thrown away, so that programs get long;
some stay, so that exceptions are compared too.
"""
import linecache

import numpy as np

DTYPES = ["f8", "f8", "f8", "f4", "f4", "f2", "i8", "i4", "i2", "u1", "u8", "?", "c16", "c8"]
BINARY = ["+", "-", "*", "/", "+", "-", "*", "//", "%", "<", "<=", ">", ">=", "==", "!=", "&", "|", "^"]
UNARY = ["-{}", "abs({})", "np.sqrt({})", "np.exp({})", "np.sin({})", "np.floor({})", "~{}", "np.square({})",
         "np.sign({})", "{}.conj()", "{}.real", "{}.imag", "np.isnan({})", "np.tanh({})", "np.log1p(np.abs({}))",
         "{}.copy()", "+{}", "np.rint({})", "np.logical_not({})", "{}**2", "{}**0.5", "{}**3", "np.negative({})"]
CALLS = ["np.maximum({}, {})", "np.minimum({}, {})", "np.where({} > 0, {}, 0)", "np.hypot({}, {})", "np.power({}, 2) + {}",
         "np.logical_and({}, {})", "np.arctan2({}, {})", "np.add({}, {}, dtype='f8')", "np.where({} > {}, 1.5, s)",
         "np.heaviside({}, {})", "np.copysign({}, {})", "np.divide({}, {})", "np.subtract({}, {})"]
VIEWS = ["{}[1:]", "{}[:-1]", "{}[::-1]", "{}[::2]", "{}.T", "{}.reshape(-1)", "{}.ravel()", "{}[None]", "{}[..., None]",
         "{}[0]", "{}[-1]", "{}[..., 0]", "{}[:, 0]", "{}[:, ::-1]", "{}[1:, 1:]", "{}[:]", "{}[...]",
         "np.swapaxes({}, 0, -1)", "np.atleast_2d({})", "{}[:n]", "{}[n:]", "{}[-n:]", "np.squeeze({})",
         "np.broadcast_to({}, (2,) + {}.shape)"]
REDUCTIONS = ["{}.sum()", "{}.sum(axis=0)", "{}.sum(axis=-1, keepdims=True)", "{}.mean()", "{}.mean(axis=0)",
              "np.max({}, axis=0, initial=5)", "{}.any()", "np.all({} > -9)", "{}.prod()", "np.argmax({})", "{}.cumsum()",
              "np.cumsum({}, axis=0)", "{}.std()", "np.linalg.norm({})", "np.count_nonzero({})", "{}.var(axis=0)",
              "{}.min()", "np.median({})", "{}.size", "{}.shape[0]", "{}.ndim", "len({})"]
LIBRARY = ["np.concatenate([{}, {}])", "np.stack([{}, {}])", "{} @ {}", "np.dot({}, {})", "np.outer({}, {})",
           "np.sort({}, axis=-1)", "np.zeros_like({})", "np.arange(n) + {}", "np.ones(n)", "{}[{} > 0]", "{}[[0, -1]]",
           "np.take({}, [0, 0, 1], axis=0)", "{}.astype('{dtype}')", "np.full((n,), s)", "np.argsort({}, kind='stable')",
           "np.roll({}, 1)", "np.diff({})", "np.linspace(0, 1, n)", "np.repeat({}, 2)", "np.clip({}, -1, 2)",
           "np.array([{}, {}])", "np.tile({}, 2)", "np.eye(n)", "np.flip({})", "np.unique({})", "np.round({}, 1)",
           "np.asarray({}, dtype='{dtype}')", "np.cross({}, {})", "np.searchsorted(np.sort({}.ravel()), {})"]
WRITES = ["{w} += {e}", "{w} -= {e}", "{w} *= {e}", "{w} /= {e}", "{w} //= {e}", "{w} **= 2", "{w}[:] = {e}", "{w}[0] = {e}",
          "{w}[1:] = {w}[:-1]", "{w}[:-1] = {w}[1:] + {e}", "{w}[::-1] = {w}", "{w}[{w} > 0] = {k}", "{w}[{w} < s] *= 2",
          "np.add({e}, {a}, out={w})", "np.sqrt({a}, out={w})", "{w}[[0, -1]] = {k}", "{w}[...] = {e}", "{w}[-1] += {k}",
          "{w}[::2] += {k}", "{w}[..., 0] = {k}", "{w}[0], {w}[-1] = {w}[-1], {w}[0]", "{w}.fill({k})", "{w}.sort()",
          "np.multiply({w}, {e}, {w})", "{w}.T[...] = {e}", "{w}.ravel()[0] = {k}", "np.copyto({w}, {e})",
          "{w}[1:] += {w}[:-1]", "np.cumsum({w}, out={w})", "if {w}.flags.writeable: np.add.at({w}, [0, 0], {k})", "{w}[n:] = {e}", "{w} ^= {e}",
          "{w}.flat[0] = {k}", "np.put({w}, [0], {k})", "{w}[:, 0] = {e}", "np.clip({w}, -2, 2, out={w})",
          "{w}[{w} == {w}] = {k}", "np.negative({w}, where={w} > 0, out={w})", "{w}.sum(out={w}[0:1].reshape(()))"]
CONDITIONS = ["{}.sum() > {k}", "{}.ndim > 1", "{}.shape[0] > 2", "({} > 0).all()", "({} > 0).any()", "s > 0.5", "n > 2",
              "np.mean({}) < 1", "{}.size and s < 2", "not {}.any()", "{}.dtype == np.float64", "{}.flat[0] > 0",
              "float(np.sum({})) > 1.0", "{} is {}", "len(log) % 2", "isinstance({}, np.ndarray)", "abs(s) < 1 or n == 3",
              "0 < {}.sum() < 10", "int({}.shape[0]) in (2, 3)"]
SCALARS = ["2", "0.5", "-1", "3", "1.5", "s", "n", "C", "np.float32(1.25)", "np.int16(3)", "True", "1e3", "-0.0", "(s + 1)",
           "s * n", "K[1]", "7", "len(log)"]


EFFECTS = ["out.append({a})", "out.append({a}.copy())", "out.append(s)", "box['k'] = {a}", "box[n] = s", "obj.a = {a}",
           "obj.a = {a} * {k}", "obj.t = obj.t + 1.5", "obj.t += s", "obj.n += 1", "obj.n = obj.n * 2 % 7", "w = obj.a * {k}",
           "obj.a += {k}", "w = obj.t * {a}", "w = obj.n + {a}", "w = rng.normal(size={a}.shape)", "w = rng.random() * {a}",
           "w = rng.uniform(0, 1, 3)", "obj.a[...] = {k}", "obj.v = {a}", "out.append(obj.n)", "w = {a} if obj.n % 2 else {b}",
           "out.extend([s, n])", "w = rng.integers(0, 5, 3)", "s = s + obj.t"]


class Holder:
    """An object from outside of a program's function."""

    def __init__(self):
        self.a, self.t, self.n = np.arange(3.0), 0.5, 1


class Program:
    """Source text and what is needed to run it."""

    def __init__(self, rnd):
        self.rnd = rnd
        self.specs = [self._array_spec() for _ in range(3)]
        self.scalar = rnd.choice([0.25, 0.75, 1.5, -2.0, 3.0])
        self.count = rnd.choice([0, 1, 2, 3, 3, 4])
        self.constant = rnd.choice([2, 1.5, -0.5, True])
        self.names = 0
        args = self.arguments(0)
        self.env = {"np": np, "K": np.arange(3.0) + 0.5, "C": self.constant,
                    "cell": np.ones(args[0].shape[-1:] or 1), "helper": lambda a, b: a * 2 + b,
                    **dict(zip("xyzsn", args)), "log": [], "out": [], "box": {}, "obj": Holder(),
                    "rng": np.random.default_rng(7)}
        self.body = self._block(1, rnd.randint(3, 12))
        self.body.append("    " + self._return())
        self.source = self._module()

    # Arguments.

    def _array_spec(self):
        rnd = self.rnd
        ndim = rnd.choice([0, 1, 1, 1, 2, 2, 2, 3])
        base = rnd.choice([(2, 3, 4), (4, 3, 3), (1, 2, 3), (2, 1, 3), (5, 3, 3), (3, 3, 3)])
        shape = base[3 - ndim:]
        if rnd.random() < 0.05:
            shape = (0, *shape[1:])
        layout = rnd.choice(["C", "C", "C", "F", "strided", "reversed", "offset", "readonly", "T"])
        return rnd.choice(DTYPES), shape, layout

    def arguments(self, seed):
        """Fresh arguments of the program's signature."""
        rng = np.random.default_rng(seed)
        arrays = [make_array(rng, *spec) for spec in self.specs]
        return [*arrays, self.scalar if seed < 2 else self.scalar + seed / 4, self.count]

    # Lines.

    def _pick(self, wanted=lambda v: True):
        names = [k for k, v in self.env.items() if isinstance(v, (np.ndarray, np.generic)) and wanted(v)]
        return self.rnd.choice(names) if names else "x"

    def _local(self):
        name = self._pick()
        return "x" if name in ("K", "cell", "C") else name

    def _array(self):
        return self._pick(lambda v: isinstance(v, np.ndarray))

    def _operand(self):
        return self.rnd.choice(SCALARS) if self.rnd.random() < 0.3 else self._pick()

    def expression(self, depth=0):
        rnd = self.rnd
        kind = rnd.randrange(12)
        inner = lambda: (f"({self.expression(depth + 1)})" if depth < 2 and rnd.random() < 0.3  # noqa: E731
                         else self._operand())
        if kind < 4:
            return f"{inner()} {rnd.choice(BINARY)} {inner()}"
        if kind < 6:
            return rnd.choice(UNARY).format(self._pick())
        if kind == 6:
            return rnd.choice(CALLS).format(inner(), inner())
        if kind < 9:
            return rnd.choice(VIEWS).format(*[self._array()] * 2)
        if kind == 9:
            return rnd.choice(REDUCTIONS).format(self._array())
        if kind == 10:
            return rnd.choice(LIBRARY).format(self._array(), self._array(), dtype=rnd.choice(DTYPES))
        return f"helper({self._operand()}, {self._pick()})"

    def _line(self):
        rnd = self.rnd
        kind = rnd.randrange(26)
        if kind >= 24:
            return rnd.choice(EFFECTS).format(a=self._array(), b=self._array(), k=rnd.choice(SCALARS))
        if kind >= 20:
            kind = 0
        if kind < 11:
            name = self._pick() if rnd.random() < 0.25 else "K"
            if name in ("K", "cell", "C"):
                self.names += 1
                name = f"v{self.names}"
            return f"{name} = {self.expression()}"
        if kind < 17:
            written = self._array()
            return rnd.choice(WRITES).format(w=written, e=self.expression(1), a=self._array(), k=rnd.choice(SCALARS))
        if kind == 17:
            return f"log.append({rnd.choice(REDUCTIONS).format(self._array())})"
        if kind == 18:
            a, b = self._local(), self._local()
            return f"{a}, {b} = {b}, {a}"
        return rnd.choice(["cell[:] = {k}", "K[0] = K[0] + 1", "log.append(s)", "s = s + 1", "n = n + 1",
                           "g = lambda a: a * s + {a}; w = g({a})", "w = [{a} + i for i in range(2)][1]",
                           "pair = ({a}, {b}); w = pair[1] - 1", "d = {{'k': {a}}}; w = d['k'] * 2",
                           "import math; w = math.sqrt(abs(s)) * {a}", "w = {a}; w += {k}", "w = sum([{a}, {b}])", "w = max(s, n)",
                           "assert {a}.ndim < 3", "w = (lambda: {a})()", "q = {a}; q += {k}",
                           "w = float(np.sum({a}))", "w = round(s, 1) * {a}", "w = {a} if n else {b}"]).format(
            a=self._array(), b=self._array(), k=rnd.choice(SCALARS))

    def _try(self, line):
        """True if the line runs here (its effects on the environment stay)."""
        code = line.replace("\n    ", "\n")
        try:
            exec(compile(code, "<line>", "exec"), self.env)
        except Exception:
            return False
        finally:
            self.env.pop("__builtins__", None)
        return all(v.size < 2000 for v in self.env.values() if isinstance(v, np.ndarray))

    def _block(self, depth, length):
        rnd, out, pad = self.rnd, [], "    " * depth
        attempts = 0
        while len(out) < length and attempts < 8 * length:
            attempts += 1
            if depth < 4 and rnd.random() < 0.12:
                out += self._compound(depth)
                continue
            line = self._line()
            if self._try(line) or rnd.random() < 0.01:
                out.append(pad + line)
        return out or [pad + "pass"]

    def _compound(self, depth):
        rnd, pad = self.rnd, "    " * depth
        kind = rnd.randrange(6)

        def inside():
            before = set(self.env)
            lines = self._block(depth + 1, rnd.randint(1, 3))
            for name in set(self.env) - before:
                del self.env[name]  # it may not be bound behind the block
            return lines

        if kind < 3:
            condition = rnd.choice(CONDITIONS).format(self._array(), self._array(), k=rnd.choice(SCALARS))
            if not self._try(f"_c = bool({condition})"):
                condition = "n > 2"
            self.env.pop("_c", None)
            out = [f"{pad}if {condition}:", *inside()]
            if rnd.random() < 0.6:
                out += [f"{pad}else:", *inside()]
            return out
        if kind == 3:
            self.env["i"] = 1
            return [f"{pad}for i in range({rnd.choice(['2', '3', 'n', 'len(x)' if self._try('len(x)') else '2'])}):",
                    *inside()]
        if kind == 4:
            name = self._array()
            self.env["row"] = self.env[name][0] if self.env[name].ndim and len(self.env[name]) else np.float64(1)
            return [f"{pad}for row in {name}:" if self.env[name].ndim else f"{pad}for row in (x, y):", *inside()]
        self.names += 1
        limit = f"t{self.names}"
        return [f"{pad}{limit} = 0", f"{pad}while {limit} < {rnd.choice(['2', '3', 'min(n, 3)'])}:",
                f"{pad}    {limit} += 1", *inside()]

    def _return(self):
        rnd = self.rnd
        names = [k for k, v in self.env.items() if isinstance(v, (np.ndarray, np.generic, float, int))
                 and k not in ("K", "C", "cell") or k in ("x", "y", "z")]
        chosen = [rnd.choice(names) for _ in range(rnd.randint(1, 4))]
        form = rnd.randrange(5)
        if form == 0 or len(chosen) == 1:
            return f"return {chosen[0]}"
        if form == 1:
            return f"return [{', '.join(chosen)}]"
        if form == 2:
            return "return {" + ", ".join(f"'{k}': {c}" for k, c in enumerate(chosen)) + "}"
        return f"return {', '.join(chosen)}"

    def _module(self):
        return "\n".join([
            "import numpy as np", f"C = {self.constant!r}", "K = np.arange(3.0) + 0.5",
            "from programs import Holder", "obj, box, rng = Holder(), {}, np.random.default_rng(7)", "",
            "def helper(a, b):", "    c = a * 2", "    return c + b", "",
            "def make(size):", "    cell = np.ones(size)", "    out = []", "    def f(x, y, z, s, n, log):",
            *("    " + line for line in self.body), "    return f, cell, out", ""])

    def load(self, path):
        """The module's function and what it captured, in a namespace of its own."""
        namespace = {"__name__": "program"}
        linecache.checkcache(str(path))
        exec(compile(self.source, str(path), "exec"), namespace)
        x = self.arguments(0)[0]
        function, cell, out = namespace["make"](x.shape[-1:] or 1)
        return function, [cell, namespace["K"], out, *(namespace[name] for name in ("obj", "box", "rng"))]


def make_array(rng, dtype, shape, layout):
    """Values with few NaNs, zeros of both signs, and small integers, in a layout."""
    dtype = np.dtype(dtype)
    wide = tuple(n * 2 for n in shape) if layout == "strided" else shape
    if layout in ("T", "F"):
        wide = shape[::-1]
    values = rng.integers(-4, 6, wide)
    if dtype.kind == "u":
        values = abs(values)
    if dtype.kind in "fc":
        values = values + rng.choice([0.0, 0.25, 0.5], wide)
        if dtype.kind == "c":
            values = values + 1j * rng.integers(-2, 3, wide)
    a = np.array(values, dtype=dtype)
    if dtype.kind == "f" and a.size and rng.random() < 0.3:
        a.reshape(-1)[0] = rng.choice([np.nan, np.inf, -0.0])
    if layout == "strided":
        a = a[tuple(slice(None, None, 2) for _ in shape)]
    elif layout in ("T", "F"):
        a = a.T
    elif layout == "reversed" and a.ndim:
        a = a[::-1]
    elif layout == "offset" and a.ndim:
        a = np.concatenate([a.reshape(-1)[:1], a.reshape(-1)])[1:].reshape(shape) if a.size else a
    elif layout == "readonly":
        a.flags.writeable = False
    return a
