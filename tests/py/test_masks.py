"""Assignments to where a mask is true: selects, not calls."""
import numpy as np
import pytest

import pyasc
from nesting import picture

SOURCES = {
    "own": lambda x: x * 2 + 1,
    "argument": lambda x: x,
    "copy": lambda x: np.array(x),
}


def made(dtype, shape=(5, 7), seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape) * 5
    if np.dtype(dtype).kind == "u":
        x = abs(x)
    return (x > 0) if dtype == "?" else x.astype(dtype)


def check(plain, *argsets, compiled=None, tiers=(0, 1)):
    for tier in tiers:
        jitted = pyasc.jit(plain, tier=tier, numerics="strict")
        for args in argsets:
            for _ in range(2):
                assert picture(jitted, args) == picture(plain, args)
        if compiled and tier == 1:
            assert not any("item" in r for r in jitted.report()["reasons"]), jitted.report()["reasons"]


DTYPES = ["f8", "f4", "i8", "i4", "u1", "?", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("number", [0, 1, 0.5, -3, 300, True, 1j, np.nan, np.float32(2), np.float64(2), np.int8(-1)])
def test_numbers(dtype, number):
    def own(x):
        y = x + x
        y[y > 1] = number
        return y, y.sum()

    def argument(x):
        x[x != 0] = number
        return x

    check(own, (made(dtype),), (made(dtype, (3,)),))
    check(argument, (made(dtype),))


def test_layouts():
    def transposed(x):
        y = x.T
        y[y > 0] = 0
        return x

    def window(x):
        v = x[1:-1, ::2]
        v[v < 0] = 1
        return x

    def other_order(x, m):
        y = x * 2
        y[m] = -1.0
        return y

    def scalar_array(x):
        y = x.sum()
        z = np.array(3.0)
        z[z > y] = 1
        return z

    x = made("f8")
    check(transposed, (x,), (np.asfortranarray(x),))
    check(window, (x,))
    check(other_order, (x, x > 1), (x, np.asfortranarray(x > 1)), (np.asfortranarray(x), x > 1))
    check(scalar_array, (x,))


def test_what_is_no_mask_of_the_shape():
    def rows(x):
        y = x * 2
        y[y[:, 0] > 0] = 5
        return y

    def wrong(x):
        y = x * 2
        y[np.array([True, False])] = 5
        return y

    def several(x):
        y = x * 2
        y[y > 0] = np.arange(np.count_nonzero(y > 0))
        return y

    def nothing(x):
        x[x > 100] = 3
        return x[x > 100].size

    x = made("f8")
    check(rows, (x,))
    check(wrong, (x,))
    check(several, (x,))
    check(nothing, (x,))


@pytest.mark.parametrize("dtype", DTYPES)
def test_augmented(dtype):
    def function(x, a):
        y = x + x
        y[y != 0] *= 2
        m = y > 1
        y[m] -= a
        y[~m] += 1
        x[m | (x == 0)] += 1
        return y, x

    def divides(x, a):
        x[x > 0] /= 2
        x[x > 1] //= a
        return x

    check(function, (made(dtype), 3), (made(dtype), 1.5), (made(dtype), np.float32(2)))
    check(divides, (made(dtype), 2))


def test_order_and_errors():
    def value_first(x):
        y = x * 2
        y[y > 0] = y[0, 0]
        y[y > 1] += y[0, 1]
        return y

    def read_only(x):
        x.flags.writeable = False
        x[x > 0] = 1
        return x

    def views(x):
        y = x[1:]
        z = x[:-1]
        y[y > 0] = 0
        return z + 1, x

    x = made("f8")
    check(value_first, (x,))
    check(read_only, (x,))
    check(views, (x,))


def test_they_are_compiled():
    def function(x, a):
        y = x * a
        y[y < 0] = 0
        y[y > 1] = 1.0
        y[y == 1] *= 0.5
        x[np.isnan(x)] = 0.0
        return y, x.sum()

    check(function, (made("f8"), 2.0), (np.where(made("f8") > 1, np.nan, 1.0), 0.5), compiled=True)


@pytest.mark.parametrize("dtype", DTYPES)
def test_expressions(dtype):
    """What is stored is computed from the same elements of other arrays."""
    def iterated(z, c, k):
        for _ in range(4):
            m = abs(z) < 3
            z[m] = z[m] ** 2 + c[m]
            c[~m] += z[~m] * k - c[~m]
        return z, c

    def by_comparison(z, c, k):
        z[z > k] = z[z > k] * 2 - k
        c[(z > 1) & (c != 0)] *= -c[(z > 1) & (c != 0)]
        return z, c

    def divided(z, c, k):
        z[c != 0] = z[c != 0] / c[c != 0]
        z[c == 0] = -c[c == 0]
        return z

    for k in (3, 1.5, np.float32(2)):
        for function in (iterated, by_comparison, divided):
            check(function, (made(dtype), made(dtype, seed=1), k))


def test_expressions_that_are_not():
    def other_shape(z, v, k):
        m = z > 0
        z[m] = z[m] * v
        return z

    def other_mask(z, v, k):
        m, n = z > 0, z > 0
        z[m] = z[n] * 2
        return z

    def rows(z, v, k):
        m = z[:, 0] > 0
        z[m] = z[m] * 2
        return z

    def indices(z, v, k):
        m = np.array([1, 0, 1])
        z[m] = z[m] * 2 + z[m]
        z[m] += z[m] * 2
        return z

    def keys(z, v, k):
        table = {True: 1.0}
        m = k > 0
        table[m] = table[m] * 2
        table[m] += table[m] * 2
        return table

    def unbound(z, v, k):
        m = z > 0
        z[m] = z[m] * nothing  # noqa: F821
        return z

    def unbound_owner(z, v, k):
        m = z > 0
        y[m] = z[m] * 2  # noqa: F821
        y = z
        return y

    def lists(z, v, k):
        m = 1
        items = [1, 2, 3]
        items[m] = items[m] * 2
        items[m] += items[m] * 2
        return items

    def narrowed(z, v, k):
        n = z.astype("i4")
        m = z > 0
        n[m] = n[m] * 0.5
        return n

    def aliased(z, v, k):
        y = z[::-1]
        m = z > 0
        y[m] = z[m] * 2 + y[m]
        return z, y

    z = made("f8")
    for function in (other_shape, other_mask, rows, indices, keys, unbound, unbound_owner, lists, narrowed, aliased):
        for v in (2.0, made("f8", (7,)), np.arange((z > 0).sum())):
            check(function, (z, v, 1.0))


def test_expressions_are_compiled():
    def function(z, c):
        m = z * z < 4
        z[m] = z[m] ** 2 + c[m]
        z[~m] -= c[~m] * 0.5
        return z

    check(function, (made("f8"), made("f8", seed=1)), compiled=True)
    check(function, (made("c16"), made("c16", seed=1)))


def test_functions():
    def cheap(z, c, k):
        m = c > 0
        z[m] = np.sqrt(c[m]) + np.maximum(z[m], k)
        z[~m] -= np.abs(c[~m])
        return z

    def guarded(z, c, k):
        out = np.zeros_like(z)
        m = z > 0
        out[m] = np.log(z[m]) * np.exp(-c[m])
        return out

    def others(z, c, k):
        m = z > 0
        z[m] = np.cumsum(z[m])
        z[m] = np.sum(z[m])
        c[m] = np.sort(z[m])
        return z, c

    def keywords(z, c, k):
        m = z > 0
        z[m] = np.sqrt(c[m] * c[m], dtype="f8")
        z[m] = np.maximum(z[m], 3, c[m])
        return z, c

    for function in (cheap, guarded, others, keywords):
        for dtype in ("f8", "f4", "i8"):
            check(function, (made(dtype), made(dtype, seed=1), 2))
    compiled = pyasc.jit(guarded, tier=1)
    z, c = made("f8"), made("f8", seed=1)
    for _ in range(3):
        np.testing.assert_allclose(compiled(z, c, 2), guarded(z, c, 2), rtol=1e-15)
    assert not compiled.report()["fallback"]


def test_masks_that_the_store_changes():
    """NumPy comes to elements of the mask that it has written."""
    def turned(m):
        m[m[::-1]] = False
        return m

    def from_behind(m):
        m[::-1][m] = True
        return m

    def next_ones(m):
        m[1:][m[:-1]] = False
        return m

    def itself(m):
        m[m] = False
        m[~m[::-1]] ^= True
        return m

    def in_loops(m, n):
        s = 0.0
        for t in range(n):
            m[1:][m[:-1]] = False
            m[t % 5] = True
            s += t
        return m, s

    masks = [made("?", (40,), seed) for seed in range(4)]
    for function in (turned, from_behind, next_ones, itself):
        check(function, *((m,) for m in masks))
    check(in_loops, *((m, 700) for m in masks))


@pytest.mark.parametrize("dtype", ["c16", "c8"])
def test_complex_numbers_at_a_step(dtype):
    """Bits of products depend on steps: what is picked lies one behind the other."""
    def stored(w, c, k):
        z, d = w[::2], c[::2]
        m = z.real > 0
        z[m] = z[m] ** 2 + d[m] * z[m]
        return w

    def augmented(w, c, k):
        z = w.T
        z[z.real > 0] *= k
        return w

    for shape in ((2001,), (37, 41)):
        for function in (stored, augmented):
            check(function, (made(dtype, shape), made(dtype, shape, seed=1), 1.5 + 0.3j))


def test_loops_that_strict_mode_takes_from_numpy_are_library_calls():
    compiled = pyasc.jit(lambda x: np.exp(x) + 1, tier=1, numerics="strict")
    for _ in range(3):
        compiled(np.ones(100))
    report = compiled.report()
    assert report["ops_library"] and not report["fallback"]


def test_signs_in_front_of_numbers():
    """`x[m] *= -1` is one trace, whatever is masked."""
    def flipped(x, m, k):
        x[m] *= -1
        x[~m] -= +2
        x[m] *= -k
        return x

    rng = np.random.default_rng(5)
    jitted = pyasc.jit(flipped, numerics="strict")
    for _ in range(12):
        x, m = rng.integers(-5, 5, 50).astype(float), rng.random(50) < 0.4
        np.testing.assert_array_equal(jitted(x.copy(), m, 3), flipped(x.copy(), m, 3))
    assert jitted.cache_info().traces == 1
