"""Runs hostile inputs over every parser and over whole snapshots, and counts them.

    python tools/fuzz_parsers.py --inputs 200000 --seed 1

Exit 1 with the input's seed when a parser raises or a fact is invented.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from entity_tui.device.facts import read_facts
from tests.fuzzing.checks import check_facts
from tests.fuzzing.inputs import PARSERS, snapshot_from, text_from

SNAPSHOT_SHARE = 0.05


def main() -> int:
    """Run and print; 0 when every input was read without an exception and without an invented value."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--inputs", type=int, default=200_000)
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    rng = random.Random(chosen.seed)
    counts: Counter[str] = Counter()
    slowest = (0.0, "")
    began = time.perf_counter()
    for number in range(chosen.inputs):
        if rng.random() < SNAPSHOT_SHARE:
            seed = rng.randrange(2**48)
            wrong = check_facts(read_facts(snapshot_from(seed)))
            counts["whole snapshots"] += 1
            if wrong:
                print(f"snapshot {seed}: {wrong}")
                return 1
            continue
        name, parse = PARSERS[number % len(PARSERS)]
        text = text_from(rng)
        start = time.perf_counter()
        try:
            parse(text)
        except Exception as error:
            print(f"{name} raised {error!r} on {text!r}")
            return 1
        slowest = max(slowest, (time.perf_counter() - start, name))
        counts[name] += 1
    seconds = time.perf_counter() - began
    for name, count in sorted(counts.items()):
        print(f"{count:8d}  {name}")
    print(f"{sum(counts.values()):8d}  inputs, seed {chosen.seed}, {seconds:.0f} s: no exception, no invented zero")
    print(f"slowest single parse {slowest[0] * 1000:.1f} ms ({slowest[1]})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
