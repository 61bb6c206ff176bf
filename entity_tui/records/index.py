"""The SQLite index over run folders: a cache that can be thrown away, never the record itself."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import threading
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from entity_tui.records.arms_table import ArmLine
from entity_tui.records.files import RecordError
from entity_tui.records.run_directory import RunInfo

INDEX_VERSION = 4

RUN_COLUMNS = (
    "session_id",
    "started_utc",
    "kind",
    "experiment",
    "state",
    "device",
    "device_id_hash",
    "transport",
    "simulated",
    "model",
    "quant",
    "engine",
    "build",
    "source",
    "repeats",
    "tags",
    "flags",
    "arm",
    "cells",
    "decode_tok_s",
    "power_w",
    "tok_per_w",
)
"""What can be filtered and ordered by, in the index's own order; `arm` to `tok_per_w` are the headline arm's."""

NUMBERS = frozenset({"cells", "decode_tok_s", "power_w", "tok_per_w", "simulated"})

_ABOUT = "CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID"
_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS runs (
  {", ".join(f"{name} {'REAL' if name in NUMBERS else 'TEXT'}" for name in RUN_COLUMNS)},
  words TEXT NOT NULL,
  PRIMARY KEY (started_utc DESC, session_id DESC)
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS runs_by_id ON runs (session_id);
CREATE INDEX IF NOT EXISTS runs_in_flight ON runs (session_id) WHERE state = 'running';
CREATE TABLE IF NOT EXISTS arms (session_id TEXT PRIMARY KEY, arms TEXT NOT NULL) WITHOUT ROWID;
"""


MOST_PARAMETERS = 500
"""Fewer than any build of SQLite allows in one statement."""

RUNNING = "SELECT session_id FROM runs WHERE state = 'running'"


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One run as a list shows it; numbers are the headline arm's medians, None when missing."""

    session_id: str
    started_utc: str
    kind: str
    experiment: str
    state: str
    device: str
    device_id_hash: str
    transport: str
    simulated: bool
    model: str
    quant: str
    engine: str
    build: str
    source: str
    repeats: str
    tags: tuple[str, ...]
    flags: tuple[str, ...]
    arm: str
    cells: int
    decode_tok_s: float | None
    power_w: float | None
    tok_per_w: float | None
    arms: tuple[ArmLine, ...] = ()


class Index:
    """The open index. Every change is one transaction; a damaged file is replaced by an empty one. Threads share it.

    `fresh` is true when the file was made just now (or replaced), so that the caller fills it from the folders.
    """

    def __init__(self, path: Path) -> None:
        """Open or make the index at `path`. RecordError when it is locked for long, or the folder cannot be written."""
        self.path = path
        self._lock = threading.RLock()
        self.fresh = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = self._open_or_replace()
        except (sqlite3.Error, OSError) as error:
            raise RecordError(
                "the index of runs cannot be opened",
                detail=f"{path}: {error}",
                fix="end another entity-tui that hangs, or check the folder's permissions",
            ) from error

    def _open_or_replace(self) -> sqlite3.Connection:
        try:
            return self._open()
        except sqlite3.OperationalError:
            raise  # locked or not writable: somebody may be using it, so it is not ours to replace
        except sqlite3.DatabaseError:
            self._remove_file()
            self.fresh = True
            return self._open()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=10.0, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(_ABOUT)
            held = connection.execute("SELECT value FROM about WHERE key = 'version'").fetchone()
            if held is not None and held[0] != str(INDEX_VERSION):
                raise sqlite3.DatabaseError("another version of the index")
            connection.executescript(_SCHEMA)
            with connection:
                connection.execute("INSERT OR REPLACE INTO about VALUES ('version', ?)", (str(INDEX_VERSION),))
        except sqlite3.DatabaseError:
            connection.close()
            raise
        return connection

    def _remove_file(self) -> None:
        for suffix in ("", "-wal", "-shm"):
            with contextlib.suppress(FileNotFoundError):
                self.path.with_name(self.path.name + suffix).unlink()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def about(self, key: str) -> str:
        """A remembered text about the folders; empty when unknown."""
        with self._lock:
            found = self._connection.execute("SELECT value FROM about WHERE key = ?", (key,)).fetchone()
        return str(found[0]) if found else ""

    def remember(self, key: str, value: str) -> None:
        """Keep a text about the folders."""
        with self._lock, self._connection:
            self._connection.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (key, value))

    def put(self, lines: Iterable[tuple[RunInfo, Sequence[ArmLine], Sequence[str]]]) -> None:
        """Insert or replace runs: info, arm lines and tags of each, in one transaction."""
        marks = ", ".join("?" for _ in range(len(RUN_COLUMNS) + 1))
        given = list(lines)
        with self._lock, self._connection:
            self._connection.executemany(
                f"INSERT OR REPLACE INTO runs ({', '.join(RUN_COLUMNS)}, words) VALUES ({marks})",
                (_values(info, arms, tags) for info, arms, tags in given),
            )
            self._connection.executemany(
                "INSERT OR REPLACE INTO arms VALUES (?, ?)",
                ((info.session_id, _arms_json(arms)) for info, arms, _ in given),
            )

    def remove(self, session_ids: Iterable[str]) -> None:
        """Forget runs; their folders are the caller's business."""
        gone = [(name,) for name in session_ids]
        with self._lock, self._connection:
            self._connection.executemany("DELETE FROM runs WHERE session_id = ?", gone)
            self._connection.executemany("DELETE FROM arms WHERE session_id = ?", gone)

    def session_ids(self) -> frozenset[str]:
        """Every indexed session."""
        with self._lock:
            return frozenset(str(row[0]) for row in self._connection.execute("SELECT session_id FROM runs"))

    def count(self, where: str = "1", parameters: Sequence[object] = ()) -> int:
        """How many runs a condition of `query.condition` selects."""
        with self._lock:
            found = self._connection.execute(f"SELECT count(*) FROM runs WHERE {where}", tuple(parameters)).fetchone()
        return int(found[0])

    def select(
        self,
        where: str = "1",
        parameters: Sequence[object] = (),
        *,
        order: str = "started_utc DESC, session_id DESC",
        limit: int = 200,
        offset: int = 0,
    ) -> tuple[RunEntry, ...]:
        """The runs a condition of `query.condition` selects. `order` comes from `query.ordering`, never from a user."""
        with self._lock:
            rows = self._connection.execute(
                f"SELECT {', '.join(RUN_COLUMNS)} FROM runs WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
                (*parameters, limit, offset),
            ).fetchall()
            arms = self._arms_of([str(row[0]) for row in rows])
        return tuple(_entry(row, arms.get(str(row[0]), ())) for row in rows)

    def running(self) -> tuple[str, ...]:
        """The sessions that the index believes to be in flight."""
        with self._lock:
            return tuple(str(row[0]) for row in self._connection.execute(RUNNING))

    def _arms_of(self, session_ids: Sequence[str]) -> dict[str, tuple[ArmLine, ...]]:
        found: dict[str, tuple[ArmLine, ...]] = {}
        for start in range(0, len(session_ids), MOST_PARAMETERS):
            some = session_ids[start : start + MOST_PARAMETERS]
            marks = ", ".join("?" for _ in some)
            for session_id, text in self._connection.execute(
                f"SELECT session_id, arms FROM arms WHERE session_id IN ({marks})", tuple(some)
            ):
                lines = ({**item, "flags": tuple(item["flags"])} for item in json.loads(text))
                found[str(session_id)] = tuple(ArmLine(**line) for line in lines)
        return found


def _values(info: RunInfo, arms: Sequence[ArmLine], tags: Sequence[str]) -> tuple[object, ...]:
    measured = [line for line in arms if line.decode_tok_s is not None]
    best = max(measured, key=lambda line: line.decode_tok_s or 0.0, default=None)
    head = best or (arms[0] if arms else None)
    flags = sorted({flag for line in arms for flag in line.flags})
    named = (info.session_id, info.device_name, info.model_name, info.experiment, *(line.arm for line in arms), *tags)
    words = " ".join(named)
    return (
        info.session_id,
        info.started_utc,
        info.kind,
        info.experiment,
        info.state,
        info.device_name,
        info.device_id_hash,
        info.transport,
        int(info.simulated),
        info.model_name,
        info.model_quant,
        info.engine,
        info.engine_build,
        info.source,
        info.repeats,
        "".join(f",{tag}" for tag in sorted(tags)) + ("," if tags else ""),
        " ".join(flags),
        head.arm if head else "",
        sum(line.cells for line in arms),
        head.decode_tok_s if head else None,
        head.power_w if head else None,
        head.tok_per_w if head else None,
        words.lower(),
    )


def _arms_json(arms: Sequence[ArmLine]) -> str:
    return json.dumps([asdict(line) for line in arms], separators=(",", ":"))


def _entry(row: Sequence[object], arms: tuple[ArmLine, ...]) -> RunEntry:
    values = dict(zip(RUN_COLUMNS, row, strict=False))
    values["simulated"] = bool(values["simulated"])
    values["cells"] = int(float(str(values["cells"] or 0)))
    values["tags"] = tuple(tag for tag in str(values["tags"]).split(",") if tag)
    values["flags"] = tuple(str(values["flags"]).split())
    return RunEntry(**values, arms=arms)  # type: ignore[arg-type]
