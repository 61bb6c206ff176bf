"""Verdicts in words: only the words of the method, with the numbers a reader needs to disagree."""

from __future__ import annotations

from entity_tui.analysis.session import AACheck, SessionAnalysis
from entity_tui.analysis.summary import Summary
from entity_tui.analysis.verdict import Judgement, Verdict
from entity_tui.records.schema import Metric

METRIC_WORDS = {
    Metric.DECODE_TOK_S: "decode",
    Metric.PROMPT_TOK_S: "prompt",
    Metric.CHAT_TOK_S: "chat",
    Metric.TTFT_DERIVED_MS: "time to first token (derived)",
    Metric.FIRST_TOKEN_MS: "time to first token (observed)",
    Metric.DECODE_POWER_W: "power while decoding",
    Metric.CELL_ENERGY_J: "energy of a cell",
    Metric.TOKEN_ENERGY_J: "energy per token",
    Metric.DECODE_TOK_PER_W: "decode tok/W",
}


def metric_words(metric: str) -> str:
    """The metric as a sentence names it; an unknown one as it is written."""
    return METRIC_WORDS.get(Metric(metric), metric) if metric in set(Metric) else metric


def percent(ratio: float) -> str:
    """A ratio as a signed change: 1.207 is `+20.7 %`, 2.5 is `+150 %`."""
    change = 100.0 * (ratio - 1.0)
    return f"{change:+.1f} %" if abs(change) < 100 else f"{change:+.0f} %"


def interval_words(found: Judgement) -> str:
    """`×1.18–×1.24 (96.1 %)`, with `no bound` for an end beyond measure; empty where there is no interval."""
    item = found.estimate
    if item is None or item.coverage is None:
        return ""
    low = f"×{item.low:.3f}" if item.low is not None else "no bound"
    high = f"×{item.high:.3f}" if item.high is not None else "no bound"
    return f"{low} to {high} ({100 * item.coverage:.1f} % interval)"


def verdict_sentence(found: Judgement) -> str:
    """One sentence of a judgement: who against whom on what, the word, the numbers, the reason."""
    comparison = found.comparison
    head = f"{comparison.treatment} against {comparison.baseline} on {metric_words(comparison.metric)}: "
    if found.verdict is Verdict.VOID:
        return f"{head}void, {found.reason}."
    mark = "?" if found.verdict is Verdict.UNDECIDED else ""
    word = "" if found.verdict is Verdict.NONE else f"{found.verdict.value}{mark}"
    said = "; ".join(part for part in (word, _numbers(found), found.reason) if part)
    return f"{head}{said}.{_settle(found)}{_expected(found)}"


def _numbers(found: Judgement) -> str:
    """`×1.207 (+20.7 %), ×1.18 to ×1.24 (96.1 % interval), p 0.031 after Holm, 8 blocks`."""
    item = found.estimate
    if item is None:
        return ""
    blocks = f"{item.n} block{'' if item.n == 1 else 's'}{'†' if found.fewer_than_planned else ''}"
    p = "" if found.p_adjusted is None else f"p {found.p_adjusted:.3g} after Holm"
    ratio = f"×{item.ratio:.3f} ({percent(item.ratio)})"
    return ", ".join(part for part in (ratio, interval_words(found), p, blocks) if part)


def _settle(found: Judgement) -> str:
    if found.verdict is not Verdict.UNDECIDED or found.estimate is None:
        return ""
    if found.blocks_needed is None:
        return " No plan of this kind would settle it."
    more = found.blocks_needed - found.estimate.n
    return f" About {more} more block{'' if more == 1 else 's'} would settle it."


def _expected(found: Judgement) -> str:
    return f" Expected before the run: {found.comparison.expect}." if found.comparison.expect else ""


def steadiness_sentence(name: str, one: Summary, other_name: str, other: Summary) -> str:
    """How far the middle half of each arm's cells reaches; steadiness is never part of a verdict."""
    return (
        f"Middle half of the cells: {name} {one.q1:.3g}–{one.q3:.3g} (n {one.count}), "
        f"{other_name} {other.q1:.3g}–{other.q3:.3g} (n {other.count})."
    )


def aa_sentence(found: AACheck) -> str:
    """What the A/A check found, with the false alarm rate the plan has bought."""
    item = found.estimate
    if item is None or item.widest_coverage is None:
        return "A/A check: too few blocks to say anything."
    low = f"×{item.widest_low:.3f}" if item.widest_low is not None else "no bound"
    high = f"×{item.widest_high:.3f}" if item.widest_high is not None else "no bound"
    word = "differs, so no verdict of this session stands" if found.differs else "holds"
    rate = 100 * (1 - item.widest_coverage)
    return (
        f"A/A check {word}: ×{item.ratio:.3f}, {low} to {high} over {item.n} blocks; "
        f"{rate:.1f} % of healthy sessions fail it."
    )


def session_sentences(found: SessionAnalysis) -> tuple[str, ...]:
    """All sentences of a session in the order they are printed: verdicts, steadiness, A/A, attribution."""
    lines: list[str] = []
    spread = {(arm, metric): summary for arm, metric, summary in found.summaries}
    for judgement in found.judgements:
        lines.append(verdict_sentence(judgement))
        comparison = judgement.comparison
        one = spread.get((comparison.treatment, comparison.metric))
        two = spread.get((comparison.baseline, comparison.metric))
        if one and two and judgement.verdict is not Verdict.VOID:
            lines.append(steadiness_sentence(comparison.treatment, one, comparison.baseline, two))
    if found.aa is not None:
        lines.append(aa_sentence(found.aa))
    lines.extend(attribution_sentences(found))
    return tuple(lines)


def attribution_sentences(found: SessionAnalysis) -> tuple[str, ...]:
    """`naive → optimized ×1.68 = thread count ×1.39 × placement ×1.21`, from the medians, or why there is none."""
    parts = found.factors
    if not parts.steps:
        return (f"{parts.note[0].upper()}{parts.note[1:]}.",) if parts.total is not None else ()
    if parts.total is None or parts.total.median_ratio is None or any(step.void for step in parts.steps):
        reasons = "; ".join(f"{step.label}: {step.void}" for step in parts.steps if step.void)
        return (f"No attribution: {reasons}." if reasons else "No attribution.",)
    product = " × ".join(f"{step.label} ×{step.median_ratio:.3f}" for step in parts.steps)
    line = f"naive → optimized ×{parts.total.median_ratio:.3f} = {product} (medians)."
    if parts.shares:
        line += f" On the log scale {parts.steps[0].label} is {100 * parts.shares[0]:.0f} % of it."
    return (line,)
