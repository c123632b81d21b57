"""A function's definition in its source, trusted only if it compiles to an equal code object."""

import __future__

import ast
import functools
import linecache
import operator
import types

from ._nodes import copied, of_kind, placed

#: id of a code object made here -> its definition, the names of the classes around it, and the code, which is kept.
known = {}


class NotRewritten(Exception):
    """The source holds something that is left alone."""

    reason = "not_rewritten"


class NoSource(NotRewritten):
    """No source is known, or it is not the function's."""

    reason = "no_source"


def _first(node):
    decorators = getattr(node, "decorator_list", None)
    return decorators[0].lineno if decorators else node.lineno


#: Bits of `co_flags` that say what a module imports from __future__.
FUTURE = functools.reduce(operator.or_, (getattr(__future__, name).compiler_flag for name in __future__.all_feature_names))


def inner_code(compiled, name, outer=()):
    """The code of the definition that `module_around` wrapped: the last one that functions and classes on
    the way to it hold. Those before it are of decorators and defaults."""
    code, skipped = compiled, len(outer)
    while code.co_name != name or code is compiled or skipped >= 0:
        skipped -= 1
        held = [c for c in code.co_consts if isinstance(c, types.CodeType)]
        if not held:
            raise NoSource
        code = held[-1]
    return code


def around(function, node):
    """The functions and classes that a definition lies in, where its code says so: that of a class in it has
    its qualified name. Each with True if it is a function, the outermost first."""
    parts = function.__qualname__.split(".")
    if "<locals>" not in parts or not of_kind(node, ast.ClassDef):
        return ()
    last = len(parts) - 1 - parts[::-1].index("<locals>")
    return [(name, parts[i + 1] == "<locals>") for i, name in enumerate(parts[:last]) if name != "<locals>"]


def module_around(node, names, classes, nested=True, outer=()):
    """A module whose code holds the definition's, `names` being outer names of it."""
    body = [node if isinstance(node, ast.stmt) else placed(ast.Expr(node), node)]
    for name in reversed(classes):
        body = [placed(
            ast.ClassDef(name=name, bases=[], keywords=[], body=body, decorator_list=[],
                         type_params=[]), node)]
    if not nested:
        return ast.Module(body=body, type_ignores=[])
    args = ast.arguments(
        posonlyargs=[], args=[ast.arg(arg=n) for n in names if n != "__class__"],
        kwonlyargs=[], kw_defaults=[], defaults=[],
    )
    for arg in args.args:
        placed(arg, node)
    # What the definition binds is a name of the factory, not of the module, unless it says so.
    bound = classes[0] if classes else getattr(node, "name", None)
    if bound and bound not in names and not outer:
        body = [placed(ast.Global(names=[bound]), node), *body]
    for name, function in reversed(outer or [("_pyasc_factory", True)]):
        if function:
            part = ast.FunctionDef(name=name, args=args, body=body, decorator_list=[], type_params=[])
        else:
            part = ast.ClassDef(name=name, bases=[], keywords=[], body=body, decorator_list=[], type_params=[])
        body = [placed(part, node)]
        args = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Module(body=body, type_ignores=[])


def _last_line(code):
    lines = {line for _, _, line in code.co_lines()} | {end for _, end, _, _ in code.co_positions()}
    lines |= {_last_line(const) for const in code.co_consts if isinstance(const, types.CodeType)}
    return max(lines - {None}, default=code.co_firstlineno)


def _init_of_dataclass(code):
    """Lines as the module dataclasses writes them for __init__: each argument becomes an attribute."""
    if code.co_name != "__init__" or code.co_filename != "<string>" or not code.co_argcount:
        return []
    count = code.co_argcount
    owner, *names = code.co_varnames[:count]
    apart = code.co_varnames[count : count + code.co_kwonlyargcount]
    body = []
    for name in code.co_names:
        made = f"_dflt_{name}" in code.co_freevars
        value = f"_dflt_{name}() if {name} is _HAS_DEFAULT_FACTORY else {name}" if made else name
        body.append(f"{owner}.__post_init__()" if name == "__post_init__" else f"{owner}.{name}={value}")
    head = f" def __init__({','.join([owner, *names, *(['*'] if apart else []), *apart])}):"
    return [line + "\n" for line in ("", head, *(f"  {part}" for part in body or ["pass"]))]


def definition_of(function):
    """The function's node, undecorated, and the names of the classes around it."""
    code = function.__code__
    if id(code) in known:
        node, classes, _ = known[id(code)]
        return copied(node), classes
    lines = linecache.getlines(code.co_filename, function.__globals__) or _init_of_dataclass(code)
    if not lines or code.co_firstlineno > len(lines):
        raise NoSource
    parts = function.__qualname__.split(".")[:-1]
    classes = []
    for part in reversed(parts):
        if part == "<locals>":
            break
        classes.insert(0, part)
    for node in _candidates(lines, code):
        for names in ((), *([classes] if classes else [])):
            if _compiles_equal(node, function, list(names)):
                return node, list(names)
    raise NoSource


def _parse(lines, first, last):
    text = "".join(lines[first - 1 : last])
    indented = text[:1] in " \t"
    # Empty lines give every node the line it has in the file.
    return ast.parse("\n" * (first - 2) + "if 1:\n" + text if indented else "\n" * (first - 1) + text)


def _candidates(lines, code):
    """Definitions in the source that may be the function's."""
    first, last = code.co_firstlineno, _last_line(code)
    start = first
    for attempt in range(40):
        try:
            tree = _parse(lines, start, min(last + attempt, len(lines)))
            break
        except SyntaxError:
            continue
    else:
        if code.co_name != "<lambda>":
            raise NoSource
        tree = None
    if tree is None or code.co_name == "<lambda>":
        # A lambda may begin in the middle of a statement.
        for start in range(first, max(first - 20, 0), -1):
            for end in range(last, min(last + 20, len(lines)) + 1):
                try:
                    tree = _parse(lines, start, end)
                except SyntaxError:
                    continue
                for node in ast.walk(tree):
                    if isinstance(node, ast.Lambda) and node.lineno <= last:
                        yield node
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name and _first(node) == first:
            node = _undecorated(node)
            yield node


def _undecorated(node):
    """The definition without decorators and defaults: they are not evaluated again."""
    node.decorator_first = _first(node)
    return node


def _names_in(code):
    """The names and attributes in a function and in those in it, comprehensions included. Those of variables
    count: the compiler asks of any name alone whether the module imports it."""
    names = dict.fromkeys(code.co_names + code.co_varnames + code.co_cellvars)
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            names.update(dict.fromkeys(_names_in(const)))
    return list(names)


def _compiles_equal(node, function, classes):
    code = function.__code__
    scope = function.__globals__
    modules = [n for n in _names_in(code) if isinstance(scope.get(n), types.ModuleType)]
    flags = code.co_flags & FUTURE
    for guess in (lambda: modules, list, lambda: _imported(function)):
        imports = guess()
        outer = around(function, node)
        tree = module_around(node, code.co_freevars, classes, bool(code.co_flags & 0x10), outer)
        for name in imports:
            # Code depends on which global names are imported: methods of these are called otherwise.
            alias = placed(ast.alias(name=name), node)
            tree.body.insert(0, placed(ast.Import(names=[alias]), node))
        try:
            compiled = compile(tree, code.co_filename, "exec",
                               flags=flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return False
        if inner_code(compiled, code.co_name, outer) == code:
            return True
    return False


def _imported(function):
    """Names among the function's globals that its file, or notebook cell, imports."""
    code = function.__code__
    lines = linecache.getlines(code.co_filename, function.__globals__)
    try:
        left = ast.parse("".join(lines)).body
    except (SyntaxError, ValueError):
        return []
    names = set()
    while left:
        node = left.pop()
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.stmt) and not isinstance(
            node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        ):
            left += ast.iter_child_nodes(node)
        elif isinstance(node, (ast.ExceptHandler, getattr(ast, "match_case", ast.ExceptHandler))):
            left += node.body
    return [name for name in _names_in(code) if name in names]
