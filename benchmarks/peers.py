"""The same plain NumPy functions in pyasc and in every peer that is installed: a table and a picture.

    ./run bench --peers [--cases PATTERN] [--picture FILE.svg] [--json FILE] [--rounds 15] [--cores 0]
                        [--threads 1] [--with PEER[=PYTHON] ...]

Each peer has a process of its own, on the given cores and with so many threads; a round asks them all in
turn for a few milliseconds of calls, and figures are medians of rounds. Results are compared with NumPy's
before anything is timed; what a peer cannot run, or gets wrong, is said so. Peers that are not in the
project's environment are found by an interpreter of theirs: --with numba=/path/to/python.

    numpy     the function          numba     numba.njit(function)        jax       jax.jit, arrays on the device
    pyasc     pyasc.jit(function)   numba-f   the same, fastmath=True     torch     torch.compile of the NumPy code
"""

import argparse
import functools
import html
import json
import math
import os
import pathlib
import pickle
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import numpy as np  # noqa: E402

BATCH = 0.003  # seconds that a peer is asked for in a round
WARM = 30.0  # seconds that the first call may take

# -- A peer, in its process -----------------------------------------------------------------


class Numpy:
    module = "numpy"

    def function(self, plain):
        return plain

    def array(self, a):
        return a

    def host(self, result):
        return tuple(self.host(r) for r in result) if isinstance(result, (tuple, list)) else np.asarray(result)


class Pyasc(Numpy):
    module = "pyasc"

    def function(self, plain):
        import pyasc
        return pyasc.jit(plain)


class Numba(Numpy):
    module, fast = "numba", False

    def function(self, plain):
        import numba
        return numba.njit(plain, fastmath=self.fast, error_model="numpy")


class NumbaFast(Numba):
    fast = True


class Jax(Numpy):
    module = "jax"

    def function(self, plain):
        import types

        import jax
        jax.config.update("jax_enable_x64", True)
        rebound = types.FunctionType(plain.__code__, {**plain.__globals__, "np": jax.numpy}, plain.__name__,
                                     plain.__defaults__, plain.__closure__)
        jitted = jax.jit(rebound)
        return lambda *args: jax.block_until_ready(jitted(*args))

    def array(self, a):
        import jax
        jax.config.update("jax_enable_x64", True)
        return jax.numpy.asarray(a) if isinstance(a, np.ndarray) else a


class Torch(Numpy):
    module = "torch"

    def function(self, plain):
        import torch
        torch.set_num_threads(int(os.environ["PYASC_NUM_THREADS"]))
        torch.compiler.reset()
        return torch.compile(plain)


PEERS = {"numpy": Numpy, "pyasc": Pyasc, "numba": Numba, "numba-f": NumbaFast, "jax": Jax, "torch": Torch}


def load(pattern):
    import importlib
    for path in sorted((HERE / "cases").glob("*.py")):
        for name, function, args in importlib.import_module(f"cases.{path.stem}").cases():
            if re.search(pattern, f"{path.stem}: {name}"):
                yield f"{path.stem}: {name}", function, args


def serve(name):
    """Answers one JSON line for each line: ["prepare", case] and ["time", batch]."""
    peer, cases = PEERS[name](), {}
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    np.seterr(all="ignore")
    call = None
    for line in sys.stdin:
        what, value = json.loads(line)
        try:
            if what == "prepare":
                cases = cases or {n: (f, a) for n, f, a in load("")}
                plain, args = cases[value]
                native = [peer.array(a.copy() if isinstance(a, np.ndarray) else a) for a in args]
                function = peer.function(plain)
                call = functools.partial(function, *native)
                start = time.perf_counter()
                result = call()
                first = time.perf_counter() - start
                getattr(function, "wait", lambda: None)()
                if result is None:  # what it did to its arguments
                    result = tuple(native)
                answer = {"first": first, "result": pickle.dumps(peer.host(result)).hex()}
            else:
                n, start, took = 0, time.perf_counter(), 0.0
                while took < value:
                    call()
                    n += 1
                    took = time.perf_counter() - start
                answer = {"seconds": took / n}
        except BaseException as error:
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:100]}
        print(json.dumps(answer), file=out, flush=True)


# -- Rounds ------------------------------------------------------------------------------------


class Worker:
    def __init__(self, name, python, options):
        env = {**os.environ, "PYASC_NUM_THREADS": str(options.threads), "OMP_NUM_THREADS": str(options.threads),
               "NUMBA_NUM_THREADS": str(options.threads), "OPENBLAS_NUM_THREADS": str(options.threads),
               "XLA_FLAGS": f"--xla_cpu_multi_thread_eigen={'true' if options.threads > 1 else 'false'} "
                            f"intra_op_parallelism_threads={options.threads}"}
        self.name = name
        cores = {int(c) for c in options.cores.split(",")}
        self.process = subprocess.Popen([python, str(HERE / "peers.py"), "--serve", name], env=env, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        preexec_fn=lambda: os.sched_setaffinity(0, cores))

    def ask(self, what, value):
        try:
            self.process.stdin.write(json.dumps([what, value]) + "\n")
            self.process.stdin.flush()
            return json.loads(self.process.stdout.readline())
        except (OSError, ValueError):
            return {"error": "the process ended"}


def agree(got, want):
    """Within what other orders of additions and functions of their own may differ by."""
    got, want = pickle.loads(bytes.fromhex(got)), pickle.loads(bytes.fromhex(want))
    pairs = zip(got, want, strict=True) if isinstance(want, tuple) else [(got, want)]
    for g, w in pairs:
        g, w = np.asarray(g), np.asarray(w)
        if g.shape != w.shape:
            return False
        tolerance = 2e-3 if w.dtype in ("f4", "F") else 1e-7
        scale = np.max(np.abs(w[np.isfinite(w)]), initial=0) if w.dtype.kind in "fc" else 0
        if not np.allclose(g, w, rtol=tolerance, atol=tolerance * 1e-3 * scale, equal_nan=True):
            return False
    return True


def measure(case, workers, rounds):
    """Peer -> seconds of a call, or what went wrong."""
    found, running, want = {}, [], None
    for worker in workers:
        answer = worker.ask("prepare", case)
        if "error" in answer:
            found[worker.name] = answer["error"]
            continue
        want = want or answer["result"]
        if not agree(answer["result"], want):
            found[worker.name] = "another result than NumPy's"
            continue
        running.append(worker)
    times = {worker.name: [] for worker in running}
    for k in range(rounds):
        for i in range(len(running)):
            worker = running[(i + k) % len(running)]
            answer = worker.ask("time", BATCH)
            times[worker.name].append(answer.get("seconds", math.nan))
    return found | {name: statistics.median(t) for name, t in times.items()}


# -- Table and picture -------------------------------------------------------------------------


def ratios(row):
    """Peer -> NumPy's time divided by its own."""
    return {p: row["numpy"] / t for p, t in row.items() if isinstance(t, float) and p != "numpy"}


def picture(rows, names):
    """An SVG: a line a case, a mark a peer, at how many times NumPy's speed it is (logarithmic)."""
    colours = {"pyasc": "#c0392b", "numba": "#2980b9", "numba-f": "#7fb3d5", "jax": "#27ae60", "torch": "#8e44ad"}
    left, width, step = 270, 620, 18
    values = [r for row in rows.values() for r in ratios(row).values()]
    low, high = math.log(min(values + [0.5])), math.log(max(values + [10]))
    place = lambda ratio: left + width * (math.log(ratio) - low) / (high - low)
    height = step * len(rows) + 70
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 30}" height="{height}" '
           'font-family="sans-serif" font-size="11">', '<rect width="100%" height="100%" fill="white"/>']
    for k, name in enumerate(n for n in names if n != "numpy"):
        out.append(f'<circle cx="{left + 90 * k}" cy="16" r="4" fill="{colours.get(name, "black")}"/>'
                   f'<text x="{left + 90 * k + 8}" y="20">{name}</text>')
    for tick in (0.1, 0.5, 1, 2, 5, 10, 20, 50, 100):
        if low <= math.log(tick) <= high:
            out.append(f'<line x1="{place(tick):.1f}" x2="{place(tick):.1f}" y1="34" y2="{height - 24}" '
                       f'stroke="{"#444" if tick == 1 else "#ddd"}"/>'
                       f'<text x="{place(tick):.1f}" y="{height - 10}" text-anchor="middle">{tick:g}×</text>')
    for k, (case, row) in enumerate(rows.items()):
        y = 46 + step * k
        out.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{html.escape(case)}</text>')
        for name, ratio in ratios(row).items():
            out.append(f'<circle cx="{place(ratio):.1f}" cy="{y}" r="4" fill="{colours.get(name, "black")}">'
                       f"<title>{name} {ratio:.2f}×</title></circle>")
    return "\n".join(out + ["</svg>", ""])


def summary(rows):
    ours = {c: ratios(r) for c, r in rows.items() if "pyasc" in ratios(r)}
    best = {c: r["pyasc"] / max([v for p, v in r.items() if p != "pyasc"] + [1.0]) for c, r in ours.items()}
    mean = lambda values: math.exp(statistics.fmean(math.log(v) for v in values))
    if not ours:
        return "no case was run by pyasc"
    return (f"{len(ours)} cases: pyasc {mean(r['pyasc'] for r in ours.values()):.2f} times NumPy (geometric mean), "
            f"{mean(best.values()):.2f} times the fastest of all others; least {min(best.values()):.2f} "
            f"({min(best, key=best.get)}), below 0.9 on {sum(v < 0.9 for v in best.values())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, usage="./run bench --peers [options]",
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", default="", metavar="PATTERN")
    parser.add_argument("--picture", metavar="FILE")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--cores", default="0")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--with", nargs="*", default=[], dest="more", metavar="PEER=PYTHON")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve)
    import importlib.util
    pythons = {n: sys.executable for n, p in PEERS.items() if importlib.util.find_spec(p.module)}
    pythons |= dict(m.split("=", 1) if "=" in m else (m, sys.executable) for m in options.more)
    pythons = {n: pythons[n] for n in PEERS if n in pythons}
    workers = [Worker(name, python, options) for name, python in pythons.items()]
    import common
    common.show_facts()
    print(f"\n{'times NumPy':44} {'NumPy µs':>11}" + "".join(f"{n:>9}" for n in pythons if n != "numpy"))
    rows = {}
    for case, _, _ in load(options.cases):
        rows[case] = row = measure(case, workers, options.rounds)
        shown = ratios(row)
        print(f"{case:44.44} {row['numpy'] * 1e6:11.1f}"
              + "".join(f"{shown[n]:9.2f}" if n in shown else f"{'-':>9}" for n in pythons if n != "numpy"), flush=True)
    for name in pythons:
        said = {}
        for case, row in rows.items():
            if isinstance(row.get(name), str):
                said.setdefault(row[name], []).append(case)
        for text, cases in said.items():
            print(f"{name}: {len(cases)} not run: {text} ({cases[0]}{', …' if len(cases) > 1 else ''})")
    print(summary(rows))
    if options.picture:
        pathlib.Path(options.picture).write_text(picture(rows, list(pythons)))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps({"facts": common.machine_facts(), "rows": rows}, indent=1))
    for worker in workers:
        worker.process.kill()
    return 0


if __name__ == "__main__":
    sys.exit(main())
