"""How long until code is there, and what it takes to get it. Without a disk cache, medians of fresh processes:

    ./run python benchmarks/latency.py [--first-calls]

- from the end of a first call until its kernel is swapped in: the first of the process (which opens LLVM), a second one of
  ten operations, the 112 operations of a polynomial;
- kernels compiled for a new shape;
- the peak of resident memory beside NumPy's for the same calls;
- with --first-calls: every benchmark case whose first call takes more than NumPy's time and 1 ms, without a disk cache, and with
  one that has what the call needs.
"""

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

PROCESSES = 7


def ten(x, y):
    a = x * y + x
    b = a * a - y
    c = np.minimum(b, x) * y
    d = np.maximum(c, a) - b
    return np.abs(d) * x


def other(x, y):
    a = x - y
    b = a * a + x * y
    c = np.sqrt(np.abs(b)) / (x + 1.0)
    return np.minimum(c, a) * 3.0 - y


def polynomial(x, y):
    total = x * 0.0
    for k in range(28):
        total = (total * x + (k + 0.5)) * y - k
    return total


def swapped_in(jitted, *args):
    """Milliseconds from the end of the first call until the kernel is there."""
    jitted(*args)
    start = time.perf_counter()
    jitted.wait()
    return (time.perf_counter() - start) * 1e3


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def child(what):
    global np
    import numpy as np

    x, y = np.linspace(0.0, 1.0, 1_000_000), np.linspace(1.0, 2.0, 1_000_000)
    if what == "numpy":
        for function in (ten, other, polynomial):
            function(x, y)
        print(json.dumps({"peak": peak()}))
        return
    import pyasc
    figures = {"first": swapped_in(pyasc.jit(ten), x, y), "ten": swapped_in(pyasc.jit(other), x, y)}
    jitted = pyasc.jit(polynomial)
    figures["polynomial"] = swapped_in(jitted, x, y)
    before = pyasc.cache_stats()["misses"]
    for n in (10, 1000, 54321):
        jitted(x[:n], y[:n])
    jitted.wait()
    figures["shapes"] = pyasc.cache_stats()["misses"] - before
    figures["peak"] = peak()
    print(json.dumps(figures))


def first_call(function, args, directory):
    """Seconds of the first call of a function that was just decorated."""
    jitted = pyasc.jit(bench.unseen(function), cache_dir=directory)
    took = common.once(jitted, common.copies(args))
    jitted.wait()
    return took


def first_calls():
    global np, bench, common, pyasc
    import bench
    import common
    import numpy as np
    import pyasc

    pyasc.jit(lambda x: x + x)(np.zeros(4))  # what the first decorator of a process loads
    above, cases = [], []
    with tempfile.TemporaryDirectory() as directory:
        for file, name, function, args in bench.load(""):
            numpy, cold, warm = [], [], []
            with np.errstate(all="ignore"):
                first_call(function, args, directory)
                for _ in range(5):
                    numpy.append(common.once(function, common.copies(args)))
                    cold.append(first_call(function, args, ""))
                    warm.append(first_call(function, args, directory))
            numpy, cold, warm = (statistics.median(times) * 1e3 for times in (numpy, cold, warm))
            cases.append((cold - numpy, warm - numpy))
            if cold > numpy + 1:
                above.append((cold - numpy, warm - numpy, numpy, f"{file}: {name}"))
    print(f"\nof {len(cases)} first calls {len(above)} take more than NumPy's time and 1 ms without a disk cache,"
          f" {sum(w > 1 for _, w in cases)} with one that has their function and their kernels;")
    print(f"more than NumPy's time in the median: {statistics.median(c for c, _ in cases):.2f} ms,"
          f" {statistics.median(w for _, w in cases):.2f} ms")
    for cold, warm, numpy, name in sorted(above, reverse=True):
        print(f"  {name:46} {cold:6.2f} ms more than NumPy's {numpy:.2f} ms; with the cache {warm:6.2f} ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first-calls", action="store_true")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.child)

    def run(what):
        done = subprocess.run([sys.executable, __file__, "--child", what], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYASC_CACHE_DIR": ""})
        return json.loads(done.stdout)

    runs, plain = [run("pyasc") for _ in range(PROCESSES)], [run("numpy") for _ in range(3)]
    middle = {k: statistics.median(r[k] for r in runs) for k in runs[0]}
    print(f"medians of {PROCESSES} processes")
    print(f"first kernel of a process, 10 operations   {middle['first']:7.1f} ms after the first call (opens LLVM)")
    print(f"another kernel of 10 operations            {middle['ten']:7.1f} ms")
    print(f"a polynomial of 112 operations             {middle['polynomial']:7.1f} ms")
    print(f"kernels compiled for three new shapes      {middle['shapes']:7.0f}")
    print(f"peak of resident memory                    {middle['peak']:7.0f} MB, NumPy's "
          f"{statistics.median(p['peak'] for p in plain):.0f} MB")
    if options.first_calls:
        first_calls()


if __name__ == "__main__":
    main()
