"""runner.sh under every shell and tool collection: the loop, the readback, the journal."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.agent import script
from entity_tui.device.probe_text import parse_probe
from entity_tui.experiments.flatplan import GatePlan, SampleNode
from entity_tui.records.journal import EventKind, GateEvent, GateOutcome
from tests.agent.runs import OPEN_GATE, Bench, cell, kinds, plan, sh
from tests.agent.toolsets import make_toolset, put_files
from tests.fixtures.tools import need_tool, until

BUSY = "n=0; while [ $n -lt 60000 ]; do n=$((n+1)); done; echo ok"
CPUS = sorted(os.sched_getaffinity(0))


def test_a_plan_runs_to_its_end_and_every_line_is_there(bench: Bench) -> None:
    launches = (sh(BUSY, phase="prefill"), sh(BUSY, mask=f"{1 << CPUS[-1]:x}"))
    ran = bench.run(plan(cell(1, *launches, role="warmup"), cell(2, *launches, arm="optimized")))
    assert (ran.code, ran.error) == (0, "")
    assert kinds(ran.events) == [
        EventKind.RUN_START,
        *[EventKind.CELL_START, EventKind.GATE, *[EventKind.LAUNCH, EventKind.LAUNCH_END] * 2, EventKind.CELL] * 2,
        EventKind.DONE,
    ]
    assert ran.states == ["warmup", "ok"]
    start = ran.events[0]
    assert (start.fields["session"], start.fields["plan_hash"], start.fields["version"]) == ("s1", "hash1", "1")
    assert [event.t_boot_s for event in ran.events] == sorted(event.t_boot_s for event in ran.events)
    assert sorted(path.name for path in (ran.directory / "cells").iterdir()) == ["1.1", "2.1"]
    assert not (bench.root / "lock").exists()


def test_the_mask_that_counts_is_read_back_from_the_kernel(bench: Bench) -> None:
    mask = f"{1 << CPUS[-1]:x}"
    ran = bench.run(plan(cell(1, sh(BUSY, phase="prefill"), sh(BUSY, mask=mask))))
    free, pinned = ran.cells[0].launches
    assert (free.mask_requested, free.mask_ok) == ("", None)
    assert free.mask_applied == f"{sum(1 << cpu for cpu in CPUS):x}"
    assert (pinned.mask_requested, pinned.mask_applied, pinned.mask_ok) == (mask, mask, True)
    assert pinned.threads_seen == 1
    assert set(pinned.cpu_ticks_by_cpu) == {CPUS[-1]}
    assert pinned.migrations is not None
    assert pinned.migrations_source in ("sched", "sampled")
    assert pinned.cpu_ticks is not None
    assert pinned.cpu_ticks > 0


@pytest.mark.skipif(len(CPUS) < 2, reason="needs a second CPU to move to")
def test_a_workload_that_moves_itself_is_an_affinity_mismatch(bench: Bench) -> None:
    away = f"taskset -p {1 << CPUS[0]:x} $$ >/dev/null; {BUSY}"
    ran = bench.run(plan(cell(1, sh(away, mask=f"{1 << CPUS[-1]:x}", env=(("PATH", "/usr/bin:/bin"),)))))
    assert ran.states == ["affinity_mismatch"]
    launch = ran.cells[0].launches[0]
    assert (launch.mask_ok, launch.mask_applied) == (False, f"{1 << CPUS[0]:x}")


ENDS = [
    ("kill -ILL $$", "crashed_sigill"),
    ("kill -KILL $$", "killed_oom"),
    ("kill -SEGV $$", "crashed_segv"),
    ("exit 132", "crashed_sigill"),
    ("exit 137", "killed_oom"),
    ("exit 139", "crashed_segv"),
    ("exit 1", "workload_error"),
    ("exit 127", "library_missing"),
    ('echo \'CANNOT LINK EXECUTABLE "x": library "libggml.so" not found\' >&2; exit 1', "library_missing"),
    ("echo \"error: failed to load model 'm.gguf'\" >&2; exit 1", "model_load_failed"),
    ("echo 'write: No space left on device' >&2; exit 1", "storage_full"),
    ("echo 'failed to load model'; exit 0", "ok"),
]


def test_every_way_a_launch_can_end_has_its_state(bench: Bench) -> None:
    cells = [
        cell(number, sh(f"echo part; {text}", phase="prefill"), sh("echo 2"))
        for number, (text, _) in enumerate(ENDS, 1)
    ]
    ran = bench.run(plan(*cells))
    assert ran.states == [state for _, state in ENDS]
    assert ran.text("cells/1.1/prefill.out") == "part\n", "what came before the crash is kept"
    assert [len(event.launches) for event in ran.cells] == [1] * (len(ENDS) - 1) + [2], "a failed cell ends there"
    assert "failed to load model 'm.gguf'" in ran.cells[9].detail
    assert ran.last().kind is EventKind.DONE, "one broken arm does not end the run"


def test_arguments_and_environment_arrive_unchanged(bench: Bench, tmp_path: Path) -> None:
    odd = ["", " two  blanks ", "$HOME `id` $(id)", "*", "a'b\"c\\d\\n", "-e", "ü–☃", "%s", "~", ";&|<>"]
    launch = sh("")
    argv = ("/bin/sh", "-c", 'printf "%s\\n" "$0" "$@"; printf "%s|%s|%s" "$ODD" "$PWD" "$GGML_NO_BACKTRACE"', *odd)
    launch = replace(launch, argv=argv, env=(("ODD", odd[4]),), directory=str(tmp_path))
    ran = bench.run(plan(cell(1, launch)))
    assert ran.text("cells/1.1/decode.out") == "\n".join(odd) + f"\n{odd[4]}|{tmp_path}|1"


def test_a_launch_over_its_limit_is_ended_with_all_its_children(bench: Bench) -> None:
    mark = f"45.{os.getpid()}"  # the same test runs beside this one with another shell
    text = f'trap "" TERM; sleep {mark} & wait; sleep {mark}'
    ran = bench.run(plan(cell(1, sh(text, wall_limit_s=0.3)), cell(2)))
    assert ran.states == ["timeout", "ok"]
    left = [path for path in Path("/proc").glob("[0-9]*/cmdline") if mark.encode() in _read(path)]
    assert left == []


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def test_masks_that_cannot_hold_their_threads_are_refused_before_launch(bench: Bench, tmp_path: Path) -> None:
    put_files(tmp_path / "device", {"/sys/devices/system/cpu/online": "0-5,7\n"})
    cells = [
        cell(1, sh("echo", threads=8, mask="f")),
        cell(2, sh("echo", threads=2, mask="c0")),
        cell(3, sh("echo", mask="80")),
    ]
    ran = bench.run(plan(*cells), ENTITY_PREFIX=str(tmp_path / "device"))
    assert ran.states == ["threads_exceed_mask", "core_offline", "cpuset_denied"]
    assert "8 threads on 4 CPUs" in ran.cells[0].detail
    assert "CPU 6 of mask c0 is offline" in ran.cells[1].detail
    assert all(event.launches == () for event in ran.cells)
    assert not (ran.directory / "cells/1.1/decode.out").exists()


def test_samples_hold_the_plans_nodes_on_the_device_clock(bench: Bench, tmp_path: Path) -> None:
    put_files(tmp_path, {"/now": "-350000\n"})
    nodes = (SampleNode("current_now", str(tmp_path / "now")), SampleNode("gone", "/no/such/node"))
    ran = bench.run(plan(cell(1, sh("sleep 0.5")), nodes=nodes, period_ms=50))
    head, *lines = ran.text("cells/1.1/decode.samples").splitlines()
    assert head == "entity-samples 1 nodes current_now gone"
    assert {line.split("|", 1)[1] for line in lines} == {"-350000|"}
    times = [float(line.split("|")[0].removeprefix("p ")) for line in lines]
    launch = ran.cells[0].launches[0]
    assert times == sorted(times)
    assert times[0] <= launch.t_start_s
    assert times[-1] >= launch.t_end_s, "both ends of the launch are closed by a reading"
    assert len(times) >= 8


def test_the_device_before_and_after_is_kept_in_the_probes_format(bench: Bench) -> None:
    ran = bench.run(plan(cell(1)))
    before = parse_probe(ran.text("cells/1.1/before.txt"), "cell")
    after = parse_probe(ran.text("cells/1.1/after.txt"), "cell")
    assert before.origin == after.origin == ""
    assert before.file("/proc/stat").text.startswith("cpu ")
    assert float(after.file("/proc/uptime").text.split()[0]) >= float(before.file("/proc/uptime").text.split()[0])


def test_stop_after_the_cell_finishes_it_and_stop_now_does_not(bench: Bench) -> None:
    first = plan(cell(1, sh(f'echo after_cell >"{bench.root}/runs/s1/stop"')), cell(2))
    ran = bench.run(first)
    assert ran.states == ["ok"]
    assert (ran.last().kind, ran.last().fields["reason"]) == (EventKind.STOP, "after_cell")
    second = plan(cell(1, sh(f'echo now >"{bench.root}/runs/s2/stop"; sleep 30')), cell(2), session="s2")
    ran = bench.run(second)
    assert ran.states == ["cancelled"]
    assert ran.last().kind is EventKind.STOP


async def test_a_signal_ends_workload_and_runner_and_frees_the_lock(bench: Bench) -> None:
    what = plan(cell(1, sh("sleep 30")))
    process = bench.start(what)
    await until(lambda: (bench.root / "lock/workload").exists())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=20)
    ran = bench.read(what)
    assert (ran.last().kind, ran.last().fields["reason"]) == (EventKind.STOP, "signal")
    assert not (bench.root / "lock").exists()
    assert ran.states == []


def test_without_a_sensor_the_gate_says_so_once_and_keeps_one_dwell(bench: Bench) -> None:
    closed = replace(OPEN_GATE, sensorless_dwell_s=None)
    dwell = replace(OPEN_GATE, sensorless_dwell_s=0.4)
    ran = bench.run(plan(cell(1, gate=closed), cell(2, gate=dwell), cell(3, gate=GatePlan(skip=True))))
    assert ran.states == ["gate_unavailable", "ok", "ok"]
    assert [event.tainted for event in ran.cells] == [False, True, False]
    gates = [event for event in ran.events if isinstance(event, GateEvent)]
    assert [gate.outcome for gate in gates] == [GateOutcome.UNAVAILABLE, GateOutcome.UNAVAILABLE, GateOutcome.SKIPPED]
    assert [gate.ran for gate in gates] == [False, True, True]
    assert gates[1].wait_s >= 0.39
    assert gates[0].temp_c is None


def test_limits_hold_where_there_is_no_proc(phone_bench: Bench, tmp_path: Path) -> None:
    ps = need_tool("ps")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/ps").symlink_to(ps)
    text = script("runner")
    asks = "[ -r /proc/self/stat ] || no_proc=yes"
    assert asks in text
    what = plan(cell(1, sh("exec sleep 30", wall_limit_s=0.5)), cell(2, sh("exit 3")))
    ran = phone_bench.run(what, text=text.replace(asks, "no_proc=yes"), bin=str(tmp_path / "bin"))
    assert ran.states == ["timeout", "workload_error"]
    assert ran.cells[1].launches[0].exit_code == 3


def test_where_the_boot_clock_is_denied_a_shell_with_a_clock_of_its_own_is_taken(
    tmp_path: Path, tool_folder: Path
) -> None:
    bench = Bench(make_toolset("dash", "coreutils", tool_folder / "coreutils"), tmp_path / "entity")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/bash").symlink_to(need_tool("bash"))
    put_files(tmp_path / "device", {"/proc/loadavg": "1 1 1 1/1 1\n"})
    what = plan(cell(1, sh("sleep 0.3")), cell(2, sh("kill -KILL $$")))
    ran = bench.run(what, ENTITY_PREFIX=str(tmp_path / "device"), bin=str(tmp_path / "bin"))
    start = ran.events[0].fields
    assert (start["shell"], start["clock"], start["wait"]) == ("bash", "epoch", "read")
    assert (ran.states, ran.error) == (["ok", "killed_oom"], "")
    assert abs(ran.events[0].t_boot_s - time.time()) < 60
    launch = ran.cells[0].launches[0]
    assert 0.2 <= launch.t_end_s - launch.t_start_s < 10
