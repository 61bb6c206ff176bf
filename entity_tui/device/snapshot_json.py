"""Snapshots from JSON: our own files, and the plain form (`files` and `props`) that collections of dumps use."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from entity_tui.device.snapshot import SCHEMA_VERSION, Outcome, Reading, Snapshot
from entity_tui.errors import UsageError

FIX = "entity-tui snapshot save FILE makes one from a device."


def loads(text: str) -> Snapshot:
    """The snapshot in a JSON text. Raises UsageError when it is not JSON, not a snapshot, or from a newer version."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError("The snapshot is not readable JSON.", detail=str(error), fix=FIX) from error
    if not isinstance(data, dict):
        raise UsageError("The file is not a snapshot.", fix=FIX)
    if "entity_snapshot" in data:
        return _own(data)
    if isinstance(data.get("files"), dict):
        return _plain(data)
    raise UsageError("The file is not a snapshot.", detail="it has neither entity_snapshot nor files", fix=FIX)


def _own(data: Mapping[str, Any]) -> Snapshot:
    version = data["entity_snapshot"]
    if not isinstance(version, int) or version > SCHEMA_VERSION:
        raise UsageError(
            "The snapshot was written by a newer entity-tui.",
            detail=f"format {version}, this version reads up to {SCHEMA_VERSION}",
        )
    return Snapshot(
        files=_readings(data, "files"),
        commands=_readings(data, "commands"),
        props=_texts(data.get("props")),
        taken_at_utc=_text(data.get("taken_at_utc")),
        device_spec=_text(data.get("device_spec")),
        simulated=data.get("simulated") is True,
        transport=_text(data.get("transport")),
        redacted=data.get("redacted") is True,
        origin=_text(data.get("origin")),
    )


def _readings(data: Mapping[str, Any], group: str) -> Mapping[str, Reading]:
    rows = data.get(group, {})
    if not isinstance(rows, dict):
        raise UsageError(f"The snapshot's {group} are not a table.", fix=FIX)
    found: dict[str, Reading] = {}
    for source, row in rows.items():
        if not isinstance(row, dict) or row.get("outcome") not in _OUTCOMES:
            raise UsageError("The snapshot is damaged.", detail=f"{group}: {source}", fix=FIX)
        took_ms = row.get("duration_ms")
        found[source] = Reading(
            source,
            _OUTCOMES[row["outcome"]],
            _text(row.get("text")),
            _text(row.get("detail")),
            float(took_ms) if isinstance(took_ms, int | float) else None,
        )
    return MappingProxyType(found)


def _plain(data: Mapping[str, Any]) -> Snapshot:
    """Files a collection lists are ok; those it says were cut part-way are suspect; nothing else was asked for."""
    files = {path: Reading(path, Outcome.OK, text) for path, text in _texts(data.get("files")).items()}
    for path, text in _texts(data.get("partial_files")).items():
        files.setdefault(path, Reading(path, Outcome.SUSPECT, text, detail="the text ends part-way"))
    commands = {line: Reading(line, Outcome.OK, text) for line, text in _texts(data.get("commands")).items()}
    return Snapshot(
        files=MappingProxyType(files),
        commands=MappingProxyType(commands),
        props=_texts(data.get("props")),
        redacted=True,
        origin=_text(data.get("source")) or _text(data.get("slug")),
    )


def _texts(value: object) -> Mapping[str, str]:
    if not isinstance(value, dict):
        return MappingProxyType({})
    return MappingProxyType({str(key): text for key, text in value.items() if isinstance(text, str)})


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
