"""Reductions that take their producers along, in both tiers, against NumPy's bits: sums in strict mode, others
in any (test_wide_sums.py has the sums of the other modes)."""
import numpy as np
import pytest
from same import freeze

import pyasc

REDUCTIONS = ["sum", "prod", "max", "min", "mean", "var", "std"]
SHAPES = [(8,), (9,), (127,), (128,), (129,), (1000,), (8200,), (16385,), (100_003,), (5, 9), (3, 128), (300, 8),
          (300, 11), (40, 300), (9, 2), (2, 2100), (200, 1), (1, 200), (9, 8, 10), (3, 40, 5), (2, 3, 700),
          (4, 1, 30), (2, 3, 4, 9)]


def values(dtype, shape, seed=0):
    rng = np.random.default_rng(seed)
    d, size = np.dtype(dtype), int(np.prod(shape))
    if d.kind == "b":
        return (rng.integers(0, 3, size) > 0).reshape(shape)
    if d.kind in "iu":
        return rng.integers(-(2**62), 2**62, size).astype(d).reshape(shape)
    x = rng.standard_normal(size) * 10.0 ** rng.integers(-3, 4, size)
    if seed % 2:
        x[rng.integers(0, size, size // 50)] = np.nan
    if seed % 3 == 2:
        x[rng.integers(0, size, size // 50)] = np.inf
    return x.astype(d).reshape(shape)


def axes_of(ndim):
    yield from [None, -1, 0]
    if ndim > 1:
        yield from [(0, 1), 1]
    if ndim > 2:
        yield from [(-2, -1), (0, 2), (0, 1, 2)]


def calls(shape):
    for axis in axes_of(len(shape)):
        for keepdims in (False, True):
            yield {"axis": axis, "keepdims": keepdims}


def zero_free(name, x):
    """Which zero a max or min gives is open."""
    x = np.asarray(x)
    return x + x.dtype.type(0) if name in ("max", "min") and x.dtype.kind == "f" else x


def traced(jitted):
    """The function has plans and did not run plain."""
    facts = jitted._facts()
    assert facts["entries"] and not facts["plain"], jitted.explain()


def check(jitted, plain, name, *args):
    with np.errstate(all="ignore"):
        expected = plain(*args)
        for _ in range(2):
            got = jitted(*args)
            assert type(got) is type(expected)
            assert freeze(zero_free(name, got)) == freeze(zero_free(name, expected))
    traced(jitted)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "fdlihBF")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_producer(name, dtype, tier):
    reduce = getattr(np, name)
    for seed, shape in enumerate(SHAPES):
        x, y = values(dtype, shape, seed), values(dtype, shape, seed + 100)
        for how in calls(shape):
            def plain(x, y):
                return reduce(x * y - x, **how)
            check(pyasc.jit(plain, tier=tier, numerics="strict"), plain, name, x, y)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["any", "all"])
def test_truth(name, tier):
    reduce = getattr(np, name)
    for shape in SHAPES:
        x = values("l", shape)
        for how in calls(shape):
            for bound in (-(2**62), 0, 2**61, 2**62):
                def plain(x):
                    return reduce(x < bound, **how)
                check(pyasc.jit(plain, tier=tier), plain, name, x)


def broadcast(x, row, column, one):
    return (x - row) * one, (column * x) + one, x * row + column


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "fdl")
@pytest.mark.parametrize("name", ["sum", "max"])
def test_broadcast_operands(name, dtype, tier):
    reduce = getattr(np, name)
    for shape in ((5, 9), (40, 300), (300, 11), (1, 200), (9, 2), (700, 3000)):
        x, row = values(dtype, shape, 2), values(dtype, shape[1:], 4)
        column, one = values(dtype, (shape[0], 1), 6), values(dtype, (), 8)
        for axis in (None, 0, 1):
            def plain(x, row, column, one):
                return [reduce(v, axis=axis) for v in broadcast(x, row, column, one)]
            jitted = pyasc.jit(plain, tier=tier, numerics="strict")
            with np.errstate(all="ignore"):
                expected = [freeze(zero_free(name, v)) for v in plain(x, row, column, one)]
                for _ in range(2):
                    assert [freeze(zero_free(name, v)) for v in jitted(x, row, column, one)] == expected
            traced(jitted)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["sum", "min"])
def test_layouts_of_operands(name, tier):
    reduce = getattr(np, name)
    base = values("d", (60, 80), 2)
    for x in (base, base.T, base[::2, ::2], base[::-1], base[:, ::-1], base[:, :40], np.asfortranarray(base),
              base[:, 3], base[3], np.broadcast_to(base[:1], (30, 80)), np.broadcast_to(base[:, :1], (60, 33))):
        for axis in (None, 0, -1):
            def plain(x):
                return reduce(x * x + 1, axis=axis), reduce(x, axis=axis)
            jitted = pyasc.jit(plain, tier=tier, numerics="strict")
            expected = freeze(plain(x))
            for _ in range(2):
                assert freeze(jitted(x)) == expected, (x.shape, x.strides, axis)
            traced(jitted)


def test_negative_zeros():
    x = np.full((16, 300), -0.0)
    for tier in (0, 1):
        for axis in (None, 0, 1):
            def plain(x):
                return np.sum(x * 1.0, axis=axis), np.sum(x[:3] * 1.0, axis=0)
            assert freeze(pyasc.jit(plain, tier=tier)(x)) == freeze(plain(x))
            jitted = pyasc.jit(plain, tier=tier)
            jitted(x)
            assert freeze(jitted(x)) == freeze(plain(x))


@pytest.mark.parametrize("dtype", "fd")
def test_every_length(dtype):
    """Leaves of NumPy's tree begin and end everywhere."""
    def plain(x):
        return np.sum(x * x), np.max(-x)
    jitted = pyasc.jit(plain, tier=1, numerics="strict")
    zero = pyasc.jit(plain, tier=0, numerics="strict")
    x = values(dtype, 3000, 2)
    for n in [*range(1, 300), *range(1000, 1030), *range(2040, 2060), 2999]:
        expected = freeze(plain(x[:n]))
        for _ in range(2):
            assert freeze(jitted(x[:n])) == freeze(zero(x[:n])) == expected, n


def test_kernels_fold():
    jitted = pyasc.jit(lambda x: (np.sum(x * x, axis=-1), np.max(np.abs(x), axis=0)), tier=1)
    for _ in range(2):
        jitted(np.ones((30, 40)))
    text = jitted.explain()
    assert text.count("compiled") == 2 and "tier 0" not in text and "call" not in text.split("path 0")[1]


@pytest.mark.parametrize("tier", [0, 1])
def test_no_elements(tier):
    for shape in ((0,), (0, 3), (3, 0), (0, 0), (4, 0, 9), (0, 20)):
        x = np.ones(shape)
        for axis in (None, *range(len(shape))):
            def plain(x):
                return np.sum(x * 2, axis=axis), np.prod(x, axis=axis), np.any(x > 0, axis=axis), x + x
            jitted = pyasc.jit(plain, tier=tier)
            for _ in range(2):
                assert freeze(jitted(x)) == freeze(plain(x))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("name", ["sum", "max", "var"])
def test_orders_of_axes(name, tier):
    """Packed arrays whose axes lie in another order: NumPy's additions follow memory."""
    reduce = getattr(np, name)
    base = values("d", (9, 10, 11), 2)
    for order in ((0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 2, 1), (2, 0, 1)):
        x = base.transpose(order)
        for axis in (None, 0, 1, 2, (0, 1), (1, 2), (0, 2)):
            for keepdims in (False, True):
                def plain(x):
                    return reduce(x * 2 - 1, axis=axis, keepdims=keepdims), reduce(x, axis=axis), x.T - 1
                jitted = pyasc.jit(plain, tier=tier, numerics="strict")
                with np.errstate(all="ignore"):
                    expected = freeze([zero_free(name, v) for v in plain(x)])
                    for _ in range(2):
                        assert freeze([zero_free(name, v) for v in jitted(x)]) == expected, (order, axis)


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    """Chains of elementwise operations and reductions over views in random layouts."""
    rng = np.random.default_rng(seed)
    ndim = int(rng.integers(1, 4))
    # From 256 KiB on NumPy's operators keep the layout of a temporary operand.
    shape = [int(rng.choice([1, 2, 3, 5, 8, 9, 30] + [131] * (ndim < 3))) for _ in range(ndim)]
    args = []
    for k in range(3):
        base = values("d" if seed % 2 else rng.choice(list("fdl")), [2 * n + 1 for n in shape], 2 * k)
        cut = tuple(slice(None, n) if rng.random() < 0.6 else slice(1, 2 * n + 1, 2) for n in shape)
        view = base[cut] if rng.random() < 0.5 else np.ascontiguousarray(base[cut])
        if rng.random() < 0.3:
            view = np.asfortranarray(view)
        args.append(view[tuple(slice(0, 1) if rng.random() < 0.15 else slice(None) for _ in shape)])
    names = rng.choice(["sum", "max", "min", "mean"], 4).tolist()
    axes = [None if rng.random() < 0.3 else int(rng.integers(0, ndim)) for _ in range(4)]
    steps = rng.integers(0, 4, 4).tolist()

    def program(x, y, z):
        v = x * 0.5 + y
        out = []
        for k in range(4):
            if names[k] == "sum":
                r, t = np.sum(v, axis=axes[k], keepdims=True), v.sum(axis=axes[k])
            elif names[k] == "max":
                r, t = np.max(v, axis=axes[k], keepdims=True), v.max(axis=axes[k])
            elif names[k] == "min":
                r, t = np.min(v, axis=axes[k], keepdims=True), v.min(axis=axes[k])
            else:
                r, t = np.mean(v, axis=axes[k], keepdims=True), v.mean(axis=axes[k])
            if steps[k] == 0:
                v = v - r
            elif steps[k] == 1:
                v = v * 0.5 + z
            elif steps[k] == 2:
                v = np.where(v > r, z, v)
            else:
                v = abs(v) + r
            out.append(t + 0.0)
        return v + 0.0, out
    with np.errstate(all="ignore"):
        expected = freeze(program(*args))
        for tier in (0, 1):
            jitted = pyasc.jit(program, tier=tier, numerics="strict")
            for _ in range(3):
                assert freeze(jitted(*args)) == expected, tier
            traced(jitted)


@pytest.mark.parametrize("tier", [0, 1])
def test_of_other_byte_order_and_alignment(tier):
    base = np.random.default_rng(9).standard_normal((40, 3)) * 100
    room = np.zeros(base.nbytes + 1, "u1")[1:].view("f8")[:base.size].reshape(base.shape)
    room[...] = base
    for x in (base.astype(">f8"), room, base.astype(">f4"), base.astype(">i8")):
        for axis in (None, 0, 1):
            def plain(x):
                return np.sum(x, axis=axis), np.max(x, axis=axis), x.mean(axis), (x * 2).sum(axis), np.var(x, axis)
            jitted = pyasc.jit(plain, tier=tier)
            expected = freeze(plain(x))
            for _ in range(3):
                assert freeze(jitted(x)) == expected, (x.dtype, axis)
