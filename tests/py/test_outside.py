"""What a function reads besides its arguments may change between calls: no plan may hold on to it."""
import collections
import gc
import types
import weakref

import numpy as np
import pytest

import pyasc
from same import assert_same, freeze, scenarios

X = np.ones(3)
G = np.arange(3.0)
K = 2.0
SETTINGS = {"k": 2.0, "deep": [1, {"a": 3.0}]}
NAMES = {1, 2}
QUEUE = collections.deque([1, 2])
VIEW = np.zeros(2)


def between(function, *changes, args=(X,)):
    """Results of two calls, then of two after each change."""
    out = [freeze(function(*args)), freeze(function(*args))]
    for change in changes:
        change()
        out += [freeze(function(*args)), freeze(function(*args))]
    return out


def scenario_globals(wrap):
    @wrap
    def f(x):
        return x * K + SETTINGS["k"] + SETTINGS["deep"][1]["a"]

    def set_k(value):
        global K
        K = value

    out = between(f, lambda: set_k(5), lambda: set_k(-0.0), lambda: SETTINGS.update(k=7),
                  lambda: SETTINGS["deep"][1].update(a=9.0), lambda: SETTINGS.update(deep=[0, {"a": 1.0}]))
    SETTINGS.update(k=2.0, deep=[1, {"a": 3.0}])
    set_k(2.0)
    return out


def scenario_default_values(wrap):
    def helper(x, k=2):
        return x * k

    def other(x, k=2):
        return x - k

    def f(x, settings={"k": 2}, w=np.ones(3), *, m=1):
        return helper(x) * settings["k"] + w + m

    g = wrap(f)
    return between(g, lambda: f.__defaults__[0].update(k=5), lambda: f.__defaults__[1].fill(7),
                   lambda: setattr(f, "__kwdefaults__", {"m": 4}), lambda: setattr(helper, "__defaults__", (9,)),
                   lambda: setattr(helper, "__code__", other.__code__))


def scenario_attributes(wrap):
    class Thing:
        shared = 1.0

        def __init__(self):
            self.k, self.w, self.sub = 2.0, np.ones(3), types.SimpleNamespace(a=1.0)

        def scaled(self, x):
            return x * self.k

    thing = Thing()

    @wrap
    def f(x):
        return (thing.scaled(x) + thing.w + thing.sub.a + Thing.shared + getattr(thing, "late", 0.5)
                + hasattr(thing, "later"))

    return between(f, lambda: setattr(thing, "k", 3.0), lambda: setattr(thing, "w", np.full(3, 5.0)),
                   lambda: thing.w.fill(8), lambda: setattr(thing.sub, "a", 4.0),
                   lambda: setattr(Thing, "shared", 6.0), lambda: setattr(thing, "late", 7.0),
                   lambda: setattr(thing, "later", 1), lambda: setattr(Thing, "scaled", lambda self, x: x - 1),
                   lambda: setattr(thing, "scaled", lambda x: x * 0))


def scenario_function_attributes(wrap):
    def helper():
        pass

    helper.k = 2.0

    @wrap
    def f(x):
        return x * helper.k

    return between(f, lambda: setattr(helper, "k", 5.0))


def scenario_own_attributes(wrap):
    @wrap
    def f(x):
        return x * f.k

    f.k = 2.0
    return between(f, lambda: setattr(f, "k", 5.0))


def scenario_sets_and_deques(wrap):
    numbers, queue = {1, 2}, collections.deque([1, 2])

    @wrap
    def f(x):
        return x * len(numbers) + (3 in numbers) + len(queue) + (9 in queue)

    return between(f, lambda: numbers.add(3), lambda: queue.append(9))


def scenario_same_array_by_two_ways(wrap):
    @wrap
    def f(x):
        return x + G, x is G

    other = G + 10
    return [freeze(f(x)) for x in (G, G, other, other, G)]


def scenario_overlapping_captures(wrap):
    base = np.zeros(4)
    part = base[1:3]

    @wrap
    def f(x):
        x[1] = 5.0
        return part.sum(), part

    out = []
    for x in (np.zeros(4), base, base, np.zeros(4), base):
        base[:] = 0
        out.append(freeze(f(x)))
    return out


def scenario_overlap_that_comes_later(wrap):
    @wrap
    def f(x):
        x[1] = 5.0
        return VIEW.sum()

    def set_view(value):
        global VIEW
        VIEW = value

    base, out = np.zeros(4), []
    set_view(np.zeros(2))
    for turn in range(4):
        base[:] = 0
        out.append(freeze(f(base)))
        if turn == 1:
            set_view(base[1:3])
    return out


def scenario_overlap_on_one_path(wrap):
    @wrap
    def f(x, y, k):
        if k[0] > 0:
            x[1:] = x[:-1] * 1
            return y.sum()
        return x.sum()

    up, down, out = np.array([1.0]), np.array([-1.0]), []
    for k in (up, down, down, up, down):
        base = np.arange(6.0)
        out += [f(base[:4].copy(), base[1:5].copy(), k), f(base[:4], base[1:5], k), base]
    return out


def scenario_numbers_in_containers(wrap):
    @wrap
    def f(x, d, items, pair):
        return x * d["lr"] + sum(items) + max(pair) * (1 if d["lr"] > 1 else 2)

    out = []
    for v in (0.5, 0.25, 2.0, np.float64(3.0), np.float32(0.5), 2):
        out += [f(X, {"lr": v}, [v, v * 2], (v, 1.0)), f(X, {"lr": 1.5}, [v, 1.0], (v, v))]
    return out


def scenario_one_number_in_two_places(wrap):
    @wrap
    def f(x, items):
        return x * items[0] + items[1]

    s, out = np.float64(2.0), []
    for items in ([s, s], [np.float64(3.0), np.float64(5.0)], [s, s], [np.float64(7.0)] * 2):
        out += [f(X, items), f(X, items)]
    return out


def scenario_numbers_by_name(wrap):
    @wrap
    def f(x, *rest, **named):
        return x * named["a"] + (rest[0] if rest[0] > 1 else -rest[0])

    return [f(X, v, a=v * 2) for v in (0.5, 2.0, 4.0, 0.25)]


def scenario_a_global_that_is_also_an_argument(wrap):
    @wrap
    def f(x, k):
        return x * K + k

    return [f(X, k) for k in (K, K, 3.0, 4.0, K)]


def scenario_positional_out(wrap):
    @wrap
    def f(x):
        out, total = np.zeros(3), np.zeros(())
        np.cumsum(x, None, None, out)
        x.sum(0, None, total)
        np.add.reduce(x, 0, None, out[0:1].reshape(()))
        y = x * np.nan
        np.nan_to_num(y, False)
        z = x * np.nan
        np.nan_to_num(z, copy=False)
        w = x[::-1].copy()
        np.median(w, overwrite_input=True)
        return out, total, y, z, np.clip(x, 0, 2, out)

    return [f(X * v) for v in (1.0, 2.0, 3.0)]


def scenario_arrays_through_mappings(wrap):
    def add(w, b):
        w += b
        return w

    @wrap
    def f(parameters):
        return add(**parameters), dict(**parameters)

    out = []
    for turn in range(3):
        parameters = {"w": np.zeros(3), "b": X * turn}
        out += [f(parameters), parameters]
    return out


def scenario_default_array_is_written(wrap):
    @wrap
    def f(x, total=np.zeros(3)):
        total += x
        return total * 1

    return [f(X), f(X), f(X)]


def scenario_containers_that_hold_themselves(wrap):
    ring = [1.0]
    ring.append(ring)

    @wrap
    def f(x, loop):
        return x * len(ring) + loop[0]

    loop = [2.0]
    loop.append(loop)
    return [f(X, loop), f(X, loop)]


def scenario_large_containers(wrap):
    table = list(range(5000))

    @wrap
    def f(x, items):
        return x * table[3] + items[1]

    items = [0.5] * 5000
    out = [f(X, items), f(X, items)]
    table[3] = 10
    items[1] = 2.0
    return out + [f(X, items), f(X, items)]


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


def scenario_nothing_of_ours_is_left(wrap):
    kept = []

    @wrap
    def f(x):
        thing = Slotted(x * 2)
        y = x + 1

        def inner():
            return y, x

        later = lambda: z  # noqa: E731
        d = {x.sum(): x, "t": (x, [y])}
        s = {x.sum(), 2.0}
        kept.append((d, [x * 3]))
        z = x

        def after(v=y):
            return x, v

        return thing.a, inner, later, after, d, s, (v for v in [x])

    out = []
    for _ in range(3):
        a, inner, later, after, d, s, values = f(X.copy())
        out += [a, inner(), later(), after(), d, s, list(values), kept[-1]]
        for value in (*inner(), later(), *after(), *d["t"], *map(type, s)):
            assert "pyasc" not in type(value).__module__ and value is not None
    return out


def scenario_shapes_that_depend_on_values(wrap):
    @wrap
    def f(x, n):
        chosen = x[x > 1]
        return chosen.shape[0], len(chosen), np.zeros(int(n)), x[: int(n)], range(int(n))[-1:]

    return [f(np.array(v), n) for v, n in (([1.0, 2, 3], 2.0), ([2.0, 2, 3], 2.0), ([0.0, 0, 0], 1.0),
                                           ([1.0, 2, 3], 3.0))]


def test_objects_are_let_go():
    class Owner:
        def __init__(self):
            self.w = np.ones(3)

        @pyasc.jit
        def f(self, x):
            return x * self.w

    owner = Owner()
    for _ in range(3):
        assert freeze(owner.f(X)) == freeze(X)
    assert Owner.f.cache_info().hits == 2
    reference = weakref.ref(owner)
    del owner
    gc.collect()
    assert reference() is None
    assert freeze(pyasc.jit(lambda x: 1 if x else 2)(None)) == freeze(2)


FOUND, NAMED = scenarios(globals())


@pytest.mark.parametrize("scenario", FOUND, ids=NAMED)
def test_outside(scenario):
    assert_same(scenario)


def test_arrays_as_default_values():
    def f(x, w=np.arange(3.0), *, b=np.ones(3), k=2):
        y = w * 2 + x
        return y * b - k

    jitted = pyasc.jit(f)
    for k in range(4):
        x = np.full(3, float(k))
        np.testing.assert_array_equal(jitted(x), f(x))
        np.testing.assert_array_equal(jitted(x, b=x), f(x, b=x))
        f.__defaults__[0][...] += 1
        if k == 2:
            f.__kwdefaults__["b"] = np.full(3, 7.0)
    assert not any(e["plain"] for e in jitted._facts()["entries"])


def test_a_default_value_that_is_written():
    def f(x, total=np.zeros(3)):
        total += x
        return total * 1

    jitted, expected = pyasc.jit(f), np.zeros(3)
    for k in range(4):
        expected = expected + k
        np.testing.assert_array_equal(jitted(np.full(3, float(k))), expected)
        np.testing.assert_array_equal(f.__defaults__[0], expected)


CAPTURED = [np.bool_(True), np.bool_(False), np.float64(1.5), np.float32(2.5), np.int8(3), np.uint64(7), np.complex64(1 + 2j),
            np.float16(0.5), np.longdouble(1.25), np.clongdouble(2j), np.datetime64("2020-01-01"), np.str_("abc"),
            np.bytes_(b"x"), np.timedelta64(3, "s"), np.void(b"ab")]


@pytest.mark.parametrize("number", CAPTURED, ids=lambda v: type(v).__name__)
def test_captured_numbers_of_numpy(number):
    class Holder:
        pass

    o, items = Holder(), [number, {"k": number}]
    o.p = number

    def f(a):
        return o.p, number, items[0], items[1]["k"], a * 2, o.p is number

    def g(a):
        return a + o.p, a * number, a == items[0]

    for function in (f, g):
        jitted = pyasc.jit(function)
        for k in range(4):
            x = np.arange(4.0) + k
            try:
                expected = function(x)
            except TypeError as error:
                with pytest.raises(type(error)):
                    jitted(x)
            else:
                assert freeze(jitted(x)) == freeze(expected)
            if k == 2 and isinstance(number, np.bool_):
                o.p = ~number
                number, items[0] = o.p, o.p


def test_arguments_that_come_back_are_themselves():
    class Place:
        pass

    o, s, t, b = Place(), slice(0, 2), (np.ones(3), 1), [True, np.bool_(True)]
    identity = pyasc.jit(lambda a, p: p)

    @pyasc.jit
    def stores(a, p):
        o.q = p
        return a * 2

    for p in (s, t, b, {"k": np.ones(2)}, [np.ones(2)], (1, 2), "text"):
        for _ in range(3):
            assert identity(np.ones(3), p) is p
            stores(np.ones(3), p)
            assert o.q is p


def test_objects_are_returned_as_they_are():
    class Walker:
        def __init__(self):
            self.x = np.zeros(3)

        def step(self, y):
            self.x += y
            return self, [self, y * 2]

    jitted, w = pyasc.jit(Walker.step), Walker()
    for k in range(3):
        got, (again, y) = jitted(w, np.ones(3))
        assert got is w and again is w
        np.testing.assert_array_equal(w.x, np.full(3, k + 1.0))
    assert not jitted._facts()["entries"][0]["plain"]


def test_calls_that_raise_do_not_use_up_the_paths():
    @pyasc.jit
    def f(x):
        if (x < 0).any():
            raise ValueError("negative")
        return x * 2

    for k in range(80):
        x = np.ones(3) * (-1) ** k
        if k % 2:
            with pytest.raises(ValueError, match="negative"):
                f(x)
        else:
            np.testing.assert_array_equal(f(x), x * 2)
    assert not f._facts()["entries"][0]["plain"]


def test_arguments_that_are_others_at_each_call():
    @pyasc.jit
    def f(x, state):
        state["n"] += 1
        return x * state["n"]

    state = {"n": 0}
    for k in range(400):
        np.testing.assert_array_equal(f(np.ones(2), state), np.full(2, k + 1.0))
    assert f.report()["fallback"] and state["n"] == 400
    f.cache_clear()
    assert f(np.ones(2), {"n": 1}).sum() == 4
    many = [np.ones(2)] * 500
    g = pyasc.jit(lambda items: sum(items))
    for _ in range(3):
        np.testing.assert_array_equal(g(many), np.full(2, 500.0))


def stepped(p, g):
    for k in p:
        p[k] -= 0.1 * g[k]
    return p


def with_more(p, g):
    p["a"] -= g["a"]
    return p, float(g["b"].sum()), g, [p, {"g": g}]


def one_of_them(p, g):
    return p if g["a"][0] > 0 else g


@pytest.mark.parametrize("function", [stepped, with_more, one_of_them, lambda p, g: (p, p), lambda p, g: [p["a"] * 2, g]])
def test_containers_that_are_returned_as_they_came(function):
    def made(k):
        return {"a": np.ones(3), "b": np.zeros(3)}, {"a": np.arange(3.0) + 1 - 3 * (k == 3), "b": np.ones(3)}

    def which(result, args):
        inside = result.values() if isinstance(result, dict) else result if isinstance(result, (list, tuple)) else ()
        return [i for i, a in enumerate(args) if a is result], [which(v, args) for v in inside]

    jitted = pyasc.jit(function, tier=1)
    for k in (0, 0, 1, 3, 3, 1):
        args, same = made(k), made(k)
        got, expected = jitted(*args), function(*same)
        assert freeze(got) == freeze(expected) and which(got, args) == which(expected, same)
        assert freeze(args) == freeze(same)
    assert not jitted.report()["fallback"] and jitted.cache_info().traces <= 2
    p, q = made(0)[0], made(0)[0]
    assert freeze(jitted(p, p)) == freeze(function(q, q))
    assert which(jitted(p, p), (p, p)) == which(function(q, q), (q, q))
