"""Threads: bits that do not depend on them, the option, many callers, forks, Ctrl-C, the GIL."""
import os
import signal
import threading
import time

import numpy as np
import pytest

import pyasc
from same import python

N = 300_007


def draws(seed, dtype, n=N):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind in "iu":
        return rng.integers(1, 100, n).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (rng.random(n) + 1j * rng.random(n)).astype(dtype)
    return (rng.standard_normal(n) * 10).astype(dtype)


# -- Bits ------------------------------------------------------------------------------------


def elementary(x, y):
    return np.exp(-x * x) * np.sin(y), np.log1p(np.abs(x)) ** 1.5, np.arctan2(x, y)


def arithmetic(x, y):
    return x + y * 3, x // 7 - y, (x > y) & (y > 0), np.where(x > 2, x, y)


def mixed(x, y):
    return x.astype(np.float32) * np.int16(3) + y.astype(np.complex64), x.astype(np.int8) + y.astype(np.int64)


def whole(x, y):
    return (x * y).sum(), x.sum(), x.max(), (x - y).min(), (x > y).any(), np.abs(y).mean(), x.std(), (x * 0.9).prod()


def of_ints(x, y):
    return x.sum(), (x * y).max(), (x + y).prod(), (x > 5).sum(), (x ^ y).min()


def rows(x, y):
    a, b = x[:300_000].reshape(600, 500), y[:300_000].reshape(600, 500)
    wide, few = x[:300_000].reshape(3, 100_000), y[:300_000].reshape(100_000, 3)
    return (a * b).sum(1), (a - b).max(1), np.exp(wide).sum(-1), (few * 2).sum(1), a.mean(1), (wide * 0.5).prod(1)


def columns(x, y):
    a, b = x[:300_000].reshape(30, 10_000), y[:300_000].reshape(30, 10_000)
    thin, cube = x[:300_000].reshape(100_000, 3), y[:300_000].reshape(40, 75, 100)
    return (a * b).sum(0), (a + b).max(0), (thin * 2).sum(0), (cube - 1).sum(1), np.exp(thin).max(0), cube.std(0)


def strided(x, y):
    a = x[:300_000].reshape(500, 600)
    return x[:-1:2] * y[1::2], x[::-1] + y, a.T * 2 + 1, a[:, ::3] - a[:, 1::3], a[:, :7] * a[:, 7:14], a[:1] * a


def written(x, y):
    x += y * 0.5
    x[1:] -= y[:-1]
    x[::3] *= 2
    y[:300_000].reshape(500, 600).T[1:] += 1
    return x + y


def stepped(x, y):
    for i in range(12):
        x = x * 0.5 + np.cos(y) * i
        y = y - x.mean()
    return x, y


CASES = [(elementary, "f8"), (elementary, "f4"), (arithmetic, "f8"), (arithmetic, "i4"), (arithmetic, "u1"),
         (mixed, "f8"), (whole, "f8"), (whole, "f4"), (of_ints, "i8"), (of_ints, "i4"), (rows, "f8"), (rows, "f4"),
         (columns, "f8"), (columns, "f4"), (strided, "f8"), (strided, "i2"), (strided, "c16"), (written, "f8"),
         (written, "f4"), (stepped, "f8"), (arithmetic, "f2"), (whole, "g"), (strided, "g")]


def bits(result):
    if isinstance(result, tuple):
        return [bits(r) for r in result]
    array = np.asarray(result)
    if array.dtype.char == "g":  # its padding is anything
        return array.dtype.str, array.shape, [float(v).hex() for v in array.ravel()[::101]]
    return array.dtype.str, array.shape, array.tobytes()


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function, dtype", CASES, ids=lambda v: getattr(v, "__name__", v))
def test_bits_do_not_depend_on_threads(function, dtype, tier):
    with np.errstate(all="ignore"):
        seen = []
        for count in (1, 2, 7):
            jitted = pyasc.jit(function, threads=count, tier=tier)
            for _ in range(2):
                x, y = draws(1, dtype), draws(2, dtype)
                seen.append((bits(jitted(x, y)), bits((x, y))))
    assert all(s == seen[0] for s in seen)


@pytest.mark.parametrize("function, dtype", [(rows, "f8"), (whole, "f4"), (strided, "f8"), (written, "f8"),
                                             (columns, "f8")], ids=lambda v: getattr(v, "__name__", v))
def test_bits_are_numpys(function, dtype):
    """Where no elementary function is in it, or in strict mode."""
    with np.errstate(all="ignore"):
        x, y = draws(1, dtype), draws(2, dtype)
        expected = bits(function(x, y))
        jitted = pyasc.jit(function, threads=3, numerics="strict")
        for _ in range(2):
            assert bits(jitted(draws(1, dtype), draws(2, dtype))) == expected
        jitted.wait()
        assert bits(jitted(draws(1, dtype), draws(2, dtype))) == expected


def test_results_that_overlap_themselves():
    def bump(x, y):
        x += y

    memory = [np.zeros(200_003) for _ in range(3)]
    for count, m in zip((None, 1, 4), memory):
        x = np.lib.stride_tricks.as_strided(m, (100_000, 3), (16, 8))
        function = pyasc.jit(bump, threads=count) if count else bump
        for _ in range(2):
            function(x, np.arange(300_000.0).reshape(100_000, 3))
    assert bits(memory[1]) == bits(memory[2])


def test_errors_of_integer_powers_are_seen():
    def power(x, y):
        return x**y

    jitted = pyasc.jit(power, threads=4)
    x, y = draws(1, "i8"), np.full(N, 2)
    for _ in range(3):
        assert bits(jitted(x, y)) == bits(power(x, y))
        y[N - 5] = -1
        with pytest.raises(ValueError, match="negative integer powers"):
            jitted(x, y)
        y[N - 5] = 3


# -- The option ------------------------------------------------------------------------------

COUNT = """
    import os, numpy as np, pyasc
    def helpers(function):
        before = len(os.listdir("/proc/self/task"))
        for _ in range(3):
            function(np.ones(3_000_000))
        return len(os.listdir("/proc/self/task")) - before
    def work(x):
        return np.exp(x) * np.sin(x)
    with pyasc.options(tier=0):
        pyasc.jit(work, threads=1)(np.ones(3_000_000))
        {}
    """


@pytest.mark.parametrize("statement, env, count", [
    ("print(helpers(pyasc.jit(work, threads=1)))", {}, 0),
    ("print(helpers(pyasc.jit(work, threads=4)))", {}, 3),
    ("print(helpers(pyasc.jit(work)))", {}, len(os.sched_getaffinity(0)) - 1),
    ("os.sched_setaffinity(0, [min(os.sched_getaffinity(0))]); print(helpers(pyasc.jit(work)))", {}, 0),
    ("print(helpers(pyasc.jit(work)))", {"PYASC_NUM_THREADS": "6"}, 5),
    ("print(helpers(pyasc.jit(work, threads=2)))", {"PYASC_NUM_THREADS": "6"}, 1),
    ("f = pyasc.jit(work)\n        with pyasc.options(threads=3): print(helpers(f))", {"PYASC_NUM_THREADS": "6"}, 2),
    ("f = pyasc.jit(work, threads=5)\n        with pyasc.options(threads=3): print(helpers(f))", {}, 4),
    ("with pyasc.options(threads=4): f = pyasc.jit(work)\n        print(helpers(f))", {}, 3),
])
def test_the_count(statement, env, count):
    assert python(COUNT.format(statement), **env) == str(count)


@pytest.mark.parametrize("value", [0, -1, 1025, "x", 2.0, True, None])
def test_unknown_counts(value):
    for make in (lambda: pyasc.jit(lambda x: x, threads=value), lambda: pyasc.options(threads=value)):
        with pytest.raises(ValueError, match="threads=.*known values are 1 to 1024"):
            make()


@pytest.mark.parametrize("value", ["0", "-3", "many", "1.5"])
def test_unknown_counts_in_the_environment(value):
    code = """
        import pyasc
        try:
            pyasc.jit(lambda x: x)
        except ValueError as error:
            print(error)
        """
    assert "known values are 1 to 1024" in python(code, PYASC_NUM_THREADS=value)
    assert python(code, PYASC_NUM_THREADS="") == ""


# -- Many callers ----------------------------------------------------------------------------


def together(calls):
    """Runs the calls at once; the first exception of any."""
    errors, gate = [], threading.Barrier(len(calls))

    def run(call):
        try:
            gate.wait()
            call()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=[call]) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def test_one_function_from_many_threads():
    def step(x, k):
        y = np.exp(x * k) + 1
        return y, y.sum(), (y * x).max(), y[::2] - 1

    jitted = pyasc.jit(step, threads=3)
    alone = pyasc.jit(step, threads=1, tier=0)
    inputs = [draws(seed, "f8", 60_000 + 1000 * (seed % 5)) / 20 for seed in range(16)]
    expected = [bits(alone(x, 0.5 + i)) for i, x in enumerate(inputs)]

    def calls(i):
        for _ in range(15):
            assert bits(jitted(inputs[i], 0.5 + i)) == expected[i]

    together([lambda i=i: calls(i) for i in range(16)])


def test_many_functions_while_kernels_go():
    """Kernels have no room in memory: each is dropped with its plan."""
    stats = pyasc._pyasc.cache_stats()
    pyasc._pyasc.cache_bound(0, 256 << 20)
    try:
        x = draws(3, "f8", 80_000)

        def calls(i):
            for turn in range(4):
                scope = {"np": np}
                exec(f"def f(x):\n    return (x * {i}.5 + {turn}).sum(), np.sqrt(x * x + {i})", scope)
                jitted = pyasc.jit(eval(f"lambda x: ((x * {i}.5 + {turn}).sum(), np.sqrt(x * x + {i}))",
                                        {"np": np}), threads=2, cache_dir="", numerics="strict")
                expected = bits(scope["f"](x))
                for _ in range(4):
                    assert bits(jitted(x)) == expected
                jitted.wait()
                assert bits(jitted(x)) == expected
                jitted.cache_clear()

        together([lambda i=i: calls(i) for i in range(16)])
    finally:
        pyasc._pyasc.cache_bound(stats["bound"], 256 << 20)


def test_arguments_stay_alive():
    """A container loses its arrays, and a global is set, while the call runs without the GIL."""
    scope = {"np": np, "scale": draws(5, "f8", 500_000)}
    exec("def work(parts):\n"
         "    a = np.exp(parts[0]) * scale\n"
         "    b = np.sin(parts[1]) + a\n"
         "    return np.cos(b) - parts[0]", scope)
    jitted = pyasc.jit(scope["work"], threads=2)
    made = lambda: [draws(6, "f8", 500_000), draws(7, "f8", 500_000)]
    with np.errstate(all="ignore"):
        expected = bits(jitted(made()))
        jitted(made())
        parts, stop = made(), threading.Event()

        def disturb():
            while not stop.is_set():
                parts[:] = made()
                scope["scale"] = draws(5, "f8", 500_000)

        other = threading.Thread(target=disturb)
        other.start()
        try:
            for _ in range(30):
                assert bits(jitted(parts)) == expected
        finally:
            stop.set()
            other.join()


def ticks_beside(call):
    """True if another thread runs every 20 ms at least during the call, on average."""
    seen, running = [], True

    def count():
        while running:
            seen.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    call()
    end = time.perf_counter()
    running = False
    other.join()
    return sum(start < t < end for t in seen) > (end - start) * 1000 / 20


def test_other_threads_go_on():
    jitted = pyasc.jit(lambda x: np.exp(np.sin(np.exp(np.cos(x)))).sum(), threads=1, tier=0)
    x = draws(8, "f8", 2_000_000)
    jitted(x)
    assert any(ticks_beside(lambda: jitted(x)) for _ in range(10))  # CPUs may have other work meanwhile


def test_other_threads_go_on_beside_a_long_loop():
    def loop(x):
        for _ in range(9_000_000):
            x = x * 0.5 + 1
        return x

    jitted, ticks, running = pyasc.jit(loop), [], True
    jitted(np.ones(16))

    def count():
        while running:
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    other.start()
    start = time.perf_counter()
    jitted(np.ones(16))
    end = time.perf_counter()
    running = False
    other.join()
    inside = [t for t in ticks if start < t < end]
    assert inside and max(b - a for a, b in zip([start, *inside], [*inside, end])) < (end - start) / 3


# -- Fork ------------------------------------------------------------------------------------

FORK = """
    import os, sys, threading, multiprocessing, numpy as np, pyasc
    def work(x):
        return np.exp(np.sin(x)).sum(), np.cos(x) * 2
    jitted = pyasc.jit(work, threads=3)
    x = np.linspace(0, 1, 400_000)
    total = jitted(x)[0]
    def same(_=0):
        return all(jitted(x)[0] == total for _ in range(5))
    """


def test_fork_in_the_midst():
    assert python(FORK + """
    stop = False
    def busy():
        while not stop:
            assert same()
    others = [threading.Thread(target=busy) for _ in range(3)]
    for other in others:
        other.start()
    for _ in range(25):
        child = os.fork()
        if not child:
            import signal
            signal.alarm(30)
            os._exit(0 if same() else 1)
        assert os.waitpid(child, 0)[1] == 0
    stop = True
    for other in others:
        other.join()
    print(same())
    """) == "True"


def test_pool_of_processes():
    assert python(FORK + """
    with multiprocessing.get_context("fork").Pool(3) as pool:
        assert same()
        assert all(pool.map(same, range(12)))
    print(same(), sum(1 for _ in os.listdir("/proc/self/task")) > 1)
    """) == "True True"


def test_fork_leaves_no_thread():
    assert python(FORK + """
    jitted.wait()
    same()
    child = os.fork()
    if not child:
        os._exit(len(os.listdir("/proc/self/task")))
    alone = len(os.listdir("/proc/self/task"))
    print(alone, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """, OPENBLAS_NUM_THREADS="1") == "1 1"


def test_exit_beside_a_call():
    assert python(FORK + """
    def forever():
        while True:
            jitted(x)
    threading.Thread(target=forever, daemon=True).start()
    import time
    time.sleep(0.05)
    print("done")
    """) == "done"


# -- Ctrl-C ----------------------------------------------------------------------------------


def long_loop(x):
    for _ in range(2_000_000_000):
        x = x * 0.5 + 1
    return x


def loop_of_calls(x):
    for _ in range(2_000_000_000):
        x = np.sort(x @ x.T, axis=0) * 0.01
    return x


def nested_loops(x):
    for _ in range(1_000_000):
        for _ in range(100_000):
            x = x + 1
    return x


def interrupt(call, after=0.2):
    """How long after the signal the call ended with KeyboardInterrupt."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(after, send)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            call()
            time.sleep(after + 1)  # it was through before the signal
        assert sent
        return time.perf_counter() - sent[0]
    finally:
        timer.cancel()
        timer.join()


@pytest.mark.parametrize("function", [long_loop, nested_loops, loop_of_calls], ids=lambda f: f.__name__)
def test_interrupt_of_a_loop(function):
    jitted = pyasc.jit(function)
    for _ in range(2):  # the first is traced
        x = np.ones((4, 4))
        assert interrupt(lambda: jitted(x)) < 0.5
        assert (x == 1).all()


@pytest.mark.parametrize("count", [1, 2])
def test_interrupt_of_a_group(count):
    def work(x):
        x += np.exp(np.sin(np.arctan(np.exp(np.cos(x)))))

    jitted = pyasc.jit(work, threads=count, tier=0, numerics="strict")
    once = np.full(1000, 0.5)
    jitted(once)
    x = np.full(40_000_000, 0.5)
    assert interrupt(lambda: jitted(x), after=0.1) < 0.5
    assert np.isin(x, [0.5, once[0]]).all() and (x == 0.5).any()  # each as before, or done
    jitted(x[:1000])


def test_interrupt_of_a_reduction():
    x = np.full(60_000_000, 0.5)
    jitted = pyasc.jit(lambda x: np.exp(np.sin(np.arctan(np.exp(np.cos(x))))).sum(), tier=0, numerics="strict")
    assert interrupt(lambda: jitted(x), after=0.1) < 0.5


def test_what_a_handler_raises_ends_the_call():
    """An exception of another kind, too; the function is not called again for it."""
    class Late(Exception):
        pass

    def handler(*_):
        raise Late

    jitted = pyasc.jit(lambda x, n: [x := x * 0.5 + 1 for _ in range(n)][-1] if n < 3 else long_loop(x))
    plain = pyasc.jit(long_loop)
    before = signal.signal(signal.SIGALRM, handler)
    try:
        for function in (plain, plain, lambda x: jitted(x, 5)):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            start = time.perf_counter()
            with pytest.raises(Late):
                function(np.ones(8))
            assert time.perf_counter() - start < 0.6
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_handlers_run_in_the_midst():
    seen = []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(time.perf_counter()))

    def loop(x):
        for _ in range(9_000_000):
            x = x * 0.5 + 1
        return x

    jitted = pyasc.jit(loop)
    try:
        for _ in range(2):
            seen.clear()
            signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
            start = time.perf_counter()
            result = jitted(np.ones(16))
            end = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, 0)
            assert (result == 2).all()
            assert len(seen) > (end - start) / 0.02 / 4
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


