"""Memory that runs out: a MemoryError or the right result, no crash, and all is well when there is memory again."""
import importlib.util
import os
import pathlib

from .common import PACKAGE, run, write

# No elementary functions: a call that runs plain, for want of memory, has NumPy's bits.
# What calls may do: traces, kernels, library calls, results small and large, paths, effects, resizes.
WORK = """
import gc, os, pathlib, random, resource, sys, threading
os.environ["PYASC_NUMERICS"] = "strict"  # a call that runs plain has the same bits
import numpy as np
import pyasc
import pyasc._turns  # Python 3.11 does not come out of an import where no allocation succeeds
from same import freeze

def chain(k):
    return eval(f"lambda x, y: np.abs(x) * {k}.5 + np.sqrt(y * y + 1) - (x > y)", {"np": np})

def loop(k):
    def f(x, y):
        for _ in range(20):
            x = x * 0.5 + y * k
        return x.sum(), x
    return f

def calls(k):
    def f(x, y):
        z = np.cumsum(x[np.argsort(y)]) * k
        if z[-1] > 3:
            z = z - 1
        return np.concatenate([z, x]), [v for v in z[:3]], {"x": x.T, "y": (y, k)}
    return f

class Model:
    def __init__(self, k):
        self.k, self.w = k, None

    def f(self, x, y):
        self.w = x * self.k
        return self.w[::2] + y[::2]

def effects(k):
    log = []
    def f(x, y):
        log.append(x.sum())
        x = x.copy()
        x[::2] += y[::2]
        return x, log[-1]
    return f

def rows(k):
    return lambda x, y: ((x[:100].reshape(20, 5) * k).sum(axis=0), (x * y).max(), np.where(x > k, x, y).reshape(-1, 1))

kinds = [chain, loop, calls, lambda k: Model(k).f, effects, rows]

def some(rng, n):
    numbers = np.random.default_rng(rng.randrange(1 << 30))
    return numbers.standard_normal(n), numbers.standard_normal(n)
"""

LIMITED = WORK + """
seed, room, warm = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3] == "warm"
rng = random.Random(seed)
cases = []
for k in range(18):
    plain = rng.choice(kinds)(k)
    args = some(rng, rng.choice([100, 1000, 100_000, 400_000]))
    cases.append((plain, args, freeze(pyasc.jit(plain, tier=0, cache_dir="")(*args))))
functions = [pyasc.jit(plain, **rng.choice([{}, {"tier": 1}, {"threads": 3}])) for plain, _, _ in cases]
if warm:
    pyasc.jit(lambda x: x * 3 + 1, tier=1)(np.ones(9))
gc.collect()
size = next(int(line.split()[1]) << 10 for line in pathlib.Path("/proc/self/status").read_text().splitlines() if line.startswith("VmSize"))
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (size + room, hard))
short, wrong, got = 0, [], None
for turn in range(40):
    i = rng.randrange(len(cases))
    try:
        got = functions[i](*cases[i][1])
        if turn % 5 == 0:
            functions[i].wait()
        if turn % 9 == 0:
            functions[i].report()
    except MemoryError:
        got = None
        short += 1
    if got is not None:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        if freeze(got) != cases[i][2]:
            wrong.append((cases[i][0].__qualname__, turn, freeze(got)[:3], cases[i][2][:3]))
        got = None
        resource.setrlimit(resource.RLIMIT_AS, (size + room, hard))
resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
for i, (_, args, expected) in enumerate(cases):
    if freeze(functions[i](*args)) != expected:
        wrong.append((i, "afterwards"))
    functions[i].wait()
    if freeze(functions[i](*args)) != expected:
        wrong.append((i, "with kernels"))
print(short, len(wrong), repr(wrong)[:1500])
"""


def address_space(tally, times, place, rng):
    """RLIMIT_AS, with room for this and that: nothing, a thread, LLVM, some arrays."""
    script = write(place, "limited.py", LIMITED)
    for turn in range(times):
        room = int(2 ** rng.uniform(12, 28.5)) if turn % 8 else 0
        warm = rng.choice(["warm", "cold"])
        code, words, said = run(script, rng.randrange(1 << 30), room, warm, cache=place / "cache" if turn % 3 else "")
        right = code == 0 and words[1:2] == ["0"] and said.count("\n") <= 1
        if tally.expect(right, (room, warm, code, " ".join(words), said)):
            tally.note("MemoryErrors", int(words[0]))
            tally.note("warnings", said.count("\n"))


FAILING = WORK + """
import ctypes, os
process = ctypes.CDLL(None)
process.failing_malloc_set.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int]
process.failing_malloc_seen.restype = ctypes.c_long
seed, first, last = map(int, sys.argv[1:4])
rng = random.Random(seed)

def text_of(library):
    lines = pathlib.Path("/proc/self/maps").read_text().splitlines()
    it = next(line for line in lines if library in line and "r-xp" in line).split()[0]
    return [int(end, 16) for end in it.split("-")]

short = failed = 0
wrong = []
"""

# One of pyasc's own allocations after the other fails, by itself or with all that follow: in the first call,
# the second one, and then in none.
OWN = FAILING + """
low, high = text_of("/_pyasc.")
for number in range(first, last):
    plain = kinds[number % len(kinds)](number)
    args = some(rng, rng.choice([100, 2000, 60_000]))
    expected = freeze(pyasc.jit(plain, tier=0, cache_dir="")(*args))
    f = pyasc.jit(plain, **rng.choice([{}, {"tier": 1}, {"threads": 3}]))
    for call in range(2):
        got = None
        process.failing_malloc_set(number // len(kinds) // (1 + call), rng.choice([1, 1, 10_000]), low, high, 0)
        try:
            got = f(*args)
            f.wait()
            f.report()
        except MemoryError:
            short += 1
        except Exception as error:
            wrong.append((number, repr(error)))
        failed += process.failing_malloc_seen() > number // len(kinds) // (1 + call)
        process.failing_malloc_set(-1, 0, 0, 0, 0)
        if got is not None and freeze(got) != expected:
            wrong.append((number, call))
    for _ in range(2):
        if freeze(f(*args)) != expected:
            wrong.append((number, "afterwards"))
        f.wait()
print(short, failed, len(wrong), repr(wrong)[:1500])
"""

# One of LLVM's, each in a process of its own: LLVM is given up then, and calls stay in tier 0.
LLVM = FAILING + """
x, y = some(rng, 100)
pyasc.jit(lambda x: x * 3 + 1, tier=1, cache_dir="")(x)
for number in range(first, last):
    plain = chain(number)
    expected = freeze(pyasc.jit(plain, tier=0)(x, y))
    child = os.fork()
    if not child:
        process.failing_malloc_set(rng.randrange(6000), rng.choice([1, 1, 100_000]), 0, 0, 1)
        f = pyasc.jit(plain)
        right = freeze(f(x, y)) == expected
        f.wait()
        process.failing_malloc_set(-1, 0, 0, 0, 0)
        right = right and freeze(f(x, y)) == expected and freeze(pyasc.jit(plain)(x, y)) == expected
        sys.exit(2 if not right else 3 if not f.report()["kernels"] else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    failed += code == 3
    if code not in (0, 3):
        wrong.append((number, code))
print(short, failed, len(wrong), repr(wrong)[:1500])
"""


# Python's allocations, each case in a process of its own: NumPy and Python do not survive all of it, but answer with
# a SystemError where they notice.
PYTHONS = FAILING.replace("import ctypes, os\n", "import _testcapi, os\n").split("process =")[0] + """
seed, first, last = map(int, sys.argv[1:4])
rng, wrong, short, failed = random.Random(seed), [], 0, 0
for number in range(first, last):
    plain = kinds[number % len(kinds)](number)
    args = some(rng, 100)
    expected = freeze(pyasc.jit(plain, tier=0, cache_dir="")(*args))
    f = pyasc.jit(plain, **rng.choice([{}, {"tier": 1}, {"threads": 3}]))
    second = number // len(kinds) % 2
    if second:
        f(*args)
    at, count = rng.randrange(50 if second else 900), rng.choice([1, 1, 0])
    child = os.fork()
    if not child:
        got = None
        _testcapi.set_nomemory(at, at + 1 if count else 0)
        try:
            got = f(*args)
            _testcapi.remove_mem_hooks()
            code = 0
        except (MemoryError, SystemError) as error:
            _testcapi.remove_mem_hooks()
            code = 9 if "a result with" in str(error) else 3  # an exception that was left behind
        if got is not None and freeze(got) != expected or any(freeze(f(*args)) != expected for _ in range(2)):
            code = 2
        os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    failed += 1
    short += code == 3
    if code not in (0, 3):
        wrong.append((number, at, count, second, code))
print(short, failed, len(wrong), repr(wrong)[:1500])
"""


LIBRARY = pathlib.Path(os.environ.get("PYASC_TOOLS", PACKAGE.parent / "tests")) / "libfailing_malloc.so"


def failing(tally, times, place, rng, program, batch, **env):
    script = write(place, "failing.py", program)
    for first in range(0, times, batch):
        last = min(first + batch, times)
        code, words, said = run(script, rng.randrange(1 << 30), first, last, **env)
        if tally.expect(code == 0 and words[2:3] == ["0"] and said == "", (first, code, " ".join(words), said)):
            tally.note("MemoryErrors", int(words[0]))
            tally.note("calls with failures", int(words[1]))


def failing_mallocs(tally, times, place, rng):
    if LIBRARY.exists():
        failing(tally, times, place, rng, OWN, 600, LD_PRELOAD=str(LIBRARY))


def failing_mallocs_of_llvm(tally, times, place, rng):
    if LIBRARY.exists():
        failing(tally, times, place, rng, LLVM, 100, LD_PRELOAD=str(LIBRARY))


def failing_allocators(tally, times, place, rng):
    if importlib.util.find_spec("_testcapi"):
        failing(tally, times, place, rng, PYTHONS, 500)


CASES = {"memory.failing_allocators": (failing_allocators, 6000, 40), "memory.failing_mallocs": (failing_mallocs, 6000, 120),
         "memory.failing_mallocs_of_llvm": (failing_mallocs_of_llvm, 1000, 10), "memory.address_space": (address_space, 300, 3)}
