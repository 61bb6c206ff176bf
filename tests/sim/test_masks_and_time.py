"""What a command sees of masks, threads and time inside the phone, in every shell the phone can run on."""

from __future__ import annotations

import re
import time

import pytest

from entity_tui.sim.cpu_text import cpu_list, cpu_mask, cpus_of_mask
from entity_tui.sim.tree import SHELLS, TOOLS
from tests.fixtures.tools import need_tool
from tests.sim.inside_phone import running, sh

BENCH = "/data/local/tmp/llama.cpp/llama-bench -m /data/local/tmp/entity/models/stand-in-1b-q4_0.gguf -o jsonl"
CLOCKED = "read -r a b </proc/uptime; {}; c=$?; read -r d b </proc/uptime; echo $a $d $c"
COMBINATIONS = [
    ("mksh", "toybox"),
    ("mksh", "coreutils"),
    ("dash", "toybox"),
    ("dash", "coreutils"),
    ("ash", "busybox"),
]


def need(shell: str, tools: str) -> None:
    need_tool(SHELLS[shell])
    if tools in TOOLS:
        need_tool(TOOLS[tools])


@pytest.mark.parametrize(("shell", "tools"), COMBINATIONS)
async def test_a_mask_is_seen_by_the_command_and_inherited_by_its_children(shell: str, tools: str) -> None:
    need(shell, tools)
    inner = "while read -r k v; do case $k in Cpus_allowed*) echo $k $v;; esac; done </proc/$$/status"
    async with running(shell=shell, tools=tools) as phone:
        _, direct = await sh(phone, f"taskset f0 sh -c '{inner}'")
        _, child = await sh(phone, f"taskset c0 sh -c 'sh -c \"sleep 0.2; $0\" & wait' '{inner}'")
        _, none = await sh(phone, f"sleep 0.1; {inner}")
        code, refused = await sh(phone, "taskset 100 true")
    assert direct.split() == ["Cpus_allowed:", "f0", "Cpus_allowed_list:", "4-7"]
    assert child.split()[1::2] == ["c0", "6-7"]
    assert none.split()[1::2] == ["ff", "0-7"]
    assert code == 1
    assert "Invalid argument" in refused


@pytest.mark.parametrize(("shell", "tools"), COMBINATIONS)
async def test_the_stand_in_engine_shows_all_its_threads_busy_inside_its_mask(shell: str, tools: str) -> None:
    need(shell, tools)
    watch = (
        f"taskset f0 {BENCH} -p 0 -n 9000 -r 1 -t 4 >/data/local/tmp/out 2>&1 & p=$!; n=0; "
        "while [ $n -lt 200 ]; do set -- /proc/$p/task/*; [ $# -ge 4 ] && break; sleep 0.5; n=$((n+1)); done; "
        "sleep 10; for t in /proc/$p/task/*; do while read -r k v; do "
        "case $k in Cpus_allowed_list:) echo mask $v;; esac; done <$t/status; read -r s <$t/stat; echo stat $s; done; "
        "kill $p; wait $p; echo ended $?"
    )
    async with running(shell=shell, tools=tools, speed=20) as phone:
        _, out = await sh(phone, watch)
    assert re.findall(r"^mask (.*)$", out, re.MULTILINE) == ["4-7"] * 4
    stats = [line.split() for line in re.findall(r"^stat .*?\) (.*)$", out, re.MULTILINE)]
    assert sorted(int(fields[36]) for fields in stats) == [4, 5, 6, 7]
    assert all(int(fields[11]) > 100 for fields in stats)
    assert "ended 143" in out


async def test_a_killed_stand_in_stops_being_a_load() -> None:
    async with running(speed=20) as phone:
        await sh(phone, f"timeout 20 {BENCH} -p 0 -n 4000 -t 4 >/dev/null 2>&1; sleep 5")
        assert not phone.workload.benches
        assert phone.body.power_w < 1.0


async def test_a_compressed_clock_is_the_same_for_uptime_sleeps_and_limits() -> None:
    async with running(speed=20) as phone:
        for what, expected_s, code in (("sleep 30", 30, 0), ("usleep 8000000", 8, 0), ("timeout 20 sleep 90", 20, 124)):
            begin = time.monotonic()
            _, out = await sh(phone, CLOCKED.format(what))
            took_s = time.monotonic() - begin
            start, end, status = out.split()
            assert float(end) - float(start) == pytest.approx(took_s * 20, abs=6)
            assert float(end) - float(start) >= expected_s - 0.5
            assert int(status) == code
        _, factor = await sh(phone, "echo $ENTITY_CLOCK_FACTOR; getprop ro.entity.clock_factor")
    assert factor.split() == ["20", "20"]


async def test_a_real_clock_is_not_marked() -> None:
    async with running() as phone:
        _, out = await sh(phone, f"echo ${{ENTITY_CLOCK_FACTOR-none}}; {CLOCKED.format('sleep 0.3')}")
    word, start, end, code = out.split()
    assert (word, code) == ("none", "0")
    assert 0.25 <= float(end) - float(start) < 3


async def test_the_stand_ins_answer_as_a_phones_do() -> None:
    async with running() as phone:
        _, out = await sh(
            phone,
            "settings get global low_power; settings put global low_power 1; settings get global low_power; "
            "settings list global; settings delete global low_power; cmd battery get -f current_now; "
            "cmd battery get nonsense; echo rc $?; getprop ro.soc.model; getprop nothing.here default; uname -m",
        )
        _, listed = await sh(phone, "getprop")
        code, err = await sh(
            phone, "setprop ro.product.model X; echo; setprop debug.x 1; getprop debug.x; dumpsys nosuch"
        )
    lines = out.splitlines()
    assert lines[:5] == ["null", "1", "low_power=1", "Deleted 1 rows", lines[4]]
    assert int(lines[4]) < 0
    assert lines[5:] == ["Unknown get option: nonsense", "rc 255", "MT6878", "default", "aarch64"]
    assert "[ro.product.model]: [A015]" in listed
    assert code == 20
    assert "Failed to set property" in err
    assert "\n1\n" in err


async def test_the_kernels_files_cannot_be_written_and_denied_ones_not_read() -> None:
    async with running("flagship-1-3-4") as phone:
        _, out = await sh(
            phone,
            "echo 1 >/sys/devices/system/cpu/cpu1/online; cat /sys/class/thermal/thermal_zone0/temp; "
            "cat /sys/class/power_supply/battery/current_now; cat /sys/class/nothing",
        )
    assert "Permission denied" in out.splitlines()[1]
    assert "Permission denied" in out.splitlines()[2]
    assert "No such file" in out.splitlines()[3]
    assert re.search("denied|Read-only|read-only", out.splitlines()[0])


def test_masks_and_lists_are_written_as_a_kernel_does() -> None:
    assert cpu_list({7, 0, 1, 2, 5}) == "0-2,5,7"
    assert cpu_list(()) == ""
    assert cpu_mask({4, 5, 6, 7}) == "f0"
    assert cpu_mask({0, 40}) == "100,00000001"
    assert cpus_of_mask("100,00000001") == (0, 40)
