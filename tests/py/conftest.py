"""Makes the tree's own build of pyasc importable, here and in child processes."""
import importlib.util
import os
import pathlib
import sys

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "check" / "python"

if importlib.util.find_spec("pyasc") is None and BUILD.is_dir():
    sys.path.insert(0, str(BUILD))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(BUILD), os.environ.get("PYTHONPATH")]))
