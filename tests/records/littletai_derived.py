"""LITTLETai's derived.csv line of one counters arm, from the product's counter functions."""

from __future__ import annotations

from entity_tui.analysis.counters import (
    LAST_LEVEL_MISS,
    STALL_BACKEND,
    CounterReport,
    per_cycle,
    read_bandwidth_gbs,
    traffic_share,
)
from entity_tui.records.littletai_arm import Arm

LITTLE = tuple(range(6))
BIG = (6, 7)
ILOCK = "raw-cortex-a55-stall-backend-ilock"
LDCACHE = "raw-cortex-a55-stall-backend-ld-cache"


def _percent(value: float | None, digits: int = 1) -> str:
    return "" if value is None else str(round(100.0 * value, digits))


def _plain(value: float | None, digits: int = 3) -> str:
    return "" if value is None else str(round(value, digits))


def derived(arm: Arm) -> dict[str, str]:
    """The line, or nothing for an arm without counters. Absent columns are blank."""
    if arm.counters is None or not arm.counters.counts:
        return {}
    report = arm.counters
    wall = round(arm.end_s - arm.start_s, 2)
    line = {
        "config": arm.meta["config"],
        "mode": f"{arm.meta['pass']}:{arm.meta['variant']}",
        "threads": arm.meta["threads"],
        "mask": arm.meta["mask"],
        "multiplexed": str(report.scaled),
        "n_invocations": "1",
        "wall_s": str(wall),
    }
    for cpu in report.cpus:
        line |= _of_cpu(report, cpu)
    if report.total(LAST_LEVEL_MISS):
        line["dram_read_gbps"] = _plain(read_bandwidth_gbs(report, wall))
        line["a75_traffic_share_pct"] = _percent(traffic_share(report, BIG))
    line["a55_ipc"] = _plain(per_cycle(report, "instructions", LITTLE))
    line["a75_ipc"] = _plain(per_cycle(report, "instructions", BIG))
    if report.total(ILOCK, LITTLE):
        line["a55_ilock_pct"] = _percent(per_cycle(report, ILOCK, LITTLE))
        line["a55_ldcache_pct"] = _percent(per_cycle(report, LDCACHE, LITTLE))
        ratio = (report.total(ILOCK, LITTLE) or 0.0) / max(report.total(LDCACHE, LITTLE) or 0.0, 1.0)
        line["a55_ilock_over_ldcache"] = _plain(ratio, 2)
    return line


def _of_cpu(report: CounterReport, cpu: int) -> dict[str, str]:
    return {
        f"cpu{cpu}_ipc": _plain(per_cycle(report, "instructions", (cpu,))),
        f"cpu{cpu}_stall_pct": _percent(per_cycle(report, STALL_BACKEND, (cpu,))),
        f"cpu{cpu}_ilock_pct": _percent(per_cycle(report, ILOCK, (cpu,))),
        f"cpu{cpu}_ldcache_pct": _percent(per_cycle(report, LDCACHE, (cpu,))),
        f"cpu{cpu}_miss": str(int(report.total(LAST_LEVEL_MISS, (cpu,)) or 0)),
    }
