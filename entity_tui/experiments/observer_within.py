"""Observer within one launch: runner and recorder are suspended and let go again, repetition by repetition.

Two launches differ by whatever the machine did meanwhile, which on a shared computer is more than the instrument
costs. Inside one launch the two states lie side by side: a block is one window of each, in an order drawn from the
seed, so that a machine that slows down or is shared for a while meets both. The first repetition of a window holds the
change of state and is left out; the others count.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace

from entity_tui.analysis.observer import observer_cost
from entity_tui.device.facts import Facts
from entity_tui.device.snapshot import Snapshot
from entity_tui.engine.bench_output import OK, parse_bench
from entity_tui.experiments import follow as loop
from entity_tui.experiments.flatplan import Launch, RunnerPlan
from entity_tui.experiments.launches import bench_launch
from entity_tui.experiments.observer import BARE, MARGIN, RECORDED, NotMeasured, Observed, outputs, single_cell_plan
from entity_tui.experiments.plan import Plan
from entity_tui.records.journal_events import CellEvent, EventKind
from entity_tui.records.schema import Phase
from entity_tui.transport.base import Job, Transport

BLOCKS = 400
GENERATE = 16
REPETITIONS = 4
"""Of a window. With the default length three of them hold every duty of the recorder: ticks and readbacks."""
SPARE_REPETITIONS = 2
LATE_S = 0.002
"""A line that is there this soon after a change of state was written before it: its window is left out."""
WALL_S = 7200.0
STOP, CONTINUE = 19, 18

_RUN = re.compile(r"generation run (\d{1,9})/\d")
LET_GO = "trap '' HUP TERM; cat >/dev/null; kill -CONT \"$1\""
"""Stands by on the device: when this computer is gone its input ends, and the runner is let go again."""


def schedule(blocks: int, seed: int) -> tuple[str, ...]:
    """The state of every window: both once in every block, in an order drawn from `seed`."""
    generator = random.Random(seed)
    order: list[str] = []
    for _ in range(blocks):
        block = [BARE, RECORDED]
        generator.shuffle(block)
        order += block
    return tuple(order)


@dataclass(slots=True)
class _Switch:
    """Suspends the runner and lets it go, and notes the windows in which that came too late."""

    transport: Transport
    job: Job
    order: tuple[str, ...]
    state: str = RECORDED
    changed_at: float = 0.0
    changed_in: int = -1
    late: set[int] = field(default_factory=set)

    async def repetition(self, number: int) -> None:
        """A repetition, counted from 0, has just begun."""
        window, place = divmod(number, REPETITIONS)
        if place and window == self.changed_in and time.monotonic() - self.changed_at < LATE_S:
            self.late.add(window)
        if place == 0 and window < len(self.order) and self.order[window] != self.state:
            await self.to(self.order[window])
            self.changed_at, self.changed_in = time.monotonic(), window

    async def to(self, state: str) -> None:
        """Bring the runner into a state."""
        if not await self.transport.signal(self.job, STOP if state == BARE else CONTINUE):
            raise NotMeasured("the runner ended in the middle of the measurement")
        self.state = state


async def observe_within(
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
    """One long launch under runner and recorder, both suspended in half of its windows. Raises NotMeasured."""
    order = schedule(blocks, seed)
    repetitions = len(order) * REPETITIONS + SPARE_REPETITIONS
    arm = replace(plan.arms[0], flags=(*plan.arms[0].flags, "--progress"))
    launch = bench_launch(plan, arm, Phase.DECODE, arm.decode, n_prompt=0, n_gen=plan.n_gen, repetitions=repetitions)
    launch = replace(launch, wall_limit_s=WALL_S)
    flat = single_cell_plan(plan, launch, snapshot, facts, recorder_cpu)
    switch, samples_ns = await _run(transport, flat, launch, order)
    rates = rates_of(samples_ns, order, switch.late, plan.n_gen)
    for block in rates[BARE]:
        on_block(block, {name: rates[name][block][0] for name in (BARE, RECORDED) if block in rates[name]})
    cost = observer_cost(rates[BARE], rates[RECORDED], margin=MARGIN)
    return Observed(rates, cost, seed, arm.decode.threads)


async def _run(
    transport: Transport, flat: RunnerPlan, launch: Launch, order: tuple[str, ...]
) -> tuple[_Switch, Sequence[float]]:
    started = await loop.start(transport, flat)
    if started.job is None:
        raise NotMeasured("the runner did not start")
    folder = loop.run_directory(transport, flat.session_id)
    switch = _Switch(transport, started.job, order)
    cells: list[CellEvent] = []
    async with AsyncExitStack() as stack:
        stack.push_async_callback(transport.signal, started.job, CONTINUE)
        guard = transport.stream(["sh", "-c", LET_GO, "let-go", str(started.job.pid)])
        await stack.enter_async_context(guard)
        async for event in loop.follow(transport, flat.session_id):
            if event.kind is EventKind.LAUNCH:
                temporary = f"{folder}/cells/{event.cell}.{event.attempt}.tmp"
                await _drive(transport, f"{temporary}/{launch.phase}.err", switch)
            elif isinstance(event, CellEvent):
                cells.append(event)
    out, err = await outputs(transport, flat.session_id, cells, launch.phase)
    output = parse_bench(out)
    if output.state != OK or not output.results[0].samples_ns:
        raise NotMeasured("the launch gave no times", detail=err.strip()[-300:] or output.detail)
    return switch, output.results[0].samples_ns


async def _drive(transport: Transport, path: str, switch: _Switch) -> None:
    """Follow the engine's progress lines; every change of state happens at the start of a repetition."""
    last = len(switch.order) * REPETITIONS
    async with transport.stream(["tail", "-c", "+1", "-f", path]) as lines:
        try:
            async for line in lines:
                found = _RUN.search(line)
                if found is None:
                    continue
                number = int(found[1]) - 1
                await switch.repetition(number)
                if number >= last:
                    break
        finally:
            if switch.state == BARE:
                await asyncio.shield(switch.to(RECORDED))


def rates_of(
    samples_ns: Sequence[float], order: Sequence[str], late: set[int], n_gen: int
) -> dict[str, dict[int, tuple[float, ...]]]:
    """Tokens over seconds by state and block (from 1) of the repetitions that count; a block lacks a state that has
    none. `samples_ns` are the engine's own times, one a repetition."""
    rates: dict[str, dict[int, tuple[float, ...]]] = {BARE: {}, RECORDED: {}}
    for window, state in enumerate(order):
        counted = samples_ns[window * REPETITIONS + 1 : (window + 1) * REPETITIONS]
        if window in late or len(counted) < REPETITIONS - 1 or min(counted) <= 0:
            continue
        rates[state][window // 2 + 1] = (n_gen * len(counted) * 1e9 / sum(counted),)
    return rates
