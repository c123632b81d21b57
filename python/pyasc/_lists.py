"""Lists that a loop fills and of which arrays are made: `out = []`, a loop with `out.append(x)` in it, `np.array(out)`."""

import ast
from dataclasses import dataclass

from ._nodes import makes_list, of_kind, parts_of, walk

#: What is appended to a list in a loop that runs in turns: trace/nest_push.c knows it by its name.
Grown = type("_pyasc_Grown", (list,), {"__slots__": ()})

#: What may be done with such a list behind the loop: an array of its items in its place gives the same. `len`, too.
FUNCTIONS = {"array", "asarray", "sum", "mean", "std", "var", "median", "max", "min", "amax", "amin", "cumsum", "diff",
             "sort", "argmax", "argmin", "prod"}


@dataclass
class Filled:
    loop: int         # id of the loop that fills the list
    outer: frozenset  # names that have to be NumPy, `len` or `float`
    floats: bool      # arrays of floats are made of it, which a list of complex numbers does not become


def lists_of(body):
    """Lists of a function's body that are used in no other way: name -> Filled."""
    found = {}
    for block in _blocks(body):
        for i, statement in enumerate(block):
            name = _emptied(statement)
            if name is None:
                continue
            loops = [k for k in range(i + 1, len(block)) if isinstance(block[k], ast.For) and name in _appended(block[k])]
            if len(loops) == 1:
                found[name] = None if name in found else (block[loops[0]], block[loops[0] + 1:])
    filled = {name: _filled(body, name, *where) for name, where in found.items() if where}
    return {name: uses for name, uses in filled.items() if uses}


def _blocks(body):
    """The body, and those of its statements; not of functions in it."""
    yield body
    for statement in body:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for part in ("body", "orelse", "finalbody"):
            if isinstance(getattr(statement, part, None), list):
                yield from _blocks(getattr(statement, part))


def _emptied(statement):
    """The name of `name = []`."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target, value = statement.targets[0], statement.value
        if isinstance(target, ast.Name) and isinstance(value, ast.List) and not value.elts:
            return target.id
    return None


def appended(statement):
    """The name and the item of `name.append(item)`, or None."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "append"
            and isinstance(call.func.value, ast.Name) and len(call.args) == 1 and not call.keywords
            and not isinstance(call.args[0], ast.Starred)):
        return call.func.value.id, call.args[0]
    return None


def _appended(loop):
    return [a[0] for a in map(appended, of_kind(loop, ast.Expr)) if a]


def _filled(body, name, loop, behind):
    """How the list is used, or None: something else is done with it. `behind`: statements behind the loop."""
    outer, floats, known = set(), False, 1 + _appended(loop).count(name)  # it is bound once
    once = walk([s for s in behind if not isinstance(s, (ast.For, ast.While))])
    uses = sum(n.id == name for n in of_kind(body, ast.Name))
    inside = sum(n.id == name for n in of_kind(loop, ast.Name))
    for node in of_kind(body, ast.Call):
        if not (len(node.args) == 1 and isinstance(node.args[0], ast.Name) and node.args[0].id == name):
            continue
        function = node.func
        if isinstance(function, ast.Name) and function.id == "len" and not node.keywords:
            known += 1
            outer.add("len")
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.attr in FUNCTIONS:
            dtype = _float(node.keywords) if function.attr in ("array", "asarray") else None
            if function.attr == "asarray" and (uses != known + 1 or not any(n is node for n in once)):
                return None  # of an array it is that array: no other may be made of it
            if not node.keywords or dtype:
                known += 1
                floats |= dtype is not None
                outer |= {function.value.id} | ({dtype} if dtype else set())
    return Filled(id(loop), frozenset(outer), floats) if uses == known and inside == _appended(loop).count(name) else None


def _float(keywords):
    """The name from outside in `dtype=float` or `dtype=np.float64`, or None. Other types take from numbers in a list what
    they do not take from an array, or the other way round."""
    if len(keywords) != 1 or keywords[0].arg != "dtype":
        return None
    value = keywords[0].value
    if isinstance(value, ast.Name) and value.id == "float":
        return value.id
    if isinstance(value, ast.Attribute) and value.attr == "float64" and isinstance(value.value, ast.Name):
        return value.value.id
    return None


def grown_lists(tree, local, reads):
    """Names of lists that the function makes, and does nothing with but append to them while there are loops to come; `reads`: and
    read their items, put others in their place, take the last one away, and ask how many there are. `local`: its own names without those of arguments."""
    made, shown, used, owners, changed = {}, set(), set(), set(), set()
    for node in of_kind(tree, ast.Assign):
        for target in node.targets:
            pairs = [(target, node.value)] if len(node.targets) == 1 else []  # not one list of two names
            if pairs and isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts)
            for place, value in pairs:
                made[id(place)] = _is_new(value)
                if isinstance(value, ast.List) and value.elts:
                    shown.add(id(place))
    if not any(made.values()):
        return set()
    places = {}
    last = _order(tree, places)
    for node in walk(tree):
        if reads and isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice):
            owners.add(id(node.value))
            if not isinstance(node.ctx, ast.Load):
                changed.add(_owner(node))
        elif reads:
            owners |= set(map(id, _asked(node)))
            changed |= set(map(_owner, _asked(node))) if isinstance(node, ast.Call) and not node.args else set()
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            call = node.value
            grows = isinstance(call.func, ast.Attribute) and call.func.attr == "append" and len(call.args) == 1
            if grows and isinstance(call.func.value, ast.Name) and not call.keywords:
                owners.add(id(call.func.value))
                changed.add(call.func.value.id)
    names = of_kind(tree, ast.Name)
    for node in names:
        load = isinstance(node.ctx, ast.Load)
        if (load and id(node) not in owners and places[id(node)] < last) or (not load and not made.get(id(node))):
            used.add(node.id)
    lists = {node.id for node in names if made.get(id(node))}
    # A list that is written out, and stays as it is, is as good as a tuple.
    fixed = {node.id for node in names if id(node) in shown} - {node.id for node in names if made.get(id(node)) and id(node) not in shown}
    return (lists & local) - used - (fixed - changed)


def _owner(node):
    """The name of what is subscripted."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else None


def _is_new(value):
    """True of `[…]`, `[…] * n`, `list(…)`: a list that no one else has."""
    return makes_list(value) or (isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "list")


def _asked(node):
    """Names of lists that are asked how many items they have, or for their last one, or gone over."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return node.args
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pop" and not node.args:
        return [node.func.value]
    if isinstance(node, (ast.While, ast.If, ast.IfExp)):
        return [node.test]
    if isinstance(node, ast.BoolOp):
        return node.values
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return [node.operand]
    return [node.iter] if isinstance(node, ast.For) else []


def _order(node, places, last=0):
    """Numbers the names as they stand in the tree; gives the number of the first one behind all loops."""
    for part in parts_of(node):
        if isinstance(part, ast.Name):
            places[id(part)] = len(places)
        last = max(last, _order(part, places, last))
    return len(places) if isinstance(node, (ast.For, ast.While)) else last
