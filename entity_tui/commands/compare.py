"""`entity-tui compare`: is B better than A? Two engines, models, flags, environments or placements."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import device_options
from entity_tui.commands.plan_options import choices_of, instrument_option, output_options, plan_options, run_options_of
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.experiments.compare import Side


@click.command()
@device_options
@click.option("--engine", "engines", multiple=True, metavar="PATH", help="An engine folder; twice to compare two.")
@click.option("--model", "models", multiple=True, metavar="NAME", help="A GGUF; twice to compare two.")
@click.option("--side", "sides", multiple=True, metavar="WORDS", help="Flags and NAME=VALUE of one side; twice.")
@click.option("--arm", "arms", multiple=True, metavar="NAME", help="A shipped arm; twice to compare two placements.")
@click.option(
    "--metric", "metrics", multiple=True, default=("decode",), help="decode, prompt or ttft; may be repeated."
)
@click.option("--on", "base", default="optimized", metavar="ARM", help="Threads and placement of both sides.")
@instrument_option
@plan_options
@output_options
@click.pass_context
def command(ctx: click.Context, /, **values: Any) -> None:
    """Is B better than A? The first of each pair is the baseline.

    With --fail-on 'decode < -3 %' it is a gate for CI: it fails on a verdict, never on noise.
    """
    from entity_tui.commands.plan_run import run_command
    from entity_tui.experiments.compare import compare_plan

    given = {name: values.pop(name) for name in ("engines", "models", "sides", "arms")}
    metrics, base = values.pop("metrics"), values.pop("base")
    choices = choices_of(values)
    sides = sides_of(**given)
    values["engine"], values["model"] = _first(given["engines"]), _first(given["models"])
    options = run_options_of(values)
    ctx.exit(
        run_command(
            options,
            lambda setting: compare_plan(setting, choices, sides, metrics=metrics, base=base),
            engines=tuple(given["engines"]),
            models=tuple(given["models"]),
        )
    )


def _first(given: Sequence[str]) -> str:
    return given[0] if given else ""


def sides_of(engines: Sequence[str], models: Sequence[str], sides: Sequence[str], arms: Sequence[str]) -> list[Side]:
    """The two sides out of options given once (for both) or twice (one each). UsageError for three or more."""
    from entity_tui.experiments.compare import Side

    for name, given in (("--engine", engines), ("--model", models), ("--side", sides), ("--arm", arms)):
        if len(given) > 2:
            raise UsageError(f"{name} was given {len(given)} times", fix="a comparison has two sides")
    found: list[Side] = []
    for index in (0, 1):
        flags, env = _words(sides[index] if index < len(sides) else "")
        arm = arms[index] if len(arms) == 2 else (arms[0] if arms else "")
        engine = engines[index] if len(engines) == 2 else ""
        model = models[index] if len(models) == 2 else ""
        label = engine or model or (sides[index] if index < len(sides) else "") or arm or "as it is"
        found.append(Side(label, engine=engine, model=model, flags=tuple(flags), env=MappingProxyType(env), arm=arm))
    return found


def _words(text: str) -> tuple[list[str], dict[str, str]]:
    """Flags and NAME=VALUE pairs of one side; a word with `=` before any flag is an environment variable."""
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--side {text!r} cannot be split into words", detail=str(error)) from error
    env: dict[str, str] = {}
    while words and "=" in words[0] and not words[0].startswith("-"):
        name, _, value = words.pop(0).partition("=")
        env[name] = value
    return words, env
