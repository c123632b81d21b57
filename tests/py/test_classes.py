"""Objects of classes with operators and subscripts of their own."""
import copy
import dataclasses
import functools
import typing

import numpy as np
import pytest

import pyasc
from same import freeze


def agrees(function, *args):
    for tier in (0, 1):
        jitted = pyasc.jit(function, tier=tier)
        for _ in range(3):
            assert freeze(jitted(*args)) == freeze(function(*args))
    assert not jitted.report()["fallback"], jitted.report()["reasons"]


def test_of_a_class_made_in_the_call():
    def points(x):
        class Point:
            scale = 2.0

            def __init__(self, v):
                self.v = v

            def moved(self, d):
                return Point(self.v + d * self.scale)

            def __add__(self, other):
                return Point(self.v + other.v)

            def __len__(self):
                return len(self.v)

            def __getitem__(self, i):
                return self.v[i]

            def __bool__(self):
                return bool(self.v[0] > 0)

            def __eq__(self, other):
                return (self.v == other.v).all()

        p = Point(x).moved(1) + Point(x)
        return p.v, p.scale, [q.v.sum() for q in (p, p.moved(-1))], len(p), p[1], 1 if p else 2, p == p

    agrees(points, np.arange(5.0))
    agrees(points, -np.arange(5.0))


class Table:
    def __init__(self, values):
        self.values = values

    def __getitem__(self, i):
        return self.values[i] * 2


def test_subscripts_of_an_object_from_outside():
    table = Table(np.arange(4.0))

    def shifted(x):
        return table[1] + x

    x = np.arange(3.0)
    agrees(shifted, x)
    jitted = pyasc.jit(shifted)
    former = Table.__getitem__
    for change in (lambda: table.values.__setitem__(1, 7.0), lambda: setattr(table, "values", np.ones(5)),
                   lambda: setattr(Table, "__getitem__", lambda self, i: self.values[i] * 3)):
        jitted(x)
        change()
        assert freeze(jitted(x)) == freeze(shifted(x))
    Table.__getitem__ = former
    assert freeze(jitted(x)) == freeze(shifted(x))


def test_the_class_has_its_own_name():
    def outer():
        def outer(x):
            class Point:
                pass

            return Point.__qualname__, x * 2

        return outer

    jitted = pyasc.jit(outer())
    for _ in range(2):
        assert freeze(jitted(np.arange(2.0))) == freeze(outer()(np.arange(2.0)))


class Layer:
    def __init__(self, k):
        self.k = k

    def __call__(self, x, scale=1.0):
        return np.maximum(x * self.k, 0) * scale


class Net:
    def __init__(self):
        self.layers = [Layer(2.0), lambda x: x + 1, Layer(-0.5), np.tanh]

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def test_objects_that_are_called():
    net, layer = Net(), Layer(3.0)

    def f(x):
        return net(x) + layer(x, scale=x[0])

    jitted, x = pyasc.jit(f, tier=1, numerics="strict"), np.linspace(-1, 1, 9)
    for _ in range(3):
        assert freeze(jitted(x)) == freeze(f(x))
    assert not [r for r in jitted.report()["reasons"] if "Python does it" in r or "does not know" in r]
    layer.k = 4.0
    assert freeze(jitted(x)) == freeze(f(x))
    try:
        before, Layer.__call__ = Layer.__call__, lambda self, x, scale=1.0: x - self.k
        assert freeze(jitted(x)) == freeze(f(x))
    finally:
        Layer.__call__ = before
    with pytest.raises(TypeError, match="takes from 2 to 3 positional"):
        pyasc.jit(lambda x: layer(x, 1, 2))(x)


def test_an_object_that_writes_when_it_is_called():
    class Sum:
        def __init__(self):
            self.total = np.zeros(3)

        def __call__(self, x):
            self.total += x
            return self.total * 2

    def run(make):
        total = Sum()
        f = make(lambda x: total(x) + 1)
        return [freeze(f(np.arange(3.0) * k)) for k in range(4)] + [freeze(total.total)]

    assert run(pyasc.jit) == run(lambda f: f)


class Filter:
    def __init__(self):
        self.x, self.p, self.n, self.log, self.last = np.arange(3.0), np.eye(3), 0, [], {}

    def step(self, f):
        self.x = f @ self.x
        self.p = f @ self.p @ f.T + 0.1
        self.before = (copy.deepcopy(self.x), copy.copy(self.p))
        self.log.append(self.x * 2)
        self.last["sum"] = self.p.sum()
        self.n += 1
        return self.x + 1


@pytest.mark.parametrize("how", ["bound", "argument", "global"])
def test_methods_that_store(how):
    def run(make):
        state = Filter()
        if how == "bound":
            step = make(state.step)
        elif how == "argument":
            function = make(Filter.step)
            step = functools.partial(function, state)
        else:
            step = make(lambda f: state.step(f))
        results = [freeze(step(np.eye(3) * (1 + k / 8))) for k in range(5)]
        if make is not plain:
            jitted = function if how == "argument" else step
            assert not jitted.report()["fallback"] and jitted.report()["ops_effect"] >= 5, jitted.report()
        return results, freeze(state)

    def plain(function):
        return function

    assert run(lambda f: pyasc.jit(f, tier=1)) == run(plain)


def test_copies_by_the_module_copy():
    def f(x, y, p):
        a, b = copy.copy(x), copy.deepcopy(y.T)
        a += 1
        c = copy.deepcopy((x, p, y))
        c[0][0] = 7
        return a, b, c, copy.copy(x[1]), copy.deepcopy(p), copy.deepcopy([x, x])[1], copy.copy("text"), copy.deepcopy(None)

    jitted, x, y = pyasc.jit(f, tier=1), np.arange(4.0), np.arange(6, dtype="f4").reshape(2, 3)
    for p in (1.5, 2.5, 3.5):
        assert freeze(jitted(x, y, p)) == freeze(f(x, y, p))
    g = pyasc.jit(lambda x: copy.deepcopy(x) * 2 + copy.copy(x), tier=1)
    assert freeze(g(x)) == freeze(x * 3) and not g.report()["fallback"]


class Dense:
    def __init__(self, n):
        self.w, self.input, self.seen = np.full((n, n), 0.25), None, 0

    def forward(self, x):
        self.input = x
        self.seen += 1
        return np.maximum(x @ self.w, 0)

    def backward(self, d):
        self.slope = self.input.T @ d
        self.w -= 0.01 * self.slope
        return d @ self.w.T


class Stack:
    def __init__(self):
        self.layers, self.named, self.pair = [Dense(3), Dense(3)], {"last": Dense(3)}, (Dense(3), 2.0)
        self.weights = {"w": np.ones((3, 3)), "b": [np.zeros(3)]}

    def train(self, x):
        for layer in self.layers:
            x = layer.forward(x)
        x = self.named["last"].forward(x) * self.pair[1] + self.pair[0].forward(x)
        x = x @ self.weights["w"] + self.weights["b"][0]
        d = x - 1
        self.weights["w"] -= 0.1 * d.T @ d
        self.weights["b"][-1] += d.sum(axis=0)
        for layer in self.layers[::-1]:
            d = layer.backward(d)
        return d


def test_objects_in_containers_from_outside():
    def run(make):
        stack, results = Stack(), []
        train = make(stack.train)
        for k in range(6):
            if k == 3:
                stack.layers[0] = Dense(3)  # another one has its own attributes
            if k == 4:
                stack.layers = stack.layers + [Dense(3)]
            if k == 5:
                stack.weights = {"w": np.eye(3), "b": [np.ones(3)]}
            results.append(freeze(train(np.arange(6.0).reshape(2, 3) / (k + 1))))
        layers = [*stack.layers, stack.named["last"], stack.pair[0]]
        return results, [freeze(vars(layer)) for layer in layers], freeze(stack.weights)

    expected = run(lambda f: f)
    for tier in (0, 1):
        made = []
        assert run(lambda f: made.append(pyasc.jit(f, tier=tier)) or made[0]) == expected
    assert not made[0].report()["fallback"], made[0].report()


@dataclasses.dataclass
class Body:
    x: np.ndarray
    mass: float = 2.0

    def moved(self, d):
        return Body(self.x + d, self.mass)


@dataclasses.dataclass
class Recorded(Body):
    seen: list = dataclasses.field(default_factory=list)
    most: float = dataclasses.field(init=False)

    def __post_init__(self):
        self.most = self.x.max()


@dataclasses.dataclass(kw_only=True)
class Named:
    x: np.ndarray
    k: float = 1.5


def test_of_dataclasses():
    def plain(x):
        p = Body(x * 2).moved(1)
        p.mass += 1
        p.x[0] = 7
        return p.x * p.mass, p.x is x

    def made(x):
        p = Recorded(x, 3.0)
        p.seen.append(p.most)
        return p.seen, p.most * x, p.mass

    def by_name(x):
        return Named(x=x).k * x, Named(k=x.sum(), x=x).k

    for function in (plain, made, by_name):
        agrees(function, np.arange(5.0))


class Lazy:
    """Attributes that are not there are made, and counted."""

    def __init__(self):
        self.scale, self.asked = 2.0, []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        self.asked.append(name)
        return 5.0

    def scaled(self, x):
        return x * self.scale


@pytest.mark.parametrize("tier", [0, 1])
def test_getattr_is_asked_for_what_is_not_there_alone(tier):
    lazy = Lazy()

    def scaled(x):
        return lazy.scaled(x) + lazy.scale

    jitted = pyasc.jit(scaled, tier=tier)
    x = np.arange(4.0)
    for _ in range(3):
        assert freeze(jitted(x)) == freeze(scaled(x))
    assert "runs plain" not in jitted.explain() and not lazy.asked
    lazy.scale = 3.0
    assert freeze(jitted(x)) == freeze(x * 3.0 + 3.0)
    del lazy.scale
    assert freeze(jitted(x)) == freeze(x * 5.0 + 5.0)
    assert lazy.asked == ["scale", "scale"]
    other = pyasc.jit(lambda x: x * lazy.missing, tier=tier)
    for _ in range(3):
        assert freeze(other(x)) == freeze(x * 5.0)
    assert lazy.asked == ["scale", "scale"] + ["missing"] * 3


REAL = np.float32 | np.float64
NUMBER = typing.Union[np.float32, np.float64]
LIST = list[float]


def test_attributes_of_aliases_of_types():
    def scaled(x):
        known = x.dtype.type in REAL.__args__ and x.dtype.type in NUMBER.__args__
        return x * 2.0 if known and LIST.__origin__ is list else x

    jitted = pyasc.jit(scaled, tier=1)
    for x in (np.arange(4.0), np.arange(4), np.arange(4.0)):
        assert freeze(jitted(x)) == freeze(scaled(x))
    assert "runs plain" not in jitted.explain()


def test_methods_of_objects_that_do_not_last():
    """Each object is a signature: few calls of each are no reason to trace more of them; one that stays is traced again."""
    class Model:
        def __init__(self, x):
            self.x = x

        @pyasc.jit
        def step(self, d):
            self.x = self.x + 0.1 * (d - self.x)
            return self.x.sum()

    d = np.arange(50.0)
    for k in range(60):
        model = Model(np.full(50, float(k)))
        for _ in range(3):
            model.step(d)
    assert Model.step.cache_info().traces < 40
    assert len(Model.step._facts()["entries"]) <= 2
    before, lasting, plain = Model.step.cache_info().hits, Model(np.zeros(50)), Model(np.zeros(50))
    for _ in range(200):
        assert lasting.step(d) == Model.step.__wrapped__(plain, d)
    assert Model.step.cache_info().hits > before + 50
