"""Finds whole and cut JSON objects in text that holds other things too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Piece:
    """One object that was begun: its value when it is whole and valid, and whether it was cut."""

    value: Mapping[str, Any] | None
    cut: bool = False


def _span(text: str, start: int) -> int | None:
    """Index behind the brace that closes the one at `start`, None when it is never closed."""
    depth, in_string, escaped = 0, False, False
    for index in range(start, len(text)):
        letter = text[index]
        if in_string:
            if escaped:
                escaped = False
            elif letter == "\\":
                escaped = True
            elif letter == '"':
                in_string = False
        elif letter == '"':
            in_string = True
        elif letter == "{":
            depth += 1
        elif letter == "}":
            depth -= 1
            if depth == 0:
                return index + 1
    return None


def _next_object(text: str, start: int) -> int:
    """Start of the next object that stands at the beginning of a line (spaces before it allowed), or -1."""
    index = text.find("{", start)
    while index >= 0:
        line_start = text.rfind("\n", 0, index) + 1
        if not text[line_start:index].strip(" \t,["):
            return index
        index = text.find("{", index + 1)
    return -1


def scan_objects(text: str) -> tuple[list[Piece], list[str]]:
    """Every object that starts on a line of its own, and the lines that belong to none (brackets left out).

    An object that is never closed is cut at the next line that starts one, so that one cut line does not swallow the
    whole lines behind it. Never raises.
    """
    pieces: list[Piece] = []
    outside: list[str] = []
    position = 0
    while (start := _next_object(text, position)) >= 0:
        outside.append(text[position:start])
        end = _span(text, start)
        following = _next_object(text, text.find("\n", start) + 1) if "\n" in text[start:] else -1
        if end is None or (0 <= following < end and '"n_prompt"' in text[following:end] and _flat(text, start)):
            pieces.append(Piece(None, cut=True))
            if following < 0:
                position = len(text)
                break
            position = following
            continue
        pieces.append(_piece(text[start:end]))
        position = end
    outside.append(text[position:])
    noise = [line for part in outside for line in part.splitlines() if line.strip(" \t,[]")]
    return pieces, noise


def _flat(text: str, start: int) -> bool:
    """True when the object's first line already holds a field: the one-line form, which no other object may be in."""
    return '"' in text[start : text.find("\n", start)]


def _piece(text: str) -> Piece:
    try:
        value = json.loads(text)
    except ValueError:
        return Piece(None)
    return Piece(value if isinstance(value, dict) else None)
