"""Golden IR tests: run the tool named on line one on the file, compare with its '# expect:' block.

python3 tests/golden.py [--bless] FOLDER…; the tools are looked for in $PYASC_TOOLS, then build/check/tests.
A line that ends in '# error: text' must be the one the tool blames, with that text in its message."""
import difflib
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = pathlib.Path(os.environ.get("PYASC_TOOLS", ROOT / "build" / "check" / "tests"))


def split(text):
    head, _, tail = text.partition("\n# expect:\n")
    want = "".join(l[2:] if l.startswith("# ") else l[1:] for l in tail.splitlines(keepends=True))
    return head, want


def blamed(head, got):
    """Whether a negative test blames the line that it marks."""
    marks = [(n, m[1]) for n, l in enumerate(head.splitlines(), 1) if (m := re.search(r"# error: (.+)$", l))]
    for line, text in marks:
        if f"line {line}: " not in got or text not in got:
            print(f"line {line} should be blamed with {text!r}; got {got!r}")
            return False
    return True


def run(path, bless):
    head, want = split(path.read_text())
    tool, *options = shlex.split(head.splitlines()[0].removeprefix("# run:"))
    out = subprocess.run([TOOLS / tool, *options], input=head, capture_output=True, text=True)
    got = out.stdout + out.stderr + (f"exit {out.returncode}\n" if out.returncode else "")
    if not blamed(head, got):
        print(f"{path}: wrong blame")
        return False
    if got == want:
        return True
    if bless:
        body = "".join(("# " + l).rstrip() + "\n" for l in got.splitlines())
        path.write_text(f"{head}\n# expect:\n{body}")
        return True
    sys.stdout.writelines(difflib.unified_diff(want.splitlines(1), got.splitlines(1), f"{path} (expected)", "got"))
    return False


if __name__ == "__main__":
    bless = "--bless" in sys.argv
    files = sorted(f for d in sys.argv[1:] if d != "--bless" for f in pathlib.Path(d).rglob("*.asc"))
    bad = [f for f in files if not run(f, bless)]
    print(f"{len(files) - len(bad)}/{len(files)} golden tests pass")
    sys.exit(bool(bad) or not files)
