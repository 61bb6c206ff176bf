"""Reading a flat plan back: a laptop that comes late takes the plan from the device, not from its memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from entity_tui.errors import UsageError
from entity_tui.experiments.flatplan import (
    PLAN_VERSION,
    ClockCap,
    FileCheck,
    GatePlan,
    GateSensor,
    Launch,
    OnTimeout,
    RunnerCell,
    RunnerPlan,
    SampleNode,
)


def parse_plan(text: str) -> RunnerPlan:
    """The plan that `render` wrote. Raises UsageError for a text that is cut, of another version, or no plan at all."""
    lines = iter(text.split("\n"))  # not splitlines: an argument may hold U+2028
    if next(lines, "") != f"entity-plan {PLAN_VERSION}":
        raise UsageError("This is not a run plan that this version can read.", detail=text[:60])
    try:
        return _head(lines)
    except (ValueError, IndexError, KeyError, StopIteration) as error:
        raise UsageError("The run plan is damaged.", detail=str(error)) from error


@dataclass(slots=True)
class _Draft:
    """What has been read so far."""

    values: dict[str, str] = field(default_factory=dict)
    nodes: list[SampleNode] = field(default_factory=list)
    files: list[FileCheck] = field(default_factory=list)
    exits: dict[int, str] = field(default_factory=dict)
    stderr: list[tuple[str, str]] = field(default_factory=list)
    replaced: list[str] = field(default_factory=list)
    gate: GatePlan = field(default_factory=lambda: GatePlan(skip=True))
    cells: list[RunnerCell] = field(default_factory=list)


def _head(lines: Iterator[str]) -> RunnerPlan:
    draft = _Draft()
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "end":
            return _finished(draft)
        if word == "cell":
            draft.cells.append(_cell(rest, lines))
        elif word == "node":
            name, _, path = rest.partition(" ")
            draft.nodes.append(SampleNode(name, path))
        elif word == "file":
            size, digest, path = rest.split(" ", 2)
            draft.files.append(FileCheck(path, int(size), "" if digest == "-" else digest))
        elif word == "exit":
            code, _, state = rest.partition(" ")
            draft.exits[int(code)] = state
        elif word == "stderr":
            state, _, words = rest.partition(" ")
            draft.stderr.append((words, state))
        elif word == "replace":
            draft.replaced.append(rest)
        elif word in ("gate", "sensor", "cap"):
            draft.gate = _gate(draft.gate, word, rest)
        else:
            draft.values[word] = rest
    raise StopIteration("the last line is missing")


def _finished(draft: _Draft) -> RunnerPlan:
    values = draft.values
    milli = values.get("safety_mc")
    return RunnerPlan(
        session_id=values["session"],
        plan_hash=values["plan_hash"],
        boot_id=values.get("boot_id", ""),
        cells=tuple(draft.cells),
        gate=draft.gate,
        nodes=tuple(draft.nodes),
        period_ms=int(values["period_cs"]) * 10,
        heartbeat_s=int(values["heartbeat_cs"]) / 100,
        battery_min_pct=_optional(values.get("battery_min_pct")),
        free_min_mb=_optional(values.get("free_min_mb")),
        safety_temp_c=None if milli is None else int(milli) / 1000,
        safety_status=_optional(values.get("safety_status")),
        files=tuple(draft.files),
        recorder_mask=values.get("recorder_mask"),
        owed_blocks=int(values.get("owed", "0")),
        replace_states=tuple(draft.replaced),
        exit_states=MappingProxyType(draft.exits),
        stderr_states=tuple(draft.stderr),
    )


def _gate(gate: GatePlan, word: str, rest: str) -> GatePlan:
    if word == "sensor":
        milli, _, source = rest.partition(" ")
        return replace(gate, sensors=(*gate.sensors, GateSensor(source, 1000 // int(milli))))
    if word == "cap":
        khz, _, path = rest.partition(" ")
        return replace(gate, caps=(*gate.caps, ClockCap(path, int(khz))))
    mode, limit, minimum, timeout, poll, on_timeout, dwell, status = rest.split(" ")
    if mode == "skip":
        return GatePlan(skip=True)
    return GatePlan(
        limit_c=int(limit) / 1000,
        minimum_s=int(minimum) / 100,
        timeout_s=int(timeout) / 100,
        poll_s=int(poll) / 100,
        on_timeout=OnTimeout(on_timeout),
        sensorless_dwell_s=None if dwell == "-" else int(dwell) / 100,
        throttle_status=status == "1",
    )


def _cell(rest: str, lines: Iterator[str]) -> RunnerCell:
    number, attempt, block, position, role, reserve, arm, key = rest.split(" ")
    launches: list[Launch] = []
    gate: GatePlan | None = None
    for line in lines:
        word, _, value = line.partition(" ")
        if word == "go":
            break
        if word in ("gate", "sensor", "cap"):
            gate = _gate(gate or GatePlan(), word, value)
        elif word == "launch":
            phase, threads, wall = value.split(" ")
            launches.append(Launch(phase, (), int(threads), wall_limit_s=int(wall) / 100))
        else:
            launches[-1] = _launch_line(launches[-1], word, value)
    else:
        raise StopIteration(f"cell {number} is cut off")
    return RunnerCell(
        number=int(number),
        key=key,
        arm=arm,
        block=int(block),
        position=int(position),
        launches=tuple(launches),
        role=role,
        attempt=int(attempt),
        reserve=reserve == "1",
        gate=gate,
    )


def _launch_line(launch: Launch, word: str, value: str) -> Launch:
    if word == "mask":
        return replace(launch, mask=value.split(" ", 1)[0])
    if word == "dir":
        return replace(launch, directory=value)
    if word == "env":
        name, _, text = value.partition(" ")
        return replace(launch, env=(*launch.env, (name, text)))
    if word == "arg":
        return replace(launch, argv=(*launch.argv, value))
    raise ValueError(f"unknown line: {word} {value}")


def _optional(text: str | None) -> int | None:
    return None if text is None else int(text)
