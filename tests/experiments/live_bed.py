"""Runs on real links for experiment tests: this computer with a real engine, and a demo phone behind a real adb."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from entity_tui.device.facts import read_facts
from entity_tui.experiments.ablation import design_file, design_preset, design_runs, file_choices
from entity_tui.experiments.arm_specs import read_arm_file, shipped_arms
from entity_tui.experiments.build import Choices, Design, assemble
from entity_tui.experiments.following import RunResult
from entity_tui.experiments.live import RunView
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.prepare import Ready, prepare
from entity_tui.experiments.probe import probe
from entity_tui.experiments.run import run_plan
from entity_tui.records.store import RunStore
from entity_tui.sim.launch import DemoPhone
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Transport

QUICK_GATE: dict[str, Any] = {"minimum_s": 0.0, "limit_s": 4.0, "sensorless_dwell_s": 0.0}
"""A gate that does not wait on a cool phone: what these tests are about is not the wait."""


SHORT: dict[str, Any] = {
    "seed": 3,
    "n_prompt": 32,
    "n_gen": 16,
    "gate": QUICK_GATE,
    "limits": {"foreign_cpu_pct": 1e6},
}
"""Short cells; what else runs on the test machine is not what these tests are about."""


@dataclass(slots=True)
class Bench:
    """A device that is ready to be measured, and a store of the test's own."""

    transport: Transport
    ready: Ready
    store: RunStore
    views: list[RunView] = field(default_factory=list)

    def plan(self, design: Design, **choices: Any) -> Plan:
        """A plan for this device, short unless the choices say otherwise."""
        wanted = {**SHORT, **choices}
        return assemble(design, self.ready.setting, Choices(**wanted))

    def runs(self, count: int = 1, arms: Sequence[str] = (), **choices: Any) -> Plan:
        """The seeds' protocol with some of the shipped arms."""
        specs = [shipped_arms()[name] for name in arms]
        return self.plan(design_runs(count, specs), **choices)

    def blocks(self, count: int, arms: Sequence[str], **choices: Any) -> Plan:
        """Blocks of some of the shipped arms, with no declared comparison."""
        from dataclasses import replace

        specs = tuple(shipped_arms()[name] for name in arms)
        design = replace(design_preset("quick"), specs=specs, blocks=count)
        return self.plan(design, **choices)

    def own(self, text: str, *, runs: int = 1, **choices: Any) -> Plan:
        """Arms of the test's own, written as a user writes them."""
        file = read_arm_file(text, "arms.yaml", shipped_arms())
        wanted = {**SHORT, **choices}
        return assemble(design_file(file, design_runs(runs)), self.ready.setting, file_choices(file, Choices(**wanted)))

    async def run(self, plan: Plan, **options: Any) -> RunResult:
        """Run the plan to its end; every view lands in `views`."""
        return await run_plan(
            self.transport,
            plan,
            snapshot=self.ready.snapshot,
            facts=self.ready.facts,
            store=self.store,
            on_view=self.views.append,
            **options,
        )

    async def look_again(self) -> None:
        """Probe the device once more, after the test changed it."""
        from dataclasses import replace

        snapshot = await probe(self.transport)
        facts = read_facts(snapshot)
        self.ready = replace(
            self.ready, snapshot=snapshot, facts=facts, setting=replace(self.ready.setting, facts=facts)
        )


@asynccontextmanager
async def on_phone(
    phone: DemoPhone, server: AdbServer, folder: Path, model: Path | None = None
) -> AsyncIterator[Bench]:
    """A demo phone over the real adb server, with a model file of this computer pushed to it where one is named."""
    transport = AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True)
    async with transport:
        name = ""
        if model is not None:
            name = f"{transport.root}/models/{model.name}"
            await transport.push(model, name)
        with RunStore(folder) as store:
            yield Bench(transport, await prepare(transport, model=name), store)


@asynccontextmanager
async def on_this_computer(engine: Path, model: Path, folder: Path) -> AsyncIterator[Bench]:
    """This computer with a real engine and a real model."""
    from entity_tui.transport.local import LocalTransport

    async with LocalTransport() as transport:
        transport.root = str(folder / "device")
        with RunStore(folder / "data") as store:
            yield Bench(transport, await prepare(transport, engine=str(engine), model=str(model)), store)
