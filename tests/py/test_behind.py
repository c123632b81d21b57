"""Updates of arrays by what they hold: values are written one block of rows behind those that are computed."""
import numpy as np
import pytest

import pyasc
from same import freeze

SIZES = {1: (150_001,), 2: (700, 301), 3: (90, 41, 50)}


def check(plain, *arrays, threads=(1, 2), tiers=(0, 1), calls=2):
    for tier in tiers:
        for n in threads:
            jitted = pyasc.jit(plain, tier=tier, threads=n, numerics="strict")
            theirs, ours = ([a.copy(order="K") for a in arrays] for _ in range(2))
            for _ in range(calls + 1):
                with np.errstate(all="ignore"):
                    assert freeze(plain(*theirs)) == freeze(jitted(*ours))
                for a, b in zip(theirs, ours):
                    assert a.tobytes() == b.tobytes(), (tier, n)


def window(shift, lead, ndim):
    """One window of two arrays whose outer edge is `lead` wide, `shift` places from the middle."""
    return tuple(slice(lead + s, s - lead or None) for s in (tuple(shift) + (0,) * ndim)[:ndim])


SHIFTS = [(-1,), (1,), (-2,), (2,), (-1, 1), (1, -1), (0, -1), (0, 1), (-2, 2), (2, 1)]


@pytest.mark.parametrize("shift, ndim", [(s, n) for n in SIZES for s in SHIFTS if len(s) <= n])
@pytest.mark.parametrize("dtype", ["f8", "f4", "i2", "c16"])
def test_shifts(shift, ndim, dtype):
    x = (np.random.default_rng(1).integers(-50, 50, SIZES[ndim])).astype(dtype)
    to, near = window((0,), 2, ndim), window(shift, 2, ndim)

    def plain(x):
        x[to] = x[to] + x[near] * 2

    check(plain, x, threads=(1, 2) if dtype == "f8" else (2,))


def stencil(u):
    u[1:-1, 1:-1] += 0.1 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2] - 4 * u[1:-1, 1:-1])


@pytest.mark.parametrize("shape", [(1000, 700), (64, 9000), (40_000, 7), (5, 200_000), (3, 300_000), (131, 1031)])
@pytest.mark.parametrize("order", "CF")
def test_stencil(shape, order):
    check(stencil, np.asarray(np.random.default_rng(2).random(shape), order=order), threads=(1, 2, 5))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_two_arrays_at_once(dtype):
    def plain(u, v):
        a, b = u[1:-1, 1:-1], v[1:-1, 1:-1]
        lu = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * a
        lv = v[:-2, 1:-1] + v[2:, 1:-1] + v[1:-1, :-2] + v[1:-1, 2:] - 4 * b
        uvv = a * b * b
        a += 0.16 * lu - uvv + 0.035 * (1 - a)
        b += 0.08 * lv + uvv - 0.1 * b

    rng = np.random.default_rng(3)
    check(plain, *(rng.random((520, 400)).astype(dtype) for _ in "uv"), threads=(1, 2, 3))


def test_rows_of_another_order():
    def plain(x):
        x[:] = x[::-1] + x

    def columns(x):
        x[:, 1:] = x[:, :-1] - x[:, 1:]

    def turned(x):
        x[...] = x.T * 2 + x

    def reversed_rows(x):
        x[::-1][1:] = x[::-1][:-1] + x[::-1][1:]

    def every_other(x):
        x[2::2] = x[:-2:2] + x[2::2]

    def every_other_from_all(x):
        x[: len(x) // 2] = x[::2] + x[1::2]

    x = np.random.default_rng(4).random((600, 600))
    for function in (plain, columns, turned, reversed_rows, every_other, every_other_from_all):
        check(function, x)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shape", [(500, 300), (300, 500), (1000, 150)])
def test_copies_to_another_order(shape, dtype):
    """A row of the copy is no row of what the group makes."""
    def flat(x):
        return np.roll(np.roll(x + x, 2, 1) - (x + x), 100)

    jitted = pyasc.jit(flat, numerics="strict")
    x = np.asfortranarray(np.arange(np.prod(shape)).reshape(shape).astype(dtype))
    for _ in range(3):
        assert jitted(x).tobytes() == flat(x).tobytes()


def test_one_row_for_all():
    """Values of a row that is written itself are those of before."""
    def first(x):
        x[1:] = x[1:] - x[0]
        x[:-1] = x[:-1] + x[-1]
        x[...] = x - x[300]

    def scalar(x):
        x[:] = x[1, 1] + x

    def column(x):
        x[:, 1:] = x[:, :1] * x[:, 1:]

    x = np.random.default_rng(5).random((600, 300))
    for function in (first, scalar, column):
        check(function, x)


def test_arguments_that_overlap():
    def plain(x, y):
        x[:] = x + y * 2
        return x.sum()

    for tier in (0, 1):
        for threads in (1, 2):
            jitted = pyasc.jit(plain, tier=tier, threads=threads, numerics="strict")
            for lag in (1, 5, 500, 500_000, -1, -500):
                made = [np.random.default_rng(6).random(1_600_000) for _ in "ab"]
                for _ in range(3):
                    results = []
                    for f, m in zip((plain, jitted), made):
                        a, b = m[600_000:1_100_000], m[600_000 - lag : 1_100_000 - lag]
                        results.append(freeze(f(a, b)))
                    assert results[0] == results[1], lag
                    assert made[0].tobytes() == made[1].tobytes(), lag


def test_loops_of_updates():
    def plain(u, steps):
        for _ in range(steps):
            u[1:-1, 1:-1] = 0.25 * (u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2])
            u[0] = u[1]
        return u.sum()

    check(lambda u: plain(u, 7), np.random.default_rng(7).random((500, 320)))


def test_windows_that_move():
    def plain(x):
        for t in range(1, 5):
            x[t, 1:] = x[t - 1, :-1] + x[t, 1:] * x[t, :-1]

    check(plain, np.random.default_rng(8).random((6, 150_000)))


def test_values_that_are_needed_later():
    def plain(x):
        y = x[1:] + x[:-1]
        x[1:] = y
        return y

    def twice(x, z):
        y = x[1:] + x[:-1]
        x[1:] = y
        z[1:] = y

    x = np.random.default_rng(9).random(200_000)
    check(plain, x)
    check(twice, x, x.copy())


def test_other_dtypes_on_the_way():
    def plain(x):
        x[1:] = (x[1:] + x[:-1]) * 0.5

    def whole(x):
        x[1:] += x[:-1] > 3

    check(plain, np.random.default_rng(10).integers(0, 100, 400_000).astype("i4"))
    check(plain, np.random.default_rng(10).random(400_000).astype("f4"))
    check(whole, np.random.default_rng(10).integers(0, 100, 400_000))


def test_which_plans_have_them():
    def behind(plain, *args):
        jitted = pyasc.jit(plain)
        jitted(*args)
        return sum(plan["behind"] for entry in jitted._facts()["entries"] for plan in entry["plans"])

    u = np.random.default_rng(11).random((1000, 700))
    assert behind(stencil, u) == 1
    assert behind(stencil, u[:40, :40].copy()) == 0  # in cache anyway

    def kept(x):
        y = x[1:] + x[:-1]
        x[1:] = y
        return y

    assert behind(kept, np.zeros(1_000_000)) == 0
