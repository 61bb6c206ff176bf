"""`entity-tui presets`: LITTLETai's presets for a device, shown, as settings for a runtime, or run under one."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import (
    device_options,
    json_option,
    print_json,
    snapshot_option,
    take_snapshot,
    with_device,
)

if TYPE_CHECKING:
    from entity_tui.silicon.presets import MaskMode, Preset, PresetTable
    from entity_tui.transport.base import Completed, Transport

FORMAT_OPTION = click.option(
    "--format",
    "format_name",
    default="llama",
    show_default=True,
    metavar="NAME",
    help="llama, onnxruntime, tflite, env, or one of your own.",
)
MASK_OPTION = click.option(
    "--mask-mode", default="taskset", show_default=True, metavar="MODE", help="taskset, or cpumask for the engine's -C."
)
NO_TB_OPTION = click.option("--no-tb", is_flag=True, help="Leave -tb out.")


@click.group()
def command() -> None:
    """Thread and mask presets for llama.cpp and other runtimes."""


def _table(device: str | None, snapshot: Path | None, speed: float | None) -> PresetTable:
    from entity_tui.device.facts import read_facts
    from entity_tui.silicon.presets import preset_table

    return preset_table(read_facts(take_snapshot(device, snapshot, speed=speed)).topology)


def _json(table: PresetTable, preset: Preset, format_name: str, mode: MaskMode, without_batch: bool) -> dict[str, Any]:
    from entity_tui.silicon.presets import mask_flags, prefix, runtime_format, settings

    kind = runtime_format(format_name)
    return {
        "preset": preset.name,
        "threads": preset.threads,
        "threads_batch": preset.threads_batch,
        "mask": preset.mask,
        "cpus": None if preset.cpus is None else list(preset.cpus),
        "prefix": list(prefix(preset, mode)),
        "format": format_name,
        "inferred": kind.inferred,
        "settings": [
            *settings(preset, format_name, without_batch=without_batch),
            *([" ".join(mask_flags(preset, mode))] if mask_flags(preset, mode) and not kind.inferred else []),
        ],
        "classes": [
            {"cpus": list(group.cpus), "max_freq_khz": group.max_freq_khz, "core": group.name}
            for group in table.classes
        ],
        "signal": table.signal,
    }


@command.command("show")
@click.argument("names", nargs=-1)
@device_options
@snapshot_option
@FORMAT_OPTION
@MASK_OPTION
@NO_TB_OPTION
@click.option("--why", is_flag=True, help="Each constant, its evidence, and where it failed.")
@json_option
def show(
    names: tuple[str, ...],
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    format_name: str,
    mask_mode: str,
    no_tb: bool,
    why: bool,
    as_json: bool,
) -> None:
    """Every preset (or those named) for the device, with the settings of a runtime."""
    from entity_tui.silicon.presets import mask_mode as mode_of

    mode = mode_of(mask_mode)
    table = _table(device, snapshot, speed)
    chosen = [table.preset(name) for name in names] if names else list(table.presets)
    rows = [_json(table, preset, format_name, mode, no_tb) for preset in chosen]
    if as_json:
        print_json(
            {"online": table.online, "reserve": table.reserve, "presets": rows, **({"why": _why()} if why else {})}
        )
        return
    _print_classes(table)
    for preset, row in zip(chosen, rows, strict=True):
        mask = f"mask {preset.mask}" if preset.mask else "no mask"
        click.echo(
            f"{preset.name:12s}{preset.title}: {preset.threads} threads, {preset.threads_batch} for prompts, {mask}"
        )
        for line in row["settings"]:
            click.echo(f"    {line}")
        if row["prefix"]:
            click.echo(f"    before the program: {' '.join(row['prefix'])}")
    _print_inferred(format_name)
    if why:
        for name, constant in _why().items():
            click.echo(
                f"{name}: {constant['value']}\n    evidence  {constant['evidence']}\n    failed    {constant['failed']}"
            )


def _why() -> dict[str, dict[str, str]]:
    from entity_tui.profiles.library import merged

    constants: dict[str, dict[str, str]] = merged("presets.yaml").get("constants", {})
    return constants


def _print_classes(table: PresetTable) -> None:
    from entity_tui.printable import printable
    from entity_tui.silicon.masks import format_cpu_list, format_mask

    click.echo(
        f"{table.online} cores online in {len(table.classes)} classes, by {table.signal}; reserve {table.reserve}"
    )
    for group in table.classes:
        clock = "speed unknown" if group.max_freq_khz is None else f"{group.max_freq_khz} kHz"
        name = printable(group.name) if group.name else "unknown core"
        click.echo(f"    cpu {format_cpu_list(group.cpus):9s} mask {format_mask(group.cpus):>5s}  {name:18s}{clock}")


def _print_inferred(format_name: str) -> None:
    from entity_tui.profiles.library import merged
    from entity_tui.silicon.presets import runtime_format

    if runtime_format(format_name).inferred:
        click.echo(f"▲ {runtime_format(format_name).title}: {merged('presets.yaml').get('inferred_note', 'INFERRED')}")


@command.command("env")
@click.argument("name")
@device_options
@snapshot_option
@FORMAT_OPTION
@MASK_OPTION
@NO_TB_OPTION
@click.option("--prefix", "only_prefix", is_flag=True, help="Only the words before the program.")
def env(
    name: str,
    device: str | None,
    speed: float | None,
    snapshot: Path | None,
    format_name: str,
    mask_mode: str,
    no_tb: bool,
    only_prefix: bool,
) -> None:
    """The setting lines of one preset, for a script: flags for llama.cpp, variables for the others.

    Lines for a runtime that was never measured say so in a comment on standard error.
    """
    from entity_tui.silicon.presets import mask_flags, prefix, runtime_format, settings
    from entity_tui.silicon.presets import mask_mode as mode_of

    mode = mode_of(mask_mode)
    kind = runtime_format(format_name)
    preset = _table(device, snapshot, speed).preset(name)
    if only_prefix:
        click.echo(" ".join(prefix(preset, mode)))
        return
    lines = settings(preset, format_name, without_batch=no_tb)
    if format_name == "llama":
        lines = (" ".join((lines[0], *mask_flags(preset, mode))),)
    for line in lines:
        click.echo(line)
    if kind.inferred:
        click.echo(f"# INFERRED for {kind.title}, not measured", err=True)


@command.command("run", context_settings={"ignore_unknown_options": True})
@click.argument("name")
@click.argument("argv", nargs=-1, type=click.UNPROCESSED)
@device_options
@MASK_OPTION
@NO_TB_OPTION
@click.option("--timeout", "timeout_s", type=click.FloatRange(1, 86400), default=3600.0, help="Seconds at most.")
@click.pass_context
def run(
    ctx: click.Context,
    name: str,
    argv: tuple[str, ...],
    device: str | None,
    speed: float | None,
    mask_mode: str,
    no_tb: bool,
    timeout_s: float,
) -> None:
    """Run CMD on the device under a preset: `presets run balanced --device … -- llama-cli -m model.gguf`."""
    from entity_tui.silicon.presets import command_line
    from entity_tui.silicon.presets import mask_mode as mode_of

    mode = mode_of(mask_mode)

    async def on_device(transport: Transport) -> Completed:
        from entity_tui.device.facts import read_facts
        from entity_tui.experiments.probe import probe
        from entity_tui.silicon.presets import preset_table

        preset = preset_table(read_facts(await probe(transport)).topology).preset(name)
        words = command_line(preset, argv, mode=mode, without_batch=no_tb)
        click.echo(shlex.join(words), err=True)
        return await transport.run(list(words), timeout_s=timeout_s)

    from entity_tui.printable import printable

    done = with_device(device, on_device, speed=speed)
    click.echo(printable(done.text, keep_newlines=True), nl=False)
    click.echo(printable(done.error_text, keep_newlines=True), nl=False, err=True)
    if done.exit_code != 0:
        ctx.exit(1)
