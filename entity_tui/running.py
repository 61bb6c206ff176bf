"""The session's run: built from the default plan, started, followed, picked up again, stopped, exported."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from entity_tui import config
from entity_tui.errors import EntityError, UsageError
from entity_tui.logbook import Level, LogBook

if TYPE_CHECKING:
    from entity_tui.experiments.estimate import Estimate
    from entity_tui.experiments.live import RunView
    from entity_tui.experiments.plan import Plan
    from entity_tui.experiments.prepare import Ready
    from entity_tui.records.store import RunStore
    from entity_tui.transport.base import Transport


@dataclass(frozen=True, slots=True)
class Offer:
    """A plan that could be started, with what it costs, in the words a user is asked with."""

    plan: Plan
    ready: Ready
    cost: Estimate
    rows: tuple[str, ...]

    @property
    def ask(self) -> bool:
        """True for a plan that may take more than ten minutes."""
        return self.cost.needs_confirmation


def model_folders() -> tuple[Path, ...]:
    """Where `models fetch` and `models download` put files on this computer."""
    return (config.data_folder() / "models",)


ON_A_SERVER = "ablation-server"
"""The ablation measured on llama-server, as `bench --instrument server` runs it."""


async def offer(transport: Transport, experiment: str, settings: config.Config, *, model: str = "") -> Offer:
    """The default plan of `ablation` (the full preset), of the same on a server, or of `placement` for this device.
    Raises EntityError."""
    from entity_tui.experiments.ablation import design_preset
    from entity_tui.experiments.build import Choices, assemble
    from entity_tui.experiments.context import clock_factor
    from entity_tui.experiments.estimate import estimate, sleep_words, words
    from entity_tui.experiments.prepare import prepare

    ready = await prepare(
        transport,
        engine=str(settings["engine"]),
        model=model or str(settings["model"]),
        folders=model_folders(),
        hashes=config.data_folder() / "model-hashes.json",
    )
    if experiment == "placement":
        from entity_tui.experiments.placement import placement_plan

        plan = placement_plan(ready.setting, Choices())
    else:
        plan = assemble(design_preset("full"), ready.setting, Choices(server=experiment == ON_A_SERVER))
    factor = clock_factor(ready.snapshot)
    cost = estimate(plan, ready.facts, clock_factor=factor)
    rows = [f"{plan.title}: {words(cost)}", sleep_words(ready.facts), *plan.notes]
    if transport.simulated:
        rows.append(f"Simulated phone, clock factor {factor:g}: every row says so.")
    return Offer(plan, ready, cost, tuple(row for row in rows if row))


class Runs:
    """The one run a session may have in flight, and the last view of it."""

    def __init__(self, log: LogBook, settings: config.Config, on_variant: Callable[[str], None]) -> None:
        self.view: RunView | None = None
        self._log = log
        self._settings = settings
        self._on_variant = on_variant
        self._store: RunStore | None = None
        self._offered: Offer | None = None
        self._shown_logs = 0

    @property
    def busy(self) -> bool:
        """True while a run is in flight."""
        return self.view is not None and not self.view.finished

    @property
    def store(self) -> RunStore:
        """Everything measured on this computer."""
        if self._store is None:
            from entity_tui.records.store import RunStore

            self._store = RunStore(config.data_folder())
        return self._store

    async def consider(self, transport: Transport, experiment: str, *, confirmed: bool, model: str) -> Offer:
        """The plan that would run; once it was shown, the very same one is given when it is confirmed."""
        if confirmed and self._offered is not None:
            what, self._offered = self._offered, None
            return what
        what = await offer(transport, experiment, self._settings, model=model)
        self._offered = what if what.ask else None
        return what

    def begin(self, what: Offer) -> None:
        """Show the plan between the key press and the first line of the journal."""
        from entity_tui.experiments.live import RunView

        plan = what.plan
        self.view = RunView(
            session_id="",
            title=plan.title,
            experiment=plan.experiment,
            plan_hash=plan.plan_hash,
            plan_lines=what.rows,
            model_name=plan.model.name,
            engine_name=plan.engine.name,
            n_prompt=plan.n_prompt,
            n_gen=plan.n_gen,
            seed=plan.seed,
            cells_planned=len(plan.cells),
            blocks_planned=plan.blocks,
            simulated=bool(what.ready.snapshot.simulated),
        )
        self._shown_logs = 0
        self._log.add("bench", what.rows[0])

    async def follow(self, transport: Transport, what: Offer) -> None:
        """Run every session of the plan to its end. Raises what kept it from starting."""
        from entity_tui.experiments.run import new_session_id, run_plan

        plan, ready = what.plan, what.ready
        repeats = new_session_id() if plan.sessions > 1 else ""
        try:
            for _ in range(plan.sessions):
                result = await run_plan(
                    transport,
                    plan,
                    snapshot=ready.snapshot,
                    facts=ready.facts,
                    store=self.store,
                    on_view=self.take,
                    repeats=repeats,
                )
                self._log.add("bench", f"{plan.title}: {result.outcome}, {len(result.rows)} rows")
                if result.outcome != "done":
                    return
        except EntityError as error:
            if self.view is not None:
                self.view = replace(self.view, finished=True, outcome=error.title, sequence=self.view.sequence + 1)
            raise

    def take(self, view: RunView) -> None:
        """Take over a newer view; its log lines join the session's, and so does the variant the loader named."""
        self.view = view
        for entry in view.log[self._shown_logs :]:
            level = {"warning": Level.WARNING, "error": Level.ERROR}.get(entry.level, Level.INFO)
            self._log.add("bench", entry.text, level)
        self._shown_logs = len(view.log)
        variant = next((arm.variant for arm in view.arms if arm.variant), "")
        if variant:
            self._on_variant(variant)

    async def pick_up(self, transport: Transport) -> None:
        """Take up runs this computer left on the device: attach to one in flight, collect or resume the others."""
        from entity_tui.experiments.pickup import left_behind, take_up

        for left in await left_behind(transport, self.store):
            self._shown_logs = 0
            self._log.add("bench", f"run {left.session_id} was left on the device: {left.action.value}")
            await take_up(transport, self.store, left, self.take)

    async def stop(self, transport: Transport, *, now: bool) -> None:
        """Ask the runner to stop after its cell, or now; what is finished is kept."""
        from entity_tui.experiments.follow import stop

        if self.view is None or self.view.finished or not self.view.session_id:
            return
        await stop(transport, self.view.session_id, now=now)
        self.view = replace(self.view, stopping=True, sequence=self.view.sequence + 1)


def export(view: RunView | None, format_name: str) -> Path:
    """Write the rows of a run beside its record and return the path. UsageError when there is nothing to write."""
    if view is None or view.directory is None:
        raise UsageError("no run to export", fix="b runs the default plan")
    from entity_tui.records.export import write_tidy_csv
    from entity_tui.records.run_directory import RunDirectory

    rows = RunDirectory(view.directory).rows()
    if not rows:
        raise UsageError("this run has no rows yet", fix="wait for its first cell")
    folder = config.data_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    if format_name == "json":
        import json
        from dataclasses import asdict

        path = folder / f"{view.session_id}.json"
        path.write_text(json.dumps([asdict(row) for row in rows], default=str, indent=1), encoding="utf-8")
        return path
    path = folder / f"{view.session_id}.csv"
    write_tidy_csv(rows, path)
    return path
