"""`entity-tui report`: one page about a run that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.argument("run", metavar="RUN|DIR")
@click.option("--output", "-o", type=click.Path(dir_okay=False, path_type=Path), help="The page; RUN.html here.")
@click.option(
    "--pictures", "folder", type=click.Path(file_okay=False, path_type=Path), help="Write SVG and PNG files here too."
)
@click.option("--no-pictures", is_flag=True, help="Tables only; needs no matplotlib.")
def command(run: str, output: Path | None, folder: Path | None, no_pictures: bool) -> None:
    """Verdicts, tables, pictures with intervals, the plan and the raw files of a run, in one HTML file."""
    from entity_tui.records.files import write_whole
    from entity_tui.records.places import open_store, run_of
    from entity_tui.records.report import report_page

    with open_store() as store:
        found = run_of(run, store)
    page, drawn = report_page(found, with_pictures=not no_pictures)
    path = output or Path(f"{found.session_id}.html")
    write_whole(path, page)
    click.echo(str(path))
    if folder is not None:
        for picture in drawn:
            write_whole(folder / f"{picture.name}.svg", picture.svg)
            write_whole(folder / f"{picture.name}.png", picture.png)
            click.echo(str(folder / f"{picture.name}.svg"))
            click.echo(str(folder / f"{picture.name}.png"))
