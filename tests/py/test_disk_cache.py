"""Kernels on disk and in memory: what a later process finds, what happens to what is damaged, foreign, full."""
import gc
import hashlib
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import pyasc
from pyasc import _pyasc

PROGRAM = """
import hashlib, numpy as np, pyasc
def chain(x, y): return np.sin(x) * y + np.exp(x) % 3.0
def whole(x, y): return (x.astype(np.int32) // 3 << 2) + y
def total(x, y): return (x * y + 1).sum()
def beyond(x, y): return np.arcsinh(x + y) * 2
x, y = np.linspace(-1e5, 1e5, 3001), np.linspace(-3.0, 3.0, 3001)
h = hashlib.sha256()
for plain in (chain, whole, total, beyond):
    f = pyasc.jit(plain)
    f(x, y)
    f.wait()
    h.update(np.asarray(f(x, y)).tobytes())
print(h.hexdigest())
"""
REPORT = """
s = pyasc.cache_stats()
print("LLVM" if "libLLVM" in open("/proc/self/maps").read() else "none", s["disk_hits"], s["disk_writes"], s["disk_errors"])
"""


def run(directory, code=PROGRAM + REPORT, **more):
    """The words that a process prints, and what it says to stderr."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], text=True, capture_output=True, timeout=120,
                          env={**os.environ, "PYASC_CACHE_DIR": str(directory)}, **more)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


@pytest.fixture
def cold(tmp_path):
    """A directory with the program's kernels, and the digest of its results."""
    directory = tmp_path / "cache"
    (digest, llvm, hits, writes, errors), said = run(directory)
    assert (llvm, hits, writes, errors, said) == ("LLVM", "0", "4", "0", "")
    return directory, digest


def entries(directory):
    return sorted(directory.glob("*.kernel"))


def test_a_later_process_has_the_same_bits_and_no_llvm(cold):
    directory, digest = cold
    assert (directory.stat().st_mode & 0o777, len(entries(directory))) == (0o700, 4)
    assert run(directory) == ([digest, "none", "4", "0", "0"], "")
    assert run("") == ([digest, "LLVM", "0", "0", "0"], "")  # a compile without a cache
    assert run("", PROGRAM.replace("pyasc.jit(plain)", "pyasc.jit(plain, tier=0)"))[0] == [digest]


def flipped(data):
    return data[:200] + bytes([data[200] ^ 1]) + data[201:]


def of_another_cpu(data):
    """Sound, but its key says another CPU."""
    data = data.replace(b"\nx86_64 ", b"\nx86_65 ")
    data = data[:48] + bytes(32) + data[80:]
    return data[:48] + hashlib.sha256(data).digest() + data[80:]


def of_another_format(data):
    data = data[:8] + b"\x7f" + data[9:48] + bytes(32) + data[80:]
    return data[:48] + hashlib.sha256(data).digest() + data[80:]


@pytest.mark.parametrize("damage", [lambda data: data[:-1], lambda data: data[:50], lambda data: b"", flipped,
                                    lambda data: bytes(len(data)), of_another_cpu, of_another_format])
def test_damaged_entries_are_made_again(cold, damage):
    directory, digest = cold
    before = {path: path.read_bytes() for path in entries(directory)}
    for path, data in before.items():
        path.write_bytes(damage(data))
    assert run(directory) == ([digest, "LLVM", "0", "4", "4"], "")
    assert {path: path.read_bytes() for path in entries(directory)} == before
    assert run(directory) == ([digest, "none", "4", "0", "0"], "")


def test_eight_processes_at_once(tmp_path):
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True,
                                env={**os.environ, "PYASC_CACHE_DIR": str(tmp_path / "new" / "cache")}) for _ in range(8)]
    digests = {process.communicate(timeout=120)[0] for process in started}
    assert [process.returncode for process in started] == [0] * 8
    assert len(digests) == 1
    assert len(entries(tmp_path / "new" / "cache")) == 4


def test_processes_that_are_killed(tmp_path):
    code = PROGRAM.replace("for plain in", "print(flush=True)\nfor plain in")
    for turn in range(6):
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE,
                                   env={**os.environ, "PYASC_CACHE_DIR": str(tmp_path)})
        process.stdout.readline()
        time.sleep(0.02 * turn)
        process.send_signal(signal.SIGKILL)
        process.communicate()
    digest = run("")[0][0]
    words, said = run(tmp_path)
    assert (words[0], words[-1], said) == (digest, "0", "")
    assert run(tmp_path) == ([digest, "none", "4", "0", "0"], "")


# -- Directories that cannot be used ------------------------------------------------------


def test_directory_that_others_can_write(cold):
    directory, digest = cold
    directory.chmod(0o777)
    words, said = run(directory)
    assert words == [digest, "LLVM", "0", "0", "0"]
    assert said == f"the disk cache is off: {directory} can be written by other users\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_directory_of_another_user(cold, tmp_path):
    directory, digest = cold
    os.chown(directory, 65534, 65534)
    (tmp_path / "link").symlink_to(directory)
    for path in (directory, tmp_path / "link"):
        words, said = run(path)
        assert words == [digest, "LLVM", "0", "0", "0"]
        assert said == f"the disk cache is off: {path} belongs to another user\n"


def test_no_directory_can_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    words, said = run(tmp_path / "file" / "cache")
    assert words[1:3] == ["LLVM", "0"]
    assert said.count("\n") == 1 and "cannot be opened" in said


def test_full_disk(tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    words, said = run(tmp_path, preexec_fn=limit)
    assert words[1:] == ["LLVM", "0", "0", "1"]
    assert said.count("\n") == 1 and "cannot be written" in said
    assert list(tmp_path.iterdir()) == []


def test_directory_that_vanishes(tmp_path):
    code = PROGRAM.replace("    f(x, y)\n", "    import shutil; shutil.rmtree(pyasc._options.cache_dir({}), True); f(x, y)\n", 1)
    (digest, _, _, writes, errors), said = run(tmp_path / "cache", code + REPORT)
    assert (writes, errors, said) == ("4", "0", "")
    assert digest == run("")[0][0]


# -- Options ------------------------------------------------------------------------------


def test_where_kernels_go(tmp_path):
    code = f"""
        import numpy as np, pyasc
        x = np.arange(1000.0)
        def use(f): f(x); f.wait()
        use(pyasc.jit(lambda x: x * 2 + 1, cache_dir={str(tmp_path / "argument")!r}))
        with pyasc.options(cache_dir={str(tmp_path / "scope")!r}):
            use(pyasc.jit(lambda x: x * 2 + 2))
            use(pyasc.jit(lambda x: x * 2 + 3, cache_dir=""))
        use(pyasc.jit(lambda x: x * 2 + 4))
        """
    run(tmp_path / "environment", code)
    assert [len(entries(tmp_path / name)) for name in ("argument", "scope", "environment")] == [1, 1, 1]
    run("", code.replace("argument", "second"))
    assert len(entries(tmp_path / "second")) == 1
    assert len(entries(tmp_path / "environment")) == 1


def test_default_directory(tmp_path):
    env = {k: v for k, v in os.environ.items() if k not in ("PYASC_CACHE_DIR", "XDG_CACHE_HOME")}
    def where(**more):
        code = "import pyasc; print(pyasc._options.cache_dir({}))"
        return subprocess.run([sys.executable, "-c", code], env={**env, **more}, check=True, capture_output=True,
                              text=True).stdout.strip()

    assert where(HOME="/home/me") == "b'/home/me/.cache/pyasc'"
    assert where(HOME="/home/me", XDG_CACHE_HOME="/var/x") == "b'/var/x/pyasc'"
    assert where(HOME="/home/me", XDG_CACHE_HOME="x") == "b'/home/me/.cache/pyasc'"
    assert where(HOME="/home/me", PYASC_CACHE_DIR="~/k") == "b'/home/me/k'"
    assert where(PYASC_CACHE_DIR="") == "None"
    assert pyasc._options.cache_dir({"cache_dir": tmp_path}) is not None


def test_first_call_runs_what_is_there(tmp_path):
    code = """
        import numpy as np, pyasc
        x, y = np.linspace(-9.0, 9.0, 200_000), np.linspace(1.0, 2.0, 200_000)
        f = pyasc.jit(lambda x, y: (x * y + x) * (x - y) * np.exp(x))
        first = f(x, y)
        found = pyasc.cache_stats()["disk_hits"]
        f.wait()
        plain = pyasc.jit(f.__wrapped__, tier=0)(x, y)
        print(found, np.array_equal(first, f(x, y)), np.array_equal(first, plain), "libLLVM" in open("/proc/self/maps").read())
        f(x[1:], y[1:])
        print(pyasc.cache_stats()["hits"])
        """
    assert run(tmp_path, code)[0][:4] == ["0", "True", "True", "True"]
    words, said = run(tmp_path, code)
    assert (words[:4], said) == (["1", "True", "True", "False"], "")
    assert int(words[4]) >= 1


# -- In memory ----------------------------------------------------------------------------


@pytest.fixture
def bounds():
    yield _pyasc.cache_bound
    _pyasc.cache_bound(64 << 20, 256 << 20)


def ready(f, *args):
    f(*args)
    f.wait()
    return f


def test_kernels_are_freed_when_no_plan_has_them(bounds):
    x = np.arange(1000.0)
    gc.collect()
    bounds(0, 256 << 20)
    before = pyasc.cache_stats()
    f = ready(pyasc.jit(lambda x: x * 3 + 17), x)
    assert pyasc.cache_stats()["kernels"] == before["kernels"] + 1
    g = ready(pyasc.jit(lambda x: x * 3 + 17), x)  # the same kernel
    assert pyasc.cache_stats()["hits"] == before["hits"] + 1
    f.cache_clear()
    assert pyasc.cache_stats()["kernels"] == before["kernels"] + 1
    assert g(x)[2] == 23
    g.cache_clear()
    after = pyasc.cache_stats()
    assert (after["kernels"], after["bytes"]) == (before["kernels"], before["bytes"])
    bounds(64 << 20, 256 << 20)
    ready(f, x).cache_clear()
    assert pyasc.cache_stats()["idle_kernels"] >= 1
    hits = pyasc.cache_stats()["hits"]
    ready(g, x)
    assert pyasc.cache_stats()["hits"] == hits + 1


def test_code_that_is_no_image(bounds, tmp_path):
    """What LLVM's ORC keeps is freed, too, and does not go to disk."""
    bounds(0, 256 << 20)
    x = np.linspace(-1e6, 1e6, 1000)
    right = pyasc.jit(lambda x: np.sin(x) % 0.3 + 3, tier=0)(x)
    _pyasc.cache_foreign(True)
    try:
        before = pyasc.cache_stats()
        for turn in range(5):
            f = ready(pyasc.jit(lambda x: np.sin(x) % 0.3 + 3, cache_dir=tmp_path), x)
            assert [g["compiled"] for e in f._facts()["entries"] for p in e["plans"] for g in p["groups"]] == [True]
            assert f(x).tobytes() == right.tobytes()
            f.cache_clear()
        after = pyasc.cache_stats()
    finally:
        _pyasc.cache_foreign(False)
    assert after["evictions"] == before["evictions"] + 5
    assert (after["disk_writes"], after["kernels"]) == (before["disk_writes"], before["kernels"])
    assert entries(tmp_path) == []


def test_threads_call_while_kernels_go(bounds):
    bounds(0, 256 << 20)
    x, wrong = np.arange(2000.0), []

    def work(seed):
        for turn in range(40):
            k = (seed * 7 + turn) % 11
            f = pyasc.jit(eval(f"lambda x: x * {k} + 1"))
            for _ in range(5):
                if not np.array_equal(f(x), x * k + 1):
                    wrong.append((seed, turn))
            f.wait()
            if not np.array_equal(f(x), x * k + 1):
                wrong.append((seed, turn))
            f.cache_clear()

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert pyasc.cache_stats()["evictions"] > 0


def test_fork_while_kernels_are_compiled(tmp_path):
    words, said = run(tmp_path, """
        import os, numpy as np, pyasc
        x = np.arange(1000.0)
        for k in range(12):
            f = pyasc.jit(eval(f"lambda x: np.exp(-x) * {k} + np.sin(x)", {"np": np}))
            f(x)
            child = os.fork()
            f.wait()
            right = np.array_equal(f(x), pyasc.jit(f.__wrapped__, tier=0)(x))
            if not child:
                os._exit(not right)
            assert right and os.waitpid(child, 0)[1] == 0
        print(pyasc.cache_stats()["disk_errors"])
        """)
    assert (words, said) == (["0"], "")
    assert len(entries(tmp_path)) == 12


def test_every_kind_of_kernel_goes_to_disk(tmp_path):
    """None of these needs more than an image can hold."""
    words, _ = run(tmp_path, """
        import numpy as np, pyasc
        x = np.linspace(0.1, 0.9, 1000)
        ones = "sin cos tan exp log sqrt cbrt arctan tanh floor rint isnan sign square".split()
        twos = "add divide remainder floor_divide power arctan2 hypot maximum copysign greater".split()
        forms = [f"np.{name}(a) + a" for name in ones] + [f"np.{name}(a, a) + a" for name in twos]
        for dtype in "efdFDbhilBHIL?":
            a = (x * 100).astype(dtype)
            for form in forms:
                f = pyasc.jit(eval("lambda a: " + form, {"np": np}))
                try:
                    f(a)
                except TypeError:
                    continue
                f.wait()
        s = pyasc.cache_stats()
        print(s["kernels"] - s["disk_writes"], s["kernels"] > 100, s["disk_errors"])
        """)
    assert words == ["0", "True", "0"]
