"""`entity-tui context`: the window a model gets and what it costs, from two sizes and no phone."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui import config
from entity_tui.commands.options import json_option, print_json
from entity_tui.commands.sizes import parse_size
from entity_tui.errors import UsageError
from entity_tui.models.fit import size_words

if TYPE_CHECKING:
    from entity_tui.models.kv import KvShape


@click.command()
@click.option("--size", metavar="SIZE", help="Size of the model file, such as 773MB.")
@click.option(
    "--model", metavar="NAME", help="A catalog entry or a GGUF file instead of a size; tells the KV cost too."
)
@click.option("--free", metavar="SIZE", required=True, help="Memory the system can hand out, such as 3.4GiB.")
@json_option
def command(size: str | None, model: str | None, free: str, as_json: bool) -> None:
    """The context window the automatic rule gives, and why. Needs no phone."""
    from entity_tui.models.context import adaptive_window

    if (size is None) == (model is None):
        raise UsageError("Name the model by --size or by --model, not both.")
    kv: KvShape | None = None
    trained: int | None = None
    if model is None:
        size_bytes = parse_size(size or "")
    else:
        size_bytes, kv, trained = _known_model(model)
    free_bytes = parse_size(free)
    window = adaptive_window(size_bytes, free_bytes, trained_context=trained)
    cost = kv.bytes_at(window.tokens) if kv is not None else None
    if as_json:
        print_json(
            {
                "window_tokens": window.tokens,
                "reason": window.reason,
                "rule": window.rule,
                "size_bytes": size_bytes,
                "free_bytes": free_bytes,
                "trained_context": trained,
                "kv_bytes": None if cost is None else round(cost),
            }
        )
        return
    click.echo(f"{window.tokens} tokens")
    click.echo(f"{window.reason} ({window.rule})", err=True)
    if cost is not None:
        click.echo(f"KV cache at f16: {size_words(cost)}", err=True)


def _known_model(name: str) -> tuple[int, KvShape | None, int | None]:
    """(file size, KV shape, trained context) of a GGUF file here or of a catalog entry."""
    path = Path(name).expanduser()
    if path.is_file():
        from entity_tui.engine.model_files import local_census

        counted = local_census(path)
        return counted.file_bytes, counted.kv, counted.trained_context
    from entity_tui.engine.own_catalog import load_catalog
    from entity_tui.models.catalog import find_entry

    entry = find_entry(load_catalog(config.config_folder()), name)
    network = entry.network
    return entry.size_bytes, network.kv if network else None, network.trained_context if network else None
