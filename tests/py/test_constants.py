"""Numbers as constants: of 64 bits without a sign, and where both choices are Python's; scalars of all integer types."""
import warnings

import numpy as np
import pytest

import pyasc
from nesting import picture


def hashes(x):
    h = x ^ (x >> np.uint64(33))
    h = h * 0xFF51AFD7ED558CCD
    h ^= h >> 29
    return (h, h % 1000, h // 0xC4CEB9FE1A85EC53, h % 0xC4CEB9FE1A85EC53, h < 9223372036854775809,
            h | 18446744073709551615, h + 9223372036854775808, np.maximum(h, 0xC4CEB9FE1A85EC53),
            np.where(h > 5, h, 0xC4CEB9FE1A85EC53), h.astype(float) > 9.3e18)


def too_large(x):
    return x + 18446744073709551616


def choices(n, f):
    return (np.where(n > 0, 1, 0.5), np.where(n > 0, 1, 0), np.where(n > 0, 1, 2j), np.where(n > 0, True, False),
            np.where(n > 0, 1.5, 2) + n, np.where(f > 0, -1, 1) * f)


def scalars(a):
    m, k = a[0], a[1]
    return (m + k, m * k, m - k, m + 1, 2 * m, m < k, m == k, m & k, m | 3, m ^ k, ~m, abs(m), m + k * m - k, m > 2, 7 - m)


X = np.random.default_rng(0).integers(0, 2**64 - 1, 300, dtype=np.uint64)
CASES = [(hashes, (X,)), (too_large, (X,)), (choices, (np.arange(-5, 6), np.arange(-5, 6) * 1.0)),
         *((scalars, (np.array([3, 100], d),)) for d in "bBhHiIlLqQ"), (scalars, (np.array([-128, -1], "b"),)),
         (scalars, (np.array([255, 254], "B"),)), (scalars, (np.array([-(2**31), 5], "i"),))]


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("function, args", CASES)
def test_case(function, args, tier):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled = pyasc.jit(function, tier=tier)
        for _ in range(3):
            assert picture(compiled, args) == picture(function, args)
    if tier and function in (hashes, choices):
        assert not compiled.report()["fallback"], compiled.report()["reasons"]


def test_sets_of_constants_are_made_anew():
    def residues(x):
        return {int(v) % 3 for v in x}, x + 1

    def grown(x):
        s = {1}
        s.add(int(x[0]))
        return s

    def counted(x):
        s = {k % 3 for k in range(5)}
        s.add(len(x))
        return s, x + 1

    def twice(x):
        s = {1, 2, "a"}
        return s, [s], x * 2

    x = np.arange(4.0)
    for function in (residues, grown, counted, twice):
        jitted = pyasc.jit(function)
        for y in (x, x, x + 1, x):
            assert repr(jitted(y)) == repr(function(y))
            jitted.wait()
        if function is counted:  # computed ints are others each time: no plan makes sets of them
            assert not jitted.report()["fallback"]
    first, second = pyasc.jit(residues)(x)[0], pyasc.jit(residues)(x)[0]
    assert first is not second and twice(x)[0] is not pyasc.jit(twice)(x)[0]
    given = pyasc.jit(twice)(x)
    assert given[0] is given[1][0]
