"""What a plan will cost, before it starts: time, battery, and whether the phone can sleep through it."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.device.facts import Facts
from entity_tui.experiments.plan import Plan

READ_BYTES_PER_S = 6e9
"""Decode reads the weights once a token; a phone's cores read some 6 GB/s doing it. Used only until a cell has run."""
PROMPT_SPEEDUP = 5.0
LOAD_BYTES_PER_S = 1e9
LAUNCH_S = 1.0
"""Process start, context and thread pool, per launch."""
LOAD_POWER_W = 4.0
BATTERY_WH = 18.0
CONFIRM_ABOVE_S = 600.0
"""A longer plan is shown and confirmed once before it starts."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """Seconds of real time between `low_s` (every gate opens at once) and `high_s` (every gate waits to its limit).

    `battery_pct` is None while the device charges. `measured` is true when the speeds came from cells of this device.
    """

    low_s: float
    high_s: float
    cells: int
    battery_pct: float | None
    measured: bool

    @property
    def needs_confirmation(self) -> bool:
        """True for a plan that may take more than ten minutes."""
        return self.high_s > CONFIRM_ABOVE_S


def guessed_decode_tok_s(size_bytes: int) -> float:
    """Decode speed guessed from the size of the weights alone."""
    return min(200.0, READ_BYTES_PER_S / max(size_bytes, 1))


def estimate(
    plan: Plan,
    facts: Facts,
    *,
    decode_tok_s: float | None = None,
    prompt_tok_s: float | None = None,
    clock_factor: float = 1.0,
) -> Estimate:
    """What the plan will take. Speeds that are not given are guessed from the model's size."""
    decode = decode_tok_s or guessed_decode_tok_s(plan.model.size_bytes)
    prompt = prompt_tok_s or decode * PROMPT_SPEEDUP
    load_s = LAUNCH_S + plan.model.size_bytes / LOAD_BYTES_PER_S
    launches = int(plan.n_prompt > 0) + int(plan.n_gen > 0)
    # llama-bench runs a prompt twice: once to warm up, once to measure.
    work_s = launches * load_s + 2 * plan.n_prompt / prompt + plan.n_gen * plan.repetitions / decode
    cells = len(plan.cells) * plan.sessions
    gate = plan.gate
    low = cells * (work_s + (0.0 if gate.skip else gate.minimum_s))
    high = cells * (work_s + (0.0 if gate.skip else gate.limit_s))
    charging = facts.battery.charging
    battery = None
    if charging is False:
        battery = 100.0 * LOAD_POWER_W * cells * work_s / 3600.0 / BATTERY_WH
    return Estimate(low / clock_factor, high / clock_factor, cells, battery, decode_tok_s is not None)


def duration_words(seconds: float) -> str:
    """`40 s`, `12 min`, `1 h 20 min`."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"


def words(found: Estimate) -> str:
    """The estimate as one sentence."""
    low, high = duration_words(found.low_s), duration_words(found.high_s)
    time = low if low == high else f"{low} to {high}"
    basis = "from cells of this device" if found.measured else "speeds guessed from the model's size"
    if found.battery_pct is None:
        battery = "the device is charging or has no battery"
    else:
        battery = f"about {max(1, round(found.battery_pct))} % of the battery"
    return f"{found.cells} cells, {time} ({basis}), {battery}."


def sleep_words(facts: Facts) -> str:
    """Whether this device can sleep during a run, and what the user may do meanwhile."""
    system = facts.identity.system
    if facts.simulated:
        return "A simulated phone does not sleep."
    if system in ("linux", "macos"):
        return "Leave this computer idle while it runs: other work shows up in the numbers."
    if facts.battery.charging:
        return "On a charger the phone stays awake for the run. Leave it alone; the laptop may be unplugged or closed."
    return (
        "On battery the phone may sleep when its screen goes off; a cell that slept is marked and void. "
        "Keep the screen on, or run it on a charger. The laptop may be unplugged or closed."
    )
