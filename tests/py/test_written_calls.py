"""Functions of NumPy that are written with simpler ones: calls of many kinds, as a table."""
import functools
import linecache

import numpy as np
import pytest

import pyasc
from pyasc import _written
from same import freeze

RANDOM = np.random.default_rng(7)


def arguments(dtype):
    """Arrays a, b of two axes, u, v of one, w of three, in another layout each time; s is sorted."""
    def made(*shape):
        if dtype == "?":
            return RANDOM.random(shape) < 0.5
        x = RANDOM.standard_normal(shape) * 9
        return (x + 1j * RANDOM.standard_normal(shape) if dtype[0] == "c" else np.abs(x) if dtype[0] == "u" else x).astype(dtype)

    a, b = made(6, 3), made(6, 3)
    return {"a": a, "b": b, "f": np.asfortranarray(made(6, 3)), "u": made(20), "v": made(40)[::2], "w": made(3, 4, 5),
            "s": np.sort(made(20)), "m": RANDOM.random(20) < 0.5, "n": made(3)[0], "z": made(0, 3)}


#: function -> calls of it, by dtypes: what is after a colon.
CALLS = {
    "f8 f4 i8 i2 c16": """
    np.cross(a, b); np.cross(a, b[0]); np.cross(a.T, b.T, axis=0); np.cross(f, b); np.cross(a, b, axisc=0); np.cross(z, z)
    np.cross(a.T, b, 0, 1); np.cross(f, f[::-1]); np.cross(u[:3], v[:3]); np.cross(a[:, None], b[None])
    np.outer(u, v); np.outer(a, v); np.outer(u, 2.5); np.outer(n, u); np.outer([1, 2], u)
    np.ediff1d(u); np.ediff1d(a); np.ediff1d(f); np.ediff1d(u[:1])
    np.trapezoid(u); np.trapezoid(u, v); np.trapezoid(a, axis=0); np.trapezoid(a, dx=0.5); np.trapezoid(w, u[:4], axis=1)
    np.trapezoid(a, b); np.trapezoid(a, b, axis=0)
    np.gradient(u); np.gradient(a); np.gradient(f); np.gradient(u, 0.5); np.gradient(a, 2.0, 3.0); np.gradient(a, axis=0)
    np.gradient(u, edge_order=2); np.gradient(a, axis=(0, 1), edge_order=2); np.gradient(w); np.gradient(w, axis=-1)
    np.gradient(u, np.arange(20) ** 2.0); np.gradient(u, np.arange(20)); np.gradient(a, np.arange(6) ** 2, 0.5, edge_order=2)
    np.gradient(u, np.arange(20) ** 2.0, edge_order=2)
    np.select([u > 1, u < -1], [u, v]); np.select([a > b, a < b], [a * 2, b], 7); np.select([u > 1], [u * 2], u)
    np.select([a > 1, u[:3] < 0], [a, 3], default=0.5); np.select([u > 0, m], [1, 2]); np.select([f > 0, f < -1], [f, -f])
    np.select((u > 1, u < -1), (u, v)); np.select([m, ~m], [u, 1.5])
    np.isclose(u, v); np.isclose(a, b, 0.5); np.isclose(u, 1.0); np.isclose(n, n); np.isclose(u, v, atol=2.0, equal_nan=True)
    np.isclose(f, b); np.isclose(1.0, u); np.isclose(u, u[::-1].copy(), rtol=0.0, atol=1.0)
    np.allclose(u, u + 1e-9); np.allclose(a, b); np.allclose(n, n); np.allclose(u, u[0])
    np.array_equal(u, u); np.array_equal(a, b); np.array_equal(u, a); np.array_equal(u, [1, 2])
    np.dstack((a, b)); np.dstack([u, v]); np.dstack((w, w)); np.dstack((f, f)); np.dstack((w, a[:3, :2, None]))
    np.delete(u, 3); np.delete(u, -1); np.delete(a, 1, axis=0); np.delete(a, 1, axis=1); np.delete(a, 4); np.delete(w, 1, -1)
    np.delete(u, [1, 3, 5]); np.delete(u, slice(2, 9, 3)); np.delete(a, slice(None), 0); np.delete(f, 0, axis=1); np.delete(u, [2, 2, -1])
    np.delete(u, (0, 19)); np.delete(a, [], axis=0)
    np.insert(u, 3, 1); np.insert(u, -2, v[:3]); np.insert(a, 1, 5, axis=1); np.insert(a, 0, b[0], axis=0); np.insert(a, 6, b[0], axis=0)
    np.insert(a, 2, v[:6], axis=1); np.insert(a, 4, 7); np.insert(w, 1, a[0, 0], axis=2); np.insert(f, 1, 2, axis=0)
    np.insert(a, 1, b[:2], axis=0); np.insert(w, 2, w[:2, 0], axis=1)
    np.block([[a, b], [b, a]]); np.block([u, v]); np.block([[a], [b]]); np.block([a, b]); np.block([[u, v], [v, u]]); np.block([[a, f], [f, b]])
    np.split(u, 4); np.split(a, 3); np.split(a, 3, axis=1); np.array_split(u, 3); np.array_split(u, 7); np.array_split(a, 4, 1)
    np.split(u, [3, 8]); np.split(u, [5, 2, 30]); np.hsplit(a, 3); np.hsplit(u, 2); np.vsplit(a, 2); np.dsplit(w, 5); np.split(w, 2, -2)
    np.array_split(u, [4, -3]); np.split(f, 3, axis=-1); np.array_split(z, 2)
    np.polyval([1, 2, 3], u); np.polyval([0.5, -1.0], a); np.polyval(u[:4], v); np.polyval((1, 2), f); np.polyval([], u)
    np.average(a); np.average(a, axis=0); np.average(a, returned=True); np.average(a, 1, returned=True);
    np.average(a, 1, [1, 2, 3], True); np.average(u, weights=m + 1, returned=True); np.average(a, axis=1, weights=[1, 2, 3]); np.average(u, weights=m + 1)
    np.average(a, axis=-1, weights=b * b); np.average(a, 0, keepdims=True); np.average(w, axis=1, weights=np.arange(4) + 1.0)
    np.average(u, weights=m + 1.0); np.average(f, axis=0); np.average(a, weights=np.zeros((6, 3)))
    np.pad(u, 2, "edge"); np.pad(a, 1, "reflect"); np.pad(a, ((1, 2), (0, 2)), "symmetric"); np.pad(a, 2, mode="wrap")
    np.pad(u, (3, 0), mode="reflect"); np.pad(w, 1, mode="symmetric"); np.pad(f, 1, mode="reflect"); np.pad(u, (0, 4), "wrap")
    np.pad(a, ((2,), (1,)), "reflect"); np.pad(u, 0, "reflect"); np.pad(a, (1, 2), "symmetric"); np.pad(u, 19, "reflect"); np.pad(u, 20, "wrap")
    np.pad(u, 25, "reflect"); np.pad(a, 4, "symmetric"); np.pad(a, [[1, 0], [0, 1]], "wrap")
    np.pad(u, (6, 30), "wrap"); np.pad(a, ((9, 1), (2, 8)), "reflect"); np.pad(a[:1], ((2, 3), (1, 1)), "reflect"); np.pad(w, 7, "symmetric")
    np.pad(u, 2); np.pad(a, ((1, 0), (0, 2)), constant_values=7); np.pad(a, ((0, 0), (1, 2)), constant_values=(8, 9)); np.pad(f, 1)
    np.pad(a, 1, constant_values=((1, 2), (3, 4))); np.pad(w, (0, 2), "constant", constant_values=-1); np.pad(u, 1, constant_values=2.5)
    np.pad(u, (3, 2), "mean"); np.pad(a, 1, "mean"); np.pad(f, ((1, 0), (2, 1)), "mean"); np.pad(a, 2, mode="median")
    np.pad(u, (0, 2), "linear_ramp", end_values=10); np.pad(a, ((2, 1), (0, 3)), "linear_ramp", end_values=(1, -1)); np.pad(w, 2, "linear_ramp")
    """,
    "f8 f4 f2 i8 u1": """
    np.pad(u, 2, "maximum"); np.pad(a, ((1, 2), (0, 1)), "minimum"); np.pad(f, 1, "maximum"); np.pad(a, 1, "maximum", stat_length=2)
    np.diff(u, 2); np.diff(a, n=3, axis=0); np.isin(u, [1, 2, 5]); np.isin(a, (0.5, 1.5), invert=True); np.fix(u); np.fix(f)
    np.fft.fftshift(u); np.fft.ifftshift(a); np.fft.fftshift(w, axes=1); np.fft.fftshift(f, (0,)); np.percentile(u, 50, keepdims=True)
    np.median(u, keepdims=True); np.quantile(a, 1, axis=0); np.quantile(a, 0, 0, keepdims=True); np.quantile(a, 0.25, axis=0, keepdims=True)
    np.ptp(u); np.ptp(a, axis=0); np.ptp(a, 1, keepdims=True); np.ptp(f, axis=-1); np.ptp(w, axis=(0, 2))
    np.median(u); np.median(u[:19]); np.median(a, axis=0); np.median(a, axis=1); np.median(f, axis=0); np.median(w, axis=-2)
    np.median(a); np.median(u[:1]); np.median(u[:2]); np.median(a, axis=0, keepdims=True); np.median(w, axis=(0, 1)); np.median(v)
    np.percentile(u, 25); np.percentile(a, 50, axis=0); np.quantile(u, 0.3); np.quantile(a, 0.75, axis=1); np.percentile(u, 90.5)
    np.quantile(u, 1.0); np.quantile(u, 0.0); np.quantile(w, 0.4, axis=1); np.percentile(u, [10, 50]); np.quantile(u[:1], 0.5)
    np.quantile(u, 0.3, method="lower"); np.percentile(f, 33, axis=0); np.quantile(u[:2], 0.5); np.percentile(u, 100)
    np.nan_to_num(u); np.nan_to_num(a, nan=1.5); np.nan_to_num(f, posinf=2.0, neginf=-3); np.nan_to_num(n); np.nan_to_num(v, copy=False)
    """,
    "f8 f4": """
    np.unwrap(u); np.unwrap(a, axis=0); np.unwrap(u, discont=4.0); np.unwrap(f); np.unwrap(u, period=2.5); np.unwrap(u, period=5)
    np.linalg.norm(a, axis=1); np.linalg.norm(a, axis=0, keepdims=True); np.linalg.norm(w, axis=-2); np.linalg.norm(u); np.linalg.norm(f, axis=1)
    np.linalg.norm(a, 2, axis=1); np.linalg.norm(a, 1, axis=1); np.linalg.norm(u, axis=0)
    np.sinc(u); np.sinc(a * 0); np.sinc(f); np.sinc(n); np.angle(u); np.angle(a, deg=True); np.angle(n)
    """,
    "c16": "np.angle(u); np.angle(a, True); np.angle(f); np.median(u); np.ptp(u)",
    "i8": "np.unwrap(u); np.sinc(u); np.unwrap(u, period=255); np.linalg.norm(u); np.linalg.norm(a, axis=1)",
    "?": """
    np.select([m, u], [u, v]); np.select([u], [v], True); np.array_equal(u, v); np.nan_to_num(u); np.average(u); np.dstack((u, v))
    np.delete(u, 2); np.insert(u, 2, True); np.pad(a, 1, "reflect"); np.isclose(u, v); np.outer(u, v); np.gradient(u); np.ptp(u); np.ediff1d(u)
    """,
}
CASES = [(call.strip(), dtype) for dtypes, calls in CALLS.items() for dtype in dtypes.split()
         for line in calls.strip().splitlines() for call in line.split(";")]
_numbers = {}


@functools.cache
def function_of(call):
    """lambda a, b, …: call, with a source."""
    name = f"<composition {len(_numbers)}>"
    _numbers[call] = name
    source = f"def called(a, b, f, u, v, w, s, m, n, z):\n    return {call}\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    scope = {"np": np}
    exec(compile(source, name, "exec"), scope)
    return scope["called"]


def outcome(function, values):
    with np.errstate(all="ignore"):
        try:
            result = function(**values)
        except Exception as error:  # noqa: BLE001
            return type(error).__name__, str(error)
    parts = list(result) if isinstance(result, (tuple, list)) else [result]
    return freeze(result), [p.flags.writeable for p in parts if isinstance(p, np.ndarray)], [
        [s for s, n in zip(p.strides, p.shape) if n > 1] for p in parts if isinstance(p, np.ndarray) and p.size]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", sorted({d for _, d in CASES}))
def test_calls(dtype, tier):
    values = arguments(dtype)
    if dtype[0] == "f":
        special = dict(values, u=values["u"].copy(), a=values["a"].copy())
        special["u"][3:6] = special["a"][2] = [np.nan, np.inf, -np.inf]
    else:
        special = values
    wrong = []
    for call, _ in [c for c in CASES if c[1] == dtype]:
        function = function_of(call)
        jitted = pyasc.jit(function, tier=tier, numerics="strict")
        for given in (values, values, special, values):
            expected, got = outcome(function, given), outcome(jitted, given)
            if got != expected:
                wrong.append(f"{call}: {got} instead of {expected}")
                break
    assert not wrong, "\n".join(wrong)


#: What stays NumPy's, of the calls with float64: for arguments that a composition does not take.
LEFT = {
    "np.cross(z, z)", "np.block([[a, f], [f, b]])", "np.delete(a, slice(None), 0)", "np.delete(f, 0, axis=1)", "np.insert(f, 1, 2, axis=0)", 'np.pad(a, 2, mode="median")', 'np.pad(a, 1, "maximum", stat_length=2)', "np.unwrap(u, period=5)",
}


@pytest.mark.filterwarnings("ignore")
def test_nothing_falls_back():
    values = arguments("f8")
    slow = {}
    for call, _ in [c for c in CASES if c[1] == "f8"]:
        jitted = pyasc.jit(function_of(call))
        if outcome(jitted, values)[0] in ("ValueError", "ZeroDivisionError", "TypeError"):
            continue
        jitted.wait()
        outcome(jitted, values)
        if jitted.report()["fallback"]:
            slow[call] = jitted.report()["reasons"]
    assert set(slow) <= LEFT, {c: r for c, r in slow.items() if c not in LEFT}


def test_each_name_is_found():
    _written.table()
    for module in _written.NAMES:
        _written.load(module)
    assert [k for k, v in _written.TABLE.items() if isinstance(v, str)] == []
    named = {_written.named(name) for names in _written.NAMES.values() for name in names.split()}
    assert set(_written.TABLE) == named
