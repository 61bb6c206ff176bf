"""sampler.sh under every shell and tool collection: one line a tick, an absolute schedule, nothing made up."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from entity_tui.agent import script
from entity_tui.device.sample import Sample, SampleParser
from entity_tui.device.snapshot import Outcome
from tests.agent.toolsets import Toolset, outsider, put_files, put_program

BATTERY = "/sys/class/power_supply/battery"
PHONE = {
    "/proc/loadavg": "3.10 2.00 1.00 2/987 4242\n",
    "/proc/stat": "cpu  10 0 10 80 0 0 0 0 0 0\ncpu0 5 0 5 40 0 0 0 0 0 0\ncpu7 5 0 5 40 0 0 0 0 0 0\nintr 12 0 3\n",
    "/proc/meminfo": "MemTotal:  8000000 kB\nMemFree: 1 kB\nMemAvailable:    3800000 kB\nSwapFree: 4 kB\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_cur_freq": "1800000\n",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq": "2000000\n",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_cur_freq": "2500000\n",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_max_freq": "2500000\n",
    f"{BATTERY}/type": "Battery\n",
    f"{BATTERY}/current_now": "-350000\n",
    f"{BATTERY}/voltage_now": "4012000\n",
    f"{BATTERY}/status": "Not charging\n",
    f"{BATTERY}/capacity": "81\n",
    f"{BATTERY}/temp": "309\n",
    "/sys/class/power_supply/usb/type": "USB\n",
    "/sys/class/power_supply/usb/online": "1\n",
    "/sys/class/thermal/thermal_zone0/temp": "41500\n",
    "/sys/class/thermal/thermal_zone10/temp": "-273000\n",
    "/sys/class/thermal/cooling_device3/cur_state": "2\n",
}


@contextmanager
def silent_pipe() -> Iterator[int]:
    """Standard input as a host gives it: open and silent."""
    with subprocess.Popen(["sleep", "60"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        try:
            yield holder.stdout.fileno()
        finally:
            holder.kill()


def samples(
    toolset: Toolset, root: Path | str = "", *, period_cs: int = 5, count: int = 4, user: int | None = None, **env: str
) -> tuple[list[Sample], SampleParser, list[str]]:
    """The samples of a finished sampler, its parser and its raw lines."""
    env = {"ENTITY_PREFIX": str(root), **env} if root else env
    args = [str(period_cs), str(count), "20", "20"]
    with silent_pipe() as stdin:
        done = toolset.run(script("sampler"), args, env=env, stdin=stdin, user=user)
    assert done.returncode == 0, done.stderr
    parser = SampleParser()
    lines = done.stdout.splitlines()
    found = [sample for line in lines if (sample := parser.feed(line)) is not None]
    assert parser.rejected == 0, lines
    return found, parser, lines


def test_ticks_are_numbered_and_keep_the_schedule(toolset: Toolset) -> None:
    found, parser, _ = samples(toolset, period_cs=10, count=6)
    assert [sample.sequence for sample in found] == list(range(6))
    times = [sample.t_boot_s for sample in found]
    assert times == sorted(times)
    assert times[-1] - times[0] >= 0.45
    assert parser.header["version"] == "1"
    assert parser.header["clock"] == "uptime"
    expected = "sleep" if toolset.shell[0].endswith("dash") else "read"
    assert parser.header["wait"] == expected
    assert all(set(sample.cpu_busy_pct) == set(found[0].cpu_busy_pct) for sample in found)


def test_a_phones_nodes_arrive_raw_and_by_name(toolset: Toolset, tmp_path: Path) -> None:
    put_files(tmp_path, PHONE)
    found, _, _ = samples(toolset, tmp_path)
    last = found[-1]
    assert last.freq_khz == {"policy0": 1800000, "policy4": 2500000}
    assert last.max_freq_khz == {"policy0": 2000000, "policy4": 2500000}
    assert (last.current_raw, last.voltage_raw, last.battery_temp_raw) == (-350000, 4012000, 309)
    assert (last.battery_status, last.battery_pct, last.plugged) == ("Not charging", 81, True)
    assert last.zone_raw == {"thermal_zone0": 41500, "thermal_zone10": -273000}
    assert last.cooling_state == {"cooling_device3": 2}
    assert (last.mem_available_kb, last.load_1m) == (3800000, 3.10)
    assert set(last.cpu_times) == {0, 7}
    assert set(last.cpu_busy_pct.values()) == {None}, "a clock that stands still gives no share"


def test_a_denied_node_is_empty_and_says_why(toolset: Toolset, open_folder: Path) -> None:
    put_files(open_folder, PHONE)
    for path in (f"{BATTERY}/current_now", "/proc/stat", "/sys/class/thermal/thermal_zone0/temp"):
        (open_folder / path.lstrip("/")).chmod(0o000)
    found, _, _ = samples(toolset, open_folder, user=outsider())
    last = found[-1]
    assert last.current_raw is None
    assert last.voltage_raw == 4012000
    assert last.zone_raw == {"thermal_zone10": -273000}
    assert last.cpu_times == {}
    assert last.outcomes["battery.current_now"] == "denied"
    assert last.outcomes["stat"] == "denied"
    assert last.outcomes["zone.thermal_zone0"] == "denied"


def test_slow_commands_run_beside_the_ticks_and_never_mix_with_them(toolset: Toolset, tmp_path: Path) -> None:
    put_program(
        tmp_path / "bin",
        "dumpsys",
        '[ $1 = battery ] && sleep 0.2; echo "answer of $1"; echo "s 9 9.9 0 0|not a sample"',
    )
    found, _, _ = samples(toolset, bin=str(tmp_path / "bin"), period_cs=10, count=16)
    assert [sample.sequence for sample in found] == list(range(16))
    last = found[-1]
    text = "answer of thermalservice\ns 9 9.9 0 0|not a sample"
    assert last.commands["dumpsys thermalservice"].text == text
    assert last.commands["dumpsys battery"].ok
    assert last.command_t_boot_s["dumpsys battery"] <= last.t_boot_s
    late = [sample.late_ms for sample in found if sample.late_ms is not None]
    assert sorted(late)[len(late) // 2] < 100, "half of the ticks are on time although dumpsys takes 200 ms"
    assert last.commands["cmd battery get -f current_now"].outcome is Outcome.ABSENT


def test_it_ends_when_the_host_has_gone(toolset: Toolset) -> None:
    began = time.monotonic()
    with subprocess.Popen(["sleep", "1"], stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        process = subprocess.Popen(
            [*toolset.shell, "-c", script("sampler"), "agent", "10", "0"],
            env=toolset.environment(),
            stdin=holder.stdout,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        holder.stdout.close()
        assert process.stdout is not None
        first = process.stdout.readline()
        assert first.startswith(b"entity-sampler")
        process.stdout.close()
        assert process.wait(20) in (0, 1, 141, -13)
    assert time.monotonic() - began < 20


def test_without_proc_uptime_another_clock_is_used_and_named(toolset: Toolset, tmp_path: Path) -> None:
    put_files(tmp_path, {"/proc/loadavg": "1 1 1 1/1 1\n"})
    found, parser, _ = samples(toolset, tmp_path, count=3)
    assert parser.header["clock"] in ("epoch", "date_ns", "date_s")
    assert found[0].clock == parser.header["clock"]
    assert abs(found[-1].t_boot_s - time.time()) < 60
    assert found[-1].mem_available_kb is None
    assert found[-1].outcomes["mem"] == "denied"
