"""Random updates of windows on arrays of what the same arrays hold: large ones, which are written a block behind.

More of them: `PYASC_EXAMPLES=1000 ./run python -m pytest tests/py/test_behind_random.py`.
"""
import linecache
import os

import numpy as np
import pytest

import pyasc
from same import freeze

MARGIN = 2
DTYPES = ["f8", "f8", "f4", "f2", "i4", "i8", "i2", "u1", "?"]
EXAMPLES = int(os.environ.get("PYASC_EXAMPLES", "60"))


class Program:
    """The text of a function of two arrays with `ndim` axes."""

    def __init__(self, rng, ndim):
        self.rng, self.ndim, self.made = rng, ndim, []

    def window(self, moves=False):
        """All windows are of one shape; some lie backwards, some move with `t`."""
        parts = []
        for axis in range(self.ndim):
            low = MARGIN + int(self.rng.integers(-MARGIN, MARGIN + 1)) * int(self.rng.random() < 0.6)
            high = f"n{axis} - {2 * MARGIN - low}"
            if moves and axis == 0 and self.rng.random() < 0.5:
                parts.append("1 + t % 3:n0 - 3 + t % 3")
            elif self.rng.random() < 0.1:
                parts.append(f"{high} - 1:{low - 1 if low else None}:-1")
            else:
                parts.append(f"{low}:{high}")
        return f"{self.rng.choice(['a', 'b'])}[{', '.join(parts)}]"

    def value(self, moves, depth=0):
        pick = self.rng.random()
        if depth == 3 or pick < 0.3:
            return str(self.rng.choice(self.made)) if self.made and pick < 0.1 else self.window(moves)
        forms = ["({} + {})", "({} * {})", "({} - {} * 2)", "np.maximum({}, {})", "np.where({} > {}, 3, 2)"]
        return str(self.rng.choice(forms)).format(self.value(moves, depth + 1), self.value(moves, depth + 1))

    def statement(self, moves=False):
        kind = self.rng.random()
        if kind < 0.15 and not moves:
            text = f"v{len(self.made)} = {self.window()} + {self.value(moves)}"
            self.made.append(text.split()[0])
            return text
        if kind < 0.3:
            return f"{self.window(moves)}, {self.window(moves)} = {self.value(moves, 1)}, {self.value(moves, 1)}"
        operator = self.rng.choice(["=", "=", "+=", "*="])
        return f"{self.window(moves)} {operator} {self.value(moves)}"

    def text(self):
        lines = [", ".join(f"n{i}" for i in range(self.ndim)) + ", = a.shape"]
        lines += [self.statement() for _ in range(self.rng.integers(1, 3))]
        lines += ["for t in range(k):"] + ["    " + self.statement(True) for _ in range(self.rng.integers(1, 3))]
        lines += [self.statement() for _ in range(self.rng.integers(0, 2))]
        results = ", ".join(["a", "b.max()", self.window(), *self.made])
        return "def program(a, b, k):\n    " + "\n    ".join([*lines, f"return {results}"]) + "\n"


def arguments(rng, shape, dtypes, kind):
    """Two arrays that lie apart, one in the other, a row apart, backwards or with gaps, and the memory they lie in."""
    like = lambda dtype, shape=shape: rng.integers(0, 40, shape).astype(dtype)  # noqa: E731
    a, b = like(dtypes[0]), like(dtypes[1])
    if kind == "same":
        return (a, a), (a,)
    if kind == "backwards":
        return (a, a[::-1]), (a,)
    if kind == "a row apart":
        base = like(dtypes[0], (shape[0] + 1, *shape[1:]))
        return (base[1:], base[:-1]), (base,)
    if kind == "gaps":
        base = like(dtypes[0], (2 * shape[0], *shape[1:]))
        return (base[::2], b), (base, b)
    if kind == "turned":
        base = like(dtypes[0], shape[::-1])
        return (base.T, b), (base, b)
    return (a, b), (a, b)


@pytest.mark.parametrize("seed", range(EXAMPLES))
def test_program(seed):
    rng = np.random.default_rng(seed)
    ndim = int(rng.choice([1, 2, 2, 3]))
    text, name = Program(rng, ndim).text(), f"<behind {seed}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    plain = scope["program"]
    dtypes = [str(rng.choice(DTYPES)) for _ in "ab"]
    size = int(rng.integers(100, 400)) * 1024 // np.dtype(dtypes[0]).itemsize
    row = (1, int(rng.choice([40, 200, 513])), 20 * int(rng.choice([5, 16])))[ndim - 1]
    shape = (size // row + 5, *((row,), (20, row // 20))[ndim - 2])[:ndim]
    kind = str(rng.choice(["apart", "same", "backwards", "a row apart", "gaps", "turned"]))
    jitted = pyasc.jit(plain, numerics=str(rng.choice(["numpy", "strict"])), tier=int(rng.integers(2)),
                       threads=int(rng.integers(1, 3)))
    with np.errstate(all="ignore"):
        for call in range(4):
            seen = []
            for function in (plain, jitted):
                given, memory = arguments(np.random.default_rng(call), shape, dtypes, kind)
                try:
                    result = [bits(x) for x in function(*given, 3 - call % 2)]
                except Exception as error:
                    result = freeze(error)
                seen.append((result, [bits(x) for x in memory]))
            assert seen[1] == seen[0], (call, kind, dtypes, shape, text)


def bits(x):
    """What an array or a number is, but for the order of its axes, which is NumPy's own from 256 KiB on."""
    return freeze(x if np.size(x) < 2 else np.array(x, order="C"))
