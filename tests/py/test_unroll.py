"""Reductions of few elements, which become chains of elementwise operations: NumPy's bits and layouts."""
import itertools

import numpy as np
import pytest
from same import freeze

import pyasc

REDUCTIONS = ["sum", "mean", "prod", "max", "min"]


def special(dtype, shape):
    rng = np.random.default_rng(5)
    x = rng.standard_normal(int(np.prod(shape)))
    if np.dtype(dtype).kind == "f":
        x[rng.integers(0, x.size, x.size // 3)] = rng.choice(
            [0.0, -0.0, -0.0, np.inf, -np.inf, np.nan, 1e-310, 1e30], x.size // 3)
    else:
        x *= 1e18
    with np.errstate(all="ignore"):
        return x.astype(dtype).reshape(shape)


def sign_free(name, x):
    """Which zero a max or min gives is open."""
    return x + x.dtype.type(0) if name in ("max", "min") and x.dtype.kind == "f" else x


def layouts(x):
    for axes in itertools.permutations(range(x.ndim)):
        yield x.transpose(axes)
    yield from (x[::-1], x[..., ::-1], x[:, ::2], np.asfortranarray(x), np.broadcast_to(x[:, :1], x.shape))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "dflihD")
@pytest.mark.parametrize("name", REDUCTIONS)
def test_of_an_array(name, dtype, tier):
    function = getattr(np, name)
    with np.errstate(all="ignore"):
        for shape in ((5, 3), (1, 2, 40), (3, 4, 5), (7, 8, 3), (1, 1), (2, 600)):
            for x in layouts(special(dtype, shape)):
                for axis in range(-1, x.ndim):
                    for keepdims in (False, True):
                        if name == "mean" and dtype == "l" and x.shape[axis] > 128:
                            continue  # cast to float64, and then our own sum: test_whole_means
                        jitted = pyasc.jit(lambda x: function(x, axis=axis, keepdims=keepdims), tier=tier)
                        expected = function(x, axis=axis, keepdims=keepdims)
                        for _ in range(2):
                            got = jitted(x)
                            assert freeze(sign_free(name, got)) == freeze(sign_free(name, expected)), (
                                shape, x.strides, axis)
                        assert not jitted._facts()["plain"], jitted.explain()


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "dflh")
@pytest.mark.parametrize("name", ["max", "min"])
def test_on_two_axes(name, dtype, tier):
    function = getattr(np, name)
    for shape in ((1, 2, 40), (3, 4, 5), (7, 2, 3), (1, 1, 2)):
        for x in layouts(special(dtype, shape)):
            for axes in itertools.permutations(range(-1, 2), 2):
                jitted = pyasc.jit(lambda x: function(x, axis=axes), tier=tier)
                expected = function(x, axis=axes)
                for _ in range(2):
                    got = jitted(x)
                    assert freeze(sign_free(name, got)) == freeze(sign_free(name, expected)), (
                        shape, x.strides, axes)


def pooled(x, name, axes, result):
    function = getattr(np, name)
    for i in range(x.shape[1] // 2):
        for j in range(x.shape[2] // 2):
            result[:, i, j, :] = function(x[:, 2 * i:2 * i + 2, 2 * j:2 * j + 2, :], axis=axes)
    return result


@pytest.mark.parametrize("dtype", "dfl")
@pytest.mark.parametrize("name", ["max", "min", "sum", "mean", "prod"])
def test_windows_that_move(name, dtype):
    """Of a loop's turns: the window is another one in each."""
    x = special(dtype, (3, 24, 24, 5))
    function = getattr(np, name)

    def rows(x, keepdims):
        result = np.zeros((9,) + function(x[:, 0:3], axis=1, keepdims=keepdims).shape, x.dtype)
        for i in range(9):
            result[i] = function(x[:, i:i + 3], axis=1, keepdims=keepdims)
        return result

    with np.errstate(all="ignore"):
        for y in (x, np.asfortranarray(x), x[..., ::2], x[::-1]):
            for plain, args in ((rows, (y, False)), (rows, (y, True)), (pooled, (y, name, (1, 2), None))):
                def fresh(args=args):
                    return args if args[-1] is not None else (*args[:3], np.zeros((3, 12, 12, y.shape[3]), dtype))
                jitted = pyasc.jit(plain, tier=1, numerics="strict")
                expected = plain(*fresh())
                for _ in range(2):
                    assert freeze(sign_free(name, jitted(*fresh()))) == freeze(sign_free(name, expected))
            if name in ("max", "min"):
                assert not any(name in reason for reason in jitted.report()["reasons"])


def fused(x, y):
    d = x[:, None] - y[None, :]
    square = (d * d).sum(-1)
    return np.sqrt(square), d.max(axis=-1, keepdims=True) * d, np.mean(abs(d), axis=1)


def both_used(x, y):
    d = (x + y) * 2
    return d, d.sum(axis=0), d.sum(axis=1)


def of_windows(x, y):
    d = x[1:, ::-1] * y[:-1]
    x[0] = 7
    return d.sum(axis=-1) + x[:-1].sum(1), np.min(y[::-1], 0)


def vector_operand(x, y):
    d = (x - y[0]) / 3
    return d.sum(-1), (x > y[0]).any(axis=-1), np.all(x > y[:1], axis=1)


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "dfl")
@pytest.mark.parametrize("function", [fused, both_used, of_windows, vector_operand])
def test_with_producers_and_consumers(function, dtype, tier):
    rng = np.random.default_rng(6)
    with np.errstate(all="ignore"):
        for shape in ((4, 3), (40, 3), (3, 50), (7, 7), (1, 1), (300, 2), (9, 8)):
            jitted = pyasc.jit(function, tier=tier)
            for _ in range(3):
                x, y = ((rng.standard_normal(shape) * 9).astype(dtype) for _ in range(2))
                expected = freeze(function(x.copy(), y.copy()))
                assert freeze(jitted(x.copy(), y.copy())) == expected, shape


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", "FD")
def test_bits_that_depend_on_strides(dtype, tier):
    """Complex products and elementary functions have other bits in other layouts."""
    def plain(x, y, p):
        z = (x * y[::-1, ::-1]).real
        return z.sum(axis=-1), np.abs(x[:, ::-1]).max(0), np.exp(z[::-1, ::-1]).sum(-1), (z ** p).sum(-1), (
            np.clip(z, p, p + 1).sum(axis=-1))
    jitted = pyasc.jit(plain, tier=tier, numerics="strict")
    rng = np.random.default_rng(8)
    for shape in ((40, 3), (3, 40), (5, 5)):
        part = np.float32 if dtype == "F" else np.float64
        x, y = ((rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype) for _ in range(2))
        p = rng.integers(0, 4, shape[1]).astype(part)
        with np.errstate(all="ignore"):
            expected = freeze(plain(x, y, p))
            for _ in range(2):
                assert freeze(jitted(x, y, p)) == expected, shape


@pytest.mark.parametrize("tier", [0, 1])
def test_in_loops(tier):
    def walk(p, v):
        for _ in range(30):
            d = p[:, None] - p
            r = (d * d).sum(axis=-1) + 0.1
            v -= (d / r[..., None]).sum(axis=1) * 1e-3
            p += v
            v[:, 0] = v.mean(axis=1)
        return p
    jitted = pyasc.jit(walk, tier=tier)
    for _ in range(3):
        rng = np.random.default_rng(7)
        p, v = rng.random((6, 3)), rng.random((6, 3))
        assert freeze(jitted(p.copy(), v.copy())) == freeze(walk(p.copy(), v.copy()))


def test_views_share_and_results_do_not():
    def alter(x):
        s = x.sum(axis=1)
        x[:, 0] = -1
        t = x.sum(axis=1)
        s[0] = 100
        return s, t, x.sum(axis=0)
    jitted = pyasc.jit(alter)
    for _ in range(3):
        x = np.arange(12.0).reshape(4, 3)
        assert freeze(jitted(x.copy())) == freeze(alter(x.copy()))


def test_errors_are_numpys():
    for bad in (lambda x: np.sum(x, axis=2), lambda x: x.sum(axis=-3), lambda x: np.max(x, 1.0)):
        jitted = pyasc.jit(bad)
        x = np.ones((4, 3))
        for _ in range(2):
            with pytest.raises(Exception) as expected:
                bad(x)
            with pytest.raises(expected.type, match="axis|integer"):
                jitted(x)


def test_nothing_is_in_between():
    jitted = pyasc.jit(lambda p: np.sum((p[:, None] - p[None, :]) ** 2, axis=-1), tier=1)
    for _ in range(2):
        jitted(np.ones((20, 3)))
    assert "call" not in jitted.explain().split("path 0")[1]
