"""Asking a device for everything at once, and listening to its sampler: the two ways raw text comes in."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime

from entity_tui.agent import script
from entity_tui.device.probe_text import parse_probe
from entity_tui.device.snapshot import Snapshot
from entity_tui.errors import EntityError, Where
from entity_tui.transport.base import Transport

PROBE_TIMEOUT_S = 60.0


class ProbeFailed(EntityError):
    """The device ran the probe but its answer holds nothing; its own words are in `detail`."""

    where = Where.DEVICE
    retry = True


async def probe(transport: Transport, *, timeout_s: float = PROBE_TIMEOUT_S) -> Snapshot:
    """Everything the rules need to know of the device, in one round trip. Raises ProbeFailed or a TransportError."""
    nonce = secrets.token_hex(16)
    asked_at = datetime.now(UTC).isoformat(timespec="seconds")
    place = transport.root if transport.root.startswith("/") else "/"
    done = await transport.script(script("probe"), args=(nonce, _parent(place)), timeout_s=timeout_s)
    snapshot = parse_probe(
        done.text,
        nonce,
        taken_at_utc=asked_at,
        device_spec=transport.spec,
        transport=transport.kind,
        simulated=transport.simulated,
    )
    if not snapshot.files and not snapshot.commands:
        raise ProbeFailed(
            "The device did not answer the probe.",
            detail=(done.error_text or done.text).strip()[:500],
            fix="Check that its shell works: adb shell echo hello",
        )
    return snapshot


def _parent(root: str) -> str:
    """The folder our own one stands in: it exists before ours does, and is on the same file system."""
    return root.rstrip("/").rpartition("/")[0] or "/"
