"""What facts must hold whatever the text: no frequency, capacity, size or voltage of 0, no value outside its window."""

from __future__ import annotations

from entity_tui.device.facts import Facts
from entity_tui.device.thermal import SensorState
from entity_tui.device.thermal_service import windows_c
from entity_tui.silicon.masks import slowest
from entity_tui.silicon.variants import ANDROID, LINUX, judge
from entity_tui.silicon.widths import widths


def _topology(facts: Facts) -> list[str]:
    wrong = []
    topology = facts.topology
    for core in topology.cores:
        for name in ("max_freq_khz", "min_freq_khz", "freq_limit_khz", "capacity"):
            value = getattr(core, name)
            if value is not None and value <= 0:
                wrong.append(f"cpu{core.cpu} {name} is {value}")
    usable = set(topology.usable)
    if any(core.max_freq_khz is not None for core in topology.cores if core.cpu in usable):
        ranks = {cluster.index: cluster.rank for cluster in topology.clusters}
        for cpu in slowest(topology, 99):
            core_found = topology.core(cpu)
            if core_found is not None and core_found.max_freq_khz is None and ranks[core_found.cluster] is None:
                wrong.append(f"cpu{cpu} has no speed and is called slow")
    found = widths(topology)
    if found.decode < 1 or found.prefill < found.decode:
        wrong.append(f"widths {found.decode} and {found.prefill}")
    return wrong


def _battery(facts: Facts) -> list[str]:
    battery = facts.battery
    wrong = []
    if battery.voltage_mv is not None and battery.voltage_mv <= 0:
        wrong.append(f"voltage {battery.voltage_mv}")
    if battery.level_pct is not None and not 0 <= battery.level_pct <= 100:
        wrong.append(f"charged to {battery.level_pct} %")
    if battery.charge_counter_uah == 0:
        wrong.append("charge counter 0")
    if battery.temperature_c is not None and not -20 <= battery.temperature_c <= 80:
        wrong.append(f"battery at {battery.temperature_c}")
    if battery.current_raw is None and battery.current_ua is not None and battery.sources.get("current_raw") is None:
        wrong.append("a current out of nothing")
    return wrong


def check_facts(facts: Facts, *, unreadable: bool = False) -> list[str]:
    """Everything wrong with facts, in words; empty when nothing is. `unreadable`: no read succeeded at all."""
    wrong = [*_topology(facts), *_battery(facts)]
    for sensor in facts.thermal.sensors:
        if (sensor.celsius is not None) is not (sensor.state is SensorState.OK):
            wrong.append(f"{sensor.name} is {sensor.state.value} at {sensor.celsius}")
        if sensor.celsius is not None:
            low, high = windows_c()[sensor.domain]
            if not low <= sensor.celsius <= high:
                wrong.append(f"{sensor.name} at {sensor.celsius}")
    if facts.memory.total_kb == 0:
        wrong.append("no memory at all")
    for variants in (ANDROID, LINUX):
        verdicts, predicted = judge(facts.isa, variants)
        if predicted is not None and predicted not in {v.name for v in verdicts if v.eligible}:
            wrong.append(f"predicted {predicted}")
    if unreadable:
        empty = (facts.topology.cores, facts.battery.level_pct, facts.battery.current_raw, facts.memory.available_kb)
        if any(value not in ((), None) for value in empty):
            wrong.append("a value although nothing was readable")
    return wrong
