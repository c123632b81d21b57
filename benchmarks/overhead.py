"""(x + y) * 2 on 16 elements: what a call costs beside NumPy's two ufunc calls.

    ./run python benchmarks/overhead.py
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import numpy as np  # noqa: E402

import common  # noqa: E402
import pyasc  # noqa: E402


def add_scale(x, y):
    return (x + y) * 2


def empty(x, y):
    return x


def main():
    jitted = pyasc.jit(add_scale)
    x, y = np.linspace(0.0, 1.0, 16), np.linspace(1.0, 2.0, 16)
    wrong = common.call_difference(jitted, (x, y))
    jitted.wait()
    wrong = wrong or common.call_difference(jitted, (x, y))
    work = [(add_scale, (x, y)), (jitted, (x, y)), (np.add, (x, y)), (empty, (x, y))]
    numpy, ours, ufunc, nothing = common.interleaved(work, rounds=101, budget=10)
    print(f"(x+y)*2, 16 float64: NumPy {numpy * 1e9:.0f} ns, pyasc {ours * 1e9:.0f} ns: {ours / numpy:.3f} of NumPy's; "
          f"one np.add {ufunc * 1e9:.0f} ns: {ours / ufunc:.2f} of it; an empty function {nothing * 1e9:.0f} ns"
          f"{'; ' + wrong if wrong else ''}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
