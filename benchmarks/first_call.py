"""What starting costs, each figure the median over fresh processes: `import pyasc` after `import
numpy`, the first use of the decorator, and the first call of a function of ten operations on 100,000
numbers beside NumPy's time for it.

    ./run python benchmarks/first_call.py
"""

import json
import os
import statistics
import subprocess
import sys
import time

PROCESSES = 11


def ten(x, y):
    a = x * y + x
    b = a * a - y
    c = np.minimum(b, x) * y
    d = np.maximum(c, a) - b
    return np.abs(d) * x


def seven(x, y):
    a = x - y
    b = a * a + x * y
    return np.sqrt(b) / (x + 1.0)


def timed(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def child():
    global np
    import numpy as np

    x, y = np.linspace(0.0, 1.0, 100_000), np.linspace(1.0, 2.0, 100_000)
    figures = {"numpy_first": timed(ten, x, y)}
    figures["numpy"] = statistics.median(timed(ten, x, y) for _ in range(50))

    start = time.perf_counter()
    import pyasc
    figures["import"] = time.perf_counter() - start
    with open("/proc/self/maps") as maps:
        figures["llvm"] = "libLLVM" in maps.read()

    start = time.perf_counter()
    ours = pyasc.jit(ten)
    figures["decorate"] = time.perf_counter() - start
    figures["first"] = timed(ours, x, y)
    figures["second"] = timed(ours, x, y)
    figures["until_kernel"] = timed(ours.wait)
    figures["other_first"] = timed(pyasc.jit(seven), x, y)
    figures["numpy_seven"] = statistics.median(timed(seven, x, y) for _ in range(50))
    print(json.dumps(figures))


def main():
    runs = []
    for _ in range(PROCESSES):
        done = subprocess.run([sys.executable, __file__, "child"], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYASC_CACHE_DIR": ""})
        runs.append(json.loads(done.stdout))
    ms = {k: statistics.median(r[k] for r in runs) * 1e3 for k in runs[0]}
    print(f"medians of {PROCESSES} processes")
    print(f"import pyasc after numpy            {ms['import']:8.2f} ms   libLLVM mapped then: "
          f"{'yes' if any(r['llvm'] for r in runs) else 'no'}")
    print(f"first pyasc.jit() of the process    {ms['decorate']:8.2f} ms   (loads what tracing needs)")
    print(f"NumPy, ten operations on 1e5        {ms['numpy']:8.2f} ms   (its first call {ms['numpy_first']:.2f} ms)")
    print(f"pyasc, first call of the process    {ms['first']:8.2f} ms   {ms['first'] / ms['numpy']:.1f} times NumPy's")
    print(f"pyasc, second call (no kernel yet)  {ms['second']:8.2f} ms   {ms['second'] / ms['numpy']:.1f} times NumPy's")
    print(f"then until its kernel is there      {ms['until_kernel']:8.2f} ms   (opens LLVM, in the background)")
    print(f"pyasc, first call of a 2nd function {ms['other_first']:8.2f} ms   "
          f"{ms['other_first'] / ms['numpy_seven']:.1f} times NumPy's")


if __name__ == "__main__":
    child() if sys.argv[1:] == ["child"] else main()
