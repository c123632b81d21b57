"""pyasc.Graph: graphs from text run as they stand, op by op and region by region, against NumPy."""

import numpy as np
import pytest

import pyasc


def run(text, *args):
    graph = pyasc.Graph(text)
    results = graph(*args)
    again = pyasc.Graph(str(graph))
    assert str(again) == str(graph)
    for other in (again, graph.passed()):
        for a, b in zip(np.atleast_1d(np.array(results, object)), np.atleast_1d(np.array(other(*args), object))):
            np.testing.assert_array_equal(a, b)
    return results


# -- Regions ------------------------------------------------------------------------------

POWER = """
func %power(%n: index, %x: f64[m]) -> (f64[m]) {
  %one: f64 = const {value = 1.0}
  %start: f64[m] = broadcast %one
  %r: f64[m] = for %n, %start (%k: index, %p: f64[m]) {
    %q: f64[m] = multiply %p, %x
    yield %q
  }
  ret %r
}
"""


@pytest.mark.parametrize("n", [-3, 0, 1, 5])
def test_for(n):
    x = np.linspace(0.5, 2, 7)
    expected = np.ones(7)
    for _ in range(n):
        expected = expected * x
    np.testing.assert_array_equal(run(POWER, n, x), expected)


def test_for_that_ends_early():
    text = """
func %find(%n: index, %a: f64[m], %limit: f64) -> (f64, index, bool) {
  %zero: f64 = const {value = 0.0}
  %no: bool = const {value = 0}
  %first: index = const {value = 0}
  %one: index = const {value = 1}
  %s: f64, %c: index, %u: bool = for %n, %zero, %first, %no {until = 2} (%k: index, %acc: f64, %j: index, %stop: bool) {
    %x: f64 = take_index %a, %k
    %acc1: f64 = add %acc, %x
    %j1: index = iadd %j, %one
    %big: bool = greater %acc1, %limit
    yield %acc1, %j1, %big
  }
  ret %s, %c, %u
}
"""
    a = np.arange(10.0)
    total, count, ended = run(text, 10, a, np.float64(12))
    assert (total, count, bool(ended)) == (15.0, 6, True)
    total, count, ended = run(text, 10, a, np.float64(1e9))
    assert (total, count, bool(ended)) == (45.0, 10, False)


def test_nested_loops_with_a_triangular_inner_one():
    text = """
func %prefix(%n: index, %a: f64[m]) -> (f64) {
  %zero: f64 = const {value = 0.0}
  %one: index = const {value = 1}
  %r: f64 = for %n, %zero (%i: index, %s: f64) {
    %t: index = iadd %i, %one
    %in: f64 = for %t, %s (%j: index, %p: f64) {
      %x: f64 = take_index %a, %j
      %q: f64 = add %p, %x
      yield %q
    }
    yield %in
  }
  ret %r
}
"""
    a = np.arange(1.0, 9.0)
    expected = 0.0
    for i in range(8):
        for j in range(i + 1):
            expected += a[j]
    assert run(text, 8, a) == expected


def test_swapped_values_are_read_before_they_are_set():
    text = """
func %fib(%n: index) -> (i64, i64) {
  %a: i64 = const {value = 0}
  %b: i64 = const {value = 1}
  %x: i64, %y: i64 = for %n, %a, %b (%k: index, %p: i64, %q: i64) {
    %s: i64 = add %p, %q
    yield %q, %s
  }
  ret %x, %y
}
"""
    assert tuple(int(v) for v in run(text, 10)) == (55, 89)


def test_while():
    text = """
func %halve(%x: f64[m]) -> (f64[m], i64) {
  %n: i64 = const {value = 0}
  %r: f64[m], %c: i64 = while %x, %n (%p: f64[m], %k: i64) {
    %m: f64 = max %p
    %go: bool = greater %m, 1.0
    yield %go, %p, %k
  } (%seen: f64[m], %j: i64) {
    %h: f64[m] = multiply %seen, 0.5
    %i: i64 = add %j, 1
    yield %h, %i
  }
  ret %r, %c
}
"""
    for top in (0.5, 3.0, 100.0):
        x, count = np.array([top, 0.25]), 0
        while x.max() > 1.0:
            x, count = x * 0.5, count + 1
        got, turns = run(text, np.array([top, 0.25]))
        np.testing.assert_array_equal(got, x)
        assert turns == count


def test_if_with_extents_that_differ():
    text = """
func %choose(%c: pybool, %n: index, %m: index, %a: f64[%n], %b: f64[%m]) -> (index, f64[%e]) {
  %e: index, %r: f64[%e] = if %c () {
    %x: f64[%n] = negative %a
    yield %n, %x
  } () {
    %y: f64[%m] = sqrt %b
    yield %m, %y
  }
  ret %e, %r
}
"""
    a, b = np.arange(3.0), np.arange(5.0)
    n, r = run(text, True, 3, 5, a, b)
    assert n == 3
    np.testing.assert_array_equal(r, -a)
    n, r = run(text, False, 3, 5, a, b)
    assert n == 5
    np.testing.assert_array_equal(r, np.sqrt(b))


def test_a_branch_in_a_loop():
    text = """
func %collatz(%x: i64) -> (i64) {
  %zero: i64 = const {value = 0}
  %v: i64, %c: i64 = while %x, %zero (%p: i64, %k: i64) {
    %go: bool = greater %p, 1
    yield %go, %p, %k
  } (%q: i64, %j: i64) {
    %odd: i64 = bitwise_and %q, 1
    %is: bool = equal %odd, 1
    %next: i64 = if %is () {
      %t: i64 = multiply %q, 3
      %u: i64 = add %t, 1
      yield %u
    } () {
      %h: i64 = floor_divide %q, 2
      yield %h
    }
    %i: i64 = add %j, 1
    yield %next, %i
  }
  ret %c
}
"""
    assert run(text, np.int64(27)) == 111


def test_interrupt_in_a_loop():
    import signal
    import threading
    import time

    text = """
func %forever(%x: f64) -> (f64) {
  %r: f64 = while %x (%p: f64) {
    %go: bool = less 0.0, %p
    yield %go, %p
  } (%q: f64) {
    %s: f64 = sqrt %q
    yield %s
  }
  ret %r
}
"""
    main = threading.main_thread().ident
    threading.Thread(target=lambda: (time.sleep(0.2), signal.pthread_kill(main, signal.SIGINT))).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        pyasc.Graph(text)(np.float64(2))
    assert time.monotonic() - begin < 10


# -- Ops ----------------------------------------------------------------------------------

X = np.arange(24.0).reshape(2, 3, 4)


@pytest.mark.parametrize("line, expected", [
    ("f64[4, 2, 3] = transpose %x {axes = [2, 0, 1]}", X.transpose(2, 0, 1)),
    ("f64[6, 4] = reshape %x {shape = [6, 4]}", X.reshape(6, 4)),
    ("f64[5, 2, 3, 4] = broadcast %x {shape = [5, 2, 3, 4]}", np.broadcast_to(X, (5, 2, 3, 4))),
    ("f64[1, 2, 2] = slice %x {start = [1, 2, 0], step = [1, -2, 3], count = [1, 2, 2]}", X[1:2, 2::-2, 0:4:3]),
    ("f64[3, 4] = sum %x {axes = [0]}", X.sum(0)),
    ("f64[2, 1, 4] = max %x {axes = [1], keepdims = 1}", X.max(1, keepdims=True)),
    ("f64[4] = prod %x {axes = [0, 1]}", X.prod((0, 1))),
    ("f64 = min %x", X.min()),
    ("bool = any %x", X.any()),
    ("bool[2] = all %x {axes = [1, 2]}", X.all((1, 2))),
    ("i64[2, 4] = argmax %x {axes = [1]}", X.argmax(1)),
    ("i64 = argmin %x", X.argmin()),
    ("f64[2, 3, 4] = cumsum %x {axis = 2}", X.cumsum(2)),
    ("f64[2, 3, 4] = cumprod %x {axis = 0}", X.cumprod(0)),
    ("f64[2, 3, 4] = copy %x", X),
    ("f64[3] = view %x {offset = 8, shape = [3], strides = [32]}", X[0, :, 1]),
    ("f32[2, 3, 4] = cast %x", X.astype("f4")),
    ("i64[2, 3] = iota {axis = 1}", np.broadcast_to(np.arange(3), (2, 3))),
    ("f64[2, 3, 4] = add %x, 1.5", X + 1.5),
    ("f64[3, 2, 4] = call %x {name = \"swapaxes_01\"}", None),
])
def test_one_op(line, expected):
    text = f"func %f(%x: f64[2, 3, 4]) -> ({line.split(' =')[0]}) {{\n  %r: {line}\n  ret %r\n}}\n"
    if expected is None:
        with pytest.raises(AttributeError, match="swapaxes_01"):
            pyasc.Graph(text)(X)
        return
    got = run(text, X)
    assert got.dtype == expected.dtype and got.shape == expected.shape
    np.testing.assert_array_equal(got, expected)


def test_update_leaves_the_old_version():
    text = """
func %f(%x: f64[2, 3], %v: f64[3]) -> (f64[2, 3], f64[2, 3]) {
  %r: f64[2, 3] = update %x, %v {offset = 24, strides = [8], shape = [3]}
  %s: f64[2, 3] = add %x, %r
  ret %r, %s
}
"""
    x, v = np.arange(6.0).reshape(2, 3), np.full(3, 9.0)
    expected = x.copy()
    expected[1] = v
    r, s = run(text, x, v)
    np.testing.assert_array_equal(r, expected)
    np.testing.assert_array_equal(s, x + expected)
    np.testing.assert_array_equal(x, np.arange(6.0).reshape(2, 3))


def test_run_time_indices():
    text = """
func %f(%x: f64[m], %i: index) -> (f64, index, index) {
  %n: index = dim %x {axis = 0}
  %w: index = wrap %i, %n
  %v: f64 = take_index %x, %w
  %c: index = clamp %i, %n
  ret %v, %w, %c
}
"""
    x = np.arange(5.0)
    assert run(text, x, -2) == (3.0, 3, 3)
    assert run(text, x, 4) == (4.0, 4, 4)
    with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 5|index 7"):
        pyasc.Graph(text)(x, 7)


def test_fused_and_broadcast_statements():
    text = """
func %f(%a: f32[n, 1], %b: f32[m], %k: f32) -> (f32[n, m], bool[n, m]) {
  %s: f32[n, m] = add %a, %b
  %t: f32[n, m] = multiply %s, %k
  %u: bool[n, m] = less %t, 3.0
  %v: f32[n, m] = select %u, %t, 0.0
  ret %v, %u
}
"""
    a, b, k = np.arange(3, dtype="f4")[:, None], np.arange(4, dtype="f4")[::-1], np.float32(0.7)
    t = (a + b) * k
    v, u = run(text, a, b, k)
    np.testing.assert_array_equal(v, np.where(t < 3, t, np.float32(0)))
    np.testing.assert_array_equal(u, t < 3)
    assert v.dtype == np.float32


# -- What is refused ----------------------------------------------------------------------


@pytest.mark.parametrize("args, error, words", [
    ((3, np.ones(4, "f4")), TypeError, "argument 1: expected f64, got float32"),
    ((3, np.ones((4, 1))), ValueError, "argument 1: expected 1 axes, got 2"),
    ((3,), TypeError, "takes 2 arguments, got 1"),
    (("a", np.ones(3)), TypeError, "str"),
])
def test_wrong_arguments(args, error, words):
    with pytest.raises(error, match=words):
        pyasc.Graph(POWER)(*args)


def test_extents_that_contradict():
    text = "func %f(%a: f64[n], %b: f64[n]) -> (f64[n]) {\n  %r: f64[n] = add %a, %b\n  ret %r\n}\n"
    with pytest.raises(ValueError, match="argument 1: axis 0 is 4, expected 3"):
        pyasc.Graph(text)(np.ones(3), np.ones(4))


@pytest.mark.parametrize("text", ["", "func", "func %f(%x: f9) -> (f9) {\n  ret %x\n}\n",
                                  "func %f(%x: f64[3]) -> (f64[4]) {\n  ret %x\n}\n"])
def test_text_that_is_no_graph(text):
    with pytest.raises(ValueError):
        pyasc.Graph(text)


def test_a_traced_function_as_a_graph():
    @pyasc.jit
    def f(x, y):
        z = np.sqrt(x * y + 1.0)
        return z - y, z.T * 2

    x, y = np.arange(12.0).reshape(3, 4), np.arange(4.0)
    text = f.lower(x, y)["ir"]
    graph = pyasc.Graph(text)
    for got, expected in zip(graph(x, y), f(x, y)):
        np.testing.assert_array_equal(got, expected)
    assert pyasc.shape_inference(graph) == pyasc.shape_inference(text)


def test_shape_inference_of_what_is_no_graph():
    with pytest.raises(TypeError, match="expected a graph or its text, got int"):
        pyasc.shape_inference(3)
    with pytest.raises(ValueError, match="unknown dtype f9"):
        pyasc.shape_inference("func %f(%x: f9) -> (f9) {\n  ret %x\n}\n")


def test_a_check_of_an_index():
    graph = pyasc.Graph("func %f(%k: index) -> (index) {\n  check %k {site = 0}\n  ret %k\n}\n")
    assert graph(3) == 3
    with pytest.raises(RuntimeError, match="check"):
        graph(0)


def test_what_is_no_text():
    for thing in (3, None, {"kernels": ""}, b"func"):
        with pytest.raises(TypeError, match="expected the text of a graph"):
            pyasc.Graph(thing)
    stages = pyasc.jit(lambda x: x + 1).lower(X)
    np.testing.assert_array_equal(pyasc.Graph(stages)(X), X + 1)


def test_calls_at_sites_are_refused():
    f = pyasc.jit(lambda x: np.sort(x, axis=0) + 1)
    with pytest.raises(ValueError, match="the arguments of sort are at a site"):
        pyasc.Graph(f.lower(X[0])["ir"])(X[0])
