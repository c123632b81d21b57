"""pyasc: a tracing JIT compiler for NumPy code.

    import numpy as np, pyasc

    @pyasc.jit
    def f(x, y):
        return np.sqrt(x * x + y * y).sum()

The decorated function does what the plain one does. Names of NumPy (`pyasc.sum`, `pyasc.exp`, …)
are NumPy's own functions.
"""

import numpy as _np

from ._api import ShapeError, cast, jit, options
from ._pyasc import Function, cache_stats, pool_stats

__version__ = "0.1.0"
__all__ = ["Function", "Graph", "ShapeError", "cache_stats", "cast", "jit", "options", "ops", "pool_stats", "shape_inference"]


def shape_inference(graph):
    """Shape and dtype of each value of a graph's text, as a dict from name to (shape, dtype).

    `graph` is a `pyasc.Graph`, what `fn.lower(*args)` gives, or the text under its key "ir". Extents are ints, or names of symbols.
    Raises ValueError where no line is a binder of the IR's grammar or a dtype is unknown, TypeError for
    anything but a graph.
    """
    from ._text import shape_inference as infer

    return infer(graph)


def ops():
    """The operations of the IR: a list of (name, NumPy's name or None, doc)."""
    from ._pyasc import ops as table

    return table()


def __getattr__(name):
    # Looked up when they are asked for: importing pyasc stays cheap.
    if name == "Graph":
        from ._text import Graph

        globals()[name] = Graph
        return Graph
    if name.startswith("_"):
        raise AttributeError(f"module 'pyasc' has no attribute {name!r}")
    try:
        return getattr(_np, name)
    except AttributeError:
        raise AttributeError(f"module 'pyasc' has no attribute {name!r}, nor has numpy") from None


def __dir__():
    return sorted(set(globals()) | set(dir(_np)))
