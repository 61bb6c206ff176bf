"""The runner's journal: the only account of what happened on the device, and the source every row is rebuilt from.

One record a line: `SEQUENCE T_BOOT EVENT key=value ... detail=free text ;`. The closing `;` tells a whole line from one
that a dying runner or a full disk cut short, even when the next runner wrote on behind it.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from entity_tui.digits import decimal, whole
from entity_tui.errors import EntityError
from entity_tui.records.journal_events import (
    CellEvent,
    Event,
    EventKind,
    GateEvent,
    GateOutcome,
    LaunchEnd,
    ThreadReadback,
)

__all__ = [
    "JOURNAL_VERSION",
    "CellEvent",
    "Event",
    "EventKind",
    "GateEvent",
    "GateOutcome",
    "JournalReader",
    "JournalVersionError",
    "LaunchEnd",
    "ThreadReadback",
    "parse_journal",
    "parse_line",
]

JOURNAL_VERSION = 1
"""Protocol version, in the `run_start` line; a journal of another version is refused as a whole."""

_KINDS = {kind.value: kind for kind in EventKind}
_OUTCOMES = {outcome.value: outcome for outcome in GateOutcome}


class JournalVersionError(EntityError):
    """The journal was written by a runner of another protocol version; nothing is taken from it."""


def parse_journal(data: bytes) -> tuple[Event, ...]:
    """Every whole line of a journal, in order; CellEvents carry the gate and launches that belong to them.

    A line without its end mark (cut by a kill, a full disk, or still being written) is skipped: it never happened.
    Raises JournalVersionError for a journal of another version.
    """
    return tuple(JournalReader().feed(data + b"\n"))


class JournalReader:
    """Reads a journal piece by piece, as it is fetched by byte offset. Keeps an unfinished line for the next piece."""

    def __init__(self) -> None:
        self.cut_lines = 0
        """Lines that ended without the end mark."""
        self.offset = 0
        """Bytes fed so far: where the next fetch begins."""
        self._rest = b""
        self._gates: dict[tuple[int | None, int | None], GateEvent] = {}
        self._launches: dict[tuple[int | None, int | None], list[LaunchEnd]] = {}

    def feed(self, data: bytes) -> list[Event]:
        """The events of the lines that `data` completes."""
        self.offset += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        events = []
        for line in lines:
            event = self._line(line.decode("utf-8", "replace").rstrip("\r"))
            if event is not None:
                events.append(event)
        return events

    def _line(self, line: str) -> Event | None:
        if not line.strip():
            return None
        plain = parse_line(line)
        if plain is None:
            self.cut_lines += 1
            return None
        if plain.kind is EventKind.RUN_START and plain.fields.get("version") != str(JOURNAL_VERSION):
            raise JournalVersionError(
                "This run was recorded by another version of the runner.",
                detail=f"version {plain.fields.get('version', 'missing')}; this program reads {JOURNAL_VERSION}",
                fix="Read it with the version of entity-tui that started it.",
            )
        place = (plain.cell, plain.attempt)
        if plain.kind is EventKind.GATE:
            gate = _gate(plain)
            self._gates[place] = gate
            return gate
        if plain.kind is EventKind.LAUNCH_END:
            launch = _launch_end(plain)
            self._launches.setdefault(place, []).append(launch)
            return launch
        if plain.kind is EventKind.CELL:
            return _cell(plain, self._gates.pop(place, None), tuple(self._launches.pop(place, ())))
        return plain


def parse_line(line: str) -> Event | None:
    """One journal line as a plain event; None when it is cut, or is no journal line at all."""
    if not line.endswith(" ;"):
        return None
    parts = line[:-2].split(" ", 3)
    if len(parts) < 3 or parts[2] not in _KINDS:
        return None
    sequence, t_boot_s = whole(parts[0]), decimal(parts[1])
    if sequence is None or sequence < 0 or t_boot_s is None:
        return None
    body, _, detail = (" " + parts[3] if len(parts) > 3 else "").partition(" detail=")
    fields: dict[str, str] = {}
    for word in body.split():
        key, equals, value = word.partition("=")
        if equals:
            fields[key] = value
    return Event(sequence, t_boot_s, _KINDS[parts[2]], MappingProxyType(fields), detail.strip())


def _gate(event: Event) -> GateEvent:
    return GateEvent(
        event.sequence,
        event.t_boot_s,
        event.kind,
        event.fields,
        event.detail,
        outcome=_OUTCOMES.get(event.fields.get("outcome", "")),
        ran=event.fields.get("run") == "1",
        wait_s=decimal(event.fields.get("wait")) or 0.0,
        temp_c=decimal(event.fields.get("temp")),
        temp_source=event.detail,
        throttle_status=whole(event.fields.get("status")),
        tainted=event.fields.get("tainted") == "1",
    )


def _launch_end(event: Event) -> LaunchEnd:
    fields = event.fields
    ok = fields.get("mask_ok")
    return LaunchEnd(
        event.sequence,
        event.t_boot_s,
        event.kind,
        fields,
        event.detail,
        phase=fields.get("phase", ""),
        state=fields.get("state", ""),
        exit_code=whole(fields.get("code")),
        t_start_s=decimal(fields.get("from")) or 0.0,
        t_end_s=decimal(fields.get("to")) or 0.0,
        mask_requested=_word(fields.get("mask")),
        mask_applied="" if fields.get("applied") == "mixed" else _word(fields.get("applied")),
        mask_ok={"1": True, "0": False}.get(ok or ""),
        threads_requested=whole(fields.get("threads")) or 0,
        threads_seen=whole(fields.get("seen")),
        threads=_threads(fields.get("readback", "")),
        migrations=whole(fields.get("moves")),
        migrations_source=_word(fields.get("moves_by")),
        cpu_ticks_by_cpu=_ticks_by_cpu(fields.get("cpu", "")),
        cpu_ticks=whole(fields.get("total")),
        temp_start_c=decimal(fields.get("temp_first")),
        temp_max_c=decimal(fields.get("temp_max")),
        recorder_ticks=whole(fields.get("own")),
    )


def _cell(event: Event, gate: GateEvent | None, launches: tuple[LaunchEnd, ...]) -> CellEvent:
    fields = event.fields
    return CellEvent(
        event.sequence,
        event.t_boot_s,
        event.kind,
        fields,
        event.detail,
        key=fields.get("key", ""),
        arm=fields.get("arm", ""),
        block=whole(fields.get("block")) or 0,
        position=whole(fields.get("pos")) or 0,
        role=fields.get("role", "measure"),
        state=fields.get("state", ""),
        directory=fields.get("dir", ""),
        tainted=fields.get("tainted") == "1",
        foreign=tuple(word for word in _word(fields.get("foreign")).split(",") if word),
        launches=launches,
        gate=gate,
    )


def _threads(text: str) -> tuple[ThreadReadback, ...]:
    found = []
    for entry in _word(text).split(","):
        parts = entry.split(":")
        if len(parts) != 6:
            continue
        tid, ticks = whole(parts[0]), whole(parts[2])
        if tid is None or ticks is None:
            continue
        found.append(
            ThreadReadback(
                tid=tid,
                mask=parts[1],
                cpu_ticks=ticks,
                grew=parts[3] == "1",
                last_cpu=whole(parts[4]),
                migrations=whole(parts[5]),
            )
        )
    return tuple(found)


def _ticks_by_cpu(text: str) -> Mapping[int, int]:
    pairs = (entry.split(":") for entry in _word(text).split(",") if entry.count(":") == 1)
    read = ((whole(cpu), whole(ticks)) for cpu, ticks in pairs)
    return MappingProxyType({cpu: ticks for cpu, ticks in read if cpu is not None and ticks is not None})


def _word(text: str | None) -> str:
    return "" if text is None or text == "-" else text
