"""The unit and sign of a battery gauge, decided once per device from evidence, and the seeds' own rule by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from entity_tui.device.battery import CurrentUnit, Standing
from entity_tui.profiles.library import merged

ENTITY_WINDOW_W = (0.05, 15.0)
INT_MIN = -2147483648


def _limits() -> dict[str, float]:
    """What a phone draws while it is awake, and how well a counter must agree: the profile's numbers."""
    found: dict[str, float] = merged("thresholds.yaml")["power"]
    return found


@dataclass(frozen=True, slots=True)
class UnitVerdict:
    """The unit of a gauge with its standing and the steps that led to it."""

    unit: CurrentUnit = CurrentUnit.UNKNOWN
    standing: Standing = Standing.UNVERIFIED
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SignVerdict:
    """+1 when drain reads positive, -1 when negative, None while unknown."""

    discharge_sign: int | None = None
    standing: Standing = Standing.UNVERIFIED
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class GaugeSample:
    """One reading of a gauge on the device's clock; None is a reading that was not there."""

    t_s: float
    current_raw: int | None
    voltage_mv: int | None = None
    charge_counter_uah: int | None = None
    plugged: bool | None = None
    loaded: bool | None = None


def voltage_mv(raw: int | None) -> tuple[int | None, str]:
    """A battery voltage in mV and how it was read: `mV`, `µV`, `whole volts`, or why it is none.

    Below 20 is whole volts (no resolution), 2500..20000 is mV, from a million up µV; anything else is not a voltage.
    """
    if raw is None:
        return None, "absent"
    if raw == 0:
        return None, "reads 0"
    if 1 <= raw < 20:
        return raw * 1000, "whole volts"
    if 2500 <= raw <= 20_000:
        return raw, "mV"
    if 1_000_000 <= raw <= 100_000_000:
        return raw // 1000, "µV"
    return None, "implausible"


def watts(current_raw: int, unit: CurrentUnit, millivolts: float) -> float | None:
    """|I|·V in W; None while the unit is unknown."""
    if unit is CurrentUnit.UNKNOWN:
        return None
    micro = abs(current_raw) * (1000 if unit is CurrentUnit.MA else 1)
    return micro * millivolts / 1e9


def to_ua(current_raw: int | None, unit: CurrentUnit) -> int | None:
    """A raw current in µA; None for a missing value, the no-data sentinel, or an unknown unit."""
    if current_raw is None or current_raw == INT_MIN or unit is CurrentUnit.UNKNOWN:
        return None
    return current_raw * 1000 if unit is CurrentUnit.MA else current_raw


def assume_unit(current_raw: int | None, millivolts: int | None, *, node_voltage: str = "") -> UnitVerdict:
    """The unit one reading suggests: by the unit its own directory prints volts in, and by what power it would mean.

    Two clues that agree, or one without a contradiction, give `assumed`; a contradiction or no clue `unverified`.
    """
    if current_raw is None or current_raw == INT_MIN:
        return UnitVerdict()
    if current_raw == 0:
        return UnitVerdict(evidence=("the gauge reads 0, which says nothing about its unit",))
    evidence: list[str] = []
    votes: list[CurrentUnit] = []
    if node_voltage in ("µV", "mV"):
        unit = CurrentUnit.UA if node_voltage == "µV" else CurrentUnit.MA
        votes.append(unit)
        evidence.append(f"the same directory prints volts in {node_voltage}: {unit.value}")
    if millivolts:
        limits = _limits()
        low, high = limits["plausible_low_w"], limits["plausible_high_w"]
        plausible = [
            unit
            for unit in (CurrentUnit.UA, CurrentUnit.MA)
            if low <= (watts(current_raw, unit, millivolts) or 0.0) <= high
        ]
        if len(plausible) == 1:
            power = watts(current_raw, plausible[0], millivolts)
            votes.append(plausible[0])
            evidence.append(f"as {plausible[0].value} it is {power:.2f} W, as the other unit no phone's power")
        else:
            evidence.append("its size fits neither unit's usual power" if not plausible else "its size fits both units")
    if votes and len(set(votes)) == 1:
        return UnitVerdict(votes[0], Standing.ASSUMED, tuple(evidence))
    if len(set(votes)) > 1:
        evidence.append("the clues contradict each other")
    return UnitVerdict(CurrentUnit.UNKNOWN, Standing.UNVERIFIED, tuple(evidence))


def _integral_raw_h(samples: Sequence[GaugeSample], longest_gap_s: float) -> tuple[float, float]:
    """(∫|I| dt in raw·hours by trapezoid, seconds covered); no gap longer than the limit is bridged."""
    total, covered = 0.0, 0.0
    known = [(s.t_s, abs(s.current_raw)) for s in samples if s.current_raw is not None and s.current_raw != INT_MIN]
    for (t0, i0), (t1, i1) in pairwise(known):
        if 0 < t1 - t0 <= longest_gap_s:
            total += (i0 + i1) / 2 * (t1 - t0) / 3600
            covered += t1 - t0
    return total, covered


def counter_unit(samples: Sequence[GaugeSample], *, longest_gap_s: float = 30.0) -> UnitVerdict:
    """The unit by the charge counter: ∫|I| dt against what the counter lost, both over the same window.

    The window runs between two changes of the counter. It must hold at least three of its steps, and 80 % of it must
    be covered by readings. A ratio within 0.7..1.4 of a unit verifies it (LITTLETai got 1.026 on a mA phone).
    """
    changes = [
        place
        for place in range(1, len(samples))
        if samples[place].charge_counter_uah is not None
        and samples[place - 1].charge_counter_uah is not None
        and samples[place].charge_counter_uah != samples[place - 1].charge_counter_uah
    ]
    limits = _limits()
    if len(changes) < limits["counter_steps"] + 1:
        return UnitVerdict(evidence=(f"the charge counter moved {len(changes)} times; that is too little",))
    window = samples[changes[0] : changes[-1] + 1]
    first, last = window[0].charge_counter_uah, window[-1].charge_counter_uah
    moved = abs((last or 0) - (first or 0))
    integral, covered = _integral_raw_h(window, longest_gap_s)
    length = window[-1].t_s - window[0].t_s
    if moved == 0 or length <= 0 or covered < 0.8 * length or integral <= 0:
        return UnitVerdict(evidence=("the readings do not cover the counter's window",))
    for unit, scale in ((CurrentUnit.UA, 1.0), (CurrentUnit.MA, 1000.0)):
        ratio = integral * scale / moved
        if limits["counter_ratio_low"] <= ratio <= limits["counter_ratio_high"]:
            words = f"∫I dt over {length:.0f} s is {ratio:.3f} of what the charge counter lost, in {unit.value}"
            return UnitVerdict(unit, Standing.VERIFIED, (words,))
    return UnitVerdict(evidence=(f"∫I dt is {integral / moved:.3g} raw·h per µAh of the counter: no unit fits",))


def resolve_unit(assumed: UnitVerdict, counted: UnitVerdict) -> UnitVerdict:
    """The stronger of the two verdicts; the counter's wins, and a contradiction is told."""
    if counted.standing is not Standing.VERIFIED:
        return UnitVerdict(assumed.unit, assumed.standing, (*assumed.evidence, *counted.evidence))
    evidence = [*counted.evidence, *assumed.evidence]
    if assumed.unit not in (CurrentUnit.UNKNOWN, counted.unit):
        evidence.append(f"the counter overrules the first guess {assumed.unit.value}")
    return UnitVerdict(counted.unit, Standing.VERIFIED, tuple(evidence))


def resolve_sign(samples: Sequence[GaugeSample]) -> SignVerdict:
    """The sign of drain, from unplugged readings under load only; charging states and status words prove nothing.

    Verified from ten readings with nine in ten of one sign; assumed from fewer.
    """
    used = [
        sample.current_raw
        for sample in samples
        if sample.plugged is False
        and sample.loaded is not False
        and sample.current_raw is not None
        and sample.current_raw not in (0, INT_MIN)
    ]
    if not used:
        return SignVerdict(evidence=("no unplugged reading yet",))
    positive = sum(value > 0 for value in used)
    share = max(positive, len(used) - positive) / len(used)
    sign = 1 if positive * 2 > len(used) else -1
    words = f"{positive} of {len(used)} unplugged readings are positive"
    if share < 0.9:
        return SignVerdict(evidence=(words + ": no sign",))
    standing = Standing.VERIFIED if len(used) >= 10 else Standing.ASSUMED
    return SignVerdict(sign, standing, (words,))


def entity_voltage_mv(raw: int) -> int:
    """ENTITY's voltage rule (`PowerMath.kt`): below 100 volts, above 100000 microvolts, else millivolts; 0 for none."""
    if raw <= 0:
        return 0
    if raw < 100:
        return raw * 1000
    return raw // 1000 if raw > 100_000 else raw


def entity_watts(current_raw: int, voltage_raw: int) -> float:
    """ENTITY's power rule: |I| in µA if that is 0.05..15 W, else in mA if that is, else in µA whatever it is.

    Kept by name so that rows compare with the seed's; it resolves units and proves nothing about validity.
    """
    millivolts = entity_voltage_mv(voltage_raw)
    if current_raw == 0 or millivolts <= 0:
        return 0.0
    low, high = ENTITY_WINDOW_W
    micro = abs(current_raw) * millivolts / 1e9
    milli = micro * 1000
    if low <= micro <= high:
        return micro
    return milli if low <= milli <= high else micro
