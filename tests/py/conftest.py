"""Makes the tree's own build of pyasc importable, here and in child processes."""
import atexit
import importlib.util
import os
import pathlib
import shutil
import signal
import sys
import tempfile

import pytest

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build" / "check" / "python"

if importlib.util.find_spec("pyasc") is None and BUILD.is_dir():
    sys.path.insert(0, str(BUILD))
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(BUILD), os.environ.get("PYTHONPATH")]))

# Kernels of the tests are not the user's.
CACHE = tempfile.mkdtemp(prefix="pyasc-tests-")
os.environ["PYASC_CACHE_DIR"] = CACHE


def remove(process=os.getpid()):
    if os.getpid() == process:  # and no child of a fork
        shutil.rmtree(CACHE, ignore_errors=True)


atexit.register(remove)


@pytest.fixture(autouse=True, scope="session")
def interrupts():
    """Ctrl-C raises in the tests, even where a script has started them in the background with SIGINT
    ignored."""
    former = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, former or signal.SIG_DFL)
