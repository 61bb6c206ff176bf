"""What the instrument costs: llama-bench under runner and recorder against the same launch without them.

Run from the repository's root: `python -m benchmarks.overhead`. A real llama-bench on one thread and one CPU, the
recorder on another, at least 24 blocks in seeded order; the margin of ±1 % is declared here, before anything runs.
Runner and recorder are suspended in half of the windows of one launch, so that both states meet the same machine;
`--launches` compares whole launches instead. Two threads stand beside it without a budget: on two cores they share one
with the recorder.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from entity_tui.experiments.observer import MARGIN, Observed, observe, observer_plan
from entity_tui.experiments.observer_within import GENERATE, observe_within
from entity_tui.experiments.prepare import prepare
from entity_tui.transport.local import LocalTransport
from tests.fixtures.engine import engine_folder, model_file

BLOCKS = 900
TWO_THREAD_BLOCKS = 120
LITTLETAI_PCT = -8.3
"""What LITTLETai's sampler cost together with its trace, on a phone, six threads (its own published figure)."""


async def measure(blocks: int, threads: int, generate: int, repetitions: int, *, launches: bool) -> Observed:
    """One observer experiment on this computer."""
    with tempfile.TemporaryDirectory(prefix="entity-overhead-") as folder:
        async with LocalTransport() as transport:
            transport.root = str(Path(folder) / "device")
            ready = await prepare(transport, engine=str(engine_folder()), model=str(model_file()))
            cpu = 1 if threads == 1 else 0
            plan = observer_plan(ready.setting, threads=threads, cpu=cpu, n_gen=generate, repetitions=repetitions)
            return await (observe if launches else observe_within)(
                transport, plan, ready.snapshot, ready.facts, recorder_cpu=0, blocks=blocks, seed=20261130
            )


def tell(found: Observed) -> bool:
    """Print one experiment; True when its whole interval lies inside the margin."""
    if found.cost is None:
        print(f"{found.threads} threads: no block holds both arms")
        return False
    item = found.cost.paired
    low, high = ("none" if end is None else f"{100 * (end - 1):+.2f} %" for end in (item.low, item.high))
    rates = [values[0] for values in found.rates["bare"].values()]
    print(
        f"{found.threads} thread{'s' if found.threads > 1 else ''}: recorded against bare {100 * item.change:+.2f} %, "
        f"interval {low} to {high} over {item.n} blocks; bare {sum(rates) / len(rates):.1f} tok/s"
    )
    return bool(found.cost.within)


def main() -> int:
    """Both experiments; 1 when the one-thread interval leaves the margin."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--blocks", type=int, default=BLOCKS)
    parser.add_argument("--launches", action="store_true", help="compare whole launches")
    parser.add_argument("--generate", type=int, default=GENERATE)
    parser.add_argument("--repetitions", type=int, default=4, help="repetitions of a launch, with --launches")
    options = parser.parse_args()
    how = {"generate": options.generate, "repetitions": options.repetitions, "launches": options.launches}
    inside = tell(asyncio.run(measure(options.blocks, 1, **how)))
    tell(asyncio.run(measure(min(options.blocks, TWO_THREAD_BLOCKS), 2, **how)))
    print(f"declared margin ±{100 * MARGIN:g} %; LITTLETai's sampler and trace together: {LITTLETAI_PCT} %")
    return 0 if inside else 1


if __name__ == "__main__":
    sys.exit(main())
