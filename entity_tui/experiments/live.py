"""RunView: everything a screen or a terminal shows of a run while it goes on, as one immutable value."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class CellPhase(StrEnum):
    """Where the loop on the phone stands."""

    PREFLIGHT = "preflight"
    WAITING = "waiting"
    GATE = "gate"
    PREFILL = "prefill"
    DECODE = "decode"
    COLLECTING = "collecting"
    BETWEEN = "between"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class ArmRow:
    """One line of the arms table. Missing numbers are None, never 0.

    `decode_sd` and `prefill_sd` are population standard deviations over the usable cells and None for a single pass.
    `word` is a state of `profiles/states.yaml`, or `queued`, `running`, `done`.
    """

    arm: str
    label: str
    decode_threads: int | None
    prefill_threads: int | None
    decode_mask: str
    prefill_mask: str
    done: int
    planned: int
    decode_tok_s: float | None = None
    decode_sd: float | None = None
    prefill_tok_s: float | None = None
    prefill_sd: float | None = None
    ttft_derived_ms: float | None = None
    power_w: float | None = None
    tok_per_w: float | None = None
    power_note: str = ""
    """Why there is no power: `chg`, `?W`, or a reason in words; empty when there is a number."""
    word: str = "queued"
    detail: str = ""
    provisional: bool = True
    """True until every planned cell of the arm has ended: shown with the mark for fewer blocks than planned."""
    tainted: int = 0
    void: int = 0
    excluded: str = ""
    variant: str = ""
    """The CPU backend variant the loader's own line named; empty until seen."""
    decode_values: tuple[float, ...] = ()
    """Usable decode rates in the order they were measured, for the spread panel."""


@dataclass(frozen=True, slots=True)
class GateLine:
    """One line of the gates panel: a condition, whether it holds (None = unknown or recorded only), and its words."""

    name: str
    holds: bool | None
    text: str


@dataclass(frozen=True, slots=True)
class CurrentCell:
    """The cell the phone is in. `gate_left_s` counts down the minimum wait, None outside the gate."""

    arm: str
    block: int
    position: int
    phase: CellPhase
    role: str = "measure"
    gate_waited_s: float | None = None
    gate_left_s: float | None = None
    gate_limit_s: float | None = None
    temperature_c: float | None = None
    target_c: float | None = None


@dataclass(frozen=True, slots=True)
class FactorRow:
    """One factor of the decomposition on the log axis; `low` and `high` are None without an interval."""

    label: str
    change: str
    ratio: float | None
    low: float | None = None
    high: float | None = None
    verdict: str = ""
    declared: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class PairRow:
    """One arm against its baseline, for Placement and Compare; the change is a fraction, 0.07 = 7 % faster."""

    arm: str
    baseline: str
    pairs: int
    median_tok_s: float | None
    q1_tok_s: float | None
    q3_tok_s: float | None
    change: float | None
    change_low: float | None
    change_high: float | None
    prompt_tok_s: float | None
    tok_per_w: float | None
    moves_per_s: float | None
    verdict: str
    mask_readback: str = ""
    mask_ok: bool | None = None


@dataclass(frozen=True, slots=True)
class RunLog:
    """One line of the run's own log; `level` is info, warning or error, times are ISO 8601 in UTC."""

    at_utc: str
    level: str
    text: str


@dataclass(frozen=True, slots=True)
class RunView:
    """A run as it stands. A new one replaces it at every event, with a higher `sequence`."""

    session_id: str
    title: str
    experiment: str
    plan_hash: str = ""
    plan_lines: tuple[str, ...] = ()
    """The plan in sentences, with its estimated time, as shown before it starts."""
    arms: tuple[ArmRow, ...] = ()
    gates: tuple[GateLine, ...] = ()
    blocks_done: int = 0
    blocks_planned: int = 0
    cells_done: int = 0
    cells_planned: int = 0
    eta_s: float | None = None
    current: CurrentCell | None = None
    rates_tok_s: tuple[tuple[float, float], ...] = ()
    """(monotonic seconds here, decode speed over the second before) token by token; only a server streams one."""
    readback: str = ""
    """What the kernel last said about the masks: `4 of 4 threads on f0, as asked`."""
    factors: tuple[FactorRow, ...] = ()
    pairs: tuple[PairRow, ...] = ()
    verdicts: tuple[str, ...] = ()
    """Verdict sentences, the first is the headline; empty while undecided is not yet a statement."""
    diagnostics: tuple[str, ...] = ()
    """Drift, position and A/A sentences printed with every verdict."""
    log: tuple[RunLog, ...] = ()
    model_name: str = ""
    engine_name: str = ""
    n_prompt: int = 0
    n_gen: int = 0
    seed: int = 0
    simulated: bool = False
    clock_factor: float = 1.0
    """How many simulated seconds pass in one real second; 1 for a real device."""
    link: str = "ready"
    """The link to the phone in one word; a run goes on without it."""
    stopping: bool = False
    finished: bool = False
    outcome: str = ""
    """How the whole run ended: `done`, `cancelled`, or the state that ended it; empty while it runs."""
    csv_path: Path | None = None
    directory: Path | None = None
    sequence: int = 0
