"""Builds plans: what every experiment has in common, from arms to order, gate, declared comparisons and hash."""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from entity_tui.analysis.comparison import Axis, Comparison, Rules
from entity_tui.device.facts import Facts
from entity_tui.engine.build import EngineBuild
from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmSpec
from entity_tui.experiments.arms import Arm
from entity_tui.experiments.estimate import guessed_decode_tok_s
from entity_tui.experiments.order import balanced_pairs, grouped, randomised_blocks, warmup_cell
from entity_tui.experiments.plan import EngineRef, Gate, Limits, ModelRef, Plan, PlannedCell, Protocol
from entity_tui.experiments.resolve import Ground, configuration, mark_doubles, resolve
from entity_tui.experiments.server_bench import INSTRUMENT, NOTE, refuse_server
from entity_tui.records.schema import Metric, Role

SEED_BITS = 31
ENERGY_SECONDS = 75.0
"""What an energy cell aims at: a minute is needed, and the speed is only guessed before the run."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What a user can set for any experiment; None keeps what the preset says."""

    seed: int | None = None
    blocks: int | None = None
    n_prompt: int | None = None
    n_gen: int | None = None
    n_depth: int = 0
    repetitions: int = 1
    load_mode: str = ""
    gate: Mapping[str, Any] = field(default_factory=dict)
    """Fields of `Gate` to change, by name; each change is visible in the plan's notes."""
    limits: Mapping[str, Any] = field(default_factory=dict)
    worth_margin: float | None = None
    equivalent_margin: float | None = None
    alpha: float | None = None
    expect: str = ""
    energy: bool = False
    """Generate enough tokens for an energy claim: a decode window of at least a minute."""
    fixed_order: bool = False
    flags: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    """What the plan's own options get on top: counters and the program that counts them."""
    server: bool = False
    """Measure on llama-server, asked from this computer, instead of llama-bench."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The device, engine and model a plan is made for."""

    facts: Facts
    engine: EngineRef
    model: ModelRef
    can_pin: bool = True
    cpu_flags: tuple[str, ...] = ()
    """What keeps a CPU arm on the CPU: `-dev none` where the engine brings a GPU backend."""
    engines: Mapping[str, EngineRef] = field(default_factory=dict)
    """Other engines of the device, by the name an arm uses for them."""
    models: Mapping[str, ModelRef] = field(default_factory=dict)
    """Other models of the device, by the name an arm uses for them."""

    @property
    def ground(self) -> Ground:
        """What arms are resolved against."""
        return Ground(self.facts.topology, self.can_pin)


@dataclass(frozen=True, slots=True)
class Design:
    """What an experiment fixes before the device is known."""

    experiment: str
    title: str
    specs: tuple[ArmSpec, ...]
    blocks: int
    preset: str = ""
    protocol: Protocol = Protocol.BLOCKS
    comparisons: tuple[Comparison, ...] = ()
    verdicts: bool = True
    sessions: int = 1
    paired: bool = False
    """Two arms in balanced AB and BA blocks."""
    doubles: Mapping[str, str] = field(default_factory=dict)
    """Arms that are not run when they would measure what another one does."""
    gate: Gate = field(default_factory=Gate)
    instrument: str = "llama-bench"
    warmup: str = "optimized"
    options: Mapping[str, str] | None = None


def engine_ref(engine: EngineBuild) -> EngineRef:
    """The engine as a plan carries it. UsageError when it has no llama-bench."""
    bench = engine.program("llama-bench")
    if bench is None:
        raise UsageError(
            f"the engine in {engine.directory} has no llama-bench",
            fix="`entity-tui engine install` brings a whole engine to the device",
        )
    return EngineRef(
        name=engine.name,
        build=engine.build,
        directory=engine.directory,
        bench=bench,
        variants=engine.variants,
        variant_list=str(engine.variant_list),
        perplexity=engine.program("llama-perplexity") or "",
        completion=engine.program("llama-completion") or "",
        server=engine.program("llama-server") or "",
    )


def changed_gate(gate: Gate, changes: Mapping[str, Any]) -> Gate:
    """The gate with some of its numbers changed. UsageError for a key it does not have or a value of the wrong kind."""
    values: dict[str, Any] = {}
    for key, value in changes.items():
        if key not in Gate.__dataclass_fields__:
            raise UsageError(f"the gate has no {key}", fix=f"it has {', '.join(Gate.__dataclass_fields__)}")
        current = getattr(gate, key)
        wants_number = not isinstance(current, bool | str)
        if value is not None and wants_number and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise UsageError(f"gate {key} is a number of seconds or degrees, not {value!r}")
        values[key] = float(value) if wants_number and value is not None else value
    changed = replace(gate, **values)
    if changed.minimum_s < 0 or changed.limit_s < 0 or changed.limit_s < changed.minimum_s:
        raise UsageError("the gate's limit is below its minimum", detail=f"{changed.minimum_s} to {changed.limit_s} s")
    return changed


def assemble(design: Design, setting: Setting, choices: Choices) -> Plan:
    """The plan: arms resolved, order drawn, comparisons that cannot be made dropped with a note. Pure but for a seed
    that is drawn when none is given. UsageError when nothing is left to run."""
    ground = setting.ground
    arms = mark_doubles([resolve(spec, ground) for spec in design.specs], design.doubles)
    arms = tuple(_equipped(arm, setting, choices.flags) for arm in arms)
    running = [arm for arm in arms if not arm.incapable and not arm.same_as]
    if not running:
        reasons = "; ".join(f"{arm.arm_id}: {arm.incapable}" for arm in arms if arm.incapable)
        raise UsageError("no arm of this plan can run on this device", detail=reasons)
    seed = secrets.randbits(SEED_BITS) if choices.seed is None else choices.seed
    blocks = design.blocks if choices.blocks is None else choices.blocks
    comparisons = _possible(design.comparisons, running, choices.expect)
    gate = changed_gate(design.gate, choices.gate)
    rules = Rules(
        alpha=0.05 if choices.alpha is None else choices.alpha,
        worth_margin=0.02 if choices.worth_margin is None else choices.worth_margin,
        equivalent_margin=0.05 if choices.equivalent_margin is None else choices.equivalent_margin,
        planned_blocks=blocks,
        verdicts=design.verdicts and design.protocol is Protocol.BLOCKS,
    )
    cells = _order(design, running, blocks, seed, fixed=choices.fixed_order)
    if choices.server:
        refuse_server(
            design.experiment,
            setting.engine.server,
            counters=bool(choices.options.get("counters")),
            energy=choices.energy,
        )
    n_prompt = 512 if choices.n_prompt is None else choices.n_prompt
    plan = Plan(
        experiment=design.experiment,
        title=design.title,
        preset=design.preset,
        protocol=design.protocol,
        arms=arms,
        blocks=blocks,
        seed=seed,
        cells=(_warmup(design, running), *cells),
        comparisons=comparisons,
        rules=rules,
        gate=gate,
        limits=replace(Limits(), **dict(choices.limits)),
        engine=setting.engine,
        model=setting.model,
        n_prompt=n_prompt,
        n_gen=_generated(choices, setting),
        # A server decodes behind the prompt it was given; one token is the least it takes.
        n_depth=choices.n_depth or (n_prompt or 1 if choices.server else 0),
        repetitions=choices.repetitions,
        load_mode=choices.load_mode,
        online=ground.online,
        sessions=design.sessions,
        order="fixed" if choices.fixed_order else "seeded",
        instrument=INSTRUMENT if choices.server else design.instrument,
        exclude=choices.exclude,
        options={**(design.options or {}), **choices.options} or None,
    )
    return replace(plan, notes=notes(plan, design))


def _equipped(arm: Arm, setting: Setting, flags: Sequence[str]) -> Arm:
    """The arm with its own engine and model looked up, and with the flags every arm gets."""
    if arm.engine_dir:
        engine = setting.engines.get(arm.engine_dir)
        if engine is not None:
            arm = replace(arm, engine_dir=engine.directory, engine_build=engine.build)
    if arm.model_path:
        model = setting.models.get(arm.model_path)
        if model is not None:
            arm = replace(
                arm,
                model_path=model.path,
                model_name=model.name,
                model_sha256=model.sha256,
                model_quant=model.quant,
            )
    cpu = () if "-dev" in arm.flags or arm.command else setting.cpu_flags
    return replace(arm, flags=(*cpu, *arm.flags, *flags))


def _generated(choices: Choices, setting: Setting) -> int:
    """Tokens to generate: 128, what the user asked for, or as many as an energy claim needs at a guessed speed."""
    asked = 128 if choices.n_gen is None else choices.n_gen
    if not choices.energy:
        return asked
    rate = guessed_decode_tok_s(setting.model.size_bytes)
    return max(asked, math.ceil(ENERGY_SECONDS * rate / 64) * 64)


def _possible(declared: Sequence[Comparison], running: Sequence[Arm], expect: str) -> tuple[Comparison, ...]:
    names = {arm.arm_id for arm in running}
    kept = [item for item in declared if item.baseline in names and item.treatment in names]
    return tuple(replace(item, expect=item.expect or expect) for item in kept)


def _warmup(design: Design, running: Sequence[Arm]) -> PlannedCell:
    named = [arm for arm in running if arm.arm_id == design.warmup]
    return warmup_cell((named or list(running))[0])


def _order(design: Design, running: Sequence[Arm], blocks: int, seed: int, *, fixed: bool) -> tuple[PlannedCell, ...]:
    if fixed:
        return grouped(running, blocks)
    if design.paired and len(running) == 2:
        return balanced_pairs(running, blocks, seed)
    return randomised_blocks(running, blocks, seed)


def notes(plan: Plan, design: Design) -> tuple[str, ...]:
    """What the reader of this plan must know before it starts."""
    said: list[str] = [NOTE] if plan.instrument == INSTRUMENT else []
    for arm in plan.arms:
        if arm.incapable:
            said.append(f"{arm.arm_id} is not run: {arm.incapable}")
        if arm.same_as:
            said.append(f"{arm.arm_id} = {arm.same_as} on this device, so it is not run twice")
    dropped = [item.name for item in design.comparisons if item.name not in {kept.name for kept in plan.comparisons}]
    if dropped:
        said.append(f"not compared, because an arm cannot run: {', '.join(dropped)}")
    for item in plan.comparisons:
        first, second = plan.arm(item.baseline), plan.arm(item.treatment)
        if item.axis is not Axis.NOTHING and configuration(first) == configuration(second):
            said.append(f"{item.name} asks for the same widths and masks twice: it will be void")
    if plan.gate.weakened:
        said.append(f"the gate waits only {plan.gate.minimum_s:g} s: every cell is tainted")
    if plan.order == "fixed":
        said.append("arms run in fixed groups, so the first one always starts coolest: no verdict is drawn from this")
    if plan.rules.verdicts and plan.comparisons:
        need = plan.rules.needed_blocks(len(plan.comparisons))
        if plan.blocks < need:
            said.append(f"{len(plan.comparisons)} comparisons need {need} blocks to be decided, not {plan.blocks}")
    if not plan.rules.verdicts:
        said.append("descriptive only: no verdict and no interval")
    return tuple(said)


def decode_comparison(baseline: str, treatment: str, axis: Axis, expect: str = "") -> Comparison:
    """A declared comparison on decode speed."""
    return Comparison(baseline, treatment, str(Metric.DECODE_TOK_S), axis, expect)


def with_aa(plan: Plan) -> tuple[str, str] | None:
    """(control, its second copy) when the plan has an A/A arm, else None."""
    for arm in plan.runnable:
        if arm.role == Role.AA:
            for other in plan.runnable:
                if other is not arm and configuration(other) == configuration(arm):
                    return other.arm_id, arm.arm_id
    return None
