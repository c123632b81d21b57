"""Calls of code that the tracer cannot see into: steps of plans that may do anything."""

import gc
import random
import weakref
import zlib

import numpy as np
import pytest

import pyasc
from same import freeze, unseen

LOG = []
TABLE = np.arange(6.0)


class Box:
    def __init__(self):
        self.a = np.ones(6)
        self.k = 2
        self.kept = []


@unseen
def reads(x):
    LOG.append(float(np.sum(x)))
    return float(np.sum(x))


@unseen
def changes(x, by=1.0):
    x += by


@unseen
def changes_table(by):
    TABLE[1] += by


@unseen
def replaces(box):
    box.a = box.a + 1


@unseen
def counts(box):
    box.k += 1


@unseen
def makes(x):
    return np.cumsum(x), x.size


@unseen
def keeps(box, x):
    box.kept.append(x)
    return len(box.kept)


@unseen
def changes_kept(box):
    for x in box.kept:
        x[0] += 100


@unseen
def picks(x, k):
    return x if k % 2 else x * 2


@unseen
def fails(x):
    LOG.append("fails")
    x[1] = 7
    if x[0] > 2:
        raise ValueError("too large")
    return x.sum()


def observe(function, calls=7, make=Box, seed=0):
    """Results, errors, and everything that unknown code can have changed, call by call."""
    LOG.clear()
    TABLE[:] = np.arange(6.0)
    box, x, seen = make(), np.linspace(0, 1, 6), []
    for k in range(calls):
        try:
            result = function(x, box)
        except Exception as e:
            result = type(e).__name__, str(e)
        seen.append(freeze((result, x, box.a, box.k, [a.copy() for a in box.kept], TABLE, list(LOG))))
        if k == 4:
            x = x.copy()
    return seen


PROGRAMS, EFFECTS = [], {}


def program(effects):
    def add(function):
        PROGRAMS.append(function)
        EFFECTS[function] = effects
        return function
    return add


@program(1)
def plain_value(x, box):
    y = x * 2 + 1
    return y * reads(y)


@program(1)
def writes_argument(x, box):
    y = x + 1
    changes(x)
    return y * x


@program(1)
def writes_local(x, box):
    y = x + 1
    changes(y, by=0.5)
    y *= 2
    return y - x


@program(1)
def writes_captured_before(x, box):
    y = TABLE * x
    changes_table(0.5)
    return y + TABLE


@program(1)
def writes_captured_after(x, box):
    changes_table(0.5)
    return x + TABLE * 2


@program(1)
def writes_attribute(x, box):
    y = box.a + x
    changes(box.a)
    return y * box.a


@program(None)
def replaces_attribute(x, box):
    y = box.a + x
    replaces(box)
    return y * box.a


@program(None)
def number_from_outside(x, box):
    y = x * box.k
    counts(box)
    return y + box.k


@program(1)
def arrays_and_ints(x, box):
    total, n = makes(x * 2)
    return total / n + x


@program(1)
def asked_after(x, box):
    x *= 1.5
    s = reads(x)
    if s > 9:
        return x - s
    return x + s


@program(2)
def kept_and_changed(x, box):
    y = x * 3
    n = keeps(box, y)
    y += 1
    changes_kept(box)
    if n == 3:
        y += 2
    return y * 2


@program(None)
def alternating(x, box):
    y = x + 1
    box.k = box.k
    z = picks(y, box.k)
    counts(box)
    z += 1
    return y + z


@program(None)
def raising(x, box):
    y = x * 2
    x += 0.5
    s = fails(x)
    x += 1
    return y * s


@program(None)
def caught(x, box):
    try:
        return fails(x * 4) + x
    except ValueError:
        return x * 2


@program(1)
def c_code(x, box):
    y = x * 2 + 1
    return zlib.crc32(y), y + 1


@program(2)
def several_then_asked(x, box):
    y = x + 1
    changes(y)
    x += y
    changes(x, by=0.25)
    if x.sum() > 40:
        y -= 1
    return x + y


@program(None)
def windows(x, box):
    y = x * 2
    changes(y[1:3])
    changes(x[::2])
    if y.sum() > 3:
        y += 1
    return y + x


@program(None)
def returned_argument(x, box):
    y = picks(x, 1)
    y += 1
    return y is x, y


@program(1)
def in_a_tuple(x, box):
    y = x + 1
    reads((y, x))
    return y + x


@program(None)
def in_a_list(x, box):
    y = x + 1
    reads([y, x])
    return y + x


@program(1)
def call_back(x, box):
    return x + apply(reads_more, x * 2)


def reads_more(x):
    LOG.append(x.max())
    return x.sum() + TABLE[0]


@unseen
def apply(function, x):
    return function(x)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_python(function, tier):
    jitted = pyasc.jit(function, tier=tier, numerics="strict")
    assert observe(jitted) == observe(function)
    if EFFECTS[function]:
        assert jitted.report()["ops_effect"] >= EFFECTS[function], jitted.explain()
        assert "does not know" not in jitted.explain()


def test_one_path_for_values_that_change():
    jitted = pyasc.jit(plain_value)
    observe(jitted)
    assert jitted.cache_info().traces == 1


def test_a_global_that_unknown_code_exchanges():
    scope = {"np": np, "scale": 2.0, "unseen": unseen}
    source = "def f(x):\n    y = x * scale\n    g()\n    return y + scale\n"
    filename = "<exchanged>"
    import linecache
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    exec(compile(source, filename, "exec"), scope)

    @unseen
    def g():
        scope["scale"] += 1.0

    scope["g"] = g
    jitted = pyasc.jit(scope["f"])
    for k in range(12):
        expected = 1.0 * (2.0 + k) + (3.0 + k)
        np.testing.assert_array_equal(jitted(np.ones(3)), np.full(3, expected))


def test_a_cell_that_unknown_code_exchanges():
    scale = np.ones(3)

    @unseen
    def exchange():
        nonlocal scale
        scale = scale + 1

    def f(x):
        y = x * scale
        exchange()
        return y + scale

    jitted = pyasc.jit(f)
    for k in range(12):
        np.testing.assert_array_equal(jitted(np.ones(3)), np.full(3, (1.0 + k) + (2.0 + k)))


def test_an_array_that_unknown_code_reshapes():
    @unseen
    def reshape(x):
        x.shape = x.shape[::-1]

    def f(x):
        y = x * 2
        reshape(x)
        return y.sum() + x

    jitted = pyasc.jit(f)
    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    for _ in range(6):
        assert freeze(jitted(x)) == freeze(f(y))
        assert x.shape == y.shape


def test_large_arrays_are_not_copied():
    """What unknown code can reach would have to be copied: from some size on the function runs plain."""
    jitted = pyasc.jit(plain_value)
    x = np.zeros(1 << 17)
    assert jitted(x, Box())[3] == x.size
    assert "does not know" in jitted.explain()


def test_base_exceptions_keep_what_was_written():
    @unseen
    def leave(x):
        x[0] += 1
        if x[0] > 3:
            raise SystemExit(3)

    def f(x):
        x *= 2
        leave(x)
        x += 1
        return x

    jitted, a, b = pyasc.jit(f), np.zeros(2), np.zeros(2)
    for function, x in ((jitted, a), (f, b)):
        for _ in range(4):
            try:
                function(x)
            except SystemExit as e:
                assert e.code == 3
    np.testing.assert_array_equal(a, b)


def test_plans_do_not_keep_objects():
    box = Box()

    def f(x):
        y = x + box.a
        changes_kept(box)
        return y * box.a

    jitted = pyasc.jit(f)
    for _ in range(3):
        jitted(np.ones(6))
    gone = weakref.ref(jitted)
    del f, jitted, box
    gc.collect()
    assert gone() is None


def test_callee_of_the_call_itself_runs_plain():
    def f(x):
        class Local:
            def __call__(self, y):
                return y * 2
        return Local()(x) + 1

    jitted = pyasc.jit(f)
    for _ in range(3):
        np.testing.assert_array_equal(jitted(np.ones(3)), np.full(3, 3.0))


# -- Random programs ---------------------------------------------------------------------

STATEMENTS = [
    "y = x * {c}", "y = y + x", "y += {c}", "x *= 0.5", "x[1:4] += y[1:4]", "z = y * box.a", "z = z + TABLE",
    "s = reads(y)", "y = y * s", "changes(y, {c})", "changes(x, {c})", "changes_table({c})", "replaces(box)",
    "counts(box)", "y = y * box.k", "n = keeps(box, z)", "changes_kept(box)", "z = z - y",
    "t, n = makes(z)", "z = t / n", "y = y - 1 if s > {c} else y + 1", "z = z * 2 if y.sum() > 3 else z + y",
    "y = picks(y, n)", "changes(z[::2])", "z += x",
]


def make_program(seed):
    rng = random.Random(seed)
    lines = ["def f(x, box):", "    y = x + 1", "    z = y * 2", "    s = 0.5", "    n = 1", "    t = x + 0"]
    for _ in range(rng.randint(3, 9)):
        lines.append("    " + rng.choice(STATEMENTS).format(c=rng.choice([0.5, 1.0, 2.0])))
    lines.append("    return y, z, s, n, t")
    source = "\n".join(lines) + "\n"
    filename = f"<unknown calls {seed}>"
    import linecache
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    scope = dict(globals())
    exec(compile(source, filename, "exec"), scope)
    return scope["f"], source


@pytest.mark.parametrize("block", range(6))
def test_random_programs(block):
    import os
    count = max(1, int(os.environ.get("PYASC_EXAMPLES", 300)) // 6)
    for seed in range(block * count, (block + 1) * count):
        function, source = make_program(seed)
        jitted = pyasc.jit(function, numerics="strict")
        assert observe(jitted) == observe(function), source
