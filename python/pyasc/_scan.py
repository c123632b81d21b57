"""Functions without source: which of them a trace sees entirely as they are.

Code of `exec`, `python -c` and the interactive prompt has no text to rewrite. If its bytecode holds
nothing but loads, operators, calls and a return, and all that it loads from outside is NumPy, its
functions, numbers and harmless builtins, then what it does with tracers goes through their own
protocols, and nothing of it is missed.
"""

import dis
import types

import numpy as np

PLAIN = set("""
RESUME NOP CACHE PRECALL PUSH_NULL KW_NAMES CALL CALL_KW EXTENDED_ARG COPY SWAP POP_TOP
LOAD_FAST LOAD_FAST_CHECK LOAD_FAST_LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_BORROW_LOAD_FAST_BORROW
LOAD_CONST LOAD_SMALL_INT LOAD_GLOBAL LOAD_ATTR LOAD_METHOD STORE_FAST STORE_FAST_LOAD_FAST
STORE_FAST_STORE_FAST BINARY_OP BINARY_SUBSCR BINARY_SLICE COMPARE_OP UNARY_NEGATIVE UNARY_POSITIVE
UNARY_INVERT BUILD_TUPLE BUILD_SLICE RETURN_VALUE RETURN_CONST UNPACK_SEQUENCE CALL_INTRINSIC_1
""".split())

#: Builtins that work through protocols of tracers, or on numbers alone.
HARMLESS = (abs, float, len, pow, range, slice)


def names_of(function, table):
    """Names of globals that the function loads; None where it does more than can be seen."""
    code = function.__code__
    if code.co_freevars or code.co_cellvars or code.co_flags & 0x2A0:
        return None
    names, chain = [], None
    for instruction in dis.get_instructions(code):
        if instruction.opname not in PLAIN:
            return None
        if instruction.opname == "LOAD_GLOBAL":
            name = instruction.argval
            names.append(name)
            chain = _global(function, name)
            if not _is_known(chain, table):
                return None
        elif instruction.opname in ("LOAD_ATTR", "LOAD_METHOD") and isinstance(chain, types.ModuleType):
            chain = getattr(chain, instruction.argval, None)
            if not _is_known(chain, table):
                return None
        elif instruction.opname not in ("CACHE", "PUSH_NULL", "EXTENDED_ARG"):
            if isinstance(chain, types.ModuleType):
                return None  # a module that goes somewhere else
            chain = None
    return tuple(dict.fromkeys(names))


def _global(function, name):
    builtins = function.__globals__.get("__builtins__", {})
    builtins = builtins if isinstance(builtins, dict) else vars(builtins)
    return function.__globals__.get(name, builtins.get(name))


def _is_known(value, table):
    if isinstance(value, types.ModuleType):
        return value.__name__.split(".")[0] in ("numpy", "math")
    if isinstance(value, (int, float, complex, str, np.dtype, type(None), type(...))):
        return type(value) in (int, float, complex, bool, str, type(None), type(...)) or isinstance(value, np.dtype)
    if isinstance(value, np.ufunc) or any(value is h for h in HARMLESS):
        return True
    if isinstance(value, type):
        return issubclass(value, np.generic)
    try:
        return value in table and getattr(value, "__module__", "").split(".")[0] in ("numpy", "math")
    except TypeError:
        return False
