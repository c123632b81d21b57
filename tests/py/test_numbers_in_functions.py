"""NumPy's functions and operators of one number: of NumPy's scalars, Python's numbers, arrays without axes."""
import numpy as np
import pytest

import pyasc
from same import freeze, outcome

OPERANDS = {
    "float64": lambda x, i, p, n: (x[1], x[2]),
    "float32": lambda x, i, p, n: (x.astype("f4")[1], x.astype("f4")[2]),
    "int64": lambda x, i, p, n: (i[1], i[2]),
    "uint8": lambda x, i, p, n: (i.astype("u1")[1], i.astype("u1")[2]),
    "bool": lambda x, i, p, n: (x[1] > 1, x[2] > 2.5),
    "python": lambda x, i, p, n: (p, p * 2),
    "python int": lambda x, i, p, n: (n, 3),
    "float64 and int": lambda x, i, p, n: (x[1], n),
    "int and float32": lambda x, i, p, n: (n, x.astype("f4")[1]),
    "no axes": lambda x, i, p, n: (np.asarray(x[1]), p),
    "an int without axes": lambda x, i, p, n: (np.asarray(n), np.array(i[1])),
}

FUNCTIONS = {
    "divmod": lambda a, b: divmod(a, b),
    "np.divmod": lambda a, b: np.divmod(a, b),
    "np.mod": lambda a, b: np.mod(a, b),
    "np.floor_divide": lambda a, b: np.floor_divide(a, b),
    "np.fmod": lambda a, b: np.fmod(a, b),
    "compared": lambda a, b: (a < b, a <= b, a == b, a != b, a > b, a >= b),
    "added": lambda a, b: (a + b, a * b),
    "subtracted": lambda a, b: (a - b, a / b, a // b, a % b),
    "shifted": lambda a, b: (a << b, a >> b),
    "squared": lambda a, b: (a**2, a**0, b**3),
    "np.clip": lambda a, b: (np.clip(a, 1, b), np.clip(a, b, None), np.clip(a, a_min=None, a_max=2.5)),
    "np.round": lambda a, b: (np.round(a, 1), np.around(b), round(a)),
    "np.mean": lambda a, b: (np.mean(a), np.sum(b)),
    "np.isclose": lambda a, b: (np.isclose(a, b), np.isclose(a, a + 1e-12)),
    "np.where": lambda a, b: np.where(a < b, a, b),
    "np.atleast_1d": lambda a, b: (np.atleast_1d(a), np.atleast_2d(b)),
    "np.real": lambda a, b: (np.real(a), np.imag(b)),
    "np.array": lambda a, b: (np.array(a), np.asarray(b, float), np.ndim(a), np.isscalar(b)),
    "np.linspace": lambda a, b: np.linspace(a, b, 5),
}


def case(operands, function):
    def f(x, i, p, n):
        return function(*operands(x, i, p, n))
    return f


def arguments(k):
    x = np.array([0.5, 1.75, 2.25]) * (1 + k / 8)
    return x, np.array([4, 7, 3]) + k, 1.25 + k, 5 + k


#: What stays a call of NumPy's: it refuses some values, has float16, or is not done.
CALLS = {("no axes", "squared"), ("an int without axes", "np.linspace"), ("no axes", "np.linspace"), ("float32", "np.linspace"), ("bool", "np.linspace"),
         ("int and float32", "np.linspace"), ("bool", "np.clip"), ("uint8", "np.clip"), ("no axes", "np.mean"), ("no axes", "np.isclose"),
         ("an int without axes", "np.mean"), ("python int", "np.where"), ("float64 and int", "np.isclose"), ("an int without axes", "np.atleast_1d"), ("an int without axes", "np.real"), ("an int without axes", "np.clip")}


@pytest.mark.parametrize("numerics", ["numpy", "strict"])
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("kind", OPERANDS)
def test_one_number(kind, name, numerics):
    function = case(OPERANDS[kind], FUNCTIONS[name])
    for tier in (0, 1):
        jitted = pyasc.jit(function, numerics=numerics, tier=tier)
        for k in (0, 0, 1, 2, 0):
            expected = outcome(function, *arguments(k))
            assert outcome(jitted, *arguments(k)) == expected
    report = jitted.report()
    if expected[0] == "returned" and (kind, name) not in CALLS:
        assert not report["fallback"], report["reasons"]


def test_bounds_that_need_care():
    def f(x, low, high):
        return np.clip(x[0], low, high), np.clip(x, low, high)

    jitted = pyasc.jit(f)
    for low, high in [(0.0, 1.0), (np.nan, 1.0), (0.5, -0.5), (-1, 300), (None, 0.25), (0.1, None)]:
        for x in (np.array([0.75, np.nan, -0.0]), np.array([np.nan, 1.0]), np.array([200, 3], "u1"), np.array([7], "i8")):
            for _ in range(2):
                assert outcome(jitted, x, low, high) == outcome(f, x, low, high)


def test_ints_that_do_not_fit():
    def f(x, n):
        return x[0] + n, x[0] < n

    jitted = pyasc.jit(f)
    for x in (np.array([1.5]), np.array([3], "u1"), np.array([3])):
        for n in (1, 2, 300, -1, 2**70, 10**400, 5):
            assert outcome(jitted, x, n) == outcome(f, x, n)
    assert freeze(jitted(np.array([1.5]), 7)) == freeze(f(np.array([1.5]), 7))
