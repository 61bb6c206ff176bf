"""Identity, memory and abilities of a device, and that facts never invent a number."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.board_monitor import parse_pi_throttle
from entity_tui.device.capabilities import Ability
from entity_tui.device.cpu_lists import format_cpu_list, format_mask, parse_cpu_list, parse_mask
from entity_tui.device.cpuinfo import parse_cpuinfo
from entity_tui.device.energy_rails import parse_energy_value, rail_watts
from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.midr import core_model, decode_midr
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from tests.fuzzing.inputs import snapshot_from
from tests.phones.dataset import snapshot_of


def command(**lines: str) -> Snapshot:
    """A snapshot of command outputs by keyword."""
    names = {"id": "id", "uname": "uname -a", "tools": "command -v", "vm_stat": "vm_stat", "sysctl": "sysctl hw"}
    return Snapshot(commands={names[key]: Reading(names[key], Outcome.OK, text) for key, text in lines.items()})


def test_an_empty_snapshot_has_no_facts_at_all() -> None:
    facts = read_facts(Snapshot())
    assert facts == Facts(capabilities=facts.capabilities, identity=facts.identity)
    assert {item.ability for item in facts.capabilities.items} <= {Ability.UNKNOWN, Ability.ABSENT}
    assert facts.identity.name == ""


def test_the_market_name_and_chip_of_a_phone() -> None:
    props = {
        "ro.product.manufacturer": "Nothing",
        "ro.product.model": "A015",
        "ro.product.marketname": "CMF Phone 1",
        "ro.soc.model": "MT6878",
        "ro.build.version.release": "15",
        "ro.build.version.sdk": "35",
        "ro.product.cpu.abilist": "arm64-v8a,armeabi-v7a",
    }
    identity = read_facts(Snapshot(props=props)).identity
    assert identity.name == "CMF Phone 1"
    assert identity.soc == "MediaTek Dimensity 7300 (MT6878)"
    assert (identity.system, identity.android_release, identity.android_sdk) == ("android", "15", 35)
    assert identity.abis == ("arm64-v8a", "armeabi-v7a")


def test_an_app_uid_on_android_is_termux() -> None:
    snapshot = dataclasses.replace(command(id="uid=10131(u0_a131) gid=10131"), props={"ro.product.model": "X"})
    assert read_facts(snapshot).identity.system == "termux"
    shell = dataclasses.replace(command(id="uid=2000(shell) gid=2000"), props={"ro.product.model": "X"})
    assert read_facts(shell).identity.system == "android"


def test_a_name_with_control_characters_is_cleaned() -> None:
    identity = read_facts(Snapshot(props={"ro.product.model": "Bad\x1b[31m\nphone"})).identity
    assert identity.model == "Bad [31m phone"


def test_available_memory_is_never_free_memory() -> None:
    text = "MemTotal: 8000000 kB\nMemFree: 200000 kB\n"
    memory = read_facts(snapshot_of({"/proc/meminfo": text})).memory
    assert memory.available_kb is None
    assert memory.free_kb == 200000
    assert memory.total_bytes == 8_192_000_000


def test_pressure_is_read_where_it_may_be() -> None:
    files = {
        "/proc/meminfo": "MemTotal: 8 kB\nMemAvailable: 0 kB\n",
        "/proc/pressure/memory": "some avg10=1.50 avg60=0.20 avg300=0.00 total=1234\n"
        "full avg10=0.00 avg60=0.00 avg300=0.00 total=9\n",
        "/sys/block/zram0/mm_stat": "1048576 262144 300000 0 300000 0 0 0 0\n",
    }
    memory = read_facts(snapshot_of(files)).memory
    assert memory.available_kb == 0  # a real zero stays one
    assert [(p.kind, p.avg10_pct, p.total_us) for p in memory.pressure] == [("some", 1.5, 1234), ("full", 0.0, 9)]
    assert (memory.zram_original_bytes, memory.zram_compressed_bytes) == (1048576, 262144)


def test_denied_pressure_is_denied() -> None:
    path = "/proc/pressure/memory"
    snapshot = Snapshot(files={path: Reading(path, Outcome.DENIED, detail="Permission denied")})
    found = read_facts(snapshot).capabilities.get("psi")
    assert found is not None
    assert found.ability is Ability.DENIED


def test_a_macs_memory_comes_from_its_pages() -> None:
    pages = "Mach Virtual Memory Statistics: (page size of 16384 bytes)\nPages free: 1000.\nPages inactive: 500.\n"
    memory = read_facts(command(vm_stat=pages, sysctl="hw.memsize: 17179869184\n")).memory
    assert memory.total_kb == 16777216
    assert memory.available_kb == 1500 * 16


def test_a_missing_tool_is_absent_and_an_unasked_one_unknown() -> None:
    assert read_facts(Snapshot()).capabilities.get("affinity").ability is Ability.UNKNOWN  # type: ignore[union-attr]
    with_tool = read_facts(command(tools="/system/bin/taskset\n/system/bin/awk\n")).capabilities
    assert with_tool.has("affinity")
    assert with_tool.get("counters").ability is Ability.ABSENT  # type: ignore[union-attr]


def test_midr_fields() -> None:
    midr = decode_midr(0x410FD050)
    assert (midr.implementer, midr.variant, midr.part, midr.revision) == (0x41, 0, 0xD05, 0)
    model = core_model(0x51, 0x804)
    assert model is not None
    assert (model.name, model.based_on) == ("Kryo-4XX-Gold", "Cortex-A76")
    assert core_model(0x53, 0x001, 0x4).name == "Exynos-M2"  # type: ignore[union-attr]
    assert core_model(0x99, 0x123) is None


def test_crlf_and_loader_warnings_before_the_first_line() -> None:
    lines = ("WARNING: linker: unused DT entry", "processor\t: 0", "Features\t: fp asimd", "CPU part\t: 0xd03")
    text = "".join(f"{line}\r\n" for line in lines)
    info = parse_cpuinfo(text)
    assert info.processors == (0,)
    assert info.blocks[0].features == ("fp", "asimd")


def test_rail_power_is_energy_over_the_rails_own_time() -> None:
    before = parse_energy_value("t=1000\nCH0(T=1000)[BIG], 500000\nCH1(T=1000)[IDLE], 0\n")
    after = parse_energy_value("t=3000\nCH0(T=3000)[BIG], 4500000\nCH1(T=3000)[IDLE], 0\nCH2(T=3000)[NEW], 9\n")
    assert rail_watts(before, after) == {"BIG": 2.0, "IDLE": 0.0}
    assert rail_watts(after, before) == {}


def test_past_throttling_is_not_present_throttling() -> None:
    found = parse_pi_throttle("throttled=0x50005")
    assert found is not None
    assert found.now == ("under-voltage", "throttled")
    assert found.since_boot == ("under-voltage", "throttled")
    past = parse_pi_throttle("throttled=0x50000")
    assert past is not None
    assert past.now == ()
    assert parse_pi_throttle("error") is None


@pytest.mark.parametrize("text", ["3-1", "a", "0-99999", "1,,x", "-1", "0x3"])
def test_what_is_no_list_is_no_list(text: str) -> None:
    assert parse_cpu_list(text) is None


@given(st.sets(st.integers(0, 63)))
def test_lists_and_masks_come_back(cpus: set[int]) -> None:
    assert set(parse_cpu_list(format_cpu_list(cpus)) or ()) == cpus
    if cpus:
        assert set(parse_mask(format_mask(cpus)) or ()) == cpus


def numbers_of(value: Any, path: str = "") -> list[tuple[str, float]]:
    """Every number in a dataclass tree with its path."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [
            pair
            for field in dataclasses.fields(value)
            for pair in numbers_of(getattr(value, field.name), f"{path}.{field.name}")
        ]
    if isinstance(value, tuple | list | frozenset):
        return [pair for item in value for pair in numbers_of(item, f"{path}[]")]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return []
    return [(path, float(value))]


@given(st.integers(0, 2**32))
def test_unreadable_snapshots_hold_no_number(seed: int) -> None:
    facts = read_facts(snapshot_from(seed, readable=False))
    # A zone's number and the unit fixed for it are names, not readings.
    assert [pair for pair in numbers_of(facts) if not pair[0].endswith((".index", ".scale"))] == []
