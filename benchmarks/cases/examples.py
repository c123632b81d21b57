"""The programs of examples/, as they are there."""

import importlib
import pathlib
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"


def cases():
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    for path in sorted(FOLDER.glob("*.py")):
        if path.stem != "demo":
            module = importlib.import_module(path.stem)
            yield path.stem, getattr(module, path.stem).__wrapped__, module.make_args()
