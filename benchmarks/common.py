"""Shared by the demo and the benchmarks: machine facts, timing in interleaved rounds, equality."""

import gc
import os
import platform
import statistics
import sys
import time

import numpy as np

import pyasc


def machine_facts():
    """What a reader needs to judge figures: a dict from name to text."""
    cpu = platform.machine()
    try:
        with open("/proc/cpuinfo") as lines:
            cpu = next(l.split(":", 1)[1].strip() for l in lines if l.startswith("model name"))
    except (OSError, StopIteration):
        pass
    wide = [f for f in ("avx512f", "avx2", "asimd") if f in _cpu_flags()]
    return {
        "cpu": f"{cpu}, {len(os.sched_getaffinity(0))} usable{', ' + wide[0] if wide else ''}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
        "pyasc": pyasc.__version__,
        "load": "%.2f" % os.getloadavg()[0],
    }


def _cpu_flags():
    try:
        with open("/proc/cpuinfo") as lines:
            return next(l for l in lines if l.startswith(("flags", "Features"))).split()
    except (OSError, StopIteration):
        return []


def keep_freed_memory():
    """glibc keeps freed blocks of up to 32 MB from here on: without it NumPy's temporaries are fresh
    pages, or not, depending on what the process did before. Figures get better for NumPy."""
    for _ in range(2):
        np.ones(31 << 20, np.uint8)


def copies(args):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in args]


ULPS = 16  # of the largest element: what programs of elementary functions may differ by


def difference(got, want, where="result", ulps=0):
    """"" where both are the same to the bit (any NaN equals any NaN), or within so many ulps of the
    largest element; else what differs."""
    if type(got) is not type(want):
        return f"{where}: {type(got).__name__} instead of {type(want).__name__}"
    if isinstance(want, (tuple, list)):
        if len(got) != len(want):
            return f"{where}: length {len(got)} instead of {len(want)}"
        found = (difference(g, w, f"{where}[{i}]", ulps) for i, (g, w) in enumerate(zip(got, want)))
        return next((text for text in found if text), "")
    if isinstance(want, float):
        got, want = np.float64(got), np.float64(want)
    if not isinstance(want, (np.ndarray, np.generic)):
        return "" if got == want else f"{where}: {got!r} instead of {want!r}"
    if (got.dtype, got.shape) != (want.dtype, want.shape):
        return f"{where}: {got.dtype}{got.shape} instead of {want.dtype}{want.shape}"
    same = got == want
    if want.dtype.kind == "c":
        return (difference(np.real(got), np.real(want), where + ".real", ulps)
                or difference(np.imag(got), np.imag(want), where + ".imag", ulps))
    if want.dtype.kind == "f":
        same = same & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
        if ulps and np.any(np.isfinite(want)):
            largest = np.max(np.abs(want[np.isfinite(want)]))
            same |= np.abs(got - want) <= ulps * np.finfo(want.dtype).eps * largest
    n = np.count_nonzero(~same)
    return f"{where}: {n} of {want.size} elements differ" if n else ""


def _compared(function, args, ulps):
    ours, theirs = copies(args), copies(args)
    with np.errstate(all="ignore"):
        want, got = function.__wrapped__(*theirs), function(*ours)
        return difference(got, want, ulps=ulps) or difference(ours, theirs, "arguments", ulps)


def call_difference(function, args):
    """Calls the jitted function and its plain one on copies of the arguments and compares
    results and changed arguments: to the bit. Outside of strict mode elementary functions have
    bits of their own: what differs has to be the same in strict mode, and not far off."""
    wrong = _compared(function, args, 0)
    if wrong and (function._options or {}).get("numerics") != "strict":
        strict = pyasc.jit(function.__wrapped__, numerics="strict")
        wrong = _compared(strict, args, 0) or _compared(function, args, ULPS)
    return wrong


def once(function, args):
    """Seconds of one call."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def _batch(function, args, n):
    start = time.perf_counter()
    for _ in range(n):
        function(*args)
    return (time.perf_counter() - start) / n


def _batch_size(function, args, seconds):
    n = 1
    while (took := _batch(function, args, n) * n) < seconds and n < 1_000_000:
        n = max(2 * n, int(n * seconds / max(took, 1e-9)))
    return n


def interleaved(work, rounds=31, batch=0.002, budget=1.0):
    """Median seconds per call of each (function, args) of `work`.

    A round calls every function for about `batch` seconds; the order turns by one each round, so
    that what else happens on the machine meets all of them. Stops after `budget` seconds, but not
    before five rounds.
    """
    sizes = [_batch_size(f, args, batch) for f, args in work]
    took = [[] for _ in work]
    collecting = gc.isenabled()
    gc.disable()
    end = time.perf_counter() + budget
    try:
        for k in range(rounds):
            for i in range(len(work)):
                i = (i + k) % len(work)
                took[i].append(_batch(*work[i], sizes[i]))
            if k >= 4 and time.perf_counter() > end:
                break
    finally:
        if collecting:
            gc.enable()
    return [statistics.median(t) for t in took]


def show_facts(out=sys.stdout):
    for name, text in machine_facts().items():
        print(f"{name:8} {text}", file=out)
