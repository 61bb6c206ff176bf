"""`entity-tui devicetree`: every width rule on a chip nobody owns, from its device tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from entity_tui.commands.options import json_option, print_json
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.silicon.devicetree import DtVerdict
    from entity_tui.silicon.devicetree_source import SourceTree

SUFFIXES = (".dts", ".dtsi", ".dtb")
SHOWN_INCLUDES = 3


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "-I", "folders", multiple=True, type=click.Path(file_okay=False, path_type=Path), help="Look for includes here too."
)
@json_option
def command(paths: tuple[Path, ...], folders: tuple[Path, ...], as_json: bool) -> None:
    """Apply the width rules to FILE.dts, .dtsi or .dtb, or to every chip in a folder.

    Files that extend another one of the same chip (rk3588-opp.dtsi beside rk3588-base.dtsi) are read together.
    """
    groups = _groups(paths)
    results = [(name, *_judged(name, files, folders)) for name, files in groups]
    if as_json:
        print_json([_json(name, tree, verdict) for name, tree, verdict in results])
        return
    for name, tree, verdict in results:
        _print(name, tree, verdict)


def _groups(paths: tuple[Path, ...]) -> list[tuple[str, list[Path]]]:
    """Files to be read as one tree: those named one by one each alone, those of a folder by chip name."""
    groups: dict[str, list[Path]] = {}
    for path in paths:
        if path.is_file():
            groups.setdefault(path.stem, []).append(path)
            continue
        found = sorted(file for file in path.iterdir() if file.suffix in SUFFIXES)
        if not found:
            raise UsageError(f"no device tree in {path}", fix="name a .dts, .dtsi or .dtb file")
        for file in found:
            groups.setdefault(file.stem.split("-")[0], []).append(file)
    return list(groups.items())


def _judged(name: str, files: list[Path], folders: tuple[Path, ...]) -> tuple[SourceTree, DtVerdict]:
    from entity_tui.silicon.devicetree import judge, read_cpus, strings_of
    from entity_tui.silicon.devicetree_blob import is_blob, parse_blob
    from entity_tui.silicon.devicetree_source import parse_source

    places = [files[0].parent, *folders]

    def include(wanted: str) -> str | None:
        # An include name comes out of a file: it must not lead out of the folders that were named.
        for folder in places:
            path = (folder / wanted).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file() and path not in map(Path.resolve, files):
                return path.read_text(encoding="utf-8", errors="replace")
        return None

    try:
        blobs = [file.read_bytes() for file in files]
    except OSError as error:
        raise UsageError(f"cannot read {name}", detail=str(error)) from error
    if is_blob(blobs[0]):
        tree = parse_blob(blobs[0])
    else:
        tree = parse_source([blob.decode("utf-8", "replace") for blob in blobs], include)
    root = strings_of(tree.root.properties.get("compatible", ()))
    return tree, judge(read_cpus(tree), soc=" ".join((name, *root)))


def _json(name: str, tree: SourceTree, verdict: DtVerdict) -> dict[str, Any]:
    return {
        "soc": name,
        "decode": verdict.decode,
        "prefill": verdict.prefill,
        "twice_the_slowest": verdict.unity,
        "margin_pct": verdict.margin_pct,
        "clock_source": verdict.mhz_source,
        "presets": _presets(verdict),
        "missing": list(verdict.missing),
        "notes": list(verdict.notes),
        "missing_includes": tree.missing_includes,
        "unresolved": tree.unresolved,
        "mistakes": tree.mistakes,
        "cpus": [
            {
                "node": cpu.node,
                "label": cpu.label,
                "reg": cpu.reg,
                "core": cpu.core_name,
                "compatible": list(cpu.compatible),
                "cluster": cpu.cluster,
                "capacity_dmips_mhz": cpu.capacity_dmips_mhz,
                "max_mhz": verdict.mhz[place],
                "capacity": verdict.capacities[place],
            }
            for place, cpu in enumerate(verdict.cpus)
        ],
    }


def _presets(verdict: DtVerdict) -> list[dict[str, Any]]:
    """LITTLETai's presets for the same cores; they need no clock, only core counts and designs."""
    from entity_tui.silicon.presets import preset_table
    from entity_tui.silicon.topology_of import topology_of_cores

    if not verdict.cores:
        return []
    table = preset_table(topology_of_cores(verdict.cores))
    return [
        {
            "name": preset.name,
            "threads": preset.threads,
            "threads_batch": preset.threads_batch,
            "mask": preset.mask,
            "classes": table.signal,
        }
        for preset in table.presets
    ]


def _print(name: str, tree: SourceTree, verdict: DtVerdict) -> None:
    click.echo(name)
    rows: dict[tuple[str, str, int | None, int | None], int] = {}
    for place, cpu in enumerate(verdict.cpus):
        key = (cpu.cluster, cpu.core_name, verdict.mhz[place], verdict.capacities[place])
        rows[key] = rows.get(key, 0) + 1
    for (cluster, core, mhz, capacity), count in rows.items():
        clock = f"{mhz:5d} MHz" if mhz is not None else "    ? MHz"
        click.echo(f"  {count} × {core:20s}{clock}  capacity {'?' if capacity is None else capacity:>4}  {cluster}")
    for word, value in (
        ("decode", verdict.decode),
        ("prefill", verdict.prefill),
        ("twice the slowest", verdict.unity),
    ):
        click.echo(f"  {word:18s}{'cannot be evaluated' if value is None else f'{value} threads'}")
    for preset in _presets(verdict):
        mask = preset["mask"] or "free"
        flags = f"-t {preset['threads']} -tb {preset['threads_batch']}"
        click.echo(f"  {preset['name']:18s}{flags}  mask {mask}  by {preset['classes']}")
    for word in verdict.missing:
        click.echo(f"  ▲ missing: {word}")
    for word in verdict.notes:
        click.echo(f"  ▲ {word}")
    if tree.missing_includes:
        shown = ", ".join(tree.missing_includes[:SHOWN_INCLUDES])
        more = " …" if len(tree.missing_includes) > SHOWN_INCLUDES else ""
        click.echo(f"  · {len(tree.missing_includes)} includes are not here (their macros stay words): {shown}{more}")
    for word in (*tree.mistakes, *(f"{label} is in no file read" for label in tree.unresolved)):
        click.echo(f"  · {word}")
