"""`--fail-on`: fails on a verdict, never on noise."""

from __future__ import annotations

from typing import Any

import pytest

from entity_tui.analysis.comparison import Comparison
from entity_tui.analysis.paired import PairedEstimate
from entity_tui.analysis.verdict import Judgement, Verdict
from entity_tui.errors import UsageError
from entity_tui.experiments.fail_on import judge_gate, parse_fail_on
from entity_tui.records.schema import Metric


def judgement(verdict: Verdict, ratio: float, **changes: Any) -> Judgement:
    estimate = PairedEstimate(6, ratio, ratio * 0.99, ratio * 1.01, 0.969, 0.03, 0.9, 1.1, 0.969, 0.01)
    return Judgement(Comparison("a", "b"), estimate, 0.03, verdict, **changes)


@pytest.mark.parametrize(
    ("text", "metric", "sign", "percent"),
    [
        ("decode < -3 %", Metric.DECODE_TOK_S, "<", -3.0),
        ("prompt<−2.5%", Metric.PROMPT_TOK_S, "<", -2.5),
        ("power > 10", Metric.DECODE_POWER_W, ">", 10.0),
    ],
)
def test_a_condition_is_read(text: str, metric: str, sign: str, percent: float) -> None:
    found = parse_fail_on(text)
    assert (found.metric, found.sign, found.percent) == (metric, sign, percent)


@pytest.mark.parametrize("text", ["", "decode", "decode < much", "warmth < 3 %", "decode = 3 %", "decode < 3 % or so"])
def test_a_condition_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--fail-on"):
        parse_fail_on(text)


def test_a_slower_verdict_beyond_the_limit_fails() -> None:
    result = judge_gate(parse_fail_on("decode < -3 %"), [judgement(Verdict.SLOWER, 0.90)])
    assert len(result.failed) == 1


@pytest.mark.parametrize(
    "verdict", [Verdict.UNDECIDED, Verdict.EQUIVALENT, Verdict.DIFFERENT, Verdict.NONE, Verdict.VOID]
)
def test_the_same_change_without_a_directional_verdict_does_not_fail(verdict: Verdict) -> None:
    assert not judge_gate(parse_fail_on("decode < -3 %"), [judgement(verdict, 0.90)]).failed


@pytest.mark.parametrize(("verdict", "ratio"), [(Verdict.SLOWER, 0.98), (Verdict.FASTER, 1.2)])
def test_a_verdict_within_the_limit_or_the_other_way_does_not_fail(verdict: Verdict, ratio: float) -> None:
    assert not judge_gate(parse_fail_on("decode < -3 %"), [judgement(verdict, ratio)]).failed


def test_undecided_ones_are_told_apart() -> None:
    result = judge_gate(parse_fail_on("decode < -3 %"), [judgement(Verdict.UNDECIDED, 0.96, blocks_needed=14)])
    assert (len(result.failed), len(result.undecided)) == (0, 1)


def test_a_metric_nobody_declared_cannot_be_a_gate() -> None:
    with pytest.raises(UsageError, match="declares no comparison"):
        judge_gate(parse_fail_on("prompt < -3 %"), [judgement(Verdict.SLOWER, 0.9)])
