"""`--fail-on`: a comparison as a gate that fails on a verdict, never on noise."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.analysis.verdict import DIRECTIONAL, Judgement, Verdict
from entity_tui.errors import UsageError
from entity_tui.records.schema import Metric

METRIC_WORDS: Mapping[str, str] = MappingProxyType(
    {
        "decode": Metric.DECODE_TOK_S,
        "prompt": Metric.PROMPT_TOK_S,
        "prefill": Metric.PROMPT_TOK_S,
        "ttft": Metric.TTFT_DERIVED_MS,
        "power": Metric.DECODE_POWER_W,
        "energy": Metric.TOKEN_ENERGY_J,
    }
)
_LINE = re.compile(r"^\s*(?P<metric>\w+)\s*(?P<sign>[<>])\s*(?P<number>[+\-−]?\d+(?:\.\d+)?)\s*%?\s*$")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = MappingProxyType({"<": operator.lt, ">": operator.gt})


@dataclass(frozen=True, slots=True)
class FailOn:
    """A condition on the change of one metric, in percent: `decode < -3 %`."""

    metric: str
    sign: str
    percent: float
    text: str

    def holds(self, change_pct: float) -> bool:
        """True when a change of this many percent is what the condition names."""
        return _SIGNS[self.sign](change_pct, self.percent)


@dataclass(frozen=True, slots=True)
class GateResult:
    """`failed` are judgements with a verdict and a change the condition names, `undecided` those without a verdict."""

    failed: tuple[Judgement, ...]
    undecided: tuple[Judgement, ...]


def parse_fail_on(text: str) -> FailOn:
    """Read `METRIC < NUMBER %`. UsageError with the metrics there are."""
    match = _LINE.match(text)
    metric = METRIC_WORDS.get(match["metric"].lower()) if match else None
    if match is None or metric is None:
        raise UsageError(
            f"--fail-on {text!r} cannot be read",
            fix=f"write 'decode < -3 %'; metrics: {', '.join(METRIC_WORDS)}",
        )
    return FailOn(metric, match["sign"], float(match["number"].replace("−", "-")), text.strip())


def judge_gate(condition: FailOn, judgements: Sequence[Judgement]) -> GateResult:
    """Apply the condition to the declared comparisons on its metric. UsageError when the plan declared none."""
    mine = [item for item in judgements if item.comparison.metric == condition.metric]
    if not mine:
        raise UsageError(
            f"the plan declares no comparison on {condition.metric}",
            fix="--fail-on needs a comparison of that metric declared before the run",
        )
    failed = [
        item
        for item in mine
        if item.verdict in DIRECTIONAL and item.estimate is not None and condition.holds(100.0 * item.estimate.change)
    ]
    undecided = [item for item in mine if item.verdict in (Verdict.UNDECIDED, Verdict.NONE, Verdict.VOID)]
    return GateResult(tuple(failed), tuple(undecided))
