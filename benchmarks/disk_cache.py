"""What the disk cache saves: the first call of a new process, and what follows, with an empty directory and with a full one;
and what one look-up costs.

    ./run python benchmarks/disk_cache.py

Each figure is the median over fresh processes. 'until kernels' is the time that `fn.wait()` takes right after the first call;
'waited for' is what a first call that waits for its kernel takes longer than one in tier 0.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

PROCESSES = 11
KERNELS = 20


def ten(x, y):
    a = x * y + x
    b = a * a - y
    c = np.minimum(b, x) * y
    d = np.maximum(c, a) - b
    return np.abs(d) * x


def waves(x, y):
    return np.exp(-x) * np.sin(y) + np.sqrt(x * x + y * y)


def timed(function, *args):
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def anew(function, args):
    """A call that has to be traced, and waits for its kernel where the tier is 1."""
    function.cache_clear()
    return timed(function, *args)


def child():
    global np
    import numpy as np

    import pyasc
    from pyasc import _pyasc

    x, y = np.linspace(0.0, 1.0, 100_000), np.linspace(1.0, 2.0, 100_000)
    figures = {}
    for name, plain in (("ten", ten), ("waves", waves)):
        ours = pyasc.jit(plain)
        figures[f"{name}_first"] = timed(ours, x, y)
        figures[f"{name}_until"] = timed(ours.wait)
        figures[f"{name}_later"] = min(timed(ours, x, y) for _ in range(20))
    many = [pyasc.jit(eval(f"lambda x, y: (x + {k}) * y - x / {k + 1}")) for k in range(KERNELS)]
    for ours in many:
        ours(x[:64], y[:64])
        figures.setdefault("each", []).append(timed(ours.wait))
    figures["each"] = statistics.median(figures["each"])
    few = x[:64], y[:64]
    for name, tier, bound in (("traced", 0, 0), ("disk", 1, 0), ("memory", 1, 1 << 26)):
        _pyasc.cache_bound(bound, 1 << 28)
        ours = pyasc.jit(ten, tier=tier)
        figures[name] = statistics.median(anew(ours, few) for _ in range(101))
    with open("/proc/self/maps") as maps:
        figures["llvm"] = "libLLVM" in maps.read()
    figures["resident"] = int(open("/proc/self/statm").read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
    print(json.dumps(figures))


def medians(directory, count):
    runs = []
    for k in range(count):
        path = os.path.join(directory, str(k)) if count > 1 and directory.endswith("cold") else directory
        done = subprocess.run([sys.executable, __file__, "child"], check=True, capture_output=True, text=True,
                              env={**os.environ, "PYASC_CACHE_DIR": path})
        runs.append(json.loads(done.stdout))
    return {name: statistics.median(run[name] for run in runs) for name in runs[0]}


def main():
    with tempfile.TemporaryDirectory() as root:
        cold = medians(os.path.join(root, "cold"), PROCESSES)
        medians(os.path.join(root, "warm"), 1)
        warm = medians(os.path.join(root, "warm"), PROCESSES)
    print(f"medians of {PROCESSES} processes, ms{'cold':>38}{'warm':>9}")
    for name, text in (("ten_first", "first call, ten operations on 1e5"), ("ten_until", "then until its kernel is there"),
                       ("ten_later", "a later call"), ("waves_first", "first call of a second function"),
                       ("waves_until", "then until its kernel is there"),
                       ("each", "one more kernel, from the call's end")):
        print(f"{text:52}{cold[name] * 1e3:9.3f}{warm[name] * 1e3:9.3f}")
    for name in ("disk", "memory"):
        print(f"{'a kernel found ' + ('on disk' if name == 'disk' else 'in memory') + ', waited for':52}"
              f"{(cold[name] - cold['traced']) * 1e3:9.3f}{(warm[name] - warm['traced']) * 1e3:9.3f}")
    print(f"{'libLLVM mapped at the end':52}{'yes' if cold['llvm'] else 'no':>9}{'yes' if warm['llvm'] else 'no':>9}")
    print(f"{'resident memory, MiB':52}{cold['resident']:9.1f}{warm['resident']:9.1f}")


if __name__ == "__main__":
    child() if sys.argv[1:] == ["child"] else main()
