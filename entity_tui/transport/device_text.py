"""Small readers for what POSIX tools print: sizes, free space, hashes, process status; all pure."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from entity_tui.digits import whole

_HASH = re.compile(r"\b([0-9a-fA-F]{64})\b")
_DF_ROW = re.compile(r"(\d+)\s+(\d+)\s+(-?\d+)\s+(\d+%|-)\s+\S")


def quote(argv: Sequence[str]) -> str:
    """One shell line that gives exactly `argv` to the program, in any POSIX shell."""
    return " ".join(shlex.quote(word) for word in argv)


def parse_sha256(text: str) -> str | None:
    """The hash in the output of sha256sum, shasum or openssl, in lower case; None when there is none."""
    found = _HASH.search(text)
    return found.group(1).lower() if found else None


def parse_df_free_bytes(text: str) -> int | None:
    """Free bytes of the last row of `df -k`, whatever the width of the device column; None when unreadable."""
    rows = _DF_ROW.findall(text)
    free = whole(rows[-1][2]) if rows else None
    return None if free is None else max(0, free) * 1024


def parse_stat(text: str) -> tuple[str, int] | None:
    """(state letter, start time in clock ticks) of a /proc/PID/stat line; the name in it may hold anything."""
    _, found, rest = text.rpartition(")")
    fields = rest.split()
    started = whole(fields[19]) if found and len(fields) >= 20 else None
    return None if started is None else (fields[0], started)


def parse_launch_context(cgroup: str) -> str:
    """The cgroup paths of /proc/self/cgroup in one short text, such as `cpuset:/background cpu:/`; empty if unknown."""
    parts: list[str] = []
    for line in cgroup.splitlines():
        fields = line.split(":", 2)
        if len(fields) == 3 and fields[0].isdigit():
            parts.append(f"{fields[1] or 'unified'}:{fields[2]}")
    return " ".join(parts)
