"""Hardware counters as simpleperf prints them, in every format it has had, and what follows from the counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from entity_tui.digits import whole

CYCLES = "cpu-cycles"
INSTRUCTIONS = "instructions"
STALL_BACKEND = "raw-stall-backend"
LAST_LEVEL_MISS = "raw-ll-cache-miss-rd"
CACHE_LINE_BYTES = 64

_LINE = re.compile(
    r"^\s*(?P<lead>(?:\S+\s+)*?)(?P<count>[\d,.]+(?:\(ms\))?|<not supported>|<not counted>)\s+"
    r"(?P<event>[A-Za-z][\w.:/-]*)\s*(?:#(?P<note>.*))?$"
)
_SHARE = re.compile(r"\((\d{1,3}(?:\.\d+)?)%\)")
_TOTAL = re.compile(r"^Total test time: (?P<seconds>[\d.]+) seconds")
_HEADER = re.compile(r"^#\s*(?P<names>.*\bcount\s+event_name\b.*)$")


@dataclass(frozen=True, slots=True)
class Count:
    """One counted line. `cpu` is None unless counted per core; `share` is the fraction of the time it was counted."""

    event: str
    value: float
    cpu: int | None
    share: float


@dataclass(frozen=True, slots=True)
class CounterReport:
    """A whole report. `missing` are events that were asked for (or printed) and not counted; they are not zero."""

    counts: tuple[Count, ...]
    missing: tuple[str, ...]
    seconds: float | None
    """The report's own total; None when the text ends before it, which is a truncated report."""

    @property
    def scaled(self) -> bool:
        """True when any event was counted for less than the whole time: its count is an estimate."""
        return any(count.share < 1.0 for count in self.counts)

    @property
    def lowest_share(self) -> float:
        """The smallest counted fraction, 1.0 without counts."""
        return min((count.share for count in self.counts), default=1.0)

    @property
    def complete(self) -> bool:
        """True when the report ran to its last line."""
        return self.seconds is not None

    @property
    def cpus(self) -> tuple[int, ...]:
        """The CPUs that counted anything, ascending; empty for a report that is not per core."""
        return tuple(sorted({count.cpu for count in self.counts if count.cpu is not None}))

    def total(self, event: str, cpus: Iterable[int] | None = None) -> float | None:
        """The sum of an event over all lines or some CPUs, None when not counted. Modifiers may be left out."""
        wanted = None if cpus is None else frozenset(cpus)
        found = [
            count.value
            for count in self.counts
            if _same(count.event, event) and (wanted is None or count.cpu in wanted)
        ]
        return sum(found) if found else None


def _same(printed: str, asked: str) -> bool:
    return printed == asked or printed.partition(":")[0] == asked


def parse_counters(text: str, asked: Iterable[str] = ()) -> CounterReport:
    """Read a `simpleperf stat` report. Never raises: a text without counts has none.

    `asked` are the events of the command line; those without a count are `missing`. Counts are Python numbers, so no
    sum wraps at 32 bits.
    """
    counts: list[Count] = []
    missing: list[str] = []
    seconds: float | None = None
    first_column = ""
    for line in text.splitlines():
        header = _HEADER.match(line)
        total = _TOTAL.match(line)
        if header:
            first_column = header["names"].split()[0]
        elif total:
            seconds = float(total["seconds"])
        elif (match := _LINE.match(line)) and not line.startswith(("#", "$")):
            _take(match, first_column, counts, missing)
    missing += [event for event in asked if not any(_same(count.event, event) for count in counts)]
    return CounterReport(tuple(counts), tuple(dict.fromkeys(missing)), seconds)


def _take(match: re.Match[str], first_column: str, counts: list[Count], missing: list[str]) -> None:
    event, count, lead = match["event"], match["count"], match["lead"].split()
    if count.startswith("<"):
        missing.append(event)
        return
    number = count.removesuffix("(ms)").replace(",", "")
    try:
        value = float(number)
    except ValueError:
        return
    share = _SHARE.findall(match["note"] or "")
    cpu = whole(lead[0]) if first_column == "cpu" and lead else None
    counts.append(Count(event, value, cpu, min((float(part) / 100.0 for part in share), default=1.0)))


def instructions_per_token(report: CounterReport, tokens: int) -> float | None:
    """Instructions over generated tokens; None when they were not counted or there are no tokens.

    The numerator holds model load and warm-up too, as the program is counted from its first instruction.
    """
    found = report.total(INSTRUCTIONS)
    return found / tokens if found is not None and tokens > 0 else None


def per_cycle(report: CounterReport, event: str, cpus: Iterable[int] | None = None) -> float | None:
    """An event per CPU cycle (instructions: IPC; a stall event: the stalled fraction). None without both counts."""
    wanted = None if cpus is None else tuple(cpus)
    above, below = report.total(event, wanted), report.total(CYCLES, wanted)
    return above / below if above is not None and below else None


def read_bandwidth_gbs(report: CounterReport, wall_s: float) -> float | None:
    """Last-level read misses × 64 bytes over wall time, GB/s: an inference about traffic, not a measurement."""
    misses = report.total(LAST_LEVEL_MISS)
    return misses * CACHE_LINE_BYTES / wall_s / 1e9 if misses and wall_s > 0 else None


def traffic_share(report: CounterReport, cpus: Iterable[int]) -> float | None:
    """The share of last-level read misses made by some CPUs, a fraction; None when nothing missed."""
    whole, part = report.total(LAST_LEVEL_MISS), report.total(LAST_LEVEL_MISS, tuple(cpus))
    return (part or 0.0) / whole if whole else None


def effective_mhz(report: CounterReport, runtime_s: Mapping[int, float]) -> dict[int, float]:
    """Cycles over counted run time by CPU, MHz: a clock check that does not trust cpufreq."""
    found: dict[int, float] = {}
    for cpu, seconds in runtime_s.items():
        cycles = report.total(CYCLES, (cpu,))
        if cycles is not None and seconds > 0:
            found[cpu] = cycles / seconds / 1e6
    return found
