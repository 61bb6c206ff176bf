"""How long 100 000 runs take to open and to filter (`python -m benchmarks.history`).

The runs are real folders with a run.json and a tidy CSV. Prints the first open (which reads every folder once), later
opens, and filters; exit 1 when a later open takes more than 0.3 s or a filter more than 0.1 s.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from entity_tui.records.export import tidy_csv
from entity_tui.records.run_directory import ROWS_FILE, RUN_FILE, RunInfo
from entity_tui.records.schema import Metric, Role, Row
from entity_tui.records.store import RunStore

RUNS = 100_000
OPEN_LIMIT_S = 0.3
FILTER_LIMIT_S = 0.1
DEVICES = ("CMF Phone 1", "Pixel 8", "A015", "SM-S911B", "RMX5020", "CPH2729")
MODELS = ("Llama 3.2 1B", "Qwen2.5 0.5B", "SmolLM2 135M", "Gemma 2 2B")
QUANTS = ("Q4_0", "Q8_0", "Q4_K_M")
ARMS = ("naive", "optimized")
FILTERS = (
    "",
    "device~CMF",
    "device~cmf model~llama kind=bench since=30d",
    "tag=nightly",
    "tok/s>20 quant=Q4_0",
    "nothing-matches-this",
)


def make_runs(folder: Path, count: int, now: datetime) -> None:
    """Write `count` runs as plain folders, quickly: what a crash would do to them is not the question here."""
    chance = random.Random(1)
    for number in range(count):
        session_id = f"{number:06d}"
        path = folder / "runs" / session_id
        path.mkdir(parents=True)
        info = RunInfo(
            session_id=session_id,
            started_utc=(now - timedelta(minutes=10 * number)).isoformat(timespec="seconds"),
            kind=chance.choice(("bench", "placement", "chat")),
            experiment="ablation",
            state="done",
            device_name=chance.choice(DEVICES),
            model_name=chance.choice(MODELS),
            model_quant=chance.choice(QUANTS),
            engine="llama.cpp",
            engine_build="b6123",
        )
        (path / RUN_FILE).write_text(json.dumps(asdict(info)))
        row = Row(session_id=session_id, metric=Metric.DECODE_TOK_S, unit="tok/s", role=Role.MEASURE, block=1)
        rows = [replace(row, arm=arm, value=round(chance.uniform(5, 40), 2)) for arm in ARMS]
        (path / ROWS_FILE).write_text(tidy_csv(rows))
        if number % 50 == 0:
            (path / "tags").write_text("nightly\n")


def timed(work: Callable[[], object], repeat: int = 5) -> tuple[float, float]:
    """Median and largest seconds of some repetitions."""
    spent = []
    for _ in range(repeat):
        start = time.perf_counter()
        work()
        spent.append(time.perf_counter() - start)
    return statistics.median(spent), max(spent)


def measure(folder: Path, now: datetime) -> list[str]:
    """Print every figure and return the limits that were missed."""
    start = time.perf_counter()
    RunStore(folder).close()
    print(f"first open, every folder read   {time.perf_counter() - start:8.2f} s")
    missed = []
    usual, worst = timed(lambda: RunStore(folder).close())
    print(f"open                            {usual:8.4f} s   worst {worst:.4f} s   limit {OPEN_LIMIT_S} s")
    if usual > OPEN_LIMIT_S:
        missed.append(f"open {usual:.3f} s")
    with RunStore(folder) as store:
        for line in FILTERS:
            usual, worst = timed(lambda line=line: store.page(line, now=now))
            found = store.count(line, now=now)
            print(f"filter {line!r:44} {usual:8.4f} s   worst {worst:.4f} s   {found} runs")
            if usual > FILTER_LIMIT_S:
                missed.append(f"filter {line!r} {usual:.3f} s")
    return missed


def main(argv: Sequence[str] | None = None) -> int:
    """Make the runs in a temporary folder, measure, and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    options = parser.parse_args(argv)
    now = datetime.now(UTC)
    with tempfile.TemporaryDirectory(prefix="entity-history-") as name:
        folder = Path(name)
        start = time.perf_counter()
        make_runs(folder, options.runs, now)
        print(f"{options.runs} runs written                {time.perf_counter() - start:8.1f} s")
        missed = measure(folder, now)
    print("\n".join(f"MISSED {line}" for line in missed) or "every limit is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
