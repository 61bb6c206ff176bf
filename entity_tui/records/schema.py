"""The tidy row: one metric of one attempt at one cell, with everything a reader needs to defend it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from entity_tui.errors import UsageError

SCHEMA_VERSION = 1


class Role(StrEnum):
    """What a cell is for. Warm-up cells are stored and never averaged."""

    WARMUP = "warmup"
    MEASURE = "measure"
    AA = "aa"
    CONTROL = "control"
    DESCRIPTIVE = "descriptive"
    AGGREGATE = "aggregate"
    """A median or SD that a foreign file printed itself: carried along and marked, never counted again."""


class Phase(StrEnum):
    """The part of a cell a metric describes."""

    PREFILL = "prefill"
    DECODE = "decode"
    CELL = "cell"


class Better(StrEnum):
    """Which direction of a metric is worth having."""

    HIGHER = "higher"
    LOWER = "lower"
    NEITHER = ""


class Usability(StrEnum):
    """What a state allows its value to be used for: tainted values are used and marked, void ones never are."""

    USABLE = "usable"
    TAINTED = "tainted"
    VOID = "void"


class Metric(StrEnum):
    """The metric names that more than one part of the program must agree on; an experiment may add its own."""

    PROMPT_TOK_S = "prompt_tok_s"
    DECODE_TOK_S = "decode_tok_s"
    CHAT_TOK_S = "chat_tok_s"
    TTFT_DERIVED_MS = "ttft_pp512_derived"
    TTFT_PREDICTED_MS = "ttft_predicted"
    FIRST_TOKEN_MS = "first_token_observed"
    DECODE_POWER_W = "decode_power_w"
    CELL_ENERGY_J = "cell_energy_j"
    TOKEN_ENERGY_J = "decode_energy_per_token_j"
    DECODE_TOK_PER_W = "decode_tok_per_w"
    PASS_POWER_W = "entity_pass_power_w"
    PASS_TOK_PER_W = "entity_pass_tok_per_w"
    OUTCOME = "outcome"
    """A cell that produced no number still has one row, with this metric and an empty value."""


UNITS: Mapping[str, tuple[str, Better]] = MappingProxyType(
    {
        Metric.PROMPT_TOK_S: ("tok/s", Better.HIGHER),
        Metric.DECODE_TOK_S: ("tok/s", Better.HIGHER),
        Metric.CHAT_TOK_S: ("tok/s", Better.HIGHER),
        Metric.TTFT_DERIVED_MS: ("ms", Better.LOWER),
        Metric.TTFT_PREDICTED_MS: ("ms", Better.LOWER),
        Metric.FIRST_TOKEN_MS: ("ms", Better.LOWER),
        Metric.DECODE_POWER_W: ("W", Better.LOWER),
        Metric.CELL_ENERGY_J: ("J", Better.LOWER),
        Metric.TOKEN_ENERGY_J: ("J/token", Better.LOWER),
        Metric.DECODE_TOK_PER_W: ("tok/W", Better.HIGHER),
        Metric.PASS_POWER_W: ("W", Better.LOWER),
        Metric.PASS_TOK_PER_W: ("tok/W", Better.HIGHER),
        Metric.OUTCOME: ("", Better.NEITHER),
    }
)
"""Unit and direction of each shared metric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One metric of one cell attempt. None is missing, never 0; masks are hex text without `0x`.

    Times with `boot` in their name count seconds since the device booted; `wall_start_utc` is ISO 8601.
    The `*_by_class` texts read `PERF=12.5 LITTLE=0.3`. Raises nothing: a Row is a value.
    """

    # identity
    schema_version: int = SCHEMA_VERSION
    session_id: str
    plan_hash: str | None = None
    plan_seed: int | None = None
    device_id_hash: str | None = None
    os_build: str | None = None
    boot_id: str | None = None
    transport: str | None = None
    simulated: bool = False
    clock_factor: float | None = None
    host_version: str | None = None
    # design
    experiment: str | None = None
    instrument: str | None = None
    block: int | None = None
    position: int | None = None
    arm: str | None = None
    role: str | None = None
    cell_key: str | None = None
    attempt: int | None = None
    # metric
    phase: str | None = None
    metric: str
    value: float | None = None
    unit: str | None = None
    better: str | None = None
    n_tokens: int | None = None
    duration_s: float | None = None
    # time
    t_start_boot_s: float | None = None
    t_end_boot_s: float | None = None
    wall_start_utc: str | None = None
    # engine
    engine: str | None = None
    engine_build: str | None = None
    model_sha256: str | None = None
    model_name: str | None = None
    model_quant: str | None = None
    n_prompt: int | None = None
    n_gen: int | None = None
    n_depth: int | None = None
    load_mode: str | None = None
    finish_reason: str | None = None
    variant_requested: str | None = None
    variant_loaded: str | None = None
    launch_context: str | None = None
    # placement
    threads_requested: int | None = None
    threads_seen: int | None = None
    mask_requested: str | None = None
    mask_applied: str | None = None
    mask_ok: bool | None = None
    cpuset_allowed: str | None = None
    online_mask: str | None = None
    migrations: int | None = None
    cpu_time_by_class: str | None = None
    # thermal
    gate_state: str | None = None
    gate_wait_s: float | None = None
    temp_source: str | None = None
    temp_start_c: float | None = None
    temp_max_c: float | None = None
    thermal_status_start: int | None = None
    thermal_status_max: int | None = None
    freq_mean_mhz_by_class: str | None = None
    freq_cap_hit_pct: float | None = None
    # power
    power_source: str | None = None
    energy_j: float | None = None
    power_coverage_pct: float | None = None
    gauge_flag: str | None = None
    charging_state: str | None = None
    battery_pct: float | None = None
    # interference
    foreign_cpu_pct: float | None = None
    sampler_cpu_pct: float | None = None
    mem_available_mb: float | None = None
    screen_state: str | None = None
    # outcome
    state: str = "ok"
    state_detail: str | None = None
    usability: str = Usability.USABLE
    excluded_by: str | None = None
    raw_ref: str | None = None

    def cells(self) -> dict[str, str]:
        """The row as text by column name; missing is the empty text, a flag is 1 or 0, a float round-trips."""
        return {name: _text(getattr(self, name)) for name in COLUMNS}

    @property
    def countable(self) -> bool:
        """True when the value takes part in medians and comparisons."""
        return (
            self.value is not None
            and math.isfinite(self.value)
            and self.role != Role.WARMUP
            and self.usability != Usability.VOID
            and not self.excluded_by
        )


def _kinds() -> dict[str, str]:
    kinds: dict[str, str] = {}
    for item in fields(Row):
        declared = str(item.type)
        kinds[item.name] = declared.split(" | ", maxsplit=1)[0]
    return kinds


KINDS: Mapping[str, str] = MappingProxyType(_kinds())
"""`str`, `int`, `float` or `bool` by column name."""

COLUMNS: tuple[str, ...] = tuple(KINDS)
"""The columns of the tidy CSV in their order."""


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


def _value(name: str, text: str) -> Any:
    kind = KINDS[name]
    if kind == "str":
        return text
    if kind == "bool":
        return {"1": True, "0": False}[text]
    if kind == "int":
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def row_of(cells: Mapping[str, str]) -> Row:
    """The Row of one line of a tidy CSV.

    Columns that are absent or empty are missing; unknown columns are ignored, so that a newer file still opens.
    Raises UsageError naming the column when a value cannot be read.
    """
    values: dict[str, Any] = {}
    for name in COLUMNS:
        text = cells.get(name) or ""
        if text == "":
            continue
        try:
            values[name] = _value(name, text)
        except (KeyError, ValueError):
            raise UsageError(
                f"the column {name} cannot be read",
                detail=repr(text),
                fix=f"{name} holds {KINDS[name]} values; export the run again",
            ) from None
    for name in ("session_id", "metric"):
        values.setdefault(name, "")
    return Row(**values)


def metric_row(base: Row, metric: str, value: float | None, **changes: Any) -> Row:
    """A copy of `base` for another metric, its unit and direction filled in from UNITS when they are known."""
    from dataclasses import replace

    unit, better = UNITS.get(metric, (changes.pop("unit", base.unit), changes.pop("better", base.better)))
    return replace(base, metric=metric, value=value, unit=unit, better=better, **changes)
