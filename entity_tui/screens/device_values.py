"""What is known of the device, as the plain values its widgets show; every text from it passes `plain`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from entity_tui.session import DeviceView, Session
from entity_tui.telemetry import Telemetry
from entity_tui.transport.base import DeviceState
from entity_tui.widgets.ink import Ink, Span
from entity_tui.widgets.panel import LIVE, Condition
from entity_tui.widgets.status_bars import StripValue
from entity_tui.widgets.text import cut, plain
from entity_tui.widgets.topology_map import ClusterValue, CoreValue, TopologyValue

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts
    from entity_tui.device.topology import Cluster, Core, Topology

THERMAL_WORDS = ("NONE", "LIGHT", "MODERATE", "SEVERE", "CRITICAL", "EMERGENCY", "SHUTDOWN")
STATE_MARKS: dict[DeviceState, Span] = {
    DeviceState.READY: ("●", Ink.GOOD),
    DeviceState.STALE: ("▲", Ink.WARN),
    DeviceState.LOST: ("✖", Ink.BAD),
    DeviceState.REBOOTED: ("▲", Ink.WARN),
    DeviceState.CONNECTING: ("◐", Ink.GOOD),
    DeviceState.AUTHORIZING: ("◐", Ink.GOOD),
    DeviceState.UNAUTHORIZED: ("▲", Ink.WARN),
    DeviceState.NO_PERMISSION: ("▲", Ink.WARN),
    DeviceState.WRONG_KEY: ("✖", Ink.BAD),
    DeviceState.OFFLINE: ("○", Ink.MUTED),
    DeviceState.ABSENT: ("○", Ink.MUTED),
    DeviceState.RECOVERY: ("▲", Ink.WARN),
    DeviceState.SIDELOAD: ("▲", Ink.WARN),
}
LACKS_SHOWN = ("dotprod", "fp16", "i8mm", "sve", "sve2", "sme")


def newest(telemetry: Telemetry, name: str) -> float | None:
    """The last value of a series, None when it has none now."""
    series = telemetry.series(name)
    if series is None:
        return None
    value = series.newest
    return value if math.isfinite(value) else None


def state_words(state: DeviceState) -> str:
    """`no permission` for `no_permission`."""
    return state.value.replace("_", " ")


def device_condition(session: Session, waiting: str) -> Condition:
    """What every panel that lives on samples is in: no device, connecting, stale, lost, or live."""
    view = session.view
    if not view.spec:
        return Condition.empty("No phone selected.", "d chooses one; demo needs nothing.")
    if view.facts is None:
        if view.state in (DeviceState.READY, DeviceState.CONNECTING, DeviceState.AUTHORIZING):
            return Condition.waiting(waiting)
        return Condition.broken(plain(view.words or state_words(view.state)), plain(view.fix))
    age_s = session.sample_age_s
    if view.state is not DeviceState.READY:
        return Condition.stale(age_s or 0.0)
    if age_s is not None and age_s > stale_after_s(view):
        return Condition.stale(age_s)
    return LIVE


def stale_after_s(view: DeviceView) -> float:
    """How old the newest sample may be before its values are dimmed: three periods, at least two seconds."""
    return max(2.0, 3.0 / view.hz) if view.hz else 2.0


def link_words(view: DeviceView) -> tuple[str, str]:
    """How the device is reached: (`usb 0015725…`, `usb`)."""
    address = plain(view.spec.partition(":")[2])
    if view.simulated or view.spec.startswith("demo"):
        return "demo phone", "demo"
    if view.kind == "adb":
        via = "wifi" if ":" in address else "usb"
        return f"{via} {cut(address, 20 if ':' in address else 8)}", via
    if view.kind == "ssh":
        return f"ssh {cut(address, 24)}", "ssh"
    return ("this computer", "local") if view.kind == "local" else (plain(view.kind), plain(view.kind))


def short_soc(soc: str) -> str:
    """The chip's name for a narrow strip: `Dim.7300`, `SD 8 Gen 3`."""
    for long, brief in (("MediaTek ", ""), ("Qualcomm ", ""), ("Dimensity ", "Dim."), ("Snapdragon ", "SD ")):
        soc = soc.replace(long, brief)
    return cut(soc.split(" (")[0], 12)


def about_words(facts: Facts) -> tuple[str, str]:
    """Chip, memory and system: (`Dimensity 7300 · 8 GB · Android 15`, `Dim.7300`)."""
    identity = facts.identity
    soc = plain(identity.soc or identity.soc_code)
    parts = [cut(soc.split(" (")[0].replace("MediaTek ", "").replace("Qualcomm ", ""), 26)] if soc else []
    if facts.memory.total_kb:
        parts.append(f"{math.ceil(facts.memory.total_kb / 1_000_000 - 0.3)} GB")
    if identity.android_release:
        parts.append(f"Android {plain(identity.android_release)}")
    elif identity.system:
        parts.append(plain(identity.system))
    return " · ".join(parts), short_soc(soc)


def charge_words(view: DeviceView) -> tuple[str, str]:
    """Direction of the battery and the reason why there is no power: (`▼`, ``), (`▲`, `chg`), (``, `?W`)."""
    live, facts = view.live, view.facts
    charging = live.charging if live is not None else facts.battery.charging if facts else None
    note = plain(live.power_note) if live is not None else "chg" if charging else ""
    arrow = "▲" if charging else "▼" if charging is False else ""
    return arrow, note


def strip_value(session: Session, version: str) -> StripValue:
    """The device strip."""
    view = session.view
    if not view.spec:
        return StripValue(words="", version=version, name="no phone selected")
    facts, sample = view.facts, view.sample
    link, link_short = link_words(view)
    about, about_short = about_words(facts) if facts else ("", "")
    arrow, note = charge_words(view)
    level: float | None = sample.battery_pct if sample else None
    if level is None and facts is not None and facts.battery.level_pct is not None:
        level = facts.battery.level_pct
    skin, skin_name = skin_reading(session.telemetry)
    status = session_thermal_status(session)
    words = "" if view.state is DeviceState.READY else plain(view.words or state_words(view.state))
    factor = f" ×{view.clock_factor:g}" if view.clock_factor != 1.0 else ""
    return StripValue(
        mark=STATE_MARKS[view.state],
        name=plain(view.name or view.spec),
        link=link,
        link_short=link_short,
        about=about,
        about_short=about_short,
        simulated=f"simulated{factor}" if view.simulated else "",
        words=words,
        battery_pct=level,
        direction=arrow,
        watts=newest(session.telemetry, "power_w") if not note else None,
        power_note=note if len(note) <= 4 else "",
        skin_c=skin,
        skin_name=skin_name,
        status="" if status is None else thermal_word(status),
        status_ink=Ink.GOOD if not status else Ink.WARN if status < 3 else Ink.BAD,
        hz=view.hz,
        link_ms=view.link_ms,
        version=version,
    )


def thermal_word(status: int) -> str:
    """Android's own word for a throttling status."""
    return THERMAL_WORDS[status] if 0 <= status < len(THERMAL_WORDS) else f"STATUS {status}"


def session_thermal_status(session: Session) -> int | None:
    """The newest throttling status: of the sampler when it reads one, else of the probe."""
    live, facts = session.view.live, session.view.facts
    if live is not None and live.thermal_status is not None:
        return live.thermal_status
    return facts.thermal.status if facts else None


def skin_reading(telemetry: Telemetry) -> tuple[float | None, str]:
    """The temperature a hand would feel, or the nearest thing to it, with its name."""
    for series, name in (("temp_c.skin", "skin"), ("temp_c.battery", "battery")):
        value = newest(telemetry, series)
        if value is not None:
            return value, name
    return None, "skin"


CLUSTER_WORDS = {"fast": ("big", "gold", "prime", "perf"), "slow": ("little", "silver", "small")}


def core_heat(cpu: int, telemetry: Telemetry) -> float | None:
    """The temperature of a zone that is named after one core (`cpu4`, `cpu-4`, `cpu4-thermal`), None without one."""
    for pattern in ("cpu{}", "cpu-{}", "cpu{}-thermal", "cpu-{}-thermal", "cpu_{}"):
        value = newest(telemetry, "temp_c.zone." + pattern.format(cpu))
        if value is not None:
            return value
    return None


def cluster_heat(cluster: Cluster, clusters: int, telemetry: Telemetry) -> float | None:
    """The hottest zone named after a cluster (`cpu-big1`, `cpu_little0`); only for the fastest and the slowest one."""
    words = CLUSTER_WORDS["fast"] if cluster.index == 0 else CLUSTER_WORDS["slow"]
    if clusters < 2 or cluster.index not in (0, clusters - 1):
        return None
    found = [
        value
        for name in telemetry.names()
        if name.startswith("temp_c.zone.") and any(word in name.lower() for word in words)
        if (value := newest(telemetry, name)) is not None
    ]
    return max(found) if found else None


def core_value(core: Core, cluster: Cluster, topology: Topology, telemetry: Telemetry, heat: float | None) -> CoreValue:
    """One core now; `heat` is its cluster's temperature, for cores without a zone of their own."""
    online = core.online
    if topology.online is not None:
        online = core.cpu in topology.online
    clock_mhz = newest(telemetry, f"mhz.{core.cpu}")
    return CoreValue(
        cpu=core.cpu,
        busy_pct=newest(telemetry, f"busy_pct.{core.cpu}"),
        khz=None if clock_mhz is None else round(clock_mhz * 1_000),
        max_khz=core.max_freq_khz or cluster.max_freq_khz,
        celsius=own if (own := core_heat(core.cpu, telemetry)) is not None else heat,
        online=online,
    )


def topology_value(session: Session) -> TopologyValue:
    """Every core and cluster, and the instruction set."""
    facts = session.view.facts
    if facts is None:
        return TopologyValue()
    topology = facts.topology
    telemetry = session.telemetry
    clusters: list[ClusterValue] = []
    for cluster in topology.clusters:
        name = plain(cluster.name or "unknown core")
        cores = [core for cpu in cluster.cpus if (core := topology.core(cpu)) is not None]
        heat = cluster_heat(cluster, len(topology.clusters), telemetry)
        clusters.append(
            ClusterValue(
                plain(cluster.label),
                name,
                name.removeprefix("Cortex-"),
                cluster.max_freq_khz,
                cluster.capacity,
                cluster.policy,
                tuple(core_value(core, cluster, topology, telemetry, heat) for core in cores),
            )
        )
    flags = facts.isa.flags if facts.isa.architecture in ("arm64", "arm32", "") else {}
    has = tuple(name for name in LACKS_SHOWN if flags.get(name))
    lacks = tuple(name for name in LACKS_SHOWN if flags.get(name) is False)
    if not flags:
        has = (plain(facts.isa.architecture),)
    shape = topology.shape if len(topology.clusters) != 2 else f"big.LITTLE {topology.shape}"
    if len(topology.clusters) == 1:
        shape = f"{topology.shape} equal cores"
    return TopologyValue(tuple(clusters), has, lacks, shape, tuple(plain(note) for note in topology.conflicts))
