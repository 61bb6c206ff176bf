"""The gate and the guards before a cell: four outcomes, one sensor named, no number from a hot or full phone."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.experiments.flatplan import ClockCap, FileCheck, GatePlan, GateSensor, OnTimeout
from entity_tui.records.journal import Event, EventKind, GateEvent, GateOutcome, parse_journal
from tests.agent.runs import Bench, Ran, cell, plan, sh
from tests.agent.toolsets import put_files, put_program
from tests.fixtures.tools import until

TEMP = "/sys/class/power_supply/battery/temp"
GATE = GatePlan(limit_c=37.5, sensors=(GateSensor(TEMP, 10),), minimum_s=0, timeout_s=0.6, poll_s=0.1)
THERMAL = """IsStatusOverride: false
Thermal Status: {status}
Cached temperatures:
	Temperature{{mValue=99.9, mType=3, mName=skin, mStatus=0}}
HAL Ready: true
Current temperatures from HAL:
	Temperature{{mValue=71.2, mType=0, mName=CPU0, mStatus=0}}
	Temperature{{mValue={skin}, mType=3, mName=skin, mStatus=0}}
Current cooling devices from HAL:
"""


def gates(ran: Ran) -> list[GateEvent]:
    """Every gate of a run."""
    return [event for event in ran.events if isinstance(event, GateEvent)]


@pytest.fixture
def device(tmp_path: Path) -> Callable[..., dict[str, str]]:
    """Lays out a device with a battery temperature and stand-ins, and gives the environment that shows it."""

    def lay(files: dict[str, str] | None = None, **programs: str) -> dict[str, str]:
        put_files(tmp_path / "device", files or {})
        for name, text in programs.items():
            put_program(tmp_path / "bin", name, text)
        return {"ENTITY_PREFIX": str(tmp_path / "device"), **({"bin": str(tmp_path / "bin")} if programs else {})}

    return lay


def test_a_cool_phone_passes_and_the_reading_that_passed_is_kept(
    bench: Bench, device: Callable[..., dict[str, str]]
) -> None:
    ran = bench.run(plan(cell(1), gate=replace(GATE, minimum_s=0.3)), **device({TEMP: "309\n"}))
    (gate,) = gates(ran)
    assert (gate.outcome, gate.temp_c, gate.temp_source) == (GateOutcome.PASSED, 30.9, TEMP)
    assert 0.3 <= gate.wait_s < 2.0
    assert ran.cells[0].gate == gate
    assert ran.states == ["ok"]


def test_a_hot_phone_times_out_and_gives_no_number(bench: Bench, device: Callable[..., dict[str, str]]) -> None:
    late = replace(GATE, on_timeout=OnTimeout.RUN)
    ran = bench.run(plan(cell(1), cell(2, gate=late), gate=GATE), **device({TEMP: "376\n"}))
    assert [(gate.outcome, gate.ran, gate.temp_c) for gate in gates(ran)] == [
        (GateOutcome.TIMEOUT, False, 37.6),
        (GateOutcome.TIMEOUT, True, 37.6),
    ]
    assert ran.states == ["gate_timeout", "ok"]
    assert [event.tainted for event in ran.cells] == [False, True]
    assert ran.cells[0].launches == ()


async def test_the_gate_opens_as_soon_as_the_phone_has_cooled(
    bench: Bench, device: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    env = device({TEMP: "390\n"})
    what = plan(cell(1), gate=replace(GATE, timeout_s=20), heartbeat_s=0.1)
    process = bench.start(what, **env)
    await until(lambda: any(event.fields.get("blocked") == "temp" for event in bench.read(what).events))
    put_files(tmp_path / "device", {TEMP: "371\n"})
    await asyncio.to_thread(process.communicate, timeout=20)
    ran = bench.read(what)
    assert (gates(ran)[0].outcome, gates(ran)[0].temp_c) == (GateOutcome.PASSED, 37.1)


def test_one_missed_reading_does_not_make_a_sensor_unavailable(
    phone_bench: Bench, device: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    count = tmp_path / "count"
    flaky = f'echo x >>{count}; [ $(wc -l <{count}) -le 2 ] && exit 1; printf "  level: 80\\n  temperature: 311\\n"'
    gate = replace(GATE, sensors=(GateSensor("dumpsys battery", 10),), throttle_status=False)
    ran = phone_bench.run(plan(cell(1), gate=gate), **device(dumpsys=flaky))
    assert (gates(ran)[0].outcome, gates(ran)[0].temp_c) == (GateOutcome.PASSED, 31.1)


@pytest.mark.parametrize("junk", ["0", "-273000", "-400", "", "N/A", "99999999999", "1250", "3.1.2"])
def test_a_sentinel_is_no_temperature(phone_bench: Bench, device: Callable[..., dict[str, str]], junk: str) -> None:
    ran = phone_bench.run(plan(cell(1), gate=GATE), **device({TEMP: junk + "\n"}))
    assert gates(ran)[0].outcome is GateOutcome.UNAVAILABLE
    assert gates(ran)[0].temp_c is None


def test_the_next_sensor_is_taken_when_the_first_is_denied(bench: Bench, device: Callable[..., dict[str, str]]) -> None:
    sensors = (GateSensor(TEMP, 10), GateSensor("dumpsys battery", 10))
    answer = "Current Battery Service state:\n  level: 80\n  voltage: 4100\n  temperature: 311\n"
    ran = bench.run(plan(cell(1), gate=replace(GATE, sensors=sensors)), **device(dumpsys=f"cat <<'E'\n{answer}E"))
    assert (gates(ran)[0].temp_c, gates(ran)[0].temp_source) == (31.1, "dumpsys battery")


def test_a_frozen_battery_service_is_not_believed(phone_bench: Bench, device: Callable[..., dict[str, str]]) -> None:
    answer = "Current Battery Service state:\n  (UPDATES STOPPED -- use 'reset' to restart)\n  temperature: 250\n"
    gate = replace(GATE, sensors=(GateSensor("dumpsys battery", 10),))
    ran = phone_bench.run(plan(cell(1), gate=gate), **device(dumpsys=f"cat <<'E'\n{answer}E"))
    assert gates(ran)[0].outcome is GateOutcome.UNAVAILABLE


def test_only_the_live_block_of_the_thermal_service_counts(bench: Bench, device: Callable[..., dict[str, str]]) -> None:
    gate = replace(GATE, sensors=(GateSensor("dumpsys thermalservice skin", 1),))
    env = device(dumpsys=f"cat <<'E'\n{THERMAL.format(status=0, skin='36.55')}E")
    ran = bench.run(plan(cell(1), gate=gate), **env)
    assert (gates(ran)[0].outcome, gates(ran)[0].temp_c, gates(ran)[0].throttle_status) == (
        GateOutcome.PASSED,
        36.55,
        0,
    )


def test_throttling_and_capped_clocks_keep_the_gate_shut(
    phone_bench: Bench, device: Callable[..., dict[str, str]]
) -> None:
    cap = "/sys/devices/system/cpu/cpufreq/policy4/scaling_max_freq"
    env = device({TEMP: "300\n", cap: "1800000\n"}, dumpsys=f"cat <<'E'\n{THERMAL.format(status=1, skin='30.0')}E")
    gate = replace(GATE, caps=(ClockCap(cap, 2_500_000),))
    ran = phone_bench.run(plan(cell(1), gate=gate), **env)
    assert gates(ran)[0].outcome is GateOutcome.TIMEOUT
    assert gates(ran)[0].fields["blocked"] == "status,clock"


async def test_a_battery_that_gets_too_hot_stops_the_workload(
    phone_bench: Bench, device: Callable[..., dict[str, str]], tmp_path: Path
) -> None:
    env = device({TEMP: "300\n"})
    what = plan(cell(1, sh("sleep 30"), sh("echo never")), gate=GATE, safety_temp_c=45.0)
    process = phone_bench.start(what, **env)
    await until(lambda: (phone_bench.root / "lock/workload").exists())
    put_files(tmp_path / "device", {TEMP: "451\n"})
    await asyncio.to_thread(process.communicate, timeout=20)
    ran = phone_bench.read(what)
    assert ran.states == ["safety_stop"]
    assert len(ran.cells[0].launches) == 1
    assert ran.cells[0].launches[0].temp_max_c == 45.1


def test_a_low_battery_or_a_full_disk_ends_the_run_before_the_cell(
    bench: Bench, device: Callable[..., dict[str, str]]
) -> None:
    env = device({"/sys/class/power_supply/battery/capacity": "14\n"})
    ran = bench.run(plan(cell(1), battery_min_pct=15), **env)
    assert (ran.states, ran.last().kind) == ([], EventKind.STOP)
    assert (ran.last().fields["reason"], ran.last().detail) == ("low_battery", "14 percent, at least 15 are needed")
    ran = bench.run(plan(cell(1), session="s2", free_min_mb=900_000_000), **env)
    assert ran.last().fields["reason"] == "storage_full"
    assert bench.run(plan(cell(1), session="s3", free_min_mb=1, battery_min_pct=14), **env).states == ["ok"]


def test_a_plan_of_another_boot_or_another_model_file_is_refused(bench: Bench, tmp_path: Path) -> None:
    ran = bench.run(replace(plan(cell(1)), boot_id="another-boot"))
    assert (ran.last().kind, ran.last().fields["reason"]) == (EventKind.REFUSED, "boot_mismatch")
    model = tmp_path / "model.gguf"
    model.write_bytes(b"right size")
    ok = FileCheck(str(model), 10, "")
    cases = {
        "s2": FileCheck(str(model), 11, ""),
        "s3": FileCheck(str(model), 10, "0" * 64),
        "s4": FileCheck("/no/model", 1),
    }
    for session, check in cases.items():
        ran = bench.run(plan(cell(1), session=session, files=(ok, check)))
        assert (ran.last().kind, ran.last().fields["reason"]) == (EventKind.REFUSED, "model_hash_mismatch")
        assert ran.states == []
    assert not (bench.root / "lock").exists()


def test_a_lost_block_gets_a_spare_one_and_no_more_than_it_lost(
    bench: Bench, device: Callable[..., dict[str, str]]
) -> None:
    offline = sh("echo", threads=1, mask="2")
    env = device({"/sys/devices/system/cpu/online": "0\n"})
    cells = [
        cell(1, block=1, position=1),
        cell(2, offline, block=1, position=2),
        cell(3, block=2, position=1),
        *[
            cell(number, block=block, position=place, reserve=True)
            for number, block, place in [(4, 3, 1), (5, 3, 2), (6, 4, 1), (7, 4, 2)]
        ],
    ]
    ran = bench.run(plan(*cells), **env)
    assert [event.cell for event in ran.cells] == [1, 2, 3, 4, 5]
    assert ran.states == ["ok", "core_offline", "ok", "ok", "ok"]
    assert [event.fields["block"] for event in ran.events if event.kind is EventKind.RESERVE] == ["3"]
    owed = bench.run(plan(*[item for item in cells if item.reserve], session="s2", owed_blocks=1), **env)
    assert [event.cell for event in owed.cells] == [4, 5]


def test_a_damaged_plan_is_refused_with_its_line(bench: Bench) -> None:
    what = plan(cell(1))
    directory = bench.directory(what)
    whole = (directory / "plan.flat").read_text()
    import subprocess

    for text in (
        whole.replace("entity-plan 1", "entity-plan 9"),
        whole.replace("go\nend\n", ""),
        whole.replace("period_cs", "perod"),
    ):
        (directory / "plan.flat").write_text(text)
        (directory / "journal").unlink(missing_ok=True)
        done = subprocess.run(
            bench.argv(directory), env=bench.toolset.environment(), timeout=20, stdin=subprocess.DEVNULL
        )
        ran = Ran(done.returncode, directory, bench_events(directory), "", "")
        assert (ran.last().kind, ran.last().fields["reason"]) == (EventKind.REFUSED, "plan")
        assert ran.states == []
        assert not (bench.root / "lock").exists()


def bench_events(directory: Path) -> tuple[Event, ...]:
    """Events of a journal, the plan left as it is."""
    return parse_journal((directory / "journal").read_bytes())
