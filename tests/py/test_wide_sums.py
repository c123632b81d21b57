"""Sums of more than 128 floats, where numerics is not strict: their tree, and that nothing else decides about bits.

The reference is the rule as runtime/reduce.c has it, in plain Python.
"""
import subprocess
import sys

import numpy as np
import pytest
from same import freeze
from test_reductions import PROGRAMS

import pyasc

LENGTHS = [1, 7, 8, 127, 128, 129, 130, 159, 160, 161, 255, 256, 257, 258, 300, 383, 511, 512, 513, 514, 543, 544, 545,
           600, 767, 1000, 1023, 1024, 1025, 1500, 2047, 2048, 2049, 3001, 4095, 4096, 4097, 4100]


def wide(x):
    accumulators = 128 // x.itemsize
    n = len(x)
    if n <= 16 * accumulators:
        sums = [x.dtype.type(-0.0)] * accumulators
        for i in range(n):
            sums[i % accumulators] = sums[i % accumulators] + x[i]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [sums[k] + sums[k + half] for k in range(half)]
        return sums[0]
    half = n // 2
    half -= half % accumulators
    return wide(x[:half]) + wide(x[half:])


def total(x):
    """Of one run."""
    x = np.ascontiguousarray(x)
    with np.errstate(all="ignore"):
        return x.dtype.type(0) + wide(x) if len(x) > 128 else np.sum(x)


def totals(x, keepdims=False):
    """Over the last axis."""
    sums = np.array([total(row) for row in x.reshape(-1, x.shape[-1])], x.dtype).reshape(x.shape[:-1])
    return sums[..., None] if keepdims else sums


def values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal(shape) * 10.0 ** rng.integers(-3, 4, shape)).astype(dtype)


def same(got, expected):
    assert freeze(np.asarray(got)) == freeze(np.asarray(expected))


def calls(jitted, *args):
    """The first call's result, and those of its plan, kernels waited for."""
    yield jitted(*args)
    yield jitted(*args)
    jitted.wait()
    yield jitted(*args)


@pytest.mark.parametrize("numerics", ["numpy", "fast"])
@pytest.mark.parametrize("tier", [0, 1, None])
@pytest.mark.parametrize("dtype", "fd")
def test_rows(dtype, tier, numerics):
    x = values(dtype, (3, 4100))
    options = {"numerics": numerics} | ({} if tier is None else {"tier": tier})
    for n in LENGTHS:
        part = np.ascontiguousarray(x[:, :n])
        expected = totals(part)
        for got in calls(pyasc.jit(lambda x: np.sum(x, axis=-1), **options), part):
            same(got, expected)
        for got in calls(pyasc.jit(lambda x: x.sum(1, keepdims=True), **options), part):
            same(got, expected[:, None])


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "fd")
def test_producers(dtype, tier):
    x, y = values(dtype, (2, 4100)), values(dtype, (2, 4100), 1)
    for n in LENGTHS:
        a, b = np.ascontiguousarray(x[:, :n]), np.ascontiguousarray(y[:, :n])
        for got in calls(pyasc.jit(lambda a, b: (a * b - a).sum(axis=-1), tier=tier), a, b):
            same(got, totals(a * b - a))
        for got in calls(pyasc.jit(lambda a, b: np.sum(a * 2 + b), tier=tier), a, b):
            same(got, total((a * 2 + b).ravel()))


@pytest.mark.parametrize("dtype", "fd")
def test_a_producer_of_another_width(dtype):
    other = "d" if dtype == "f" else "f"
    x = values(other, (2, 3001))

    def plain(x):
        return np.sum((x * 2).astype(dtype), axis=-1)
    for tier in (0, 1):
        for got in calls(pyasc.jit(plain, tier=tier), x):
            same(got, totals((x * 2).astype(dtype)))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "fd")
def test_whole_arrays(dtype, tier):
    for n in (100_003, 262_144, 1_000_000):
        x = values(dtype, n)
        for threads in (1, 2):
            for got in calls(pyasc.jit(lambda x: np.sum(x), tier=tier, threads=threads), x):
                same(got, total(x))
            for got in calls(pyasc.jit(lambda x: np.sum(x * x), tier=tier, threads=threads), x):
                same(got, total(x * x))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "fd")
def test_moments(dtype, tier):
    x = values(dtype, (5, 1030))
    for n in (100, 129, 512, 600, 1030):
        part = np.ascontiguousarray(x[:, :n])
        count = part.dtype.type(n)
        mean = totals(part) / count
        var = totals((part - mean[:, None]) * (part - mean[:, None])) / count
        for got in calls(pyasc.jit(lambda x: (x.mean(-1), np.var(x, axis=-1), x.std(axis=-1)), tier=tier), part):
            same(got[0], mean)
            same(got[1], var)
            same(got[2], np.sqrt(var))


def test_other_extents_get_a_plan_of_the_same_record():
    """The border of 128 elements is crossed in both directions."""
    x = values("f", 5000)
    for order in ([100, 129, 128, 600, 90, 512, 4096], [600, 100, 129, 5000, 128]):
        for tier in (0, 1):
            jitted = pyasc.jit(lambda x: (np.sum(x), np.sum(x * 2)), tier=tier)
            for n in order:
                for got in calls(jitted, x[:n]):
                    same(got[0], total(x[:n]))
                    same(got[1], total(x[:n] * 2))


@pytest.mark.parametrize("tier", [0, 1])
def test_layouts(tier):
    """Runs as they lie in memory; what is no run of neighbours is NumPy's."""
    base = values("d", (300, 400))

    def plain(x):
        return np.sum(x, axis=0), np.sum(x, axis=1), np.sum(x), np.sum(x * 2, axis=0)
    for x in (base, base.T, base[::2], base[:, ::2], base[:, ::-1], np.asfortranarray(base), base[:, 7:]):
        first, *others = [freeze(got) for got in calls(pyasc.jit(plain, tier=tier), x)]
        assert all(other == first for other in others)
        assert first == freeze(pyasc.jit(plain, tier=1 - tier)(x))
        np.testing.assert_allclose(pyasc.jit(plain)(x)[2], np.sum(x))
    for got in calls(pyasc.jit(plain, tier=tier), base):
        same(got[0], np.sum(base, axis=0))
    for got in calls(pyasc.jit(plain, tier=tier), base.T):
        same(got[0], totals(base))
        same(got[1], np.sum(base, axis=0))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_tiers_and_calls_agree(program):
    for shape in ((5000,), (100_003,), (3, 1000), (7, 9000), (4, 5, 300)):
        for dtype in ("f8", "f4"):
            x, y = values(dtype, shape), values(dtype, shape, 1)
            with np.errstate(all="ignore"):
                pictures = [freeze(got) for tier in (0, 1) for threads in (1, 2)
                            for got in calls(pyasc.jit(program, tier=tier, threads=threads), x, y)]
            assert all(picture == pictures[0] for picture in pictures), (shape, dtype)


@pytest.mark.parametrize("dtype", "fd")
def test_strict_is_numpys(dtype):
    for n in LENGTHS + [100_003]:
        x = values(dtype, (2, n))
        for tier in (0, 1):
            jitted = pyasc.jit(lambda x: (x.sum(axis=-1), np.sum(x), np.mean(x * 2, axis=-1)), tier=tier,
                               numerics="strict")
            for got in calls(jitted, x):
                assert freeze(got) == freeze(jitted.__wrapped__(x))


def test_what_is_no_plain_sum_is_numpys():
    x = values("f", 3000)
    where = x > 0

    def plain(x, where):
        return x[::2].sum(), np.sum(x.astype("f2")), np.sum(x + 1j), np.sum(x, initial=2), np.sum(x[None, where], axis=0)
    for got in calls(pyasc.jit(plain), x, where):
        assert freeze(got) == freeze(plain(x, where))


def test_what_becomes_a_plain_sum_is_as_that():
    x = values("f", 3000)
    where = x > 0

    def options(x, where):
        return np.sum(x, dtype="f8"), np.sum(x, where=where), np.sum(x, initial=2.0), np.add.reduce(x)

    def sums(x, where):
        return (np.sum(x.astype("f8")), np.sum(np.where(where, x, -0.0)), np.add(np.sum(x), 2.0), np.sum(x))
    for got, want in zip(calls(pyasc.jit(options), x, where), calls(pyasc.jit(sums), x, where)):
        assert freeze(got) == freeze(want)
    for got in calls(pyasc.jit(options, numerics="strict"), x, where):
        assert freeze(got) == freeze(options(x, where))


@pytest.mark.parametrize("dtype", "fd")
def test_as_accurate_as_numpy(dtype):
    """The error is within the bound of NumPy's tree: the depth of it, in ulps of the sum of magnitudes."""
    for n in (129, 513, 1000, 4097, 100_003, 1_000_000):
        for seed in range(3):
            x = np.abs(values(dtype, n, seed))
            exact = np.sum(x.astype(np.longdouble))
            depth = 16 + 3 + np.ceil(np.log2(n / 128)) + 1
            error = abs(np.longdouble(pyasc.jit(lambda x: np.sum(x))(x)) - exact)
            assert error <= depth * np.finfo(x.dtype).eps / 2 * exact


def test_special_values():
    for dtype in "fd":
        x = np.full(700, -0.0, dtype)
        for value in (-0.0, np.inf, -np.inf, np.nan, np.finfo(dtype).max):
            x[513] = value
            for tier in (0, 1):
                for got in calls(pyasc.jit(lambda x: (np.sum(x), np.sum(x * 1)), tier=tier), x):
                    same(got[0], total(x))
                    same(got[1], total(x))


@pytest.mark.skipif(sys.maxsize < 2**33, reason="room for large arrays")
def test_results_past_the_caches():
    """Row blocks of results that no cache has room for, at any alignment of rows."""
    script = """
import numpy as np, pyasc
def norm(x, gain):
    c = x - np.mean(x, axis=-1, keepdims=True)
    return c / np.sqrt(np.mean(c * c, axis=-1, keepdims=True) + 1e-5) * gain + 1
def share(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)
rng = np.random.default_rng(0)
for shape in ((4100, 1024), (9000, 509), (70, 70001)):
    x, gain = rng.standard_normal(shape, "f"), rng.standard_normal(shape[1:], "f")
    for f, args in ((norm, (x, gain)), (share, (x,))):
        results = []
        for tier in (0, 1):
            for threads in (1, 2):
                jitted = pyasc.jit(f, tier=tier, threads=threads)
                jitted(*args), jitted.wait()
                results.append(jitted(*args).tobytes())
        assert len(set(results)) == 1, (shape, f)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
