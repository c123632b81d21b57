"""The cases of tests/stress.py, each at its small size, and each in a process of its own."""
import os
import pathlib
import subprocess
import sys

import pytest

import pyasc

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(TESTS))

import stress  # noqa: E402


@pytest.mark.parametrize("name", stress.CASES)
def test_case(name):
    env = {**os.environ, "PYTHONPATH": str(pathlib.Path(pyasc.__file__).absolute().parents[1])}
    done = subprocess.run([sys.executable, str(TESTS / "stress.py"), "--small", name], env=env, capture_output=True, text=True,
                          timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr


def test_unknown_cases_are_told():
    with pytest.raises(SystemExit):
        stress.main(["disk.no_such_case"])
