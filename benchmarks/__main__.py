"""`make bench`: every benchmark in turn, each a ratio against something measured in the same run.

Run from the root: `python -m benchmarks [NAME ...]`. Absolute figures stand beside every ratio; the exit code
counts the budgets that were exceeded.
"""

from __future__ import annotations

import subprocess
import sys
import time

MODULES = {
    "transport": "push, probe, command and stream latency over adb against a bare socket",
    "agent": "probe in one round trip, sampler tick against a cat per file, runner cost per cell",
    "facts": "snapshot parsing against reading the same files",
    "dashboard": "Dashboard at 5 Hz against ready-made widgets; exec to first paint",
    "chat_screen": "a streaming reply under 20 000 tokens against Markdown.get_stream",
    "chat_speed": "chat against a raw streaming request; restore against reading again",
    "history": "100 000 runs: open and filter",
    "census": "census of a 4 GB model over adb against one read of the same bytes",
    "overhead": "llama-bench with runner and recorder against running it bare",
}


def main(names: list[str]) -> int:
    """Run the named benchmarks, or all of them."""
    unknown = [name for name in names if name not in MODULES]
    if unknown:
        print(f"no benchmark {unknown[0]!r}; there are {', '.join(MODULES)}", file=sys.stderr)
        return 2
    failed = []
    for name in names or MODULES:
        print(f"\n== {name}: {MODULES[name]}", flush=True)
        began = time.monotonic()
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"]).returncode:
            failed.append(name)
        print(f"   {time.monotonic() - began:.0f} s", flush=True)
    print(f"\n{len(failed)} of {len(names or MODULES)} over budget{': ' + ', '.join(failed) if failed else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
