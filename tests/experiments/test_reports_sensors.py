"""Public reports about heat and gauges, recreated: what cannot be read is never a number, and never a pass."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.device.battery import CurrentUnit
from entity_tui.device.facts import read_facts
from entity_tui.device.power_units import assume_unit, voltage_mv, watts
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.experiments.plan import Gate
from entity_tui.experiments.render import BATTERY, gate_limit_c, gate_sensors
from entity_tui.records.schema import Metric
from tests.experiments.live_bed import Bench
from tests.experiments.paper_engine import arms


def sensor(tmp_path: Path, milli_celsius: str) -> str:
    """A zone of the test's own, for the gate to watch."""
    path = tmp_path / "zone"
    path.write_text(f"{milli_celsius}\n")
    return str(path)


HOT_GATE = {"minimum_s": 0.0, "limit_s": 1.0, "sensorless_dwell_s": 0.0}


async def test_mobile_app_open_390_a_zone_that_never_cools_times_the_gate_out(paper: Bench, tmp_path: Path) -> None:
    gate = {**HOT_GATE, "sensor": sensor(tmp_path, "41500"), "run_on_timeout": False}
    result = await paper.run(paper.own(arms(one="MODE=ok").split("gate:")[0], gate=gate))
    (row,) = [row for row in result.rows if row.role == "measure"]
    assert (row.state, row.value, row.usability) == ("gate_timeout", None, "void")
    assert (row.gate_state, row.temp_start_c) == ("gate_timeout", 41.5)
    assert any("did not reach the state the gate asks for" in line.text for line in result.view.log)


async def test_a_gate_that_timed_out_is_run_all_the_same_where_the_plan_says_so(paper: Bench, tmp_path: Path) -> None:
    gate = {**HOT_GATE, "sensor": sensor(tmp_path, "41500")}
    result = await paper.run(paper.own(arms(one="MODE=ok").split("gate:")[0], gate=gate))
    found = [row for row in result.rows if row.role == "measure" and row.metric == Metric.DECODE_TOK_S]
    assert [(row.usability, row.gate_state) for row in found] == [("tainted", "gate_timeout")]


async def test_executorch_727_an_unreadable_temperature_waits_one_fixed_dwell(paper: Bench, tmp_path: Path) -> None:
    gate = {"minimum_s": 0.0, "limit_s": 5.0, "sensorless_dwell_s": 0.5, "sensor": str(tmp_path / "nothing")}
    result = await paper.run(paper.own(arms(one="MODE=ok").split("gate:")[0], gate=gate))
    found = [row for row in result.rows if row.role == "measure" and row.metric == Metric.DECODE_TOK_S]
    assert [(row.gate_state, row.usability) for row in found] == [("gate_unavailable", "tainted")]
    assert 0.5 <= (found[0].gate_wait_s or 0) < 5
    assert found[0].temp_start_c is None


async def test_an_unreadable_temperature_is_not_run_where_the_plan_allows_no_blind_cell(
    paper: Bench, tmp_path: Path
) -> None:
    gate = {"minimum_s": 0.0, "limit_s": 1.0, "sensorless_dwell_s": None, "sensor": str(tmp_path / "nothing")}
    result = await paper.run(paper.own(arms(one="MODE=ok").split("gate:")[0], gate=gate))
    (row,) = [row for row in result.rows if row.role == "measure"]
    assert (row.state, row.value, row.usability) == ("gate_unavailable", None, "void")
    assert "sensorless_dwell_s" in (row.state_detail or "")


async def test_a_battery_at_its_safety_temperature_stops_the_run(paper: Bench, tmp_path: Path) -> None:
    gate = {**HOT_GATE, "sensor": sensor(tmp_path, "46000")}
    result = await paper.run(paper.own(arms(one="MODE=ok").split("gate:")[0], gate=gate))
    assert result.outcome == "safety_stop"
    assert {row.state for row in result.rows} == {"safety_stop"}


@pytest.mark.parametrize(
    ("raw", "unit"), [(350, CurrentUnit.MA), (350_000, CurrentUnit.UA), (-350_000, CurrentUnit.UA)]
)
def test_home_assistant_2846_one_load_in_three_spellings_is_one_power(raw: int, unit: CurrentUnit) -> None:
    millivolts, _ = voltage_mv(4_000_000)
    assert millivolts == 4000
    found = assume_unit(raw, millivolts)
    assert found.unit is unit
    assert found.standing.value == "assumed"
    assert watts(raw, found.unit, millivolts) == pytest.approx(1.4)


def test_framex_19_a_denied_sensor_is_not_an_absent_one_and_the_battery_takes_over() -> None:
    source = f"{BATTERY}/temp"
    service = "Current Battery Service state:\n  level: 80\n  temperature: 312\n  voltage: 4000\n"
    snapshot = Snapshot(
        files={source: Reading(source, Outcome.DENIED, detail="Permission denied")},
        commands={"dumpsys battery": Reading("dumpsys battery", Outcome.OK, service)},
    )
    assert [item.source for item in gate_sensors(Gate(), snapshot)] == [source, "dumpsys battery"]
    facts = read_facts(snapshot)
    assert facts.battery.temperature_c == pytest.approx(31.2)
    assert "dumpsys battery" in " ".join(facts.battery.sources.values())
    absent = Snapshot(commands=snapshot.commands)
    assert [item.source for item in gate_sensors(Gate(), absent)] == ["dumpsys battery"]


@pytest.mark.parametrize(("start", "limit"), [(30.0, 37.5), (37.0, 37.5), (38.2, 38.7), (None, 37.5)])
def test_the_gates_limit_is_the_start_plus_a_margin_with_a_floor(start: float | None, limit: float) -> None:
    assert gate_limit_c(Gate(), start) == pytest.approx(limit)
