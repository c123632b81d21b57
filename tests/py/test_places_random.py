"""Keys drawn at random, read and written: in plans as in NumPy."""
import copy

import numpy as np
import pytest

import pyasc
from nesting import picture
from same import outcome


def key_of(rng, shape):
    """A key with at least one array in it, as three parts; now and then an index is out of range."""
    extent = {"n": int(rng.integers(1, 5))}

    def array(n):
        dims = [(extent["n"],), (2, extent["n"]), (1,), (2, 1)][rng.integers(0, 4)]
        bad = rng.random() < 0.03
        i = rng.integers(-n - bad, n + bad, dims).astype(rng.choice(["i8", "i8", "i4", "u1"] if not bad else ["i8"]))
        return abs(i) % n if i.dtype == "u1" else i

    def part(n):
        kind = rng.integers(0, 8)
        if kind < 3:
            return array(n)
        if kind == 3:
            return int(rng.integers(-n, n))
        if kind == 4:
            return slice(None)
        if kind == 5:
            return slice(int(rng.integers(0, 2)), None, int(rng.integers(1, 3)))
        if kind == 6:
            return slice(None, None, -1)
        return [int(v) for v in rng.integers(-n, n, extent["n"])]

    parts = [part(n) for n in shape[:rng.integers(1, len(shape) + 1)]]
    if not any(isinstance(p, np.ndarray) for p in parts):
        parts[0] = array(shape[0])
    if rng.random() < 0.2 and len(parts) < len(shape):
        parts.insert(rng.integers(0, len(parts) + 1), Ellipsis)
    return tuple(parts) + (None,) * 0


def one(x, a):
    return x[a], x[a] + 1


def two(x, a, b):
    return x[a, b], x[a, b] + 1


def three(x, a, b, c):
    return x[a, b, c], x[a, b, c] + 1


def four(x, a, b, c, d):
    return x[a, b, c, d], x[a, b, c, d] + 1


def put_one(x, v, a):
    x[a] = 3
    x[a] += 1
    x[a] = v
    return x


def put_two(x, v, a, b):
    x[a, b] = 3
    x[a, b] += 1
    x[a, b] = v
    return x


def put_three(x, v, a, b, c):
    x[a, b, c] = 3
    x[a, b, c] += 1
    x[a, b, c] = v
    return x


def put_four(x, v, a, b, c, d):
    x[a, b, c, d] = 3
    x[a, b, c, d] += 1
    x[a, b, c, d] = v
    return x


GETS, PUTS = (one, two, three, four), (put_one, put_two, put_three, put_four)


@pytest.mark.parametrize("seed", range(40))
def test_keys(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(n) for n in rng.integers(2, 6, rng.integers(1, 4)))
    x = rng.integers(-9, 9, shape).astype(rng.choice(["f8", "f4", "i4", "u1"]))
    x = [x, np.asfortranarray(x), x[::-1], np.repeat(x, 2, -1)[..., ::2]][rng.integers(0, 4)]
    for _ in range(6):
        key = key_of(rng, shape)
        get, put = GETS[len(key) - 1], PUTS[len(key) - 1]
        state, result = outcome(lambda: x[key] * 1)[0], None
        if state == "returned":
            result = x[key]
        size = result.shape if isinstance(result, np.ndarray) else ()
        v = rng.integers(0, 9, size[rng.integers(0, len(size) + 1):]).astype(rng.choice([x.dtype, "f8", "i4"]))
        for tier in (0, 1):
            for function, args in ((get, (x, *key)), (put, (x, v, *key))):
                jitted = pyasc.jit(function, tier=tier)
                for _ in range(2):
                    assert picture(jitted, args) == picture(function, args), (tier, key)


@pytest.mark.parametrize("seed", range(10))
def test_the_plan_is_for_other_indices(seed):
    rng = np.random.default_rng(seed)

    def moved(x, i, j, v):
        y = x[i, j] * 2
        x[j] = v
        np.add.at(x, (i, j), y)
        return y, x[:, i]

    jitted = pyasc.jit(moved)
    x, v = rng.standard_normal((6, 6)), rng.standard_normal((5, 6))
    for turn in range(20):
        low = -7 if turn % 5 == 4 else -6
        args = x, rng.integers(low, 6, 5), rng.integers(-6, 6, 5), v
        assert picture(jitted, args) == picture(moved, args), turn
        x = copy.deepcopy(x) + 1
