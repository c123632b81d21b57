"""Signals at random moments of traces, calls and compiles: the handler's exception, or the right result; then all goes on."""
from .common import run, write

PROGRAM = """
import gc, random, signal, sys, time, traceback
import numpy as np
import pyasc
from same import freeze

seed, times, name = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
rng = random.Random(seed)
unraisable = []
sys.unraisablehook = lambda it: unraisable.append((it.exc_type.__name__, str(it.exc_value), str(it.err_msg), repr(it.object)))

class Late(Exception):
    pass

def handler(*_):
    raise (KeyboardInterrupt if name == "SIGINT" else Late)

class Model:
    def __init__(self):
        self.w, self.n = np.linspace(0, 1, 50), 0

    def step(self, x):
        self.n += 1
        return x * self.w + self.n

def chain(k):
    return eval(f"lambda x: np.exp(x) * {k} + np.sqrt(x * x + 1)", {"np": np}), lambda x: (x,)

def loop(k):
    def f(x):
        for _ in range(40):
            x = x * 0.5 + k
        return x.sum(), x
    return f, lambda x: (x,)

def calls(k):
    def f(x):
        order = np.argsort(x)
        y = np.cumsum(x[order]) * k
        if y[-1] > 3:
            y = y - 1
        return np.concatenate([y, x]), [v for v in y[:3]]
    return f, lambda x: (x,)

def big(k):
    return (lambda x: np.sin(np.repeat(x, 4000)).sum() * k), lambda x: (x,)

def stateful(k):
    def f(x, m):
        m.n = k
        return m.step(x) + m.n
    return f, lambda x: (x, Model())

def in_place(k):
    def f(x):
        x *= 2
        x[::2] += k
        return x.mean()
    return f, lambda x: (x.copy(),)

def effects(k):
    def f(x, out):
        out.append(k)
        y = x * 2
        out.append(y.sum())
        return y
    return f, lambda x: (x, [])

kinds = [chain, loop, calls, big, stateful, in_place, effects]

def arm(most):
    signal.setitimer(signal.ITIMER_REAL, 1e-6 + rng.random() * most)

def outcome(f, args):
    return freeze((f(*args), args))

if name == "SIGALRM":
    signal.signal(signal.SIGALRM, handler)
else:  # an interrupt of the kernel's, at the same moments
    signal.signal(signal.SIGINT, handler)
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
x = np.linspace(-1.0, 2.0, 50)
wrong, raised, through = [], 0, 0
for turn in range(times):
    kind = rng.choice(kinds)
    plain, make = kind(turn % 50 + 0.5)
    f = pyasc.jit(plain, **rng.choice([{}, {}, {"tier": 1}, {"threads": 2}]))
    expected = outcome(pyasc.jit(plain, tier=0), make(x))
    for _ in range(rng.randrange(3)):
        f(*make(x))
    args = make(x)
    try:
        arm(rng.choice([0.0003, 0.002, 0.03]))
        try:
            for _ in range(4):
                got = outcome(f, args)
                args = make(x)
                if got != expected:
                    wrong.append((kind.__name__, turn, "in the midst", got, expected))
            if turn % 3 == 0:
                f.wait()
            elif turn % 7 == 0:
                f.explain(), f.report()
            through += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except (Late, KeyboardInterrupt):
        raised += 1
    except BaseException as error:
        wrong.append((kind.__name__, turn, traceback.format_exc()[-1500:]))
    for _ in range(3):
        got = outcome(f, make(x))
        if got != expected:
            wrong.append((kind.__name__, turn, "afterwards", got, expected))
            break
    if len(wrong) > 3:
        break
signal.signal(signal.SIGALRM, signal.SIG_IGN)
gc.collect()
ours = [u for u in unraisable if "Late" not in u[0] and "KeyboardInterrupt" not in u[0]]
print(raised, through, len(wrong) + len(ours), len(unraisable))
for it in wrong + ours:
    print(repr(it)[:1500])
"""


def interrupted(tally, times, place, rng):
    script, batch = write(place, "program.py", PROGRAM), 500
    for first in range(0, times, batch):
        for name in ("SIGALRM", "SIGINT"):
            count = min(batch, times - first)
            code, words, said = run(script, rng.randrange(1 << 30), count, name, cache=place / "cache")
            right = code == 0 and said == "" and words[2] == "0"
            if tally.expect(right, (name, code, " ".join(words), said)):
                tally.note("exceptions", int(words[0]))
                tally.note("went through", int(words[1]))
                tally.note("in finalizers and callbacks", int(words[3]))


CASES = {"interrupts.interrupted": (interrupted, 10_000, 60)}
