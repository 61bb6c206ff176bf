"""A tick of the sampler becomes numbers only where the device's own evidence allows it."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.battery import Battery, CurrentUnit
from entity_tui.device.facts import Facts
from entity_tui.device.live import PLAUSIBLE_W, Interpreter
from entity_tui.device.sample import Sample
from entity_tui.device.snapshot import Outcome, Reading
from entity_tui.device.thermal import Domain, Sensor, SensorState, Thermal
from entity_tui.device.topology import Core, Topology

MICRO = Facts(battery=Battery(current_unit=CurrentUnit.UA, outcome="ok"))
TICK = Sample(sequence=1, t_boot_s=5.0, current_raw=-900_000, voltage_raw=4_000_000, plugged=False)


def test_discharging_gives_watts() -> None:
    live = Interpreter(MICRO).read(TICK)
    assert live.values["power_w"] == pytest.approx(3.6)
    assert live.power_note == ""


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"plugged": True}, "chg"),
        ({"battery_status": "Charging"}, "chg"),
        ({"battery_status": "Full"}, "chg"),
        ({"current_raw": None}, "absent"),
        ({"voltage_raw": None}, "absent"),
        ({"voltage_raw": 4}, "voltage?"),
        ({"current_raw": 90_000_000}, "?W"),
        ({"current_raw": 0}, "?W"),
    ],
)
def test_power_is_hidden_with_its_reason(change: dict[str, object], note: str) -> None:
    live = Interpreter(MICRO).read(replace(TICK, **change))
    assert live.values["power_w"] is None
    assert live.power_note == note


def test_a_milliampere_phone_is_scaled_once() -> None:
    facts = Facts(battery=Battery(current_unit=CurrentUnit.MA, outcome="ok"))
    live = Interpreter(facts).read(replace(TICK, current_raw=900, voltage_raw=4_000))
    assert live.values["power_w"] == pytest.approx(3.6)


def test_a_frozen_battery_service_gives_no_power() -> None:
    facts = Facts(battery=replace(MICRO.battery, frozen=True))
    assert Interpreter(facts).read(TICK).power_note == "frozen"


def test_an_unknown_unit_gives_no_power() -> None:
    assert Interpreter(Facts(battery=Battery(outcome="ok"))).read(TICK).power_note == "unit?"


def test_clocks_are_spread_from_policies_to_cores() -> None:
    topology = Topology(cores=(Core(0, policy=0), Core(1, policy=0), Core(4)))
    sample = replace(TICK, freq_khz={"policy0": 1_800_000, "cpu4": 2_500_000}, max_freq_khz={"policy0": None})
    values = Interpreter(Facts(topology=topology)).read(sample).values
    assert (values["mhz.0"], values["mhz.1"], values["mhz.4"]) == (1800.0, 1800.0, 2500.0)
    assert values["cap_mhz.0"] is None


def test_a_zone_keeps_the_unit_it_was_discovered_with() -> None:
    zones = (
        Sensor("cpu-big", Domain.CPU, 40.0, SensorState.OK, index=3, scale=0.001),
        Sensor("old-tsens", Domain.GPU, 41.0, SensorState.OK, index=4, scale=1.0),
        Sensor("soc", Domain.OTHER, None, SensorState.NOT_TEMPERATURE, index=5, scale=1.0),
    )
    interpreter = Interpreter(Facts(thermal=Thermal(sensors=zones)))
    raw = {"thermal_zone3": 58_300, "thermal_zone4": 44, "thermal_zone5": 82, "thermal_zone9": 1}
    live = interpreter.read(replace(TICK, zone_raw=raw))
    assert live.values["temp_c.cpu"] == pytest.approx(58.3)
    assert live.values["temp_c.gpu"] == 44.0
    assert "temp_c.other" not in live.values
    assert live.hottest == {"cpu": "cpu-big", "gpu": "old-tsens"}


@pytest.mark.parametrize(
    ("domain", "raw", "shown"),
    [(Domain.BOARD, 95_000, 95.0), (Domain.SKIN, 95_000, None), (Domain.BATTERY, 71_000, None)],
)
def test_a_live_zone_has_the_window_of_its_domain(domain: Domain, raw: int, shown: float | None) -> None:
    """The live reader once had a table of its own that refused a hot board."""
    zone = Sensor("it", domain, 40.0, SensorState.OK, index=3, scale=0.001)
    live = Interpreter(Facts(thermal=Thermal(sensors=(zone,)))).read(replace(TICK, zone_raw={"thermal_zone3": raw}))
    assert live.values.get(f"temp_c.{domain.value}") == shown


@pytest.mark.parametrize("raw", [0, -274_000, 126_000, None])
def test_a_sentinel_is_no_temperature(raw: int | None) -> None:
    zone = Sensor("cpu-big", Domain.CPU, 40.0, SensorState.OK, index=3, scale=0.001)
    live = Interpreter(Facts(thermal=Thermal(sensors=(zone,)))).read(replace(TICK, zone_raw={"thermal_zone3": raw}))
    assert "temp_c.cpu" not in live.values


def test_a_denied_dump_is_no_status() -> None:
    denied = Reading("dumpsys thermalservice", Outcome.DENIED, detail="Permission Denial")
    live = Interpreter(MICRO).read(replace(TICK, commands={"dumpsys thermalservice": denied}))
    assert live.thermal_status is None


@given(st.none() | st.integers(), st.none() | st.integers(), st.sampled_from(CurrentUnit), st.none() | st.booleans())
def test_watts_are_plausible_or_absent(
    current: int | None, voltage: int | None, unit: CurrentUnit, plugged: bool | None
) -> None:
    facts = Facts(battery=Battery(current_unit=unit, outcome="ok"))
    live = Interpreter(facts).read(replace(TICK, current_raw=current, voltage_raw=voltage, plugged=plugged))
    watts = live.values["power_w"]
    assert (watts is None) == bool(live.power_note)
    assert watts is None or PLAUSIBLE_W[0] <= watts <= PLAUSIBLE_W[1]
