"""The public LITTLETai arms, read once per test session by the product's own importer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from entity_tui.analysis.summary import median
from entity_tui.experiments.states import littletai_states
from entity_tui.records.littletai import arm_files, read_littletai, run_facts
from entity_tui.records.littletai_arm import Arm, read_arm
from entity_tui.records.schema import Metric, Row, Usability

RATES = (Metric.DECODE_TOK_S, Metric.PROMPT_TOK_S)
RUNS = ("llama-bench", "llama-bench-kai", "prefill_kai", "prefill_stock", "presets_kai", "presets_stock")
BINARY = {"stock": "llama-bench", "kai": "llama-bench-kai"}


def translate(name: str) -> tuple[str, Usability, str]:
    """Their word for an end of an arm in ours, by the table of states."""
    found = littletai_states()[name]
    return found.state, found.usability, found.flag


@dataclass(frozen=True)
class Run:
    """One imported run: its raw arms and its rows."""

    name: str
    folder: Path
    arms: tuple[Arm, ...]
    rows: tuple[Row, ...]

    def arm(self, arm_id: str) -> Arm:
        """The raw arm of an id."""
        return next(arm for arm in self.arms if arm.arm_id == arm_id)

    def samples(self, prefix: str) -> list[float]:
        """Every repetition's rate of the arms whose id starts so, pooled."""
        return [
            row.value or 0.0 for row in self.rows if row.metric in RATES and (row.cell_key or "").startswith(prefix)
        ]

    def batch_medians(self, prefix: str) -> list[float]:
        """The median of each arm whose id starts so."""
        cells: dict[str, list[float]] = {}
        for row in self.rows:
            if row.metric in RATES and (row.cell_key or "").startswith(prefix):
                cells.setdefault(row.cell_key or "", []).append(row.value or 0.0)
        return [median(values) for values in cells.values()]

    def metric(self, name: str, prefix: str) -> list[Row]:
        """The rows of a metric of the arms whose id starts so."""
        return [row for row in self.rows if row.metric == name and (row.cell_key or "").startswith(prefix)]


@cache
def load_run(folder: Path) -> Run:
    """A run folder through the importer."""
    facts = run_facts(folder)
    arms = tuple(read_arm(files, facts) for files in arm_files(folder))
    return Run(folder.name, folder, arms, read_littletai(folder, translate).rows)


def spread(values: Iterable[float]) -> list[float]:
    """The smallest and largest."""
    found = list(values)
    return [min(found), max(found)]


def agrees(golden: dict[str, dict[str, Any]], name: str, found: Any) -> None:
    """The found value equals the recomputed one of the public arms within the entry's own tolerance."""
    entry = golden[name]
    wanted = entry["recomputed_public_arms_only"]
    numbers = wanted if isinstance(wanted, list) else [wanted]
    given = found if isinstance(found, list) else [found]
    assert len(given) == len(numbers), name
    for one, other in zip(given, numbers, strict=True):
        assert one == pytest.approx(other, abs=entry["tolerance"] + 6e-5), name
