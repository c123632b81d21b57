"""numpy.roll inside of groups: read where it lies, in boxes."""

import random

import numpy as np
import pytest

import pyasc
from same import freeze


def laplace(u):
    return np.roll(u, 1, 0) + np.roll(u, -1, 0) + np.roll(u, 1, 1) + np.roll(u, -1, 1) - 4 * u


def flat(u):
    x = u[0]
    return np.roll(x, 3) - np.roll(x, -3) + np.roll(x, 0) * np.roll(x, 10 ** 6)


def twice(u):
    return np.roll(np.roll(u, 2, 0), -1, axis=1) * u + np.roll(u, shift=(1, -2), axis=(0, 1))


def same_axis_twice(u):
    return np.roll(u, (1, 2), (0, 0)) - u + np.roll(u, 5, (0, 1))


def returned(u):
    r = np.roll(u, 1, 0)
    return r * 2, r


def written(u):
    r = np.roll(u, 1, 0)
    r += 1
    return r + u


def base_written_after(u):
    r = np.roll(u, 1, 1)
    u += 1
    return r * 2 + u


def base_written_before(u):
    u *= 2
    return np.roll(u, 1, 1) + np.roll(u, -1, 0)


def written_from_itself(u):
    u[...] = np.roll(u, 1, 0) * 0.5 + u
    return u


def reduced(u):
    return (np.roll(u, 1, 0) - u).sum(), np.abs(np.roll(u, 1, 1) - u).max(axis=1)


def broadcast(u):
    row, column = u[:1] * 1, u[:, :1] * 1
    return np.roll(row, 1, 1) * np.roll(column, 2, 0) + u


def steps(u):
    for _ in range(9):
        u = u + 0.1 * (np.roll(u, 1, 0) + np.roll(u, -1, 0) - 2 * u)
    return u


def steps_in_place(u):
    for _ in range(9):
        u[:] = u - 0.25 * (u - np.roll(u, 1, axis=1))
    return u


def of_a_view(u):
    return np.roll(u[1:, ::2], 1, 1) + np.roll(u.T[::2, 1:], 2, 0).T


def no_axis(u):
    return np.roll(u, 5) + u


def elementary(u):
    return np.exp(np.roll(u, 1, 0) * 0.01) + np.sqrt(np.roll(u, -1, 1) ** 2)


def three_axes(u):
    v = u.reshape(u.shape[0], -1, 2)
    return np.roll(v, 1, 0) + np.roll(v, (1, 1), (1, 2)) - v


FUNCTIONS = [laplace, flat, twice, same_axis_twice, returned, written, base_written_after, base_written_before,
             written_from_itself, reduced, broadcast, steps, steps_in_place, of_a_view, no_axis, elementary,
             three_axes]
#: Rolls that stay calls: of few elements, given away, of what is written.
COMPUTED = {returned, written, base_written_after, base_written_before, written_from_itself, reduced,
            steps_in_place, no_axis, flat, broadcast, of_a_view}


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_as_numpy(function, tier):
    rng = np.random.default_rng(3)
    for dtype in ("f8", "f4"):
        for numerics in ("numpy", "strict"):
            jitted = pyasc.jit(function, tier=tier, numerics=numerics)
            for shape in ((31, 46), (31, 46), (16, 200), (1, 300), (300, 2)):
                u = (rng.integers(-99, 99, shape) / 8).astype(dtype)
                v = u.copy()
                got, expected = jitted(u), function(v)
                if numerics == "numpy" and function is elementary:
                    np.testing.assert_allclose(got, expected, rtol=1e-6)
                else:
                    assert freeze((got, u)) == freeze((expected, v))
    if tier == 1 and function not in COMPUTED:
        jitted(rng.random((40, 50)))
        assert "roll" not in jitted.explain().replace(function.__name__, ""), jitted.explain()


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "F", "D", "g", "M8[s]", "S3", "O"])
def test_dtypes(dtype):
    def f(x, y):
        return np.roll(x, 1, 0) == np.roll(y, -1, 1)

    rng = np.random.default_rng(0)
    x = rng.integers(0, 3, (20, 30)).astype(dtype)
    y = rng.integers(0, 3, (20, 30)).astype(dtype)
    jitted = pyasc.jit(f)
    for _ in range(3):
        assert freeze(jitted(x, y)) == freeze(f(x, y))


def test_fortran_order_and_empty():
    jitted = pyasc.jit(laplace)
    for u in (np.asfortranarray(np.random.rand(20, 30)), np.random.rand(30, 20).T, np.zeros((0, 30)),
              np.zeros((30, 0)), np.random.rand(40, 60)[::2, ::-2]):
        for _ in range(2):
            assert freeze(jitted(u)) == freeze(laplace(u))


def test_shift_that_is_an_argument():
    def f(x, n):
        return np.roll(x, n, 0) + x

    jitted, x = pyasc.jit(f), np.random.rand(30, 20)
    for n in (0, 1, -1, 29, 30, 31, -45, 7, 1):
        assert freeze(jitted(x, n)) == freeze(f(x, n))


def test_errors_are_numpys():
    def f(x):
        return np.roll(x, 1, 5) + x

    jitted = pyasc.jit(f)
    for _ in range(3):
        with pytest.raises(np.exceptions.AxisError):
            jitted(np.zeros((30, 20)))


@pytest.mark.parametrize("seed", range(40))
def test_random(seed, tmp_path):
    rng = random.Random(seed)
    names = ["u", "v"]
    lines = ["def f(u, v):"]
    for k in range(rng.randint(3, 9)):
        a, b = rng.choice(names), rng.choice(names)
        shift, axis = rng.randint(-40, 40), rng.randint(0, 1)
        form = rng.choice(["np.roll({a}, {s}, {x}) + {b}", "np.roll({a}, {s}, {x})", "{a} - {b}",
                           "np.roll({a}, ({s}, 1), (0, 1)) * {b}", "{a} * 0.5"])
        lines.append(f"    w{k} = " + form.format(a=a, b=b, s=shift, x=axis))
        names.append(f"w{k}")
        if rng.random() < 0.2:
            lines.append(f"    {rng.choice(names)} += {rng.choice(names)} * 0.25")
    lines.append(f"    return {', '.join(rng.sample(names, 2))}, {names[-1]}.sum(axis=0)")
    text = "\n".join(lines) + "\n"
    path = tmp_path / "rolls.py"
    path.write_text(text)
    scope = {"np": np}
    exec(compile(text, str(path), "exec"), scope)
    start = np.random.default_rng(seed).integers(-4, 4, (2, 19, 27)) / 2
    for tier in (0, 1):
        jitted, x, y = pyasc.jit(scope["f"], tier=tier), start.copy(), start.copy()
        with np.errstate(all="ignore"):
            for _ in range(3):
                assert freeze((jitted(x[0], x[1]), x)) == freeze((scope["f"](y[0], y[1]), y)), text


@pytest.mark.parametrize("seed", range(30))
def test_rows_from_end_to_end(seed):
    """Long rows are done whole, and the columns near their ends once more."""
    rnd = random.Random(seed)
    ndim = rnd.choice([2, 2, 3])
    shape = tuple([rnd.randint(16, 40)] + [rnd.randint(2, 9)] * (ndim - 2) + [rnd.randint(24, 150)])
    dtype = rnd.choice(["f8", "f4", "i4", "u1", "f2"])

    def rolled():
        axes = rnd.sample(range(ndim), rnd.randint(1, ndim))
        name = rnd.choice(["u", "u", "v", "w", "d"])
        return f"np.roll({name}, {tuple(rnd.randint(-2, 2) for _ in axes)}, {tuple(axes)})"

    terms = [rolled() for _ in range(rnd.randint(1, 5))] + rnd.sample(["u", "v", "w", "row", "column", "k"], 3)
    rnd.shuffle(terms)
    text = "\n".join(["def f(u, v, row, column, k):", "    w = u * 3", "    d = w - v",
                      "    a = " + " + ".join(terms), "    b = " + " - ".join(terms[::-1]),
                      f"    return {rnd.choice(['a', 'a, b', 'a * b, d', 'a.sum(axis=-1), b'])}"])
    scope = {"np": np}
    exec(text, scope)
    rng = np.random.default_rng(seed)
    u, v = (rng.integers(-9, 9, shape).astype(dtype) for _ in range(2))
    args = u, v, rng.integers(-9, 9, shape[-1]).astype(dtype), rng.integers(-9, 9, (*shape[:-1], 1)).astype(dtype), 3
    jitted = pyasc.jit(scope["f"], numerics="strict")
    before = freeze((u, v))
    for _ in range(3):
        assert freeze(jitted(*args)) == freeze(scope["f"](*args)), text
        jitted.wait()
    assert freeze((u, v)) == before
    assert freeze(jitted(u[::-1], v, *args[2:])) == freeze(scope["f"](u[::-1], v, *args[2:])), text


def in_place(u, v):
    u -= np.roll(v, (1, 1), (1, -1))
    return np.where(u > 1, v, v * v)[..., ::2], u.max(axis=-1)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("shape", [(33, 8, 8, 17), (40, 64), (20, 5)])
def test_in_place(shape, tier):
    """What is changed in place is changed once, at the ends of rows too."""
    jitted = pyasc.jit(in_place, tier=tier, numerics="strict")
    for seed in range(3):
        pairs = [np.random.default_rng(seed).integers(-9, 9, (2, *shape)) / 4 for _ in range(2)]
        assert freeze((jitted(*pairs[0]), pairs[0])) == freeze((in_place(*pairs[1]), pairs[1]))
        jitted.wait()
