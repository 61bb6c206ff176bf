"""Two marked arms beside each other: what is the same, what differs, and which rule forbids a conclusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Comparison
from entity_tui.analysis.paired import PairedEstimate, estimate, pair
from entity_tui.analysis.sentences import metric_words
from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import contributes
from entity_tui.records.schema import Metric, Role, Row

COMPARED = (
    Metric.DECODE_TOK_S,
    Metric.CHAT_TOK_S,
    Metric.PROMPT_TOK_S,
    Metric.TTFT_DERIVED_MS,
    Metric.FIRST_TOKEN_MS,
    Metric.DECODE_POWER_W,
    Metric.DECODE_TOK_PER_W,
    Metric.TOKEN_ENERGY_J,
)

SAME_RUN_RULES: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("device", ("device_id_hash", "simulated")),
    ("OS build", ("os_build",)),
    ("model", ("model_sha256", "model_name", "model_quant")),
    ("CPU variant", ("variant_loaded",)),
    ("engine", ("engine", "engine_build", "instrument")),
    ("prompt set", ("n_prompt", "n_gen", "n_depth")),
    ("session", ("session_id",)),
)
"""What has to be equal for two arms to be compared, by rule; the seventh decides about the interval."""

DIFFERENCES = (
    ("threads", "threads_requested"),
    ("mask", "mask_applied"),
    ("charging", "charging_state"),
    ("launched from", "launch_context"),
    ("load mode", "load_mode"),
)


@dataclass(frozen=True, slots=True)
class RuleCheck:
    """One same-run rule. `holds` is None when neither side says anything."""

    name: str
    holds: bool | None
    left: str
    right: str


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One metric of both arms. `ratio` is a over b; the interval is there within one session only."""

    metric: str
    words: str
    unit: str
    a: Summary | None
    b: Summary | None
    ratio: float | None
    paired: PairedEstimate | None


@dataclass(frozen=True, slots=True)
class MarkedComparison:
    """Everything the Compare panel shows. Values are shown even when a rule fails; then nothing follows from them."""

    rules: tuple[RuleCheck, ...]
    lines: tuple[ComparedLine, ...]
    same: tuple[str, ...]
    differs: tuple[str, ...]

    @property
    def comparable(self) -> bool:
        """True when every rule but the one on sessions holds or cannot be checked."""
        return all(rule.holds is not False for rule in self.rules if rule.name != "session")

    @property
    def same_session(self) -> bool:
        """True when both arms were measured in one session."""
        return any(rule.holds for rule in self.rules if rule.name == "session")

    @property
    def summary(self) -> str:
        """`same-run rules: 6 of 7 hold (session)`."""
        broken = [rule.name for rule in self.rules if rule.holds is False]
        held = sum(rule.holds is not False for rule in self.rules)
        tail = f" (not: {', '.join(broken)})" if broken else ""
        return f"same-run rules: {held} of {len(self.rules)} hold{tail}"


def compare_marked(a_rows: Sequence[Row], a_arm: str, b_rows: Sequence[Row], b_arm: str) -> MarkedComparison:
    """Compare arm `a_arm` of one run with `b_arm` of another, or of the same."""
    a = [row for row in a_rows if row.arm == a_arm and row.role != Role.WARMUP]
    b = [row for row in b_rows if row.arm == b_arm and row.role != Role.WARMUP]
    rules = tuple(_rule(name, columns, a, b) for name, columns in SAME_RUN_RULES)
    paired = rules[-1].holds is True
    lines = [_line(metric, a, b, paired) for metric in COMPARED]
    differs = tuple(
        f"{words} {_said(b, (column,))} → {_said(a, (column,))}"
        for words, column in DIFFERENCES
        if _said(a, (column,)) != _said(b, (column,))
    )
    same = tuple(f"{rule.name} {rule.left}".strip() for rule in rules if rule.holds and rule.left)
    return MarkedComparison(rules, tuple(line for line in lines if line is not None), same, differs)


def _said(rows: Sequence[Row], columns: Sequence[str]) -> str:
    """What an arm's rows say in these columns, decode rows first; several values are joined by a slash."""
    used = [row for row in rows if row.phase == "decode"] or list(rows)
    parts = []
    for column in columns:
        found = dict.fromkeys(_word(column, getattr(row, column)) for row in used)
        parts.append("/".join(word for word in found if word))
    return " ".join(part for part in parts if part)


def _word(column: str, value: object) -> str:
    """A value as it is compared and shown: a flag by its name, a checksum by its first twelve digits."""
    if value is None or value is False:
        return ""
    if value is True:
        return column
    return str(value)[:12] if column.endswith(("_hash", "_sha256")) else str(value)


def _rule(name: str, columns: tuple[str, ...], a: Sequence[Row], b: Sequence[Row]) -> RuleCheck:
    left, right = _said(a, columns), _said(b, columns)
    holds = None if not left and not right else left == right
    return RuleCheck(name, holds, left, right)


def _line(metric: str, a: Sequence[Row], b: Sequence[Row], paired: bool) -> ComparedLine | None:
    left, right = _summary(metric, a), _summary(metric, b)
    if left is None and right is None:
        return None
    unit = next((row.unit for row in (*a, *b) if row.metric == metric and row.unit), "")
    ratio = left.median / right.median if left and right and right.median else None
    found = None
    if paired and left and right and a[0].arm != b[0].arm:
        comparison = Comparison(b[0].arm or "", a[0].arm or "", metric)
        found = estimate(pair([*a, *b], comparison).log_ratios)
    return ComparedLine(metric, metric_words(metric), unit, left, right, ratio, found)


def _summary(metric: str, rows: Sequence[Row]) -> Summary | None:
    return summarise([row.value for row in rows if row.metric == metric and contributes(row) and row.value is not None])
