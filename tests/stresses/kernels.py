"""One function from many threads, with many kinds of arguments, while its kernels and plans are thrown away."""
from .common import run, write

THREADS = 16

PROGRAM = """
import os, random, sys, threading, time, warnings
os.environ["PYASC_NUMERICS"] = "strict"  # a call that runs plain has the same bits
import numpy as np
import pyasc
from pyasc import _pyasc
from same import freeze

warnings.simplefilter("ignore", RuntimeWarning)  # of float16: its sums overflow
seed, seconds, count = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])

def work(x, y, k):
    z = x * y + k
    z = np.where(z > x, z - y, np.sqrt(np.abs(z)))
    z[::2] += x[::2]
    return z, z.sum(), (z * 2).max(axis=0), z[1:] < y[1:], x.T + 1

def plain(x, y, k):
    with np.errstate(all="ignore"):
        return work(x, y, k)

jitted = pyasc.jit(work, threads=2)
sizes = [2, 3, 8, 17, 64, 100, 1000, 4099, 70_000]

def arguments(rng):
    n, dtype = rng.choice(sizes[:-1]) if rng.random() < 0.97 else sizes[-1], rng.choice("fdfdfdlihbDe")
    shape = rng.choice([(n,), (n,), (n, 3), (3, n)])
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    x, y = ((numbers.integers(1, 50, shape) * 1.25).astype(dtype) for _ in range(2))
    if rng.random() < 0.2:
        x, y = x[::-1], y[::-1]
    return x, y, rng.choice([0.5, 1.5, np.float32(2), 3.0])

wrong, calls, hits, end = [], [0] * count, [0], time.monotonic() + seconds

def run(i):
    rng, known = random.Random(f"{seed} {i}"), []
    try:
        while time.monotonic() < end and len(wrong) < 5:
            if len(known) < 6 or rng.random() < 0.1:
                a = arguments(rng)
                if a[0].dtype.char == "D":  # comparisons of these are of their real parts
                    a = a[0].real, a[1].imag, a[2]
                known = known[-20:] + [(a, freeze(plain(*a)))]
            a, expected = rng.choice(known)
            if freeze(jitted(*a)) != expected:
                wrong.append((i, a[0].dtype, a[0].shape, a[2]))
            if rng.random() < 0.003:
                jitted.wait()
            calls[i] += 1
    except BaseException as error:
        wrong.append((i, repr(error)))
        raise

def disturb():
    rng = random.Random(seed)
    while time.monotonic() < end:
        _pyasc.cache_bound(rng.choice([0, 0, 5000, 20_000]), rng.choice([0, 20_000, 1 << 20]))
        time.sleep(rng.random() * 0.03)
        if rng.random() < 0.2:
            hits[0] += jitted.cache_info().hits
            jitted.cache_clear()
        if rng.random() < 0.2:
            _pyasc.pool_trim(0)
        jitted.explain(), jitted.report(), pyasc.cache_stats()

_pyasc.cache_bound(0, 1 << 20)
sys.setswitchinterval(1e-4)
threads = [threading.Thread(target=run, args=(i,)) for i in range(count)] + [threading.Thread(target=disturb)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stats = pyasc.cache_stats()
print(sum(calls), stats["evictions"], hits[0] + jitted.cache_info().hits, len(wrong), wrong)
"""


def evicted(tally, seconds, place, rng):
    script, turn = write(place, "program.py", PROGRAM), min(seconds, 20)
    for first in range(0, seconds, turn):
        code, words, said = run(script, rng.randrange(1 << 30), turn, THREADS, cache=place / "cache")
        right = code == 0 and said == "" and words[3] == "0" and int(words[1]) > 0
        if tally.expect(right, (code, words, said)):
            for what, count in zip(("calls", "evictions", "runs of plans"), words):
                tally.note(what, int(count))


CASES = {"kernels.evicted": (evicted, 180, 1)}
