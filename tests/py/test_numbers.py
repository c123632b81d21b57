"""NumPy's scalar types called with numbers: constants, and casts without a call."""
import numpy as np
import pytest

import pyasc
from moves import check, made

TYPES = ["bool", "int8", "uint8", "int32", "int64", "uint64", "float16", "float32", "float64", "complex64", "complex128"]


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("number", [0, 1, 7, -3, 2.5, -0.0, 1e300, float("nan"), True, 300, 1j, 2**40])
def test_constants(name, number):
    kind = getattr(np, name + ("_" if name == "bool" else ""))

    def alone(x):
        return kind(number)

    def with_arrays(x):
        return x * kind(number), kind(number) + kind(1), x + np.float32(2), kind()

    for function in (alone, with_arrays):
        check(function, (made("f8", (5,)),), (made("f4", (5,)),), (made("i4", (5,)),), compiled=False)


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "u1", "?", "c16"])
def test_casts(name, dtype):
    kind = getattr(np, name + ("_" if name == "bool" else ""))

    def casts(x):
        return kind(x[0]), kind(x.max()) + kind(x[1]), x * kind(x[2])

    def of_a_number(x, a):
        return kind(a), x * kind(a)

    check(casts, (made(dtype, (5,)),), (made(dtype, (5,), 3),), compiled=False)
    check(of_a_number, (made(dtype, (5,)), 2.5), (made(dtype, (5,)), -7.25), (made(dtype, (5,)), float("nan")), compiled=False)


def test_nothing_is_called():
    def numbers(x, a):
        return x * np.float32(0.1), np.int64(3) + x, np.float64(x[0]) * 2, np.float32(x.sum()) + 1, np.float32(a) * x

    check(numbers, (made("f4", (500,)), 0.1), (made("f4", (500,)), 2.0))


def ufuncs_of_numbers(x):
    return (x / np.sqrt(x.shape[0]), np.sqrt(252), np.maximum(3, 5.0), np.maximum(-3, 5), np.abs(-3), np.log(len(x) + 1),
            np.sqrt(True), np.sign(-3), np.hypot(3, 4), np.isnan(3), np.add(2**62, 2**62), np.float64(3) + np.floor(7),
            np.square(3) * x, np.power(2, 10), np.power(2, -1.0), np.copysign(0.0, -1), np.sqrt(-1), np.add(True, True))


def test_ufuncs_of_numbers():
    """What they give is a constant, with no call for it."""
    with np.errstate(all="ignore"):
        check(ufuncs_of_numbers, (made("f8", (5,)),), (made("f4", (3,)),), numerics="strict")


@pytest.mark.parametrize("constant", [np.float64(3), np.float32(2), np.int8(1)], ids=str)
def test_nothing_but_a_constant(constant):
    """A plan whose only slot is a constant that is returned."""
    kind = type(constant)

    def alone():
        return kind(3)

    def from_a_type():
        return np.finfo(np.float64).eps

    for function in (alone, from_a_type):
        jitted = pyasc.jit(function)
        for _ in range(3):
            assert jitted() == function() and type(jitted()) is type(function())
