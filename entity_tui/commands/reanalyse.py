"""`entity-tui reanalyse`: every table and verdict of a run again, from its plain files."""

from __future__ import annotations

import sys

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.errors import UsageError
from entity_tui.printable import printable
from entity_tui.records.run_directory import ROWS_FILE, RunDirectory


@click.command()
@click.argument("run", metavar="DIR|RUN")
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a stored table differs from its rows.")
@json_option
def command(run: str, check: bool, as_json: bool) -> None:
    """Rebuild every table and verdict of a run, byte for byte.

    Rows come from the journal and the cells' raw files (an imported run has its rows only), comparisons, margins and
    predicates from plan.json.
    """
    from entity_tui.records.places import open_store, run_of
    from entity_tui.records.reanalysis import reanalyse

    with open_store() as store:
        folder = run_of(run, store)
        changed = _rows_again(folder, write=not check)
        found = reanalyse(folder, write=not check)
        changed += found.changed
    if as_json:
        print_json(
            {
                "run": folder.session_id,
                "folder": str(folder.path),
                "rows": len(found.rows),
                "changed": list(changed),
                "sentences": list(found.tables.sentences),
            }
        )
    else:
        for sentence in found.tables.sentences:
            click.echo(printable(sentence))
        word = "differ" if check else "rewritten"
        click.echo(f"{word}: {', '.join(changed)}" if changed else "every table is as stored", err=True)
    if check and changed:
        sys.exit(1)


def _rows_again(folder: RunDirectory, *, write: bool) -> tuple[str, ...]:
    """Rebuild rows.csv from journal and raw files; its name when it differed. Imported runs have only their rows."""
    from entity_tui.experiments.recorded import rows_of_record
    from entity_tui.records.export import tidy_csv

    try:
        rows = rows_of_record(folder)
    except UsageError as error:
        # A plan or snapshot of another version: its rows still hold, and the tables are made from them.
        click.echo(printable(f"▲ the rows are taken as stored: {error}"), err=True)
        return ()
    if rows is None or tidy_csv(rows) == folder.text(ROWS_FILE):
        return ()
    if write:
        folder.write_rows(rows)
    return (ROWS_FILE,)
