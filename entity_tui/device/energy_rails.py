"""Power rails of phones that meter them: cumulative energy by rail, each with the meter's own clock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.device.snapshot import Snapshot

_HEAD = re.compile(r"^t=(\d{1,15})[ \t\r]*$", re.MULTILINE)
_CHANNEL = re.compile(r"^CH(\d{1,3})\(T=(\d{1,15})\)\[([^\]\n]*)\],\s*(\d{1,18})[ \t\r]*$", re.MULTILINE)
_LISTED = re.compile(r"ChannelId:\s*(\d{1,4}),\s*ChannelName:\s*([^,\n]*),\s*ChannelSubsystem:\s*([^\n]*)")


@dataclass(frozen=True, slots=True)
class Rail:
    """One channel: energy since boot in µWs at its own time in ms. Zero is a rail that used nothing."""

    channel: int
    name: str
    t_ms: int
    energy_uws: int


@dataclass(frozen=True, slots=True)
class RailReading:
    """One `energy_value` file. `gap` is True when a channel number is skipped or the list is cut inside."""

    t_ms: int | None
    rails: tuple[Rail, ...]

    @property
    def gap(self) -> bool:
        """True when the channel numbers are not 0, 1, 2, …"""
        return [rail.channel for rail in self.rails] != list(range(len(self.rails)))


def parse_energy_value(text: str) -> RailReading:
    """Read `t=…` and `CHn(T=…)[RAIL], energy` lines; a line that is cut is left out."""
    head = _HEAD.search(text)
    rails = tuple(
        Rail(int(channel), name, int(t_ms), int(energy)) for channel, t_ms, name, energy in _CHANNEL.findall(text)
    )
    return RailReading(int(head.group(1)) if head else None, rails)


def read_rails(snapshot: Snapshot) -> tuple[RailReading, ...]:
    """The readable energy meters of a snapshot, one reading a meter; empty where none could be read."""
    return tuple(
        parse_energy_value(reading.text)
        for path, reading in sorted(snapshot.files.items())
        if path.startswith("/sys/bus/iio/devices/") and path.endswith("/energy_value") and reading.ok
    )


def rail_watts(before: RailReading, after: RailReading) -> Mapping[str, float]:
    """Mean power of each rail in W between two readings, by ΔE/ΔT of the rail's own clock.

    A rail that is in one reading only, or whose clock or energy went back, is left out.
    """
    earlier = {rail.name: rail for rail in before.rails}
    watts: dict[str, float] = {}
    for rail in after.rails:
        first = earlier.get(rail.name)
        if first is not None and rail.t_ms > first.t_ms and rail.energy_uws >= first.energy_uws:
            watts[rail.name] = (rail.energy_uws - first.energy_uws) / (rail.t_ms - first.t_ms) / 1000
    return MappingProxyType(watts)


def parse_channel_list(text: str) -> tuple[tuple[int, str, str], ...]:
    """(channel, rail, subsystem) rows of `dumpsys powerstats`, in the order printed."""
    return tuple((int(number), name.strip(), group.strip()) for number, name, group in _LISTED.findall(text))
