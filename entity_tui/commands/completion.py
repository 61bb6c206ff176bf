"""`entity-tui completion SHELL`: the script a shell needs to complete our commands."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from entity_tui.errors import UsageError


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script: `eval "$(entity-tui completion bash)"`."""
    from entity_tui.cli import cli

    maker = get_completion_class(shell)
    if maker is None:
        raise UsageError(f"no completion for {shell}")
    click.echo(maker(cli, {}, "entity-tui", "_ENTITY_TUI_COMPLETE").source())
