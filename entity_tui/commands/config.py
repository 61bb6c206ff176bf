"""`entity-tui config`: the settings, where each value came from, and what may be written."""

from __future__ import annotations

from typing import Any

import click

from entity_tui import config
from entity_tui.commands.options import json_option, print_json


@click.group()
def command() -> None:
    """Show, check and describe the settings."""


@command.command()
@json_option
def path(as_json: bool) -> None:
    """Where settings, measurements and logs are kept (remove these folders to remove every trace)."""
    folders = {
        "config": str(config.config_folder()),
        "data": str(config.data_folder()),
        "log": str(config.log_folder()),
    }
    if as_json:
        print_json(folders)
        return
    for name, folder in folders.items():
        click.echo(f"{name:7} {folder}")


@command.command()
@json_option
def show(as_json: bool) -> None:
    """Every setting with its value and the file and line it came from."""
    loaded = config.load()
    if as_json:
        print_json({s.name: {"value": loaded[s.name], "source": loaded.sources[s.name]} for s in config.SETTINGS})
        return
    for setting in config.SETTINGS:
        click.echo(f"{setting.name:15} {loaded[setting.name]!s:20} {loaded.sources[setting.name]}")


@command.command()
def validate() -> None:
    """Read every file of the config folder; the first mistake is shown with its line."""
    config.load()
    devices = config.known_devices()
    click.echo(f"{config.config_folder()}: settings and {len(devices)} remembered devices are fine")


@command.command()
@json_option
def schema(as_json: bool) -> None:
    """The settings there are, with type, range, default and meaning."""
    rows: list[dict[str, Any]] = [
        {"name": s.name, "type": s.kind, "default": s.default, "low": s.low, "high": s.high, "meaning": s.meaning}
        for s in config.SETTINGS
    ]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        click.echo(f"{row['name']:15} {row['type']:6} {row['default']!s:13} {row['meaning']}")
