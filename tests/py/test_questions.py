"""Questions about types and shapes, answered while a function is traced."""
import tracemalloc

import numpy as np
import pytest

import pyasc
from moves import check, made
from same import freeze, outcome


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i8", "u1", "?", "c16"])
def test_types(dtype):
    def kinds(x):
        return (np.result_type(x, 1.0), np.result_type(x, np.float32), np.promote_types(x.dtype, "f4"), np.can_cast(x.dtype, "f4"),
                np.issubdtype(x.dtype, np.floating), np.iscomplexobj(x), np.isrealobj(x), np.isscalar(x), np.isscalar(x[0, 0]),
                np.result_type(x[0, 0], 3), np.ndim(x), np.shape(x), np.size(x), np.size(x, 0), x.sum().dtype, x.max().shape)

    check(kinds, (made(dtype),), (made(dtype, (2, 3)),))


@pytest.mark.parametrize("dtype", ["f8", "f4"])
def test_limits(dtype):
    def scaled(x):
        info = np.finfo(x.dtype)
        return x * info.eps, np.where(x > 0, info.max, info.tiny), info.bits, info.dtype, np.iinfo("i4").max * x

    check(scaled, (made(dtype),))


def test_broadcast():
    def shapes(x, y):
        b = np.broadcast(x, y)
        return b.shape, b.ndim, b.size, np.zeros(b.shape) + x, np.broadcast_shapes(x.shape, (5, 1))

    def pairs(x, y):
        return [float(a * b) for a, b in np.broadcast(x, y)]

    check(shapes, (made("f8", (5, 1)), made("f8", (4,))), (made("f8", (5, 3)), made("f8", (5, 1))))
    check(pairs, (made("f8", (2, 1)), made("f8", (3,))), (made("f8", (2, 1), 1), made("f8", (3,), 2)), compiled=False)


def test_answers_are_of_the_arguments_at_hand():
    jitted = pyasc.jit(lambda x: (np.ndim(x), np.result_type(x, np.int16), np.shape(x)))
    for x in (np.ones(3), np.ones((2, 2), "f4"), np.ones(4), np.float32(2)):
        for _ in range(3):
            assert jitted(x) == (np.ndim(x), np.result_type(x, np.int16), np.shape(x))


def test_lists_of_elements():
    def f(x):
        y = (x * 2).tolist(), x.T.tolist(), x[::-1, 1:].tolist(), x.tobytes(), x.T.tobytes()
        return y, y[1][0][0] == 0, [y[0][1], y[0][1]]

    for dtype in ("i8", "f8", "?", "c16", "f4", ">i4", "m8[s]"):
        x = np.arange(40).reshape(8, 5).astype(dtype)
        if dtype in ("f8", "f4"):
            x[0, :3] = np.nan, -0.0, np.inf
        g = pyasc.jit((lambda x: (x.tolist(), x.tobytes())) if dtype == "m8[s]" else f)
        for turn in range(6):
            got = g(x)
            assert freeze(got) == freeze(g.__wrapped__(x))
            got[0][0][0] = None  # nobody else's
            if turn == 3:
                x[0, 0] = x[1, 1]
            if turn == 4 and dtype == "f8":
                x[0, 1] = 0.0


def test_lists_are_not_made_to_be_compared():
    f = pyasc.jit(lambda x: x.tolist())
    x = np.arange(10**4, 3 * 10**4)
    for _ in range(3):
        f(x)
    tracemalloc.start()
    try:
        assert f(x) == x.tolist()
        f(x)
        tracemalloc.reset_peak()
        f(x)
        assert tracemalloc.get_traced_memory()[1] < 300_000  # the list itself
    finally:
        tracemalloc.stop()


def test_flags_are_those_of_the_argument_and_keep_none():
    import gc
    import weakref

    def f(x):
        return x.flags.c_contiguous, x.flags.writeable, x.T.flags.f_contiguous, (x * 2).flags.c_contiguous

    def g(x):
        return x.flags.owndata, x.sum()

    for function in (f, g):
        jitted, seen = pyasc.jit(function), []
        for turn in range(10):
            x = (np.ones((10, 3)), np.ones((20, 6))[::2, ::2], np.ones((20, 3))[:10], np.asfortranarray(np.ones((10, 3))))[turn % 4]
            assert jitted(x) == function(x), turn
            seen.append(weakref.ref(x))
            del x
        gc.collect()
        assert not any(r() is not None for r in seen)


def test_builtin_extremes_of_arrays_are_pythons():
    def f(x):
        return max(x), min(x), max(x * 2) - min(x), max(x[0], 0.5), max([x[0], x[1]])

    jitted = pyasc.jit(f, numerics="strict")
    rng = np.random.default_rng(0)
    for n in (5, 6, 5, 100, 0, 5, 7):
        for turn in range(4):
            x = rng.random(n)
            if turn == 2 and n > 3:
                x[turn] = np.nan
            if turn == 3 and n:
                x[0] = np.nan
            assert outcome(jitted, x) == outcome(f, x), (n, turn)
    assert jitted.cache_info().traces < 20
