"""Unit and sign of a gauge: decided from evidence, told with their standing; the seed's rule reproduced by name."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.battery import CurrentUnit, Standing
from entity_tui.device.battery_read import read_battery
from entity_tui.device.gauge import refresh
from entity_tui.device.power_units import (
    INT_MIN,
    GaugeSample,
    UnitVerdict,
    assume_unit,
    counter_unit,
    entity_voltage_mv,
    entity_watts,
    resolve_sign,
    resolve_unit,
    to_ua,
    voltage_mv,
)
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from tests.fixtures.tools import need_shared


def test_entitys_voltage_boundaries() -> None:
    raws = (-1, 0, 4, 99, 100, 3900, 100_000, 100_001, 3_900_000)
    assert [entity_voltage_mv(raw) for raw in raws] == [0, 0, 4000, 99_000, 100, 3900, 100_000, 100, 3900]


def test_entitys_power_takes_microamps_first() -> None:
    assert entity_watts(500_000, 4000) == 2.0  # µA
    assert entity_watts(-500_000, 4000) == 2.0  # the sign is dropped
    assert entity_watts(500, 4000) == 2.0  # mA: as µA it would be 0.002 W
    assert entity_watts(0, 4000) == 0.0
    assert entity_watts(500_000, 0) == 0.0
    assert entity_watts(12_500, 4000) == 0.05  # both ends are inside
    assert entity_watts(3_750_000, 4000) == 15.0
    assert entity_watts(10_000_000, 4000) == 40.0  # outside both windows it stays µA, however absurd
    assert entity_watts(500, 4) == 2.0  # whole volts


def test_ours_reads_volts_by_windows_and_refuses_what_is_none() -> None:
    assert voltage_mv(4) == (4000, "whole volts")
    assert voltage_mv(13) == (13000, "whole volts")
    assert voltage_mv(3900) == (3900, "mV")
    assert voltage_mv(12600) == (12600, "mV")
    assert voltage_mv(3_900_000) == (3900, "µV")
    assert voltage_mv(0) == (None, "reads 0")
    assert voltage_mv(99) == (None, "implausible")
    assert voltage_mv(100_000) == (None, "implausible")
    assert voltage_mv(None) == (None, "absent")


def test_a_directory_that_prints_microvolts_counts_microamps() -> None:
    verdict = assume_unit(440_917, 3697, node_voltage="µV")
    assert (verdict.unit, verdict.standing) == (CurrentUnit.UA, Standing.ASSUMED)


def test_clues_that_contradict_each_other_assume_nothing() -> None:
    # 976 µA at rest looks like 976 mA; the directory prints µV.
    verdict = assume_unit(976, 4000, node_voltage="µV")
    assert (verdict.unit, verdict.standing) == (CurrentUnit.UNKNOWN, Standing.UNVERIFIED)
    assert "contradict" in verdict.evidence[-1]


def test_no_data_is_no_current() -> None:
    assert to_ua(INT_MIN, CurrentUnit.MA) is None
    assert to_ua(None, CurrentUnit.UA) is None
    assert to_ua(500, CurrentUnit.UNKNOWN) is None
    assert to_ua(500, CurrentUnit.MA) == 500_000
    assert assume_unit(INT_MIN, 4000).unit is CurrentUnit.UNKNOWN


def drain(unit: int, *, seconds: int = 900, ratio: float = 1.0) -> list[GaugeSample]:
    """A phone that draws 500 mA and counts it down in steps of 1 mAh, its gauge in `unit` raw units a mA."""
    samples, lost_uah = [], 0.0
    for t in range(0, seconds, 2):
        lost_uah += 500_000 * 2 / 3600 * ratio
        samples.append(GaugeSample(float(t), 500 * unit, 3900, 3_000_000 - int(lost_uah // 1000) * 1000, False, True))
    return samples


@pytest.mark.parametrize(("unit", "expected"), [(1, CurrentUnit.MA), (1000, CurrentUnit.UA)])
def test_the_charge_counter_verifies_a_unit(unit: int, expected: CurrentUnit) -> None:
    verdict = counter_unit(drain(unit))
    assert (verdict.unit, verdict.standing) == (expected, Standing.VERIFIED)


def test_half_the_current_of_a_two_cell_phone_verifies_nothing() -> None:
    assert counter_unit(drain(1, ratio=2.0)).standing is Standing.UNVERIFIED


def test_a_counter_that_hardly_moves_verifies_nothing() -> None:
    assert counter_unit(drain(1, seconds=20)).standing is Standing.UNVERIFIED
    assert counter_unit([]).standing is Standing.UNVERIFIED


def test_a_gap_is_not_bridged() -> None:
    samples = [s for s in drain(1) if not 100 < s.t_s < 700]
    assert counter_unit(samples).standing is Standing.UNVERIFIED


def test_the_counter_overrules_a_guess_and_says_so() -> None:
    guess = UnitVerdict(CurrentUnit.UA, Standing.ASSUMED, ("guessed",))
    verdict = resolve_unit(guess, counter_unit(drain(1)))
    assert verdict.unit is CurrentUnit.MA
    assert verdict.evidence[-1] == "the counter overrules the first guess uA"
    assert resolve_unit(guess, UnitVerdict()).standing is Standing.ASSUMED


def test_the_sign_comes_from_unplugged_load_only() -> None:
    plugged = [GaugeSample(t, 400, plugged=True, loaded=True) for t in range(20)]
    idle = [GaugeSample(t, 400, plugged=False, loaded=False) for t in range(20)]
    assert resolve_sign(plugged + idle).discharge_sign is None  # type: ignore[operator]
    loaded = [GaugeSample(t, -400, plugged=False, loaded=True) for t in range(20)]
    assert resolve_sign(loaded) == resolve_sign(loaded + plugged)
    assert (resolve_sign(loaded).discharge_sign, resolve_sign(loaded).standing) == (-1, Standing.VERIFIED)
    assert resolve_sign(loaded[:3]).standing is Standing.ASSUMED
    mixed = [GaugeSample(t, (-1) ** t * 400, plugged=False, loaded=True) for t in range(20)]
    assert resolve_sign(mixed).discharge_sign is None


def test_zero_is_a_missing_reading_for_the_sign() -> None:
    assert resolve_sign([GaugeSample(t, 0, plugged=False, loaded=True) for t in range(20)]).discharge_sign is None


def test_a_frozen_battery_service_is_said() -> None:
    text = "Current Battery Service state:\n  (UPDATES STOPPED -- use 'reset' to restart)\n"
    text += "  AC powered: false\n  level: 80\n"
    battery = read_battery(Snapshot(commands={"dumpsys battery": Reading("", Outcome.OK, text)}))
    assert battery.frozen
    assert battery.outcome == "suspect"


def test_an_old_build_that_knows_no_current_gives_none() -> None:
    line = "cmd battery get -f current_now"
    text = "Unknown get option: current_now\nBattery service (battery) commands:\n  help\n"
    assert read_battery(Snapshot(commands={line: Reading(line, Outcome.OK, text)})).current_raw is None
    assert read_battery(Snapshot(commands={line: Reading(line, Outcome.OK, "305\n")})).current_raw == 305


def test_a_laptop_of_the_energy_family_states_its_power() -> None:
    root = "/sys/class/power_supply/BAT0"
    texts = {"type": "Battery", "status": "Discharging", "power_now": "7250000", "voltage_now": "11800000"}
    files = {f"{root}/{name}": Reading("", Outcome.OK, text) for name, text in texts.items()}
    battery = read_battery(Snapshot(files=files))
    assert (battery.power_w, battery.voltage_mv, battery.current_raw) == (7.25, 11800, None)
    files[f"{root}/status"] = Reading("", Outcome.OK, "Charging")
    assert read_battery(Snapshot(files=files)).power_w is None


@pytest.mark.parametrize(
    ("text", "level", "plugged", "status"),
    [
        (
            "Now drawing from 'Battery Power'\n -InternalBattery-0 (id=1)\t82%; discharging; 5:01 remaining\n",
            82.0,
            False,
            "discharging",
        ),
        (
            "Now drawing from 'AC Power'\n -InternalBattery-0 (id=1)\t100%; charged; 0:00 remaining\n",
            100.0,
            True,
            "full",
        ),
        ("Now drawing from 'AC Power'\n", None, True, "unknown"),
    ],
)
def test_a_macs_battery(text: str, level: float | None, plugged: bool, status: str) -> None:
    battery = read_battery(Snapshot(commands={"pmset -g batt": Reading("", Outcome.OK, text)}))
    assert (battery.level_pct, battery.plugged, battery.status.value) == (level, plugged, status)


def test_charging_is_entitys_rule() -> None:
    def charging(*lines: str) -> bool | None:
        text = "Current Battery Service state:\n" + "".join(f"  {line}\n" for line in lines)
        return read_battery(Snapshot(commands={"dumpsys battery": Reading("", Outcome.OK, text)})).charging

    assert charging("AC powered: true", "status: 3") is True
    assert charging("AC powered: false", "USB powered: false", "status: 2") is True
    assert charging("AC powered: false", "status: 5") is True
    assert charging("AC powered: false", "status: 3") is False
    assert charging("AC powered: false", "status: 4") is False
    assert charging("level: 50") is None


@pytest.mark.parametrize("outcome", [Outcome.DENIED, Outcome.TIMEOUT, Outcome.TRANSIENT, Outcome.ABSENT])
def test_every_way_of_not_reading_a_battery_stays_apart(outcome: Outcome) -> None:
    battery = read_battery(Snapshot(commands={"dumpsys battery": Reading("", outcome, detail="no")}))
    assert battery.outcome == outcome.value
    assert battery.level_pct is None
    assert battery.current_ua is None


def test_the_refresh_of_a_gauge_is_the_time_between_its_changes() -> None:
    times = [float(t) for t in range(12)]
    values = [5, 5, 5, 7, 7, 7, 7, 9, 9, 9, 9, 4]
    found = refresh(times, values)
    assert (found.changes, found.interval_s, found.held_s, found.static) == (3, 4.0, 4.0, False)


def test_a_gauge_that_never_moved_is_static_and_a_missing_one_is_not() -> None:
    assert refresh([0.0, 1.0, 2.0], [3, 3, 3]).static
    assert not refresh([0.0, 1.0], [None, None]).static
    assert not refresh([0.0], [3]).static


def test_the_published_stale_spans_are_static() -> None:
    path = need_shared("seed_data", "entity", "bench_exports", "stale_gauge_spans.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    assert rows
    for row in rows:
        count = int(row["samples"])
        first, last = int(row["first_elapsed_ms"]) / 1000, int(row["last_elapsed_ms"]) / 1000
        times = [first + (last - first) * place / max(1, count - 1) for place in range(count)]
        found = refresh(times, [float(row["power_w"])] * count)
        assert found.static
        assert found.held_s == pytest.approx(last - first)


def test_the_published_traces_refresh_as_stated() -> None:
    path = need_shared("seed_data", "entity", "bench_exports", "power_trace_heads.csv")
    traces: dict[str, tuple[list[float], list[float]]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(line for line in file if not line.startswith("#")):
            times, values = traces.setdefault(row["trace"], ([], []))
            times.append(int(row["elapsed_ms"]) / 1000)
            values.append(float(row["power_w"]))
    cmf = next(series for name, series in traces.items() if name.startswith("cmf"))
    interval = refresh(*cmf).interval_s
    assert interval is not None
    assert 0.4 < interval < 0.9  # stated as about 0.62 s


@given(st.integers(-(2**40), 2**40), st.integers(-(2**40), 2**40))
def test_no_pair_of_readings_makes_a_rule_raise(current: int, voltage: int) -> None:
    assert entity_watts(current, voltage) >= 0
    millivolts, _ = voltage_mv(voltage)
    assert millivolts is None or millivolts > 0
    verdict = assume_unit(current, millivolts)
    assert verdict.standing is not Standing.VERIFIED
