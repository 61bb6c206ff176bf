"""Two marked arms side by side: values, ratios, what is the same, what differs, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from entity_tui.analysis.comparison import Comparison
from entity_tui.analysis.paired import estimate, pair
from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Metric, Row
from entity_tui.screens.run_values import mask_words
from entity_tui.widgets.graph import Track
from entity_tui.widgets.ink import Ink, Line, line, muted
from entity_tui.widgets.numbers import NONE, digits_like, fixed, millis, plus_minus, ratio, tok_s, watts
from entity_tui.widgets.table import Column, TableRow, TableValue
from entity_tui.widgets.text import cut, plain, right

METRICS = (
    (Metric.DECODE_TOK_S, "decode tok/s"),
    (Metric.PROMPT_TOK_S, "prompt tok/s"),
    (Metric.TTFT_DERIVED_MS, "first token ms"),
    (Metric.DECODE_POWER_W, "power W"),
    (Metric.DECODE_TOK_PER_W, "tok/W"),
)
MUST_BE_SAME = (
    ("device", "device_id_hash"),
    ("OS build", "os_build"),
    ("model", "model_name"),
    ("model sha", "model_sha256"),
    ("engine", "engine"),
    ("build", "engine_build"),
    ("variant", "variant_loaded"),
    ("prompt", "n_prompt"),
    ("generated", "n_gen"),
    ("simulated", "simulated"),
)
"""What two runs must share for their numbers to be about one question."""
MAY_DIFFER = (("threads", "threads_requested"), ("mask", "mask_applied"), ("flags", "load_mode"))
COLUMNS = (
    Column("metric", "", 15, gap=0),
    Column("a", "a", 13, gap=1),
    Column("b", "b", 13, gap=1),
    Column("ratio", "a / b", 7, "right", gap=1),
    Column("interval", "95 %", 11, gap=2),
    Column("words", "", 40, flexible=True, least=10),
)


@dataclass(frozen=True, slots=True)
class Marked:
    """One marked arm with the rows of its run."""

    session_id: str
    arm: str
    rows: tuple[Row, ...]

    @property
    def mine(self) -> tuple[Row, ...]:
        """The rows of the arm itself."""
        return tuple(row for row in self.rows if row.arm == self.arm)


def _summary(marked: Marked, metric: str) -> Summary | None:
    values = [row.value for row in marked.mine if row.metric == metric and contributes(row) and row.value is not None]
    return summarise(values)


def _shown(summary: Summary | None, metric: str) -> str:
    if summary is None:
        return right(NONE, 6)
    if metric == Metric.TTFT_DERIVED_MS:
        return right(millis(summary.median), 6)
    form = watts if metric == Metric.DECODE_POWER_W else tok_s
    digits = 2 if metric == Metric.DECODE_POWER_W else digits_like(summary.median)
    return f"{right(form(summary.median), 6)} {plus_minus(summary.sd, digits)}".rstrip()


def metric_row(a: Marked, b: Marked, metric: str, name: str, *, comparable: bool) -> TableRow:
    """One metric: both medians, their ratio, and an interval only for two arms of one run with six blocks."""
    first, second = _summary(a, metric), _summary(b, metric)
    quotient = first.median / second.median if first and second and second.median else None
    interval, words = NONE, ""
    if quotient is not None and a.session_id == b.session_id:
        paired = estimate(pair(a.rows, Comparison(baseline=b.arm, treatment=a.arm, metric=metric)).log_ratios)
        if paired is not None:
            quotient = paired.ratio
            words = f"{paired.n} blocks, paired, exploratory"
            if paired.low is not None and paired.high is not None:
                interval = f"{fixed(paired.low, 2)}–{fixed(paired.high, 2)}"
            else:
                words = f"{paired.n} blocks, paired: no interval below six"
    elif quotient is not None:
        words = "values only: two runs"
    cells = (name, _shown(first, metric), _shown(second, metric), ratio(quotient), interval, (words, Ink.MUTED))
    return TableRow(name, cells, dimmed=not comparable)


def facts_of(marked: Marked, fields: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The named fields of an arm as words; several values are joined."""
    facts: dict[str, str] = {}
    for name, field in fields:
        values = sorted({str(value) for row in marked.mine if (value := getattr(row, field)) is not None})
        facts[name] = ", ".join(plain(mask_words(v) if field == "mask_applied" else v) for v in values)
    return facts


def differences(a: Marked, b: Marked) -> tuple[list[str], list[str], list[str]]:
    """(names that are the same, rules that fail in words, allowed differences in words)."""
    first, second = facts_of(a, MUST_BE_SAME), facts_of(b, MUST_BE_SAME)
    same = [name for name, _ in MUST_BE_SAME if first[name] == second[name] and first[name]]
    broken = [
        f"{name}: {cut(first[name] or NONE, 18)} / {cut(second[name] or NONE, 18)}"
        for name, _ in MUST_BE_SAME
        if first[name] != second[name]
    ]
    one, other = facts_of(a, MAY_DIFFER), facts_of(b, MAY_DIFFER)
    allowed = [f"{name} {other[name]} → {one[name]}" for name, _ in MAY_DIFFER if one[name] != other[name]]
    return same, broken, allowed


def compare_value(a: Marked, b: Marked) -> tuple[TableValue, str]:
    """The table and the words for its right title: how many same-run rules hold."""
    same, broken, allowed = differences(a, b)
    comparable = not broken
    rows = tuple(metric_row(a, b, metric, name, comparable=comparable) for metric, name in METRICS)
    foot: list[Line] = []
    if broken:
        foot.append(line(("▲ not comparable: ", Ink.WARN), "; ".join(broken[:3])))
    elif same:
        foot.append(muted(f"same: {', '.join(same)}"))
    if allowed:
        foot.append(line(("differs: ", Ink.MUTED), ", ".join(allowed)))
    held = len(MUST_BE_SAME) - len(broken)
    return TableValue(COLUMNS, rows, tuple(foot)), f"same-run rules: {held} of {len(MUST_BE_SAME)} hold"


def cell_tracks(a: Marked, b: Marked) -> tuple[Track, ...]:
    """Every usable decode rate of both arms over their cells, for the graph."""
    tracks: list[Track] = []
    for name, marked in (("a", a), ("b", b)):
        values = [
            row.value
            for row in marked.mine
            if row.metric in (Metric.DECODE_TOK_S, Metric.CHAT_TOK_S) and contributes(row) and row.value is not None
        ]
        tracks.append(
            Track(
                f"{name} {plain(marked.arm)}",
                np.arange(len(values), dtype=np.float64),
                np.array(values, dtype=np.float64),
            )
        )
    return tuple(tracks)
