"""Asking a device for everything at once, and listening to its sampler: the two ways raw text comes in."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import UTC, datetime

from entity_tui.agent import script
from entity_tui.device.facts import Facts
from entity_tui.device.live import Interpreter, Live
from entity_tui.device.probe_text import parse_probe
from entity_tui.device.sample import Sample, SampleParser
from entity_tui.device.snapshot import Snapshot
from entity_tui.errors import EntityError, Where
from entity_tui.transport.base import Transport

PROBE_TIMEOUT_S = 60.0
SIMULATED_PROPERTY = "ro.entity.simulated"

_CHOOSE_SHELL = """{ read -r x </proc/uptime; } 2>/dev/null || { command -v bash >/dev/null && exec bash -c "$@"; }
exec sh -c "$@"
"""
"""Termux has no /proc/uptime, and its dash no clock of its own; its bash has one, and a wait without a fork."""


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
    if snapshot.props.get(SIMULATED_PROPERTY) == "1" and not transport.simulated:
        # Reached by its plain address: a demo phone says of itself what it is, and everything measured must say so too.
        transport.simulated = True
        snapshot = replace(snapshot, simulated=True)
    if not snapshot.files and not snapshot.commands:
        raise ProbeFailed(
            "The device did not answer the probe.",
            detail=(done.error_text or done.text).strip()[:500],
            fix="Check that its shell works: adb shell echo hello",
        )
    return snapshot


async def sample_stream(
    transport: Transport,
    hz: float = 5.0,
    *,
    count: int = 0,
    thermal_s: float = 2.0,
    battery_s: float = 10.0,
    parser: SampleParser | None = None,
) -> AsyncIterator[Sample]:
    """Samples as the device takes them, `hz` a second on its own clock, until the caller stops or the link is lost.

    `count` ends the stream by itself; `thermal_s` and `battery_s` are the periods of the slow dumpsys calls. Give a
    `parser` to read its `header` and `outcomes`. Raises LinkLost; a new stream starts with sequence 0 again.
    """
    parser = parser or SampleParser()
    arguments = [max(1, round(100 / hz)), count, round(thermal_s * 100), round(battery_s * 100)]
    argv = ["sh", "-c", _CHOOSE_SHELL, "choose", script("sampler"), "entity-sampler", *map(str, arguments)]
    async with transport.stream(argv) as lines:
        async for line in lines:
            sample = parser.feed(line)
            if sample is not None:
                yield sample


async def live_stream(transport: Transport, facts: Facts, hz: float) -> AsyncIterator[tuple[Sample, Live]]:
    """Samples as they arrive, each with what it means on this device. Raises LinkLost."""
    interpreter = Interpreter(facts)
    async for sample in sample_stream(transport, hz):
        yield sample, interpreter.read(sample)


def _parent(root: str) -> str:
    """The folder our own one stands in: it exists before ours does, and is on the same file system."""
    return root.rstrip("/").rpartition("/")[0] or "/"
