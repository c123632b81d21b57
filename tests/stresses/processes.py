"""Forks, exits and pools of processes in the middle of compiles: none hangs, crashes or says a word."""
import os

from .common import finish, run, start, write

# Kernels that no one has: the number is in their code. So each of them is compiled, one after the other.
FRESH = """
import faulthandler, os, random, sys, threading, time
import numpy as np
import pyasc
x, y = np.linspace(-3.0, 3.0, 97), np.linspace(0.5, 2.0, 97)

def fresh(number):
    return pyasc.jit(eval(f"lambda x, y: np.exp(x) * {number}.25 + np.sqrt(y * y + {number}) - (x > y)", {"np": np}))

def is_right(f):
    return np.array_equal(f(x, y), pyasc.jit(f.__wrapped__, tier=0, cache_dir="")(x, y))
"""

# A child ends in one of several ways; who hangs is told by an alarm, which kills.
FORKS = FRESH + """
import signal
seed, times = int(sys.argv[1]), int(sys.argv[2])
rng, shared = random.Random(seed), fresh(0)
here = os.getpid()

def child(turn, running):
    signal.alarm(60)
    right = is_right(shared) and all(map(is_right, rng.sample(running, min(2, len(running)))))
    if turn % 3 == 0:
        right = right and is_right(fresh(1_000_000 + turn))
    if turn % 5 == 0:
        running[-1].wait()
    if turn % 7 == 0:
        grandchild = os.fork()
        if not grandchild:
            os._exit(not is_right(running[0]))
        right = right and os.waitpid(grandchild, 0)[1] == 0
    how = turn % 4
    if how == 0 or not right:
        os._exit(not right)
    if how == 1:
        sys.exit(0)
    if how == 2:
        raise SystemExit
    # falls off the end of the program

wrong = 0
for turn in range(times):
    running = [fresh(seed * 10_000 + turn * 4 + k) for k in range(rng.randrange(1, 4))]
    for f in running:
        f(x, y)
    time.sleep(rng.random() * 0.01)
    pid = os.fork()
    if not pid:
        child(turn, running)
        break
    if turn % 2:
        wrong += not is_right(running[-1])
    wrong += os.waitpid(pid, 0)[1] != 0
if os.getpid() == here:
    print(wrong)
"""


def forks(tally, times, place, rng):
    script, batch = write(place, "forks.py", FORKS), 100
    for first in range(0, times, batch):
        n = min(batch, times - first)
        code, words, said = run(script, first, n)
        tally.expect((code, words, said) == (0, ["0"], ""), (code, words, said))
        tally.note("forks", n)


ENDS = {
    "end": (0, ""),
    "sys.exit": (3, "sys.exit(3)"),
    "os._exit": (4, "os._exit(4)"),
    "exception": (1, "raise LookupError"),
    "in a thread": (0, "threading.Thread(target=lambda: [f(x, y) for f in fs]).start()"),
    "beside a daemon": (0, "threading.Thread(target=lambda: [fresh(i)(x, y) for i in range(9999)], daemon=True).start()\n"
                           "time.sleep(rng.random() * 0.02)"),
    "atexit": (0, "import atexit; atexit.register(lambda: [fresh(k)(x, y) for k in range(50, 55)])"),
    "functions go": (0, "del fs, f"),
    "while waiting": (0, "threading.Thread(target=fs[-1].wait, daemon=True).start()"),
    "fork": (0, "if not os.fork(): sys.exit(0)\nos.wait()"),
    "SIGTERM": (-15, "import signal; os.kill(os.getpid(), signal.SIGTERM)"),
    "interrupt": (-2, "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); signal.raise_signal(2)"),
}
EXITS = FRESH + """
rng = random.Random(int(sys.argv[2]))
def end():
    time.sleep(rng.random() * 0.06)
    exec(ENDS[sys.argv[1]][1], globals())
fs = [fresh(k) for k in range(rng.randrange(1, 9))]
for f in fs:
    f(x, y)
end()
""".replace("def end", f"ENDS = {ENDS!r}\ndef end")


def exits(tally, times, place, rng):
    """Two at a time; a background compile runs when they end."""
    script, cache = write(place, "exits.py", EXITS), place / "cache"
    pending = []

    def take():
        name, process = pending.pop(0)
        code, _, said = finish(process)
        quiet = said.count("Traceback") == 1 and said.strip().endswith(("LookupError", "KeyboardInterrupt"))
        tally.expect(code == ENDS[name][0] and (quiet if code in (1, -2) else said == ""), (name, code, said))

    for turn in range(times):
        name = list(ENDS)[turn % len(ENDS)]
        pending.append((name, start(script, name, rng.randrange(1 << 30), cache=cache if turn % 5 == 0 else "")))
        if len(pending) > 2:
            take()
    while pending:
        take()
    tally.note("ways to end", len(ENDS))


POOLS = FRESH + """
import concurrent.futures, multiprocessing
shared = fresh(7)

def work(number):
    return is_right(shared) and is_right(fresh(number)) and (number % 3 != 0 or fresh(number + 1).wait() is None)

if __name__ == "__main__":
    method, seed = sys.argv[1], int(sys.argv[2])
    context = multiprocessing.get_context(method)
    for f in map(fresh, range(seed, seed + 5)):
        f(x, y)
    with context.Pool(4, maxtasksperchild=3 if method == "fork" else None) as pool:
        for f in map(fresh, range(seed + 5, seed + 9)):
            f(x, y)
        right = all(pool.map(work, range(24), chunksize=1))
    with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
        right = right and all(pool.map(work, range(12)))
    with context.Pool(2) as pool:  # ends while its processes compile
        pool.map_async(work, range(100, 140))
        time.sleep(random.Random(seed).random() * 0.2)
    print(right)
"""


def pools(tally, times, place, rng):
    script = write(place, "pools.py", POOLS)
    for turn in range(times):
        method = ("fork", "forkserver", "spawn")[turn % 3]
        code, words, said = run(script, method, turn * 20, cache=place / "cache" if turn % 2 else "")
        tally.expect((code, words, said) == (0, ["True"], ""), (method, code, words, said))


CASES = {"processes.forks": (forks, 1000, 12), "processes.exits": (exits, 1200, 8), "processes.pools": (pools, 60, 2)}
