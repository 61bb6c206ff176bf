"""LITTLETai's topologies and command-line cases, and where ours is the safe behaviour instead."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.device.topology import Topology
from entity_tui.errors import UsageError
from entity_tui.silicon.presets import (
    MaskMode,
    command_line,
    mask_flags,
    mask_mode,
    prefix,
    preset_table,
    program_of,
    runtime_format,
    settings,
)
from tests.fixtures.tools import SHARED, need_shared
from tests.phones.dataset import CPU, snapshot_of

PATH = SHARED / "seed_data" / "littletai" / "topologies.json"


@cache
def data() -> dict[str, Any]:
    """The topologies and cases, empty where the companion data is absent."""
    found: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8")) if PATH.is_file() else {}
    return found


def cases(key: str) -> list[str]:
    """Ids of topologies or command-line cases."""
    return [case["id"] for case in data().get(key, [])] or ["absent"]


def case(key: str, name: str) -> dict[str, Any]:
    """One of them by id."""
    need_shared("seed_data", "littletai", "topologies.json")
    return next(row for row in data()[key] if row["id"] == name)


def topology_of(sysfs: dict[str, Any]) -> Topology:
    """The tree of a case as the files a phone would show."""
    files: dict[str, str] = {}
    if sysfs["online"] is not None:
        files[f"{CPU}/online"] = sysfs["online"] + "\n"
    for cpu in sysfs["cpus"]:
        root = f"{CPU}/cpu{cpu['id']}"
        if cpu["midr_el1"] is not None:
            files[f"{root}/regs/identification/midr_el1"] = cpu["midr_el1"] + "\n"
        if sysfs["per_cpu_cpufreq"] and cpu["cpuinfo_max_freq"] is not None:
            files[f"{root}/cpufreq/cpuinfo_max_freq"] = cpu["cpuinfo_max_freq"] + "\n"
        files.setdefault(f"{root}/online", "1\n")
    for policy in sysfs["policies"]:
        root = f"{CPU}/cpufreq/{policy['dir']}"
        files[f"{root}/related_cpus"] = policy["related_cpus"] + "\n"
        files[f"{root}/cpuinfo_max_freq"] = policy["cpuinfo_max_freq"] + "\n"
    return read_facts(snapshot_of(files)).topology


SAFER: dict[str, tuple[str, dict[str, tuple[str | None, int, int]]]] = {
    "p_online_dup": (
        "a CPU listed twice is one CPU: six cores, not eight",
        {"throughput": (None, 3, 4), "balanced": ("f", 3, 4), "background": ("38", 3, 3)},
    ),
    "p_bad_freq": (
        "a big core without a readable clock is not the slowest: the designs order the classes",
        {"throughput": (None, 4, 6), "balanced": ("cf", 4, 6), "background": ("3f", 4, 6)},
    ),
    "p_policy_partial": (
        "big cores whose policy is missing are not the slowest: the designs order the classes",
        {"throughput": (None, 4, 6), "balanced": ("cf", 4, 6), "background": ("3f", 4, 6)},
    ),
    "p_revision_split": (
        "two revisions of one design are one class",
        {"throughput": (None, 4, 6), "balanced": ("3f", 4, 6), "background": ("f0", 4, 4)},
    ),
    "p_midr_spelling": (
        "two spellings of one register are one class",
        {"throughput": (None, 4, 6), "balanced": ("3f", 4, 6), "background": ("f0", 4, 4)},
    ),
}
"""Cases marked unsafe upstream: why ours differs, and what ours gives: (mask, threads, batch threads)."""

CLASS_COUNTS = {"p_online_dup": 1, "p_bad_freq": 2, "p_policy_partial": 2, "p_revision_split": 1, "p_midr_spelling": 1}


@pytest.mark.parametrize("name", cases("topologies"))
def test_topology(name: str) -> None:
    row = case("topologies", name)
    topology = topology_of(row["sysfs"])
    expect = row["expect"]
    if "error" in expect:
        with pytest.raises(UsageError, match="no online CPUs"):
            preset_table(topology)
        return
    table = preset_table(topology)
    found = {p.name: (p.mask, p.threads, p.threads_batch) for p in table.presets}
    upstream = {
        key: (
            None if body["mask"] == "free" else body["mask"].removeprefix("0x"),
            body["threads"],
            body["threads_batch"],
        )
        for key, body in expect["presets"].items()
    }
    if name in SAFER:
        assert found == SAFER[name][1], SAFER[name][0]
        assert len(table.classes) == CLASS_COUNTS[name]
        return
    assert found == upstream
    assert table.online == expect["ncpu"]
    assert table.reserve == expect["reserve"]
    assert [set(group.cpus) for group in table.classes] == [set(c["cpus"]) for c in expect["classes_fastest_first"]]
    for key, body in expect["presets"].items():
        preset = table.preset(key)
        assert " ".join(prefix(preset)) == body["prefix"]
        assert settings(preset) == (body["flags"],)
        assert settings(preset, without_batch=True) == (body["flags_without_tb"],)
        assert " ".join((settings(preset)[0], *mask_flags(preset, MaskMode.CPUMASK))) == body["cpumask_mode_flags"]
        for runtime in ("onnxruntime", "tflite", "env"):
            assert list(settings(preset, runtime)) == body[runtime]
            assert runtime_format(runtime).inferred


def test_every_unsafe_case_really_differs() -> None:
    for name, (_, ours) in SAFER.items():
        expect = case("topologies", name)["expect"]
        upstream = {
            key: (
                None if body["mask"] == "free" else body["mask"].removeprefix("0x"),
                body["threads"],
                body["threads_batch"],
            )
            for key, body in expect["presets"].items()
        }
        differs = ours != upstream or len(expect["classes_fastest_first"]) != CLASS_COUNTS[name]
        assert differs, name


REFUSED_HERE = {
    "unknown_format_print": "an unknown format is refused, whatever is asked of it",
    "unknown_format_prefix": "an unknown format is refused, whatever is asked of it",
    "bad_mask_mode_flags": "a mistyped mask mode is refused; upstream drops the mask",
    "bad_mask_mode_prefix": "a mistyped mask mode is refused; upstream drops the mask",
}


@pytest.mark.parametrize("name", cases("cli_cases"))
def test_command_line_case(name: str) -> None:
    """Flags, masks and refusals of the cases; wording and exit status are this program's own."""
    row = case("cli_cases", name)
    table = preset_table(topology_of(case("topologies", data()["cli_topology"])["sysfs"]))
    argv, env = list(row["argv"]), row["env"]
    refused = row["exit_status"] != 0 or name in REFUSED_HERE
    if refused:
        with pytest.raises(UsageError):
            answer(table, argv, env)
        return
    if argv == ["--json"]:
        upstream = json.loads(row["stdout"])
        upstream.pop("clusters")
        assert json.loads(answer(table, argv, env)) == upstream
        return
    if name == "exec_env_wrapper":
        # Upstream looks at argv[0] only and so gives llama-bench a flag it exits on.
        assert answer(table, argv, env) == "taskset cf env A=1 ./llama-bench -t 4"
        return
    assert answer(table, argv, env) == normal(row["stdout"], argv), row["why"]


def normal(stdout: str, argv: list[str]) -> str:
    """What upstream printed, reduced to flags, masks and command words."""
    if argv[-2:-1] == ["--print"] or "--print" in argv:
        wanted = ("decode:", "prefill:", "threads:", "mask:")
        rows = [line.split() for line in stdout.splitlines() if line.startswith(wanted)]
        words = [" ".join(row[1:]) for row in rows]
        return " ".join(words).replace("(taskset)", "").replace("0x", "").strip()
    return stdout.rstrip("\n").replace("mask=cf argv=", "taskset cf ").replace("0x", "0x")


def answer(table: Any, argv: list[str], env: dict[str, str]) -> str:
    """Ours for the same question."""
    mode = mask_mode(env.get("MASK_MODE", "taskset"))
    without = env.get("NO_TB") == "1"
    kind = "llama"
    while argv[:1] == ["--format"] and len(argv) > 1:
        kind, argv = argv[1], argv[2:]
    runtime_format(kind)
    if argv == ["--json"]:
        return json.dumps(as_upstream(table), separators=(",", ":"))
    if len(argv) < 2:
        raise UsageError("nothing asked")
    verb, name = argv[0], argv[1]
    if verb in ("--flags", "--prefix", "--print"):
        preset = table.preset(name)
        if verb == "--prefix":
            return " ".join(prefix(preset, mode))
        lines = settings(preset, kind, without_batch=without)
        if verb == "--flags":
            return "\n".join((" ".join((*lines[0:1], *mask_flags(preset, mode))), *lines[1:]))
        mask = preset.mask or "free"
        if kind != "llama":
            return f"{preset.generic_threads} {mask}"
        return f"-t {preset.threads} -tb {preset.threads_batch} {mask}"
    if verb.startswith("--"):
        raise UsageError(f"unknown option {verb}")
    preset = table.preset(verb)
    if argv[1] != "--":
        raise UsageError("expected -- before the command")
    words = list(command_line(preset, argv[2:], mode=mode, name=kind, without_batch=without))
    place = words.index("taskset") + 2 if words[0] == "taskset" else 0
    words[place] = words[place].rsplit("/", 1)[-1]
    return " ".join(words)


def as_upstream(table: Any) -> dict[str, Any]:
    """Our table in the shape of upstream's --json."""
    return {
        "ncpu": table.online,
        "nclusters": len(table.classes),
        "presets": {
            p.name: {
                "threads": p.threads,
                "threads_batch": p.threads_batch,
                "mask": "free" if p.mask is None else f"0x{p.mask}",
            }
            for p in table.presets
        },
    }


def test_a_wrapper_does_not_hide_llama_bench() -> None:
    assert program_of(["env", "A=1", "./llama-bench"]) == "llama-bench"
    assert program_of(["nice", "-n", "5", "/x/llama-bench-kai"]) == "llama-bench-kai"
    assert program_of(["./llama-cli", "llama-bench"]) == "llama-cli"
    assert program_of([]) == ""
