"""The tables of a run as text: arms, verdicts, factors. A pure function of its rows and plan, so it never differs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.diagnostics import sentences
from entity_tui.analysis.factors import Factor, Factors
from entity_tui.analysis.sentences import metric_words, session_sentences, verdict_sentence
from entity_tui.analysis.session import SessionAnalysis
from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import contributes
from entity_tui.analysis.verdict import Judgement
from entity_tui.records.export import table_csv
from entity_tui.records.schema import Role, Row

VERDICT_SCHEMA = 1

ARM_TABLE_COLUMNS = (
    "arm",
    "metric",
    "unit",
    "n",
    "median",
    "population_sd",
    "q1",
    "q3",
    "tainted",
    "void",
    "excluded",
    "mark",
    "states",
)


@dataclass(frozen=True, slots=True)
class Tables:
    """The text of each file that `reanalyse` rebuilds, and the sentences that go with them."""

    tables_csv: str
    verdicts_csv: str
    factors_csv: str
    sentences: tuple[str, ...]


def number(value: float | None, digits: int = 6) -> str:
    """A number with a fixed count of significant digits, so that the text does not depend on the machine."""
    return "" if value is None else f"{value:.{digits}g}"


def tables(rows: Sequence[Row], found: SessionAnalysis) -> Tables:
    """All tables of one analysed session."""
    return Tables(
        tables_csv=table_csv(arm_table(rows, found.rules.planned_blocks)),
        verdicts_csv=table_csv([_verdict_line(item) for item in (*found.judgements, *found.explored)]),
        factors_csv=table_csv(_factor_lines(found.factors)),
        sentences=(*session_sentences(found), *sentences(found.diagnostics)),
    )


def arm_table(rows: Sequence[Row], planned_blocks: int | None = None) -> list[dict[str, str]]:
    """One line per arm and metric: median, population SD, quartiles, how many cells, and how many were not usable.

    `mark` is `1×` for a single pass, which has no SD, and † for fewer cells than the plan has blocks.
    """
    order: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        if row.arm and row.role not in (Role.WARMUP, Role.AGGREGATE):
            order.setdefault((row.arm, row.metric), []).append(row)
    lines = []
    for (arm, metric), mine in order.items():
        summary = summarise([row.value for row in mine if contributes(row) and row.value is not None])
        lines.append(
            {
                "arm": arm,
                "metric": metric,
                "unit": next((row.unit for row in mine if row.unit), ""),
                "n": str(summary.count if summary else 0),
                "median": number(summary.median if summary else None),
                "population_sd": number(summary.sd if summary else None),
                "q1": number(summary.q1 if summary else None),
                "q3": number(summary.q3 if summary else None),
                "tainted": str(sum(1 for row in mine if row.usability == "tainted")),
                "void": str(sum(1 for row in mine if row.usability == "void")),
                "excluded": str(sum(1 for row in mine if row.excluded_by)),
                "mark": _mark(summary, planned_blocks),
                "states": " ".join(f"{state}={count}" for state, count in _states(mine)),
            }
        )
    return lines + _carried_lines(rows)


def _mark(summary: Summary | None, planned_blocks: int | None) -> str:
    if summary is None:
        return ""
    fewer = "†" if planned_blocks is not None and summary.count < planned_blocks else ""
    return f"1×{fewer}" if summary.count == 1 else fewer


def _carried_lines(rows: Sequence[Row]) -> list[dict[str, str]]:
    """Medians and SDs that a foreign file printed itself, marked and without a count of cells."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for row in rows:
        if row.role == Role.AGGREGATE and row.arm:
            blank = dict.fromkeys(ARM_TABLE_COLUMNS, "")
            start = {**blank, "arm": row.arm, "metric": row.metric, "unit": row.unit or "", "mark": "carried"}
            line = found.setdefault((row.arm, row.metric), start)
            line["median" if row.state_detail == "median" else "population_sd"] = number(row.value)
    return list(found.values())


def _states(rows: Sequence[Row]) -> list[tuple[str, int]]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row.state] = counts.get(row.state, 0) + 1
    return sorted(counts.items())


def _verdict_line(found: Judgement) -> dict[str, str]:
    item = found.estimate
    return {
        "schema_version": str(VERDICT_SCHEMA),
        "baseline": found.comparison.baseline,
        "treatment": found.comparison.treatment,
        "metric": found.comparison.metric,
        "metric_words": metric_words(found.comparison.metric),
        "axis": found.comparison.axis.value,
        "declared": "1" if found.declared else "0",
        "verdict": found.verdict.value,
        "reason": found.reason,
        "blocks": "" if item is None else str(item.n),
        "ratio": number(item.ratio if item else None),
        "low": number(item.low if item else None),
        "high": number(item.high if item else None),
        "coverage": number(item.coverage if item else None),
        "p_exact": number(item.p if item else None),
        "p_holm": number(found.p_adjusted),
        "blocks_needed": "" if found.blocks_needed is None else str(found.blocks_needed),
        "expect": found.comparison.expect,
        "sentence": verdict_sentence(found),
    }


def _factor_lines(found: Factors) -> list[dict[str, str]]:
    whole = (*found.steps, found.total) if found.total else found.steps
    shares = dict(zip((step.label for step in found.steps), found.shares, strict=False))
    return [_factor_line(step, shares.get(step.label), found.metric) for step in whole]


def _factor_line(step: Factor, share: float | None, metric: str) -> dict[str, str]:
    item = step.estimate
    return {
        "factor": step.label,
        "baseline": step.comparison.baseline,
        "treatment": step.comparison.treatment,
        "metric": metric,
        "median_ratio": number(step.median_ratio),
        "ratio": number(item.ratio if item else None),
        "low": number(item.low if item else None),
        "high": number(item.high if item else None),
        "coverage": number(item.coverage if item else None),
        "log_share": number(share),
        "void": step.void,
    }
