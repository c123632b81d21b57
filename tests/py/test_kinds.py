"""Every use of every kind of argument does what it does in plain Python, on each of several calls."""
import collections
import copy
import dataclasses
import datetime
import decimal
import enum
import fractions
import re
import types
import typing
import warnings

import numpy as np
import pytest

import pyasc
from same import freeze


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Flag(enum.IntFlag):
    A = 1
    B = 2


Pair = collections.namedtuple("Pair", "x y")


class Typed(typing.NamedTuple):
    a: object
    k: float = 2.0


@dataclasses.dataclass
class Data:
    w: np.ndarray
    k: float = 1.5
    tags: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class Frozen:
    w: object
    k: float = 1.5


class Sub(np.ndarray):
    pass


def four():
    return np.arange(4.0) + 1


def readonly():
    a = four()
    a.flags.writeable = False
    return a


def unaligned():
    a = np.zeros(33, "u1")[1:].view("f8")
    a[:] = np.arange(4.0)
    return a


RECORD = [("a", "i4"), ("b", "f8")]

KINDS = {
    "matrix": lambda: np.matrix([[1.0, 2], [3, 4]]),
    "masked": lambda: np.ma.array([1.0, 2, 3, 4], mask=[0, 1, 0, 0]),
    "structured": lambda: np.array([(1, 2.0)], dtype=RECORD),
    "recarray": lambda: np.rec.array([(1, 2.0)], dtype=RECORD),
    "big endian": lambda: four().astype(">f8"),
    "unaligned": unaligned,
    "read-only": readonly,
    "0-d": lambda: np.array(3.0),
    "0-d int": lambda: np.array(3),
    "empty": lambda: np.zeros((0, 3)),
    "subclass": lambda: four().view(Sub),
    "float16": lambda: np.float16(1.5),
    "int8": lambda: np.int8(3),
    "uint64": lambda: np.uint64(3),
    "complex64": lambda: np.complex64(1 + 2j),
    "bool_": lambda: np.True_,
    "longdouble": lambda: np.longdouble(1.5),
    "longdoubles": lambda: np.arange(4).astype("g"),
    "str": lambda: "ab",
    "str_": lambda: np.str_("ab"),
    "datetime64": lambda: np.datetime64("2020-01-01"),
    "datetimes": lambda: np.array(["2020-01-01", "2021-01-01"], "M8[D]"),
    "timedeltas": lambda: np.array([1, 2], "m8[s]"),
    "list": lambda: [four(), four()],
    "nested": lambda: [[four()], [1, 2.5]],
    "dict": lambda: {"a": four(), "k": 2.0},
    "tuple": lambda: (four(), 2),
    "namedtuple": lambda: Pair(four(), 2.0),
    "NamedTuple": lambda: Typed(four()),
    "dataclass": lambda: Data(four()),
    "frozen dataclass": lambda: Frozen(four()),
    "namespace": lambda: types.SimpleNamespace(w=four(), k=2.0),
    "None": lambda: None,
    "set": lambda: {1, 2},
    "frozenset": lambda: frozenset([1, 2]),
    "iterator": lambda: iter([four(), four()]),
    "generator": lambda: (i for i in [1.0, 2.0]),
    "range": lambda: range(3),
    "int": lambda: 7,
    "big int": lambda: 2**80,
    "float": lambda: 2.5,
    "nan": lambda: float("nan"),
    "complex": lambda: 1 + 2j,
    "bool": lambda: True,
    "bytes": lambda: b"ab",
    "enum": lambda: Color.RED,
    "flag": lambda: Flag.A,
    "Fraction": lambda: fractions.Fraction(1, 3),
    "Decimal": lambda: decimal.Decimal("1.5"),
    "date": lambda: datetime.date(2020, 1, 1),
    "objects": lambda: np.array([1, None, "a"], object),
    "slice": lambda: slice(1, 3),
    "Ellipsis": lambda: ...,
    "function": lambda: (lambda v: v * 2),
    "class": lambda: float,
    "dtype": lambda: np.dtype("f4"),
    "ufunc": lambda: np.sin,
    "deque": lambda: collections.deque([1.0, 2.0]),
    "OrderedDict": lambda: collections.OrderedDict(a=1.0),
    "defaultdict": lambda: collections.defaultdict(float, a=1.0),
    "strings": lambda: np.array(["a", "bc"]),
    "memoryview": lambda: memoryview(four()),
    "views": lambda: np.arange(24.0).reshape(2, 3, 4)[:, ::-1],
    "broadcast": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
    "bools": lambda: np.array([True, False]),
    "uint8": lambda: np.arange(250, 256).astype("u1"),
}


def use_mul(x):
    return x * 2


def use_add(x):
    return x + np.ones(4)


def use_compare(x):
    return x == x, x is None, isinstance(x, np.ndarray), type(x).__name__


def use_truth(x):
    return (1 if x else 2), not x


def use_len(x):
    return len(x)


def use_loop(x):
    total = 0.0
    for v in x:
        total = total + v
    return total


def use_return(x):
    return [x, (x,), {"k": x}]


def use_item(x):
    return x[0]


def use_attributes(x):
    return x.w * x.k


def use_fields(x):
    return x.x + x.y, x[0]


def use_key(x):
    return x["a"]


def use_keys(x):
    return [k for k in x], list(x)


def use_numbers(x):
    return float(x), int(x)


def use_text(x):
    return str(x), f"{x}", repr(x)


def use_asarray(x):
    return np.asarray(x), np.array(x), np.shape(x)


def use_numpy(x):
    return np.sum(x), np.max(x), np.sqrt(x)


def use_inplace(x):
    x += 1
    return x


def use_store(x):
    x[0] = 5
    return x


def use_call(x):
    return x(np.ones(3))


def use_as_dtype(x):
    return np.ones(3).astype(x)


def use_as_index(x):
    return np.arange(6.0)[x]


def use_unpack(x):
    a, b = x
    return a, b


def use_equal_text(x):
    return np.ones(2) * (3 if x == "ab" else 4)


def use_items(x):
    return [(k, v) for k, v in x.items()]


def use_operators(x):
    return x**2, x**0.5, x // 2, x % 3, -x, divmod(x, 2)


def use_in(x):
    return 1 in x, "a" in x


def use_hash(x):
    return {x: 1}[x]


def use_builtins(x):
    return sorted(x), min(x), max(x), sum(x)


def use_enum(x):
    return 1.0 if x is Color.RED else 2.0, x == Color.RED


def use_replace(x):
    return dataclasses.replace(x, k=3.0).k


def use_match(x):
    match x:
        case [a, b]:
            return a
        case {"a": a}:
            return a
        case _:
            return 0


def use_bits(x):
    return x & 1, x | 2, ~x, x << 1


def use_parts(x):
    return x.real, x.imag, x.conjugate()


def use_round(x):
    return round(x, 1), abs(x)


def use_concatenate(x):
    return np.concatenate([np.atleast_1d(x), np.ones(2)])


def use_where(x):
    return np.where(x, 1.0, 0.0)


def use_next(x):
    return next(x)


def use_copy(x):
    return copy.copy(x)


def use_facts(x):
    return x.shape, x.dtype, x.ndim, x.size, x.T, x.strides, x.flags.writeable, x.itemsize


def use_methods(x):
    return x.mean(), x.std(), x.sum(axis=0), x.min(), x.argmax()


def use_getattr(x):
    return getattr(x, "w", 1.0) * np.ones(4), hasattr(x, "k")


USES = [v for k, v in list(globals().items()) if k.startswith("use_")]


def outcome(function, x):
    """What the call gives, and what became of the argument; addresses do not count."""
    try:
        seen = "returned", freeze(function(x))
    except Exception as error:
        seen = "raised", type(error).__name__, str(error)
    after = None if hasattr(x, "__next__") else freeze(x)
    return re.sub(r" at 0x[0-9a-f]+", "", repr((seen, after)))[:100000]


@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__[4:])
def test_kinds(use):
    jitted = pyasc.jit(use)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for name, make in KINDS.items():
            for turn in range(3):  # objects of one kind
                assert outcome(jitted, make()) == outcome(use, make()), (name, turn)
            mine, other = make(), make()
            for turn in range(3):  # one object
                assert outcome(jitted, mine) == outcome(use, other), (name, turn)


@pytest.mark.parametrize("exponent", [2, 2.0, -1, -1.0, 0.5, 1, 1.0, 0, 3, 3.0, np.float64(2.0), np.float64(0.5), np.int64(2), 1j])
@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f4"])
def test_powers_have_the_operators_short_cuts(dtype, exponent):
    rng = np.random.default_rng(0)
    a = (rng.random(100) + 0.1 + (1j * rng.random(100) if dtype[0] == "c" else 0)).astype(dtype)
    functions = [lambda a, p: a ** exponent, lambda a, p: a ** p, lambda a, p: np.power(a, exponent) + 0]
    for function in functions:
        jitted = pyasc.jit(function, numerics="strict")
        for _ in range(3):
            assert freeze(jitted(a, exponent)) == freeze(function(a, exponent))
