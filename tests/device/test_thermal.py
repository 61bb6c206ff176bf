"""Heat by domain from live readings only, and throttling by the clock where the status is silent."""

from __future__ import annotations

import csv
import json
from typing import Any

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.thermal import Domain, SensorState
from entity_tui.device.thermal_read import read_thermal
from entity_tui.device.thermal_service import parse_thermal_service
from entity_tui.device.thermal_zones import read_zones, zone_scale, zone_sensor
from entity_tui.device.throttle import ThrottleSign, caps, judge_drop, silent_throttle
from tests.fixtures.tools import SHARED, need_shared
from tests.phones.dataset import CPU, snapshot_of

FOLDER = SHARED / "seed_data" / "littletai" / "thermal"


def cases() -> list[dict[str, Any]]:
    """LITTLETai's dumps with the expected reading."""
    path = FOLDER / "expected.json"
    return json.loads(path.read_text(encoding="utf-8"))["cases"] if path.is_file() else []


def hottest_mc(snapshot: Snapshot) -> int | None:
    """LITTLETai's gate reading: the hottest of CPU, GPU and skin, zones before the service, in milli-degrees."""
    facts = read_thermal(snapshot)
    zones = [s for s in facts.sensors if s.index is not None and s.celsius is not None]
    service = [
        s
        for s in facts.sensors
        if s.index is None and s.celsius is not None and s.domain in (Domain.CPU, Domain.GPU, Domain.SKIN)
    ]
    best = max((s.celsius or 0.0 for s in zones or service), default=None)
    return None if best is None else round(best * 1000)


UNLIKE_UPSTREAM = {
    "sysfs_mixed_units": (40000, "415 without a type is of no known unit; nothing is told apart by its size alone"),
}


@pytest.mark.parametrize("name", [case["id"] for case in cases()] or ["absent"])
def test_littletai_dump(name: str) -> None:
    need_shared("seed_data", "littletai", "thermal", "expected.json")
    case = next(row for row in cases() if row["id"] == name)
    files = {}
    for index, raw in enumerate(case["sysfs_zones"]):
        path = f"/sys/class/thermal/thermal_zone{index}/temp"
        files[path] = Reading(path, Outcome.OK, f"{raw}\n")
    dump = (FOLDER / case["dump"]).read_text(encoding="utf-8")
    command = "dumpsys thermalservice"
    snapshot = Snapshot(files=files, commands={command: Reading(command, Outcome.OK, dump)})
    expected = UNLIKE_UPSTREAM[name][0] if name in UNLIKE_UPSTREAM else case["expected_mC"]
    assert hottest_mc(snapshot) == expected, case["why"]


def test_the_status_is_kept_beside_a_cool_reading() -> None:
    dump = need_shared("seed_data", "littletai", "thermal", "throttling_status.txt").read_text(encoding="utf-8")
    assert (parse_thermal_service(dump).status or 0) >= 3


def test_a_status_overridden_by_hand_is_suspect() -> None:
    text = "IsStatusOverride: true\nThermal Status: 0\nHAL Ready: true\nCurrent temperatures from HAL:\n"
    facts = read_thermal(Snapshot(commands={"dumpsys thermalservice": Reading("", Outcome.OK, text)}))
    assert facts.status_overridden
    assert facts.service_outcome == "suspect"


@pytest.mark.parametrize("outcome", [Outcome.DENIED, Outcome.TIMEOUT, Outcome.TRANSIENT, Outcome.ABSENT])
def test_every_way_of_not_reading_the_service_stays_apart(outcome: Outcome) -> None:
    facts = read_thermal(Snapshot(commands={"dumpsys thermalservice": Reading("", outcome, detail="no")}))
    assert facts.service_outcome == outcome.value
    assert facts.status is None
    assert facts.status_name == "unknown"


def test_cached_values_alone_are_stale_and_no_temperature() -> None:
    text = "Thermal Status: 0\nCached temperatures:\n\tTemperature{mValue=84.2, mType=0, mName=CPU, mStatus=0}\n"
    facts = read_thermal(
        Snapshot(commands={"dumpsys thermalservice": Reading("", Outcome.OK, text + "HAL Ready: true\n")})
    )
    assert [(s.name, s.state, s.celsius, s.raw) for s in facts.sensors] == [("CPU", SensorState.STALE, None, "84.2")]
    assert facts.hottest(Domain.CPU) is None


def test_a_name_with_a_line_end_in_it_is_one_sensor() -> None:
    entry = "Temperature{mValue=30.8, mType=3, mName=test temperature\n sensor, mStatus=0}"
    text = f"Current temperatures from HAL:\n\t{entry}\nCurrent cooling devices from HAL:\n"
    (sensor,) = parse_thermal_service(text).live
    assert sensor.name == "test temperature sensor"
    assert sensor.celsius == 30.8


def test_a_power_amplifier_filed_under_cpu_is_a_board_sensor() -> None:
    text = "Current temperatures from HAL:\n\tTemperature{mValue=60.0, mType=0, mName=PATHM, mStatus=0}\n"
    (sensor,) = parse_thermal_service(text).live
    assert sensor.domain is Domain.BOARD


def test_a_cpu_value_beyond_reason_is_refused_not_divided() -> None:
    text = "Current temperatures from HAL:\n\tTemperature{mValue=57900.0, mType=0, mName=CPU, mStatus=0}\n"
    (sensor,) = parse_thermal_service(text).live
    assert (sensor.state, sensor.celsius) == (SensorState.IMPLAUSIBLE, None)


def test_a_zones_unit_is_fixed_at_discovery() -> None:
    assert zone_scale("tsens_tz_sensor3", [41, 42, 41]) == 1.0
    assert zone_scale("battery", [31000, 31100]) == 0.001
    assert zone_scale("battery", [310]) is None
    assert zone_scale("cpu-0-0-usr", [41, 42000]) is None
    fixed = zone_sensor(3, "cpu-0-0-usr", Reading("", Outcome.OK, "999"), scale=0.001)
    assert fixed.celsius == pytest.approx(0.999)


def test_zones_are_known_by_type_and_index() -> None:
    root = "/sys/class/thermal/thermal_zone"
    files = {
        f"{root}10/type": Reading("", Outcome.OK, "battery\n"),
        f"{root}10/temp": Reading("", Outcome.OK, "30100\n"),
        f"{root}2/type": Reading("", Outcome.OK, "cpu-0-0-usr\n"),
        f"{root}2/temp": Reading("", Outcome.DENIED, detail="Permission denied"),
        f"{root}3/type": Reading("", Outcome.OK, "cpu-0-0-step\n"),
        f"{root}3/temp": Reading("", Outcome.OK, "41000\n"),
    }
    sensors = read_zones(Snapshot(files=files), {("battery", 10): 0.001})
    assert [(s.index, s.name, s.state) for s in sensors] == [
        (2, "cpu-0-0-usr", SensorState.DENIED),
        (10, "battery", SensorState.OK),
    ]


def test_domains_are_never_mixed_into_one_maximum() -> None:
    root = "/sys/class/thermal/thermal_zone"
    files = {}
    for index, (kind, raw) in enumerate((("cpu-0-0", "104200"), ("battery", "33300"), ("skin-therm", "39700"))):
        files[f"{root}{index}/type"] = Reading("", Outcome.OK, kind)
        files[f"{root}{index}/temp"] = Reading("", Outcome.OK, raw)
    facts = read_thermal(Snapshot(files=files))
    hottest = {d: s.celsius for d in Domain if (s := facts.hottest(d)) is not None}
    assert hottest == {
        Domain.CPU: pytest.approx(104.2),
        Domain.BATTERY: pytest.approx(33.3),
        Domain.SKIN: pytest.approx(39.7),
    }


def silent() -> tuple[list[int], list[list[int]]]:
    """(elapsed ms, clocks in kHz of each performance core) of the published silent throttle."""
    path = need_shared("seed_data", "entity", "bench_exports", "silent_throttle_0715b_threads_pass3.csv")
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
    names = [name for name in rows[0] if name.startswith("cpu") and name.endswith("_mhz")]
    return [int(row["elapsed_ms"]) for row in rows], [[int(row[name]) * 1000 for row in rows] for name in names]


def test_the_published_silent_throttle_is_found_by_the_clock() -> None:
    elapsed, cores = silent()
    fastest = [max(column) for column in zip(*cores, strict=True)]
    verdict = judge_drop("PERF", fastest, reference_khz=2_500_000)
    assert verdict.sign is ThrottleSign.DROPPED
    assert verdict.share is not None
    assert verdict.share < 0.5
    assert "LIGHT" in silent_throttle(1, [verdict])
    first = next(t for t, clock in zip(elapsed, fastest, strict=True) if clock < 2_500_000)
    assert first == 12197
    calm = [clock for t, clock in zip(elapsed, fastest, strict=True) if t < first]
    assert judge_drop("PERF", calm, reference_khz=2_500_000).sign is ThrottleSign.NONE


def test_a_clamp_that_holds_throughout_is_seen_against_the_hardware_only() -> None:
    clamped = [850_000] * 20
    assert judge_drop("LITTLE", clamped, reference_khz=2_000_000).sign is ThrottleSign.DROPPED
    blind = judge_drop("LITTLE", clamped)
    assert blind.sign is ThrottleSign.NONE
    assert "own highest" in blind.detail


def test_idle_cores_may_clock_down() -> None:
    clocks = [2_000_000, 500_000, 500_000, 500_000, 2_000_000, 2_000_000]
    loaded = [True, False, False, False, True, True]
    assert judge_drop("PERF", clocks, reference_khz=2_000_000, loaded=loaded).sign is ThrottleSign.NONE
    assert judge_drop("PERF", [None, None], reference_khz=2_000_000).sign is ThrottleSign.UNKNOWN


def test_caps_are_told_per_cluster() -> None:
    files = {f"{CPU}/present": "0-3\n", f"{CPU}/online": "0-3\n"}
    for cpu, (top, limit) in enumerate(((1_800_000, 1_800_000),) * 2 + ((2_900_000, 1_824_000),) * 2):
        files[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = f"{top}\n"
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_max_freq"] = f"{limit}\n"
    verdicts = caps(read_facts(snapshot_of(files)).topology)
    assert [(v.name, v.sign) for v in verdicts] == [("PERF", ThrottleSign.CAPPED), ("LITTLE", ThrottleSign.NONE)]
    assert silent_throttle(0, verdicts).startswith("thermal status NONE, yet PERF is limited")
    assert silent_throttle(3, verdicts) == ""


def test_a_computers_hwmon_sensors_are_read_with_their_labels() -> None:
    root = "/sys/class/hwmon/hwmon2"
    files = {
        f"{root}/name": Reading("", Outcome.OK, "k10temp\n"),
        f"{root}/temp1_input": Reading("", Outcome.OK, "51250\n"),
        f"{root}/temp1_label": Reading("", Outcome.OK, "Tctl\n"),
        f"{root}/temp2_input": Reading("", Outcome.TRANSIENT, detail="Resource temporarily unavailable"),
    }
    first, second = read_thermal(Snapshot(files=files)).sensors
    assert (first.name, first.domain, first.celsius) == ("k10temp Tctl", Domain.CPU, 51.25)
    assert (second.name, second.state) == ("k10temp temp2", SensorState.TRANSIENT)
