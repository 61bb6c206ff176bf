"""Command: any other engine, by its own command line and a pattern for its number; gates and states stay ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.analysis.comparison import Axis, Comparison
from entity_tui.errors import UsageError
from entity_tui.experiments.arm_specs import ArmSpec, shipped_arms
from entity_tui.experiments.build import Choices, Design, Setting, assemble
from entity_tui.experiments.plan import Plan
from entity_tui.experiments.readings import compile_pattern

EXPERIMENT = "command"
BLOCKS = 6
METRIC = "command_value"


@dataclass(frozen=True, slots=True)
class CommandLine:
    """A foreign command: absolute program and arguments, the pattern of its number, unit and direction."""

    argv: tuple[str, ...]
    pattern: str
    unit: str
    better: str = "higher"


def command_plan(
    setting: Setting, choices: Choices, line: CommandLine, arms: Sequence[str] = ("scheduler", "perf_cores")
) -> Plan:
    """The command under two placements, in balanced pairs. `{threads}`, `{mask}` and `{model}` in it are filled in.

    UsageError for a program without an absolute path or a pattern without one group.
    """
    if not line.argv or not line.argv[0].startswith("/"):
        raise UsageError("the command begins with the absolute path of a program on the device")
    compile_pattern(line.pattern)
    known = shipped_arms()
    unknown = [name for name in arms if name not in known]
    if unknown:
        raise UsageError(f"no arm is called {unknown[0]}", fix=f"arms: {', '.join(known)}")
    specs = tuple(_with_command(known[name], line.argv) for name in arms)
    comparisons = (Comparison(arms[0], arms[1], METRIC, Axis.PLACEMENT),) if len(arms) == 2 else ()
    design = Design(
        experiment=EXPERIMENT,
        title=f"command {line.argv[0].rsplit('/', 1)[-1]}",
        specs=specs,
        blocks=BLOCKS,
        comparisons=comparisons,
        paired=len(arms) == 2,
        instrument="command",
        warmup=arms[0],
        options={"pattern": line.pattern, "unit": line.unit, "better": line.better, "metric": METRIC},
    )
    return assemble(design, setting, choices)


def _with_command(spec: ArmSpec, argv: tuple[str, ...]) -> ArmSpec:
    from dataclasses import replace

    return replace(spec, command=argv)
