"""What users touch: the decorator, options, and what a jitted function says of itself."""

import collections
import functools
import itertools
import os

import numpy as np

from . import _pyasc
from ._options import NUMERICS, cache_dir, check_environment, current, options, resolve, threads

CacheInfo = collections.namedtuple("CacheInfo", "hits misses traces currsize")


class ShapeError(ValueError):
    """An argument's shape or dtype is not the one that `shape_infer` promised."""


# -- The decorator -------------------------------------------------------------------


def jit(function=None, *, shape_infer=None, **settings):
    """Compiles a function of plain NumPy code; use as `@pyasc.jit` or `@pyasc.jit(...)`.

    The result is called like the function and gives what it gives: same values, types, dtypes,
    shapes, views, exceptions and effects. What cannot be compiled runs in NumPy;
    `fn.explain()` says what and why.

    shape_infer: a list with one entry per argument: a shape (dtype float64), a pair (shape,
        dtype) or an example array. The function is traced on zeros of these at once, up to its
        first effect, and compiled if there is none; later calls must have these shapes, and
        these dtypes where given, else ShapeError is raised.
    settings: options of this function, as in `pyasc.options`.
    """
    if function is None:
        return functools.partial(jit, shape_infer=shape_infer, **settings)
    chosen = resolve(settings)
    check_environment()
    _pyasc.prepare()  # the first call must not wait for it
    kind = None
    if isinstance(function, (staticmethod, classmethod)):
        kind, function = type(function), function.__func__
    if isinstance(function, _pyasc.Function):
        function = function.__wrapped__
    if isinstance(function, type) and function.__module__ != "builtins":
        raise TypeError(f"pyasc.jit: {function.__name__} is a class; put it on its methods")
    shapes = None if shape_infer is None else _promises(shape_infer)
    if shapes is not None:
        _check_count(function, len(shapes))
    if _pyasc.DISABLED:
        shapes = None
    tier = chosen.get("tier", current("tier"))
    tier = -1 if tier is None else tier
    log_level = chosen.get("log_level", current("log_level")) or 0
    numerics = NUMERICS.index(chosen.get("numerics", current("numerics")) or "numpy")
    errstate = chosen.get("errstate", current("errstate")) or False
    disk = cache_dir(chosen)
    jitted = _pyasc.Function(
        function, chosen or None, tier, shapes, log_level, numerics, disk, threads(chosen), errstate
    )
    for name in functools.WRAPPER_ASSIGNMENTS:
        try:
            setattr(jitted, name, getattr(function, name))
        except AttributeError:
            pass
    jitted.__dict__.update(getattr(function, "__dict__", {}))
    if _pyasc.DISABLED or _runs_plain(function):
        jitted._set_plain("disabled" if _pyasc.DISABLED else "not_rewritten")
    if shapes is not None:
        _compile_ahead(jitted, shapes)
    return kind(jitted) if kind else jitted


def _runs_plain(function):
    """Generators and async functions give their objects as they are."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code is not None and bool(code.co_flags & 0x2A0)  # generator, coroutine, async generator


def cast(x, dtype, /):
    """`x` as an array (or NumPy scalar) of `dtype`, as `numpy.asarray(x).astype(dtype)`."""
    return np.asarray(x).astype(dtype)[()]


# -- shape_infer -----------------------------------------------------------------------


def _promises(specs):
    if not isinstance(specs, (list, tuple)):
        raise TypeError(f"shape_infer: expected a list with one entry per argument, got {specs!r}")
    return [_promise(spec) for spec in specs]


def _promise(spec):
    """(shape, dtype or None, example or None) of one entry of `shape_infer`."""
    if isinstance(spec, np.ndarray):
        return spec.shape, spec.dtype, spec
    if isinstance(spec, (tuple, list)):
        if len(spec) == 2 and isinstance(spec[0], (tuple, list)):
            return tuple(int(n) for n in spec[0]), np.dtype(spec[1]), None
        if all(isinstance(n, (int, np.integer)) for n in spec):
            return tuple(int(n) for n in spec), None, None
    raise TypeError(f"shape_infer: expected a shape, a (shape, dtype) pair or an array, got {spec!r}")


def _check_count(function, count):
    """TypeError where the function cannot be called with so many arguments."""
    import inspect

    try:
        inspect.signature(function).bind(*[None] * count)
    except TypeError as error:
        name = getattr(function, "__qualname__", function)
        raise TypeError(f"shape_infer: {count} entries for {name}(): {error}") from None
    except ValueError:  # no signature is known
        pass


def _compile_ahead(jitted, shapes):
    args = []
    for shape, dtype, example in shapes:
        args.append(np.zeros(shape, dtype or np.float64) if example is None else example.copy())
    _trial(jitted, args)
    jitted.wait()


def _trial(jitted, args):
    """Traces a call on copies of the arguments, up to the first effect. The reason where that gives
    no plan, else None."""
    import copy
    import warnings

    args = [a.copy(order="K") if isinstance(a, np.ndarray) else copy.deepcopy(a) for a in args]
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            known = jitted._trial(*args)
        except _pyasc.TrialEnd:
            return "it has an effect"
        except Exception as error:  # the function's own: it will be raised by a real call
            return f"{type(error).__name__}: {error}"
    facts = jitted._facts()
    entry = facts["entries"][0] if known and facts["entries"] else facts
    return entry["message"] if entry["plain"] or not known else None


def _brackets(shape):
    return "[" + ",".join(str(n) for n in shape) + "]"


def _check_shapes(jitted, shapes, args, named):
    for i, (shape, dtype, _) in enumerate(shapes):
        name = _argument_name(jitted.__wrapped__, i)
        if i < len(args):
            arg = args[i]
        elif name in named:
            arg = named[name]
        else:
            continue
        got = np.shape(arg)
        where = f"argument {i + 1}" + (f" {name!r}" if name else "")
        if got != shape:
            raise ShapeError(
                f"Shape mismatch: expected {_brackets(shape)}, got {_brackets(got)} ({where})"
            )
        if dtype is not None and getattr(arg, "dtype", None) != dtype:
            found = getattr(arg, "dtype", type(arg).__name__)
            raise ShapeError(f"Dtype mismatch: expected {dtype}, got {found} ({where})")


def _argument_name(function, i):
    """The name of an argument by position (`self` of a bound method is none of them)."""
    i += hasattr(function, "__self__")
    code = getattr(function, "__code__", None)
    return code.co_varnames[i] if code and i < code.co_argcount else None


# -- What a jitted function says of itself ------------------------------------------------


def _log(level, function, text):
    """A message to the logger "pyasc"; to stderr where no one has set up logging."""
    import logging

    code = getattr(function, "__code__", None)
    where = f" ({code.co_filename}:{code.co_firstlineno})" if code else ""
    logger = logging.getLogger("pyasc")
    if not logger.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter("pyasc: %(message)s"))
        logger.addHandler(handler)
    if logger.level == logging.NOTSET:
        logger.setLevel(logging.DEBUG)  # `log_level` of the function has chosen already
    name = getattr(function, "__qualname__", repr(function))
    logger.log(logging.ERROR - 10 * (level - 1), "%s%s: %s", name, where, text)


def _disk_trouble(text):
    """The one message about a disk cache that cannot be used."""
    import logging

    logging.getLogger("pyasc").warning("the disk cache is off: %s", text)


def _cache_info(hits, misses, traces, size):
    return CacheInfo(hits, misses, traces, size)


def _reduce(jitted):
    """By name, as functions pickle; what has no name of its own takes its function along."""
    function = jitted.__wrapped__
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    import sys

    found = sys.modules.get(module)
    for part in (name or "").split("."):
        found = getattr(found, part, None)
    if found is jitted:
        return name
    return _rebuild, (function, jitted._options)


def _rebuild(function, settings):
    return jit(function, **(settings or {}))


def _plans(facts):
    for entry in facts["entries"]:
        yield from entry["plans"]


#: Python gets a number, to branch on it, to return it or to print it; the guard of an int that has to fit.
READS = frozenset(["bool", "index", "int", "float", "complex", "fits", "within", "ndarray.item", "ndarray.tolist",
                   "format", "builtins.round"])


#: Effects that put away what is computed, where it is to be found after the call: no operation is left to Python.
STORES = frozenset("setattr delattr setitem delitem store_global".split())
KEEPERS = ("list.", "dict.", "set.", "collections.deque.", "deque.", "defaultdict.", "OrderedDict.", "Counter.")
DRAWS = ("Generator.", "RandomState.", "Random.", "default_rng", "RandomState")


#: How many paths of a signature explain() tells about.
PATHS_SHOWN = 4

CLOSED = "arguments of other shapes or kinds run plain: too many traces were not called again"


def _report(jitted):
    """Facts about the calls made so far, as a dict (see the README)."""
    from ._numpy_table import LIBRARY

    facts = jitted._facts()
    reasons = []
    compiled = tier0 = library = effects = kernels = 0
    fallback = facts["plain"]
    if facts["plain"]:
        reasons.append(facts["message"])
    elif facts["closed"]:
        fallback = True
        reasons.append(CLOSED)
    if not facts["entries"]:
        fallback = True
        reasons.append(facts["message"] if facts["bail"] != "none" else "not called yet")
    pieces = [_report(piece) for piece in jitted._pieces or ()]
    for entry in facts["entries"]:
        if entry["plain"] and entry["there"]:
            kernels += 1  # for the next call
        elif entry["divided"] and pieces:
            continue  # Python runs the loops around what these did
        elif entry["plain"]:
            fallback = True
            detail = f" ({entry['detail']})" if entry["detail"] else ""
            reasons.append(entry["message"] + detail)
    for plan in _plans(facts):
        for group in plan["groups"]:
            if group["compiled"]:
                compiled += group["ops"]
                kernels += bool(group["kernel"])  # else it is a loop that is there
            elif group["reason"].startswith("numerics is strict"):
                library += group["ops"]
            elif group["reason"] != "a copy":
                tier0 += group["ops"]
                reasons.append(f"{', '.join(group['names']) or 'a group'}: {group['reason']}")
        loops = sum(e.startswith("<compiled ") for e in plan["effects"])  # that draw, or fill lists
        compiled += loops
        kernels += loops
        effects += len(plan["effects"]) - loops
        asides = [e for e in plan["effects"] if e not in STORES and not e.startswith((*KEEPERS, *DRAWS, "<compiled "))]
        reasons += [f"{name}: Python does it, once and in order" for name in asides]
        fallback |= bool(asides)
        for name in plan["calls"]:
            if name.startswith("<compiled "):
                compiled += 1
                kernels += 1
            elif name.startswith(("math.", "int.__", "float.", "complex.")) or name.rpartition(".")[2] in LIBRARY:
                library += 1
            elif name in READS or name.startswith("number."):
                continue
            else:
                tier0 += 1
                reasons.append(f"{name}: no kernel yet, NumPy's own is called")
    report = {
        "fallback": bool(fallback or tier0),
        "ops_compiled": compiled,
        "ops_tier0": tier0,
        "ops_library": library,
        "ops_effect": effects,
        "kernels": kernels,
        "reasons": sorted(set(reasons)),
    }
    for piece in pieces:
        report = {name: _joined(report[name], piece[name]) for name in report}
    return report


def _joined(a, b):
    if isinstance(a, list):
        return sorted({*a, *b})
    return a or b if isinstance(a, bool) else a + b


def _counted(names):
    """Four and more that are the same, one behind the other, as one."""
    runs = ((name, len(list(run))) for name, run in itertools.groupby(names))
    return [text for name, n in runs for text in ([name] * n if n < 4 else [f"{name} ({n} times)"])]


def _explained(plan):
    """Lines about what the steps of a plan are."""
    kernels = []  # number, text: those that are alike are told once
    for k, group in enumerate(plan["groups"]):
        tier = "compiled" if group["compiled"] else f"tier 0: {group['reason']}"
        names = " ".join(_counted(group["names"])) or "copy"
        names += " and a reduction" if group["reduces"] else ""
        kernels.append((k, f"({tier}), {group['size']} elements: {names}"))
    for text, run in itertools.groupby(kernels, key=lambda kernel: kernel[1]):
        numbers = [k for k, _ in run]
        yield (f"kernel {numbers[0]} {text}" if len(numbers) == 1 else f"kernels {numbers[0]} to {numbers[-1]} {text}")
    yield from (f"effect: {effect}" for effect in _counted(plan["effects"]))
    yield from (f"call: {call}" for call in _counted(plan["calls"]))


def _explain(jitted, *args):
    """Text: which ops went into which kernel, and why not more."""
    reason = None
    if args:
        reason = _trial(jitted, args)
        jitted.wait()
    facts = jitted._facts()
    name = getattr(jitted, "__qualname__", "function")
    lines = [f"{name}: {len(facts['entries'])} signature(s)"]
    if reason:
        lines.append(f"  these arguments: {reason}")
    elif not facts["entries"] and not facts["plain"] and facts["bail"] != "none":
        lines.append(f"  the last call ran plain: {facts['message']}")
    if facts["plain"]:
        lines.append(f"  runs plain: {facts['message']}")
        if facts["hint"]:
            lines.append(f"    hint: {facts['hint']}")
    elif facts["closed"]:
        lines.append(f"  {CLOSED}")
    if jitted._errstate:
        lines.append("  errstate=True: runs plain where np.errstate lets warnings be seen")
    for number, entry in enumerate(facts["entries"]):
        lines.append(f"signature {number} ({entry['arguments']}): {entry['hits']} call(s) of its plans")
        if entry["plain"] and entry["there"]:
            lines.append("  the code of its loops is there: the next such call runs it")
        elif entry["plain"]:
            detail = f" ({entry['detail']})" if entry["detail"] else ""
            pieces = entry["divided"] and jitted._pieces
            how = "runs in pieces, see below" if pieces else "runs plain"
            lines.append(f"  {how}: {entry['message']}{detail}")
            if entry["hint"] and not pieces:
                lines.append(f"    hint: {entry['hint']}")
        if entry["loop"]:
            lines.append(f"  the loop at line {entry['line']} is not compiled as a whole: {entry['loop']}")
        if entry["rest"]:
            lines.append(f"  the next {entry['rest']} call(s) run plain, which took less time than its plans when both were timed")
        if entry["full"]:
            lines.append(f"  {len(entry['plans'])} paths are kept: calls with other numbers than theirs run plain")
        for path, plan in enumerate(entry["plans"][:PATHS_SHOWN]):
            lines.append(f"  path {path}: {plan['steps']} steps")
            lines += ["    " + line for line in _explained(plan)]
        if len(entry["plans"]) > PATHS_SHOWN:
            lines.append(f"  and {len(entry['plans']) - PATHS_SHOWN} more paths")
    for piece in jitted._pieces or ():
        at = piece.__wrapped__.__code__.co_firstlineno
        lines.append(f"a piece, from line {at} on:")
        lines += ["  " + line for line in _explain(piece).splitlines()]
    return "\n".join(lines)


def _lower(jitted, *args):
    """The stages of compilation as a dict of texts.

    'ir': the traced function; 'kernels': the groups cut out of it; 'passed': these after the
    passes; 'llvm' and 'assembly': what they become on this machine.

    With arguments: of the plan for these (traced on copies if there is none yet); without:
    of the most recent one.
    """
    reason = _trial(jitted, args) if args else None
    if reason:
        raise ValueError(f"{jitted!r} has no plan for these arguments: {reason}")
    facts = jitted._facts()
    for number, entry in enumerate(facts["entries"]):
        if entry["plans"]:
            plan = entry["plans"][0]
            return {
                "ir": plan["ir"],
                "kernels": "\n".join(g["kernel"] for g in plan["groups"] if g["kernel"]),
                "passed": "\n".join(g["passed"] for g in plan["groups"] if g["passed"]),
                "llvm": "\n".join(jitted._code(number, 0, False)),
                "assembly": "\n".join(jitted._code(number, 0, True)),
            }
    why = "it was not called yet" if facts["bail"] == "none" else facts["message"]
    raise ValueError(f"{jitted!r} has no plan: {why}")


# -- For the extension ----------------------------------------------------------------------


def _errstate_shows():
    """0: np.errstate lets nothing be seen of floating-point errors; 1: warnings; 2: more than that."""
    kinds = set(np.geterr().values())
    return 2 if kinds - {"warn", "ignore"} else int("warn" in kinds)


def _tables():
    """The tables that tracing needs; imported with the first trace."""
    from . import _nests, _numpy_table, _rewrite, _written

    return (_numpy_table.table(), _numpy_table.sources(), _rewrite.rewrite, _rewrite.made,
            _nests.describe_function, _written.table())


def _rewrite(function, numbers, directory):
    from . import _rewrite as module

    twin = module.rewrite(function, numbers, directory)
    if twin is not None:
        return twin
    reason = module.reason(function)
    return _scanned(function) or reason if reason == "no_source" else reason


def _in_turns(jitted, whole):
    """The function with the turns of its loops, or the loops, as functions of their own, and these; or None."""
    from . import _turns

    def make(function):
        piece = jit(function, **(jitted._options or {}))
        piece._piece = True
        return piece

    return _turns.in_turns(jitted.__wrapped__, make, whole)


def _read_only(function):
    from . import _reads

    return _reads.read_only(function)


def _scanned(function):
    """A function without source that can be traced as it is: itself, and the globals it loads."""
    from . import _numpy_table, _scan

    plain = getattr(function, "__func__", function)
    names = _scan.names_of(plain, _numpy_table.table()) if hasattr(plain, "__code__") else None
    return None if names is None else (function, names)
