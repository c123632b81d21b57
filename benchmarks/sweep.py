"""Every kind of operation at every size: where is pyasc slower than NumPy?

    ./run python benchmarks/sweep.py [--sizes 1 16 ...] [--only PATTERN] [--numerics numpy|strict]
                                     [--below 0.95] [--budget SECONDS] [--json FILE]

A row is a function and a dtype, a column a size; an entry is NumPy's time divided by pyasc's, medians
of interleaved rounds. At the end come the entries below the bound, measured a second time, as one
of some hundred is low by chance.
"""

import argparse
import fnmatch
import json
import sys

import numpy as np

import common
import pyasc

SIZES = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1_000_000, 10_000_000]


def cases():
    """(name, function, dtypes, operands)"""
    def named(name, function, dtypes="dfli", n=2):
        function.__name__ = name.replace(" ", "_")
        return name, function, dtypes, n

    yield named("add", lambda x, y: x + y, "dfeliBD")
    yield named("divide", lambda x, y: x / y, "dfi")
    yield named("chain 2", lambda x, y: (x + y) * 2)
    yield named("chain 5", lambda x, y: ((x + y) * 2 - x) * y + 1)
    yield named("chain 10", lambda x, y: ((((x + y) * 2 - x) * y + 1) * x - y) * 3 + x * y - 7)
    yield named("compare", lambda x, y: x < y)
    yield named("select", lambda x, y: np.where(x > y, x - y, y), "dfi")
    yield named("clip", lambda x: np.clip(x, 1, 2), "dfi", 1)
    yield named("sqrt", lambda x: np.sqrt(x), "df", 1)
    yield named("cast", lambda x: x.astype(np.float32), "dil", 1)
    yield named("floor_divide", lambda x, y: x // y, "dil")
    yield named("remainder", lambda x, y: x % y, "dil")
    yield named("shift", lambda x, y: (x << 2) ^ (y >> 1), "il")
    yield named("in place", _in_place, "dfi")
    yield named("strided", lambda x, y: x[::2] + y[::2])
    yield named("reversed", lambda x, y: x[::-1] * y)
    yield named("outer", _outer, "df")
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos",
                 "arctan", "sinh", "cosh", "tanh", "cbrt"):
        yield named(name, _of_one(getattr(np, name)), "df", 1)
    for name in ("power", "arctan2", "hypot"):
        yield named(name, _of_two(getattr(np, name)), "df")
    yield named("power 3", lambda x: x ** 3, "df", 1)
    for name in ("sum", "mean", "var", "max", "argmax", "prod", "cumsum"):
        yield named(name, _of_one(getattr(np, name)), "df" if name in ("mean", "var") else "dfi", 1)
    yield named("any", lambda x: (x > 5).any(), "dfi", 1)
    yield named("sum of squares", lambda x: (x * x).sum(), "dfi", 1)
    yield named("sum rows", _on_rows(lambda x: x.sum(axis=1)), "df", 1)
    yield named("sum columns", _on_rows(lambda x: x.sum(axis=0)), "df", 1)
    yield named("normalize", lambda x: (x - x.mean()) / x.std(), "df", 1)
    yield named("softmax rows", _on_rows(_softmax), "df", 1)
    yield named("difference", lambda x: x[1:] - x[:-1], "df", 1)
    yield named("mask", lambda x: x[x > 1], "df", 1)
    yield named("gather", lambda x: x[::-1][np.arange(x.size)], "df", 1)
    yield named("matmul", _matmul, "df", 1)
    yield named("concatenate", lambda x, y: np.concatenate([x, y]) * 2, "df")


def _in_place(x, y):
    x += y
    x *= 0 if x.dtype.kind == "i" else 0.5


def _outer(x, y):
    n = int(x.size ** 0.5)
    return x[:n, None] * y[None, :n] + 1


def _of_one(function):
    return lambda x: function(x)


def _of_two(function):
    return lambda x, y: function(x, y)


def _on_rows(function):
    def on_rows(x):
        n = 2 ** (x.size.bit_length() // 2)
        return function(x[:x.size // n * n].reshape(-1, n))
    return on_rows


def _softmax(x):
    y = np.exp(x - x.max(axis=1, keepdims=True))
    return y / y.sum(axis=1, keepdims=True)


def _matmul(x):
    n = min(int(x.size ** 0.5), 400)
    a = x[:n * n].reshape(n, n)
    return a @ a + 1


def operands(dtype, size, n):
    rng = np.random.default_rng(size)
    made = [rng.uniform(0.1, 0.9, size) if np.dtype(dtype).kind in "fc" else rng.integers(1, 9, size) for _ in range(n)]
    return [a.astype(dtype) for a in made]


def ratio(function, numerics, args, budget):
    """NumPy's time divided by pyasc's, and both in seconds."""
    jitted = pyasc.jit(function, numerics=numerics)
    with np.errstate(all="ignore"):
        for _ in range(2):
            jitted(*args)
        jitted.wait()
        jitted(*args)
        work = [(function, args), (jitted, args)]
        numpy, ours = common.interleaved(work, rounds=21, batch=0.0005, budget=budget)
    return numpy / ours, numpy, ours


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="*", type=int, default=SIZES)
    parser.add_argument("--only", default="*")
    parser.add_argument("--numerics", default="numpy", choices=["numpy", "strict", "fast"])
    parser.add_argument("--below", type=float, default=0.95)
    parser.add_argument("--budget", type=float, default=0.05)
    parser.add_argument("--json")
    options = parser.parse_args()
    common.keep_freed_memory()
    common.show_facts()
    print(f"{'NumPy / pyasc':18}" + "".join(f"{size:>9}" for size in options.sizes))
    found, low = {}, []
    for name, function, dtypes, n in cases():
        if not fnmatch.fnmatch(name, options.only):
            continue
        for dtype in dtypes:
            row = []
            for size in options.sizes:
                args = operands(dtype, size, n)
                row.append(ratio(function, options.numerics, args, options.budget)[0])
                found[f"{name} {dtype} {size}"] = row[-1]
                if row[-1] < options.below:
                    low.append((name, function, dtype, n, size))
            print(f"{name + ' ' + np.dtype(dtype).name:18.18}" + "".join(f"{r:9.2f}" for r in row), flush=True)
    print(f"\nbelow {options.below}, measured again:")
    for name, function, dtype, n, size in low:
        again, numpy, ours = ratio(function, options.numerics, operands(dtype, size, n), 4 * options.budget)
        found[f"{name} {dtype} {size}"] = again
        if again < options.below:
            print(f"  {name:14} {np.dtype(dtype).name:10} {size:>9}  {again:.2f}  {numpy * 1e6:10.2f} µs  {ours * 1e6:10.2f} µs")
    if options.json:
        with open(options.json, "w") as out:
            json.dump(found, out, indent=1)
    values = np.log(list(found.values()))
    print(f"{len(values)} entries: geometric mean {np.exp(values.mean()):.2f}, least {np.exp(values.min()):.2f}, "
          f"{sum(v < options.below for v in found.values())} below {options.below}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
