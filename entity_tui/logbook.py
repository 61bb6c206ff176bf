"""What happened, in order: one bounded log that screens, commands and the log file read from."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

CAPACITY = 2_000


class Level(StrEnum):
    """How much a line wants to be looked at."""

    INFO = "I"
    WARNING = "W"
    ERROR = "E"


@dataclass(frozen=True, slots=True)
class LogLine:
    """One event: when (UTC), how serious, who says it (`device`, `adb`, `sampler`, `bench` ...), and the words."""

    number: int
    time: datetime
    level: Level
    source: str
    text: str

    @property
    def clock(self) -> str:
        """Local `HH:MM:SS`."""
        return self.time.astimezone().strftime("%H:%M:%S")


class LogBook:
    """The newest lines, numbered from 1 without gaps; old ones fall out, numbers never repeat."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._lines: deque[LogLine] = deque(maxlen=capacity)
        self._last = 0

    def add(self, source: str, text: str, level: Level = Level.INFO) -> LogLine:
        """Append one event, stamped now."""
        self._last += 1
        line = LogLine(self._last, datetime.now(UTC), level, source, text)
        self._lines.append(line)
        return line

    def warning(self, source: str, text: str) -> LogLine:
        """Append something to look at."""
        return self.add(source, text, Level.WARNING)

    def error(self, source: str, text: str) -> LogLine:
        """Append a failure."""
        return self.add(source, text, Level.ERROR)

    @property
    def last_number(self) -> int:
        """The number of the newest line, 0 when there is none; changes exactly when the log does."""
        return self._last

    def count(self, level: Level) -> int:
        """How many of the kept lines have this level."""
        return sum(line.level is level for line in self._lines)

    def tail(self, n: int) -> tuple[LogLine, ...]:
        """The newest `n` lines, oldest of them first."""
        if n <= 0:
            return ()
        return tuple(self._lines)[-n:]

    def __iter__(self) -> Iterator[LogLine]:
        return iter(tuple(self._lines))

    def __len__(self) -> int:
        return len(self._lines)
