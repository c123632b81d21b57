"""Plans for other extents without a trace: what may be shared between shapes, and what may not."""

import random
import threading
from math import exp

import numpy as np
import pytest

import pyasc
from same import freeze

BIAS = np.arange(4.0)


def arrays(shape, dtype="f8", seed=0):
    rng = np.random.default_rng(seed)
    return (rng.integers(-5, 9, shape) / 2).astype(dtype), (rng.integers(1, 9, shape) / 4).astype(dtype)


def run(function, calls, traces=None, **options):
    jitted = pyasc.jit(function, numerics="strict", **options)
    with np.errstate(all="ignore"):
        for args in calls:
            try:
                expected = freeze(function(*args))
            except Exception as error:
                with pytest.raises(type(error)) as caught:
                    jitted(*args)
                assert str(caught.value) == str(error)
                continue
            assert freeze(jitted(*args)) == expected, [getattr(a, "shape", a) for a in args]
    if traces is not None:
        assert jitted.cache_info().traces == traces
    return jitted


def chain(x, y):
    return (x * 2 + y) * (x - y) / (y + 1), np.where(x > y, x, -y)


LENGTHS = [2, 3, 5, 7, 8, 16, 31, 64, 100, 1000, 4097, 20000]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "c16", "f2"])
def test_lengths(dtype, tier):
    run(chain, [arrays(n, dtype) for n in LENGTHS + LENGTHS], 1, tier=tier)


def test_one_kernel_for_all_lengths():
    jitted = run(chain, [arrays(n) for n in LENGTHS], 1)
    jitted.wait()
    report = jitted.report()
    assert not report["fallback"], report


def test_ones_and_zeros_are_shapes_of_their_own():
    run(chain, [arrays(n) for n in (5, 1, 0, 6, 1, 0, 7)])
    run(chain, [arrays((3, n)) for n in (5, 1, 0, 6, 1, 0, 7)])


def test_broadcasting():
    def f(x, y):
        return x + y * 2

    calls = [(np.ones((n, m)) * n, np.arange(float(m))) for n, m in ((3, 4), (5, 6), (4, 4), (7, 7), (2, 9), (9, 2))]
    calls += [(np.ones((n, 1)), np.arange(float(m))) for n, m in ((3, 4), (5, 6), (4, 4))]
    run(f, calls, None)
    run(f, [(np.ones(3), np.ones(3)), (np.ones(4), np.ones(5)), (np.ones(4), np.ones(4)), (np.ones((2, 4)), np.ones(4))])


def test_captured_arrays_keep_their_shape():
    run(lambda x: x * BIAS + 1, [(np.ones((n, 4)) * n,) for n in (2, 3, 5, 9)] + [(np.ones((3, 5)),)])


def test_numbers_and_reductions():
    def f(x, y, a):
        total = (x * y).sum()
        return x * total + a, x.max() - y.min(), (x > y).any(), np.linalg.norm(x)

    run(f, [(*arrays(n, seed=n), n / 3) for n in LENGTHS], 1)
    run(f, [(*arrays((n, n + 3), seed=n), n / 3) for n in LENGTHS[:8]], 1)


def test_branches_on_values():
    def f(x, y):
        if x.sum() > y.sum():
            return x - y
        return x + y

    calls = [(np.full(n, 1.0 if k % 2 else -1.0), np.zeros(n)) for n in LENGTHS for k in range(2)]
    run(f, calls, 2)


@pytest.mark.parametrize("function", [
    lambda x, y: x / x.shape[0], lambda x, y: x * len(y), lambda x, y: x - x.mean(), lambda x, y: (x + y).var(),
    lambda x, y: x.size + y, lambda x, y: x * np.size(y), lambda x, y: x + np.arange(x.size), lambda x, y: x[1:] - y[:-1],
    lambda x, y: [v * 2 for v in x][:2], lambda x, y: np.cumsum(x) + y, lambda x, y: np.zeros_like(x) + y,
    lambda x, y: x.reshape(-1, 1) * y, lambda x, y: np.sort(x) + y, lambda x, y: x[x > 0], lambda x, y: x[0] + y,
    lambda x, y: (x.T + y.T).T, lambda x, y: x.strides[0] + y, lambda x, y: np.shape(x) + (1,), lambda x, y: x @ y,
    lambda x, y: np.concatenate([x, y]) * 2, lambda x, y: x.nbytes * y, lambda x, y: x.argmax() + y, lambda x, y: np.stack([x, y]),
    lambda x, y: x.flat[0] + y, lambda x, y: sum(x), lambda x, y: (min(x), max(y)), lambda x, y: np.full(3, x.sum()),
], ids=range(27))
def test_what_reads_an_extent(function):
    run(function, [arrays(n, seed=n) for n in LENGTHS[:9] * 2])
    run(function, [arrays((n, 4), seed=n) for n in LENGTHS[:7]])


def test_written_arguments():
    def f(x, y):
        x += y
        x[0] = 7
        return x * 2

    jitted = pyasc.jit(f)
    for n in LENGTHS:
        x, y = arrays(n)
        a, b = x.copy(), y.copy()
        np.testing.assert_array_equal(jitted(x, y), f(a, b))
        np.testing.assert_array_equal(x, a)


def test_effects():
    log, rng = [], np.random.default_rng(1)

    def f(x, y):
        log.append((x * y).sum())
        z = x * rng.random() + y
        log.append(z)
        return z

    jitted = pyasc.jit(f)
    for n in LENGTHS:
        z = jitted(*arrays(n))
        assert log[-1] is z and len(z) == n
    values, rng = log[:], np.random.default_rng(1)
    log.clear()
    for n in LENGTHS:
        f(*arrays(n))
    assert freeze(values) == freeze(log)


def test_layouts():
    def f(x, y):
        return x * 2 + y

    calls = [arrays(n) for n in (5, 6)] + [tuple(a[::2] for a in arrays(n)) for n in (20, 30)]
    calls += [tuple(a.T for a in arrays((n, n + 2))) for n in (3, 4, 5)] + [arrays((n, n + 2)) for n in (3, 4, 5)]
    calls += [tuple(a[::-1] for a in arrays(n)) for n in (20, 30)]
    run(f, calls)


def test_many_lengths():
    jitted = pyasc.jit(lambda x: x * 3 + 1)
    for n in range(2, 500):
        np.testing.assert_array_equal(jitted(np.arange(float(n))), np.arange(float(n)) * 3 + 1)
    assert jitted.cache_info().traces == 1 and jitted.cache_info().currsize <= 64


@pytest.mark.parametrize("seed", range(60))
def test_random_expressions(seed):
    rnd = random.Random(seed)

    def term(depth):
        kind = rnd.randrange(7) if depth else rnd.randrange(3)
        if kind < 3:
            return rnd.choice(["x", "y", "v", "1.5", "2", "x", "y"])
        if kind < 5:
            return f"({term(depth - 1)} {rnd.choice('+-*/')} {term(depth - 1)})"
        if kind == 5:
            return f"{rnd.choice(['np.sqrt', 'abs', 'np.floor', 'np.exp', '-'])}({term(depth - 1)})"
        return f"np.{rnd.choice(['sum', 'max', 'min', 'any'])}({term(depth - 1)})"

    scope = {"np": np}
    text = f"lambda x, y, v: ({term(4)}, {term(3)} + x)"
    function = eval(text, scope)
    shapes = [(rnd.randint(1, 40), rnd.randint(1, 9)) for _ in range(8)] * 2
    with np.errstate(all="ignore"):
        jitted = pyasc.jit(function, numerics="strict")
        for n, m in shapes:
            x, y = arrays((n, m), seed=n)
            v = np.arange(float(m))
            assert freeze(jitted(x, y, v)) == freeze(function(x, y, v)), text


def sums(x, y, a):
    total = (x * y).sum()
    return x * total + a, x.max() - y.min(), (x > y).any(), np.sqrt(x.dot(y) if x.ndim == 1 else total), (x - y).prod()


def joined_by_numbers(x, y):
    a = x.sum()
    b = ((x - a) ** 2).sum()
    return np.exp(-abs(y)) * a + b


def of_two_lengths(x, y):
    return np.sin(x).sum() + y, np.maximum(x, 0.5) * y.max()


def moments(x, y):
    return (x - x.mean()) / (x.std() + 1), (x * y).mean() - y.var(), np.mean(y + 1)


#: More than there are signatures kept, below and above all that plans depend on.
MANY = [*range(2, 60), *range(120, 140), 1000, 4096, 4097, 9999, 32767, 32769, 40000, 70000, 200000]


@pytest.mark.parametrize("numerics", ["strict", "numpy"])
@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2"])
def test_more_lengths_than_signatures(dtype, tier, numerics):
    """Plans are given other extents as they stand: results are those of plans made for them."""
    rnd = random.Random(3)
    lengths = MANY * 3
    rnd.shuffle(lengths)
    for function in (chain, sums, joined_by_numbers, moments):
        kept = pyasc.jit(function, numerics=numerics, tier=tier)
        with np.errstate(all="ignore"):
            for k, n in enumerate(lengths):
                x, y = arrays(n, dtype, seed=n % 7)
                args = (x, y, n / 3) if function is sums else (x, y)
                fresh = pyasc.jit(function, numerics=numerics, tier=tier) if k % 9 == 8 else None
                if numerics == "strict":
                    assert freeze(kept(*args)) == freeze(function(*args)), (function.__name__, n)
                elif fresh:
                    assert freeze(kept(*args)) == freeze(fresh(*args)), (function.__name__, n)
                else:
                    kept(*args)


def test_more_shapes_than_signatures():
    rnd = random.Random(4)
    shapes = [(rnd.randint(1, 12), rnd.randint(1, 12)) for _ in range(400)]
    run(chain, [arrays(shape, seed=shape[0]) for shape in shapes])
    run(sums, [(*arrays(shape, seed=shape[0]), 2.5) for shape in shapes])
    run(of_two_lengths, [(arrays(a)[0], arrays(b)[1]) for a, b in shapes])
    run(lambda x: x * BIAS[:1] + BIAS.sum(), [(np.ones(n) * n,) for n in range(2, 150)])
    run(lambda x: (x + 1, BIAS * x.sum()), [(np.ones(n) * n,) for n in range(2, 150)])


@pytest.mark.parametrize("dtype", ["f8", "f4", "c16", "i4", "?"])
@pytest.mark.parametrize("tier", [0, 1])
def test_means_of_many_lengths(dtype, tier):
    """By what a sum is divided is the plan's own number, no constant of kernels."""
    jitted = run(moments if dtype != "?" else lambda x, y: (x.mean(), x.std() + y.mean()),
                 [arrays(n, dtype, seed=n % 5) for n in MANY * 2], None if dtype == "c16" else 1, tier=tier)
    jitted.wait()
    assert tier == 0 or dtype == "c16" or not jitted.report()["fallback"], jitted.report()


def of_axes(x, y):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1), y.mean(axis=1, keepdims=True) * x, x.var(axis=(0, 1)), y.var(axis=1)


def test_means_of_axes():
    rnd = random.Random(6)
    shapes = [(n, n + 1 + rnd.randint(0, 30)) for n in rnd.sample(range(2, 300), 100)]
    run(of_axes, [arrays(shape, "f8", seed=shape[0]) for shape in shapes], 1)
    run(of_axes, [arrays((rnd.randint(1, 6), rnd.randint(1, 6)), "f4", seed=k) for k in range(200)])


def test_means_with_arrays_of_the_same_extents():
    """The array that was captured has the extent of an argument once, and others have it never again."""
    run(lambda x: (x * 2).mean() + BIAS.mean() * x, [(np.arange(float(n)),) for n in (4, 5, 7, 4, 9)])
    run(lambda x: (x[:, :4] * BIAS).mean() + x.mean(axis=1), [(np.ones((n, m)) * n,) for n in (2, 4, 7) for m in (4, 5)])
    run(lambda x, y: np.outer(x, y).mean() + (x[:, None] + y).var(), [(np.arange(float(n)), np.arange(float(m)))
                                                                      for n in (2, 4, 7, 9) for m in (2, 4, 5, 9)])


def test_means_that_divide_by_nothing():
    """A ddof that leaves no element: NumPy warns, and gives inf or NaN."""
    run(lambda x: x.var(ddof=3), [(np.arange(float(n)),) for n in (5, 6, 4, 3, 2, 9, 3, 4)])
    run(lambda x: x.var(ddof=3), [(np.arange(float(n)),) for n in [*range(4, 120), 3, 2, 4]])


def test_what_is_told_of_plans_of_other_extents():
    jitted = pyasc.jit(chain)
    for n in range(2, 120):
        jitted(*arrays(n))
    x, y = arrays(119)
    assert "f64[119]" in jitted.lower(x, y)["ir"] and "119 elements" in jitted.explain(x, y)
    assert freeze(jitted(*arrays(77))) == freeze(chain(*arrays(77)))


def test_more_lengths_than_signatures_in_threads():
    jitted = pyasc.jit(sums, numerics="strict")
    bad = []

    def work(seed):
        rnd = random.Random(seed)
        for _ in range(300):
            n = rnd.choice(MANY)
            args = (*arrays(n, seed=seed), float(seed))
            if freeze(jitted(*args)) != freeze(sums(*args)):
                bad.append(n)

    with np.errstate(all="ignore"):
        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not bad


class Held:
    def __init__(self, number):
        self.number = number


def of_few_reads(held):
    return held.number + 1.0


def of_many_reads(held):
    total = 0.0
    for k in range(2000):
        total += len(str(held.number)) * k
    return total


def test_long_traces_that_are_no_use_end_sooner():
    traces = {}
    for function in (of_few_reads, of_many_reads):
        jitted = pyasc.jit(function)
        for k in range(40):
            assert jitted(Held(float(k))) == function(Held(float(k)))
        traces[function.__name__] = jitted.cache_info().traces
        held = Held(3.0)
        for _ in range(3):
            assert jitted(held) == function(held)
    assert traces["of_few_reads"] == 13 and traces["of_many_reads"] < 15, traces


def squared_and_more(x):
    return x * x + 1.0


def times_growth(x, y):
    return squared_and_more(x) * squared_and_more(y) + exp(x)


def test_calls_that_always_raise_are_not_traced_for_ever():
    jitted = pyasc.jit(times_growth)
    for _ in range(40):
        with pytest.raises(OverflowError, match="math range error"):
            jitted(1e4, 2.0)
        jitted.wait()
    assert jitted.cache_info().traces <= 25
    for _ in range(3):
        assert jitted(0.5, 2.0) == pytest.approx(times_growth(0.5, 2.0), rel=1e-15)


def test_what_is_told_where_new_kinds_run_plain():
    def halves(x):
        total = 0.0
        for v in (x.mean(), x.std()):
            total += v
        return x[:{len(x): len(x) // 2}[len(x)]] * total  # a key that the trace asks for

    jitted = pyasc.jit(halves)
    for n in range(10, 60):
        jitted(np.ones(n))
    assert jitted.cache_info().traces <= 25
    assert jitted.report()["fallback"] and any("other shapes" in reason for reason in jitted.report()["reasons"])
    assert "other shapes" in jitted.explain()
