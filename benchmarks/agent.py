"""What the agent costs (`python -m benchmarks.agent`): the probe against one command a file, the tick against `cat`.

Four measurements, absolute figures beside every ratio:
  probe     one round trip against one command per file over a real adb server and a demo phone (at least 20 times)
  tick      CPU time of one sampler tick, its wait included, against a loop with a `cat` per file (mksh: at least 25)
  recorder  CPU time of the runner beside a workload, eight nodes every 150 ms (at most 1 % of a core)
  cell      what the runner itself adds to a cell: wall and CPU time of a cell whose workload does nothing
Exit 1 when a limit is missed; 2 when the machine lacks what a measurement needs.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from entity_tui.agent import script
from entity_tui.experiments.flatplan import GatePlan, Launch, RunnerCell, RunnerPlan, SampleNode, render
from entity_tui.experiments.probe import probe
from entity_tui.records.journal import CellEvent, parse_journal
from entity_tui.sim.launch import demo_phone
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_server import AdbServer

PROBE_RATIO = 20.0
TICK_RATIO = 25.0
RECORDER_LIMIT_PCT = 1.0
SHELLS = {"mksh": ["mksh"], "dash": ["dash"], "busybox ash": ["busybox", "ash"]}

CAT_LOOP = """
n=0
while [ $n -lt $1 ]; do
	line=
	for f in $FAST; do line="$line|$(cat $f 2>/dev/null)"; done
	if [ $((n % 5)) = 0 ]; then for f in $SLOW; do line="$line|$(cat $f 2>/dev/null)"; done; fi
	echo "$n $line"
	n=$((n + 1))
	sleep $2
done
"""
"""The usual way: the same files at the same rates (five ticks a second), a process a value and one for the wait."""


async def probe_ratio() -> tuple[float, list[str]]:
    """The probe against one command per file, over adb to a demo phone."""
    with tempfile.TemporaryDirectory() as home:
        server = AdbServer(shutil.which("adb") or "adb", home=Path(home))
        await server.start()
        try:
            async with demo_phone("cmf-phone-1", speed=1.0) as phone:
                link = AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True)
                async with link:
                    return await _compare_probe(link)
        finally:
            await server.stop()


async def _compare_probe(link: AdbTransport) -> tuple[float, list[str]]:
    snapshot = await probe(link)
    spent = []
    for _ in range(5):
        began = time.perf_counter()
        await probe(link)
        spent.append(time.perf_counter() - began)
    once = statistics.median(spent)
    began = time.perf_counter()
    for path in snapshot.files:
        await link.run(["cat", path])
    for line in snapshot.commands:
        if line not in ("probe", "command -v"):
            await link.run(["sh", "-c", line])
    singly = time.perf_counter() - began
    ratio = singly / once
    count = len(snapshot.files) + len(snapshot.commands) - 2
    return ratio, [
        f"probe     {once * 1000:8.1f} ms for {count} texts in one round trip over adb",
        f"          {singly * 1000:8.1f} ms with one command a text ({singly / count * 1000:.1f} ms each)",
        f"          {ratio:8.1f} x, at least {PROBE_RATIO:g} asked",
    ]


def lay_phone(root: Path) -> tuple[list[str], list[str]]:
    """A phone's small files below `root`; (files of every tick, files of every second)."""
    cpu = root / "sys/devices/system/cpu/cpufreq"
    battery = root / "sys/class/power_supply/battery"
    names = ("scaling_cur_freq", "scaling_max_freq")
    fast = {cpu / f"policy{policy}" / name: "1800000" for policy in (0, 4, 7) for name in names}
    fast[root / "proc/stat"] = Path("/proc/stat").read_text().rstrip("\n")
    slow = {battery / name: "-350000" for name in ("current_now", "voltage_now", "charge_counter", "temp", "capacity")}
    slow[battery / "status"] = "Discharging"
    slow |= {root / f"sys/class/thermal/thermal_zone{number}/temp": "41000" for number in range(30)}
    slow |= {root / f"sys/class/thermal/cooling_device{number}/cur_state": "0" for number in range(8)}
    slow |= {root / f"proc/{name}": Path(f"/proc/{name}").read_text().rstrip("\n") for name in ("loadavg", "meminfo")}
    for path, text in {**fast, **slow, battery / "type": "Battery"}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n")
    (root / "proc/uptime").symlink_to("/proc/uptime")
    return [str(path) for path in fast], [str(path) for path in slow]


def cpu_seconds(argv: Sequence[str], env: dict[str, str]) -> float:
    """User and system time of a command and of everything it waited for; its standard input stays open and silent."""
    reader, writer = os.pipe()
    process = subprocess.Popen(argv, env=env, stdin=reader, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(reader)
    _, _, used = os.wait4(process.pid, 0)
    process.returncode = 0
    os.close(writer)
    return used.ru_utime + used.ru_stime


def tick_ratio(shell: Sequence[str], ticks: int = 81) -> tuple[float, float, float]:
    """(CPU seconds of a sampler tick, of a tick of the usual loop, their ratio); the start of both is taken off."""
    with tempfile.TemporaryDirectory() as folder:
        fast, slow = lay_phone(Path(folder))
        env = {"PATH": "/usr/bin:/bin", "ENTITY_PREFIX": folder, "FAST": " ".join(fast), "SLOW": " ".join(slow)}

        def ours(count: int) -> float:
            return cpu_seconds([*shell, "-c", script("sampler"), "sampler", "20", str(count)], env)

        def usual(count: int) -> float:
            return cpu_seconds([*shell, "-c", CAT_LOOP, "loop", str(count), "0.2"], env)

        sampler = max(1e-7, (min(ours(ticks) for _ in range(2)) - min(ours(1) for _ in range(3))) / (ticks - 1))
        loop = (usual(21) - usual(1)) / 20
        return sampler, loop, loop / sampler


def run_plan(shell: Sequence[str], plan: RunnerPlan, folder: Path) -> tuple[list[CellEvent], float, float]:
    """(cells, wall seconds, CPU seconds with children) of a plan run to its end."""
    run = folder / "runs" / plan.session_id
    run.mkdir(parents=True)
    (run / "plan.flat").write_text(render(plan))
    (run / "runner.sh").write_text(script("runner"))
    argv = [*shell, str(run / "runner.sh"), str(run), str(run / "plan.flat"), str(folder)]
    began = time.perf_counter()
    used = cpu_seconds(argv, {"PATH": "/usr/bin:/bin"})
    wall = time.perf_counter() - began
    events = parse_journal((run / "journal").read_bytes())
    return [event for event in events if isinstance(event, CellEvent)], wall, used


def plan_of(cells: int, workload: str, nodes: Sequence[SampleNode] = ()) -> RunnerPlan:
    """A plan of equal cells behind an open gate."""
    launch = Launch("decode", ("/bin/sh", "-c", workload), 1)
    gate = GatePlan(minimum_s=0, sensorless_dwell_s=0)
    every = tuple(RunnerCell(n, "key", "naive", n, 1, (launch,)) for n in range(1, cells + 1))
    return RunnerPlan("bench", "hash", "", every, gate, tuple(nodes), battery_min_pct=None, free_min_mb=None)


def recorder_pct(shell: Sequence[str], seconds: float = 8.0) -> float:
    """CPU time of the recorder beside a workload that sleeps, in % of one core; eight nodes every 150 ms."""
    with tempfile.TemporaryDirectory() as folder:
        nodes = []
        for index in range(8):
            (Path(folder) / f"node{index}").write_text("1800000\n")
            nodes.append(SampleNode(f"n{index}", f"{folder}/node{index}"))
        _, _, with_it = run_plan(shell, plan_of(1, f"exec sleep {seconds}", nodes), Path(folder) / "a")
        _, _, without = run_plan(shell, plan_of(1, "exec sleep 0.2", nodes), Path(folder) / "b")
        return max(0.0, 100.0 * (with_it - without) / (seconds - 0.2))


def cell_cost(shell: Sequence[str], cells: int = 20) -> tuple[float, float]:
    """(wall, CPU) seconds the runner adds to a cell, the start of the run taken off."""
    with tempfile.TemporaryDirectory() as folder:
        _, many_wall, many_cpu = run_plan(shell, plan_of(cells, "exit 0"), Path(folder) / "a")
        _, one_wall, one_cpu = run_plan(shell, plan_of(1, "exit 0"), Path(folder) / "b")
        return (many_wall - one_wall) / (cells - 1), (many_cpu - one_cpu) / (cells - 1)


def main() -> int:
    """Measure, print, judge."""
    if shutil.which("adb") is None or shutil.which("mksh") is None:
        print("agent: adb and mksh are needed", file=sys.stderr)
        return 2
    ratio, lines = asyncio.run(probe_ratio())
    good = ratio >= PROBE_RATIO
    print("\n".join(lines))
    for name, shell in SHELLS.items():
        if shutil.which(shell[0]) is None:
            continue
        ours, usual, times = tick_ratio(shell)
        limit = f", at least {TICK_RATIO:g} asked" if name == "mksh" else ""
        print(f"tick      {ours * 1000:8.3f} ms a tick in {name}, {usual * 1000:.2f} ms with cat: {times:.0f} x{limit}")
        good &= name != "mksh" or times >= TICK_RATIO
        share = recorder_pct(shell)
        limit = f", at most {RECORDER_LIMIT_PCT:g} asked" if name == "mksh" else ""
        print(f"recorder  {share:8.2f} % of a core in {name} (8 nodes, 150 ms){limit}")
        good &= name != "mksh" or share <= RECORDER_LIMIT_PCT
        wall, cpu = cell_cost(shell)
        print(f"cell      {wall * 1000:8.1f} ms of wall and {cpu * 1000:.1f} ms of CPU time around a launch in {name}")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
