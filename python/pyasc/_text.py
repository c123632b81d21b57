"""Reading the text form of graphs."""

import re

_BINDER = re.compile(r"%([\w.]+): ([a-z0-9]+)(?:\[([^\]]*)\])?")


def shape_inference(graph):
    """See pyasc.shape_inference."""
    text = graph["ir"] if isinstance(graph, dict) else graph
    found = {}
    for line in text.splitlines():
        head = line.split(" = ")[0] if " = " in line else line
        if not (head.lstrip().startswith(("%", "func")) or head.rstrip().endswith("{")):
            continue
        for name, dtype, dims in _BINDER.findall(head):
            shape = tuple(
                int(d) if d.lstrip("-").isdigit() else d for d in (dims.split(", ") if dims else ())
            )
            found[name] = (shape, dtype)
    if not found:
        raise ValueError("shape_inference: no binder of the IR's grammar in this text")
    return found
