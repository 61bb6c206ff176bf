"""What the recorder's readings inside one cell say: power of the decode window, energy, clocks, and the charger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from types import MappingProxyType

from entity_tui.analysis.energy import CLAIM_SECONDS, Energy, GaugeFlag, measure, trace
from entity_tui.analysis.summary import median
from entity_tui.analysis.usable import UNPLUGGED
from entity_tui.device.battery import CurrentUnit
from entity_tui.device.facts import Facts
from entity_tui.device.numbers import integer
from entity_tui.device.power_units import assume_unit, voltage_mv, watts
from entity_tui.device.snapshot import Snapshot
from entity_tui.digits import whole
from entity_tui.experiments.flatplan import SampleNode
from entity_tui.experiments.holes import longest_hole
from entity_tui.experiments.render import BATTERY, sample_nodes
from entity_tui.experiments.states import state
from entity_tui.records.schema import Metric, Phase, Row, metric_row

CLOCK_PREFIX = "clock_"
HEADER = "entity-samples 1 nodes"
NO_READINGS = "gauge_unreadable"
IMPLAUSIBLE = "power_implausible"
FALLEN = 0.90
"""A cluster below this share of its own cap is not running freely."""
LEAST_READINGS = 20
"""Fewer moments than this say nothing about a share of the window: one ramp would already look like heat."""
FALLEN_SHARE_PCT = 15.0
"""More of the measured window than this below it, and the cell is `throttled` (LITTLETai's share)."""


@dataclass(frozen=True, slots=True)
class GaugeReading:
    """How this device's nodes are read: names in the order of a sample line, unit of the gauge, caps of the clocks."""

    nodes: tuple[str, ...]
    unit: CurrentUnit = CurrentUnit.UNKNOWN
    charging: bool | None = None
    """What the probe said before the run; the status node inside the cells wins."""
    plugged_word: str = ""
    cap_khz: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    """Highest clock allowed at the first probe, by node name."""
    period_s: float = 0.15

    @classmethod
    def of(cls, snapshot: Snapshot, facts: Facts) -> GaugeReading:
        """How the nodes of a plan rendered for this snapshot are to be read."""
        nodes = sample_nodes(snapshot, facts)
        caps: dict[str, int] = {}
        for node in nodes:
            reading = snapshot.file(node.path.replace("scaling_cur_freq", "scaling_max_freq"))
            khz = whole(reading.text.strip()) if node.name.startswith(CLOCK_PREFIX) and reading.ok else None
            if khz is not None:
                caps[node.name] = khz
        battery = facts.battery
        return cls(
            nodes=tuple(node.name for node in nodes),
            unit=battery.current_unit,
            charging=battery.charging,
            plugged_word=str(battery.status),
            cap_khz=MappingProxyType(caps),
        )


@dataclass(frozen=True, slots=True)
class CellSamples:
    """The recorder's lines of one cell: device clock in seconds, and raw text by node; missing text is empty."""

    t_s: tuple[float, ...]
    values: Mapping[str, tuple[str, ...]]


def parse_samples(data: bytes, nodes: Sequence[str] = ()) -> CellSamples:
    """Read the recorder's `p T|value|value…` lines, several launches one after the other.

    A header `entity-samples 1 nodes NAME…` names the values of the lines behind it, `nodes` those before any. Lines of
    another shape, such as one that was cut, are left out. Never raises.
    """
    names = list(nodes)
    times: list[float] = []
    columns: dict[str, list[str]] = {name: [] for name in names}
    for line in data.decode("utf-8", "replace").splitlines():
        if line.startswith(HEADER):
            names = line.removeprefix(HEADER).split()
            for name in names:
                columns.setdefault(name, [""] * len(times))
            continue
        head, *cells = line.split("|")
        words = head.split()
        if len(words) != 2 or words[0] != "p" or len(cells) != len(names):
            continue
        try:
            at = float(words[1])
        except ValueError:
            continue
        times.append(at)
        given = dict(zip(names, cells, strict=True))
        for name, column in columns.items():
            column.append(given.get(name, "").strip())
    return CellSamples(tuple(times), MappingProxyType({name: tuple(column) for name, column in columns.items()}))


@dataclass(frozen=True, slots=True)
class CellPower:
    """Power, clocks and charger of one cell; None and empty mean that nothing could be read."""

    source: str = ""
    charging: str = ""
    """The battery's own word (`Discharging`), or two joined by `→` when it changed inside the cell."""
    charging_changed: bool = False
    decode: Energy | None = None
    whole: Energy | None = None
    reason: str = ""
    """Why there is no power, in words."""
    clocks: str = ""
    below_cap_pct: float | None = None
    throttled: str = ""
    longest_hole_s: float | None = None
    """The longest time without a reading inside a launch; None without readings."""

    @property
    def flag(self) -> str:
        """What stands beside the number: a slow or static gauge, or why there is none."""
        if self.decode is None:
            return self.reason
        return self.decode.reason or self.decode.flag.value

    @property
    def coverage_pct(self) -> float | None:
        """How much of the decode window lies under the readings."""
        return None if self.decode is None else round(100 * self.decode.coverage, 1)

    def rows(self, base: Row, n_gen: int, decode_tok_s: float | None) -> tuple[Row, ...]:
        """The power and energy rows of a cell that generated tokens.

        Watts and tok/W always have their rows, empty while charging or where the gauge cannot be believed, so that a
        cell has the same rows whatever its gauge did. Energy is claimed only from a decode window that outlasts the
        gauge's refresh.
        """
        decode = self.decode
        row = _with_phase(base, Phase.DECODE)
        if decode is not None and decode.reason == IMPLAUSIBLE:
            words = "the gauge's reading cannot be a phone's power"
            row = replace(row, state=IMPLAUSIBLE, state_detail=words, usability=state(IMPLAUSIBLE).usability)
        watts = decode.mean_w if decode is not None and not decode.reason else None
        moved = decode is not None and decode.flag is not GaugeFlag.STATIC
        rate = decode_tok_s / watts if decode_tok_s is not None and watts and moved else None
        found = [metric_row(row, Metric.DECODE_POWER_W, watts), metric_row(row, Metric.DECODE_TOK_PER_W, rate)]
        if decode is None or decode.energy_j is None or watts is None:
            return tuple(found)
        seconds = n_gen / decode_tok_s if decode_tok_s else 0.0
        if decode.claimable and seconds >= CLAIM_SECONDS and n_gen:
            found.append(metric_row(row, Metric.TOKEN_ENERGY_J, decode.energy_j / n_gen))
            whole = self.whole
            if whole is not None and whole.energy_j is not None and not whole.reason:
                found.append(metric_row(_with_phase(base, Phase.CELL), Metric.CELL_ENERGY_J, whole.energy_j))
        return tuple(found)


def _with_phase(base: Row, phase: str) -> Row:
    return replace(base, phase=phase)


@dataclass(frozen=True, slots=True)
class Window:
    """A stretch of the device clock, in seconds, and the clusters that worked in it (their clock nodes)."""

    start_s: float
    end_s: float
    clocks: tuple[str, ...] = ()
    spans: tuple[tuple[float, float], ...] = ()
    """The launches inside it, each with its start and end."""


def read_power(gauge: GaugeReading | None, data: bytes, whole: Window | None, decode: Window | None) -> CellPower:
    """Everything one cell's samples say. `whole` spans all launches, `decode` only the tokens being generated."""
    if gauge is None or whole is None:
        return CellPower()
    samples = parse_samples(data, gauge.nodes)
    word, changed = _charging(samples, gauge)
    clocks, below = _clocks(samples, gauge, decode or whole)
    throttled = ""
    if below is not None and below > FALLEN_SHARE_PCT:
        throttled = f"clocks were below 90 % of their cap in {below:.0f} % of the measured window"
    holes = [longest_hole(samples.t_s, *span) for span in whole.spans] if samples.t_s else []
    found = CellPower(
        charging=word,
        charging_changed=changed,
        clocks=clocks,
        below_cap_pct=below,
        throttled=throttled,
        longest_hole_s=max((hole for hole in holes if hole is not None), default=None),
    )
    current, volts = samples.values.get("current_now", ()), samples.values.get("voltage_now", ())
    if decode is None:
        return found
    if not current or not volts:
        return replace(found, reason=NO_READINGS)
    unit = _unit(current, volts, gauge.unit)
    power = [_watts(one, two, unit) for one, two in zip(current, volts, strict=True)]
    if all(value is None for value in power):
        why = "gauge_unit_unknown" if unit is CurrentUnit.UNKNOWN else NO_READINGS
        return replace(found, source=f"{BATTERY}/current_now", reason=why)
    readings = trace(list(samples.t_s), power)
    on_charge = changed or (word.lower() not in UNPLUGGED if word else bool(gauge.charging))
    period_s = max(gauge.period_s, achieved_period_s(samples.t_s) or 0.0)
    measured = [
        measure(readings, window.start_s, window.end_s, charging=on_charge, period_s=period_s)
        for window in (decode, whole)
    ]
    return replace(found, source=f"{BATTERY}/current_now × voltage_now", decode=measured[0], whole=measured[1])


def achieved_period_s(times: Sequence[float]) -> float | None:
    """The median time between two different readings, which a slow shell or a compressed clock stretches."""
    steps = [later - earlier for earlier, later in pairwise(times) if later > earlier]
    return median(steps) if steps else None


def _charging(samples: CellSamples, gauge: GaugeReading) -> tuple[str, bool]:
    words = list(dict.fromkeys(word for word in samples.values.get("status", ()) if word))
    if not words:
        return gauge.plugged_word if gauge.charging is not None else "", False
    return " → ".join(words), len(words) > 1


def _unit(current: Sequence[str], volts: Sequence[str], stated: CurrentUnit) -> CurrentUnit:
    """The device's unit, or what a reading under load says where the idle probe could not tell."""
    if stated is not CurrentUnit.UNKNOWN:
        return stated
    loaded = max((abs(value) for text in current if (value := integer(text)) is not None), default=None)
    raw = next((value for text in volts if (value := integer(text)) is not None), None)
    millivolts, how = voltage_mv(raw)
    return assume_unit(loaded, millivolts, node_voltage=how).unit


def _watts(current: str, volts: str, unit: CurrentUnit) -> float | None:
    raw, millivolts = integer(current), voltage_mv(integer(volts))[0]
    return None if raw is None or millivolts is None else watts(raw, unit, millivolts)


def _clocks(samples: CellSamples, gauge: GaugeReading, window: Window) -> tuple[str, float | None]:
    """(mean MHz by cluster, share of readings of the fastest working cluster below 90 % of its cap, in %)."""
    inside = [index for index, at in enumerate(samples.t_s) if window.start_s <= at <= window.end_s]
    enough = len({samples.t_s[index] for index in inside}) >= LEAST_READINGS
    means: list[str] = []
    below: float | None = None
    for name, column in samples.values.items():
        if not name.startswith(CLOCK_PREFIX):
            continue
        found = [value for index in inside if (value := integer(column[index])) is not None]
        if not found:
            continue
        label = name.removeprefix(CLOCK_PREFIX).rpartition("_")[0]
        means.append(f"{label}={sum(found) / len(found) / 1000:.0f}")
        cap = gauge.cap_khz.get(name)
        if cap and below is None and enough and name in window.clocks:
            below = round(100.0 * sum(1 for value in found if value < FALLEN * cap) / len(found), 1)
    return " ".join(means), below


def clock_nodes(nodes: Sequence[SampleNode] | Sequence[str], labels: Sequence[str]) -> tuple[str, ...]:
    """The clock nodes of some clusters, by label and index (`PERF_0`), in the order of the nodes."""
    names = [node if isinstance(node, str) else node.name for node in nodes]
    wanted = {f"{CLOCK_PREFIX}{label}" for label in labels}
    return tuple(name for name in names if name in wanted)
