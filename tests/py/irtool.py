"""The IR tool from Python: finds asc_opt, runs it, names dtypes."""
import os
import pathlib
import subprocess

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOOLS = pathlib.Path(os.environ.get("PYASC_TOOLS", ROOT / "build" / "check" / "tests"))

DTYPES = {"bool": "?", "i8": "b", "i16": "h", "i32": "i", "i64": "l", "u8": "B", "u16": "H", "u32": "I", "u64": "L",
          "f16": "e", "f32": "f", "f64": "d", "f80": "g", "c64": "F", "c128": "D", "c160": "G"}
DTYPES = {name: np.dtype(char) for name, char in DTYPES.items()}
WEAK = {"pybool": bool, "pyint": int, "pyfloat": float, "pycomplex": complex}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
STRONG = {"pybool": "bool", "pyint": "i64", "pyfloat": "f64", "pycomplex": "c128"}


def asc_opt(*options, text="", check=True):
    """Standard output, or what is on standard error when `check` is off and the tool refuses."""
    out = subprocess.run([TOOLS / "asc_opt", *options], input=text, capture_output=True, text=True)
    if check and out.returncode:
        raise AssertionError(f"{out.stderr}\n{text}")
    return out.stdout if out.returncode == 0 else "error: " + out.stderr


def available():
    return (TOOLS / "asc_opt").exists()
