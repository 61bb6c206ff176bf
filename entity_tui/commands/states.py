"""`entity-tui states`: every way a cell can end, what it means, why it happens, and what to do."""

from __future__ import annotations

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.errors import UsageError


@click.command()
@click.argument("names", nargs=-1)
@json_option
def command(names: tuple[str, ...], as_json: bool) -> None:
    """Every way a cell can end: usable, tainted (in the medians, marked) or void (never a number)."""
    from entity_tui.experiments.states import states

    table = states()
    unknown = [name for name in names if name not in table]
    if unknown:
        raise UsageError(f"{unknown[0]} is not a state", fix=f"states: {', '.join(table)}")
    chosen = [table[name] for name in names] or list(table.values())
    if as_json:
        print_json(
            [
                {
                    "state": found.name,
                    "usability": found.usability.value,
                    "when": found.when.value,
                    "scope": found.scope.value,
                    "sentence": found.sentence,
                    "cause": found.cause,
                    "next": found.next_step,
                }
                for found in chosen
            ]
        )
        return
    for found in chosen:
        click.secho(f"{found.name}  ({found.usability.value})", bold=True)
        click.echo(f"  {found.sentence} {found.cause}")
        click.echo(f"  → {found.next_step}")
