"""One line an arm: medians ± population SD over the usable cells, counted from the tidy rows of a run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import HIDDEN_WHILE_CHARGING, contributes, is_charging
from entity_tui.records.schema import Metric, Role, Row, Usability


def values_by_arm(rows: Iterable[Row], metric: str) -> dict[str, list[float]]:
    """The contributing values of a metric in the order of the rows, by arm."""
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.metric == metric and contributes(row) and row.value is not None:
            values.setdefault(row.arm or "", []).append(row.value)
    return values


def carried_summary(rows: Iterable[Row], metric: str) -> Summary | None:
    """The median and SD that a foreign file printed itself, for cells it does not hold; None where it has none."""
    mine = {
        row.state_detail: row.value
        for row in rows
        if row.metric == metric and not (metric in HIDDEN_WHILE_CHARGING and is_charging(row))
    }
    centre = mine.get("median")
    return None if centre is None else Summary(0, centre, mine.get("stddev"), centre, centre)


def attempt(row: Row) -> tuple[int | None, int | None, int | None, str | None]:
    """What tells one cell attempt of a session from another: block, position, attempt, cell key."""
    return (row.block, row.position, row.attempt, row.cell_key)


@dataclass(frozen=True, slots=True)
class ArmLine:
    """An arm's headline numbers.

    `cells` counts the values behind the headline rate. `sd` fields are None for a single pass, which is shown as `1×`
    without ±.
    """

    arm: str
    cells: int
    failed: int = 0
    tainted: int = 0
    decode_tok_s: float | None = None
    decode_sd: float | None = None
    prompt_tok_s: float | None = None
    prompt_sd: float | None = None
    ttft_ms: float | None = None
    power_w: float | None = None
    power_sd: float | None = None
    tok_per_w: float | None = None
    threads: str = ""
    mask: str = ""
    flags: tuple[str, ...] = ()
    """`chg` power hidden while charging, `fail` a cell ended without a number, `taint` a tainted cell, `1×`."""


def arm_lines(rows: Sequence[Row]) -> tuple[ArmLine, ...]:
    """One line per arm, in the order in which the arms first appear. Warm-up cells are left out."""
    by_arm: dict[str, list[Row]] = {}
    for row in rows:
        if row.role != Role.WARMUP:
            by_arm.setdefault(row.arm or "", []).append(row)
    return tuple(_line(arm, mine) for arm, mine in by_arm.items() if arm)


def _line(arm: str, rows: Sequence[Row]) -> ArmLine:
    carried = [row for row in rows if row.role == Role.AGGREGATE]
    summaries = {
        metric: carried_summary(carried, metric) or summarise(values_by_arm(rows, metric).get(arm, []))
        for metric in Metric
    }
    attempts = {attempt(row) for row in rows if row.role != Role.AGGREGATE}
    failed = {attempt(row) for row in rows if row.usability == Usability.VOID}
    tainted = {attempt(row) for row in rows if row.usability == Usability.TAINTED}
    decode = summaries[Metric.DECODE_TOK_S] or summaries[Metric.CHAT_TOK_S]
    prompt = summaries[Metric.PROMPT_TOK_S]
    ttft = summaries[Metric.TTFT_DERIVED_MS] or summaries[Metric.FIRST_TOKEN_MS]
    power = summaries[Metric.DECODE_POWER_W] or summaries[Metric.PASS_POWER_W]
    per_watt = summaries[Metric.DECODE_TOK_PER_W] or summaries[Metric.PASS_TOK_PER_W]
    headline = decode or prompt
    count = headline.count if headline and headline.count else len(attempts - failed)
    return ArmLine(
        arm=arm,
        cells=count,
        failed=len(failed),
        tainted=len(tainted),
        decode_tok_s=_median(decode),
        decode_sd=decode.sd if decode else None,
        prompt_tok_s=_median(prompt),
        prompt_sd=prompt.sd if prompt else None,
        ttft_ms=_median(ttft),
        power_w=_median(power),
        power_sd=power.sd if power else None,
        tok_per_w=_median(per_watt),
        threads=_common(rows, "threads_requested"),
        mask=_common(rows, "mask_applied") or _common(rows, "mask_requested"),
        flags=_flags(rows, count, bool(failed), bool(tainted), bool(carried)),
    )


def _median(summary: Summary | None) -> float | None:
    return summary.median if summary else None


def _common(rows: Sequence[Row], column: str) -> str:
    for phase in ("decode", None):
        found = {getattr(row, column) for row in rows if row.metric != Metric.OUTCOME and phase in (None, row.phase)}
        found.discard(None)
        if len(found) == 1:
            return str(found.pop())
    return ""


def _flags(rows: Sequence[Row], cells: int, failed: bool, tainted: bool, carried: bool) -> tuple[str, ...]:
    flags = []
    if any(is_charging(row) for row in rows):
        flags.append("chg")
    if failed:
        flags.append("fail")
    if tainted:
        flags.append("taint")
    if carried:
        flags.append("carried")
    elif cells == 1:
        flags.append("1×")
    return tuple(flags)
