"""Core names from the numbers a core carries in its main id register."""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.profiles.library import cached_profile, midr_entries


@dataclass(frozen=True, slots=True)
class CoreModel:
    """What the table knows of one core design."""

    maker: str
    name: str
    tier: str
    """`little`, `big` or `prime`: labels and tie-breaks only, never a speed."""
    level: str = ""
    """Architecture level such as `v8.2-A`; empty when the table does not know it."""
    based_on: str = ""
    """The Arm core a vendor's own number stands for."""


TIER_ORDER = {"little": 0, "big": 1, "prime": 2}


@dataclass(frozen=True, slots=True)
class Midr:
    """The fields of a MIDR_EL1 value."""

    implementer: int
    variant: int
    part: int
    revision: int


def decode_midr(value: int) -> Midr:
    """Split a MIDR_EL1 value (bits 31:24 implementer, 23:20 variant, 15:4 part, 3:0 revision)."""
    return Midr(value >> 24 & 0xFF, value >> 20 & 0xF, value >> 4 & 0xFFF, value & 0xF)


@cached_profile
def _table() -> dict[tuple[int, int, int | None], CoreModel]:
    table: dict[tuple[int, int, int | None], CoreModel] = {}
    for implementer, maker, part, entry in midr_entries():
        model = CoreModel(maker, entry["name"], entry["tier"], entry.get("level", ""), entry.get("based_on", ""))
        table[implementer, part, None] = model
        for variant, name in entry.get("variants", {}).items():
            table[implementer, part, int(variant, 16)] = CoreModel(maker, name, model.tier, model.level)
    return table


def core_model(implementer: int | None, part: int | None, variant: int | None = None) -> CoreModel | None:
    """The design with that id, None when the table does not know it."""
    if implementer is None or part is None:
        return None
    table = _table()
    return table.get((implementer, part, variant)) or table.get((implementer, part, None))


@cached_profile
def _by_name() -> dict[str, tuple[int, int]]:
    names: dict[str, tuple[int, int]] = {}
    for (maker, part, _), model in _table().items():
        names.setdefault(model.name, (maker, part))
    return names


def core_by_name(name: str) -> tuple[int, int] | None:
    """(implementer, part) of a core named as in the table, None when unknown."""
    return _by_name().get(name)
