"""`entity-tui reanalyse`: every table and verdict of a run again, from its plain files."""

from __future__ import annotations

import sys

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.printable import printable


@click.command()
@click.argument("run", metavar="DIR|RUN")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a stored table differs from its rows.")
@json_option
def command(run: str, check: bool, as_json: bool) -> None:
    """Rebuild tables.csv, verdicts.csv, factors.csv and verdicts.txt of a run, byte for byte.

    The rows come from rows.csv, the comparisons, margins and predicates from plan.json.
    """
    from entity_tui.records.places import open_store, run_of
    from entity_tui.records.reanalysis import reanalyse

    with open_store() as store:
        folder = run_of(run, store)
        found = reanalyse(folder, write=not check)
    if as_json:
        print_json(
            {
                "run": folder.session_id,
                "folder": str(folder.path),
                "rows": len(found.rows),
                "changed": list(found.changed),
                "sentences": list(found.tables.sentences),
            }
        )
    else:
        for sentence in found.tables.sentences:
            click.echo(printable(sentence))
        word = "differ" if check else "rewritten"
        click.echo(f"{word}: {', '.join(found.changed)}" if found.changed else "every table is as stored", err=True)
    if check and found.changed:
        sys.exit(1)
