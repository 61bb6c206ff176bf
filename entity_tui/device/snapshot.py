"""A Snapshot: every raw text a device gave in one round trip, each with its outcome; the unit of exchange."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any

SCHEMA_VERSION = 1


class Outcome(StrEnum):
    """What happened when something was read. None of the failures is the number 0."""

    OK = "ok"
    DENIED = "denied"
    ABSENT = "absent"
    TIMEOUT = "timeout"
    TRANSIENT = "transient"
    SUSPECT = "suspect"


@dataclass(frozen=True, slots=True)
class Reading:
    """One raw text: a file's content or a command's output, exactly as the device gave it.

    `text` is empty unless `outcome` is ok or suspect; `detail` holds the device's own words for a failure.
    """

    source: str
    outcome: Outcome
    text: str = ""
    detail: str = ""
    duration_ms: float | None = None

    @property
    def ok(self) -> bool:
        """True when there is text to parse."""
        return self.outcome is Outcome.OK


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a device said in one round trip.

    `files` is keyed by absolute path, `commands` by the command line as typed on the device (`dumpsys battery`),
    `props` by property name. A key that is not there was never asked for, which is not the same as absent.
    """

    files: Mapping[str, Reading] = field(default_factory=lambda: MappingProxyType({}))
    commands: Mapping[str, Reading] = field(default_factory=lambda: MappingProxyType({}))
    props: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    taken_at_utc: str = ""
    """ISO 8601, UTC, of the host when the probe was sent; empty when unknown."""
    device_spec: str = ""
    """How the device was reached (`adb:…`); empty for a file."""
    simulated: bool = False
    transport: str = ""
    redacted: bool = False
    origin: str = ""
    """Where a snapshot that was not taken by us comes from."""

    def file(self, path: str) -> Reading:
        """The reading of `path`; one that was never made reads as absent with the detail `not read`."""
        return self.files.get(path) or Reading(path, Outcome.ABSENT, detail="not read")

    def command(self, line: str) -> Reading:
        """The reading of a command line; one that was never run reads as absent with the detail `not run`."""
        return self.commands.get(line) or Reading(line, Outcome.ABSENT, detail="not run")


def to_json(snapshot: Snapshot) -> dict[str, Any]:
    """The snapshot as plain JSON values, stable in order."""

    def readings(items: Mapping[str, Reading]) -> dict[str, dict[str, Any]]:
        rows: dict[str, dict[str, Any]] = {}
        for key in sorted(items):
            reading = items[key]
            row: dict[str, Any] = {"outcome": reading.outcome.value}
            if reading.text:
                row["text"] = reading.text
            if reading.detail:
                row["detail"] = reading.detail
            if reading.duration_ms is not None:
                row["duration_ms"] = reading.duration_ms
            rows[key] = row
        return rows

    return {
        "entity_snapshot": SCHEMA_VERSION,
        "taken_at_utc": snapshot.taken_at_utc,
        "device_spec": snapshot.device_spec,
        "transport": snapshot.transport,
        "simulated": snapshot.simulated,
        "redacted": snapshot.redacted,
        "origin": snapshot.origin,
        "props": dict(sorted(snapshot.props.items())),
        "files": readings(snapshot.files),
        "commands": readings(snapshot.commands),
    }


def dumps(snapshot: Snapshot) -> str:
    """The snapshot as JSON text with a final newline."""
    return json.dumps(to_json(snapshot), indent=1, ensure_ascii=False) + "\n"
