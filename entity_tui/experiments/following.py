"""Follows one run from its first journal line to its last, and leaves rows, tables and a last view behind."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.experiments import follow as loop
from entity_tui.experiments.collect import RunContext
from entity_tui.experiments.context import run_context
from entity_tui.experiments.estimate import estimate
from entity_tui.experiments.live import RunView
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.progress import RunProgress
from entity_tui.experiments.rebuild import Ending, ending, rows_of_cell, rows_of_run
from entity_tui.experiments.render import start_temperature_c
from entity_tui.experiments.run_files import fetch_cell, keep_cell, kept_cell, samples_csv
from entity_tui.experiments.server_bench import ANSWER, INSTRUMENT
from entity_tui.experiments.server_drive import ServerDriver
from entity_tui.records.journal_events import CellEvent, Event, EventKind
from entity_tui.records.reanalysis import reanalyse
from entity_tui.records.run_directory import ROWS_FILE, SAMPLES_FILE, RunDirectory, RunInfo
from entity_tui.records.schema import Row
from entity_tui.records.store import RunStore
from entity_tui.transport.base import Transport, TransportError
from entity_tui.transport.device_text import parse_df_free_bytes

OnView = Callable[[RunView], None]
START_POLL_S = 0.2
START_POLLS = 100
RATES_KEPT = 1200
FULL_BELOW_BYTES = 1 << 20
"""Less free space than this, and a runner can no longer write its journal."""


@dataclass(frozen=True, slots=True)
class RunResult:
    """A run as it ended; `outcome` is `done` or the state that ended it."""

    session_id: str
    plan: Plan
    rows: tuple[Row, ...]
    view: RunView
    directory: RunDirectory
    outcome: str


@dataclass(slots=True)
class Following:
    """One run being followed. `runners` is how many runners its journal must name before an end counts."""

    transport: Transport
    plan: Plan
    info: RunInfo
    snapshot: Snapshot
    facts: Facts
    store: RunStore
    on_view: OnView
    runners: int = 1
    events: list[Event] = field(default_factory=list)
    files: dict[str, dict[str, bytes]] = field(default_factory=dict)

    @property
    def run(self) -> RunDirectory:
        """The run's folder on this computer."""
        return self.store.run(self.info.session_id)

    @property
    def context(self) -> RunContext:
        """What its rows have in common."""
        return run_context(self.plan, self.info, self.snapshot, self.facts)

    def _progress(self) -> RunProgress:
        return RunProgress(
            self.plan,
            self.info.session_id,
            estimate=estimate(self.plan, self.facts, clock_factor=self.info.clock_factor),
            start_c=start_temperature_c(self.facts),
            simulated=self.info.simulated,
            clock_factor=self.info.clock_factor,
            plan_lines=self.plan.notes,
            directory=self.run.path,
        )

    async def to_end(self) -> RunResult:
        """Follow until the run's last line, however long the link is away. Raises the transport's stable errors."""
        progress = self._progress()
        self.on_view(progress.view)
        driver = self._driver(progress)
        folder = loop.run_directory(self.transport, self.info.session_id)

        def link(error: TransportError | None) -> None:
            words = "the link is back" if error is None else f"link lost: {error.title}; the run goes on on the device"
            if (error is None) != (progress.view.link == "ready"):
                progress.log(words, "warning")
            progress.change(link="ready" if error is None else "lost")
            self.on_view(progress.view)

        try:
            for _ in range(START_POLLS):
                await self._read(progress, folder, link, driver)
                if sum(1 for event in self.events if event.kind is EventKind.RUN_START) >= self.runners:
                    break
                # A resumed runner has the lock but not yet its first line: the last line is still the old runner's.
                self.events.clear()
                progress.rows.clear()
                await asyncio.sleep(START_POLL_S)
            end = ending(self.events)
        except loop.RunnerDied as error:
            lost = "device_rebooted" if error.rebooted else await self._why_died()
            end = Ending(lost, error.title)
            progress.log(str(error), "error")
        finally:
            if driver is not None:
                await driver.leave()
        if driver is not None:
            await driver.end()
        await self._keep_journal(folder)
        return self._finish(progress, end)

    async def _why_died(self) -> str:
        """The state behind a runner that ended without its last line: a full disk keeps it from writing one."""
        try:
            free = parse_df_free_bytes((await self.transport.run(["df", "-k", self.transport.root])).text)
        except TransportError:
            free = None
        return "storage_full" if free is not None and free < FULL_BELOW_BYTES else "link_lost"

    def _driver(self, progress: RunProgress) -> ServerDriver | None:
        """Who asks the servers of a run with the server instrument; nobody has to for any other."""
        if self.plan.instrument != INSTRUMENT:
            return None

        def rate(tok_s: float) -> None:
            progress.change(rates_tok_s=(*progress.view.rates_tok_s, (time.monotonic(), tok_s))[-RATES_KEPT:])
            self.on_view(progress.view)

        return ServerDriver(self.transport, self.plan, self.info.session_id, rate)

    async def _read(
        self,
        progress: RunProgress,
        folder: str,
        link: Callable[[TransportError | None], None],
        driver: ServerDriver | None,
    ) -> None:
        context = self.context
        async for event in loop.follow(self.transport, self.info.session_id, on_link=link):
            self.events.append(event)
            if driver is not None:
                driver.see(event)
            progress.apply(event)
            if isinstance(event, CellEvent):
                if event.directory not in self.files:
                    self.files[event.directory] = await self._cell_files(folder, event, link)
                progress.add_rows(rows_of_cell(context, event, self.files[event.directory]))
                self.store.save(self.info, progress.rows)
            self.on_view(progress.view)

    async def _cell_files(
        self, folder: str, event: CellEvent, link: Callable[[TransportError | None], None]
    ) -> dict[str, bytes]:
        kept = kept_cell(self.run, event)
        if kept is None:
            more = (ANSWER,) if self.plan.instrument == INSTRUMENT else ()
            kept = await loop.patiently(self.transport, lambda: fetch_cell(self.transport, folder, event, more), link)
            keep_cell(self.run, event, kept)
        return kept

    async def _keep_journal(self, folder: str) -> None:
        """Bring the rest of the journal over, as bytes, so that the folder holds exactly what the device holds."""
        try:
            offset = self.run.journal_size()
            data = await self.transport.read(f"{folder}/journal", offset=offset)
        except TransportError:
            return  # the device is gone; what was read is in the rows
        if data:
            self.run.extend_journal(data, offset)

    def _finish(self, progress: RunProgress, end: Ending) -> RunResult:
        rows = rows_of_run(self.context, self.events, lambda event: self.files.get(event.directory, {}), end)
        progress.rows = list(rows)
        outcome = end.outcome or "cancelled"
        info = replace(self.info, state=outcome, extra={**self.info.extra, "ended": end.detail})
        self.store.save(info, rows)
        cells = [event for event in self.events if isinstance(event, CellEvent)]
        text = samples_csv([(event, self.files.get(event.directory, {})) for event in cells])
        self.run.write_file(SAMPLES_FILE, text)
        if any(row.value is not None for row in rows):
            reanalyse(self.run)
        view = progress.finish(outcome, self.run.path / ROWS_FILE)
        self.on_view(view)
        return RunResult(info.session_id, self.plan, rows, view, self.run, outcome)
