"""`make fuzz`: hostile inputs for every parser of device text and for the model header reader, in turn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

TOOLS = Path(__file__).resolve().parent
RUNS = (("fuzz_parsers.py", "--inputs", "200000"), ("fuzz_gguf.py", "100000"))


def main() -> int:
    """Run each; the number of those that failed."""
    failed = 0
    for name, *arguments in RUNS:
        print(f"\n== {name} {' '.join(arguments)}", flush=True)
        failed += subprocess.run([sys.executable, str(TOOLS / name), *arguments], check=False).returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
