"""./run bench: NumPy and pyasc side by side, in interleaved rounds of one process.

    --cases PATTERN   only cases whose "file: name" holds the regular expression
    --tier 0|1        kernels never (0) or at once (1); without it as users have it
    --json FILE       facts and figures as JSON
    --budget SECONDS  for each case (default 0.5)
"""

import argparse
import importlib
import json
import math
import pathlib
import re
import statistics
import sys
import types

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import common  # noqa: E402
import pyasc  # noqa: E402


def load(pattern):
    """(file, name, plain function, arguments) of each case that is asked for."""
    for path in sorted((HERE / "cases").glob("*.py")):
        for name, function, args in importlib.import_module(f"cases.{path.stem}").cases():
            if re.search(pattern, f"{path.stem}: {name}"):
                yield path.stem, name, function, args


def unseen(function):
    """The function with a code object of its own: its source has to be rewritten anew."""
    return types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__,
                              function.__defaults__, function.__closure__)


def first_call(function, args, settings):
    """Median time of the first call of a function that was just decorated, and that no disk cache knows."""
    took = []
    for _ in range(5):
        jitted = pyasc.jit(unseen(function), **{"cache_dir": "", **settings})
        took.append(common.once(jitted, common.copies(args)))
        jitted.wait()
    return statistics.median(took)


def measure(function, args, settings, budget):
    jitted = pyasc.jit(function, **settings)
    with np.errstate(all="ignore"):
        wrong = common.call_difference(jitted, args)
        jitted.wait()
        wrong = wrong or common.call_difference(jitted, args)
        first = first_call(function, args, settings)
        numpy, ours = common.interleaved(
            [(function, common.copies(args)), (jitted, common.copies(args))], budget=budget)
    return {"numpy_us": numpy * 1e6, "pyasc_us": ours * 1e6, "ratio": numpy / ours,
            "first_us": first * 1e6, "first_ratio": first / numpy, "wrong": wrong,
            **{k: v for k, v in jitted.report().items() if k != "reasons"}}


def mean_ratio(rows):
    return math.exp(statistics.fmean(math.log(r["ratio"]) for r in rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage="./run bench [options]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", metavar="PATTERN")
    parser.add_argument("--tier", type=int, choices=(0, 1))
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--budget", type=float, default=0.5, metavar="SECONDS")
    options = parser.parse_args()
    settings = {} if options.tier is None else {"tier": options.tier}
    pyasc.jit(lambda x: x + x)(np.zeros(4))  # what the first decorator of a process loads

    common.keep_freed_memory()
    facts = common.machine_facts()
    common.show_facts()
    rows = []
    for file, name, function, args in load(options.cases):
        if not rows or rows[-1]["file"] != file:
            print(f"\n{file:36} {'NumPy µs':>11} {'pyasc µs':>11} {'ratio':>7} {'first µs':>11} {'first/NumPy':>12}")
        row = {"file": file, "name": name, **measure(function, args, settings, options.budget)}
        rows.append(row)
        print(f"{name:36} {row['numpy_us']:11.2f} {row['pyasc_us']:11.2f} {row['ratio']:6.2f}x "
              f"{row['first_us']:11.1f} {row['first_ratio']:11.2f}x  {row['wrong']}", flush=True)
    if not rows:
        print("no case matches")
        return 1
    print()
    for file in dict.fromkeys(r["file"] for r in rows):
        mine = [r for r in rows if r["file"] == file]
        print(f"{file:12} {len(mine):3} cases, geometric mean of the ratios {mean_ratio(mine):.2f}x, "
              f"least {min(r['ratio'] for r in mine):.2f}x")
    print(f"{'all':12} {len(rows):3} cases, geometric mean of the ratios {mean_ratio(rows):.2f}x")
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"facts": facts, "rows": rows}, indent=1) + "\n")
    return 1 if any(r["wrong"] for r in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
