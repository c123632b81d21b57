"""Robustness, at a size that takes minutes: damaged caches, kills, forks, exits, threads, signals, no memory.

    ./run python tests/stress.py [--small | --size FACTOR] [--seed N] [CASE ...]

Prints a row a case; ends with 1 if anything went wrong. Cases are the functions named in CASES of the files in
tests/stresses/, each with its full size and a small one, which the tests run (tests/py/test_stress.py). --size
multiplies the full size.
"""
import argparse
import pathlib
import random
import sys
import tempfile
import time

from stresses import disk, interrupts, kernels, memory, processes
from stresses.common import Tally

CASES = {**disk.CASES, **processes.CASES, **kernels.CASES, **interrupts.CASES, **memory.CASES}


def run(name, size, seed):
    case, _, _ = CASES[name]
    tally, start = Tally(), time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="pyasc-stress-") as place:
        case(tally, size, pathlib.Path(place), random.Random(f"{seed} {name}"))
    seconds = time.perf_counter() - start
    facts = ", ".join(f"{count} {what}" for what, count in tally.facts.items())
    print(f"{name:28} {tally.runs:7} {len(tally.faults):7} {seconds:8.1f}  {facts}", flush=True)
    for fault in tally.faults[:5]:
        print("    " + fault[-600:].strip().replace("\n", "\n    "), flush=True)
    return len(tally.faults)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=" ".join(CASES))
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    unknown = set(options.cases) - set(CASES)
    if unknown:
        parser.error(f"no case {', '.join(sorted(unknown))}; there are {', '.join(CASES)}")
    print(f"{'case':28} {'runs':>7} {'faults':>7} {'seconds':>8}")
    faults = 0
    for name in options.cases or CASES:
        _, full, small = CASES[name]
        faults += run(name, small if options.small else max(1, round(full * options.size)), options.seed)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
