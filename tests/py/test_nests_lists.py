"""Lists that a loop fills and of which arrays are made, in loops compiled as a whole."""

import numpy as np
import pytest

import pyasc
from nesting import cases, compare, mat, vec
from same import outcome
from pyasc._lists import FUNCTIONS

case, CASES = cases()
kept, KEPT_CASES = cases()  # loops that are to be compiled


@pytest.mark.parametrize("function, argsets, times", CASES)
def test_case(function, argsets, times):
    compare(function, argsets, times)


@pytest.mark.parametrize("function, argsets, times", KEPT_CASES)
def test_kept(function, argsets, times):
    compare(function, argsets, times)


@pytest.mark.parametrize("function, argsets, times", KEPT_CASES)
def test_compiled(function, argsets, times):
    jitted = pyasc.jit(function, tier=1)
    for _ in range(2):
        jitted(*argsets[0])
    assert "compiled loop" in jitted.explain()


# -- As arrays ---------------------------------------------------------------------------


@kept((vec(500),), (vec(1),), (vec(0),))
def of_floats(a):
    out = []
    x = 0.5
    for i in range(len(a)):
        x = 0.5 * x + a[i]
        out.append(x)
    return np.array(out)


@kept((vec(300, "i4"),), (vec(7, "u1"),), (vec(9, "f4"),), (vec(9, "?"),))
def of_scalars(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    return np.array(out), len(out), np.sum(out), np.max(out)


@kept((vec(300, "i8"),))
def of_ints(a):
    out = []
    x = 1
    for i in range(len(a)):
        x = (x * 1103515245 + int(a[i])) % 2147483648
        out.append(x)
    return np.asarray(out), x


@kept((vec(300),))
def of_bools(a):
    out = []
    for i in range(len(a)):
        out.append(float(a[i]) > 0)
    return np.array(out), np.mean(out)


@kept((vec(200),))
def of_complex(a):
    out = []
    z = 0.5 + 0.25j
    for i in range(len(a)):
        z = z * z * 0.5 + complex(a[i] * 0.1, 0.3)
        out.append(z)
    return np.array(out)


@kept((vec(200),))
def of_tuples(a):
    out = []
    x, y = 0.0, 1.0
    for i in range(len(a)):
        x, y = x + a[i] * 0.1 * y, y - 0.1 * x
        out.append((x, y))
    return np.array(out)


@kept((mat(100, 3),))
def of_rows(a):
    out = []
    for i in range(len(a)):
        out.append(a[i] * 2 + 1)
    r = np.array(out)
    r[0] = 7
    return r, np.array(out)


@kept((vec(40), 11), (vec(3), 1))
def two_lists_in_two_loops(a, m):
    xs = []
    ys = []
    for i in range(len(a)):
        for k in range(m):
            xs.append(a[i] * k)
            xs.append(a[i])
        ys.append(i)
    return np.array(xs), np.array(ys), len(xs)


@kept((vec(400),))
def floats_made_of_ints(a):
    out = []
    n = 0
    for i in range(len(a)):
        n += int(a[i] > 0)
        out.append(n)
    return np.array(out, dtype=float), np.array(out, dtype=np.float64)


@kept((vec(400),))
def written_behind(a):
    out = []
    for i in range(len(a)):
        out.append(a[i] + 1)
    x = np.array(out)
    x[0] = 99.0
    y = np.array(out)
    y += 1
    a[0] = 3
    return x, y, np.sort(out), np.cumsum(out), np.array(out)


# -- What is Python's alone --------------------------------------------------------------


@case((vec(),), (vec(0),))
def returned(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    return out


@case((vec(),))
def read_in_other_ways(a):
    out = []
    for i in range(len(a)):
        out.append(float(a[i]))
    out.append("end")
    return np.sum(out[:-1]), out[3], len(out), [x for x in out]


@case((vec(),))
def seen_by_a_function(a):
    out = []
    show = lambda: list(out)
    for i in range(len(a)):
        out.append(float(a[i]))
    return show(), np.array(out)


@case((vec(),))
def under_a_condition(a):
    out = []
    for i in range(len(a)):
        if a[i] > 0:
            out.append(a[i])
    return np.array(out), len(out)


@case((vec(), 3), (vec(), 100))
def left_early(a, n):
    out = []
    for i in range(len(a)):
        if i == n:
            break
        out.append(a[i])
    return np.array(out)


@case((vec(),))
def some_skipped(a):
    out = []
    for i in range(len(a)):
        if a[i] < 0:
            continue
        out.append(a[i])
    return np.array(out), np.mean(out)


@case((vec(),))
def of_several_kinds(a):
    out = []
    for i in range(len(a)):
        out.append(i)
        out.append(float(a[i]))
    return np.array(out)


@case((vec(),))
def ints_then_floats(a):
    out = []
    x = 0
    for i in range(len(a)):
        out.append(x)
        x += float(a[i])
    return np.array(out), len(out)


@case((vec(dtype="f4"),))
def floats_then_scalars(a):
    out = []
    x = 0.0
    for i in range(len(a)):
        out.append(x)
        x = x + a[i]
    return np.array(out)


@case((vec(),))
def ragged(a):
    out = []
    for i in range(len(a)):
        out.append(a[:i] * 2)
    return len(out), np.array(out)


@case((mat(),))
def of_views(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    a[:] = 0
    return np.array(out)


@case((mat(),))
def of_names_written_later(a):
    out = []
    for i in range(len(a)):
        x = a[i] * 2
        out.append(x)
        x += 1
    return np.array(out)


@case((vec(),))
def as_one_array_twice(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    x = np.asarray(out)
    x += 1
    y = np.asarray(out)
    return x, y


@case((vec(),))
def as_one_array_in_a_loop(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    s = []
    for k in range(3):
        x = np.asarray(out)
        x += k
        s.append(np.sum(x))
    return s


@case((vec(),))
def complex_made_floats(a):
    out = []
    for i in range(len(a)):
        out.append(complex(a[i], 1))
    return np.array(out, dtype=float)


@case((vec(9, "i8", low=-300, high=300),))
def narrow_made_of_ints(a):
    out = []
    for i in range(len(a)):
        out.append(int(a[i]))
    return np.array(out, dtype=np.uint8)


@case((vec(),))
def many_objects(a):
    out = []
    for i in range(len(a)):
        out.append(int(a[i]))
    return np.array(out, dtype=object), np.array(out, ndmin=2)


@case((vec(),))
def twice_filled(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    for i in range(len(a)):
        out.append(-a[i])
    return np.array(out)


@case((vec(6), vec(3)), (vec(3), vec(3)))
def an_error_in_the_middle(a, b):
    out = []
    try:
        for i in range(len(a)):
            out.append(b[i])
    except IndexError:
        return np.array(out), len(out)
    return np.sum(out)


@case((2**61, 4), (3, 5), (2**61, 2))
def ints_that_grow(x, n):
    out = []
    for i in range(n):
        x = x * 2 + 1
        out.append(x)
    y = np.array(out)
    return str(y.dtype), y.tolist(), x


@case((vec(5),))
def bound_twice(a):
    out, x = [], 1
    out = []
    for i in range(len(a)):
        out.append(a[i])
    return np.asarray(out), x


@case((vec(5), 3))
def emptied_in_each_turn(a, n):
    total = 0.0
    for k in range(n):
        out = []
        for i in range(len(a)):
            out.append(a[i] * k)
        total += np.sum(out)
        out2 = np.array(out)
    return total, out2


def array(x):
    return "another function"


class Modules:
    array = staticmethod(lambda x: type(x).__name__)


other = Modules()


@case((vec(),))
def of_another_module(a):
    out = []
    for i in range(len(a)):
        out.append(a[i])
    return other.array(out)


def test_len_of_the_users(tmp_path):
    from nesting import load
    source = ("def f(a):\n    out = []\n    for i in range(4):\n        out.append(a[i])\n    return len(out)\n")
    f = load(source, tmp_path, len=lambda x: type(x))
    compare(f, [(vec(),)])


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
@pytest.mark.parametrize("items", [[1.5, -2.0, 3.25], [3, 1, 2], [True, False], [np.float32(2), np.float32(1)],
                                   [np.uint8(3), np.uint8(250)], [1j, 2.0 + 1j], [(1.0, 2.0), (0.5, 3.0)], [4.0]])
def test_functions_take_arrays_for_lists(name, items):
    """The law of the table: what is made of a list is made of its array."""
    function = getattr(np, name)
    assert outcome(function, np.array(items)) == outcome(function, items)
