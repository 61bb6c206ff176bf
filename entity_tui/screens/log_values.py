"""Log lines as the plain entries the log widgets show, converted once each."""

from __future__ import annotations

from collections.abc import Iterable

from entity_tui.logbook import LogBook, LogLine
from entity_tui.widgets.log_view import LogEntry
from entity_tui.widgets.text import plain


def entry(log_line: LogLine) -> LogEntry:
    """One line with its text made plain."""
    return LogEntry(log_line.number, log_line.clock, log_line.level.value, plain(log_line.source), plain(log_line.text))


def matches(entry: LogEntry, words: str) -> bool:
    """True when every word of a filter stands in the line's source, level or text."""
    text = f"{entry.level} {entry.source} {entry.text}".lower()
    return all(word in text for word in words.lower().split())


def entries(lines: Iterable[LogLine], words: str = "") -> tuple[LogEntry, ...]:
    """Lines that match a filter, oldest first."""
    converted = (entry(log_line) for log_line in lines)
    return tuple(each for each in converted if not words or matches(each, words))


class LogReader:
    """Converts a log's lines only when there are new ones or the filter changed."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._seen: tuple[int, str] = (-1, "")
        self.entries: tuple[LogEntry, ...] = ()

    def read(self, log: LogBook, words: str = "") -> tuple[LogEntry, ...]:
        """The newest entries that match, oldest first."""
        key = (log.last_number, words)
        if key != self._seen:
            lines = log.tail(self._keep) if not words else tuple(log)
            self.entries = entries(lines, words)[-self._keep :]
            self._seen = key
        return self.entries
