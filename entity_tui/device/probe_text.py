"""The probe's answer, one long text, taken apart into a Snapshot; here failures get their names, whatever the shell."""

from __future__ import annotations

import re
from types import MappingProxyType

from entity_tui.device.snapshot import Outcome, Reading, Snapshot

PROBE_VERSION = 1
"""Version of the probe's format."""

_DENIED = ("permission denied", "operation not permitted", "permission denial", "securityexception", "not allowed")
_ABSENT = (
    "no such file",
    "no such device",
    "not found",
    "can't find service",
    "is a directory",
    "not a directory",
    "not supported",
    "unknown get option",
    "unknown option",
    "unknown command",
    "unknown oid",
)
_TRANSIENT = (
    "resource temporarily unavailable",
    "try again",
    "no data available",
    "invalid argument",
    "input/output error",
    "i/o error",
    "device or resource busy",
    "connection timed out",
    "failed transaction",
    "dead object",
)
_TIMED_OUT = (124, 143)
_COMPLAINT = re.compile(r"\A(?:error:|exception|unknown |can't |failed |permission denial)", re.IGNORECASE)
_PROP = re.compile(r"^\[([^\]\n]+)\]: \[(.*?)\]\r?$", re.MULTILINE | re.DOTALL)


def outcome_of(text: str, *, status: int, command: bool = False) -> Outcome:
    """What a reading came to, by the reader's exit status and words. Never raises.

    A file that could be opened is ok whatever it holds. A command can say no with status 0 (`dumpsys` in Termux prints
    "Permission Denial" and succeeds), so the first words of its output count as well.
    """
    if command and status in _TIMED_OUT:
        return Outcome.TIMEOUT
    words = text.lower()
    if status == 0:
        if not command or not _COMPLAINT.match(text.lstrip()):
            return Outcome.OK
        words = words.lstrip().split("\n", 1)[0]
    for outcome, phrases in ((Outcome.DENIED, _DENIED), (Outcome.ABSENT, _ABSENT), (Outcome.TRANSIENT, _TRANSIENT)):
        if any(phrase in words for phrase in phrases):
            return outcome
    if status == 0:
        return Outcome.OK
    return Outcome.ABSENT if status in (126, 127) else Outcome.TRANSIENT


def parse_probe(
    text: str,
    nonce: str,
    *,
    taken_at_utc: str = "",
    device_spec: str = "",
    transport: str = "",
    simulated: bool = False,
) -> Snapshot:
    """The snapshot in a probe's output. Only lines that carry `nonce` are headers; everything else is content.

    A text that was cut keeps what is whole: the last reading before the cut is dropped unless the `end` line was seen,
    and `origin` then says "cut". Carriage returns that an old adbd adds are removed.
    """
    if "\r\n" in text:
        text = text.replace("\r\n", "\n")
    header = re.compile(rf"^@{re.escape(nonce)} (?:(file|cmd|info) (-?\d+) (-|\d+) (.*)|(end))$", re.MULTILINE)
    matches = list(header.finditer(text))
    complete = bool(matches) and matches[-1].group(5) == "end"
    if not complete and matches:
        matches_to_use = matches[:-1]
    else:
        matches_to_use = [match for match in matches if match.group(5) is None]
    files: dict[str, Reading] = {}
    commands: dict[str, Reading] = {}
    props: dict[str, str] = {}
    for index, match in enumerate(matches_to_use):
        end = matches[index + 1].start()
        content = text[match.end() + 1 : end]
        content = content[:-1] if content.endswith("\n") else content
        kind, status, took_ms, source = match.group(1), int(match.group(2)), match.group(3), match.group(4)
        if kind == "info":
            commands["probe"] = Reading("probe", Outcome.OK, source)
            continue
        reading = _reading(source, content, status, command=kind == "cmd", took_ms=took_ms)
        (files if kind == "file" else commands)[source] = reading
        if source == "getprop" and reading.ok:
            props.update(parse_props(reading.text))
    return Snapshot(
        files=MappingProxyType(files),
        commands=MappingProxyType(commands),
        props=MappingProxyType(props),
        taken_at_utc=taken_at_utc,
        device_spec=device_spec,
        simulated=simulated,
        transport=transport,
        origin="" if complete else "cut",
    )


def parse_props(text: str) -> dict[str, str]:
    """Properties of `getprop`'s `[name]: [value]` lines; a value may run over several lines."""
    return {match.group(1): match.group(2) for match in _PROP.finditer(text)}


def _reading(source: str, content: str, status: int, *, command: bool, took_ms: str) -> Reading:
    outcome = outcome_of(content, status=status, command=command)
    duration_ms = None if took_ms == "-" else float(took_ms)
    if outcome is Outcome.OK:
        return Reading(source, outcome, content, duration_ms=duration_ms)
    return Reading(source, outcome, detail=content.strip()[:500], duration_ms=duration_ms)
