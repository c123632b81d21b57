"""How traced code calls what it calls: callables by kind.

Kinds, as in trace/hooks.c (ORDER kinds): pure functions are called with real arrays and
recorded; builtins that work through protocols run on tracers; some write their first argument.
Higher bits say more: where `out` may be given by position, and what builtins do with objects
that have methods of their own. What is not in the table is an effect that may do anything.
"""

import builtins
import math

import numpy as np

(UNKNOWN, PURE, PASS, MUTATES, ASK, TYPE, SELECT, CONTEXT, LOCAL, GETATTR, HASATTR, CLIP, EFFECT,
 APART, QUESTION) = range(15)
ANY, DEEP, COPIES = 1 << 16, 1 << 17, 1 << 18


def out(position):
    """The bits that say: `out` may be the argument at this position."""
    return (position + 1) << 8


#: Functions with an `out` that may be given by position.
OUT = {
    "all": 2, "amax": 2, "amin": 2, "any": 2, "argmax": 2, "argmin": 2, "around": 2, "choose": 2,
    "clip": 3, "compress": 3, "concatenate": 2, "cumprod": 3, "cumsum": 3, "dot": 2, "fix": 1,
    "isneginf": 1, "isposinf": 1, "max": 2, "mean": 3, "median": 2, "min": 2, "nanargmax": 2,
    "nanargmin": 2, "nancumprod": 3, "nancumsum": 3, "nanmax": 2, "nanmean": 3, "nanmedian": 2,
    "nanmin": 2, "nanpercentile": 3, "nanprod": 3, "nanquantile": 3, "nanstd": 3, "nansum": 3,
    "nanvar": 3, "outer": 2, "percentile": 3, "prod": 3, "quantile": 3, "round": 2, "round_": 2,
    "std": 3, "sum": 3, "take": 3, "trace": 5, "var": 3, "cumulative_sum": 3, "cumulative_prod": 3,
}

#: Functions of NumPy that are not pure in their arguments, or take callables.
IMPURE = {
    "apply_along_axis", "apply_over_axes", "fromfunction", "frompyfunc", "fromfile", "fromiter",
    "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez", "savez_compressed", "memmap",
    "seterr", "seterrcall", "setbufsize", "set_printoptions", "printoptions", "show_config",
    "show_runtime", "info", "test", "piecewise", "vectorize", "nditer", "nested_iters",
    "get_include", "from_dlpack", "frombuffer", "fromregex", "lookfor", "source", "deprecate",
    "require", "ndenumerate", "ndindex", "broadcast", "flatiter", "putmask_", "bmat", "asmatrix",
    "matrix", "rec", "recarray", "chararray", "poly1d", "errstate", "geterr", "geterrcall",
    "getbufsize", "may_share_memory", "shares_memory", "busday_count", "set_string_function",
}

#: These write their first argument.
WRITERS = {"copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis"}

#: These answer with Python objects.
ASKING = {"array2string", "array_repr", "array_str", "array_equal", "allclose", "array_equiv",
          "min_scalar_type", "format_float_positional", "format_float_scientific"}

#: These say something of types or shapes.
QUESTIONS = {"shape", "ndim", "size", "iscomplexobj", "isrealobj", "result_type", "can_cast",
             "promote_types", "isscalar", "issubdtype", "common_type", "mintypecode", "broadcast_shapes"}

#: Library calls: they are not counted as missing kernels.
LIBRARY = {
    "matmul", "imatmul", "dot", "vdot", "inner", "outer", "tensordot", "einsum", "kron", "convolve",
    "correlate", "sort", "argsort", "lexsort", "partition", "argpartition", "searchsorted", "unique",
    "histogram", "bincount", "cholesky", "solve", "inv", "pinv", "det", "slogdet", "eig", "eigh",
    "eigvals", "eigvalsh", "svd", "qr", "lstsq", "matrix_power", "matrix_rank", "norm", "cond",
    "empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "eye", "identity", "arange", "tri",
    "ndarray", "multi_dot", "fft", "ifft", "rfft", "irfft", "fft2", "ifft2", "fftn", "ifftn", "rfft2", "rfftn",
    "irfftn", "irfft2", "hfft", "ihfft", "vecdot", "cov", "corrcoef", "interp", "trace",
    "union1d", "intersect1d", "setdiff1d", "setxor1d", "digitize", "median", "percentile", "quantile", "nanmedian",
    "nanpercentile", "nanquantile",  # sorted, or parted about places
    "polyfit", "roots",  # lstsq, eigvals
    "__getitem__",  # of np.mgrid and np.r_
    "matvec", "vecmat", "vector_norm", "matrix_norm", "svdvals", "tensorinv", "tensorsolve", "sort_complex",
    "unique_all", "unique_counts", "unique_inverse", "unique_values",
    "histogram2d", "histogramdd", "histogram_bin_edges",
    "polymul", "polydiv", "poly",  # convolve
}

PASSING = ("abs bool divmod hash int iter len map next pow reversed round zip enumerate range "
           "slice property object staticmethod classmethod ord chr bin hex").split()
#: These call methods of what containers hold.
DEEP_PASSING = "all any filter format max min repr str sum".split()
#: These say something of an object without running its code.
ANY_PASSING = "callable isinstance issubclass".split()
MAKING = "list dict set frozenset tuple sorted".split()


def _numpy_functions(table):
    import numpy.fft
    import numpy.linalg

    modules = [np, np.linalg, np.fft]
    dispatcher = type(np.where)
    for module in modules:
        for name, value in list(vars(module).items()):  # dir() would import lazy submodules
            if name.startswith("_") or name in IMPURE or not callable(value):
                continue
            if isinstance(value, type):
                if issubclass(value, np.generic):
                    table[value] = PURE
                continue
            if isinstance(value, np.ufunc):
                continue
            kind = (MUTATES if name in WRITERS else ASK if name in ASKING else
                    QUESTION if name in QUESTIONS else PURE)
            if isinstance(value, (dispatcher, type(len), type(_numpy_functions))):
                table[value] = kind | (out(OUT[name]) if name in OUT and module is np else 0)
    table[np.nan_to_num] = PURE | COPIES
    table[np.dtype] = table[np.finfo] = table[np.iinfo] = table[np.broadcast] = QUESTION
    table[np.where], table[np.clip] = SELECT, CLIP | out(OUT["clip"])
    table[np.ndarray] = table[np.ndindex] = table[np.ndenumerate] = PURE
    table[np.errstate] = CONTEXT


def _index_tricks(table):
    lib = np.lib.stride_tricks
    for function in (lib.sliding_window_view, lib.as_strided):
        table[function] = PURE
    for trick in (np.mgrid, np.ogrid, np.r_, np.c_):
        table[trick.__getitem__] = PURE
    table[np.s_.__getitem__] = table[np.index_exp.__getitem__] = PASS


#: Methods of these types are effects that run no code of the user's: they change their owner and,
#: where named, the argument at the position given. No attribute but a method is read.
def sources():
    """A dict from type to a dict from method to the position of the argument it writes; "draws": ints may be sizes."""
    import collections
    import io
    import random

    from ._lists import Grown

    drawing = {"draws": 0, "shuffle": 1, "random": 3, "standard_normal": 3, "standard_exponential": 4,
               "standard_gamma": 4}
    return {np.random.Generator: drawing, np.random.RandomState: {"draws": 0, "shuffle": 1}, random.Random: {"draws": 0},
            collections.deque: {}, Grown: {}, io.TextIOWrapper: {}, io.StringIO: {}, io.BytesIO: {},
            io.BufferedWriter: {}}


def _effects(table):
    import random
    import time

    for name in np.random.__all__:
        value = getattr(np.random, name)
        if isinstance(getattr(value, "__self__", None), np.random.RandomState):
            table[value] = EFFECT | (out(0) if name == "shuffle" else 0)
    table[np.random.default_rng] = table[np.random.RandomState] = table[np.random.seed] = EFFECT
    for name in random.__all__:
        value = getattr(random, name)
        if isinstance(getattr(value, "__self__", None), random.Random):
            table[value] = EFFECT
    for name in ("time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic", "monotonic_ns",
                 "process_time", "process_time_ns", "thread_time", "sleep"):
        table[getattr(time, name)] = EFFECT
    table[print] = EFFECT


def _apart(table):
    import logging
    import sys
    import warnings

    for name in ("debug", "info", "warning", "warn", "error", "exception", "critical", "log"):
        for owner in (logging, logging.Logger, logging.LoggerAdapter):
            if hasattr(owner, name):  # records say where they were made
                table[getattr(owner, name)] = APART
    for name in ("eval", "exec", "locals", "globals", "vars", "dir", "super", "breakpoint", "__import__"):
        table[getattr(builtins, name)] = APART
    for function in (warnings.warn, warnings.warn_explicit, sys._getframe, sys.exc_info, sys.settrace,
                     sys.setprofile, np.seterr, np.seterrcall, np.setbufsize):
        table[function] = APART


def table():
    """The table: a dict from callable to kind."""
    made = {}
    _numpy_functions(made)
    _index_tricks(made)
    _effects(made)
    _apart(made)
    for name in PASSING:
        made[getattr(builtins, name)] = PASS
    for name in DEEP_PASSING:
        made[getattr(builtins, name)] = PASS | DEEP
    for name in ANY_PASSING:
        made[getattr(builtins, name)] = PASS | ANY
    for name in MAKING:
        made[getattr(builtins, name)] = LOCAL | DEEP if name == "sorted" else LOCAL
    made[builtins.getattr], made[builtins.hasattr] = GETATTR, HASATTR
    made[builtins.type] = TYPE
    made[builtins.float] = made[builtins.int] = PURE
    made[builtins.complex] = ASK
    for name in dir(math):
        value = getattr(math, name)
        if callable(value) and not name.startswith("_"):
            made[value] = PURE
    del made[math.fsum]
    import operator

    for name in operator.__all__:
        value = getattr(operator, name)
        if not isinstance(value, type) and not name.startswith("i") and name not in (
            "setitem", "delitem", "call"
        ):
            made.setdefault(value, PASS)
    return made
