"""The live tables of a run: arms, factors, pairs and sentences out of the rows there are so far."""

from __future__ import annotations

from collections.abc import Sequence

from entity_tui.analysis.comparison import Comparison
from entity_tui.analysis.diagnostics import sentences as diagnostic_sentences
from entity_tui.analysis.factors import Factor
from entity_tui.analysis.sentences import session_sentences
from entity_tui.analysis.session import SessionAnalysis, analyse
from entity_tui.analysis.summary import Summary, summarise
from entity_tui.analysis.usable import contributes, is_charging
from entity_tui.analysis.verdict import Judgement
from entity_tui.device.cpu_lists import format_cpu_list
from entity_tui.experiments.arms import Arm
from entity_tui.experiments.live import ArmRow, FactorRow, PairRow
from entity_tui.experiments.plan import Plan
from entity_tui.records.schema import Metric, Role, Row, Usability


def mask_words(mask: frozenset[int] | None, online: Sequence[int]) -> str:
    """A mask as a table shows it: `all`, `4-7`, or `-` where none is set."""
    if mask is None:
        return "-"
    return "all" if set(mask) >= set(online) else format_cpu_list(mask)


def _summary(rows: Sequence[Row], metric: str) -> Summary | None:
    return summarise([row.value for row in rows if row.metric == metric and contributes(row) and row.value is not None])


def _cells(rows: Sequence[Row]) -> dict[tuple[int | None, int | None], Row]:
    return {(row.block, row.attempt): row for row in rows}


def arm_row(plan: Plan, arm: Arm, rows: Sequence[Row], *, word: str = "") -> ArmRow:
    """One line of the arms table from the rows of the whole run; `word` overrides what the rows say of its state."""
    planned = sum(1 for cell in plan.cells if cell.arm == arm.arm_id and cell.role != Role.WARMUP)
    mine = [row for row in rows if row.arm == arm.arm_id and row.role != Role.WARMUP]
    cells = _cells([row for row in mine if row.block is not None])
    done = len(cells)
    decode, prefill = _summary(mine, Metric.DECODE_TOK_S), _summary(mine, Metric.PROMPT_TOK_S)
    ttft, power = _summary(mine, Metric.TTFT_DERIVED_MS), _summary(mine, Metric.DECODE_POWER_W)
    rate = _summary(mine, Metric.DECODE_TOK_PER_W)
    last = next(reversed(list(cells.values())), None)
    state, detail = word or _word(arm, last, done, planned), ""
    if arm.incapable or arm.same_as:
        detail = arm.incapable or f"= {arm.same_as}"
    elif last is not None and last.state != "ok":
        detail = last.state_detail or ""
    return ArmRow(
        arm=arm.arm_id,
        label=arm.label,
        decode_threads=arm.decode.threads,
        prefill_threads=arm.prefill.threads,
        decode_mask=mask_words(arm.decode.mask, plan.online),
        prefill_mask=mask_words(arm.prefill.mask, plan.online),
        done=done,
        planned=planned,
        decode_tok_s=decode.median if decode else None,
        decode_sd=decode.sd if decode else None,
        prefill_tok_s=prefill.median if prefill else None,
        prefill_sd=prefill.sd if prefill else None,
        ttft_derived_ms=ttft.median if ttft else None,
        power_w=power.median if power else None,
        tok_per_w=rate.median if rate else None,
        power_note=_power_note(mine, power),
        word=state,
        detail=detail,
        provisional=done < planned,
        tainted=sum(1 for row in cells.values() if row.usability == Usability.TAINTED),
        void=sum(1 for row in cells.values() if row.usability == Usability.VOID),
        excluded=next((row.excluded_by for row in mine if row.excluded_by), "") or "",
        variant=next((row.variant_loaded for row in reversed(mine) if row.variant_loaded), "") or "",
        decode_values=tuple(
            row.value
            for row in mine
            if row.metric == Metric.DECODE_TOK_S and contributes(row) and row.value is not None
        ),
    )


def _word(arm: Arm, last: Row | None, done: int, planned: int) -> str:
    if arm.incapable or arm.same_as:
        return "skipped_incapable"
    if last is None:
        return "queued"
    if done >= planned and last.usability != Usability.VOID:
        return "done"
    return last.state


def _power_note(rows: Sequence[Row], power: Summary | None) -> str:
    if power is not None or not rows:
        return ""
    if any(is_charging(row) for row in rows):
        return "chg"
    flags = [row.gauge_flag for row in rows if row.gauge_flag]
    return flags[-1] if flags else ""


def arm_rows(plan: Plan, rows: Sequence[Row], running: str = "") -> tuple[ArmRow, ...]:
    """The whole arms table; `running` is the arm the phone is in."""
    return tuple(arm_row(plan, arm, rows, word="running" if arm.arm_id == running else "") for arm in plan.arms)


def analysis_of(plan: Plan, rows: Sequence[Row]) -> SessionAnalysis:
    """The analysis of one session's rows under its plan; rows of spare and abandoned blocks are in it."""
    return analyse(list(rows), plan.comparisons, plan.rules, plan.exclude)


def _settings(plan: Plan, arm_id: str) -> tuple[str, str]:
    arm = plan.arm(arm_id)
    return str(arm.decode.threads), mask_words(arm.decode.mask, plan.online)


def change_words(plan: Plan, comparison: Comparison) -> str:
    """What differs between two arms: `8 → 4 threads`, `all → 4-7`, or what else the axis is about."""
    threads, mask = _settings(plan, comparison.baseline)
    other_threads, other_mask = _settings(plan, comparison.treatment)
    found = [f"{threads} → {other_threads} threads"] if threads != other_threads else []
    if mask != other_mask:
        found.append(f"{mask} → {other_mask}")
    return ", ".join(found) or comparison.axis.value


def factor_rows(plan: Plan, analysis: SessionAnalysis) -> tuple[FactorRow, ...]:
    """The factors on the log axis, then the cluster step and the A/A check where the plan has them."""
    found = [_factor_row(plan, analysis, step) for step in analysis.factors.steps]
    if analysis.factors.total is not None:
        found.append(_factor_row(plan, analysis, analysis.factors.total))
    shown = {(step.comparison.baseline, step.comparison.treatment) for step in analysis.factors.steps}
    shown.add(("naive", "optimized"))
    found += [
        _judgement_row(plan, item)
        for item in analysis.judgements
        if (item.comparison.baseline, item.comparison.treatment) not in shown
    ]
    if analysis.aa is not None and analysis.aa.estimate is not None:
        item = analysis.aa.estimate
        word = "differs" if analysis.aa.differs else "holds"
        found.append(FactorRow("A/A check", "nothing", item.ratio, item.widest_low, item.widest_high, word))
    return tuple(found)


def _verdict_of(analysis: SessionAnalysis, factor: Factor) -> Judgement | None:
    for item in analysis.judgements:
        if (item.comparison.name, item.comparison.metric) == (factor.comparison.name, factor.comparison.metric):
            return item
    return None


def _factor_row(plan: Plan, analysis: SessionAnalysis, factor: Factor) -> FactorRow:
    judged = _verdict_of(analysis, factor)
    item = factor.estimate
    return FactorRow(
        label=factor.label,
        change=change_words(plan, factor.comparison),
        ratio=item.ratio if item is not None else factor.median_ratio,
        low=item.low if item is not None else None,
        high=item.high if item is not None else None,
        verdict=judged.verdict.value if judged is not None else "",
        declared=judged is not None,
        note=factor.void or (judged.reason if judged is not None else ""),
    )


def _judgement_row(plan: Plan, judged: Judgement) -> FactorRow:
    item = judged.estimate
    return FactorRow(
        label=judged.comparison.name,
        change=change_words(plan, judged.comparison),
        ratio=item.ratio if item is not None else None,
        low=item.low if item is not None else None,
        high=item.high if item is not None else None,
        verdict=judged.verdict.value,
        declared=judged.declared,
        note=judged.reason,
    )


def pair_rows(plan: Plan, rows: Sequence[Row], analysis: SessionAnalysis, baseline: str) -> tuple[PairRow, ...]:
    """Every runnable arm against `baseline` on decode speed, for Placement and Compare."""
    judged = {
        item.comparison.treatment: item
        for item in analysis.judgements
        if item.comparison.baseline == baseline and item.comparison.metric == Metric.DECODE_TOK_S
    }
    found: list[PairRow] = []
    for arm in plan.runnable:
        mine = [row for row in rows if row.arm == arm.arm_id and row.role != Role.WARMUP]
        decode, prompt = _summary(mine, Metric.DECODE_TOK_S), _summary(mine, Metric.PROMPT_TOK_S)
        watts = _summary(mine, Metric.DECODE_TOK_PER_W)
        item = judged.get(arm.arm_id)
        estimate = item.estimate if item is not None else None
        readback = next((row for row in reversed(mine) if row.mask_applied), None)
        found.append(
            PairRow(
                arm=arm.arm_id,
                baseline=baseline,
                pairs=estimate.n if estimate is not None else (decode.count if decode else 0),
                median_tok_s=decode.median if decode else None,
                q1_tok_s=decode.q1 if decode else None,
                q3_tok_s=decode.q3 if decode else None,
                change=estimate.change if estimate is not None else None,
                change_low=estimate.low - 1 if estimate is not None and estimate.low is not None else None,
                change_high=estimate.high - 1 if estimate is not None and estimate.high is not None else None,
                prompt_tok_s=prompt.median if prompt else None,
                tok_per_w=watts.median if watts else None,
                moves_per_s=_moves(mine),
                verdict=_pair_word(item, arm.arm_id == baseline),
                mask_readback=(readback.mask_applied or "") if readback else "",
                mask_ok=readback.mask_ok if readback else None,
            )
        )
    return tuple(found)


def _pair_word(item: Judgement | None, is_baseline: bool) -> str:
    if is_baseline:
        return "baseline"
    return item.verdict.value if item is not None else "exploratory"


def _moves(rows: Sequence[Row]) -> float | None:
    counted = [row for row in rows if row.metric == Metric.DECODE_TOK_S and row.migrations is not None]
    seconds = sum(row.duration_s or 0.0 for row in counted)
    return sum(row.migrations or 0 for row in counted) / seconds if counted and seconds > 0 else None


def sentences(analysis: SessionAnalysis) -> tuple[str, ...]:
    """Verdict, A/A and attribution sentences, the undecided ones only when every planned block is in."""
    return session_sentences(analysis)


def diagnostics(analysis: SessionAnalysis) -> tuple[str, ...]:
    """Drift, position and temperature sentences."""
    return diagnostic_sentences(analysis.diagnostics)
