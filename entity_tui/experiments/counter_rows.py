"""Hardware counters beside a cell: simpleperf in front of the launch, its report behind it, and rows out of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from entity_tui.analysis.counters import (
    INSTRUCTIONS,
    CounterReport,
    instructions_per_token,
    parse_counters,
    per_cycle,
)
from entity_tui.experiments.states import state
from entity_tui.records.schema import Row, Usability

SIMPLEPERF = "/system/bin/simpleperf"
EVENTS, PROGRAM = "counters", "simpleperf"
"""Names of the plan's options: events separated by commas, and the program's path on the device."""


def counted(argv: tuple[str, ...], options: Mapping[str, str] | None) -> tuple[str, ...]:
    """The launch under `simpleperf stat`, per core, where the plan asks for counters; else as it is.

    The report goes to standard output, behind the engine's own lines, so that it is kept with the cell.
    """
    events = (options or {}).get(EVENTS, "")
    if not events:
        return argv
    program = (options or {}).get(PROGRAM, SIMPLEPERF)
    return (program, "stat", "--per-core", "-e", events, "--", *argv)


def counter_rows(base: Row, stdout: str, options: Mapping[str, str] | None, tokens: int) -> tuple[Row, ...]:
    """Rows of one launch's report: instructions a token, instructions a cycle, and each event per core.

    An event that was not counted has a row without a value and the state `counter_missing`; counts that took turns
    are marked `counters_scaled`. A report that was cut says so and gives no number.
    """
    events = [word for word in (options or {}).get(EVENTS, "").split(",") if word]
    if not events:
        return ()
    report = parse_counters(stdout, events)
    if not report.complete or not report.counts:
        detail = "the counter report is cut" if report.counts else "no counter report in the output"
        return (_missing(base, "counters", detail),)
    rows = [*_derived(base, report, tokens)]
    for count in report.counts:
        where = "" if count.cpu is None else f"_cpu{count.cpu}"
        rows.append(_row(base, f"count_{count.event}{where}", count.value, "count", report))
    rows += [_missing(base, f"count_{event}", "the CPU or the system does not count it") for event in report.missing]
    return tuple(rows)


def _derived(base: Row, report: CounterReport, tokens: int) -> list[Row]:
    found: list[Row] = []
    per_token = instructions_per_token(report, tokens)
    if per_token is not None:
        found.append(_row(base, "instructions_per_token", per_token, "instructions", report))
    for cpu in (None, *report.cpus):
        value = per_cycle(report, INSTRUCTIONS, None if cpu is None else (cpu,))
        if value is not None:
            found.append(_row(base, "ipc" if cpu is None else f"ipc_cpu{cpu}", value, "per cycle", report))
    return found


def _row(base: Row, metric: str, value: float, unit: str, report: CounterReport) -> Row:
    row = replace(base, metric=metric, value=value, unit=unit, better=None, n_tokens=None, duration_s=report.seconds)
    if report.scaled and base.usability != Usability.VOID:
        words = f"counted {100 * report.lowest_share:.0f} % of the time at least, scaled up"
        return replace(row, state="counters_scaled", usability=Usability.TAINTED, state_detail=words)
    return row


def _missing(base: Row, metric: str, detail: str) -> Row:
    usability = state("counter_missing").usability
    row = replace(base, metric=metric, value=None, unit=None, better=None, n_tokens=None, duration_s=None)
    return replace(row, state="counter_missing", state_detail=detail, usability=usability)
