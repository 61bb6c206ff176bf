"""What all rows of a run have in common, read from the snapshot the run was planned from."""

from __future__ import annotations

import hashlib
from types import MappingProxyType

from entity_tui import __version__
from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.experiments.cell_power import GaugeReading
from entity_tui.experiments.collect import RunContext
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.preflight import context_of
from entity_tui.records.run_directory import RunInfo
from entity_tui.silicon.masks import format_mask

CLOCK_FACTOR_PROP = "ro.entity.clock_factor"
SERIAL_PROPS = ("ro.serialno", "ro.boot.serialno")


def clock_factor(snapshot: Snapshot) -> float:
    """How much faster a simulated phone lives, from its own property; 1 for everything real."""
    try:
        return float(snapshot.props.get(CLOCK_FACTOR_PROP, "1")) if snapshot.simulated else 1.0
    except ValueError:
        return 1.0


def device_id_hash(snapshot: Snapshot, facts: Facts) -> str:
    """16 hex digits that tell devices apart and lead back to none: of the serial, else of the names it gives itself."""
    serial = next((snapshot.props[name] for name in SERIAL_PROPS if snapshot.props.get(name)), "")
    identity = facts.identity
    words = serial or "|".join((identity.manufacturer, identity.model, identity.name, identity.kernel))
    return hashlib.sha256(f"entity-tui device {words}".encode()).hexdigest()[:16]


def cpu_classes(facts: Facts) -> MappingProxyType[int, str]:
    """Cluster label and index by CPU, such as `PERF_0`."""
    return MappingProxyType(
        {cpu: f"{cluster.label}_{cluster.index}" for cluster in facts.topology.clusters for cpu in cluster.cpus}
    )


def run_context(plan: Plan, info: RunInfo, snapshot: Snapshot, facts: Facts) -> RunContext:
    """The context of a run's rows; the same for a live run and for one that is rebuilt from its folder."""
    boot_wall = info.extra.get("boot_wall_s")
    return RunContext(
        session_id=info.session_id,
        plan=plan,
        device_id_hash=info.device_id_hash,
        os_build=info.os_build,
        boot_id=str(info.extra.get("boot_id", "")) or facts.identity.boot_id,
        transport=info.transport,
        simulated=info.simulated,
        clock_factor=info.clock_factor,
        host_version=str(info.extra.get("host_version", __version__)),
        launch_context=context_of(facts, snapshot.transport),
        boot_wall_s=float(boot_wall) if isinstance(boot_wall, int | float) else None,
        cpu_class=cpu_classes(facts),
        online_mask=format_mask(plan.online) if plan.online else "",
        gauge=GaugeReading.of(snapshot, facts),
    )
