"""Random programs on arrays of ever other lengths: windows, writes, sizes, reductions, calls."""
import linecache
import random
import warnings

import numpy as np

import pyasc

PARTS = ["1:", ":-1", "1:-1", "2:", "::2", "::-1", "1::2", "-3:", ":3", "::3", ":", "..., None", "None", "::-2",
         ":len(x) // 2", "len(x) // 2:", "1:len(x)", "x.shape[0] // 3:", "-(len(x) // 2):", ":n - 1", "n // 4:3 * n // 4",
         "n % 2:", "min(2, n):", ":max(n // 2, 1)"]
ITEMS = ["0", "-1", "1", "n // 2", "len(x) - 1", "-2", "len(x) // 3"]
UNARY = ["-{}", "np.abs({})", "{} * 2", "{} + 1.5", "{} * n", "{} / len(x)", "np.floor({})", "np.square({})", "{} * {}",
         "{}.copy()", "np.where({} > 0, {}, -1)", "{} - {}.mean()", "{} / (1 + np.abs({}).max())", "np.cumsum({})", "{} - n / 2",
         "{} * (n - 1)", "{} + {}.size", "np.sqrt(np.abs({}))", "{} - {}.min()", "np.sort({})", "np.diff({})",
         "{} * np.arange({}.shape[0])", "{} + np.zeros({}.shape)", "np.zeros_like({})", "np.roll({}, 1)", "np.ones(n)",
         "np.arange(n) * 0.5", "np.clip({}, -1, 1)", "np.concatenate([{}, {}])", "np.zeros(len({}))", "np.gradient({})",
         "np.linspace(0, 1, n)", "np.repeat({}, 2)", "{}.reshape(-1)", "np.flip({})", "{}.astype('f4')",
         "np.full({}.shape, 2.5)", "np.maximum({}, 0)", "np.round({})", "{} ** 2", "{} % 3", "{}[::-1] * 2", "np.tile({}, 2)",
         "np.pad({}, 1)", "{}.reshape(1, -1)[0]", "np.hypot({}, 1.5)", "np.outer({}, {}).sum(axis=1)", "np.stack([{}, {}])[1]",
         "np.stack([{}, {}], axis=1)[:, 0]", "({}[:, None] - {}[None, :]).sum(axis=1)", "({}[:, None] * {}[None]).max(axis=0)",
         "np.convolve({}, np.ones(3), 'same')", "np.interp({}, [0., 1.], [2., 3.])", "np.searchsorted(np.sort({}), {})",
         "np.cumprod({} * 0.1)", "np.maximum.accumulate({})", "np.broadcast_to({}, (2, n))[1]", "np.atleast_2d({})[0]"]
BINARY = ["{} + {}", "{} * {}", "{} - {}", "np.maximum({}, {})", "np.where({} > {}, 1.0, 0.0)", "{} / (2 + {} * {})"]
NUMBERS = ["{}.sum()", "{}.mean()", "{}.max()", "{}.argmax()", "len({})", "{}.shape[0]", "{}.size", "{}.std()", "{}[0]", "{}[-1]",
           "np.dot({}, {})", "{}.any()", "n", "n // 2", "n - 1", "n * 2", "({} > 0).sum()", "{}.min()", "{}.var()", "n ** 2",
           "np.median({})", "-n", "n / 3", "float(n)", "n % 4", "{}.prod()", "np.trapezoid({})", "np.count_nonzero({} > 1)",
           "int(n * 0.5)", "np.sqrt(n)", "{}.shape", "abs(n)", "divmod(n, 4)[0]", "np.log2(n)", "range(n)[-1]", "str(n)", "{}.ndim",
           "{}.nbytes", "np.size({})", "np.shape({})[0]", "{}.argmin()", "n == {}.size", "bool(n)", "(n, 3)", "[n] * 2"]
CONDITIONS = ["n > 4", "len({}) > 2", "{}.shape == {}.shape", "n % 2", "n % 2 == 0", "{}.sum() > 0", "{}.size", "n == len(x)",
              "n // 2 < 3", "{}.shape[0] != n", "n < 50", "2 < n < 40", "not n", "{}.max() > n"]
WRITES = ["{w}[1:] = {w}[:-1]", "{w}[1:-1] += 1", "{w} += 1", "{w} *= 2", "{w}[0] = 3", "{w}[-1] = {w}[0]", "{w}[::2] = 0",
          "{w}[:] = {w}[::-1]", "{w}[:n // 2] = 1", "{w}[:-1] -= {w}[1:]", "{w}[n // 2] = n", "{w}[1:] = 0.5 * ({w}[1:] + {w}[:-1])",
          "{w}[{w} > 0] = 1", "{w}[...] = n", "{w} -= {w}.mean()", "{w}[-2:] = {w}[:2]", "{w}[len(x) // 2:] *= -1", "{w}.fill(2)",
          "{w}[:-2] = {w}[2:]", "{w}.sort()", "{w}[1::2] = {w}[::2][:len({w}[1::2])]"]


# The same of two axes.
PARTS2 = ["1:", ":-1", "1:-1, 1:-1", ":, 1:", ":, :-1", "::2", ":, ::2", "::-1", ":, ::-1", "0", "-1", ":, 0", ":, -1", "None",
          "..., None", ":n // 2", ":, :m // 2", "n // 3:, m // 3:", "1:, :-1", ":2", ":, :2", "n - 1", ":, m - 1", "2:, 2:",
          ":-2, 1:-1", "1:-1, 2:", "..., 1:", "n // 2, 1:", ":min(n, m), :min(n, m)"]
UNARY2 = ["-{}", "{} * 2", "{} * n", "{} / m", "{} - {}.mean(axis=0)", "{} - {}.mean(axis=1, keepdims=True)", "{}.copy()",
          "{}.sum(axis=0)", "{}.max(axis=1)", "np.cumsum({}, axis=0)", "np.cumsum({}, axis=1)", "{}.reshape(-1)", "{}.ravel() + 1",
          "{}.reshape(m, n)", "{}.reshape(-1, 1)", "np.zeros({}.shape)", "np.ones((n, m))", "np.zeros((m, 3))[:, 0]", "{}.T + 1",
          "np.concatenate([{}, {}], axis=1)", "np.concatenate([{}, {}], axis=0)", "np.vstack([{}, {}])", "np.hstack([{}, {}])",
          "np.stack([{}, {}])", "{}.argmax(axis=1)", "{}.argmin(axis=0)", "{} @ {}.T", "np.where({} > 0, {}, m)", "np.diff({}, axis=0)",
          "{}.std(axis=0)", "{}.sum(axis=1) / m", "np.arange(n)[:, None] * np.arange(m)", "np.outer(np.arange(n), np.ones(m))",
          "np.abs({}).max(axis=0)", "{}.mean(axis=1)", "np.roll({}, 1, axis=0)", "np.dot({}, {}.T)", "{}.var(axis=1)",
          "np.sort({}, axis=1)", "{}.prod(axis=1)", "np.tile({}, 2)", "np.eye(n)", "{}.flatten()", "np.linalg.norm({}, axis=1)",
          "({}[:, None] - {}[None]).sum(axis=-1)", "{}[:, :, None].sum(axis=2)", "np.broadcast_to({}[0], (n, m))"]
NUMBERS2 = NUMBERS + ["{}.shape[1]", "n * m", "{}.sum(axis=1).max()", "m // 2", "{}[0, 0]", "{}[n // 2, m // 2]", "{}[-1, -1]"]
WRITES2 = ["{w}[1:] = {w}[:-1]", "{w}[1:-1, 1:-1] = 0.25 * ({w}[2:, 1:-1] + {w}[:-2, 1:-1])", "{w} += 1", "{w}[0] = 3", "{w}[:, 0] = n",
           "{w}[-1] = {w}[0]", "{w}[:, ::2] = 0", "{w}[:n // 2, :m // 2] *= 2", "{w}[n // 2] = m", "{w} -= {w}.mean(axis=0)",
           "{w}[...] = {w}[::-1]", "{w}[{w} > 1] = 0", "{w}[:, 1:] -= {w}[:, :-1]", "{w}[:] = {w}.sum(axis=0)", "{w}.fill(n)",
           "{w}[n - 1, m - 1] = 7", "{w}[1:] += {w}[1:] * 0.5"]
CONDITIONS2 = ["n > 4", "n == m", "{}.shape == {}.shape", "m % 2", "{}.sum() > 0", "n * m > 60", "{}.ndim == 2 and {}.shape[1] > 3",
               "n < m", "len({}) == n"]


class Program:
    def __init__(self, seed, axes=1):
        self.random = random.Random(seed)
        r = self.random
        self.axes = axes
        self.parts, self.unary, self.numbers, self.writes, self.conditions = (
            (PARTS, UNARY, NUMBERS, WRITES, CONDITIONS) if axes == 1 else (PARTS2, UNARY2, NUMBERS2, WRITES2, CONDITIONS2))
        self.names = ["x", "y"]
        self.lines = ["    n = len(x)" if r.random() < 0.5 else "    n = x.shape[0]"]
        if axes == 2:
            self.lines = ["    n, m = x.shape"]
        if r.random() < 0.8:
            self.lines.append("    x = x.copy()")
        for _ in range(r.randint(2, 7)):
            self.line()
        results = ", ".join(r.sample(self.names, min(len(self.names), r.randint(1, 3))))
        self.text = "import numpy as np\ndef f(x, y):\n" + "\n".join(self.lines) + f"\n    return {results}\n"

    def name(self):
        return self.random.choice(self.names)

    def fill(self, text):
        one = self.name()
        while "{}" in text:
            text = text.replace("{}", one if self.random.random() < 0.7 else self.name(), 1)
        return text

    def line(self, indent="    "):
        r, new = self.random, "abcdefgh"[len(self.names) % 8]
        kind = r.random()
        if kind < 0.3:
            text = f"{new} = {self.name()}[{r.choice(self.parts)}]"
        elif kind < 0.55:
            text = f"{new} = {self.fill(r.choice(self.unary))}"
        elif kind < 0.7:
            a, b = r.choice(self.parts[:10]), r.choice(self.parts[:10])
            text = f"{new} = {self.fill(r.choice(BINARY))}" if r.random() < 0.5 else f"{new} = {self.name()}[{a}] + {self.name()}[{b}]"
        elif kind < 0.8:
            text = f"{new} = {self.fill(r.choice(self.numbers))}"
        elif kind < 0.85:
            text = f"{new} = {self.name()}[{r.choice(ITEMS)}] * {self.name()}"
        elif kind < 0.95:
            self.lines.append(indent + r.choice(self.writes).replace("{w}", self.name()))
            return
        else:
            self.lines.append(f"{indent}if {self.fill(r.choice(self.conditions))}:")
            self.lines.append(f"{indent}    {self.name()} = {self.fill(r.choice(self.unary))}")
            return
        self.lines.append(indent + text)
        if new not in self.names:
            self.names.append(new)

    def function(self):
        file = f"<lengths {id(self)}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(True), file)
        namespace = {}
        exec(compile(self.text, file, "exec"), namespace)  # noqa: S102
        return namespace["f"]


def arguments(shape, seed, dtype):
    rng = np.random.default_rng(seed)
    shape = shape if isinstance(shape, tuple) else (shape,)
    x, y = rng.integers(-6, 9, (2, *shape)) / 2
    return x.astype(dtype), y.astype(dtype)


LENGTHS = [5, 8, 100, 7, 130, 300, 3, 2, 1, 64, 65, 4, 129, 6, 1000, 9, 40, 12, 100, 50, 51, 52, 53, 54, 55, 56, 200, 8, 300, 57]


SHAPES = [(5, 8), (8, 5), (6, 6), (7, 9), (30, 4), (4, 30), (3, 3), (2, 7), (1, 5), (5, 1), (12, 12), (40, 50), (50, 40), (9, 10),
          (10, 9), (11, 13), (13, 11), (64, 3), (20, 20), (6, 100), (2, 2), (16, 17), (17, 18), (18, 19), (19, 21)]


def check(seed, picture, axes=1, **options):
    """Runs a program on arrays of many shapes; what is not the same, or None."""
    program = Program(seed, axes)
    plain = program.function()
    jitted = pyasc.jit(program.function(), **options)
    lengths = program.random.sample(LENGTHS if axes == 1 else SHAPES, 16)
    dtype = program.random.choice(["f8", "f8", "f8", "f4", "i8"])

    def outcome(function, args):
        try:
            return "returned", picture(function(*args)), picture(args)
        except Exception as error:
            return "raised", type(error).__name__, str(error), picture(args)

    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn, length in enumerate(lengths):
            expected = outcome(plain, arguments(length, seed + turn, dtype))
            got = outcome(jitted, arguments(length, seed + turn, dtype))
            if got != expected:
                return f"{program.text}seed {seed}, turn {turn}, length {length} {dtype}:\n{got}\ninstead of\n{expected}"
    return None
