"""Effects as steps of plans: once and in order, in whatever way a call ends."""

import collections
import io
import random

import numpy as np
import pytest

import pyasc


class Body:
    def __init__(self):
        self.x = np.arange(5.0)
        self.v = np.ones(5)
        self.t = 0.0
        self.log = []
        self.seen = {}

    def state(self):
        return self.x.tolist(), self.v.tolist(), self.t, [float(v) for v in self.log], {
            k: np.asarray(v).tolist() for k, v in self.seen.items()}


def step(self, dt):
    self.x += self.v * dt
    self.v = self.v * 0.9
    self.t += dt
    self.log.append(self.x.sum())
    self.seen["v"] = self.v
    return self.x.max() + self.t


def test_attributes_of_an_object():
    traced, plain, jitted = Body(), Body(), pyasc.jit(step)
    for k in range(6):
        assert jitted(traced, 0.1) == step(plain, 0.1)
        assert traced.state() == plain.state()
        assert traced.seen["v"] is traced.v
    report = jitted.report()
    assert report["ops_effect"] >= 4 and jitted.cache_info().traces < 6


def test_an_attribute_set_to_what_it_was_is_no_effect():
    def move(self, dt):
        self.x += self.v * dt
        return self.x

    body, jitted = Body(), pyasc.jit(move)
    for _ in range(3):
        assert jitted(body, 0.5) is body.x
    assert jitted.report()["ops_effect"] == 0
    np.testing.assert_array_equal(body.x, np.arange(5.0) + 1.5)


def test_attribute_read_after_it_was_stored():
    def twice(self, x):
        self.t = x.sum()
        self.v = x * self.t
        self.v += 1
        return self.v * self.t

    traced, plain, jitted = Body(), Body(), pyasc.jit(twice)
    for k in range(4):
        x = np.arange(5.0) + k
        np.testing.assert_array_equal(jitted(traced, x), twice(plain, x))
        assert traced.state() == plain.state()


@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState])
def test_random_numbers(make):
    def noisy(x, rng):
        y = x + rng.normal(size=x.shape)
        y *= rng.uniform(1.0, 2.0)
        return y

    x, traced, plain, jitted = np.arange(6.0), make(3), make(3), pyasc.jit(noisy)
    for _ in range(5):
        np.testing.assert_array_equal(jitted(x, traced), noisy(x, plain))
    report = jitted.report()
    assert report["ops_effect"] == 2 and jitted.cache_info().traces == 1


def test_random_modules_and_clocks():
    import time

    def draws(x):
        return x * np.random.rand(x.size) + random.random() + 0.0 * time.perf_counter()

    jitted, x = pyasc.jit(draws), np.arange(4.0)
    np.random.seed(5), random.seed(5)
    got = [jitted(x) for _ in range(4)]
    np.random.seed(5), random.seed(5)
    np.testing.assert_array_equal(got, [draws(x) for _ in range(4)])
    assert jitted.report()["ops_effect"] == 3


def test_shuffle_writes_its_argument():
    def mixed(x, rng):
        y = x * 2
        rng.shuffle(y)
        return y + x

    jitted, x = pyasc.jit(mixed), np.arange(9.0)
    a, b = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(4):
        np.testing.assert_array_equal(jitted(x, a), mixed(x, b))
    assert jitted.report()["ops_effect"] == 1


def test_out_of_a_draw():
    def filled(rng, out):
        rng.random(out=out)
        return out * 2

    jitted = pyasc.jit(filled)
    a, b = np.random.default_rng(1), np.random.default_rng(1)
    for _ in range(3):
        x, y = np.zeros(5), np.zeros(5)
        np.testing.assert_array_equal(jitted(a, x), filled(b, y))
        np.testing.assert_array_equal(x, y)


def test_print_and_files(capsys):
    stream = io.StringIO()

    def speaks(x):
        print("sum", x.sum(), x)
        stream.write("line\n")
        return x + 1

    jitted = pyasc.jit(speaks)
    for k in range(3):
        jitted(np.arange(3) + k)
    assert capsys.readouterr().out == "sum 3 [0 1 2]\nsum 6 [1 2 3]\nsum 9 [2 3 4]\n"
    assert stream.getvalue() == 3 * "line\n"
    assert jitted.report()["ops_effect"] == 2


def test_order_of_print_and_error(capsys):
    def fails(a, b):
        print("before")
        x = np.linalg.solve(a, b)
        print("after", x.sum())
        return x

    jitted, good = pyasc.jit(fails), np.eye(2)
    for a in (good, good, np.zeros((2, 2)), good, np.zeros((2, 2))):
        if a is good:
            jitted(a, np.ones(2))
            assert capsys.readouterr().out == "before\nafter 2.0\n"
        else:
            with pytest.raises(np.linalg.LinAlgError):
                jitted(a, np.ones(2))
            assert capsys.readouterr().out == "before\n"


def test_what_raises_before_an_effect_keeps_it_from_happening():
    log = []

    def fails(a):
        np.linalg.inv(a)
        log.append(1)
        return a

    jitted, good = pyasc.jit(fails), np.eye(2)
    jitted(good), jitted(good)
    with pytest.raises(np.linalg.LinAlgError):
        jitted(np.zeros((2, 2)))
    assert log == [1, 1]


@pytest.mark.parametrize("kind", [list, set, collections.deque, dict])
def test_containers_from_outside(kind):
    box = kind()

    def collects(x):
        if kind is dict:
            box[3] = x.sum()
        elif kind is set:
            box.add(3.5)
        else:
            box.append(x.sum())
        return x + 1

    jitted = pyasc.jit(collects)
    for k in range(4):
        jitted(np.arange(3.0) + k)
    expected = {list: [3.0, 6.0, 9.0, 12.0], set: {3.5}, dict: {3: 12.0},
                collections.deque: collections.deque([3.0, 6.0, 9.0, 12.0])}[kind]
    assert box == expected and jitted.report()["ops_effect"] >= 1


def test_contents_that_are_read_and_changed():
    history = [np.zeros(3)]

    def follows(x):
        y = history[-1] + x
        history.append(y)
        return y, len(history)

    jitted = pyasc.jit(follows)
    for k in range(4):
        y, n = jitted(np.ones(3))
        assert n == k + 2 and history[-1] is y
        np.testing.assert_array_equal(y, np.full(3, k + 1.0))


def test_the_same_array_is_inside_and_outside():
    kept = []

    def keeps(x):
        y = x * 2
        kept.append(y)
        y += 1
        return y

    jitted = pyasc.jit(keeps)
    for k in range(4):
        assert jitted(np.arange(3.0) + k) is kept[-1]
    np.testing.assert_array_equal(kept[3], np.arange(3.0) * 2 + 7)


def test_paths_that_part_after_an_effect():
    kept = []

    def branches(x):
        y = x * 3
        kept.append(y)
        if x.sum() > 0:
            y += 1
            return y, "up"
        y -= 1
        return y, "down"

    jitted = pyasc.jit(branches)
    for k in range(9):
        x = np.arange(4.0) * (-1) ** (k // 2)
        y, word = jitted(x)
        assert word == ("up" if x.sum() > 0 else "down")
        assert len(kept) == k + 1 and kept[-1] is y
        np.testing.assert_array_equal(y, x * 3 + (1 if word == "up" else -1))
    assert jitted.cache_info().traces == 2


def test_written_arguments_and_draws_on_another_path():
    def walks(x, rng):
        x += rng.normal(size=x.shape)
        if x.sum() > 0:
            x *= 2
        else:
            x -= rng.uniform(size=x.shape)
        return x.sum()

    jitted = pyasc.jit(walks)
    a, b = np.random.default_rng(2), np.random.default_rng(2)
    x, y = np.zeros(7), np.zeros(7)
    for _ in range(30):
        x[:] = y[:] = 0
        assert jitted(x, a) == walks(y, b)
        np.testing.assert_array_equal(x, y)
    assert jitted.cache_info().traces == 2


def test_draws_whose_shape_changes():
    def draws(n, rng):
        k = rng.poisson(n.sum())
        return rng.permutation(k).sum() + rng.normal(size=3)

    jitted = pyasc.jit(draws)
    a, b = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(8):
        np.testing.assert_array_equal(jitted(np.ones(4), a), draws(np.ones(4), b))


def test_memory_with_views_that_went_outside():
    kept = []

    def gives(x):
        y = x * 2
        row = y[0]
        kept.append(y)
        if x.sum() > 0:
            row += 1
        return y

    jitted = pyasc.jit(gives)
    for k in range(6):
        y = jitted(np.full((2, 2), 1.0 if k % 2 else -1.0))
        assert y is kept[-1]
        np.testing.assert_array_equal(y, [[3, 3], [2, 2]] if k % 2 else [[-2, -2], [-2, -2]])


def test_an_exception_of_an_effect_itself():
    rng = np.random.default_rng(0)

    def draws(x):
        y = x + 1
        x += 1
        return y + rng.normal(scale=x.min(), size=3)

    jitted, x, y = pyasc.jit(draws), np.ones(3), np.ones(3)
    jitted(x), jitted(x)
    rng = np.random.default_rng(0)
    x[:] = -3
    with pytest.raises(ValueError, match="scale < 0"):
        jitted(x)
    np.testing.assert_array_equal(x, np.full(3, -2.0))


def test_an_object_is_not_kept_alive():
    import gc
    import weakref

    body, jitted = Body(), pyasc.jit(step)
    for _ in range(3):
        jitted(body, 0.1)
    gone = weakref.ref(body)
    del body
    gc.collect()
    assert gone() is None


def test_user_code_behind_a_store_is_seen():
    class Watched:
        def __init__(self):
            self.stores = []

        def __setattr__(self, name, value):
            object.__setattr__(self, name, value)
            if name != "stores":
                self.stores.append(name)

    class Held:
        _x = 0

        @property
        def x(self):
            return self._x

        @x.setter
        def x(self, value):
            self._x = value + 1

    def stores(w, h, x):
        w.a = x.sum()
        h.x = x.max()
        return h.x

    jitted, w, h = pyasc.jit(stores), Watched(), Held()
    for k in range(3):
        assert jitted(w, h, np.arange(3.0) + k) == 3 + k
        assert len(w.stores) == k + 1


def test_a_dictionary_from_outside_is_read():
    settings = {"a": 2.0, "w": np.arange(3.0)}

    def reads(x):
        total = x * settings.get("a", 1.0) + settings.get("missing", 5)
        for name, value in settings.items():
            total = total + value
        for value in settings.values():
            total = total * value
        return total, list(settings.keys())

    jitted = pyasc.jit(reads)
    for k in range(4):
        settings["w"] = np.arange(3.0) + k
        got, expected = jitted(np.ones(3)), reads(np.ones(3))
        np.testing.assert_array_equal(got[0], expected[0])
        assert got[1] == expected[1]
    assert not jitted._facts()["entries"][0]["plain"]


def test_arrays_in_containers_from_outside():
    layers = [{"w": np.eye(3), "b": np.ones(3)}, {"w": np.eye(3) * 2, "b": np.zeros(3)}]
    parts = [np.ones(3), np.zeros(3)]

    def forward(x):
        for layer in layers:
            x = np.tanh(x @ layer["w"] + layer["b"])
        return x + np.concatenate(parts).sum() + layers[1]["b"][0]

    jitted, x = pyasc.jit(forward), np.arange(3.0)
    for k in range(5):
        layers[0]["b"] += k
        if k == 2:
            layers[1]["w"], parts[0] = np.full((3, 3), 0.5), np.full(3, 7.0)
        np.testing.assert_array_equal(jitted(x), forward(x))
    assert not jitted._facts()["entries"][0]["plain"]


def test_interrupts_are_not_swallowed():
    log, raising = [], [False]

    class Stream(io.StringIO):
        def write(self, text):
            if raising[0]:
                raise KeyboardInterrupt
            return super().write(text)

    import contextlib

    def speaks(x):
        log.append(1)
        print("x")
        return x

    jitted = pyasc.jit(speaks)
    with contextlib.redirect_stdout(Stream()):
        jitted(np.ones(2)), jitted(np.ones(2))
        raising[0] = True
        with pytest.raises(KeyboardInterrupt):
            jitted(np.ones(2))
    assert log == [1, 1, 1]


COUNT, TOTAL, KEPT = 0, 0.0, np.zeros(3)


def counts(x):
    global COUNT, TOTAL, KEPT
    COUNT += 1
    TOTAL = TOTAL + x.sum()
    KEPT = KEPT + x * COUNT
    if KEPT.sum() > 100:
        KEPT = KEPT * 0
    return KEPT * TOTAL + COUNT


def test_globals_that_are_stored():
    global COUNT, TOTAL, KEPT
    jitted, x = pyasc.jit(counts), np.arange(3.0)
    got = [jitted(x) for _ in range(30)]
    after = COUNT, TOTAL, KEPT
    COUNT, TOTAL, KEPT = 0, 0.0, np.zeros(3)
    for k in range(30):
        np.testing.assert_array_equal(got[k], counts(x))
    assert (COUNT, TOTAL) == after[:2] and type(COUNT) is int
    np.testing.assert_array_equal(KEPT, after[2])
    assert jitted.cache_info().traces <= 6 and jitted.report()["ops_effect"] > 0


def test_a_new_global_and_an_error_after_it():
    def makes(x):
        global MADE_HERE
        MADE_HERE = x * 2
        return np.linalg.inv(MADE_HERE)

    jitted = pyasc.jit(makes)
    for _ in range(3):
        jitted(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        jitted(np.zeros((2, 2)))
    np.testing.assert_array_equal(MADE_HERE, np.zeros((2, 2)))
    assert globals().pop("MADE_HERE") is not None
    with pytest.raises(np.linalg.LinAlgError):
        jitted(np.zeros((2, 2)))
    assert "MADE_HERE" in globals()


def test_a_name_of_an_outer_function():
    def outer():
        count = 0

        def inner(x):
            nonlocal count
            count += 1
            return x * count

        return inner, lambda: count

    inner, read = outer()
    jitted = pyasc.jit(inner)
    for k in range(4):
        np.testing.assert_array_equal(jitted(np.ones(2)), np.ones(2) * (k + 1))
    assert read() == 4
