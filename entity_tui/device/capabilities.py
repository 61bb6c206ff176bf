"""What a device lets us do: each ability present, degraded, denied or absent, with the text it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Ability(StrEnum):
    """How much of a mechanism a target exposes."""

    PRESENT = "present"
    DEGRADED = "degraded"
    DENIED = "denied"
    ABSENT = "absent"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Capability:
    """One ability with its evidence."""

    key: str
    title: str
    ability: Ability
    detail: str = ""
    source: str = ""


@dataclass(frozen=True, slots=True)
class Capabilities:
    """Everything that was asked, in a fixed order."""

    items: tuple[Capability, ...] = ()

    def get(self, key: str) -> Capability | None:
        """The capability with that key, None when it was never asked."""
        return next((item for item in self.items if item.key == key), None)

    def has(self, key: str) -> bool:
        """True when the ability is present or degraded."""
        item = self.get(key)
        return item is not None and item.ability in (Ability.PRESENT, Ability.DEGRADED)
