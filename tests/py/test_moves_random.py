"""Calls that move elements, put together at random, compared with NumPy: values, order in memory, exceptions, effects."""
import copy
import random

import numpy as np
import pytest

import pyasc
from moves import made, picture, strides
from nesting import load

EACH = 60

#: What a name in braces stands for.
WORDS = {
    "n": [str(n) for n in range(-3, 6)],
    "number": ["{n}", "1.5", "True", "np.int64({n})", "v", "k", "-0.0", "2**40", "np.float32(2.5)"],
    "axis": ["0", "1", "-1", "None", "2", "-2", "(0, 1)", "k"],
    "list": ["[]", "[{n}]", "[{n}, {n}]", "[{n}, {n}, {n}]", "[{n}, {n}, {n}, {n}]"],
    "index": ["{list}", "{n}", "i", "i[:2]", "i.astype('u1')", "i[:, None]", "[[0, 1], [1, 0]]", "np.array([0, 1])", "x[0] > 0",
              "slice(1, 3)", "k", "[True, False]", "()", "i.astype(float)"],
    "array": ["x", "x.T", "x[0]", "x[::2]", "x[:, 1]", "i", "[1, 2, 3]", "(x > 0)", "x[:0]", "x[0, 0]", "5", "x.astype('f4')", "x[::-1]",
              "(x + x)", "x[None]", "x.copy('F')", "v"],
    "shape": ["-1", "(2, -1)", "(-1, 2)", "x.shape", "x.shape[::-1]", "(3, 8)", "(4, 2, 3)", "()", "(24,)", "(-1, -1)", "(0,)", "[6, 4]"],
    "order": ["'C'", "'F'", "'A'", "'K'", "None", "'X'"],
    "mode": ["'raise'", "'clip'", "'wrap'", "'bad'"],
    "value": ["{number}", "{array}", "{list}"],
    "mask": ["x > 0", "x[0] > 0", "x[:, :1] > 0"],
}
READS = [
    "np.take({array}, {index}, axis={axis}, mode={mode})", "np.repeat({array}, {index}, axis={axis})", "np.tile({array}, {index})",
    "np.roll({array}, {number}, {axis})", "np.reshape({array}, {shape}, order={order})", "np.ravel({array}, {order})",
    "np.concatenate([{array}, {array}], axis={axis})", "np.concatenate(({array}, {array}), dtype=np.float32, axis={axis})",
    "np.stack([{array}, {array}], axis={axis})", "np.hstack([{array}, {array}])", "np.vstack([{array}, {array}])",
    "np.dstack([{array}, {array}])", "np.insert({array}, {index}, {value}, axis={axis})", "np.delete({array}, {index}, axis={axis})",
    "np.append({array}, {array}, axis={axis})", "np.diag({array}, {n})", "np.compress({index}, {array}, axis={axis})",
    "np.extract({array}, {array})", "np.choose(i % 2, [{array}, {array}], mode={mode})", "np.unravel_index({index}, (2, 3), {order})",
    "np.meshgrid({array}, {array}, indexing='ij', sparse=True)", "np.nonzero({array})", "np.argwhere({array})", "x[{index}]",
    "x[{index}, {index}]", "x[..., {index}]", "x[{index}, None, {index}]", "np.broadcast_arrays({array}, {array})",
    "np.array([[{number}, {number}], [{number}, 1]])", "np.array({array}, order={order}, ndmin=3)", "np.ix_({index}, {index})",
    "x.flat[{index}]", "{number} in x", "x * {list}", "np.add(x, {value}, dtype=np.float32)", "np.where(x > 0, {array}, {list})",
    "x.item({n})", "np.broadcast_to({array}, (2, 4, 6))", "np.digitize({array}, {list})", "x.flatten({order})",
]
STORES = [
    "x[{index}] = {value}", "x[{index}, {index}] = {value}", "x[:, {index}] = {value}", "x[1:3] = {value}", "x.flat[{index}] = {value}",
    "x.flat = {value}", "np.put(x, {index}, {value}, mode={mode})", "np.place(x, {mask}, {value})", "np.putmask(x, {mask}, {value})",
    "np.copyto(x, {value}, where={mask})", "np.fill_diagonal(x, {value}, wrap=True)", "np.put_along_axis(x, i[None] % 4, {number}, {axis})",
    "x[{mask}] += {number}", "x[{index}] *= {number}", "np.add(x, {value}, out=x, where={mask}, casting='unsafe')", "x -= {value}",
    "np.add.at(x, {index}, {n})", "np.take(x, {index}, axis={axis}, out=x[:, :2])",
]


def filled(text, choose):
    """The text with all words in it chosen."""
    while "{" in text:
        at = text.index("{")
        end = text.index("}", at)
        text = text[:at] + choose.choice(WORDS[text[at + 1:end]]) + text[end + 1:]
    return text


def arguments(choose):
    dtype = choose.choice(["f8", "f8", "i8", "f4", "u1", "?", "c16"])
    x = made(dtype, (4, 6))
    x = choose.choice([x, x, np.asfortranarray(x), made(dtype, (8, 12))[::2, ::2], x[::-1]])
    return x, np.array([2, -1, 0, 3, -3]), 0.5, 2


@pytest.mark.parametrize("seed", range(8))
def test_calls(seed, tmp_path):
    choose = random.Random(seed)
    for number in range(EACH):
        if choose.random() < 0.6:
            text = f"    return {filled(choose.choice(READS), choose)}\n"
        else:
            text = f"    {filled(choose.choice(STORES), choose)}\n    return x\n"
        place = tmp_path / str(number)
        place.mkdir()
        f, args = load("def f(x, i, v, k):\n" + text, place, np=np), arguments(choose)
        jitted = pyasc.jit(f, tier=choose.choice([0, 1]), numerics="strict")
        for turn in range(3):
            assert repr(picture(jitted, args)) == repr(picture(f, args)), (text, args[0].dtype, turn)
            jitted.wait()
        if picture(f, args)[0][0] == "returned":
            assert strides(jitted(*copy.deepcopy(args))) == strides(f(*copy.deepcopy(args))), text
