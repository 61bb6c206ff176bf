"""Options of every command that runs a plan, and what they mean for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.experiments.build import Choices

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class RunOptions:
    """The options that belong to the run and its output, not to the plan."""

    device: str | None = None
    speed: float | None = None
    engine: str = ""
    model: str = ""
    model_sha256: str = ""
    dry_run: bool = False
    csv: Path | None = None
    csv_format: str = "tidy"
    as_json: bool = False
    as_jsonl: bool = False
    fail_on: str = ""
    strict: bool = False
    on_done: str = ""
    assume_yes: bool = False


_PLAN = (
    click.option("--blocks", type=click.IntRange(1, 500), help="How many blocks, instead of the preset's."),
    click.option(
        "--seed", type=click.IntRange(0, 2**31 - 1), help="Seed of the order; drawn and shown when not given."
    ),
    click.option("--prompt", type=click.IntRange(0, 1_000_000), help="Prompt tokens (512); 0 leaves prefill out."),
    click.option("--generate", type=click.IntRange(0, 1_000_000), help="Generated tokens (128); 0 leaves decode out."),
    click.option("--depth", type=click.IntRange(0, 1_000_000), default=0, help="Tokens before the decode test."),
    click.option("--load-mode", metavar="MODE", default="", help="auto, none, mmap, mlock, mmap+mlock or dio."),
    click.option("--gate", multiple=True, metavar="KEY=VALUE", help="Change the gate, e.g. minimum_s=0; it taints."),
    click.option("--flag", multiple=True, metavar="WORDS", help="Engine flags for every arm, e.g. '-fa on'."),
    click.option("--expect", default="", metavar="TEXT", help="What you expect; printed beside the verdict."),
    click.option("--counters", default="", metavar="EVENTS", help="Events simpleperf counts, e.g. instructions:u."),
    click.option("--energy", is_flag=True, help="Generate long enough for an energy claim (60 s of decode)."),
)
_INSTRUMENT = click.option(
    "--instrument",
    type=click.Choice(["llama-bench", "server"]),
    default="llama-bench",
    help="server asks a llama-server as a chat does, decode behind its prompt.",
)
_TARGET = (
    click.option("--engine", default="", metavar="PATH", help="Engine folder or build; the newest when not given."),
    click.option("--model", default="", metavar="NAME", help="GGUF on the device; the smallest when not given."),
)
_RUN = (
    click.option("--model-sha256", default="", metavar="HEX", help="What the model's checksum must be."),
    click.option("--dry-run", is_flag=True, help="Print the plan and its cost; run nothing."),
    click.option("--csv", type=click.Path(dir_okay=False, path_type=Path), help="Write the rows here as well."),
    click.option(
        "--format",
        "csv_format",
        type=click.Choice(["tidy", "entity-bench", "llama-bench"]),
        default="tidy",
        help="Format of --csv.",
    ),
    click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout at the end."),
    click.option("--jsonl", "as_jsonl", is_flag=True, help="One JSON line per event on stdout."),
    click.option("--fail-on", default="", metavar="TEXT", help="Exit 1 on a verdict, e.g. 'decode < -3 %'."),
    click.option("--strict", is_flag=True, help="With --fail-on: exit 6 when a comparison stays undecided."),
    click.option("--on-done", default="", metavar="CMD", help="Run this in a shell when the run has ended."),
    click.option("--yes", "assume_yes", is_flag=True, help="Do not ask before a long plan."),
)


def _add(function: F, options: tuple[Callable[[F], F], ...]) -> F:
    for option in reversed(options):
        function = option(function)
    return function


def plan_options(function: F) -> F:
    """Adds the options that shape a plan; `choices_of` reads them."""
    return _add(function, _PLAN)


def instrument_option(function: F) -> F:
    """Adds the choice of what measures, for the experiments that either can."""
    return _INSTRUMENT(function)


def run_options(function: F) -> F:
    """Adds engine, model, output and gate options; `run_options_of` reads them."""
    return _add(_add(function, _RUN), _TARGET)


def output_options(function: F) -> F:
    """As `run_options`, for a command that names engines and models itself."""
    return _add(function, _RUN)


def choices_of(values: dict[str, Any]) -> Choices:
    """Take the plan's options out of click's values. UsageError for a gate change that cannot be read."""
    import shlex

    from entity_tui.experiments.build import Choices

    flags: list[str] = []
    for text in values.pop("flag"):
        try:
            flags += shlex.split(text)
        except ValueError as error:
            raise UsageError(f"--flag {text!r} cannot be split into words", detail=str(error)) from error
    generate = values.pop("generate")
    return Choices(
        seed=values.pop("seed"),
        blocks=values.pop("blocks"),
        n_prompt=values.pop("prompt"),
        n_gen=generate,
        n_depth=values.pop("depth"),
        load_mode=values.pop("load_mode"),
        gate=dict(_gate_change(text) for text in values.pop("gate")),
        expect=values.pop("expect"),
        energy=values.pop("energy"),
        fixed_order=values.pop("order", "seeded") == "fixed",
        flags=tuple(flags),
        server=values.pop("instrument", "") == "server",
        options={"counters": counters} if (counters := values.pop("counters")) else {},
    )


def _gate_change(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"--gate {text!r}", fix="write KEY=VALUE, e.g. --gate minimum_s=0")
    words = {"true": True, "false": False, "none": None}
    if value.lower() in words:
        return name, words[value.lower()]
    try:
        return name, float(value)
    except ValueError:
        return name, value


def run_options_of(values: dict[str, Any]) -> RunOptions:
    """Take the run's options out of click's values."""
    names = [name for name in RunOptions.__dataclass_fields__ if name in values]
    options = RunOptions(**{name: values.pop(name) for name in names})
    if options.as_json and options.as_jsonl:
        raise UsageError("--json and --jsonl exclude each other", fix="choose one")
    if options.strict and not options.fail_on:
        raise UsageError("--strict goes with --fail-on", fix="add --fail-on 'decode < -3 %'")
    return options
