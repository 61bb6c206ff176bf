"""RunStore: every run ever made, plain folders on the disk with an index that makes them quick to list."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from entity_tui.errors import EntityError, UsageError
from entity_tui.records.arms_table import ArmLine, arm_lines
from entity_tui.records.files import RecordError
from entity_tui.records.index import Index, RunEntry
from entity_tui.records.query import Condition, condition, ordering
from entity_tui.records.run_directory import RUN_FILE, SESSION_NAME, RunDirectory, RunInfo
from entity_tui.records.schema import Row

BATCH = 500


@dataclass(frozen=True, slots=True)
class Page:
    """The runs of one screen and how many match in all."""

    entries: tuple[RunEntry, ...]
    matching: int


class RunStore:
    """The runs below `directory`: `runs/<session_id>/…` are the record, `index.sqlite` is a cache of them.

    Opening compares the folder's own time stamp with the one the index remembers and reads only what is new, so
    100 000 runs open at once. Deleting `index.sqlite` loses nothing.
    """

    def __init__(self, directory: Path) -> None:
        """Open the store, making the folders that are missing. RecordError when the disk refuses."""
        self.directory = directory
        self.runs_directory = directory / "runs"
        try:
            self.runs_directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RecordError(
                f"cannot keep runs in {directory}", detail=str(error), fix="check the path and its permissions"
            ) from error
        self._index = Index(directory / "index.sqlite")
        self.unreadable: tuple[str, ...] = ()
        """Folders that are there but cannot be read as a run; they are left alone."""
        self.refresh(everything=self._index.fresh)

    def close(self) -> None:
        """Let go of the index."""
        self._index.close()

    def __enter__(self) -> RunStore:
        """The store itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Closes the store."""
        self.close()

    def run(self, session_id: str) -> RunDirectory:
        """The folder of a run that need not exist yet. UsageError for an id that cannot be a folder name."""
        if not SESSION_NAME.match(session_id):
            raise UsageError("there is no such run", detail=session_id, fix="entity-tui history list")
        return RunDirectory(self.runs_directory / session_id)

    def find(self, session_id: str) -> RunDirectory:
        """The folder of an existing run, by its id or the only one that starts so. UsageError when there is none."""
        if SESSION_NAME.match(session_id):
            exact = self.run(session_id)
            if (exact.path / RUN_FILE).exists():
                return exact
            near = [entry.session_id for entry in self._starting_with(session_id)]
            if len(near) == 1:
                return self.run(near[0])
            if near:
                raise UsageError(f"{session_id} names more than one run", detail=", ".join(near), fix="type more of it")
        raise UsageError(f"there is no run {session_id}", fix="entity-tui history list")

    def _starting_with(self, text: str) -> tuple[RunEntry, ...]:
        escaped = text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        return self._index.select("session_id LIKE ? ESCAPE '\\'", (f"{escaped}%",), limit=5)

    def create(self, info: RunInfo, *, plan: str = "", device: str = "") -> RunDirectory:
        """Begin a run: its folder with run.json, plan and snapshot. UsageError when the session already exists."""
        self.refresh()
        run = self.run(info.session_id)
        if (run.path / RUN_FILE).exists():
            raise UsageError(f"the run {info.session_id} exists already", fix="attach to it or start a new session")
        if plan:
            run.write_plan(plan)
        if device:
            run.write_device(device)
        run.write_info(info)
        self.update(info.session_id)
        return run

    def save(self, info: RunInfo, rows: Iterable[Row]) -> RunDirectory:
        """Write the rows and the run's own line, then index it; used at every finished cell and at the end."""
        run = self.run(info.session_id)
        run.write_rows(rows)
        run.write_info(info)
        self.update(info.session_id)
        return run

    def update(self, session_id: str) -> None:
        """Index one run again from its files.

        An index that is locked by somebody else is left behind: the files are the record, and the next opening reads
        what is new or was in flight.
        """
        line = self._line(self.run(session_id))
        with contextlib.suppress(sqlite3.OperationalError):
            self._index.put([line])
            self._remember_folder()

    def refresh(self, *, everything: bool = False) -> None:
        """Bring the index in line with the folders: new ones in, vanished ones out, all of them when `everything`.

        Runs that the index believes to be running are read again: their last line may have been written in a crash.
        """
        if not everything and self._index.about("folder") == self._folder_stamp():
            self._put(self._index.running())
            return
        present = {entry.name for entry in os.scandir(self.runs_directory) if SESSION_NAME.match(entry.name)}
        known = frozenset() if everything else self._index.session_ids()
        self._index.remove(self._index.session_ids() - present)
        self._put(sorted(present - known))
        self._remember_folder()

    def _put(self, session_ids: Iterable[str]) -> None:
        unreadable: list[str] = []
        batch: list[tuple[RunInfo, Sequence[ArmLine], Sequence[str]]] = []
        for name in session_ids:
            try:
                batch.append(self._line(RunDirectory(self.runs_directory / name)))
            except EntityError:
                unreadable.append(name)
            if len(batch) >= BATCH:
                self._index.put(batch)
                batch = []
        self._index.put(batch)
        self.unreadable = tuple(unreadable)

    def select(
        self, line: str = "", *, now: datetime, order: str = "when", limit: int = 200, offset: int = 0
    ) -> tuple[RunEntry, ...]:
        """The runs a filter line selects (see `query.condition`). UsageError for a term that cannot be meant."""
        chosen = self._condition(line, now)
        return self._index.select(chosen.where, chosen.parameters, order=ordering(order), limit=limit, offset=offset)

    def page(self, line: str = "", *, now: datetime, order: str = "when", limit: int = 200) -> Page:
        """The first runs a filter line selects, and how many there are: one scan where they all fit."""
        found = self.select(line, now=now, order=order, limit=limit)
        return Page(found, len(found) if len(found) < limit else self.count(line, now=now))

    def repeating(self, repeats: str) -> tuple[RunEntry, ...]:
        """The sessions of one repetition (`RunInfo.repeats`), oldest first."""
        return self._index.select("repeats = ?", (repeats,), order="started_utc, session_id", limit=BATCH)

    def count(self, line: str = "", *, now: datetime) -> int:
        """How many runs a filter line selects."""
        chosen = self._condition(line, now)
        return self._index.count(chosen.where, chosen.parameters)

    def rows(self, session_ids: Iterable[str]) -> Iterator[Row]:
        """The tidy rows of several runs, one run after the other."""
        for session_id in session_ids:
            yield from self.find(session_id).rows()

    def tag(self, session_id: str, tags: Iterable[str]) -> tuple[str, ...]:
        """Replace a run's tags and return them sorted."""
        run = self.find(session_id)
        run.write_tags(tags)
        self.update(run.session_id)
        return run.tags()

    def delete(self, session_id: str) -> None:
        """Remove a run's folder for good, then its line. RecordError when the disk refuses."""
        run = self.find(session_id)
        try:
            shutil.rmtree(run.path)
        except OSError as error:
            raise RecordError(
                f"cannot delete {run.session_id}", detail=str(error), fix="check the folder's permissions"
            ) from error
        self._index.remove([run.session_id])
        self._remember_folder()

    def _condition(self, line: str, now: datetime) -> Condition:
        return condition(line, now)

    def _line(self, run: RunDirectory) -> tuple[RunInfo, Sequence[ArmLine], Sequence[str]]:
        return run.info(), arm_lines(run.rows()), run.tags()

    def _folder_stamp(self) -> str:
        return str(self.runs_directory.stat().st_mtime_ns)

    def _remember_folder(self) -> None:
        self._index.remember("folder", self._folder_stamp())
