"""What is known of the chosen device, as one immutable value that screens and commands read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from entity_tui.transport.base import DeviceState

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts
    from entity_tui.device.live import Live
    from entity_tui.device.sample import Sample
    from entity_tui.device.snapshot import Snapshot
    from entity_tui.engine.build import EngineBuild
    from entity_tui.models.on_device import ModelFile


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
    """`adb`, `ssh`, `local`, `replay`, `file`, or empty."""
    simulated: bool = False
    clock_factor: float = 1.0
    """How much faster than real time a simulated phone lives."""
    link_ms: float | None = None
    """The last heartbeat's round trip."""
    hz: float | None = None
    """Ticks a second the sampler is asked for."""
    snapshot: Snapshot | None = None
    facts: Facts | None = None
    sample: Sample | None = None
    live: Live | None = None
    """The newest sample, interpreted."""
    sample_at: float = 0.0
    """`time.monotonic()` when the sample arrived; its age is the reader's to compute."""
    loaded_variant: str | None = None
    """The CPU backend variant the loader itself named, never a prediction."""
    loaded_at: str = ""
    """When the loader said so, local `HH:MM:SS`."""
    kleidiai_ran: bool | None = None
    """Whether KleidiAI's kernels took the last model's weights, by a server's own log; None before one was read."""
    engines: tuple[EngineBuild, ...] = ()
    models: tuple[ModelFile, ...] = ()
    searched: bool = False
    """True once the device was searched for engines and models."""


def fresh_fields(spec: str) -> dict[str, Any]:
    """Every field of the view as it is before anything is known of `spec`."""
    empty = DeviceView()
    names = [name for name in DeviceView.__dataclass_fields__ if name not in ("sequence", "state", "words")]
    return {**{name: getattr(empty, name) for name in names}, "spec": spec, "name": spec}


def clock_factor_of(snapshot: Snapshot) -> float:
    """How much faster a simulated phone lives, from its own property; 1 for everything real."""
    try:
        return float(snapshot.props.get("ro.entity.clock_factor", "1"))
    except ValueError:
        return 1.0
