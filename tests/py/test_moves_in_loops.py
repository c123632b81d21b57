"""Copies, joins and places in loops that become one loop of the plan, and what they leave in memory."""
import numpy as np
import pytest

import pyasc
from moves import check, made


def joined(x):
    for i in range(30):
        x = np.concatenate([x[1:], x[:1]]) * 0.5 + np.pad(x, 1)[:-2]
    return x


def rolled(x):
    for i in range(30):
        x = np.roll(x, 1) + x
        x = x - np.roll(x, -2) * 0.5
    return x


def copied(x):
    y = x.copy()
    for i in range(30):
        old = y.copy()
        y[1:] += old[:-1] * 0.5
        y *= 0.5
    return y, old


def copied_into(x):
    for i in range(30):
        old = np.array(x)
        x[1:-1] = (old[2:] + old[:-2]) * 0.5
    return x


def placed(x):
    i = np.arange(len(x))[::-1]
    for k in range(30):
        x = x[i] * 0.5
        x[i[:3]] = 1
        np.add.at(x, i, 0.25)
    return x


def stacked(x):
    total = 0.0
    for k in range(30):
        y = np.stack([x, x * 2]) + k
        total += y[1, 0]
        x = np.hstack([x[:1], x[:-1]])
    return total, x, y


def made_once(x):
    for k in range(30):
        x = x + np.linspace(0, 1, 9) * np.float32(0.5)
        z = np.eye(3)
        z[0] = x[:3]
    return x, z


def kept(x):
    all_of_them = []
    for k in range(8):
        x = x + 1
        all_of_them.append(x.copy())
        x[0] = 0
    return all_of_them, np.array(all_of_them)


def differs_late(x):
    y = x.copy()
    for k in range(30):
        y = np.append(y[1:], y[0])
        y = np.clip(np.round(y, 3), -1, None)
    y[0] = 5
    return y, np.diff(y), x


@pytest.mark.parametrize("function", [joined, rolled, copied, copied_into, placed, stacked, made_once, kept, differs_late])
def test_loops(function):
    check(function, (made("f8", (9,)),), (made("f4", (9,)),), compiled=False)
    check(function, (made("f8", (9,)),), compiled=False, numerics="numpy")


def test_from_several_threads():
    from concurrent.futures import ThreadPoolExecutor

    jitted = pyasc.jit(placed)
    x = [made("f8", (9,), seed) for seed in range(8)]
    expected = [placed(v.copy()) for v in x]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(5):
            for got, wanted in zip(pool.map(lambda v: jitted(v.copy()), x), expected):
                assert (got == wanted).all()
