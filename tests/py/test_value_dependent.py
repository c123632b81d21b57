"""Calls whose results' shapes, types or views depend on values, not on shapes alone.

Each program is called with the same values until it has a plan, then with others: before and after
writes to its argument, which have to be taken back where the plan turns out not to hold.
"""
import linecache
import random

import numpy as np
import pytest

import pyasc
from same import outcome, freeze


# expression of x (int64[4]) and c; a value of c; other values of it
ROWS = [
    ("np.repeat(x, c)", [1, 1, 1, 1], [2, 1, 0, 3]),
    ("x.repeat(c)", [1, 1, 1, 1], [2, 1, 0, 3]),
    ("np.where(c)[0]", [1, 1, 1, 1], [2, 1, 0, 3]),
    ("np.zeros(c)", [1, 2], [2, 1]),
    ("np.zeros(c[0])", [1, 2], [2, 1]),
    ("np.arange(c[0])", [1, 2], [2, 1]),
    ("np.arange(0., c[0])", [1., 2], [2.4, 1]),
    ("np.linspace(0, 1, c[0])", [1, 2], [2, 1]),
    ("np.eye(c[0])", [1, 2], [2, 1]),
    ("np.tile(x, c)", [1, 2], [2, 1]),
    ("np.full(c, 3)", [1, 2], [2, 1]),
    ("np.reshape(x, c)+0", [1, 4], [2, 2]),
    ("np.pad(x, c)", [1, 4], [2, 2]),
    ("np.split(x, c)", [1, 4], [2, 2]),
    ("np.array_split(x, c)", [1, 4], [2, 2]),
    ("np.indices(c)", [1, 4], [2, 2]),
    ("np.identity(c[1])", [1, 4], [2, 2]),
    ("np.tri(c[1])", [1, 4], [2, 2]),
    ("np.diag(x, c[1])", [1, 4], [2, 2]),
    ("np.tril(np.outer(x, x), c[0])", [1, 4], [2, 2]),
    ("np.histogram(x, c[0])[0]", [1, 4], [2, 2]),
    ("np.bincount(c)", [1, 4], [2, 2]),
    ("np.fft.fft(x, c[0])", [1, 4], [2, 2]),
    ("np.fft.rfftfreq(c[0])", [1, 4], [2, 2]),
    ("np.sum(np.outer(x, x[:3]), axis=c[0])", [1, 4], [0, 2]),
    ("np.swapaxes(np.outer(x, x[:3]), c[0], 0)+0", [1, 4], [0, 2]),
    ("np.moveaxis(np.outer(x, x[:3]), c[0], 0)+0", [1, 4], [0, 2]),
    ("np.rot90(np.outer(x, x[:3]), c[0])+0", [1, 4], [0, 2]),
    ("np.roll(x, c[0])+0", [1, 4], [0, 2]),
    ("np.take(x, np.nonzero(c)[0])+0", [1, 4], [0, 2]),
    ("np.linalg.lstsq(c, x[:2], rcond=None)[1]", [[1.0, 4], [2, 3]], [[1.0, 1], [1, 1]]),
    ("np.quantile(x, c)", [.1, .4], [.2, .2]),
    ("np.expand_dims(x, c[0])+1", [1, 4], [0, 2]),
    ("np.setdiff1d(x, c)", [1, 4], [0, 2]),
    ("np.unique(c)", [1, 4], [2, 2]),
    ("np.trim_zeros(c)", [1, 4], [0, 2]),
    ("np.delete(x, c)", [1, 3], [2, 2]),
    ("np.insert(x, c[0], c)", [1, 3], [2, 2]),
    ("np.extract(c, x)", [1, 3, 0, 0], [2, 2, 1, 0]),
    ("np.compress(c, x)", [1, 3, 0, 0], [2, 2, 1, 0]),
    ("np.argwhere(c)", [1, 3, 0, 0], [2, 2, 1, 0]),
    ("np.digitize(x, c)", [1, 3, 4, 5], [2, 2, 1, 0]),
    ("np.poly(c)", [1., 3, 4, 5], [2., 2, 1, 0]),
    ("np.roots(c)", [1., 3, 4, 5], [2., 2, 1, 0]),
    ("np.polyfit(x, c, 2)", [1., 3, 4, 5], [2., 2, 1, 0]),
    ("np.cumsum(np.outer(x, x), axis=c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.linalg.norm(x, c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.diff(x, c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.linalg.matrix_power(np.outer(x, x), c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.round(x*.333, c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("x.item(c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("x**c[0]", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("c<<c[0]", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("x[c[0]:]*2", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.sort(np.outer(x, x), axis=c[0])", [1, 3, 4, 5], [0, 2, 1, 0]),
    ("np.choose(c, [x, x*2, x*3])", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.select([c>1, c>2], [x, x*2])", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.piecewise(x, [c>1, c<=1], [1, lambda v:v*2])", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.outer(x, x)[np.ix_(c, c)]", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.lexsort((x, c))", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.unpackbits(c.astype('u1'))", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.interp(x, np.arange(4), c)", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.trapezoid(c, x)", [1, 0, 2, 1], [0, 2, 1, 0]),
    ("np.broadcast_to(x, (c[0], 4))+1", [1, 0, 2, 1], [3, 2, 1, 0]),
    ("np.resize(x, c)", [1, 2], [3, 1]),
    ("np.unravel_index(c, (3, 3))", [1, 2], [3, 1]),
    ("np.array(x, dtype=['f4', 'f8'][c[0]])", [1, 2], [0, 1]),
    ("np.full_like(x, c[0])", [1, 2], [0, 1]),
    ("np.vander(x, c[1])", [1, 2], [0, 1]),
    ("np.geomspace(1, 10, c[1])", [1, 2], [0, 1]),
    ("np.logspace(1, 10, c[1])", [1, 2], [0, 1]),
    ("np.hanning(c[1])", [1, 2], [0, 1]),
    ("np.unpackbits(c.astype('u1'), count=c[0])", [1, 2], [0, 1]),
    ("np.einsum('i, i', c, c)", [1, 2], [0, 1]),
    ("np.convolve(x, c, ['same', 'full'][c[0]])", [1, 2], [0, 1]),
    ("np.isin(x, c)", [1, 2], [0, 1]),
    ("x[c>1]", [1, 2, 3, 0], [0, 1, 0, 0]),
    ("np.emath.sqrt(c)", [1, 2], [-1, 1]),
    ("np.gcd(x[:2], c)", [1, 2], [-1, 1]),
    ("np.apply_along_axis(lambda r:r[r>1], 0, c)", [1, 2], [5, 6]),
    ("np.min_scalar_type(c[0])", [1, 2], [500, 6]),
    ("np.block([[x, c], [c, x]])", [1, 2], [500, 6]),
    ("x[:int(c.sum())]+1", [1, 2], [1, 1]),
    ("[v for v in x if v>c[0]]", [1, 2], [2, 1]),
    ("np.linalg.eigvals(np.reshape(c, (2, 2)))", [1.0, 2, 2, 1], [0.0, 1, -1, 0]),
    ("np.linalg.eig(np.reshape(c, (2, 2)))[1]", [1.0, 2, 2, 1], [0.0, 1, -1, 0]),
    ("np.emath.sqrt(c[0])", [1.0, 2], [-1.0, 2]),
    ("np.emath.log(c)", [1.0, 2], [-1.0, 2]),
    ("np.emath.power(c, 0.5)", [1.0, 2], [-1.0, 2]),
    ("np.real_if_close(c * (1 + 0j))", [1.0, 2], [1j, 2]),
    ("np.unique(c, return_counts=True)", [1, 2, 1], [3, 2, 1]),
    ("np.intersect1d(x, c)", [1, 2, 1], [3, 2, 8]),
    ("np.union1d(x, c)", [1, 2, 1], [3, 2, 8]),
    ("np.histogram(x, c)", [1, 2, 3], [0, 2, 8]),
    ("np.testing.assert_allclose(c[0], c[1])", [1.0, 1.0], [1.0, 2.0]),
    ("np.sum(np.outer(x, x), axis=tuple(c))", [0, 1], [1, 0]),
    ("np.transpose(np.ones((2, 3)), c) + 1", [0, 1], [1, 0]),
    ("np.ones((3, 4))[c]", [0, 1], [2, 2]),
    ("np.ones((3, 4))[c[0], c[1]:]", [0, 1], [2, 2]),
    ("x[c[0]:c[1]] + 1", [0, 1], [2, 4]),
    ("x[::c[0]] + 1", [1, 1], [-2, 4]),
    ("np.flatnonzero(c) + 1", [1, 0], [1, 1]),
    ("np.fromiter(c, dtype=int)", [1, 0], [1, 1]),
    ("np.asarray([v for v in c if v])", [1, 0], [1, 1]),
    ("np.array(sorted(c))", [1, 0], [1, 2]),
    ("np.cross(c, c)", [1, 0, 2], [1, 1, 1]),
    ("np.ma.masked_equal(c, 1)", [1, 0], [1, 1]),
    ("c.astype(str)", [1, 0], [100, 1]),
    ("np.array_str(c)", [1, 0], [100, 1]),
    ("f'{c[0]}'", [1, 0], [100, 1]),
    ("np.busday_count('2020-01-01', '2020-02-01') + c", [1, 0], [100, 1]),
]

BODIES = {
    "written before and after": "x += 1; x[0] = x[0] + 1; r = {}; x *= 2; return r",
    "a window written before": "x[1:] += x[:-1]; r = {}; return r, x[::2]",
    "written after": "r = {}; x -= 1; return r",
    "never written": "y = x * 3; r = {}; return r, y",
}


def program(body, expression):
    text = f"def f(x, c): {body.format(expression)}\n"
    name = f"<values {text}>"
    linecache.cache[name] = len(text), None, [text], name
    scope = {"np": np}
    exec(compile(text, name, "exec"), scope)
    return scope["f"]


@pytest.mark.parametrize("expression, usual, other", ROWS, ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_value_dependent_calls(body, expression, usual, other):
    plain = program(body, expression)
    jitted = pyasc.jit(plain)
    for c in 5 * [usual] + [other, other, usual, other, usual]:
        x, y = np.arange(4), np.arange(4)
        expected = outcome(plain, x, np.array(c))
        assert outcome(jitted, y, np.array(c)) == expected
        assert freeze(x) == freeze(y)


def adds_at(x, c):
    np.add.at(x, [0, 0], 1.0)
    if c[0] > 0:
        return x * 2
    return x * 3


def test_read_only_argument_is_taken_back():
    """np.add.at writes to read-only arrays."""
    jitted = pyasc.jit(adds_at)
    for c in (1, 1, 1, -1, -1, 1):
        x, y = np.ones(4), np.ones(4)
        x.flags.writeable = y.flags.writeable = False
        assert outcome(jitted, y, np.array([c])) == outcome(adds_at, x, np.array([c]))
        assert freeze(x) == freeze(y)
        assert not y.flags.writeable


def power_unused(x, y):
    z = x**y
    return x if z is None else x + 1


def power_caught(x, y):
    try:
        z = x**y
    except ValueError:
        return -x
    return z


def power_before_another(x, y):
    x**y
    raise KeyError("later")


def power_in_place(x, y):
    x += 1
    x **= y
    return x


def power_into(x, y):
    z = x.copy()
    np.power(z, y, out=z)
    return z


@pytest.mark.parametrize("function", [power_unused, power_caught, power_before_another, power_in_place, power_into])
def test_integers_to_negative_powers(function):
    jitted = pyasc.jit(function)
    for negative in (False, False, False, True, False, True):
        x, y, powers = np.arange(4), np.arange(4), np.arange(4) - 3 * negative
        assert outcome(jitted, y, powers) == outcome(function, x, powers)
        assert freeze(x) == freeze(y)


def test_containers_that_are_empty_for_some_values():
    def f(x, n):
        return (1, 2) * x[0], [3] * int(x[1]), divmod(7, 2) * (n ** x[0])

    jitted = pyasc.jit(f)
    for n in (1, 2, 0, 3, 0, 2):
        for x in (np.array([2, 1]), np.array([0, 0]), np.array([1, 0]), np.array([0, 2])):
            assert jitted(x, n) == f(x, n)


def test_long_paths_are_few():
    """A program that goes another way at each call is followed for a few calls, and in a time that grows as it does."""
    generator = random.Random(3)

    def count(n):
        c = 0
        for _ in range(n):
            if generator.random() < 0.5:
                c += 1
        return c

    jitted = pyasc.jit(count)
    for k in range(12):
        state = generator.getstate()
        result = jitted(2000)
        after = generator.getstate()
        generator.setstate(state)
        assert count(2000) == result and generator.getstate() == after
    assert jitted.cache_info().traces <= 5, jitted.cache_info()
