"""./run demo: every example in NumPy and in pyasc, checked equal and timed side by side."""

import importlib
import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "benchmarks")]

import common  # noqa: E402
import pyasc  # noqa: E402

NAMES = ["polynomial", "heat_equation", "gray_scott_step", "mandelbrot_step", "n_body",
         "k_means_step", "black_scholes", "lennard_jones", "edit_distance"]
HEAD = (f"{'example':16} {'NumPy ms':>9} {'first ms':>9} {'pyasc ms':>9} {'ratio':>6}   "
        f"{'kernels':>7} {'compiled':>8} {'tier 0':>6} {'library':>7}  equal")


def run(name):
    """One row of the table; True if pyasc gave NumPy's results."""
    module = importlib.import_module(name)
    function, args = getattr(module, name), module.make_args()
    plain = function.__wrapped__
    with np.errstate(all="ignore"):
        plain(*common.copies(args))  # NumPy's own first call is not counted
        first = common.once(function, common.copies(args))
        wrong = common.call_difference(function, args)
        function.wait()
        wrong = wrong or common.call_difference(function, args)
        numpy, ours = common.interleaved(
            [(plain, common.copies(args)), (function, common.copies(args))], batch=0.001, budget=0.8)
    facts = function.report()
    print(f"{name:16} {numpy * 1e3:9.3f} {first * 1e3:9.3f} {ours * 1e3:9.3f} {numpy / ours:5.1f}x   "
          f"{facts['kernels']:7} {facts['ops_compiled']:8} {facts['ops_tier0']:6} "
          f"{facts['ops_library']:7}  {wrong or 'yes'}", flush=True)
    return not wrong


def show(title, text, lines=None):
    rows = text.rstrip().splitlines()
    print(f"\n-- {title}")
    print("\n".join("   " + row for row in (rows if lines is None else rows[:lines])))
    if lines is not None and len(rows) > lines:
        print(f"   … {len(rows) - lines} more lines")


def vector_loop(llvm):
    """The body of the first wide loop without its address arithmetic."""
    lines = llvm.partition("wide.body:")[2].partition("\n\n")[0].splitlines()[1:]
    return "\n".join(line for line in lines if "getelementptr" not in line and " i64 " not in line)


def first_trace():
    """What the first decorator and trace of a process load is told by itself, not with an example."""
    start = time.perf_counter()
    pyasc.jit(lambda x: x + x)(np.zeros(4))
    return time.perf_counter() - start


def main():
    start = time.perf_counter()
    common.keep_freed_memory()
    common.show_facts()
    print(f"\nThe first decorator and trace of this process took {first_trace() * 1e3:.0f} ms.")
    print("Times are medians of interleaved rounds. 'first' is pyasc's first call, which traces;\n"
          "'pyasc' is after fn.wait(). Then what the plans hold: kernels, operations inside of them,\n"
          "operations done by NumPy's loops or functions, calls of libraries. 'equal' is to the bit,\n"
          "but for elementary functions: these are compared so in strict mode, here within some ulps.\n")
    print(HEAD)
    good = [run(name) for name in NAMES]
    print()
    for name in NAMES:
        print(f"{name:16} {sys.modules[name].__doc__.splitlines()[0]}")

    gray_scott = sys.modules["gray_scott_step"].gray_scott_step
    show("gray_scott_step.explain()", gray_scott.explain())
    module = sys.modules["lennard_jones"]
    stages = module.lennard_jones.lower(*module.make_args())
    show("lennard_jones.lower(positions)['ir']: what was traced", stages["ir"])
    show("…['kernels']: its fused groups, for any length", stages["kernels"])
    show("…['llvm']: the wide loop of the first, without addresses",
         vector_loop(stages["llvm"]))
    print(f"\n{sum(good)} of {len(good)} examples equal NumPy; {time.perf_counter() - start:.1f} s")
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
