"""The chips we know by name: which cores they have, used only where a device's own text leaves a core unnamed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from entity_tui.profiles.library import cached_profile, merged


@dataclass(frozen=True, slots=True)
class Chip:
    """One system on a chip. `clusters` is (core count, core name), fastest first."""

    key: str
    title: str
    vendor: str
    clusters: tuple[tuple[int, str], ...]
    note: str = ""


@cached_profile
def _chips() -> dict[str, Chip]:
    table: dict[str, Chip] = {}
    for key, entry in merged("chips.yaml")["chips"].items():
        chip = Chip(
            key=key,
            title=entry["title"],
            vendor=entry["vendor"],
            clusters=tuple((int(item["count"]), str(item["core"])) for item in entry.get("clusters", ())),
            note=entry.get("note", ""),
        )
        for name in (key, *entry.get("codes", ())):
            table[normal(name)] = chip
    return table


def normal(word: str) -> str:
    """A chip's code without case, blanks, dashes and underscores, so that `MT6878` and `mt6878 ` agree."""
    return re.sub(r"[^a-z0-9]", "", word.lower())


def find_chip(words: Sequence[str]) -> Chip | None:
    """The chip one of the device's own words names: the whole word, else its last part (`Qualcomm …, Inc MSM8956`)."""
    table = _chips()
    for word in words:
        if chip := table.get(normal(word)):
            return chip
        for part in re.split(r"[\s,]+", word):
            if len(part) >= 5 and (chip := table.get(normal(part))):
                return chip
    return None
