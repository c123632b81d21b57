"""The public API of functions: decorating, promising shapes, names of NumPy, looking inside."""
import os
import sys
import functools
import inspect
import linecache
import textwrap
import types

import numpy as np
import pytest

import plainly
import pyasc
from same import agrees, freeze

X = np.arange(6.0)


def module(tmp_path, text, name="written"):
    """A module from text, with a file."""
    path = tmp_path / f"{name}.py"
    path.write_text(textwrap.dedent(text))
    made = types.ModuleType(name)
    made.__file__ = str(path)
    linecache.checkcache(str(path))
    exec(compile(path.read_text(), str(path), "exec"), made.__dict__)
    return made


# -- J1: what can be decorated -----------------------------------------------------------


def test_both_spellings():
    @pyasc.jit
    def f(x):
        return x * 2

    @pyasc.jit(numerics="strict")
    def g(x):
        return x * 3

    assert agrees(f, X) and agrees(g, X)
    assert agrees(pyasc.jit(lambda x: x + 1), X)


def test_arguments_by_name_and_default():
    for args, kwargs in [((X,), {}), ((X, 3.0), {}), ((X,), {"scale": 3}), ((), {"x": X, "shift": 1.5})]:
        assert freeze(plainly.named(*args, **kwargs)) == freeze(plainly.named.__wrapped__(*args, **kwargs))
    for call in (lambda f: f(), lambda f: f(X, 1, 2), lambda f: f(X, nothing=1)):
        messages = []
        for f in (plainly.named, plainly.named.__wrapped__):
            with pytest.raises(TypeError) as info:
                call(f)
            messages.append(str(info.value))
        assert messages[0] == messages[1]


def test_star_arguments():
    @pyasc.jit
    def f(x, *rest, scale=1, **named):
        for r in rest:
            x = x * r
        for value in named.values():
            x = x + value
        return x * scale, len(rest)

    for turn in (1.0, 2.0, 3.0):
        assert freeze(f(X, turn, X, scale=2, a=X * turn)) == freeze(
            f.__wrapped__(X, turn, X, scale=2, a=X * turn))


def test_closures_see_their_cells():
    def make(k, w):
        @pyasc.jit
        def f(x):
            return x * k + w

        def change(value):
            nonlocal k
            k = value
        return f, change

    w = np.ones(6)
    f, change = make(2.0, w)
    assert agrees(f, X)
    change(5.0)
    assert agrees(f, X)
    w += 10
    assert agrees(f, X)
    assert freeze(f(X)) == freeze(X * 5.0 + w)


def test_methods():
    model, child = plainly.Model(np.eye(3)), plainly.Child(np.ones((3, 2)))
    x = np.ones((2, 3))
    for turn in (1.0, 2.0, 3.0):
        assert freeze(model.forward(x * turn)) == freeze(np.tanh(x * turn @ np.eye(3)) * 0.5)
        assert freeze(child.forward(x * turn)) == freeze(np.tanh(x * turn @ np.ones((3, 2))) * 0.25 + 1)
        assert freeze(model(x * turn)) == freeze(np.tanh(x * turn @ np.eye(3)) * 0.5 + np.sqrt(3.0))
    model.w = model.w * 2
    assert freeze(model.forward(x)) == freeze(np.tanh(x @ np.eye(3) * 2) * 0.5)
    model.rate = 3
    assert freeze(model.forward(x)) == freeze(np.tanh(x @ np.eye(3) * 2) * 3)
    assert freeze(model.norm) == freeze(np.sqrt((model.w**2).sum()))
    assert freeze(plainly.Model.forward(model, x)) == freeze(model.forward(x))


def test_methods_are_traced():
    model = plainly.Model(np.eye(3))
    model.forward(np.ones((2, 3)))
    model.forward(np.ones((2, 3)))
    facts = plainly.Model.forward._facts()
    assert any(entry["hits"] for entry in facts["entries"])


def test_class_and_static_methods():
    for turn in (1.0, 2.0, 3.0):
        assert freeze(plainly.Model.scaled(X * turn)) == freeze(X * turn * 0.5)
        assert freeze(plainly.Child(None).scaled(X * turn)) == freeze(X * turn * 0.25)
        assert freeze(plainly.Model.twice(X * turn)) == freeze(X * turn * 2)
        assert freeze(plainly.Model(None).thrice(X * turn)) == freeze(X * turn * 3)
    assert isinstance(inspect.getattr_static(plainly.Model, "scaled"), classmethod)
    assert isinstance(inspect.getattr_static(plainly.Model, "thrice"), staticmethod)


def test_bound_methods_partials_and_callable_objects():
    affine = plainly.Affine(np.arange(6.0), 2.0)
    for callable_ in (affine, affine.__call__, functools.partial(np.add, 1), functools.partial(affine),
                      np.exp, len, float):
        plain = callable_
        jitted = pyasc.jit(callable_)
        args = (2.5,) if callable_ is float else (X,)
        for _ in range(3):
            assert freeze(jitted(*args)) == freeze(plain(*args))
    jitted = pyasc.jit(affine.__call__)
    jitted(X)
    affine.b = 7.0
    assert freeze(jitted(X)) == freeze(affine(X))


def test_not_callable():
    with pytest.raises(TypeError, match="needs a function, got list"):
        pyasc.jit([])


def test_jit_of_jit():
    once = pyasc.jit(lambda x: x * 2)
    twice = pyasc.jit(once)
    assert twice.__wrapped__ is once.__wrapped__
    assert agrees(twice, X)


def test_calls_of_jitted_functions():
    assert freeze(plainly.outer(X)) == freeze((X + 1) * (X * 2 + 1))
    assert freeze(plainly.outer(X)) == freeze((X + 1) * (X * 2 + 1))
    assert plainly.outer.report()["fallback"] is False or plainly.outer.wait() is None


def test_recursion():
    for n in (0, 1, 5, 5, 30):
        assert freeze(plainly.factorial(X, n)) == freeze(plainly.factorial.__wrapped__(X, n))
        assert freeze(plainly.power_sum(X, n)) == freeze(plainly.power_sum.__wrapped__(X, n))
    with pytest.raises(RecursionError):
        plainly.factorial(X, -1)
    assert freeze(plainly.factorial(X, 3)) == freeze(X * 0 + 6)


def test_decorated_functions_and_lambdas_on_a_line():
    for _ in range(3):
        assert freeze(plainly.decorated(X)) == freeze((X + 0.5) * 10)
        assert freeze(plainly.first(X)) == freeze(X + 1)
        assert freeze(plainly.second(X)) == freeze(X * 5)


def test_functions_without_source():
    log = []
    namespace = {"np": np, "log": log}
    exec("def f(x):\n    log.append(1)\n    return np.sin(x) * 2\n", namespace)
    f = pyasc.jit(namespace["f"])
    for turn in range(4):
        assert freeze(f(X + turn)) == freeze(np.sin(X + turn) * 2)
    assert len(log) == 4
    assert "source" in f.explain()
    g = pyasc.jit(eval("lambda x: x + 1"))
    assert agrees(g, X)
    assert g.report()["fallback"] is True


def test_edited_file(tmp_path):
    made = module(tmp_path, """
        def f(x):
            return x + 1
        """)
    (tmp_path / "written.py").write_text("def f(x):\n    return x + 100\n")
    linecache.checkcache()
    f = pyasc.jit(made.f)
    for _ in range(3):
        assert freeze(f(X)) == freeze(X + 1)


def test_exchanged_code(tmp_path):
    made = module(tmp_path, """
        def helper(x, k=2):
            return x * k
        def other(x, k=3):
            return x - k
        def f(x, b=1):
            return helper(x) + b
        def g(x, b=5):
            return x * b
        """)
    f = pyasc.jit(made.f)
    assert agrees(f, X)
    made.helper.__defaults__ = (9,)
    assert agrees(f, X)
    made.helper.__code__ = made.other.__code__
    assert agrees(f, X)
    made.f.__defaults__ = (4,)
    assert agrees(f, X)
    made.f.__code__ = made.g.__code__
    assert agrees(f, X)
    made.helper = lambda x: x * 0
    assert agrees(f, X)


# -- J1: shape_infer ---------------------------------------------------------------------------


def test_shape_infer_compiles_ahead():
    def f(x, y):
        return np.sqrt(x * x + y * y)

    for spec in ([(64,), (64,)], [((64,), "float64")] * 2, [np.ones(64)] * 2, [[64], (64,)]):
        jitted = pyasc.jit(f, shape_infer=spec)
        before = jitted.cache_info()
        assert before.traces == 1
        assert freeze(jitted(np.ones(64), np.ones(64))) == freeze(f(np.ones(64), np.ones(64)))
        after = jitted.cache_info()
        assert (after.traces, after.hits) == (1, before.hits + 1)


def test_shape_mismatch_text():
    f = pyasc.jit(lambda image, k: image * k, shape_infer=[(256, 256), ()])
    with pytest.raises(pyasc.ShapeError) as info:
        f(np.ones((224, 224)), 2.0)
    assert str(info.value).startswith("Shape mismatch: expected [256,256], got [224,224]")
    assert "argument 1" in str(info.value) and "'image'" in str(info.value)
    assert issubclass(pyasc.ShapeError, ValueError)
    with pytest.raises(pyasc.ShapeError, match=r"expected \[256,256\], got \[256,256,1\]"):
        f(np.ones((256, 256, 1)), 2.0)
    with pytest.raises(pyasc.ShapeError, match=r"argument 2 'k'"):
        f(np.ones((256, 256)), np.ones(3))
    assert f(np.ones((256, 256)), 2.0).shape == (256, 256)
    with pytest.raises(pyasc.ShapeError, match=r"\(argument 1 'image'\)"):
        f(image=np.ones((2, 2)), k=2.0)


def test_dtype_mismatch():
    f = pyasc.jit(lambda x: x * 2, shape_infer=[((4,), np.float32)])
    assert f(np.ones(4, "f4")).dtype == np.float32
    with pytest.raises(pyasc.ShapeError, match="expected float32, got float64"):
        f(np.ones(4))
    any_dtype = pyasc.jit(lambda x: x * 2, shape_infer=[(4,)])
    assert any_dtype(np.ones(4, "i4")).dtype == np.int32


def test_shape_infer_of_functions_with_effects():
    log = []

    @functools.partial(pyasc.jit, shape_infer=[(3,)])
    def f(x):
        y = x * 2
        log.append(1)
        return y

    assert log == []
    for n in (1, 2, 3):
        f(np.ones(3))
        assert len(log) == n


def test_shape_infer_is_checked():
    with pytest.raises(TypeError, match="shape_infer"):
        pyasc.jit(lambda x: x, shape_infer=["abc"])


# -- J2: names of NumPy ---------------------------------------------------------------------------


def test_names_of_numpy():
    @pyasc.jit
    def f(x):
        return pyasc.sum(pyasc.maximum(x, 2.0)) + np.exp(pyasc.mean(x)), pyasc.cast(x, "float32")

    @pyasc.jit
    def g(x):
        return np.sum(np.maximum(x, 2.0)) + np.exp(np.mean(x)), x.astype("float32")

    for turn in (1.0, 2.0, 3.0):
        assert freeze(f(X * turn)) == freeze(g.__wrapped__(X * turn))
    assert pyasc.sin is np.sin and pyasc.pi == np.pi
    assert freeze(pyasc.cast(3, "float32")) == freeze(np.float32(3))
    assert freeze(pyasc.cast([1, 2], "f8")) == freeze(np.array([1.0, 2.0]))
    with pytest.raises(AttributeError, match="nothing_like_this"):
        pyasc.nothing_like_this


# -- J3: IR and shapes ------------------------------------------------------------------------------


def test_lower_gives_the_stages():
    @pyasc.jit
    def f(x, y):
        return np.sqrt(x + y) * 2.0

    stages = f.lower(np.ones(64), np.ones(64))
    assert "func" in stages["ir"] and "f64[64]" in stages["ir"] and "sqrt" in stages["ir"]
    assert "sqrt" in stages["kernels"]
    if stages["llvm"]:
        assert "define" in stages["llvm"] and "sqrt" in stages["llvm"]
        assert "ret" in stages["assembly"]
    shapes = pyasc.shape_inference(stages["ir"])
    assert ((64,), "f64") in shapes.values()
    assert pyasc.shape_inference(stages) == shapes
    with pytest.raises(ValueError, match="binder"):
        pyasc.shape_inference("no graph at all")
    assert {"add", "sqrt"} <= {row[0] for row in pyasc.ops()}


def test_lower_without_plan():
    f = pyasc.jit(lambda x: x)
    with pytest.raises(ValueError, match="no plan"):
        f.lower()


# -- J4: explain and report --------------------------------------------------------------------------


def test_report_of_a_fused_chain():
    @pyasc.jit
    def f(x, y):
        return np.sqrt(x * x + y * y) - 1.0

    assert f.report()["fallback"] is True and f.report()["reasons"] == ["not called yet"]
    f(np.ones(1000), np.ones(1000))
    f.wait()
    report = f.report()
    assert set(report) >= {"fallback", "ops_compiled", "ops_tier0", "ops_library", "ops_effect", "kernels", "reasons"}
    text = f.explain()
    assert "sqrt" in text and "mul" in text
    assert report["kernels"] <= 1


def test_report_says_why():
    @pyasc.jit
    def f(x):
        sys._getframe()
        return x

    f(X)
    report = f.report()
    assert report["fallback"] is True
    assert any("looks at its caller" in r for r in report["reasons"])
    assert "looks at its caller" in f.explain()
    assert isinstance(f.explain(np.ones(3)), str)


def test_explain_names_the_arguments():
    class Thing:
        pass

    f, thing = pyasc.jit(lambda x, *rest, **named: x * 2), Thing()
    f(np.ones((3, 4)), 1.5, "a", [1, np.ones(2, "f4")], thing, np.int8(3))
    assert "(float64(3, 4), float, 'a', list, 1, float32(2,), this Thing, numpy.int8)" in f.explain()
    del thing
    assert "an object that is gone" in f.explain()
    strict = pyasc.jit(lambda x: np.exp(x) + np.sin(x), numerics="strict")
    strict(np.ones(9))
    assert "9 elements: exp sin add" in strict.explain()


def test_cache_info_and_clear():
    f = pyasc.jit(lambda x: x * 2)
    for n in (3, 3, 4, 3):
        f(np.ones(n, "f8" if n == 3 else "f4"))
    info = f.cache_info()
    assert (info.hits, info.misses, info.traces, info.currsize) == (2, 2, 2, 2)
    f.cache_clear()
    assert f.cache_info().currsize == 0
    assert agrees(f, X)


# -- J7: results are NumPy's -------------------------------------------------------------------------


def test_kinds_of_results():
    @pyasc.jit
    def f(x, y):
        assert isinstance(x, np.ndarray) and type(x) is np.ndarray
        return {"same": x, "view": x[1:], "scalar": x.sum(), "float": float(x[0]), "new": x + y,
                "list": [x[0], (y,)], "none": None, "text": "a", "n": x.shape[0], "bool": bool(x[0] > 0),
                "true": x[0] > 0, "back": y.T[::-1]}

    y = np.ones(6)
    for turn in range(4):
        x = X + turn
        got, expected = f(x, y), f.__wrapped__(x, y)
        assert freeze(got) == freeze(expected)
        assert got["same"] is x and got["list"][1][0] is y
        assert np.shares_memory(got["view"], x) and got["view"].base is x
        assert not np.shares_memory(got["new"], x) and got["new"].base is None
        assert got["new"].flags.owndata and got["new"].flags.writeable


def test_containers_keep_their_identity():
    kept = [1, 2]

    @pyasc.jit
    def f(x, items, d):
        row = [x * 2]
        return items, d, kept, row, row

    for _ in range(3):
        items, d = [X], {"a": 1}
        got = f(X, items, d)
        assert got[0] is items and got[1] is d and got[2] is kept and got[3] is got[4]


def test_independent_results():
    @pyasc.jit
    def f(x):
        y = np.zeros(3) + x
        return y, np.arange(3)

    a, b = f(np.ones(3)), f(np.ones(3))
    a[0][:] = 7
    a[1][:] = 9
    assert freeze(b) == freeze((np.ones(3), np.arange(3)))
    assert freeze(f(np.ones(3))) == freeze((np.ones(3), np.arange(3)))


# -- What is said where there is no plan -------------------------------------------------


def speaks(x):
    print(end="")
    return x


def adds_into(a, b):
    a += b
    return a


def test_overlap_is_explained():
    jitted = pyasc.jit(adds_into)
    z = np.arange(5.0)
    for _ in range(3):
        jitted(z[1:], z[:-1])
    assert "overlap" in jitted.explain()
    assert any("overlap" in reason for reason in jitted.report()["reasons"])


def test_lower_of_other_arguments():
    jitted = pyasc.jit(adds_into)
    with pytest.raises(ValueError, match="not called yet"):
        jitted.lower()
    jitted(np.ones(3), np.ones(3))
    with pytest.raises(ValueError, match="no plan for these arguments: TypeError"):
        jitted.lower(np.ones(3))
    with pytest.raises(ValueError, match="no plan for these arguments: ValueError: operands could not"):
        jitted.lower(np.ones(3), np.ones(2))
    assert "these arguments: TypeError" in jitted.explain(np.ones(3))
    with pytest.raises(ValueError, match="no plan for these arguments: it has an effect"):
        pyasc.jit(speaks).lower(np.ones(3))


@pytest.mark.parametrize("shapes", [[(3,)], [(3,), (3,), (3,)]])
def test_shape_infer_count(shapes):
    with pytest.raises(TypeError, match=rf"shape_infer: {len(shapes)} entries for adds_into\(\)"):
        pyasc.jit(adds_into, shape_infer=shapes)


# -- Long functions ----------------------------------------------------------------------


def long_chain(x, n):
    for i in range(n):
        x = x + i * (i % 3)
    return x


def long_while(x, n):
    i = 0
    while i < n:
        x = (x * 0.5).astype("f4") if i % 5 else x - i
        i += 1
    return x


@pytest.mark.parametrize("function", [long_chain, long_while])
@pytest.mark.parametrize("n", [100, 15000, 25000])
def test_long_chains(function, n):
    jitted = pyasc.jit(function, tier=0)
    for _ in range(3):
        assert freeze(jitted(np.ones(3), n)) == freeze(function(np.ones(3), n))


# -- What may not leave a call -----------------------------------------------------------


def method_of(x):
    return [x.T.sum, x.dot]


def test_methods_leave_as_numpys():
    jitted = pyasc.jit(method_of)
    for _ in range(3):
        total, dot = jitted(np.arange(3.0))
        assert type(total) is type(np.ones(1).sum)
        assert total() == 3 and dot(np.ones(3)) == 3


def to_the_first(x):
    return x**1


@pytest.mark.parametrize("dtype", ["c16", "c8", "f8", "f4", "i4"])
def test_powers_of_one(dtype):
    x = np.array([-0.0, 0.0, 1, -2]).astype(dtype)
    if x.dtype.kind == "c":
        x = np.array([complex(-0.0, 0.0), complex(-0.0, -0.0), complex(0, -0.0), complex(3, -0.0)], dtype)
    jitted = pyasc.jit(to_the_first)
    for _ in range(3):
        assert jitted(x).tobytes() == (x**1).tobytes()


@pytest.mark.parametrize("given", [5, "ab", {1: 2}])
def test_shape_infer_is_a_list(given):
    with pytest.raises(TypeError, match="shape_infer: expected a list with one entry per argument"):
        pyasc.jit(lambda x: x, shape_infer=given)


def test_classes_are_not_jitted():
    with pytest.raises(TypeError, match="Model is a class; put it on its methods"):
        @pyasc.jit
        class Model:
            pass
