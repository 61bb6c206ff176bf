"""A RunView as the plain values of the Bench and Placement widgets; every text of the run passes `plain`."""

from __future__ import annotations

import numpy as np

from entity_tui.device.cpu_lists import format_cpu_list, parse_mask
from entity_tui.experiments.live import ArmRow, CellPhase, FactorRow, RunView
from entity_tui.widgets.arms_table import ArmValue, progress_line
from entity_tui.widgets.bars import progress
from entity_tui.widgets.factor_bars import FactorValue
from entity_tui.widgets.gates import GateValue
from entity_tui.widgets.graph import Track
from entity_tui.widgets.ink import Ink, Line, line, muted, width_of
from entity_tui.widgets.numbers import celsius, duration, fixed, known
from entity_tui.widgets.text import fold, plain
from entity_tui.widgets.time_series import GraphValue


def mask_words(mask: str) -> str:
    """A hexadecimal mask as CPU numbers (`f0` is `4-7`); other words stay as they are."""
    text = plain(mask)
    cpus = parse_mask(text)
    return (text if cpus is None else format_cpu_list(cpus)) or "—"


def rate_graph(run: RunView, span_s: float) -> GraphValue:
    """The decode speed a server streams, over the last second at each token."""
    times, values = (np.array(part, dtype=np.float64) for part in zip(*run.rates_tok_s, strict=True))
    track = Track("tok/s", times, values)
    return GraphValue((track,), span_s, float(times[-1]), 1.0, digits=1, least=2.0, floor=0.0)


def two(decode: str, prefill: str) -> str:
    """One value when both phases share it, else `decode/prompt`."""
    return decode if decode == prefill or not prefill else f"{decode}/{prefill}"


def arm_value(arm: ArmRow, current: str, phase_words: str) -> ArmValue:
    """One arm; the one the phone is in says what it does."""
    threads = two(str(arm.decode_threads or "—"), str(arm.prefill_threads or "—"))
    word = plain(arm.word)
    if arm.arm == current and phase_words:
        word = phase_words
    return ArmValue(
        plain(arm.label or arm.arm),
        threads,
        two(plain(arm.decode_mask), plain(arm.prefill_mask)),
        arm.done,
        arm.planned,
        arm.decode_tok_s,
        arm.decode_sd,
        arm.prefill_tok_s,
        arm.ttft_derived_ms,
        arm.power_w,
        arm.tok_per_w,
        plain(arm.power_note),
        word,
        plain(arm.detail),
        arm.provisional,
        arm.tainted,
        arm.void,
    )


def phase_words(run: RunView) -> str:
    """What the phone is doing in the open cell: `decode, block 2`."""
    current = run.current
    if current is None or run.finished:
        return ""
    names = {
        CellPhase.GATE: "gate",
        CellPhase.PREFILL: "prefill",
        CellPhase.DECODE: "decode",
        CellPhase.COLLECTING: "running",
        CellPhase.PREFLIGHT: "running",
    }
    name = names.get(current.phase, "running")
    return f"{name}, warm-up" if current.role == "warmup" else f"{name}, block {current.block}"


def arm_values(run: RunView) -> tuple[ArmValue, ...]:
    """All arms in plan order."""
    current = run.current.arm if run.current is not None and not run.finished else ""
    words = phase_words(run).partition(",")[0]
    return tuple(arm_value(arm, current, words) for arm in run.arms)


def run_progress(run: RunView, width: int) -> Line:
    """How far the run is, for a row of `width` cells."""
    bar = progress(run.cells_done, run.cells_planned, 20 if width >= 80 else 10)
    counts = f"{run.cells_done}/{run.cells_planned}"
    if run.finished:
        return line(("● " if run.outcome == "done" else "▲ ", Ink.GOOD if run.outcome == "done" else Ink.WARN),
                    f"{plain(run.outcome or 'done')}   ", *bar, f" {counts}")  # fmt: skip
    eta = f"eta {duration(run.eta_s)}" if run.eta_s is not None else ""
    if run.stopping:
        eta = "stopping after this cell"
    block = f"block {min(run.blocks_done + 1, run.blocks_planned)} of {run.blocks_planned}"
    forms = (f"randomised blocks, seed {run.seed}   {block}", f"seed {run.seed}   {block}", block, "")
    lines = [progress_line(words, bar, counts, eta) for words in forms]
    return next((each for each in lines if width_of(each) <= width - 4), lines[-1])


def plan_rows(run: RunView) -> tuple[Line, ...]:
    """Model, sizes, engine: what is measured."""
    blocks = f"{run.blocks_planned} blocks"
    rows = [
        line(plain(run.model_name) or "no model named yet"),
        muted(f"pp{run.n_prompt}  tg{run.n_gen}  {blocks}"),
        muted(plain(run.engine_name)),
    ]
    if run.simulated:
        factor = f", clock ×{run.clock_factor:g}" if run.clock_factor != 1 else ""
        rows.append(line((f"simulated{factor}", Ink.PREDICTED)))
    rows.append(muted("gates  all must hold"))
    return tuple(rows)


def gate_values(run: RunView) -> tuple[GateValue, ...]:
    """Every condition."""
    return tuple(GateValue(gate.holds, plain(gate.text or gate.name)) for gate in run.gates)


def countdown(run: RunView) -> tuple[Line, ...]:
    """What the loop waits for, while it stands in a gate; else what the kernel said about the masks."""
    rows: list[Line] = []
    current = run.current
    if current is not None and current.phase is CellPhase.GATE and not run.finished:
        left = f"{fixed(current.gate_left_s, 0)} s left" if known(current.gate_left_s) else "waiting"
        limit = f", at most {fixed(current.gate_limit_s, 0)} s" if known(current.gate_limit_s) else ""
        rows.append(line(("◐ ", Ink.GOOD), f"gate {left}{limit}"))
        if known(current.temperature_c):
            goal = f" ≤ {celsius(current.target_c)}" if known(current.target_c) else ""
            rows.append(muted(f"  {celsius(current.temperature_c)}{goal} °C"))
    elif run.readback:
        rows += [muted(piece) for piece in fold(plain(run.readback), 24)[:2]]
    if run.link != "ready" and not run.finished:
        rows.append(line(("▲ ", Ink.WARN), f"link {plain(run.link)}, run goes on"))
    return tuple(rows)


def factor_value(factor: FactorRow) -> FactorValue:
    """One factor."""
    return FactorValue(
        plain(factor.label),
        plain(factor.change),
        factor.ratio,
        factor.low,
        factor.high,
        plain(factor.verdict),
        factor.declared,
        plain(factor.note),
    )


def factor_summary(run: RunView, width: int) -> tuple[Line, ...]:
    """The verdict sentences, then what to know about them; at most three rows."""
    rows: list[Line] = [line((piece, Ink.STRONG)) for text in run.verdicts[:2] for piece in fold(plain(text), width)]
    rows += [muted(piece) for text in run.diagnostics for piece in fold(plain(text), width)]
    if not rows and run.factors:
        rows.append(muted("descriptive: medians and ratios, no interval below six blocks"))
    return tuple(rows[:3])


def title_spans(run: RunView) -> str:
    """The run's title with what the reader must know of it."""
    return plain(run.title)
