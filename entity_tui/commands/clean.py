"""`entity-tui clean`: remove what entity-tui left on a device, and end what it started there."""

from __future__ import annotations

import click

from entity_tui.commands.options import device_options, with_device
from entity_tui.errors import UsageError
from entity_tui.printable import printable
from entity_tui.transport.base import Transport

LIST = r"""
# $1 our directory: one line an entry, size in KiB first.
[ -d "$1" ] || exit 0
du -k -s "$1"/* 2>/dev/null
exit 0
"""

REMOVE = r"""
# $1 our directory; $2 `all`, or a list of entries to keep is not empty.
case $1 in */entity|*/entity/*) ;; *) echo "refused: $1 is not ours" >&2; exit 3 ;; esac
[ -L "$1" ] && { echo "refused: $1 is a link" >&2; exit 3; }
if [ "$2" = all ]; then
  rm -rf "$1"
else
  for e in "$1"/*; do
    case ${e##*/} in models|engines) ;; *) rm -rf "$e" ;; esac
  done
fi
exit 0
"""


@click.command()
@device_options
@click.option("--all", "everything", is_flag=True, help="Also models and engines; otherwise they stay.")
@click.option("--dry-run", is_flag=True, help="Only show what is there.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(device: str | None, speed: float | None, everything: bool, dry_run: bool, yes: bool) -> None:
    """Remove runs, scripts and the server's folder from a device. Nothing outside our one directory is touched."""

    async def work(transport: Transport) -> None:
        from entity_tui.engine.server import LlamaServer
        from entity_tui.experiments.follow import running

        found = (await transport.script(LIST, args=(transport.root,))).text.strip()
        if not found:
            click.echo(f"nothing of ours is on the device ({transport.root})", err=True)
            return
        click.echo(printable(found, keep_newlines=True))
        if dry_run:
            return
        if await running(transport):
            raise UsageError(
                "a run is in flight on the device", fix="entity-tui run stop ends it, or wait until it is done"
            )
        what = "everything above" if everything else "everything above but models and engines"
        if not yes:
            click.confirm(f"Remove {what}?", abort=True, err=True)
        await LlamaServer(transport).stop()
        removed = await transport.script(REMOVE, args=(transport.root, "all" if everything else "some"))
        if not removed.ok:
            raise UsageError("could not remove it", detail=printable(removed.error_text.strip()))
        click.echo(f"removed {what} in {transport.root}", err=True)

    with_device(device, work, speed=speed)
