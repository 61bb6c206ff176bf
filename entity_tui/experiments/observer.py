"""Observer: what does the instrument cost? The same arm bare and under the runner with its recorder, in blocks."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Rules
from entity_tui.analysis.observer import ObserverCost, observer_cost
from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.engine.bench_output import OK, parse_bench
from entity_tui.engine.command_lines import launched
from entity_tui.errors import EntityError, UsageError, Where
from entity_tui.experiments import follow as loop
from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.experiments.build import Setting
from entity_tui.experiments.flatplan import GatePlan, Launch, RunnerCell, RunnerPlan
from entity_tui.experiments.launches import bench_launch
from entity_tui.experiments.order import grouped
from entity_tui.experiments.plan import Gate, Limits, Plan, Protocol
from entity_tui.experiments.render import sample_nodes
from entity_tui.experiments.run import new_session_id
from entity_tui.records.journal_events import CellEvent
from entity_tui.records.schema import Phase
from entity_tui.silicon.masks import format_mask
from entity_tui.transport.base import Transport

BLOCKS = 24
GENERATE = 128
MARGIN = 0.01
"""Declared beforehand: the whole interval of the change has to lie inside ±1 %."""
BARE, RECORDED = "bare", "recorded"


class NotMeasured(EntityError):
    """A launch of the observer experiment gave no number; the engine's own words are in `detail`."""

    where = Where.WORKLOAD


@dataclass(frozen=True, slots=True)
class Observed:
    """Rates by block of each arm, and what they say; `cost` is None where no block has both."""

    rates: Mapping[str, Mapping[int, tuple[float, ...]]]
    cost: ObserverCost | None
    seed: int
    threads: int


def observer_plan(setting: Setting, *, threads: int, cpu: int, n_gen: int, repetitions: int) -> Plan:
    """One arm on one CPU (or as many as there are threads from there on), decode alone; never gated."""
    mask = frozenset(range(cpu, cpu + threads))
    if not mask <= set(setting.ground.online):
        raise UsageError(f"CPU {cpu} to {cpu + threads - 1} are not all online here")
    phase = PhaseSetting(threads, mask)
    arm = Arm(BARE, "bare", phase, phase, flags=setting.cpu_flags)
    return Plan(
        experiment="observer",
        title="what the instrument costs",
        preset="",
        protocol=Protocol.BLOCKS,
        arms=(arm,),
        blocks=1,
        seed=0,
        cells=grouped([arm], 1),
        comparisons=(),
        rules=Rules(equivalent_margin=MARGIN, verdicts=False),
        gate=Gate(skip=True),
        limits=Limits(),
        engine=setting.engine,
        model=setting.model,
        n_prompt=0,
        n_gen=n_gen,
        repetitions=repetitions,
        online=setting.ground.online,
    )


async def observe(
    transport: Transport,
    plan: Plan,
    snapshot: Snapshot,
    facts: Facts,
    *,
    recorder_cpu: int,
    blocks: int = BLOCKS,
    seed: int = 1,
    on_block: Callable[[int, Mapping[str, float]], None] = lambda block, rates: None,
) -> Observed:
    """Run every block: the same launch bare and under the runner, in seeded order. Raises NotMeasured."""
    generator = random.Random(seed)
    arm = plan.arms[0]
    launch = bench_launch(
        plan, arm, Phase.DECODE, arm.decode, n_prompt=0, n_gen=plan.n_gen, repetitions=plan.repetitions
    )
    rates: dict[str, dict[int, tuple[float, ...]]] = {BARE: {}, RECORDED: {}}
    for block in range(1, blocks + 1):
        order = [BARE, RECORDED]
        generator.shuffle(order)
        for name in order:
            if name == BARE:
                rate = await _bare(transport, launch)
            else:
                rate = await _recorded(transport, plan, launch, snapshot, facts, recorder_cpu)
            rates[name][block] = (rate,)
        on_block(block, {name: rates[name][block][0] for name in order})
    cost = observer_cost(rates[BARE], rates[RECORDED], margin=MARGIN)
    return Observed(rates, cost, seed, arm.decode.threads)


def _rate(text: str, words: str) -> float:
    output = parse_bench(text)
    rate = output.results[0].rate_tok_s if output.state == OK else None
    if rate is None:
        raise NotMeasured("a launch gave no number", detail=words.strip()[-300:] or output.detail)
    return rate


async def _bare(transport: Transport, launch: Launch) -> float:
    """The launch with nothing of ours beside it: this computer only waits for its end."""
    done = await transport.run(launched(launch.argv, launch.env, launch.mask), timeout_s=launch.wall_limit_s)
    return _rate(done.text, done.error_text)


def single_cell_plan(plan: Plan, launch: Launch, snapshot: Snapshot, facts: Facts, recorder_cpu: int) -> RunnerPlan:
    """A run of one cell with one launch, never gated, with runner and recorder on `recorder_cpu`."""
    return RunnerPlan(
        session_id=f"observer-{new_session_id()}",
        plan_hash=plan.plan_hash,
        boot_id="",
        cells=(RunnerCell(1, "observer", RECORDED, 1, 1, (launch,)),),
        gate=GatePlan(skip=True),
        nodes=sample_nodes(snapshot, facts),
        battery_min_pct=None,
        free_min_mb=None,
        recorder_mask=format_mask({recorder_cpu}),
    )


async def _recorded(
    transport: Transport, plan: Plan, launch: Launch, snapshot: Snapshot, facts: Facts, recorder_cpu: int
) -> float:
    """The same launch as the only cell of a run: runner, recorder every 150 ms, readback of every thread."""
    flat = single_cell_plan(plan, launch, snapshot, facts, recorder_cpu)
    session = flat.session_id
    await loop.start(transport, flat)
    cells = [event async for event in loop.follow(transport, session) if isinstance(event, CellEvent)]
    return _rate(*await outputs(transport, session, cells, launch.phase))


async def outputs(transport: Transport, session: str, cells: Sequence[CellEvent], phase: str) -> tuple[str, str]:
    """What the one launch printed, stdout and stderr; the run's folder is gone afterwards. Raises NotMeasured."""
    if not cells:
        raise NotMeasured("the runner ended without a cell", detail=session)
    folder = loop.run_directory(transport, session)
    out = await transport.read(f"{folder}/{cells[0].directory}/{phase}.out")
    err = await transport.read(f"{folder}/{cells[0].directory}/{phase}.err")
    await transport.run(["rm", "-rf", folder])
    return out.decode("utf-8", "replace"), err.decode("utf-8", "replace")
