"""Running runner.sh to its end on this computer with small workloads, and reading what it wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from entity_tui.agent import script
from entity_tui.experiments.flatplan import GatePlan, Launch, RunnerCell, RunnerPlan, render
from entity_tui.records.journal import CellEvent, Event, EventKind, parse_journal
from tests.agent.toolsets import Toolset

OPEN_GATE = GatePlan(minimum_s=0, sensorless_dwell_s=0)


def sh(text: str, *, phase: str = "decode", threads: int = 1, mask: str | None = None, **more: object) -> Launch:
    """A launch of a small shell text."""
    argv = ("/bin/sh", "-c", text)
    return replace(Launch(phase, argv, threads, mask), **more)  # type: ignore[arg-type]


def cell(number: int, *launches: Launch, **more: object) -> RunnerCell:
    """A cell of one block of its own unless `more` says otherwise."""
    given = {"key": f"key{number}", "arm": "naive", "block": number, "position": 1, **more}
    return RunnerCell(number=number, launches=launches or (sh("echo out; echo err >&2"),), **given)  # type: ignore[arg-type]


def plan(*cells: RunnerCell, session: str = "s1", **more: object) -> RunnerPlan:
    """A plan with an open gate and no limits that this computer could miss."""
    given: dict[str, object] = {
        "gate": OPEN_GATE,
        "battery_min_pct": None,
        "free_min_mb": None,
        "heartbeat_s": 0.5,
        **more,
    }
    return RunnerPlan(session, "hash1", "", tuple(cells), **given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Ran:
    """A runner that ended."""

    code: int
    directory: Path
    events: tuple[Event, ...]
    error: str
    said: str

    @property
    def cells(self) -> list[CellEvent]:
        """Finished cells in their order."""
        return [event for event in self.events if isinstance(event, CellEvent)]

    @property
    def states(self) -> list[str]:
        """Their states."""
        return [event.state for event in self.cells]

    def last(self) -> Event:
        """The last line."""
        return self.events[-1]

    def text(self, path: str) -> str:
        """A file of the run folder."""
        return (self.directory / path).read_text()


@dataclass
class Bench:
    """One place on this computer where runners run, under one shell and tool collection."""

    toolset: Toolset
    root: Path

    def directory(self, what: RunnerPlan) -> Path:
        """The folder of a plan's session, with the plan in it."""
        directory = self.root / "runs" / what.session_id
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "plan.flat").write_text(render(what))
        return directory

    def argv(self, directory: Path, text: str = "") -> list[str]:
        """The command line of the runner."""
        (directory / "runner.sh").write_text(text or script("runner"))
        return [
            *self.toolset.shell,
            *map(str, (directory / "runner.sh", directory, directory / "plan.flat", self.root)),
        ]

    def start(self, what: RunnerPlan, *, text: str = "", **env: str) -> subprocess.Popen[str]:
        """The runner as its own process group, as `spawn` starts it."""
        directory = self.directory(what)
        return subprocess.Popen(
            self.argv(directory, text),
            env=self.toolset.environment(env),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, what: RunnerPlan, *, text: str = "", **env: str) -> Ran:
        """The runner from start to end."""
        process = self.start(what, text=text, **env)
        said, error = process.communicate(timeout=40)
        return self.read(what, process.returncode, error, said)

    def read(self, what: RunnerPlan, code: int = 0, error: str = "", said: str = "") -> Ran:
        """What stands in the run's folder now."""
        directory = self.root / "runs" / what.session_id
        journal = directory / "journal"
        events = parse_journal(journal.read_bytes()) if journal.exists() else ()
        return Ran(code, directory, events, error, said)


def kinds(events: Sequence[Event]) -> list[EventKind]:
    """The kinds of the events, beats left out: how many there are depends on the clock."""
    return [event.kind for event in events if event.kind is not EventKind.BEAT]
