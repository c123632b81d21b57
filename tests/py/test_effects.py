"""Every effect happens exactly once, in order, whatever the call: first, cached, diverging, raising."""
import builtins
import collections
import ctypes
import functools
import io
import itertools
import math
import os
import random
import tempfile
import time
import types
import warnings

import numpy as np
import pytest

from same import arrays, assert_same, outcome, scenarios, seen

LOG = []
COUNTER = 0
REGISTRY = {}
TABLE = np.zeros(4)
RNG = np.random.default_rng(5)
NAMESPACE = types.SimpleNamespace(k=1.0, hits=0)


# -- Prints ---------------------------------------------------------------------------


def printed(function):
    out, text = [], io.StringIO()
    real = builtins.print
    for x in arrays():
        builtins.print = functools.partial(real, file=text)
        try:
            out.append(outcome(function, x))
        finally:
            builtins.print = real
        out.append(text.getvalue())
    return out


def scenario_print_result(wrap):
    @wrap
    def f(x):
        y = x * 2 + 1
        print("sum", y.sum(), f"{y[0]:.2f}")
        return y

    return printed(f)


def scenario_print_between_branches(wrap):
    @wrap
    def f(x):
        print("before", x[0])
        if x.sum() > 0:
            print("up")
            y = x + 1
        else:
            print("down")
            y = x - 1
        print("after", y[0])
        return y

    return printed(f)


def scenario_print_to_own_file(wrap):
    @wrap
    def f(x, file):
        print(x.sum(), file=file)
        file.write("end\n")
        return x * 2

    file = io.StringIO()
    return [*seen(f, file), file.getvalue()]


# -- Containers -----------------------------------------------------------------------


def scenario_append_to_argument(wrap):
    @wrap
    def f(x, log):
        y = x * 2
        log.append(y.sum())
        return y

    log = []
    return seen(f, log, log=log)


def scenario_append_to_global(wrap):
    @wrap
    def f(x):
        LOG.append(float(x.max()))
        if x[0] > 0:
            LOG.append("up")
            return x
        LOG.append("down")
        return x * 2

    LOG.clear()
    return seen(f, log=LOG)


def scenario_append_to_cell(wrap):
    log = []

    @wrap
    def f(x):
        for i in range(3):
            log.append(x[i])
        return x.sum()

    return seen(f, log=log)


def scenario_appended_list_goes_on_growing(wrap):
    out = []

    @wrap
    def f(x):
        row = [x * 2]
        out.append(row)
        row.append(x.sum())
        row[0] += 1
        return x

    return seen(f, log=out)


def scenario_store_in_dict(wrap):
    @wrap
    def f(x, d):
        d["sum"] = x.sum()
        d["n"] = d.get("n", 0) + 1
        d["s"] += x[0]
        return x + d["n"]

    d = {"s": 0.0}
    return [*seen(f, d), d]


def scenario_store_in_global_dict(wrap):
    @wrap
    def f(x):
        REGISTRY.setdefault("calls", []).append(1)
        REGISTRY["last"] = x
        del REGISTRY["temporary"]
        return x * len(REGISTRY["calls"])

    REGISTRY.clear()
    out = []
    for x in arrays():
        REGISTRY["temporary"] = 0
        out += [outcome(f, x), dict(REGISTRY)]
    return out


def scenario_store_in_list(wrap):
    @wrap
    def f(x, items):
        items[0] = items[0] + 1
        items[1:] = [x[0]] * 2
        return x * items[0]

    items = [0, 0]
    return seen(f, items, log=items)


def scenario_sets_deques_and_counters(wrap):
    numbers, last, counts = set(), collections.deque(maxlen=2), collections.Counter()

    @wrap
    def f(x):
        numbers.add(float(x[0]))
        last.append(x[1])
        counts["up" if x[0] > 0 else "down"] += 1
        return x * len(numbers) + len(last)

    return [*seen(f), numbers, list(last), dict(counts)]


def scenario_pop_from_list(wrap):
    @wrap
    def f(x, stack):
        return x * stack.pop()

    return seen(f, [5.0, 4.0, 3.0, 2.0])


def scenario_clear_on_one_path(wrap):
    log = []

    @wrap
    def f(x):
        if x[0] < 0:
            log.clear()
        log.append(len(log))
        return x * 1

    return seen(f, log=log)


# -- Arrays from outside -----------------------------------------------------------------


def scenario_write_to_global_array(wrap):
    @wrap
    def f(x):
        TABLE[1:] += x[:-1]
        TABLE[0] = x.sum()
        return TABLE * 2

    TABLE[:] = 0
    out = []
    for x in arrays():
        out += [outcome(f, x), TABLE.copy()]
    return out


def scenario_write_to_captured_array(wrap):
    total = np.zeros(4)

    @wrap
    def f(x):
        nonlocal total
        total += x
        return total.sum()

    return [*seen(f), total]


def scenario_write_to_argument(wrap):
    @wrap
    def f(x, out):
        out[:] = x * 2
        if x[0] < 0:
            out[0] = 100
        return out.sum()

    out = np.zeros(4)
    return seen(f, out, log=out)


# -- Random numbers ------------------------------------------------------------------------


def scenario_legacy_random(wrap):
    @wrap
    def f(x):
        noise = np.random.rand(4)
        if x[0] > 0:
            noise += np.random.normal(size=4)
        return x + noise

    np.random.seed(3)
    return [*seen(f), np.random.rand()]


def scenario_generator_argument(wrap):
    @wrap
    def f(x, rng):
        y = x + rng.normal(size=4)
        return y * rng.random() if y[0] > 0 else y

    rng = np.random.default_rng(1)
    return [*seen(f, rng), rng.random()]


def scenario_generator_global(wrap):
    global RNG
    RNG = np.random.default_rng(5)

    @wrap
    def f(x):
        return x + RNG.integers(0, 10, 4)

    return [*seen(f), RNG.random()]


def scenario_generator_made_inside(wrap):
    @wrap
    def f(x, seed):
        rng = np.random.default_rng(seed)
        return x + rng.random(4) + rng.random()

    return seen(f, 3) + seen(f, 4)


def scenario_shuffle(wrap):
    @wrap
    def f(x):
        np.random.shuffle(x)
        return x * 2

    np.random.seed(0)
    out = []
    for x in arrays():
        x = x.copy()
        out += [outcome(f, x), x]
    return out


def scenario_python_random(wrap):
    @wrap
    def f(x):
        return x * random.random() + random.choice([1, 2, 3])

    random.seed(1)
    return [*seen(f), random.random()]


# -- Attributes, globals, cells ----------------------------------------------------------------


class Counter:
    total = 0

    def __init__(self):
        self.n, self.last, self.scale = 0, None, 2.0

    def add(self, x):
        self.n += 1
        self.last = x
        return x * self.n

    @property
    def twice(self):
        LOG.append("twice")
        return self.n * 2


def scenario_store_attribute(wrap):
    @wrap
    def f(x, c):
        c.n += 1
        c.last = x * 2
        return x * c.n

    c = Counter()
    return [*seen(f, c), c]


def scenario_method_with_effect(wrap):
    @wrap
    def f(x, c):
        return c.add(x) + c.twice

    LOG.clear()
    c = Counter()
    return [*seen(f, c, log=LOG), c]


def scenario_class_attribute(wrap):
    @wrap
    def f(x):
        Counter.total += 1
        return x * Counter.total

    Counter.total = 0
    return [*seen(f), Counter.total]


def scenario_jitted_method(wrap):
    class Model:
        def __init__(self):
            self.w, self.calls = np.ones(4), 0

        @wrap
        def step(self, x):
            self.calls += 1
            self.w -= 0.5 * x
            return self.w.sum()

    model = Model()
    return [*seen(model.step), model]


def scenario_function_attribute(wrap):
    def helper(x):
        helper.calls += 1
        return x * helper.calls

    helper.calls = 0

    @wrap
    def f(x):
        return helper(x) + helper.calls

    return seen(f)


def scenario_namespace(wrap):
    @wrap
    def f(x):
        NAMESPACE.hits += 1
        return x * NAMESPACE.k * NAMESPACE.hits

    NAMESPACE.hits = 0
    return [*seen(f), NAMESPACE.hits]


def scenario_global_store(wrap):
    @wrap
    def f(x):
        global COUNTER
        COUNTER = COUNTER + 1
        return x * COUNTER

    global COUNTER
    COUNTER = 0
    return [*seen(f), COUNTER]


def scenario_nonlocal_store(wrap):
    n = 0

    @wrap
    def f(x):
        nonlocal n
        n += 1
        return x * n

    return [*seen(f), n]


def scenario_inner_nonlocal(wrap):
    @wrap
    def f(x):
        n = 0

        def bump():
            nonlocal n
            n += 1
            return n

        return x * bump() + bump()

    return seen(f)


def scenario_setattr_and_delattr(wrap):
    @wrap
    def f(x, c):
        setattr(c, "extra", x.sum())
        y = x * c.extra
        delattr(c, "extra")
        return y, hasattr(c, "extra")

    return seen(f, Counter())


# -- Files, time, foreign code -------------------------------------------------------------------


def scenario_file_writes(wrap):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "log")

        @wrap
        def f(x):
            with open(path, "a") as file:
                file.write(f"{x.sum()}\n")
            return x * 2

        @wrap
        def g(x):
            np.save(path + ".npy", x * 3)
            x.tofile(path + ".bin")
            return x

        out = seen(f) + seen(g)
        with open(path) as file:
            out.append(file.read())
        out += [np.load(path + ".npy"), np.fromfile(path + ".bin")]
    return out


def scenario_time_moves_on(wrap):
    @wrap
    def f(x):
        return x * 0 + time.perf_counter()

    times = [float(f(x)[0]) for x in arrays()]
    return [times == sorted(set(times))]


def scenario_c_functions(wrap):
    next_number = itertools.count().__next__
    labs = ctypes.pythonapi.PyLong_FromLong
    labs.restype = ctypes.py_object

    @wrap
    def f(x):
        return x * next_number() + labs(ctypes.c_long(2)) + math.fsum([1.0, 2.0])

    return seen(f)


class Opaque:
    """A callable object, as compiled functions of other projects are."""

    def __init__(self, log):
        self.log = log

    def __call__(self, x):
        self.log.append(type(x).__name__)
        return x * len(self.log)


def scenario_callable_objects(wrap):
    log = []
    kernel = Opaque(log)

    @wrap
    def f(x):
        y = x * 2
        return kernel(y) + 1

    return seen(f, log=log)


def scenario_partial_with_effect(wrap):
    log = []

    def note(tag, x):
        log.append(tag)
        return x * len(log)

    tagged = functools.partial(note, "a")

    @wrap
    def f(x):
        return tagged(x)

    return seen(f, log=log)


def scenario_library_callback(wrap):
    log = []

    def key(v):
        log.append(v)
        return -v

    @wrap
    def f(x):
        return sorted([3, 1, 2], key=key), functools.reduce(lambda a, b: a + b, [x, x])

    return seen(f, log=log)


def scenario_vectorize(wrap):
    log = []

    @np.vectorize
    def each(v):
        log.append(v)
        return v * 2

    @wrap
    def f(x):
        return each(x) + np.apply_along_axis(lambda r: (log.append("row"), r.sum())[1], 0, x)

    return seen(f, log=log)


def scenario_warning(wrap):
    @wrap
    def f(x):
        warnings.warn("careful")
        return x * 2

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        out = seen(f)
    return [*out, len(caught), [os.path.basename(w.filename) for w in caught]]


FOUND, NAMES = scenarios(globals())


@pytest.mark.parametrize("scenario", FOUND, ids=NAMES)
def test_effects(scenario):
    assert_same(scenario)
