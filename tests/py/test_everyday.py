"""Everyday life of a jitted function: metadata, pickling, copies, debuggers, child processes, tracebacks."""
import copy
import inspect
import os
import pickle
import traceback

import numpy as np
import pytest

import plainly
import pyasc
from same import agrees, freeze, python

X = np.arange(6.0)


# -- J8: everyday life ----------------------------------------------------------------------------------


def test_metadata():
    f, plain = plainly.named, plainly.named.__wrapped__
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        assert getattr(f, name) == getattr(plain, name)
    assert inspect.signature(f) == inspect.signature(plain)
    assert inspect.unwrap(f) is plain and callable(f)
    assert "named" in repr(f)
    f.note = 5
    assert f.note == 5
    del f.note
    assert inspect.getsource(f).startswith("@pyasc.jit\ndef named")


def test_pickle_and_copy():
    f = plainly.named
    assert pickle.loads(pickle.dumps(f)) is f
    assert copy.copy(f) is f and copy.deepcopy(f) is f
    assert pickle.loads(pickle.dumps(plainly.Model.forward)) is plainly.Model.forward
    assert copy.deepcopy({"f": f})["f"] is f
    reduced = f.__reduce__()
    assert reduced == "named"


def test_pickle_of_local_functions():
    """As cloudpickle does: the reduction names a function to call with the plain one and its options."""
    k = 3.0
    f = pyasc.jit(lambda x: x * k, numerics="strict")
    build, args = f.__reduce__()
    again = build(*args)
    assert type(again) is type(f) and again.__wrapped__ is f.__wrapped__
    assert agrees(again, X)


def test_disable():
    out = python("""
        import numpy as np, pyasc, plainly
        print(plainly.named(np.ones(2)), plainly.named.cache_info().misses)
        """, PYASC_DISABLE="1")
    assert out == "[2. 2.] 0"
    out = python("""
        import numpy as np, pyasc, plainly
        print(plainly.named(np.ones(2)), plainly.named.cache_info().misses)
        """, PYASC_DISABLE="0")
    assert out == "[2. 2.] 1"


def test_disable_traces_nothing_and_says_so():
    out = python("""
        import numpy as np, pyasc
        calls = []
        f = pyasc.jit(lambda x: (calls.append(x), x * 2)[1], shape_infer=[(3,)])
        print(len(calls), f(np.ones(2)), len(calls), f.report()["reasons"], "PYASC_DISABLE" in f.explain())
        """, PYASC_DISABLE="1")
    assert out.startswith("0 [2. 2.] 1 ") and out.endswith(" True") and "PYASC_DISABLE" in out.split("True")[0]


def test_generators_async_and_objects_run_plain():
    @pyasc.jit
    def numbers(x):
        for v in x:
            yield v * 2

    assert inspect.isgenerator(numbers(X))
    assert freeze(list(numbers(X))) == freeze([v * 2 for v in X])

    @pyasc.jit
    async def later(x):
        return x * 2

    coroutine = later(X)
    assert inspect.iscoroutine(coroutine)
    with pytest.raises(StopIteration) as info:
        coroutine.send(None)
    assert freeze(info.value.value) == freeze(X * 2)

    add = pyasc.jit(lambda x, y: x + y)
    objects = np.array([1, "a", [2]], dtype=object)
    for _ in range(3):
        assert list(add(objects, objects)) == [2, "aa", [2, 2]]


def last_line(function, *args):
    """Exception and the lines of its traceback, as a user sees them."""
    try:
        function(*args)
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)[1:]
        return type(error), str(error), [(os.path.basename(f.filename), f.name, f.line) for f in frames]
    return None


@pytest.mark.parametrize("function, good, bad", [
    (plainly.fails, (-X,), (X + 1,)),
    (plainly.bad_shapes, (X, X), (X, np.ones(4))),
], ids=["raise", "shapes"])
def test_tracebacks(function, good, bad):
    plain = function.__wrapped__
    expected = last_line(plain, *bad)
    assert last_line(function, *bad) == expected
    for _ in range(2):
        assert freeze(function(*good)) == freeze(plain(*good))
        assert last_line(function, *bad) == expected
        assert last_line(function, *good) is None


def test_traceback_of_a_failing_library_call():
    f = pyasc.jit(invert)
    expected = last_line(invert, np.zeros((2, 2)))
    f(np.eye(2))
    f(np.eye(2))
    assert last_line(f, np.zeros((2, 2))) == expected


def invert(m):
    return np.linalg.inv(m) + 1


def test_interrupts_and_exits_pass():
    @pyasc.jit
    def f(x, error):
        raise error

    for error in (KeyboardInterrupt(), SystemExit(3), GeneratorExit()):
        for _ in range(2):
            with pytest.raises(type(error)) as info:
                f(X, error)
            assert info.value is error


SINGLE_PRODUCTS = {
    "product": lambda a, b: a * b,
    "square": lambda a, b: np.square(a) + b,
    "power": lambda a, b: a**2,
    "number": lambda a, b: a * (1.1 + 0.3j),
    "ufunc": lambda a, b: np.multiply(a, b),
    "cube": lambda a, b: np.power(a, 3) + b**3,
    "inverse": lambda a, b: a**-1 + b**0.5,
    "complex power": lambda a, b: a**b,
    "item": lambda a, b: a * b.ravel()[0],
    "items": lambda a, b: a.ravel()[0] * b.ravel()[0],
    "sum": lambda a, b: (a * b).sum(),
    "slice": lambda a, b: a[:1] * b[:1] if a.ndim else a * b,
    "out": lambda a, b: np.multiply(a, b, out=np.empty_like(a)),
}


@pytest.mark.parametrize("tier", [0, 1])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1), (4,)])
@pytest.mark.parametrize("name", SINGLE_PRODUCTS)
def test_products_of_one_complex_number(name, shape, dtype, tier):
    """NumPy's loops give other last bits for a run of one element than for a number that stands still."""
    plain = SINGLE_PRODUCTS[name]
    f = pyasc.jit(plain, tier=tier)
    rng = np.random.default_rng(4)
    for _ in range(40):
        a, b = (np.asarray(rng.normal(size=shape) + 1j * rng.normal(size=shape)).astype(dtype) for _ in "ab")
        assert freeze(f(a, b)) == freeze(plain(a, b))
