"""Programs that go several times over the rows of a matrix: run in blocks of rows, with the bits of NumPy."""
import numpy as np
import pytest
from same import freeze

import pyasc

LARGE = [(4096, 300), (1003, 1024), (8, 250, 517), (3, 5, 80, 1000), (30_000, 9), (20, 70_001), (2, 300_000)]
SMALL = [(1, 1000), (1, 7), (64, 64), (0, 30), (5, 1), (3, 4, 50), (700_000,), (40,)]


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def log_softmax(x):
    z = x - x.max(axis=-1)[..., None]
    return z - np.log(np.exp(z).sum(axis=-1, keepdims=True))


def logsumexp(x):
    m = np.max(x, axis=-1, keepdims=True)
    return np.log(np.sum(np.exp(x - m), axis=-1)) + m[..., 0]


def layer_norm(x):
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred * centred, axis=-1, keepdims=True)
    return centred / np.sqrt(variance + 1e-5)


def variance(x):
    return np.var(x, axis=-1)


def standardised(x):
    return (x - x.mean(axis=-1)[..., None]) / x.std(axis=-1)[..., None]


def normalised(x):
    return x / np.sqrt((x * x).sum(axis=-1, keepdims=True))


def scaled(x):
    low = x.min(axis=-1, keepdims=True)
    return (x - low) / (x.max(axis=-1, keepdims=True) - low)


def with_intermediates(x):
    m = x.max(axis=-1, keepdims=True)
    e = np.exp(x - m)
    s = e.sum(axis=-1)
    return e, e / s[..., None], m, s


def in_place(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    e /= e.sum(axis=-1, keepdims=True)
    e *= 2
    return e


def by_halves(x):
    n = x.shape[-1] // 2
    a, b = x[..., :n], x[..., n:]
    a = a - a.mean(axis=-1, keepdims=True)
    return a / a.max(axis=-1, keepdims=True), b * a.sum(axis=-1, keepdims=True)


ROWWISE = [softmax, log_softmax, logsumexp, layer_norm, variance, standardised, normalised, scaled, with_intermediates,
           in_place, by_halves]


def values(shape, dtype="f8", seed=0):
    return np.random.default_rng(seed).normal(0.1, 1, shape).astype(dtype)


def blocks(jitted):
    """Runs of steps that go block by block, in all plans."""
    return sum(plan["rows"] for entry in jitted._facts()["entries"] for plan in entry["plans"])


def pieces(x):
    """Rows by tens: so little that it is not run in blocks."""
    rows = x.reshape(-1, x.shape[-1])
    return [rows[i:i + 10] for i in range(0, len(rows), 10)]


def flat(results, x):
    """Results, each as rows that belong to the rows of x."""
    results = results if isinstance(results, tuple) else (results,)
    return [np.asarray(r).reshape(x.size // x.shape[-1], -1) for r in results]


def check(function, *args, numerics="strict", **options):
    jitted = pyasc.jit(function, numerics=numerics, **options)
    with np.errstate(all="ignore"):
        expected = freeze(function(*args))
        for _ in range(3):
            assert freeze(jitted(*args)) == expected
    return jitted


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", ROWWISE)
def test_strict(function, dtype, tier):
    for shape in SMALL:
        if shape[-1] > 1 and 0 not in shape:
            assert not blocks(check(function, values(shape, dtype), tier=tier))
    for shape in LARGE[:4]:
        jitted = check(function, values(shape, dtype), tier=tier)
        assert blocks(jitted) or function is by_halves, shape


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function", [softmax, layer_norm, logsumexp])
def test_shapes(function, tier):
    for shape in LARGE:
        assert blocks(check(function, values(shape), tier=tier)), shape


@pytest.mark.parametrize("function", [softmax, variance, scaled])
def test_no_rows(function):
    x = values((0, 30), "f4")
    jitted = pyasc.jit(function, tier=1)
    for _ in range(2):
        assert freeze(jitted(x)) == freeze(function(x))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", ROWWISE)
def test_numpy_mode_has_the_bits_of_small_arrays(function, dtype, tier):
    x = values((1601, 700), dtype)
    large, small = pyasc.jit(function, tier=tier), pyasc.jit(function, tier=tier)
    expected = [flat(small(piece), piece) for piece in pieces(x)]
    for _ in range(2):
        got = flat(large(x), x)
        assert [freeze(r) for r in got] == [freeze(np.concatenate(r)) for r in zip(*expected)]
    assert not blocks(small)
    assert blocks(large) or function is by_halves


@pytest.mark.parametrize("tier", [0, 1])
def test_broadcast(tier):
    def layer(x, gain, bias):
        centred = x - x.mean(axis=-1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + 1e-5) * gain + bias

    x = values((2000, 513))
    rows, columns = values((2000, 1), seed=1), values(513, seed=2)
    for gain, bias in ((columns, columns), (columns, 1.5), (rows, columns), (columns[:1], rows)):
        assert blocks(check(layer, x, gain, bias, tier=tier))
    y = values((6, 300, 513))
    for gain in (values((300, 513), seed=3), values((6, 1, 1), seed=4), values((300, 1), seed=5)):
        check(layer, y, gain, columns, tier=tier)


@pytest.mark.parametrize("tier", [0, 1])
def test_layouts(tier):
    wide = values((3000, 800))
    for x in (wide[:, :513], wide[::2], wide[::-1], wide[:, ::-1], np.asfortranarray(wide), wide.T,
              wide.reshape(30, 100, 800)[:, :50], wide.reshape(30, 100, 800).transpose(1, 0, 2)):
        for function in (softmax, layer_norm, scaled):
            check(function, x, tier=tier)


@pytest.mark.parametrize("tier", [0, 1])
def test_columns(tier):
    def centred(x):
        c = x - x.mean(axis=0)
        return c / np.sqrt((c * c).mean(axis=0)), c.max(axis=1)

    def both(x):
        c = x - x.mean(axis=1, keepdims=True)
        return c - c.mean(axis=0, keepdims=True)

    def middle(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    x = values((1500, 700))
    check(centred, x, tier=tier)
    check(both, x, tier=tier)
    check(middle, values((150, 30, 300)), tier=tier)
    assert blocks(check(middle, values((400, 12, 300)), tier=tier))


@pytest.mark.parametrize("tier", [0, 1])
def test_rows_and_columns_of_a_square(tier):
    def crossed(x):
        s = x.sum(axis=1)
        return (x - s) / (x.max(axis=1)[:, None] - s[:, None])

    def turned(x):
        c = x - x.mean(axis=1, keepdims=True)
        return c + c.T, c.sum(axis=1)

    for function in (crossed, turned):
        check(function, values((1100, 1100)), tier=tier)


def writes(function, x, tier):
    jitted = pyasc.jit(function, numerics="strict", tier=tier)
    for _ in range(3):
        plain, ours = x.copy(), x.copy()
        assert freeze(jitted(ours)) == freeze(function(plain))
        assert freeze(ours) == freeze(plain)
    return jitted


@pytest.mark.parametrize("tier", [0, 1])
def test_arguments_are_written(tier):
    def in_rows(x):
        x -= x.mean(axis=1, keepdims=True)
        x /= x.max(axis=1, keepdims=True)
        return x.sum(axis=1)

    def next_row(x):
        m = x.max(axis=1, keepdims=True)
        x[1:] = x[:-1] * 2 - m[1:]
        return x / x.sum(axis=1, keepdims=True)

    def previous_row(x):
        m = x.max(axis=1, keepdims=True)
        x[:-1] = x[1:] - m[1:]
        return x.min(axis=1), m

    def backwards(x):
        s = x.sum(axis=1, keepdims=True)
        x[...] = x[::-1] / s
        return (x - x.max(axis=1, keepdims=True)).sum(axis=1)

    def columns(x):
        x[:, 1:] = x[:, 1:] - x.min(axis=1, keepdims=True)
        x[:, 0] = x[:, 1:].sum(axis=1)
        return x.sum(axis=1)

    def corner(x):
        s = x.sum(axis=1, keepdims=True)
        x[0] = 1
        return x / s, x[5] * s

    for function in (in_rows, next_row, previous_row, backwards, columns, corner):
        jitted = writes(function, values((1601, 700)), tier)
        assert function is not in_rows or blocks(jitted)


@pytest.mark.parametrize("tier", [0, 1])
def test_arguments_that_share_memory(tier):
    def function(x, y):
        x -= y.mean(axis=1, keepdims=True)
        x /= y.max(axis=1, keepdims=True)
        return y.sum(axis=1), x.min(axis=1)

    def pairs():
        x = values((1601, 700))
        yield x, x
        yield x[1:], x[:-1]
        yield x[:, 1:], x[:, :-1]
        yield x, x[::-1]
        yield x, values((1601, 700), seed=1)

    jitted = pyasc.jit(function, numerics="strict", tier=tier)
    for _ in range(2):
        for (a, b), (c, d) in zip(pairs(), pairs()):
            assert freeze(jitted(a, b)) == freeze(function(c, d))
            assert freeze((a, b)) == freeze((c, d))


@pytest.mark.parametrize("tier", [0, 1])
def test_arrays_of_the_function_are_written(tier):
    def function(x):
        out = np.empty_like(x)
        m = x.max(axis=1, keepdims=True)
        out[...] = x - m
        out[1:] += out[:-1]
        s = out.sum(axis=1, keepdims=True)
        out /= s
        return out, s

    writes(function, values((1601, 700)), tier)


@pytest.mark.parametrize("tier", [0, 1])
def test_what_was_made_before_the_rows(tier):
    def function(x):
        e = np.exp(x * 0.01)
        columns = x.sum(axis=0)
        z = x + 0.5
        e[:, 1:] -= z[:, :-1]
        return e.max(axis=-1)[..., None], columns

    check(function, values((1301, 500)), tier=tier)


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(seed):
    """Rows, columns, and writes between them that stay in rows or cross them."""
    rng = np.random.default_rng(seed)
    steps = [(int(rng.integers(0, 12)), *rng.integers(0, 100, 3).tolist()) for _ in range(int(rng.integers(4, 12)))]

    def program(x, y, g, r):
        full, rows, own, out = [x, y], [r], [np.exp(x * 0.01)], []
        for kind, i, k, n in steps:
            a, b, q, t = full[i % len(full)], full[k % len(full)], rows[n % len(rows)], own[i % len(own)]
            if kind == 0:
                full.append(a * b - q)
            elif kind == 1:
                full.append((a - q) / g)
            elif kind == 2:
                own.append(np.exp(b * 0.01))
                full.append(own[-1])
            elif kind == 3:
                rows.append(a.max(axis=-1, keepdims=True))
            elif kind == 4:
                rows.append(a.sum(axis=-1)[:, None] * 0.125)
            elif kind == 5:
                rows.append(t.var(axis=-1, keepdims=True) + q)
            elif kind == 6:
                out.append(a.mean(axis=0))
            elif kind == 7:
                t -= q
            elif kind == 8:
                t[1:] = t[:-1] - b[1:]
            elif kind == 9:
                t[:, 1:] -= a[:, :-1]
            elif kind == 10:
                t *= t[::-1]
            else:
                x[:, ::2] += q
        return full[-1] + 0.0, own[-1], rows[-1], out

    for tier in (0, 1):
        jitted = pyasc.jit(program, numerics="strict", tier=tier)
        args = [values(shape, "f4" if seed % 2 else "f8", 4 * seed + k)
                for k, shape in enumerate([(901, 600), (901, 600), (600,), (901, 1)])]
        with np.errstate(all="ignore"):
            for _ in range(2):
                plain, ours = [a.copy() for a in args], [a.copy() for a in args]
                assert freeze(jitted(*ours)) == freeze(program(*plain))
                assert freeze(ours) == freeze(plain)


@pytest.mark.parametrize("tier", [0, 1])
def test_loops(tier):
    def function(x):
        y = x
        for _ in range(12):
            y = y - y.mean(axis=1, keepdims=True)
            y = y / np.sqrt((y * y).sum(axis=1, keepdims=True))
        return y

    check(function, values((900, 700)), tier=tier)


@pytest.mark.parametrize("tier", [0, 1])
def test_calls_between(tier):
    def function(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        order = np.sort(e, axis=1)
        total = order.sum(axis=1, keepdims=True)
        if total[0, 0] > 0:
            e = e / total
        return e - e.mean(axis=1, keepdims=True), order

    check(function, values((900, 700)), tier=tier)


def test_two_arrays():
    def correlation(x, y):
        a, b = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
        return (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))

    for shape in ((1601, 700), (64, 64)):
        check(correlation, values(shape), values(shape, seed=1))


def test_other_extents_without_a_trace():
    def function(x):
        e = np.exp(x - np.max(x, axis=1, keepdims=True))
        return e / np.sum(e, axis=1, keepdims=True)

    jitted = pyasc.jit(function, numerics="strict", tier=1)
    for shape in ((50, 40), (4000, 200), (1500, 1000), (30, 60), (20, 30_000)):
        x = values(shape)
        for _ in range(2):
            assert freeze(jitted(x)) == freeze(function(x))
    assert jitted.cache_info().traces == 1
    assert blocks(jitted)


def test_errors_are_numpys():
    def function(x, d):
        r = x // d
        return r - r.max(axis=1, keepdims=True)

    x = np.arange(1_200_000).reshape(1200, 1000)
    d = x % 7
    with np.errstate(all="ignore"):
        check(function, x, d)


@pytest.mark.parametrize("tier", [0, 1])
def test_bits_do_not_depend_on_threads(tier):
    def programs(x):
        e = np.exp(x - x.max(axis=1, keepdims=True))
        c = x - x.mean(axis=1, keepdims=True)
        return e / e.sum(axis=1, keepdims=True), c / np.sqrt((c * c).mean(axis=1, keepdims=True) + 1e-5)

    x = np.random.default_rng(2).normal(size=(3001, 1024)).astype(np.float32)
    got = [freeze(pyasc.jit(programs, tier=tier, threads=threads)(x)) for threads in (1, 2, 5)]
    assert got[0] == got[1] == got[2]
    jitted = pyasc.jit(programs, tier=tier, threads=3)
    jitted(x)
    assert freeze(jitted(x)) == got[0]
