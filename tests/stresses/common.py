"""What the cases share: counting, child processes, programs that make kernels."""
import os
import pathlib
import subprocess
import sys
import textwrap

import pyasc

TIMEOUT = 120  # seconds; a process that takes longer hangs
PACKAGE = pathlib.Path(pyasc.__file__).absolute().parents[1]  # not resolved: a build links to the sources


class Tally:
    """Runs, what went wrong in them, and counts that tell what the case has met."""

    def __init__(self):
        self.runs, self.faults, self.facts = 0, [], {}

    def expect(self, right, what):
        self.runs += 1
        if not right:
            self.faults.append(str(what)[-2000:])
        return right

    def note(self, what, count=1):
        self.facts[what] = self.facts.get(what, 0) + count


def write(place, name, code):
    path = place / name
    path.write_text(textwrap.dedent(code))
    return path


def start(script, *arguments, cache="", preexec=None, **env):
    """A child that runs the script, warnings being errors."""
    paths = [str(PACKAGE), str(pathlib.Path(__file__).resolve().parents[1] / "py")]
    env = {**os.environ, "PYASC_CACHE_DIR": str(cache), "PYTHONPATH": os.pathsep.join(paths),
           "OPENBLAS_NUM_THREADS": "1", **env}
    return subprocess.Popen([sys.executable, "-W", "error", str(script), *map(str, arguments)], env=env, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=preexec)


def finish(process):
    """(code, words on stdout, stderr); a code of None is a hang."""
    try:
        out, said = process.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        process.kill()
        out, said = process.communicate()
        return None, out.split(), said
    return process.returncode, out.split(), said


def run(script, *arguments, **how):
    return finish(start(script, *arguments, **how))


# Makes kernels KERNELS[0], … of the numbers it is given and prints a digest of results, whether LLVM was
# loaded, and what the cache counted. Literals are part of a kernel's key.
PROGRAM = """
import hashlib, pathlib, sys
import numpy as np
import pyasc

def kernel(number):
    return pyasc.jit(eval(f"lambda x, y: np.sqrt(x * x + {number}.5) * y - np.exp(y) * {number}", {"np": np}))

if __name__ == "__main__":
    x, y = np.linspace(-9.0, 9.0, 997), np.linspace(-1.0, 2.0, 997)
    digest = hashlib.sha256()
    for number in range(*map(int, sys.argv[1:3])):
        f = kernel(number)
        first = f(x, y)
        f.wait()
        assert f(x, y).tobytes() == first.tobytes(), number
        digest.update(first.tobytes())
    s = pyasc.cache_stats()
    print(digest.hexdigest(), "LLVM" if "libLLVM" in pathlib.Path("/proc/self/maps").read_text() else "none",
          *(s["disk_" + name] for name in ("hits", "writes", "errors")))
"""
