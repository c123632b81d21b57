"""Rewritten source: the functions that go through syntax trees, and what the code of a twin holds."""

import ast
import textwrap
import types

import numpy as np
import pytest

import pyasc
from pyasc import _nodes, _rewrite

SOURCE = textwrap.dedent('''
    def f(x, *rest, key=1, **more):
        """Some words."""
        total: float = 0.0
        with np.errstate(all="ignore") as state:
            for i, (a, b) in enumerate(zip(x, rest)):
                if a > b and not i % 2:
                    total += x[i, 1:, ...] @ {k: v for k, v in more.items()}[key]
                    continue
                else:
                    del a
            while total < 3: total = (lambda y: y ** 2)(total)
        try:
            return [f"{y:>{i}}" for y in x if y][::-1]
        except (ValueError, TypeError) as error:
            raise error from None
        finally:
            x.y.z = *rest, total
''')


def nodes():
    return [node for node in ast.walk(ast.parse(SOURCE)) if not isinstance(node, _nodes.LEAVES) or
            isinstance(node, ast.Constant)]


def without_leaves(node):
    return [part for part in ast.walk(node) if not isinstance(part, _nodes.LEAVES) or isinstance(part, ast.Constant)]


def test_walk_gives_all_nodes_but_operators_and_contexts():
    for node in nodes():
        assert set(map(id, _nodes.walk(node))) == set(map(id, without_leaves(node)))
        assert len(_nodes.walk(node)) == len(without_leaves(node))
        assert set(map(id, _nodes.walk([node, node]))) == set(map(id, without_leaves(node)))
        inner = {id(part) for part in ast.iter_child_nodes(node)} & set(map(id, without_leaves(node)))
        assert set(map(id, _nodes.parts_of(node))) == inner


def test_nodes_by_their_class():
    tree = ast.parse(SOURCE)
    kinds = (ast.Name, ast.expr_context, ast.stmt)
    assert set(map(id, _nodes.of_kind(tree, ast.Name))) == {id(n) for n in ast.walk(tree) if isinstance(n, ast.Name)}
    assert set(map(id, _nodes.of_kind(tree, kinds))) == {id(n) for n in without_leaves(tree) if isinstance(n, kinds)}
    assert _nodes.names_in(tree.body) == {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    with pytest.raises(TypeError):
        _nodes.of_kind(tree, "Name")


def test_statements():
    tree = ast.parse(SOURCE).body
    kinds = (ast.stmt, ast.ExceptHandler)
    assert set(map(id, _nodes.statements_of(tree))) == {id(n) for n in ast.walk(tree[0]) if isinstance(n, kinds)}


def test_loaded_names():
    for node in nodes():
        names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        names |= {n.target.id for n in ast.walk(node) if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
        assert _nodes.loaded_names(node) == names
        assert _nodes.loaded_names(node) == names  # what a statement knows by now


def test_stored_names_leave_what_binds_in_its_own_way():
    names = set()
    loop = ast.parse("for a, (b.c, d[e]), *g in (h := i): j = 1").body[0]
    left = _nodes.stored_names(_nodes.parts_of(loop), names, {ast.NamedExpr: None})
    assert names == {"a", "g"}
    assert sorted(type(node).__name__ for node in left) == ["Assign", "NamedExpr"]


def test_copies_have_nothing_in_common():
    for node in nodes():
        _nodes.loaded_names(node)
        new = _nodes.copied(node)
        assert ast.dump(new, include_attributes=True) == ast.dump(node, include_attributes=True)
        assert not set(map(id, without_leaves(new))) & set(map(id, without_leaves(node)))
        assert not hasattr(new, "_loaded")


def test_places():
    at = ast.parse("\n\nif x:\n  y + (\n z)").body[0].body[0]
    inner = ast.Name("y", ast.Load(), lineno=7, col_offset=1, end_lineno=7, end_col_offset=2)
    call = ast.Call(func=ast.Name("f", ast.Load()), args=[inner], keywords=[ast.keyword("k", ast.Constant(1))])
    assert _nodes.placed(call, at) is call
    place = (at.lineno, at.col_offset, at.end_lineno, at.end_col_offset)
    for node in (call, call.func, call.keywords[0], call.keywords[0].value):
        assert (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset) == place
    assert inner.lineno == 7


def test_calls_of_hooks():
    used, at = set(), ast.parse("\nx + y").body[0].value
    call = _nodes.hook_call(used, "operand", _nodes.constant(2), at=at)
    assert used == {"_pyasc_operand"} and ast.unparse(call) == "_pyasc_operand(2)"
    assert call.lineno == call.func.lineno == call.args[0].lineno == 2
    with pytest.raises(TypeError):
        _nodes.hook_call(used, "operand")


def test_what_is_no_node_of_the_grammar():
    class Other(ast.expr):
        _fields = ()

    for function in (_nodes.parts_of, _nodes.walk, _nodes.copied):
        with pytest.raises((KeyError, TypeError)):
            function(Other())
        with pytest.raises((KeyError, TypeError, AttributeError)):
            function(3)


def test_deep_trees_are_no_crash():
    node = ast.Name("x", ast.Load(), lineno=1, col_offset=0, end_lineno=1, end_col_offset=1)
    for _ in range(100_000):
        node = ast.UnaryOp(ast.USub(), node)
    for function in (_nodes.copied, _nodes.loaded_names, lambda n: _nodes.placed(n, ast.parse("x").body[0])):
        with pytest.raises(RecursionError):
            function(node)
    while isinstance(node, ast.UnaryOp):  # Python takes deep trees apart by recursion
        node = node.operand


# -- Twins


def loops(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += x[i] * x[j]
    return total


def outer(x):
    def inner(y):
        s = 0.0
        for v in y:
            s += v * v
        return s

    total = 0.0
    for i in range(3):
        total += inner(x[i:])
    return total


def codes_of(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes_of(const)


def depth(value):
    return 1 + max(map(depth, value), default=0) if isinstance(value, tuple) else 0


@pytest.mark.parametrize("function", [loops, outer], ids=["loops", "outer"])
def test_descriptions_of_loops_are_no_constants(function):
    twin = _rewrite.rewrite(function)
    for code in codes_of(twin.__code__):
        assert max(map(depth, code.co_consts)) <= 1
    nests = [name for name in twin.__code__.co_freevars if name.startswith("_pyasc_nest")]
    assert nests and all(cell.cell_contents is not None for cell in twin.__closure__)


@pytest.mark.parametrize("function", [loops, outer], ids=["loops", "outer"])
def test_nests_are_called(function):
    x = np.arange(200.0)
    jitted = pyasc.jit(function)
    for _ in range(3):
        assert jitted(x) == pytest.approx(function(x))
        jitted.wait()


def test_twins_have_the_hooks_that_they_use():
    def add(x, y):
        return x + y

    free = _rewrite.rewrite(add).__code__.co_freevars
    assert free == ("_pyasc_operand",)


def test_a_nest_hook_takes_what_a_loop_is():
    from pyasc import _pyasc

    for wrong in ((), (1, 2, 3), (1, 2, "x", 4), [1, 2, 3, 4], None):
        with pytest.raises(TypeError):
            _pyasc.nest_hook(wrong)
    hook = _pyasc.nest_hook((("block", 1, None), (), -1, False))
    assert hook((), ()) is None  # no trace
    with pytest.raises(TypeError):
        hook(())
