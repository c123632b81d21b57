"""Containers from outside that `op=` changes: in every call, and with values in them that are the user's."""
import numpy as np
import pytest

import pyasc
from same import freeze, outcome


class Owner:
    def __init__(self):
        self.L, self.D, self.T, self.S, self.B = [0], {"k": [0]}, ([0], 1), {0}, bytearray(b"0")


def add(o, i, x):
    o.L += [i]
    return x + 1


def add_name(o, i, x):
    L = o.L
    L += [i]
    return x + 1


def add_computed(o, i, x):
    L = o.L
    L += [x.sum(), x, [x * 2]]
    return x + 1


def add_tuple(o, i, x):
    L = o.L
    L += x,
    L += (x * 2, i)
    return x + 1


def add_array(o, i, x):
    L = o.L
    L += x * 2
    return x + 1


def add_iterator(o, i, x):
    L = o.L
    L += map(abs, [x, -x])
    L += (v for v in (1, 2))
    return x + 1


def add_own_list(o, i, x):
    L, M = o.L, [x.sum()]
    L += M
    M.append(x)
    L += M
    return M


def repeat(o, i, x):
    L = o.L
    L *= 2
    return x + i


def update(o, i, x):
    D = o.D
    D |= {i: x.sum()}
    o.D |= {"x": x}
    return x + 1


def add_in_dict(o, i, x):
    M = o.D["k"]
    M += [i]
    o.D["k"] += [x * i]
    return x + 1


def add_in_loop(o, i, x):
    for M in (o.L, o.T[0]):
        M += [i]
    return x + 1


def sets_and_bytes(o, i, x):
    o.S |= {i, float(x[1])}
    o.B += b"1"
    return x + 1


CASES = [add, add_name, add_computed, add_tuple, add_array, add_iterator, add_own_list, repeat, update, add_in_dict,
         add_in_loop, sets_and_bytes]


def plain_types(x):
    """Types of all that is in there: no tracer."""
    inside = x.values() if isinstance(x, dict) else x if isinstance(x, (list, tuple, set)) else ()
    return [type(x).__name__, *map(plain_types, inside)]


def state_of(o):
    return freeze(vars(o)), plain_types(vars(o))


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("fresh", [True, False])
@pytest.mark.parametrize("function", CASES)
def test_each_call(function, fresh, tier):
    jitted = pyasc.jit(function, tier=tier)
    one, other = Owner(), Owner()
    for i in (1, 2, 1, 2, 3, 3):
        if fresh:
            one, other = Owner(), Owner()
        x = np.arange(3.0)
        assert outcome(jitted, other, i, x) == outcome(function, one, i, x)
        assert state_of(one) == state_of(other)


@pytest.mark.parametrize("change", ["L += [i]", "L += [x]", "L *= 2", "L += x", "L += [x.sum(), [x]]"])
def test_arguments(change, tmp_path):
    path = tmp_path / "changes.py"
    path.write_text(f"def f(L, i, x):\n    {change}\n    return x + 1, L\n")
    namespace = {}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    f = namespace["f"]
    jitted = pyasc.jit(f)
    for i in (1, 1, 2, 2, 3):
        one, other = [0], [0]
        result = jitted(other, i, np.arange(3.0))
        assert freeze(result) == freeze(f(one, i, np.arange(3.0)))
        assert (result[1] is other) == isinstance(result[1], list) and plain_types(other) == plain_types(one)
