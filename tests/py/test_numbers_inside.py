"""Numbers in tuples, lists and dicts among the arguments: other ones make no new signature, and none is taken for a constant."""

import collections
import dataclasses

import numpy as np
import pyasc
import pytest

Pair = collections.namedtuple("Pair", "a b")
X = np.linspace(0.5, 2.0, 7)
GLOBAL = 0.25


def same(x, y):
    assert type(x) is type(y), (x, y)
    if isinstance(x, (tuple, list)):
        assert len(x) == len(y)
        for a, b in zip(x, y):
            same(a, b)
    elif isinstance(x, dict):
        assert list(x) == list(y)
        same(list(x.values()), list(y.values()))
    elif isinstance(x, np.ndarray):
        assert x.dtype == y.dtype and x.shape == y.shape
        np.testing.assert_array_equal(x, y)
    else:
        np.testing.assert_equal(x, y)


def check(function, make, calls=40, most=3):
    """The function jitted, after calls with ever other numbers that all gave what it gives without."""
    jitted = pyasc.jit(function, numerics="strict")
    for k in range(calls):
        ours, plain = make(k), make(k)
        with np.errstate(all="ignore"):
            same(jitted(*ours), function(*plain))
        jitted.wait()
        same(list(ours), list(plain))
    text = jitted.explain()
    if most is not None:
        assert int(text.split(":")[1].split()[0]) <= most, text
        assert "runs plain" not in text, text
    return jitted


def item(x, p):
    return p[0] * x + p[1]


def unpacked(x, p):
    a, b = p
    return a * x + b, a - b


def starred(x, p):
    def line(a, b):
        return a * x + b
    return line(*p)


def looped(x, p):
    out = x * 0
    for v in p:
        out = out * x + v
    return out


def summed(x, p):
    return x * sum(p) + len(p) - max(p)


def arrayed(x, p):
    return np.array(p) * x[:2], np.dot(p, p)


def enumerated(x, p):
    return [x[i] * v for i, v in enumerate(p)] + [v * w for v, w in zip(p, x)]


def branched(x, p):
    return x * p[0] if p[1] > 20 else x - p[0]


def powers(x, p):
    return x ** p[0] + p[0] ** 2


def within(x, p):
    return x + 1 if GLOBAL in p else x * p[1]


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("function", [item, unpacked, starred, looped, summed, arrayed, enumerated, powers])
def test_sequence(kind, function):
    check(function, lambda k: (X, kind([0.1 * k, 1.0 + k])))


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("function", [branched, within])
def test_sequence_asked(kind, function):
    check(function, lambda k: (X, kind([0.25 if k == 9 else 0.1 * k, 1.0 + k])), most=None)


def test_same_object_twice():
    def function(x, p):
        return p[0] * x - p[1]

    def make(k):
        value = 0.5 * k
        return X, (value, value if k % 3 else 2.0)
    check(function, make)


def test_constant_of_the_caller_is_no_input():
    def function(x, p):
        return p[0] * x + GLOBAL + 0.25
    check(function, lambda k: (X, (GLOBAL if k == 0 else 0.5 * k, 1.0)))


def test_complex_and_specials():
    values = [0.0, -0.0, float("nan"), float("inf"), -1.5]
    check(lambda x, p: (p[0] * x, p[1] * x, p[0] + p[1]), lambda k: (X, (values[k % 5], complex(k, values[k % 5]))))


def test_dict():
    def function(x, d):
        total = d["a"] * x + d.get("b", 0.0) + d.get("c", 1.5)
        for name, value in d.items():
            total = total + len(name) * value
        return total, "a" in d, sum(d.values())
    check(function, lambda k: (X, {"a": 0.1 * k, "b": -1.0 * k}))


def test_keywords_from_dict():
    def line(x, a, b):
        return a * x + b

    def function(x, d):
        return line(x, **d)
    check(function, lambda k: (X, {"a": 0.1 * k, "b": -1.0 * k}))


def test_dict_with_options():
    def function(x, d):
        y = x * d["scale"]
        return np.sort(y)[::-1] if d["order"] == "down" else y
    check(function, lambda k: (X, {"scale": 0.1 * k, "order": "down" if k % 2 else "up", "n": None}), most=4)


def test_named_tuple():
    check(lambda x, p: p.a * x + p[1] + (p == (1.0, 2.0)), lambda k: (X, Pair(0.1 * k, 1.0 * k)))
    check(lambda x, p: (p._replace(a=1.0).b * x, p._asdict()["a"]), lambda k: (X, Pair(0.1 * k, 1.0 * k)), most=None)


def test_nested():
    check(lambda x, p: p[0][0] * x + p[1][1][0], lambda k: (X, ((0.1 * k, 2), (0.5, (k * 1.0, 1.0)))))
    check(lambda x, p: p["a"][1] * x + p["b"][0], lambda k: (X, {"a": (1.0, 0.1 * k), "b": (k * 1.0,)}))


def test_arrays_beside():
    def function(p):
        w, b, scale = p
        return np.tanh(w * 2 + b) * scale, p[0][1:3]
    check(function, lambda k: ((X + k, np.ones(7), 0.1 * k),))
    check(function, lambda k: ([X + k, np.ones(7), 0.1 * k],))

    def writes(p):
        p[0][:] = p[1]
        p[0] [2] += p[2]
    check(writes, lambda k: ((X.copy(), 0.1 * k, np.float32(k)),))


def test_ints():
    def function(x, d):
        return x * d["n"] + d["f"] // 2
    check(function, lambda k: (X, {"n": k, "f": 0.5 * k}), most=8)

    def sizes(d):
        return np.zeros(d["n"]) + d["f"]
    check(sizes, lambda k: ({"n": k % 3 + 1, "f": 0.5 * k},), most=None)

    def large(p):
        return p[0] * 3, X * (p[0] > 5)
    check(large, lambda k: ((10 ** k,),), most=None)


def test_helper_that_reads():
    def model(x, p):
        return p["a"] * np.exp(-p["b"] * x)

    def function(x, y, p):
        return ((model(x, p) - y) ** 2).sum()
    check(function, lambda k: (X, X + 1, {"a": 0.1 * k, "b": 0.01 * k}), most=None)


def model_of(x, p):
    return p["a"] * np.exp(-p["b"] * x)


def with_helper(x, y, p):
    return ((model_of(x, p) - y) ** 2).sum()


def test_helper_of_the_module():
    check(with_helper, lambda k: (X, X + 1, {"a": 0.1 * k, "b": 0.01 * k}))


def test_written_containers():
    def store(x, p):
        p[0] = p[1] * 2
        return x * p[0]
    check(store, lambda k: (X, [0.1 * k, 1.0 + k]), most=None)

    def append(x, p):
        p.append(p[0] + 1)
        return x * p[-1], p
    check(append, lambda k: (X, [0.1 * k, 1.0 + k]), most=None)

    def update(x, d):
        d["b"] = d["a"] + 1
        d.setdefault("c", []).append(1.5)
        return x * d["b"], d
    check(update, lambda k: (X, {"a": 0.1 * k}), most=None)

    def other_name(x, p):
        q = p
        q[0] += 1
        return x * p[0]
    check(other_name, lambda k: (X, [0.1 * k]), most=None)


def grows(p):
    p.append(1.0)


def test_helper_that_writes():
    def function(x, p):
        grows(p)
        return x * p[0] + len(p)
    check(function, lambda k: (X, [0.1 * k]), most=None)


def test_inner_function_that_writes():
    def function(x, p):
        def more():
            p[0] += 1
        more()
        return x * p[0]
    check(function, lambda k: (X, [0.1 * k]), most=None)


def test_lists_inside_stay_themselves():
    def function(x, p):
        p[0].append(p[1])
        return x * p[0][-1]
    check(function, lambda k: (X, ([0.1 * k], 1.0 * k)), most=None)
    check(function, lambda k: (X, [[0.1 * k], 1.0 * k]), most=None)


@pytest.mark.parametrize("kind", [tuple, list, Pair._make])
def test_returned_is_the_argument(kind):
    def function(x, p):
        return p, x * p[0], {"p": p}
    jitted = pyasc.jit(function)
    for k in range(20):
        p = kind([0.1 * k, 1.0 * k])
        mine, y, d = jitted(X, p)
        assert mine is p and d["p"] is p
        np.testing.assert_array_equal(y, X * p[0])


def test_kept_by_unknown_code():
    kept = []

    def keep(value):
        kept.append(value)

    class Keeper:
        def __call__(self, value):
            kept.append(value)

    keeper = Keeper()

    def function(x, p):
        keeper(p)
        keep(p)
        return x * p[0]
    jitted = pyasc.jit(function)
    for k in range(20):
        p = (0.1 * k, 1.0)
        kept.clear()
        np.testing.assert_array_equal(jitted(X, p), X * p[0])
        assert len(kept) == 2 and all(each is p for each in kept)
        assert all(type(v) is float for v in kept[0])


def test_formatted_and_hashed():
    table = {(0.5, 1.0): "half"}
    check(lambda x, p: (f"{p} {p[0]:.3f}", str(p), repr(p), table.get(p), hash(p) == hash(tuple(p)), x * p[0]),
          lambda k: (X, (0.5 * k, 1.0)), most=None)


def test_exception_shows_numbers():
    def function(x, p):
        if p[0] > 2:
            raise ValueError(p)
        return x * p[0]
    jitted = pyasc.jit(function)
    for k in range(12):
        p = (0.5 * k, 1.0)
        if p[0] > 2:
            with pytest.raises(ValueError) as caught:
                jitted(X, p)
            assert caught.value.args == (p,) and type(caught.value.args[0][0]) is float
        else:
            np.testing.assert_array_equal(jitted(X, p), X * p[0])


@dataclasses.dataclass
class Model:
    scale: float

    def apply(self, x, p):
        return self.scale * x + p["a"]


def test_method():
    model = Model(2.0)
    jitted = pyasc.jit(model.apply)
    for k in range(30):
        np.testing.assert_array_equal(jitted(X, {"a": 0.1 * k}), 2.0 * X + 0.1 * k)
    assert "runs plain" not in jitted.explain()


def test_keyword_and_default():
    def function(x, p=(1.0, 2.0), *, q=None):
        return x * p[0] + (q[0] if q else 0)
    jitted = pyasc.jit(function)
    for k in range(30):
        for kw in ({"p": (0.1 * k, 1.0)}, {"q": (0.1 * k,)}, {"q": [0.1 * k]}, {}):
            np.testing.assert_array_equal(jitted(X, **kw), function(X, **kw))


def test_loops_over_elements():
    def function(x, b, a):
        y, x1, y1 = np.empty_like(x), 0.0, 0.0
        for i in range(len(x)):
            v = b[0] * x[i] + b[1] * x1 - a[1] * y1
            x1, y1 = x[i], v
            y[i] = v
        return y
    for kind in (tuple, list):
        check(function, lambda k: (np.linspace(0, 1, 200), kind([0.2, 0.1 * k]), kind([1.0, -0.01 * k])))


def test_as_inputs_of_two_sizes():
    check(item, lambda k: (np.linspace(0, 1, 5 + k), (0.1 * k, 1.0)), most=None)
    check(item, lambda k: (X, tuple(0.1 * k * i for i in range(2 + k % 3))), most=6)


def test_lists_of_lists():
    def table(x, g):
        total = 0.0
        for i in range(len(g)):
            for j in range(len(g[i])):
                total = total + g[i][j] * x[i] - g[0][1]
        return total
    check(table, lambda k: (X, [[0.1 * k, 1.0], [2.0, 0.5 * k]]))
    check(lambda x, d: d["a"][1] * x + d["b"]["c"], lambda k: (X, {"a": [1.0, 0.1 * k], "b": {"c": 0.5 * k}}))
    check(lambda x, p: np.array(p) @ x[:2], lambda k: (X, [[0.1 * k, 1.0], [2.0, 0.5 * k]]))


def test_lists_of_lists_that_are_changed():
    def by_name(x, g):
        row = g[0]
        row[0] += 1
        return x * g[0][0]

    def in_place(x, g):
        g[0][0] += 1
        return x * g[0][0]

    def by_loop(x, g):
        for row in g:
            row.append(row[0])
        return x * g[0][-1]

    def by_max(x, g):
        max(g)[0] += 1
        return x * g[0][0] + g[1][0]

    def returned(x, g):
        return g[0], x * g[0][0]

    def by_sum(x, g):
        (g[0] * 2)[0].append(1.5)
        return x * g[0][0][0]
    for function in (by_name, in_place, by_loop, by_max, returned):
        check(function, lambda k: (X, [[0.1 * k, 1.0], [0.05, 0.5 * k]]), most=None)
    check(by_sum, lambda k: (X, [[[0.1 * k], [1.0]]]), most=None)
    jitted = pyasc.jit(returned)
    for k in range(12):
        g = [[0.1 * k, 1.0], [0.05]]
        assert jitted(X, g)[0] is g[0]


SHARED = [1.0, 2.0]


def changes_shared():
    SHARED[0] += 1.0


def test_changed_by_another_name():
    def through_max(x, y):
        m = max(x, y)
        m.append(1)
        return m, x[0] * 2

    def through_sum(x, y):
        z = sum([], x)
        z.append(1)
        return x[0] * 2, y

    def by_slice(x, y):
        for row in x[:1]:
            row[0] = 5.0
        return x[0][0] * 2, y

    def unpacked_slice(x, y):
        a, b = x[:2]
        a[0] = b[0] + 1
        return x[0][0] * 2, y

    def same_twice(x, y):
        y.append(3.0)
        return x[0] * 2 + len(x), sum(x)

    def inner(x, y):
        y[0] = 3.0
        return x[0][0] * 2

    def of_the_module(x, y):
        changes_shared()
        return x[0] * 2 + len(x), y
    flat, deep = (lambda v: [v, 1.0]), (lambda v: [[v, 1.0], [2.0]])
    for function, first in ((through_max, flat), (through_sum, flat), (by_slice, deep), (unpacked_slice, deep)):
        check(function, lambda k: (first(0.5 + k), first(0.25)), most=None)
    for function in (same_twice, inner, of_the_module):
        jitted = pyasc.jit(function, numerics="strict")
        for k in range(20):
            results = []
            for f in (jitted, function):
                x = SHARED if function is of_the_module else [0.5 + k, 1.0]
                SHARED[:] = [0.5 + k, 2.0]
                results.append((f([x, 1] if function is inner else x, x), list(x)))
            same(*results)


def late_helper(p):
    return p[0] * 2


def test_helper_that_is_another_later(monkeypatch):
    def function(x, p):
        return late_helper(p) * x + p[0]
    jitted = pyasc.jit(function, numerics="strict")

    def changed(p):
        p[0] += 1
        return p[0]
    for k in range(30):
        if k == 20:
            monkeypatch.setitem(globals(), "late_helper", changed)
        ours, plain = [0.1 * k, 1.0], [0.1 * k, 1.0]
        same(jitted(X, ours), function(X, plain))
        same(ours, plain)
