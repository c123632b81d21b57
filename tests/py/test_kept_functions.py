"""Rewritten functions on disk: a later process has them without the source; what is damaged, foreign or off."""
import hashlib
import importlib
import marshal
import os
import shutil
import subprocess
import sys
import textwrap
import traceback
import types

import numpy as np
import pytest

import pyasc
from pyasc import _kept, _nests, _nodes, _pyasc, _rewrite, _scopes

MODULE = '''
import numpy as np

def chain(x):
    return np.sin(x) * 2 + x % 3.0

def loops(x):
    total = 0.0
    for i in range(len(x)):
        for j in range(i):
            total += x[i] * x[j] - total * 1e-3
    return total

def outer(x):
    def inner(v):
        return v * 2 + 1 if v > 0 else -v
    total = 0.0
    for v in x:
        total += inner(v)
    return total

class Owner:
    def __init__(self):
        self.__scale = 3.0
    def method(self, x):
        return x * self.__scale

def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

def fails(x):
    y = x + 1
    return y.reshape(
        7, 7)
'''
PROGRAM = """
import hashlib, importlib, linecache, traceback
import numpy as np, pyasc
from pyasc import _pyasc
pyasc.jit(abs)
compiled = []
module = importlib.import_module("kept_module")
linecache.clearcache()
linecache.getlines = (lambda get: lambda name, *more: (compiled.append(name), get(name, *more))[1])(linecache.getlines)
x = np.linspace(-1.0, 3.0, 40)
h = hashlib.sha256()
for call in (lambda j: j(module.chain)(x), lambda j: j(module.loops)(x), lambda j: j(module.outer)(x),
             lambda j: j(module.Owner.method)(module.Owner(), x), lambda j: j(module.collatz)(27)):
    made = []
    def jit(function):
        made.append(pyasc.jit(function))
        return made[-1]
    for _ in range(3):
        h.update(np.asarray(call(jit if not made else lambda f: made[0])).tobytes())
        made[0].wait()
    assert made[0]._facts()["bail"] == "none", made[0].explain()
read = sum(name.endswith("kept_module.py") for name in compiled)
try:
    pyasc.jit(module.fails)(x)
except ValueError as error:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = frame.filename, frame.lineno, frame.name
pyasc.jit(abs).wait()
s = _pyasc.twin_stats()
print(h.hexdigest(), read, s["hits"], s["writes"], s["errors"], *where)
"""


def run(folder, directory, code=PROGRAM):
    """The words that a process prints; `folder` has the module."""
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], text=True, capture_output=True, timeout=120, cwd=folder,
                          env={**os.environ, "PYASC_CACHE_DIR": str(directory),
                               "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])})
    assert done.returncode == 0 and not done.stderr, done.stderr
    return done.stdout.split()


def entries(directory):
    return sorted(directory.glob("*.twin"))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """A folder with the module, a directory with its functions, and what the process said that has made them."""
    folder, directory = tmp_path_factory.mktemp("module"), tmp_path_factory.mktemp("base") / "cache"
    (folder / "kept_module.py").write_text(MODULE)
    return folder, directory, run(folder, directory)


@pytest.fixture
def kept(first, tmp_path):
    """The same with a copy of the directory."""
    folder, directory, words = first
    own = tmp_path / "cache"
    own.mkdir(0o700)
    for path in entries(directory):
        (own / path.name).write_bytes(path.read_bytes())
    return folder, own, words


def test_a_later_process_reads_no_source(kept):
    folder, directory, (digest, read, hits, writes, errors, *where) = kept
    assert int(read) > 0 and (hits, writes, errors) == ("0", "6", "0")
    assert where == [str(folder / "kept_module.py"), str(MODULE.splitlines().index("    return y.reshape(") + 1), "fails"]
    assert len(entries(directory)) == 6
    assert run(folder, directory) == [digest, "0", "6", "0", "0", *where]


def test_kernels_are_counted_apart(kept):
    folder, directory, _ = kept
    words = run(folder, directory, PROGRAM + 'print(pyasc.cache_stats()["disk_hits"], pyasc.cache_stats()["disk_errors"])')
    assert words[2] == "6" and words[-2:] == ["0", "0"]


def test_without_a_directory_nothing_is_kept(kept):
    folder, _, (digest, *_) = kept
    words = run(folder, "")
    assert words[0] == digest and int(words[1]) > 0 and words[2:5] == ["0", "0", "0"]


def test_a_file_of_another_name(kept, tmp_path):
    """Where the file is has no part in the key, but is said in tracebacks."""
    folder, directory, words = kept
    other = tmp_path / "elsewhere"
    other.mkdir()
    (other / "kept_module.py").write_text(MODULE)
    assert run(other, directory) == [words[0], "0", "6", "0", "0", str(other / "kept_module.py"), *words[6:]]


def test_other_source_is_another_function(kept, tmp_path):
    folder, directory, words = kept
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept_module.py").write_text(MODULE.replace("np.sin(x) * 2", "np.sin(x) * 3").replace("> 0 else -v", ">= 0 else v"))
    again = run(other, directory)
    assert again[0] != words[0] and again[2:5] == ["4", "2", "0"]


def test_source_that_is_gone(kept, tmp_path):
    """Only the compiled file is there: what an earlier process has rewritten is as it was."""
    folder, directory, (digest, *_, line, name) = kept
    other = tmp_path / "compiled"
    other.mkdir()
    import py_compile
    py_compile.compile(str(folder / "kept_module.py"), cfile=str(other / "kept_module.pyc"), dfile=str(folder / "gone.py"), doraise=True)
    words = run(other, directory)
    assert words == [digest, "0", "6", "0", "0", str(folder / "gone.py"), line, name]


def sealed(data):
    """The entry with a checksum that is right."""
    data = data[:48] + bytes(32) + data[80:]
    return data[:48] + hashlib.sha256(data).digest() + data[80:]


def valued(data, value):
    """A sound entry of the same key with other bytes."""
    key = int.from_bytes(data[24:28], "little")
    data = data[:80 + key] + value
    return sealed(data[:16] + len(data).to_bytes(8, "little") + data[24:32] + len(value).to_bytes(4, "little") + data[36:])


def twin_of(data):
    return marshal.loads(data[80 + int.from_bytes(data[24:28], "little"):])


def freed():
    _pyasc_other = 1
    return lambda x: _pyasc_other


@pytest.mark.parametrize("damage", [
    lambda d: d[:-1], lambda d: d[:50], lambda d: b"", lambda d: bytes(len(d)), lambda d: d[:200] + bytes([d[200] ^ 1]) + d[201:],
    lambda d: sealed(d[:90] + bytes([d[90] ^ 1]) + d[91:])], ids=["cut", "short", "empty", "zeros", "flipped", "key"])
def test_damaged_entries_are_made_again(kept, damage):
    folder, directory, words = kept
    before = {path: path.read_bytes() for path in entries(directory)}
    for path, data in before.items():
        path.write_bytes(damage(data))
    again = run(folder, directory)
    assert again[0] == words[0] and again[2:5] == ["0", "6", "6"] and again[5:] == words[5:]
    assert entries(directory) == sorted(before)
    assert run(folder, directory)[2:5] == ["6", "0", "0"]


@pytest.mark.parametrize("value", [
    lambda d: b"", lambda d: b"\xff" * 40, lambda d: marshal.dumps(None), lambda d: marshal.dumps((1, 2, 3, 4)),
    lambda d: marshal.dumps((freed().__code__, {}, True, [])), lambda d: marshal.dumps((twin_of(d)[0], {"_pyasc_nest1": (1, 2)}, True, [])),
    lambda d: marshal.dumps((*twin_of(d)[:3], 7)), lambda d: marshal.dumps(twin_of(d))[:-30]],
    ids=["none", "noise", "None", "ints", "names", "nests", "inner", "cut"])
def test_sound_entries_of_something_else(kept, value):
    folder, directory, words = kept
    for path in entries(directory):
        path.write_bytes(valued(path.read_bytes(), value(path.read_bytes())))
    again = run(folder, directory)
    assert again[0] == words[0] and again[4:] == words[4:]


def test_eight_processes_at_once(first, tmp_path):
    folder, _, words = first
    started = [subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True, cwd=folder,
                                env={**os.environ, "PYASC_CACHE_DIR": str(tmp_path / "new"),
                                     "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])})
               for _ in range(8)]
    said = [process.communicate(timeout=120)[0].split() for process in started]
    assert {(s[0], s[4]) for s in said} == {(words[0], "0")}
    assert len(entries(tmp_path / "new")) == 6


# -- In this process


def fresh(function):
    """An equal function with code of its own."""
    new = types.FunctionType(function.__code__.replace(), function.__globals__, function.__name__, function.__defaults__,
                             function.__closure__)
    new.__qualname__ = function.__qualname__
    return new


def codes(code):
    yield code
    for const in code.co_consts:
        if isinstance(const, types.CodeType):
            yield from codes(const)


def in_module(tmp_path, text, name):
    (tmp_path / f"{name}.py").write_text(text)
    sys.path.insert(0, str(tmp_path))
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(tmp_path))
        del sys.modules[name]


def all_functions(tmp_path):
    module = in_module(tmp_path, MODULE, "kept_functions_of_tests")
    found = [f for m in (module, _kept, _nests, _nodes, _scopes) for f in vars(m).values() if isinstance(f, types.FunctionType)]
    return found + [module.Owner.method, module.Owner.__init__]


def wait():
    pyasc.jit(abs).wait()


@pytest.mark.parametrize("numbers", [False, True])
def test_what_is_read_is_what_was_made(tmp_path, numbers):
    directory, count = os.fsencode(tmp_path / "cache"), 0
    for function in all_functions(tmp_path):
        try:
            made, complete, nests = _rewrite._twin_code(fresh(function), numbers, directory)
        except _rewrite.NotRewritten:
            continue
        wait()
        other = fresh(function)
        key = _kept.key(other, numbers)
        read, again, cells = _kept.read(directory, key, other)
        assert (read, again) == (made, complete) and sorted(cells) == sorted(nests)
        for one, two in zip(codes(made), codes(read), strict=True):
            assert list(one.co_positions()) == list(two.co_positions()) and one.co_filename == two.co_filename
            assert one.co_exceptiontable == two.co_exceptiontable and one.co_qualname == two.co_qualname
            assert (id(one) in _nests._inner) == (id(two) in _nests._functions)
            if id(one) in _nests._inner:
                assert _nests._functions[id(one)][0] == _nests._functions[id(two)][0]
        count += 1
    assert count > 15


def test_functions_in_functions_are_inlined_from_disk(tmp_path):
    module = in_module(tmp_path, MODULE, "kept_inner_of_tests")
    x = np.linspace(-1.0, 3.0, 500)
    for turn in range(2):
        function = fresh(module.outer)
        with pyasc.options(cache_dir=str(tmp_path / "cache")):
            jitted = pyasc.jit(function)
        before = _pyasc.twin_stats()
        for _ in range(3):
            assert jitted(x) == module.outer(x)
            jitted.wait()
        assert _pyasc.twin_stats()["hits"] - before["hits"] == turn
        assert "not compiled as a whole" not in jitted.explain(), jitted.explain()


def test_helpers_are_kept_too(tmp_path):
    text = "def helper(x):\n    return x * 2 + 1\n\ndef f(x):\n    return helper(x) - 3\n"
    module = in_module(tmp_path, text, "kept_helpers_of_tests")
    for turn in range(2):
        helper = fresh(module.helper)
        module.helper = helper
        jitted = pyasc.jit(fresh(module.f), cache_dir=str(tmp_path / "cache"))
        before = _pyasc.twin_stats()["hits"]
        assert jitted(np.ones(3)).tolist() == [0.0] * 3
        jitted.wait()
        assert _pyasc.twin_stats()["hits"] - before == 2 * turn
    assert len(entries(tmp_path / "cache")) == 2


def compiled(text, name="f", filename="<test>"):
    scope = {}
    exec(compile(text, filename, "exec"), scope)
    return scope[name]


def test_keys():
    base = "def f(x): return x + {}\n"
    texts = [base.format(c) for c in ("1", "1.0", "True", "1j", "0.0", "-0.0", "'a'", "b'a'", "None", "(1, 2)", "(1, 2.0)")]
    texts += ["\n" + base.format(1), base.format(1).replace("f(x)", "f(y)"), base.format(1).replace("x +", "x  +"),
              base.format(1).replace("f(x)", "f(x, k=1)"), base.format(1).replace("x + 1", "y + 1")]
    keys = [_kept.key(compiled(text), True) for text in texts]
    assert len(set(keys)) == len(texts)
    one = compiled(texts[0])
    assert _kept.key(compiled(texts[0], filename="/elsewhere.py"), True) == keys[0]
    assert _kept.key(one, False) != keys[0]
    one.__qualname__ = "C.f"
    assert _kept.key(one, True) != keys[0]


def test_keys_belong_to_the_rewriter(monkeypatch, tmp_path):
    function = compiled("def f(x): return x")
    identity, key = _kept._identity(), _kept.key(function, True)
    assert _kept._IDENTITY == identity and key.startswith(identity)
    monkeypatch.setattr(_pyasc, "TWIN_VERSION", "another")
    assert _kept._identity() != identity
    monkeypatch.undo()
    for name in os.listdir(os.path.dirname(_kept.__file__)):
        if name.endswith(".py"):
            shutil.copy2(os.path.join(os.path.dirname(_kept.__file__), name), tmp_path / name)
    monkeypatch.setattr(_kept, "__file__", str(tmp_path / "_kept.py"))
    assert _kept._identity() == identity
    (tmp_path / "_rewriter.py").write_text("changed")
    assert _kept._identity() != identity
    monkeypatch.setattr(_kept, "__file__", str(tmp_path / "archive.zip" / "_kept.py"))
    monkeypatch.setattr(_kept, "_IDENTITY", _kept._identity())
    assert _kept.key(function, True) is None


def test_keys_are_those_of_another_process(tmp_path):
    """Compiled from source, and read from a compiled file."""
    text = MODULE + "\ndef sets(x): return x in {'some', 'more words', 'a'} or x == 'not a name' or x in {1.5, None, (1, 'b c')}\n"
    (tmp_path / "kept_module.py").write_text(text)
    code = """
    import kept_module, hashlib
    from pyasc import _kept
    for name, f in sorted(vars(kept_module).items()):
        if hasattr(f, "__code__"): print(name, hashlib.sha256(_kept.key(f, True)).hexdigest())
    """
    said = [run(tmp_path, "", code) for _ in range(3)]
    assert said[0] == said[1] == said[2] and len(said[0]) == 12


def test_the_bound_is_kept(tmp_path):
    directory = tmp_path / "cache"
    key = b"k" * 100
    try:
        for i in range(40):
            _pyasc.twin_write(os.fsencode(directory), key + bytes([i]), os.urandom(1000))
            if i == 0:
                _pyasc.cache_bound(64 << 20, 8 * 8000)
        wait()
        assert 1 <= len(entries(directory)) <= 8
    finally:
        _pyasc.cache_bound(64 << 20, 256 << 20)


def test_a_directory_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    jitted = pyasc.jit(fresh(plus_one()), cache_dir=str(tmp_path / "file" / "cache"))
    assert jitted(np.ones(3)).shape == (3,)
    jitted.wait()


def plus_one():
    def plus(x):
        return x + 1
    return plus


def test_trouble_is_told_once(first, tmp_path):
    """Of the directory: functions and kernels have the same."""
    folder, _, words = first
    directory = tmp_path / "cache"
    directory.mkdir()
    directory.chmod(0o777)
    done = subprocess.run([sys.executable, "-c", PROGRAM], text=True, capture_output=True, timeout=120, cwd=folder,
                          env={**os.environ, "PYASC_CACHE_DIR": str(directory),
                               "PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])})
    assert done.stdout.split()[0] == words[0] and not list(directory.iterdir())
    assert done.stderr == f"the disk cache is off: {directory} can be written by other users\n"


def test_errors_show_the_line(tmp_path):
    text = "def f(x):\n    y = x + 1\n    return y / [\n        1, 2, 3, 4]\n"
    module = in_module(tmp_path, text, "kept_errors_of_tests")
    for _ in range(2):
        jitted = pyasc.jit(fresh(module.f), cache_dir=str(tmp_path / "cache"))
        with pytest.raises(ValueError) as caught:
            jitted(np.ones(3))
        jitted.wait()
        last = traceback.extract_tb(caught.value.__traceback__)[-1]
        assert (last.filename, last.lineno, last.line) == (module.__file__, 3, "return y / [")
