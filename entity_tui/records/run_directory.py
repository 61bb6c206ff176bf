"""One run on the disk: plain files a reader can open without us, each written whole or appended and flushed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from entity_tui.errors import UsageError
from entity_tui.records.export import read_tidy_csv, write_tidy_csv
from entity_tui.records.files import read_text, write_at, write_whole
from entity_tui.records.schema import Row

RUN_FILE = "run.json"
PLAN_FILE = "plan.json"
DEVICE_FILE = "device.json"
JOURNAL_FILE = "journal"
ROWS_FILE = "rows.csv"
SAMPLES_FILE = "samples.csv"
VERDICTS_FILE = "verdicts.csv"
TABLES_FILE = "tables.csv"
FACTORS_FILE = "factors.csv"
TAGS_FILE = "tags"
EXTERNAL_FILE = "external.csv"

SESSION_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")
"""A session id becomes a folder name, so nothing else is accepted."""


@dataclass(frozen=True, slots=True)
class RunInfo:
    """What a list shows of a run; the rest is in its rows. Times are ISO 8601 in UTC.

    `kind` is bench, placement, compare, chat, … (runs are ordered and compared within a kind); `state` is `running`,
    `done`, `cancelled`, or the state that ended it; `source` is empty for our own runs, else the origin of an import.
    """

    session_id: str
    started_utc: str
    kind: str = "bench"
    experiment: str = ""
    state: str = "running"
    device_name: str = ""
    device_id_hash: str = ""
    os_build: str = ""
    transport: str = ""
    simulated: bool = False
    clock_factor: float = 1.0
    model_name: str = ""
    model_quant: str = ""
    model_sha256: str = ""
    engine: str = ""
    engine_build: str = ""
    continues: str = ""
    """The session this one continues after a changed boot, model or plan."""
    repeats: str = ""
    """Shared by the sessions of one plan that replicate each other (overnight)."""
    source: str = ""
    note: str = ""
    extra: dict[str, Any] = field(default_factory=dict)


class RunDirectory:
    """The folder of one run. Nothing is held in memory: every method reads or writes the files."""

    def __init__(self, path: Path) -> None:
        """`path` is the folder; it need not exist until the first write."""
        self.path = path

    @property
    def session_id(self) -> str:
        """The folder's name, which is the session's id."""
        return self.path.name

    def write_info(self, info: RunInfo) -> None:
        """Write run.json whole. UsageError when the id cannot be a folder name, RecordError when the disk refuses."""
        if not SESSION_NAME.match(info.session_id):
            raise UsageError("a session id may hold letters, digits, dot, dash and underscore", detail=info.session_id)
        write_whole(self.path / RUN_FILE, json.dumps(asdict(info), indent=1, ensure_ascii=False) + "\n")

    def info(self) -> RunInfo:
        """What run.json says, without a newer version's unknown keys. RecordError or UsageError when unreadable."""
        text = read_text(self.path / RUN_FILE)
        try:
            values = json.loads(text)
            known = {item.name for item in fields(RunInfo)}
            return RunInfo(**{key: value for key, value in values.items() if key in known})
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"{RUN_FILE} of {self.session_id} cannot be read", detail=str(error)) from error

    def write_plan(self, text: str) -> None:
        """Store the plan's canonical JSON."""
        write_whole(self.path / PLAN_FILE, text)

    def plan_text(self) -> str:
        """The plan's canonical JSON; empty where none was stored (an imported run)."""
        return self._optional(PLAN_FILE)

    def write_device(self, text: str) -> None:
        """Store the snapshot the run was planned from, as JSON text."""
        write_whole(self.path / DEVICE_FILE, text)

    def device_text(self) -> str:
        """The stored snapshot as JSON text; empty where none was stored."""
        return self._optional(DEVICE_FILE)

    def extend_journal(self, data: bytes, offset: int) -> None:
        """Store what the phone's journal gained from `offset` on, which was `journal_size` when it was read."""
        write_at(self.path / JOURNAL_FILE, data, offset)

    def journal(self) -> bytes:
        """The journal as far as it was followed; empty when there is none."""
        path = self.path / JOURNAL_FILE
        return path.read_bytes() if path.exists() else b""

    def journal_size(self) -> int:
        """How many bytes of the phone's journal are stored here."""
        path = self.path / JOURNAL_FILE
        return path.stat().st_size if path.exists() else 0

    def write_rows(self, rows: Iterable[Row]) -> Path:
        """Write the tidy CSV of the run whole and return its path."""
        return write_tidy_csv(rows, self.path / ROWS_FILE)

    def rows(self) -> tuple[Row, ...]:
        """The rows of the tidy CSV; empty where there is none yet."""
        path = self.path / ROWS_FILE
        return read_tidy_csv(path) if path.exists() else ()

    def write_file(self, name: str, content: str | bytes) -> Path:
        """Store another plain file of the run (samples.csv, verdicts.csv, raw outputs below `cells/`)."""
        path = self.path / name
        if path.resolve().is_relative_to(self.path.resolve()):
            write_whole(path, content)
            return path
        raise UsageError("a file of a run lies inside its folder", detail=name)

    def text(self, name: str) -> str:
        """The text of one of the run's files; empty where it is absent."""
        return self._optional(name)

    def tags(self) -> tuple[str, ...]:
        """The user's tags, one a line in a file beside the run, sorted."""
        return tuple(sorted({line.strip() for line in self._optional(TAGS_FILE).splitlines() if line.strip()}))

    def write_tags(self, tags: Iterable[str]) -> None:
        """Replace the tags. UsageError for a tag with a comma or a line break."""
        wanted = sorted({tag.strip() for tag in tags if tag.strip()})
        for tag in wanted:
            if any(mark in tag for mark in ",\n\r\t"):
                raise UsageError("a tag is one word or phrase without commas and tabs", detail=tag)
        write_whole(self.path / TAGS_FILE, "".join(f"{tag}\n" for tag in wanted))

    def _optional(self, name: str) -> str:
        path = self.path / name
        return read_text(path) if path.exists() else ""
