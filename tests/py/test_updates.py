"""Groups that write several arguments at once, and updates that must not be joined."""

import random

import numpy as np
import pytest

import pyasc
from same import freeze, outcome


def two_arrays(u, v):
    w = u * v
    u += 0.5 * w
    v -= w * 2
    return u.sum() + v[0, 0]


def stencil(u, v):
    a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
    la = u[:-2, 1:-1] + u[2:, 1:-1] - 2 * a
    lb = v[:-2, 1:-1] + v[2:, 1:-1] - 2 * b
    w = a * b * b
    a += 0.1 * la - w
    b += 0.2 * lb + w


def reads_what_the_first_wrote(u, v):
    w = u * 2
    u += w
    v[...] = u + w


def two_windows_of_one_array(u, v):
    w = v[:4] * 3
    u[:4] = w
    u[4:8] = w + 1
    return u


def overlapping_windows(u, v):
    w = v[:4] * 3
    u[:4] = w
    u[2:6] = w + 1
    return u


def swapped(u, v):
    a, b = u[:5] + 1, u[3:8] * 2
    u[:5], v[:5] = b, a
    return u, v


def reduced_between(u, v):
    w = u * v
    u[...] = w + 1
    s = w.sum(axis=0)
    v *= 2
    return s, w.max()


def rows_as_they_come(u, v):
    u[1] = u[:7, 3]
    u[:, 5] = u[6, 2]
    u[2:7, 0] = u[4, 1:6]
    u[0] = np.broadcast_to(u[0, 2:3], (7,))
    v.reshape(-1)[::2] = v.reshape(-1)[:32]
    v.reshape(-1)[:20] = v.reshape(-1)[1::3][:20]
    return u * 2


def rows_in_turn(u, v):
    for i in range(6):
        u[i] = u[:7, 5 - i]
        v[:7, i] = v[i]


def three(u, v):
    w = np.sqrt(abs(u)) + v
    x = w[::-1] * 1
    u *= w
    v += w
    x -= w
    return x


FUNCTIONS = [two_arrays, stencil, reads_what_the_first_wrote, two_windows_of_one_array, overlapping_windows,
             swapped, reduced_between, rows_as_they_come, rows_in_turn, three]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(function, tier):
    rng = np.random.default_rng(3)
    for layout in ("C", "F"):
        pairs = [[np.array(rng.integers(-9, 9, (9, 7)) / 4, order=layout) for _ in range(2)] for _ in range(2)]
        pairs[1] = [x.copy(order="K") for x in pairs[0]]
        jitted = pyasc.jit(function, tier=tier)
        for _ in range(4):
            assert freeze((jitted(*pairs[0]), *pairs[0])) == freeze((function(*pairs[1]), *pairs[1]))


def test_one_pass_for_two_arrays():
    def f(u, v):
        w = u * v
        u += 0.5 * w
        v -= w * 2

    jitted = pyasc.jit(f, tier=1)
    u, v = np.ones((50, 40)), np.ones((50, 40))
    for _ in range(2):
        jitted(u, v)
    assert "copy" not in jitted.explain()
    assert jitted.report()["kernels"] == 1


TARGETS = ["u[1:-1]", "v[1:-1]", "u[2:]", "u[:-2]", "v[2:]", "a", "b"]
VALUES = ["u[1:-1]", "u[2:]", "u[:-2]", "v[1:-1]", "v[:-2]", "a", "b", "w", "z"]


@pytest.mark.parametrize("seed", range(40))
def test_random(seed, tmp_path):
    rng = random.Random(seed)
    lines = ["def f(u, v):", "    a = u[1:-1]", "    b = v[1:-1] * 1", "    w = a + b", "    z = w * 2"]
    for _ in range(rng.randint(3, 8)):
        value = f"{rng.choice(VALUES)} {rng.choice('+-*')} {rng.choice(VALUES)}"
        kind = rng.random()
        if kind < 0.5:
            lines.append(f"    {rng.choice('wz')} = {value}")
        elif kind < 0.8:
            lines.append(f"    {rng.choice(TARGETS)}[...] = {value} * 0.5")
        else:
            lines.append(f"    {rng.choice(TARGETS)}[...] -= {rng.choice(VALUES)}")
    text = "\n".join(lines) + "\n    return w, z\n"
    path = tmp_path / "updates.py"
    path.write_text(text)
    scope = {"np": np}
    exec(compile(text, str(path), "exec"), scope)
    start = np.random.default_rng(seed).integers(-4, 4, (2, 33)) / 2
    for tier in (0, 1):
        jitted, x, y = pyasc.jit(scope["f"], tier=tier), start.copy(), start.copy()
        with np.errstate(all="ignore"):
            for _ in range(3):
                assert freeze((jitted(x[0], x[1]), x)) == freeze((scope["f"](y[0], y[1]), y)), text


# -- What a group writes is read by no later operation of it ------------------------------


def reads_after(u, v):
    new = v * 2
    total = u + v
    u[...] = new
    return total


def butterfly(u, v):
    a, b = u - v, u + v
    u[...], v[...] = a, b


def rotated(u, v):
    c, s = u * 0.5 - v * 0.25, u * 0.25 + v * 0.5
    u[...] = c
    v[...] = s
    return c + s


def by_out(u, v):
    t = np.add(u, v)
    np.subtract(u, v, out=v)
    return t


def product_used_twice(u, v):
    a = u * v - 3
    u *= v
    u += 3
    return a


def elementary(u, v):
    new = np.exp(v * 0.01)
    total = u + v
    u[...] = new
    return total


@pytest.mark.parametrize("options", [{"tier": 0}, {"tier": 1}, {"tier": 1, "numerics": "strict"},
                                     {"tier": 0, "numerics": "strict"}], ids=str)
@pytest.mark.parametrize("function", [reads_after, butterfly, rotated, by_out, product_used_twice, elementary],
                         ids=lambda f: f.__name__)
def test_reads_come_before_writes(function, options):
    for n in (1, 5, 64, 3000):
        rng = np.random.default_rng(n)
        start = rng.integers(-9, 9, (2, n)) / 4
        jitted, x, y = pyasc.jit(function, **options), start.copy(), start.copy()
        for _ in range(4):
            got, expected = jitted(x[0], x[1]), function(y[0], y[1])
            if function is elementary and options.get("numerics") != "strict":
                np.testing.assert_allclose(x, y, rtol=1e-14)
                np.testing.assert_allclose(got, expected, rtol=1e-14)
                y[...] = x
            else:
                assert freeze((got, x)) == freeze((expected, y))


@pytest.mark.parametrize("tier", [0, 1])
def test_fast_products_used_twice(tier):
    jitted = pyasc.jit(product_used_twice, numerics="fast", tier=tier)
    u, v = np.full(50, 3.0), np.full(50, 4.0)
    assert (jitted(u, v) == 9).all() and (u == 15).all()
    u[:] = 3.0
    assert (jitted(u, v) == 9).all() and (u == 15).all()


def test_copies_between_orders_have_room():
    def f(x, y):
        x[::-1, ::-1] = y[::-1, ::-1]

    jitted = pyasc.jit(f)
    for shape in ((3, 2000), (2000, 3), (40, 500)):
        x, y = np.zeros(shape, "f4"), np.asfortranarray(np.random.rand(*shape).astype("f4"))
        for _ in range(3):
            jitted(x, y)
            assert (x == y).all()
            x[:] = 0


def of_its_own(x):
    y = x * 2
    z = y[1:] + 1
    y.resize(10)
    return y, z, y.sum()


def smaller(x):
    parts = [x * 2]
    parts[0].resize((2, 1))
    return parts


def with_a_second_name(x):
    y = x * 2
    z = y
    y.resize(10)
    return y, z


def with_a_view(x):
    y = x * 2
    z = y[1:]
    y.resize(10)
    return y, z


def as_an_argument(x):
    x.resize((len(x), 2), refcheck=False)
    return x + 1


def after_the_trace(x):
    y = np.frompyfunc(lambda v: v + 1, 1, 1)(x).astype(float)
    y.resize(3)
    return y


@pytest.mark.parametrize("function", [of_its_own, smaller, with_a_second_name, with_a_view, as_an_argument, after_the_trace])
def test_resized_in_place(function):
    jitted = pyasc.jit(function)
    for _ in range(3):
        x, y = np.arange(6.0), np.arange(6.0)
        assert outcome(jitted, y) == outcome(function, x)
        assert freeze(x) == freeze(y)


def shapes_of_nothing(x):
    y = x[:0] + 1
    z = y.reshape(-1, 2)
    z.resize(4)
    return z


def copy_of_nothing(x):
    y = (x[:0] + 1).reshape(-1, 2) + 1
    y.resize(4)
    return y


@pytest.mark.parametrize("function", [shapes_of_nothing, copy_of_nothing])
def test_resized_from_nothing(function):
    jitted = pyasc.jit(function)
    for _ in range(3):
        got, expected = outcome(jitted, np.arange(6.0)), outcome(function, np.arange(6.0))
        assert got[0] == expected[0] and (got == expected or "own its data" in got[1][1])
