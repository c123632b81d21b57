"""Arguments in other byte order, unaligned, or of dtypes that have no kernels: traced all the same."""

import numpy as np
import pytest

import pyasc
from same import freeze


def swapped(x):
    return x.astype(x.dtype.newbyteorder())


def unaligned(x):
    raw = np.zeros(x.nbytes + 1, np.uint8)
    view = raw[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    assert not view.flags.aligned or x.dtype.itemsize == 1
    return view


def both(x):
    return unaligned(swapped(x))


X = np.linspace(-2, 3, 12).reshape(3, 4)


def arithmetic(x, y):
    return x * 2 + y - np.sqrt(abs(x)), (x > y).sum(), np.where(x > 0, x, y)


def reduces(x, y):
    return x.sum(), x.max(axis=0), (x * y).mean(), x.cumsum(), np.argmin(x), x.std()


def writes(x, y):
    x += y
    x[1] = 7
    x[:, 0] *= 2
    np.multiply(x, y, out=x)
    x[x > 5] = 0
    return x


def views(x, y):
    v = x[1:, ::2]
    w = x.T
    v[...] = 3
    return v, w + y.T, x.reshape(-1)[:3], x[0, 1], x[0, 1] + 1


def calls(x, y):
    return x @ y.T, np.sort(x), np.concatenate([x, y]), x.astype("f4"), x.copy(), np.clip(x, 0, 1), x**2, x**0.5


def returns(x, y):
    return x, [y, x], x.dtype.str


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "i8", "c16", "f2", "u2"])
@pytest.mark.parametrize("make", [swapped, unaligned, both])
@pytest.mark.parametrize("function", [arithmetic, reduces, writes, views, calls, returns])
def test_as_numpy(function, make, dtype):
    jitted = pyasc.jit(function)
    with np.errstate(all="ignore"):
        for other in (make, lambda x: x):
            for k in range(3):
                a, b = [make(((X + k) * 3).astype(dtype)) for _ in range(2)]
                c, d = [other((abs(X.astype("f8")) + k).astype(dtype)) for _ in range(2)]
                try:
                    expected = function(a, c)
                except TypeError as error:
                    with pytest.raises(TypeError):
                        jitted(b, d)
                    assert str(error)
                    continue
                got = jitted(b, d)
                assert freeze(got) == freeze(expected)
                assert freeze((b, d)) == freeze((a, c))
                if function is returns:
                    assert got[0] is b and got[1][1] is b


def test_they_have_plans_that_fuse():
    @pyasc.jit
    def f(x, y):
        return (x * 2 + 1) / (y + 3)

    x, y = swapped(X), unaligned(X)
    for _ in range(3):
        f(x, y)
    assert f.cache_info().traces == 1 and f.cache_info().hits == 2
    entry = f._facts()["entries"][0]
    assert not entry["plain"] and max(g["ops"] for g in entry["plans"][0]["groups"]) == 4


@pytest.mark.parametrize("array", [
    np.array(["a", "bc", "a"]), np.array([b"x", b"yz"]), np.array(["2020-01-01", "2021-05-05"], "M8[D]"),
    np.array([(1, 2.0), (3, 4.0)], [("a", "i4"), ("b", "f8")]), np.linspace(0, 1, 5, dtype=np.longdouble),
    np.array([1, 5], "m8[s]"),
], ids=lambda a: a.dtype.str)
def test_other_dtypes(array):
    def f(x):
        return x[::-1], x == x[0], x.copy(), x.size, x[1:].T

    jitted = pyasc.jit(f)
    for k in range(3):
        assert freeze(jitted(array)) == freeze(f(array))
        assert freeze(jitted(array[1:])) == freeze(f(array[1:]))


def test_dtypes_are_part_of_the_signature():
    f = pyasc.jit(lambda x: x + 1)
    for x in (X, swapped(X), unaligned(X), both(X), X, swapped(X)):
        assert freeze(f(x)) == freeze(x + 1)
    assert f.cache_info().traces == 4


def test_fields_and_other_views_of_one_place():
    records = np.array([(1, 2.0, 3), (4, 5.0, 6)], [("a", "i8"), ("b", "f8"), ("c", "i2")])

    def fields(r):
        r["c"] += 1
        return r["a"] * 2, r["b"].sum(), r["c"], r["a"], r[0], r

    def views(x):
        return x.view(">i8"), x.view(">u8"), x, x.view("S8")

    for function, array in ((fields, records), (views, np.arange(3).astype(">f8"))):
        jitted = pyasc.jit(function)
        for _ in range(3):
            a, b = array.copy(), array.copy()
            assert freeze(jitted(a)) == freeze(function(b))
            assert freeze(a) == freeze(b)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4"])
def test_byte_order_of_results(dtype):
    def f(x):
        return (np.nan_to_num(x), np.nan_to_num(x.T, nan=3), np.nan_to_num(x[0, 1]), np.nan_to_num(x, copy=False), np.quantile(x, 1, axis=0),
                np.quantile(x, 0.3, axis=0), np.percentile(x, 0, axis=1), np.median(x, axis=0))

    def turns(x):
        return np.unwrap(x), np.unwrap(x.T, axis=0), np.unwrap(x, period=2.5)

    for function in (f, turns):
        jitted = pyasc.jit(function)
        for _ in range(3):
            assert freeze(jitted(swapped((X * 3).astype(dtype)))) == freeze(function(swapped((X * 3).astype(dtype))))
