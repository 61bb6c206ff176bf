"""The sha256 of files on a device, by whichever tool it has; many in one round trip."""

from __future__ import annotations

import re
from collections.abc import Sequence

from entity_tui.transport.base import RemoteFileError, Transport

_SCRIPT = r"""
LC_ALL=C; export LC_ALL
for f in "$@"; do
  [ -f "$f" ] && [ -r "$f" ] || { echo "missing"; continue; }
  h=$({ sha256sum <"$f" || toybox sha256sum <"$f" || busybox sha256sum <"$f" || shasum -a 256 <"$f" ||
    openssl dgst -sha256 <"$f"; } 2>/dev/null)
  echo "hash $h"
done
exit 0
"""
_HEX = re.compile(r"[0-9a-f]{64}")
_TIMEOUT_S = 900.0


async def remote_sha256s(transport: Transport, paths: Sequence[str]) -> tuple[str | None, ...]:
    """One sha256 per path, in order; None for a file that is not there. Raises the link's errors.

    RemoteFileError when the device has no tool that computes one.
    """
    if not paths:
        return ()
    done = await transport.script(_SCRIPT, args=tuple(paths), timeout_s=_TIMEOUT_S)
    lines = [line for line in done.text.split("\n") if line]
    found: list[str | None] = []
    for line in lines:
        match = _HEX.search(line)
        if line.startswith("hash") and match is None:
            raise RemoteFileError(
                "The device has no tool that computes a sha256.", detail=done.error_text.strip()[-200:]
            )
        found.append(match[0] if match else None)
    if len(found) != len(paths):
        raise RemoteFileError("The device's answer about files is cut.", detail=done.error_text.strip()[-200:])
    return tuple(found)


async def remote_sha256(transport: Transport, path: str) -> str:
    """The sha256 of one file. Raises RemoteFileError when it is not there or cannot be hashed."""
    (digest,) = await remote_sha256s(transport, [path])
    if digest is None:
        raise RemoteFileError(f"Cannot read {path} on the device.")
    return digest
