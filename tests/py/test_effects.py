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

from same import assert_same, freeze, outcome, scenarios

LOG = []
COUNTER = 0
REGISTRY = {}
TABLE = np.zeros(4)
RNG = np.random.default_rng(5)
NAMESPACE = types.SimpleNamespace(k=1.0, hits=0)
ROWS = [[1.0, 2.0], [3.0]]


def arrays():
    """Values of one signature: the third and fifth take other branches than the others."""
    up, down = np.arange(1.0, 5.0), -np.arange(1.0, 5.0)
    return [up, up * 2, down, up * 3, down * 2, up]


def seen(function, *rest, log=None):
    """Outcomes of calls with all arrays(); the log after each."""
    out = []
    for x in arrays():
        out.append(outcome(function, x.copy(), *rest))
        if log is not None:
            out.append(list(log))
    return out


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


# -- Operators and protocols of objects --------------------------------------------------------------


class Loud:
    """Everything that Python does with it is noted."""

    def __init__(self, log):
        self.log = log

    def _note(self, what, answer):
        self.log.append(what)
        return answer

    def __add__(self, other):
        return self._note("add", other * 2)

    def __radd__(self, other):
        return self._note("radd", other * 3)

    def __neg__(self):
        return self._note("neg", 2.0)

    def __len__(self):
        return self._note("len", 3)

    def __bool__(self):
        return self._note("bool", True)

    def __iter__(self):
        return self._note("iter", iter([1.0, 2.0]))

    def __contains__(self, item):
        return self._note("contains", True)

    def __eq__(self, other):
        return self._note("eq", True)

    def __lt__(self, other):
        return self._note("lt", True)

    def __getitem__(self, key):
        return self._note("getitem", 5.0)

    def __setitem__(self, key, value):
        self._note("setitem", None)

    def __enter__(self):
        return self._note("enter", 4.0)

    def __exit__(self, *exc):
        self._note("exit", None)

    def __str__(self):
        return self._note("str", "loud")

    def __format__(self, spec):
        return self._note("format", "abc")

    def __index__(self):
        return self._note("index", 1)

    def __float__(self):
        return self._note("float", 1.5)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return self._note("getattr", 6.0)

    __hash__ = None


def _add(x, o):
    return o + x


def _radd(x, o):
    return x * 1 + o


def _iadd(x, o):
    y = 1.0
    y += o
    return x * y


def _neg(x, o):
    return x * -o


def _len(x, o):
    return x * len(o)


def _bool(x, o):
    return x if o else -x


def _not(x, o):
    return x * (not o)


def _and(x, o):
    return x if (o and x[0] > 0) else -x


def _for(x, o):
    for v in o:
        x = x * v
    return x


def _unpack(x, o):
    a, b = o
    return x * a + b


def _star(x, o):
    return np.maximum(x, max(*o))


def _in(x, o):
    return x * (3 in o)


def _eq(x, o):
    return x * (o == 1)


def _lt(x, o):
    return x * (o < 1)


def _getitem(x, o):
    return x * o[0]


def _setitem(x, o):
    o[0] = x
    return x


def _with(x, o):
    with o as v:
        return x * v


def _str(x, o):
    return x * len(str(o))


def _format(x, o):
    return x * len(f"{o}") + len("{}".format(o))


def _index(x, o):
    return x[o] + x[:o].sum()


def _float(x, o):
    return x * float(o)


def _getattr(x, o):
    return x * o.anything + getattr(o, "more")


def _sorted(x, o):
    return x * len(sorted([o, o]))


def _sum(x, o):
    return sum([o], x)


OPERATORS = [v for k, v in list(globals().items()) if k.startswith("_") and callable(v)
             and getattr(v, "__code__", None) and v.__code__.co_varnames[:2] == ("x", "o")]


@pytest.mark.parametrize("body", OPERATORS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("where", ["argument", "global", "attribute", "item"])
def test_protocols(body, where):
    def scenario(wrap):
        log = []
        loud = Loud(log)
        holder = types.SimpleNamespace(loud=loud)
        items = [loud]
        if where == "argument":
            @wrap
            def f(x):
                return body(x, loud)
        elif where == "global":
            @wrap
            def f(x):
                return body(x, CURRENT)
        elif where == "attribute":
            @wrap
            def f(x):
                return body(x, holder.loud)
        else:
            @wrap
            def f(x):
                return body(x, items[0])

        global CURRENT
        CURRENT = loud
        return seen(f, log=log)

    assert_same(scenario)


def scenario_next_of_outer_iterator(wrap):
    numbers, more = iter(range(100)), (n * 1.0 for n in range(100))

    @wrap
    def f(x):
        y = x * next(numbers)
        for v in more:
            return y + v

    return [*seen(f), next(numbers), next(more)]


def scenario_own_generator(wrap):
    log = []

    @wrap
    def f(x):
        def rows():
            for v in x:
                log.append(float(v))
                yield v * 2

        return sum(rows())

    return seen(f, log=log)


# -- Calls that raise -----------------------------------------------------------------------------------


def scenario_raise_before_and_after(wrap):
    log = []

    @wrap
    def f(x):
        log.append("start")
        if x[0] < 0:
            raise ValueError(f"negative: {x[0]}")
        log.append("end")
        return x * 2

    return seen(f, log=log)


def scenario_effect_before_a_failing_call(wrap):
    log = []

    @wrap
    def f(x):
        log.append("in")
        m = np.diag(np.where(x > 0, x, 0))
        y = np.linalg.inv(m)
        log.append("out")
        return y

    return seen(f, log=log)


def scenario_effect_after_a_failing_call(wrap):
    log = []

    @wrap
    def f(x):
        y = np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
        log.append("out")
        return y

    return seen(f, log=log)


def scenario_handler_with_effect(wrap):
    log = []

    @wrap
    def f(x):
        try:
            y = np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
            log.append("fine")
        except np.linalg.LinAlgError as error:
            log.append(str(error))
            y = x
        finally:
            log.append("finally")
        return y

    return seen(f, log=log)


def scenario_handler_without_effect(wrap):
    @wrap
    def f(x):
        try:
            return np.linalg.inv(np.diag(np.where(x > 0, x, 0)))
        except np.linalg.LinAlgError:
            return x * 0

    return seen(f)


def scenario_handler_after_a_write(wrap):
    @wrap
    def f(x, out):
        out += 1
        try:
            out[0] += np.linalg.inv(np.diag(np.where(x > 0, x, 0)))[0, 0]
        except np.linalg.LinAlgError:
            out[1] += 10
        return out * 2

    out = np.zeros(4)
    return seen(f, out, log=out)


def scenario_assertion(wrap):
    log = []

    @wrap
    def f(x):
        log.append(1)
        assert x[0] > 0, "negative"
        log.append(2)
        return x

    return seen(f, log=log)


def scenario_key_and_attribute_errors(wrap):
    class Box:
        pass

    box, d = Box(), {}

    @wrap
    def f(x):
        try:
            k = box.k
        except AttributeError:
            k = 1.0
        try:
            j = d["j"]
        except KeyError:
            j = 1.0
        try:
            i = NOT_THERE_YET  # noqa: F821
        except NameError:
            i = 1.0
        return x * k + j * i

    out = seen(f)
    box.k = 3.0
    out += seen(f)
    d["j"] = 5.0
    out += seen(f)
    globals()["NOT_THERE_YET"] = 7.0
    out += seen(f)
    del globals()["NOT_THERE_YET"]
    return out + seen(f)


# -- Nothing happens in a trial ---------------------------------------------------------------------------


def test_explain_and_lower_have_no_effects():
    import pyasc

    log, table = [], np.zeros(3)
    masked = np.ma.array([1.0, 2.0, 3.0])

    @pyasc.jit
    def effect(x):
        log.append(x.sum())
        return x * 2

    @pyasc.jit
    def effect_after_bail(x):
        y = (x + masked).sum()
        log.append(y)
        return y

    @pyasc.jit
    def swallowing(x):
        try:
            log.append(1)
        except BaseException:
            log.append(2)
        log.append(3)
        return x

    @pyasc.jit
    def writes(x):
        table[:] = x
        x += 1
        return x

    @pyasc.jit
    def draws(x):
        return x + np.random.rand(3)

    x = np.ones(3)
    state = freeze(list(np.random.get_state()))
    for f in (effect, effect_after_bail, swallowing, writes, draws):
        f.explain(x)
    ahead = [pyasc.jit(f.__wrapped__, shape_infer=[(3,)]) for f in (effect, swallowing, writes, draws)]
    assert log == [] and table.sum() == 0 and x.sum() == 3
    assert freeze(list(np.random.get_state())) == state
    assert len(ahead) == 4
    writes(x)
    assert table.sum() == 3 and x.sum() == 6


FOUND, NAMES = scenarios(globals())


@pytest.mark.parametrize("scenario", FOUND, ids=NAMES)
def test_effects(scenario):
    assert_same(scenario)
