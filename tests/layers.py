"""The layering rule of ARCHITECTURE.md, executable: which folder may include which, and sizes as a smell."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ALL = {"ir", "runtime", "kernels", "lower", "trace", "jit", "tests"}
MAY = {"ir": {"ir"}, "runtime": {"runtime"}, "kernels": {"kernels"}, "lower": {"lower", "ir", "runtime", "kernels"},
       "trace": {"trace", "ir"}, "jit": ALL - {"tests"}, "tests": ALL}
ONLY = {"Python.h": {"trace", "jit"}, "numpy/": {"trace", "jit"}, "llvm-c/": {"lower/host"},
        "pthread.h": {"runtime", "tests"}, "threads.h": {"runtime"}}
# From outside a folder is its header of the same name and its tables. What else may be seen:
PUBLIC = set()
LINES_OF_FILE, LINES_OF_FUNCTION = 600, 70
# Larger than that, and why.
LARGE_FILES = {"tests/conformance/cases_control_flow.py": "cases that are taken over unchanged"}
LARGE_FUNCTIONS = {}


def problems_of_include(path, include):
    folder, target = path.parts[0], include.split("/")[0]
    if include.startswith((".", "/")):
        yield "is no path from the root of the project"
        return
    for start, folders in ONLY.items():
        if include.startswith(start) and not any(str(path).startswith(f + "/") for f in folders):
            yield f"may be included in {', '.join(sorted(folders))} only"
    if target not in ALL or "/" not in include:
        return
    if target not in MAY[folder]:
        yield f"may not be included in {folder}/"
    elif not (ROOT / include).exists():
        yield "does not exist"
    elif target != folder and folder != "tests" and include.endswith((".h", ".c")):
        if include != f"{target}/{target}.h" and include not in PUBLIC:
            yield f"is private to {target}/: only {target}/{target}.h and .def tables are public"


def problems_of_quotes(path, include, quoted):
    """A quoted include is a file of the project, named from its root; others are in brackets."""
    if quoted and not (include.split("/")[0] in ALL and (ROOT / include).exists()):
        if include.startswith((".", "/")) or include.split("/")[0] in ALL:
            return  # already told
        yield "cannot be resolved: project files are named from the root"


def functions(lines):
    """(line, name, length) of every function body: an opening brace in column one to the closing one."""
    for start, line in enumerate(lines):
        if line == "{":
            end = next((i for i in range(start, len(lines)) if lines[i].startswith("}")), start)
            head = " ".join(lines[max(0, start - 6):start])
            name = re.findall(r"(\w+)\(", head)
            yield start + 1, name[0] if name else "?", end - start - 1


def problems_of_size(path, lines):
    if len(lines) > LINES_OF_FILE and str(path) not in LARGE_FILES:
        yield f"{path}: {len(lines)} lines, more than {LINES_OF_FILE}"


def problems(path):
    lines = (ROOT / path).read_text().splitlines()
    for n, line in enumerate(lines, 1):
        m = re.match(r'\s*#\s*include\s*([<"])([^">]+)', line)
        if not m:
            continue
        for problem in [*problems_of_include(path, m[2]), *problems_of_quotes(path, m[2], m[1] == '"')]:
            yield f"{path}:{n}: {m[2]} {problem}"
    yield from problems_of_size(path, lines)
    for n, name, length in functions(lines):
        if length > LINES_OF_FUNCTION and f"{path}:{name}" not in LARGE_FUNCTIONS:
            yield f"{path}:{n}: {name} has {length} lines, more than {LINES_OF_FUNCTION}"


if __name__ == "__main__":
    files = [p.relative_to(ROOT) for d in MAY for p in (ROOT / d).rglob("*") if p.suffix in {".c", ".h", ".inc", ".def"}]
    found = [problem for path in sorted(files) for problem in problems(path)]
    scripts = [p.relative_to(ROOT) for d in ("python", "tests", "examples", "benchmarks") for p in (ROOT / d).rglob("*.py")]
    for path in sorted(scripts):
        found += problems_of_size(path, (ROOT / path).read_text().splitlines())
    print(*found, sep="\n")
    print(f"{len(files)} files and {len(scripts)} scripts, {len(found)} problems")
    sys.exit(bool(found) or not files)
