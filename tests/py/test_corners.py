"""What random programs have found, a function for each kind: in plans as in NumPy, call after call."""
import gc
import sys

import numpy as np
import pytest

import pyasc
from nesting import load
from same import freeze

A = np.arange(1.0, 7.0).reshape(2, 3)


def check(tmp_path, body, *calls, names="x y s"):
    """The body of a function of x, y and s on several sets of arguments, each of them twice; arguments may overlap."""
    function = load(f"def f({', '.join(name + '=None' for name in names.split())}):\n    " + body.replace("\n", "\n    ") + "\n",
                    tmp_path, np=np)
    for tier in (0, 1):
        jitted = pyasc.jit(function, tier=tier, numerics="strict")
        for args in calls:
            expected = seen(function, args)
            for _ in range(2):
                assert seen(jitted, args) == expected, (body, tier)


def seen(function, args):
    """What comes of a call on copies, which lie in each other's memory as the arguments do."""
    bases = {}
    copies = [window(bases, a) if isinstance(a, np.ndarray) else a for a in args]
    try:
        result = function(*copies)
        what = freeze(result), writable(result)
    except Exception as error:
        what = freeze(error)
    return what, freeze(copies)


def window(bases, a):
    base = a if a.base is None else a.base
    memory = bases.setdefault(id(base), base.copy(order="K"))
    if not a.size:
        copy = a.copy()
    else:
        copy = np.ndarray(a.shape, a.dtype, memory, a.ctypes.data - base.ctypes.data, a.strides)
    copy.flags.writeable = a.flags.writeable
    return copy


def writable(x):
    return [writable(v) for v in x] if isinstance(x, (tuple, list)) else getattr(getattr(x, "flags", None), "writeable", None)


@pytest.mark.parametrize("body", [
    "v = np.int64(4)\nv %= np.int64(-2)\nreturn v // 7, v // 255, v // -255",
    "v = np.int64(s)\nv %= np.int64(-2)\nreturn v // 255, v // 7",
    "v = np.float64(4)\nv = np.sqrt(v) * 3 + np.cbrt(v)\nreturn v % 0.7, v // 0.3",
])
def test_kernels_of_constants(body, tmp_path):
    check(tmp_path, body, (None, None, 2), (None, None, 2), (None, None, 2))


@pytest.mark.parametrize("body", [
    "r = [x.flat]\nr.append(x.flat)\nr.insert(0, x.flat)\nreturn [v[2] for v in r], [type(v).__name__ for v in r]",
    "r = []\nr.append(x.flat)\nreturn [type(v).__name__ for v in r]",
    "return isinstance(x.flat, np.ndarray), isinstance(x.flat, np.flatiter), dict(a=x.flat)['a'][1]",
    "return '{}'.format(x.flat)[:15]",
    "v = x.flat\nreturn list(v), list(v), sum(v)",
    "v = x.flat\nreturn [(a, b) for a, b in zip(v, v)]",
    "v = x.flat\nr = []\nfor t in v:\n    r.append(t)\n    if len(r) == 2:\n        break\nreturn r, [t * 10 for t in v]",
    "v = x.flat\nr = [t for t in v]\nr.append(v[1])\nreturn r, list(v)",
    "v = x.flat\nreturn any(v), list(v)",
    "return x.flat + 1",
])
def test_flat_iterators(body, tmp_path):
    check(tmp_path, body, (A,), (A * 2,), (A.T,))


@pytest.mark.parametrize("body", [
    "y.T.flat[...] = x[0]\nreturn x", "y.T.flat = x[1]\nreturn y", "y.flat[1:6] = x[1]\nreturn x", "y.flat[[1, 2]] = x[1, :2]\nreturn x",
    "np.less(x, y, out=y, casting='unsafe', where=x > 4)\nreturn x, y", "np.add(x, 1.5, out=y, where=y > 5, casting='unsafe')\nreturn x, y",
    "np.less(x, 5, out=y, casting='unsafe', where=y > 4)\nreturn x, y",
])
def test_arguments_that_overlap(body, tmp_path):
    big = np.arange(20).reshape(5, 4)
    check(tmp_path, body, (big[:-1], big[1:]), (big[1:], big[:-1]), (big[1:], big[:-1][::-1]))


@pytest.mark.parametrize("body", [
    "return x.astype(None), x[0, 0].astype(None), x.sum().astype(None)",
    "return np.isin(x, [2, 2049, 16777217]), np.isin(x, [0.1, 2.0]), np.isin(x.T, [2, 3], invert=True)",
    "return np.median(x, axis=0), np.median(x), np.median(x, axis=1, keepdims=True), np.quantile(x, 0, axis=0)",
    "return np.add.accumulate(x, axis=(0,)), np.maximum.accumulate(x, axis=(1,))",
])
@pytest.mark.parametrize("dtype", ["f8", "f4", "f2", "i4"])
def test_functions(body, dtype, tmp_path):
    zeros = np.array([[-0.0, 0.1, 2049.0], [-0.0, 16777216.0, -0.0]]).clip(max=1e4 if dtype == "f2" else None).astype(dtype)
    check(tmp_path, body, (A.astype(dtype),), (zeros,), (zeros[:1],), (zeros.T,))


@pytest.mark.parametrize("body", [
    "s = s * 2\nreturn s, np.float64(s)", "s = s * 2\nreturn np.array([[s, 1], [2, 3]]), s", "return np.float64(s * 2), [s * 2, np.float64(s)], s",
    "s = s + 1\nx[0, 0] = s\nx[0, 1] = np.float64(s)\nreturn s, x",
])
def test_floats_of_python_and_of_numpy(body, tmp_path):
    check(tmp_path, body, (A, None, 2.5), (A, None, -1.0))


def test_views_that_may_be_written(tmp_path):
    for body in ("return np.diagonal(x), x[0]", "return x[0], np.diagonal(x)", "return np.broadcast_to(x, (1,) + x.shape), x[None]",
                 "return x.reshape(-1), x.reshape(5, -1)"):
        readonly = np.zeros((0, 3))
        readonly.flags.writeable = False
        check(tmp_path, body, (np.ones((0, 3)),), (np.ones((1, 1)),), (readonly,), (np.zeros((2, 0)),))


@pytest.mark.parametrize("key", ["9", "(..., 9)", "(0, 0, 0)", "[9]", "(9, 0)", "'a'", "x > 0"])
def test_stores_into_what_is_read_only(key, tmp_path):
    readonly = A.copy()
    readonly.flags.writeable = False
    check(tmp_path, f"x[{key}] = 1\nreturn x", (readonly,), (A,), (readonly,))


@pytest.mark.parametrize("call", [
    "np.quantile(x, s, axis=(0,))", "np.percentile(x, s, axis=(0,))", "np.quantile(x, s)", "x.astype(int).fill(s)",
    "np.asarray(s, dtype=int)", "np.putmask(x.astype(int), x > 0, s)", "np.pad(x.astype(int), 1, constant_values=s)",
])
def test_exceptions_of_calls_that_no_one_needs(call, tmp_path):
    nan = float("nan")
    check(tmp_path, f"{call}\nreturn x + 1", (A, None, 0.5), (A, None, 0.25), (A, None, 300.0), (A, None, nan), (A, None, -1.0))
    check(tmp_path, f"v = {call}\nreturn getattr(v, 'dtype', 1)", (A, None, 0.5), (A, None, 300.0), (A, None, nan))


@pytest.mark.parametrize("casting", ["no", "equiv", "safe", "same_kind", "unsafe"])
@pytest.mark.parametrize("dtype", ["c16", "f4", "u1", "f8"])
def test_numbers_that_are_copied(casting, dtype, tmp_path):
    for number in ("3", "2**63", "-1", "1.5", "2j", "True"):
        check(tmp_path, f"np.copyto(x, {number}, casting='{casting}')\nreturn x", (np.zeros((2, 3), dtype),))


def test_exceptions_that_are_caught_do_not_keep_traces():
    def f(x):
        try:
            return x[9]
        except IndexError as error:
            return str(error)

    for _ in range(50):
        pyasc.jit(f, tier=0)(A)
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(100):
        pyasc.jit(f, tier=0)(A)
    gc.collect()
    assert sys.getallocatedblocks() - before < 500


def test_shapes_that_do_not_fit(tmp_path):
    for call in ("np.clip(x, y, x)", "np.clip(x, x, y)", "np.clip(x, y, None)", "np.clip(x, 0, y)", "np.clip(x, y, y)"):
        check(tmp_path, f"return {call}", (A, np.arange(2.0)), (A.astype(int), np.arange(2)))


@pytest.mark.parametrize("body", ["x **= 2\nreturn x", "x[::-1] **= 2\nreturn x", "x[:, ::2] **= 2\nreturn x", "x[..., 0] **= 2\nreturn x"])
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_complex_squares_in_place(body, dtype, tmp_path):
    z = (np.array([[1.1 + 2.3j, -0.6 + 9.1j, 3.3 - 1.7j], [1e10 + 2j, -5.5 - 5.5j, 0.3j]]) * np.ones((4, 1, 1))).reshape(8, 3).astype(dtype)
    check(tmp_path, body, (z,), (z[::-1],), (z[:, ::2],), (z.T,), (z[::2, ::-1],))


def test_round_of_scalars(tmp_path):
    for z in (np.complex128(1.25 - 2j), np.float32(1.25), np.int8(15), np.bool_(True)):
        for digits in ("1", "-1", "0"):
            check(tmp_path, f"return round(s, {digits})", (A, None, z))
