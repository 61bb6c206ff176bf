"""`entity-tui portability`: which mechanisms this target really exposes, beside what each platform allows."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from entity_tui.commands.options import (
    device_options,
    json_option,
    print_json,
    read_snapshot_file,
    snapshot_option,
    with_device,
)
from entity_tui.errors import UsageError

if TYPE_CHECKING:
    from entity_tui.device.snapshot import Snapshot
    from entity_tui.silicon.portability import Mechanism
    from entity_tui.transport.base import Transport

SIGNS = {"present": "●", "degraded": "◐", "denied": "✖", "absent": "—", "unknown": "?"}


@click.command()
@device_options
@snapshot_option
@json_option
def command(device: str | None, speed: float | None, snapshot: Path | None, as_json: bool) -> None:
    """Measure which of the mechanisms the target exposes, and show the platforms side by side."""
    from entity_tui.device.facts import read_facts
    from entity_tui.profiles.library import merged
    from entity_tui.silicon.portability import PLATFORMS, portability

    taken = _take(device, snapshot, speed)
    facts = read_facts(taken)
    rows = portability(facts, taken)
    profile = merged("portability.yaml")
    if as_json:
        print_json(
            {
                "device": facts.identity.name,
                "simulated": facts.simulated,
                "measured_from": "snapshot" if snapshot is not None else "device",
                "ios": profile["note_ios"],
                "ios_figures": profile["ios_figures"],
                "ios_caveat": profile["ios_caveat"],
                "mechanisms": [
                    {
                        "key": row.key,
                        "title": row.title,
                        "target": {"state": row.target.state, "words": row.target.words},
                        **{
                            name: {"state": row.reference[name].state, "words": row.reference[name].words}
                            for name in PLATFORMS
                        },
                    }
                    for row in rows
                ],
            }
        )
        return
    _print(facts.identity.name or "this device", rows, profile["note_ios"], simulated=facts.simulated)
    figures = "; ".join(
        f"{chip} {name.replace('_', ' ')} {value}"
        for chip, row in profile["ios_figures"].items()
        for name, value in row.items()
    )
    click.echo(f"iOS figures, {profile['note_ios']}: {figures} ({profile['ios_caveat']})")


def _take(device: str | None, snapshot: Path | None, speed: float | None) -> Snapshot:
    """A snapshot; of a live device one with the affinity proof in it."""
    if snapshot is not None:
        if device is not None:
            raise UsageError("--device and --snapshot exclude each other", fix="name one of them")
        return read_snapshot_file(snapshot)
    return with_device(device, _measure, speed=speed)


async def _measure(transport: Transport) -> Snapshot:
    from entity_tui.device.probe_text import outcome_of
    from entity_tui.device.snapshot import Reading
    from entity_tui.experiments.probe import probe
    from entity_tui.silicon.portability import READBACK

    taken = await probe(transport)
    done = await transport.run(READBACK.split(), timeout_s=10)
    outcome = outcome_of(done.text or done.error_text, status=done.exit_code, command=True)
    reading = Reading(READBACK, outcome, done.text if done.ok else "", done.error_text.strip())
    return replace(taken, commands={**taken.commands, READBACK: reading})


def _print(name: str, rows: tuple[Mechanism, ...], note: str, *, simulated: bool) -> None:
    from entity_tui.printable import printable

    click.echo(f"{printable(name)}{'  simulated' if simulated else ''}")
    click.echo("                                  this  Android Termux Linux macOS iOS")
    for row in rows:
        signs = "     ".join(SIGNS[row.reference[key].state] for key in ("android", "termux", "linux", "macos", "ios"))
        click.echo(f"{row.title:34s}{SIGNS[row.target.state]}     {signs}     {printable(row.target.words)}")
    click.echo(f"● present  ◐ degraded  ✖ denied  — absent  ? not asked    iOS: {note}")
