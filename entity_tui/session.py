"""The one connected device and what is live on it: what screens read and commands steer.

Everything a screen shows is an immutable value in `view`, a ring buffer in `telemetry`, a line in `log`, or the
`RunView` of the run in flight. Screens poll; nothing here knows a screen.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from entity_tui.errors import EntityError, UsageError
from entity_tui.logbook import LogBook
from entity_tui.telemetry import Telemetry
from entity_tui.transport.base import DeviceState, Transport

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts
    from entity_tui.device.sample import Sample
    from entity_tui.device.snapshot import Snapshot
    from entity_tui.engine.build import EngineBuild
    from entity_tui.experiments.live import RunView
    from entity_tui.models.on_device import ModelFile
    from entity_tui.transport.discover import DeviceRow


@dataclass(frozen=True, slots=True)
class DeviceView:
    """What is known of the device right now. A new value replaces the old one whole; `sequence` grows by one."""

    sequence: int = 0
    spec: str = ""
    """How the device is reached (`adb:…`, `local`, `demo:cmf-phone-1`); empty while none is chosen."""
    name: str = ""
    state: DeviceState = DeviceState.ABSENT
    words: str = "no phone selected"
    """The state in a sentence, such as `lost 12:14:03, retrying 3`."""
    fix: str = ""
    """What the user can do about it; empty when there is nothing to do."""
    kind: str = ""
    """`adb`, `ssh`, `local`, `replay`, or empty."""
    simulated: bool = False
    clock_factor: float = 1.0
    """How much faster than real time a simulated phone lives."""
    link_ms: float | None = None
    """The last heartbeat's round trip."""
    hz: float | None = None
    """Ticks a second the sampler delivers."""
    snapshot: Snapshot | None = None
    facts: Facts | None = None
    sample: Sample | None = None
    sample_at: float = 0.0
    """`time.monotonic()` when the sample arrived; its age is the reader's to compute."""
    loaded_variant: str | None = None
    """The CPU backend variant the loader itself named, never a prediction."""
    loaded_at: str = ""
    """When the loader said so, local `HH:MM:SS`."""
    engines: tuple[EngineBuild, ...] = ()
    models: tuple[ModelFile, ...] = ()
    searched: bool = False
    """True once the device was searched for engines and models."""


class Session:
    """Holds at most one device. All methods belong to one event loop."""

    def __init__(self) -> None:
        self.view = DeviceView()
        self.telemetry = Telemetry()
        self.log = LogBook()
        self.devices: tuple[DeviceRow, ...] = ()
        """The picker's rows, kept fresh while `watch_devices` runs."""
        self.run: RunView | None = None
        """The run in flight or the last one; None before the first."""
        self.transport: Transport | None = None
        self.paused = False
        """True stops storing new ticks (the sampler goes on)."""
        self._stack: AsyncExitStack | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def _update(self, **changes: object) -> None:
        self.view = replace(self.view, sequence=self.view.sequence + 1, **changes)  # type: ignore[arg-type]

    @property
    def sample_age_s(self) -> float | None:
        """Seconds since the newest sample arrived, None before the first."""
        return None if self.view.sample is None else time.monotonic() - self.view.sample_at

    async def connect(self, spec: str) -> None:
        """Choose a device: probe it, read its facts, start sampling. Raises EntityError; the view says why."""
        raise UsageError(f"cannot reach {spec}")

    async def close(self) -> None:
        """Let go of the device; detached runs on it live on."""

    async def watch_devices(self) -> None:
        """Keep `devices` fresh until cancelled."""

    async def start_bench(self, *, experiment: str = "ablation", confirmed: bool = False) -> str:
        """Start the default plan; returns what the user should be told. Never starts a second run."""
        raise UsageError("no phone selected")

    async def stop_run(self, *, now: bool = False) -> None:
        """Stop after the current cell, or now; what is finished is kept."""

    def export_run(self, format_name: str = "csv") -> Path:
        """Write the run's rows and return the path. Raises UsageError when there is no run."""
        raise UsageError("no run to export", fix="b runs the default plan")


__all__ = ["DeviceView", "EntityError", "Session"]
