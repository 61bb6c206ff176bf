"""What a plan declares before its first cell: which arms are compared on what, and the rules that will judge them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.records.schema import Metric


class Axis(StrEnum):
    """What a comparison changes. Equal masks void a comparison of placement or threads, never one of something else."""

    PLACEMENT = "placement"
    THREADS = "threads"
    ENGINE = "engine"
    MODEL = "model"
    FLAGS = "flags"
    NOTHING = "nothing"
    """The A/A comparison: both arms are meant to be the same."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """`treatment` against `baseline` on one metric: a ratio above 1 is a treatment with the larger value."""

    baseline: str
    treatment: str
    metric: str = Metric.DECODE_TOK_S
    axis: Axis = Axis.PLACEMENT
    expect: str = ""
    """What the author of the plan wrote before the run; printed beside the verdict."""

    @property
    def name(self) -> str:
        """`naive→optimized`, as plans and tables write it."""
        return f"{self.baseline}→{self.treatment}"


@dataclass(frozen=True, slots=True)
class Rules:
    """The numbers a verdict rests on; all are part of the plan.

    Margins are fractions and symmetric on the log scale: 0.05 is the range from 1/1.05 to 1.05.
    """

    alpha: float = 0.05
    worth_margin: float = 0.02
    """The smallest change worth having."""
    equivalent_margin: float = 0.05
    """An interval wholly inside this margin is `equivalent`."""
    planned_blocks: int | None = None
    """Blocks the plan asked for, None when unknown; fewer usable ones carry the mark †."""
    verdicts: bool = True
    """False for descriptive plans (quick, `--runs`): ratios only."""

    def needed_blocks(self, declared: int) -> int:
        """The fewest blocks with which `declared` comparisons can be decided at all: max(6, ⌈1 + log2(m/α)⌉)."""
        return max(SMALLEST_BLOCKS, math.ceil(1.0 + math.log2(max(declared, 1) / self.alpha)))


SMALLEST_BLOCKS = 6
"""Below this the exact signed-rank test cannot reach 5 %: no interval, ratios only."""
