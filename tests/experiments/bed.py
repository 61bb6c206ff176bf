"""What experiment tests share: topologies, settings, journal events made by hand, and short plans for real devices."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.device.topology import read_topology
from entity_tui.experiments.build import Setting
from entity_tui.experiments.collect import RunContext
from entity_tui.experiments.plan import EngineRef, ModelRef, Plan
from entity_tui.records.journal_events import CellEvent, EventKind, GateEvent, GateOutcome, LaunchEnd, ThreadReadback

CPU = "/sys/devices/system/cpu"
ENGINE = EngineRef("llama.cpp", "b11434", "/e", "/e/llama-bench")
MODEL = ModelRef("/m/model-Q4_0.gguf", "model-Q4_0.gguf", 800_000_000, "a" * 64, "Q4_0")


def snapshot(
    max_khz: Mapping[int, int], capacity: Mapping[int, int] | None = None, online: str | None = None
) -> Snapshot:
    """A device of these cores: highest clock in kHz and capacity by CPU."""
    texts = {f"{CPU}/online": online or f"0-{max(max_khz)}"}
    for cpu, khz in max_khz.items():
        texts[f"{CPU}/cpu{cpu}/cpufreq/cpuinfo_max_freq"] = str(khz)
    for cpu, value in (capacity or {}).items():
        texts[f"{CPU}/cpu{cpu}/cpu_capacity"] = str(value)
    return Snapshot(files={path: Reading(path, Outcome.OK, text) for path, text in texts.items()})


def four_plus_four() -> Snapshot:
    """Four LITTLE cores 0-3 and four fast ones 4-7."""
    clocks = {cpu: 2_000_000 if cpu < 4 else 2_500_000 for cpu in range(8)}
    return snapshot(clocks, {cpu: 250 if cpu < 4 else 1024 for cpu in range(8)})


def one_class(cores: int) -> Snapshot:
    """So many equal cores."""
    return snapshot(dict.fromkeys(range(cores), 2_000_000), dict.fromkeys(range(cores), 1024))


def setting(source: Snapshot) -> Setting:
    """What a plan for that device is built from."""
    return Setting(Facts(topology=read_topology(source)), ENGINE, MODEL)


def context(plan: Plan) -> RunContext:
    """The context of a run's rows."""
    return RunContext(session_id="20260101-000000-abcd", plan=plan, transport="adb", launch_context="adb shell")


def bench_line(*, n_prompt: int = 0, n_gen: int = 0, threads: int, seconds: float = 4.0) -> bytes:
    """One result as llama-bench prints it."""
    import json

    row = {
        "build_number": 11434,
        "n_prompt": n_prompt,
        "n_gen": n_gen,
        "n_depth": 0,
        "n_threads": threads,
        "samples_ns": [round(seconds * 1e9)],
    }
    return (json.dumps(row) + "\n").encode()


def launch(
    phase: str,
    *,
    mask: str = "f0",
    applied: str | None = None,
    mask_ok: bool | None = True,
    state: str = "ok",
    code: int | None = 0,
    start: float = 100.0,
    end: float = 106.0,
    threads: int = 4,
) -> LaunchEnd:
    """One launch as the journal tells it."""
    seen = tuple(ThreadReadback(1000 + index, applied or mask, 500, True) for index in range(threads))
    return LaunchEnd(
        sequence=1,
        t_boot_s=end,
        kind=EventKind.LAUNCH_END,
        phase=phase,
        state=state,
        exit_code=code,
        t_start_s=start,
        t_end_s=end,
        mask_requested=mask,
        mask_applied=mask if applied is None else applied,
        mask_ok=mask_ok,
        threads_requested=threads,
        threads_seen=threads,
        threads=seen,
    )


def cell(
    arm: str,
    *launches: LaunchEnd,
    state: str = "ok",
    gate: GateOutcome = GateOutcome.PASSED,
    tainted: bool = False,
    block: int = 1,
    role: str = "measure",
    detail: str = "",
    key: str = "",
) -> CellEvent:
    """One finished cell as the journal tells it."""
    found = GateEvent(2, 99.0, EventKind.GATE, outcome=gate, ran=True, wait_s=15.0, temp_c=31.0, tainted=tainted)
    return CellEvent(
        sequence=3,
        t_boot_s=110.0,
        kind=EventKind.CELL,
        fields={"n": "2", "attempt": "1"},
        detail=detail,
        key=key,
        arm=arm,
        block=block,
        position=1,
        role=role,
        state=state,
        directory="cells/2.1",
        tainted=tainted,
        launches=launches,
        gate=found,
    )


def good_files(plan: Plan, arm: str) -> dict[str, bytes]:
    """The files of a cell that went well: 4 s of prompt, 4 s of generation."""
    found = plan.arm(arm)
    loaded = b"load_backend: loaded CPU backend from /e/libggml-cpu-android_armv8.2_2.so\n"
    return {
        "prefill.out": bench_line(n_prompt=plan.n_prompt, threads=found.prefill.threads),
        "decode.out": bench_line(n_gen=plan.n_gen, threads=found.decode.threads),
        "prefill.err": loaded,
        "decode.err": loaded,
    }


SHORT_ARMS = """
arms:
  free: {threads: 1, placement: all}
  pinned: {threads: 1, cpus: "1"}
comparisons:
  - {baseline: free, treatment: pinned, axis: placement}
gate: {minimum_s: 0, limit_s: 0, sensorless_dwell_s: 0}
prompt: 16
generate: 8
"""


def write_arms(folder: Path, text: str = SHORT_ARMS) -> Path:
    """An arms file in a folder of the test's own."""
    path = folder / "arms.yaml"
    path.write_text(text, encoding="utf-8")
    return path
