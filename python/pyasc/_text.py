"""The text form of graphs: reading it, and running it as it stands."""

import re

from . import _pyasc

#: Names of element types.
DTYPES = frozenset(_pyasc.dtypes())

_BINDER = re.compile(r"%([\w.]+): ([a-z0-9]+)(?:\[([^\]]*)\])?")


class Graph:
    """A function of the IR, from its text.

    `Graph(text)` parses and verifies; ValueError says what is wrong and in which line. `graph(*args)`
    runs it as it stands, in NumPy's own arithmetic: one argument for each parameter, arrays of its
    dtype (TypeError) and shape (ValueError), ints for values of dtype index; extents that are symbols
    are taken from the arguments. The results are arrays, NumPy scalars and ints: one, or a tuple.
    `str(graph)` is the text, `graph.passed()` the graph after all passes.
    """

    def __init__(self, text):
        if isinstance(text, dict) and isinstance(text.get("ir"), str):
            text = text["ir"]
        if isinstance(text, str):
            text = _pyasc.graph_parse(text)
        elif type(text).__name__ != "PyCapsule":
            raise TypeError(f"Graph: expected the text of a graph, got {type(text).__name__}")
        self._graph = text

    def __call__(self, *args):
        results = _pyasc.graph_run(self._graph, *args)
        return results[0] if len(results) == 1 else results

    def passed(self):
        return Graph(_pyasc.graph_passed(self._graph))

    def __str__(self):
        return _pyasc.graph_text(self._graph)

    def __repr__(self):
        return f"<pyasc.Graph {str(self).splitlines()[0]}>"


def shape_inference(graph):
    """See pyasc.shape_inference."""
    text = graph["ir"] if isinstance(graph, dict) else str(graph) if isinstance(graph, Graph) else graph
    if not isinstance(text, str):
        raise TypeError(f"shape_inference: expected a graph or its text, got {type(text).__name__}")
    found = {}
    for line in text.splitlines():
        head = line.split(" = ")[0] if " = " in line else line
        if not (head.lstrip().startswith(("%", "func")) or head.rstrip().endswith("{")):
            continue
        for name, dtype, dims in _BINDER.findall(head):
            if dtype not in DTYPES:
                raise ValueError(f"shape_inference: %{name} has the unknown dtype {dtype}")
            shape = tuple(
                int(d) if d.lstrip("-").isdigit() else d for d in (dims.split(", ") if dims else ())
            )
            found[name] = (shape, dtype)
    if not found:
        raise ValueError("shape_inference: no binder of the IR's grammar in this text")
    return found
