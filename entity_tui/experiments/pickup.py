"""What is already on the device when a run is asked for: a run to follow, to collect or to resume."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

from entity_tui.errors import EntityError
from entity_tui.experiments import follow as loop
from entity_tui.experiments.following import OnView, RunResult
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.plan_json import read_plan
from entity_tui.experiments.run import collect, resume
from entity_tui.records.store import RunStore
from entity_tui.transport.base import Transport

RUNNING = "running"


class Action(StrEnum):
    """What to do about a run of this computer that was left on the device."""

    ATTACH = "attach"
    COLLECT = "collect"
    RESUME = "resume"


@dataclass(frozen=True, slots=True)
class Left:
    """A run of this computer that was never seen to its end. `plan` is the one it was started with."""

    session_id: str
    action: Action
    plan: Plan

    def asks_the_same(self, plan: Plan) -> bool:
        """True when `plan` asks for the same thing and differs in its drawn seed and order at most."""
        return replace(plan, seed=self.plan.seed, cells=self.plan.cells).plan_hash == self.plan.plan_hash


async def left_behind(transport: Transport, store: RunStore) -> tuple[Left, ...]:
    """Runs on the device that this computer started and does not know the end of, the one in flight first.

    Raises RunnerBusy for a run in flight that this computer knows nothing of.
    """
    found: list[Left] = []
    for run in await loop.runs_on(transport):
        try:
            directory = store.find(run.session_id)
            info = directory.info()
            plan = read_plan(directory.plan_text())
        except EntityError as error:
            if run.state is loop.RunState.RUNNING:
                raise loop.RunnerBusy(run.session_id) from error
            continue
        action = {
            loop.RunState.RUNNING: Action.ATTACH,
            loop.RunState.FINISHED: Action.COLLECT,
            loop.RunState.BROKEN: Action.RESUME,
        }[run.state]
        if info.state == RUNNING or action is Action.ATTACH:
            found.append(Left(run.session_id, action, plan))
    return tuple(sorted(found, key=lambda item: (item.action is not Action.ATTACH, item.session_id)))


async def take_up(transport: Transport, store: RunStore, left: Left, on_view: OnView) -> RunResult:
    """Follow, collect or resume a run that was left. Raises as `collect` and `resume` do."""
    if left.action is Action.RESUME:
        return await resume(transport, store, left.session_id, on_view)
    return await collect(transport, store, left.session_id, on_view)
