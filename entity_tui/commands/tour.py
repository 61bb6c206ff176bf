"""`entity-tui tour`: the whole story in words, for pipes and CI, from what the device is to the rows of an ablation."""

from __future__ import annotations

import sys
from importlib.resources import as_file, files
from pathlib import Path

import click

from entity_tui import config

DEMO, SPEED = "demo:cmf-phone-1", "20"
"""The demo phone lives twenty times as fast, and every row says so."""


@click.command()
@click.option("--csv-folder", type=click.Path(file_okay=False, path_type=Path), help="Where the CSVs go.")
@click.option("--skip-local", is_flag=True, help="Only the demo phone, not this computer.")
def command(csv_folder: Path | None, skip_local: bool) -> None:
    """Topology, variants, ten seconds of monitor and a quick ablation, on the demo phone and on this computer."""
    folder = csv_folder or config.data_folder() / "exports"
    folder.mkdir(parents=True, exist_ok=True)
    demo = ("--device", DEMO, "--speed", SPEED)
    _say("What the phone is")
    _run("topology", *demo)
    _say("Which CPU backend variants can run there")
    _run("variants", *demo)
    _say("Ten seconds of what it measures of itself")
    _run("monitor", *demo, "--hz", "1", "--for", "10s")
    _say("A quick ablation on it: four arms, one run each")
    phone = folder / "tour-demo-phone.csv"
    _run("bench", *demo, "--runs", "1", "--seed", "4711", "--yes", "--csv", str(phone))
    paths = [phone]
    if not skip_local:
        _say("The same instrument on this computer: one thread, unpinned and pinned")
        here = folder / "tour-this-computer.csv"
        with as_file(files("entity_tui.profiles").joinpath("tour.yaml")) as arms:
            _run(*_local_bench(arms), "--csv", str(here))
        paths.append(here)
    _say("The rows")
    for path in paths:
        click.echo(str(path))


def _local_bench(arms: Path) -> tuple[str, ...]:
    """Short prompts and no waiting: this is a look at the instrument, and the rows say that the gate was weakened."""
    words = ("bench", "--device", "local", "--arms", str(arms), "--runs", "1", "--seed", "4711", "--yes")
    return (*words, "--prompt", "64", "--generate", "16", "--gate", "minimum_s=0", "--gate", "sensorless_dwell_s=0")


def _say(words: str) -> None:
    click.echo(f"\n── {words}", err=True)
    sys.stderr.flush()


def _run(*words: str) -> None:
    """One of our own commands, in this process, as a user would type it."""
    from entity_tui.cli import cli

    click.echo(f"$ entity-tui {' '.join(words)}", err=True)
    code = cli.main(args=list(words), prog_name="entity-tui", standalone_mode=False)
    if isinstance(code, int) and code:
        raise SystemExit(code)
