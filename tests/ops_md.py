"""OPS.md is what `asc_opt --ops-md` prints; --bless writes it."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = pathlib.Path(os.environ.get("PYASC_TOOLS", ROOT / "build" / "check" / "tests"))

page = ROOT / "OPS.md"
want = subprocess.run([TOOLS / "asc_opt", "--ops-md"], capture_output=True, text=True, check=True).stdout
if "--bless" in sys.argv:
    page.write_text(want)
if not page.exists() or page.read_text() != want:
    sys.exit("OPS.md is out of date: python3 tests/ops_md.py --bless")
