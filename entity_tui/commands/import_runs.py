"""`entity-tui import`: take in results of ENTITY Bench, LITTLETai, llama-bench and our own CSV."""

from __future__ import annotations

from pathlib import Path

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.printable import printable
from entity_tui.records.schema import Usability


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
def command(paths: tuple[Path, ...], as_json: bool) -> None:
    """Read files or run folders into the history; the format is recognised by the content.

    ENTITY Bench CSV, LITTLETai run folders, llama-bench jsonl, json or csv, and our own tidy CSV. Importing a file
    twice finds the run it made before.
    """
    from entity_tui.records.imported import store_imported
    from entity_tui.records.importing import read_foreign
    from entity_tui.records.places import open_store

    done = []
    with open_store() as store:
        for path in paths:
            for found in read_foreign(path, _translate):
                run = store_imported(store, found)
                done.append(
                    {
                        "run": run.session_id,
                        "source": found.info.source,
                        "rows": len(found.rows),
                        "notes": list(found.notes),
                        "folder": str(run.path),
                    }
                )
    if as_json:
        print_json(done)
        return
    for item in done:
        click.echo(printable(f"{item['run']}  {item['rows']} rows  {item['source']}"))
        for note in item["notes"] if isinstance(item["notes"], list) else []:
            click.echo(printable(f"  {note}"), err=True)


def _translate(name: str) -> tuple[str, Usability, str]:
    """Another tool's word for how an arm ended, by the table of states."""
    from entity_tui.experiments.states import littletai_states

    found = littletai_states()[name]
    return found.state, found.usability, found.flag
