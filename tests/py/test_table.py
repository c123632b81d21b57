"""The tables of ir/ against NumPy: every row of ops.def over all dtypes, every row of fold.def on special values."""
import itertools
import operator
import re

import numpy as np
import pytest

from irtool import DTYPES, NAMES, STRONG, WEAK, asc_opt, available

pytestmark = pytest.mark.skipif(not available(), reason="asc_opt is not built")

KINDS = {"B": ["bool"], "I": ["i8", "i16", "i32", "i64"], "U": ["u8", "u16", "u32", "u64"],
         "F": ["f16", "f32", "f64"], "C": ["c64", "c128"]}


def ops():
    rows = [line.split() for line in asc_opt("--ops").splitlines()] if available() else []
    return {name: (cls, int(arity), rule, None if numpy == "-" else numpy) for name, cls, arity, rule, numpy, *_ in rows}


def lowerings():
    """op -> kind letter -> token"""
    rows = [line.split() for line in asc_opt("--ops").splitlines()] if available() else []
    return {row[0]: dict(zip("IUFCB", row[5:])) for row in rows}


def loops():
    """op -> [(operands, loop, result or None)]"""
    table = {}
    for line in asc_opt("--loops").splitlines() if available() else []:
        head, _, loop = line.partition(" : ")
        op, *operands = head.split()
        found = None if loop == "refused" else (loop.split(" -> ")[0].split(), loop.split(" -> ")[1])
        table.setdefault(op, []).append((operands, found))
    return table


OPS, LOOPS = ops(), loops()
ELEMENTWISE = {"unary", "binary", "compare", "ternary"}


# -- ops.def: dtypes ------------------------------------------------------------------


def resolved(ufunc, operands):
    """NumPy's loop for these operands: dtypes of inputs and result, or None if it refuses."""
    given = [np.dtype("?") if o == "pybool" else WEAK[o] if o in WEAK else DTYPES[o] for o in operands]
    try:
        dtypes = ufunc.resolve_dtypes((*given, None))
    except TypeError:
        return None
    return [NAMES.get(d, str(d)) for d in dtypes]


def comparable(operands):
    """bfloat16 is not NumPy's; Python's bools on their own are ints in Python's arithmetic."""
    return "bf16" not in operands and not (all(o in WEAK for o in operands) and "pybool" in operands)


UFUNCS = sorted(o for o, (cls, _, _, numpy) in OPS.items() if cls in ELEMENTWISE and isinstance(getattr(np, numpy or "", None), np.ufunc))


@pytest.mark.parametrize("op", UFUNCS)
def test_loops_are_numpys(op):
    ufunc, wrong = getattr(np, OPS[op][3]), []
    assert ufunc.nin == OPS[op][1]
    for operands, found in LOOPS[op]:
        if not comparable(operands):
            continue
        want = resolved(ufunc, operands)
        got = None if found is None else [*found[0], STRONG.get(found[1], found[1])]
        if want and "object" in want:  # comparisons of two Python ints are exact
            want = [*got[:-1], want[-1]]
        if want != got:
            wrong.append((operands, want, got))
    assert not wrong, f"{len(wrong)} of {len(LOOPS[op])}: {wrong[:5]}"


def test_all_numeric_ufuncs_are_ops():
    """What is missing is missing on purpose."""
    missing = set()
    for name, ufunc in vars(np).items():
        if isinstance(ufunc, np.ufunc) and ufunc.nout == 1 and not ufunc.signature:
            if not any(getattr(np, numpy or "", None) is ufunc for _, _, _, numpy in OPS.values()):
                missing.add(ufunc.__name__)
    assert missing == {"isnat"}  # datetimes


def test_clip():
    clip, wrong = np._core.umath.clip, []
    for operands, found in LOOPS["clip"]:
        if comparable(operands) and resolved(clip, operands) != (found and [*found[0], STRONG.get(found[1], found[1])]):
            wrong.append((operands, resolved(clip, operands), found))
    assert not wrong, wrong[:5]


def sample(name):
    return WEAK[name](1) if name in WEAK else np.ones(2, DTYPES[name])


def test_select():
    for (condition, *operands), found in LOOPS["select"]:
        if condition != "bool" or not comparable(operands):
            continue
        want = np.where(np.ones(2, bool), *map(sample, operands)).dtype
        assert found and found[0][0] == "bool" and NAMES[want] == STRONG.get(found[1], found[1]), operands


@pytest.mark.parametrize("op", ["real", "imag"])
def test_parts(op):
    for (operand,), found in LOOPS[op]:
        if operand in DTYPES:
            assert found[1] == NAMES[getattr(np, op)(sample(operand)).dtype]


def test_result_type_is_numpys():
    """add takes every pair: its result is the promoted dtype."""
    for operands, found in LOOPS["add"]:
        if comparable(operands):
            want = np.result_type(*(True if o == "pybool" else WEAK[o](1) if o in WEAK else DTYPES[o] for o in operands))
            assert NAMES[want] == STRONG.get(found[1], found[1]), operands


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    names = {**NAMES, np.dtype(ml_dtypes.bfloat16): "bf16"}
    dtypes = {name: dtype for dtype, name in names.items()}
    for operands, found in LOOPS["add"]:
        if "bf16" in operands and all(o in dtypes for o in operands):
            try:
                want = names[np.promote_types(*(dtypes[o] for o in operands))]
            except TypeError:
                continue  # ml_dtypes gives no answer
            assert found and found[1] == want, (operands, want)


@pytest.mark.parametrize("op", [o for o, row in OPS.items() if row[0] in {"reduce", "scan"}])
@pytest.mark.parametrize("dtype", DTYPES)
def test_reductions(op, dtype):
    x = np.ones((2, 3), DTYPES[dtype])
    scan = OPS[op][0] == "scan"
    try:
        want = operator.attrgetter(OPS[op][3])(np)(x, axis=1)
    except TypeError:  # NumPy has none of this dtype
        want = None
    shape = ", ".join(map(str, x.shape if scan else x.shape[:1]))
    text = (f"func %f(%x: {dtype}[2, 3]) -> ({{0}}[{shape}]) {{{{\n"
            f"  %y: {{0}}[{shape}] = {op} %x {{{{{'axis' if scan else 'axes'} = 1}}}}\n  ret %y\n}}}}\n")
    for result in DTYPES:
        taken = not asc_opt(text=text.format(result), check=False).startswith("error")
        assert taken == (want is not None and result == NAMES[want.dtype]), (result, want)


@pytest.mark.parametrize("op", sorted(o for o, row in OPS.items() if row[0] in ELEMENTWISE and o != "cast"))
def test_nop_is_what_cannot_occur(op):
    """A lowering token stands exactly where a loop of that kind exists."""
    kinds = {dtype: kind for kind, dtypes in KINDS.items() for dtype in dtypes}
    occurs = {kinds[found[0][-1 if op == "select" else 0]] for operands, found in LOOPS[op]
              if found and all(d in kinds for d in found[0])}
    assert occurs == {kind for kind, token in lowerings()[op].items() if token != "nop"}


# -- fold.def: values ----------------------------------------------------------------------


def rules():
    return [line.split("\t") for line in asc_opt("--fold-rows").splitlines()] if available() else []


def special(dtype):
    """Values that break school algebra."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        low = [info.min, info.min + 1, -7, -1] if dtype.kind == "i" else []
        return np.array([*low, 0, 1, 2, 3, 7, info.max // 3, info.max - 1, info.max], dtype)
    if dtype.kind == "c":
        part = special("f4" if dtype == np.complex64 else "f8")
        with np.errstate(all="ignore"):
            return (part[:, None] + np.array([1j], dtype) * part[None]).astype(dtype).ravel()
    info = np.finfo(dtype)
    some = [0.0, info.smallest_subnormal, info.smallest_normal, info.eps, 0.1, 0.5, 1 - info.epsneg, 1.0, 1 + info.eps,
            1.5, 2.0, 2.5, 3.0, 1 / info.eps, 1.5 / info.eps, info.max / 2, info.max, np.inf]
    with np.errstate(all="ignore"):
        return np.array([*some, *(-np.array(some, dtype)), np.nan], dtype)


def equal_bits(a, b):
    """Equal dtypes and bits; any NaN equals any NaN."""
    a, b = np.atleast_1d(a), np.atleast_1d(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    if a.dtype.kind == "c":
        return equal_bits(a.real.copy(), b.real.copy()) and equal_bits(a.imag.copy(), b.imag.copy())
    same = a.view(f"u{a.itemsize}") == b.view(f"u{b.itemsize}")
    if a.dtype.kind == "f":
        same |= np.isnan(a) & np.isnan(b)
    return bool(same.all())


FUNCTIONS = {name: getattr(np, numpy) for name, (cls, _, _, numpy) in OPS.items() if cls in ELEMENTWISE and numpy}


def cases(kinds):
    return [d for kind in kinds for d in KINDS[kind]]


@pytest.mark.parametrize("dtype,pattern,result", [pytest.param(d, pattern, result, id=f"{name}-{d}")
                                                  for name, kinds, pattern, result in rules() for d in cases(kinds)])
def test_rule_is_true(dtype, pattern, result):
    values = special(DTYPES[dtype])
    names = re.findall(r"\b[a-z]\b", pattern)
    if dtype == "bool":  # a number beside bools is a bool: an int would make all ints
        pattern, result = (re.sub(r"\b[01]\b", lambda m: str(bool(int(m[0]))), text) for text in (pattern, result))
    x = np.repeat(values, len(values)) if "y" in names else values
    y = np.tile(values, len(values))
    powers = [2.0**k for k in range(-13, 14)] if "p" in names else [1.0]
    with np.errstate(all="ignore"):
        for p, condition in itertools.product(powers, (True, False)):
            c = np.full(x.shape, condition)
            given = {**FUNCTIONS, "x": x, "y": y, "c": c, "p": p, "r": 1 / p}
            left, right = eval(pattern, given), eval(result, given)
            if np.isscalar(right):
                right = np.full(x.shape, right, x.dtype)
            assert equal_bits(left, right), (left, right)


def ir_text(pattern, dtype):
    """A pattern as IR on arrays; constants are Python scalars."""
    lines = []

    def emit(node):
        name, _, rest = node.partition("(")
        if not rest:
            if dtype == "bool" and node in {"0", "1"}:
                return ("false", "true")[int(node)]
            return "8.0" if node == "p" else f"%{node}" if node.isalpha() else node
        inner, depth, parts = rest[:-1], 0, [""]
        for char in inner:
            depth += (char == "(") - (char == ")")
            if char == "," and not depth:
                parts.append("")
            else:
                parts[-1] += char
        operands = [emit(part.strip()) for part in parts]
        if name == "select" and operands[0] in "01":
            operands[0] = ("false", "true")[int(operands[0])]
        kind = "bool" if name in {"logical_not", "logical_and", "logical_or"} else dtype
        lines.append(f"  %v{len(lines)}: {kind}[n] = {name} {', '.join(operands)}")
        return f"%v{len(lines) - 1}"

    root = emit(pattern)
    params = f"%x: {dtype}[n], %y: {dtype}[n], %c: bool[n]"
    return f"func %f({params}) -> ({dtype}[n]) {{\n" + "\n".join(lines) + f"\n  ret {root}\n}}\n"


@pytest.mark.parametrize("name,kinds,pattern,result", [pytest.param(*row, id=row[0]) for row in rules()])
def test_rule_fires_for_its_kinds_only(name, kinds, pattern, result):
    """Where the row names the kind the pattern goes; elsewhere, if NumPy takes it, it stays."""
    for dtype in [d for group in KINDS.values() for d in group]:
        text = ir_text(pattern, dtype)
        plain = asc_opt("--pass", "dce", text=text, check=False)
        if plain.startswith("error"):  # NumPy has no such loop, or its result is of another dtype
            assert dtype not in cases(kinds), plain
            continue
        folded = asc_opt("--pass", "fold", "--pass", "dce", text=text)
        if dtype in cases(kinds):
            assert folded != plain, f"{name} does not fire for {dtype}"
            continue
        others = [p for n, k, p, _ in rules() if n != name and dtype in cases(k) and p.split("(")[0] in pattern]
        assert folded == plain or others, f"{name} fires for {dtype}"


def number(text):
    return float.fromhex(text) if "x" in text else float(text)


# -- Constants --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["i8", "i16", "i32", "i64", "u8", "f16", "f32", "f64"])
@pytest.mark.parametrize("op", ["add", "subtract", "multiply", "divide", "negative", "absolute", "sqrt", "less",
                                "less_equal", "greater", "greater_equal", "equal", "not_equal", "bitwise_xor"])
def test_constants_are_numpys(op, dtype):
    values = special(DTYPES[dtype])
    arity, function = OPS[op][1], FUNCTIONS[op]
    pairs = list(itertools.product(values, repeat=arity))[::3]
    found = [f for operands, f in LOOPS[op] if operands == [dtype] * arity][0]
    if found is None:
        return
    lines, returns = [], []
    for i, pair in enumerate(pairs):
        for k, value in enumerate(pair):
            text = str(int(value)) if DTYPES[dtype].kind in "iu" else float(value).hex()
            lines.append(f"  %a{i}_{k}: {dtype} = const {{value = {text}}}")
        operands = ", ".join(f"%a{i}_{k}" for k in range(arity))
        lines.append(f"  %r{i}: {found[1]} = {op} {operands}")
        returns.append(f"%r{i}")
    text = f"func %f() -> ({', '.join([found[1]] * len(pairs))}) {{\n" + "\n".join(lines)
    folded = asc_opt("--pass", "fold", text=f"{text}\n  ret {', '.join(returns)}\n}}\n")
    constants = {m[1]: m[2] for m in re.finditer(r"%(\d+): \w+ = const \{value = ([^}]*)\}", folded)}
    names = folded[folded.index("ret ") + 4:].split("\n")[0].replace("%", "").split(", ")
    evaluated = 0
    for pair, name in zip(pairs, names, strict=True):
        if name not in constants:
            continue
        evaluated += 1
        with np.errstate(all="raise"):
            want = np.asarray(function(*(np.array([v], DTYPES[dtype]) for v in pair)))
        text = constants[name]
        got = np.array([number(text) if want.dtype.kind == "f" else int(text)]).astype(want.dtype)
        assert equal_bits(want, got), (pair, want, text)
    assert evaluated > len(pairs) // 8, "hardly anything is evaluated"
