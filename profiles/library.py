"""The profiles that ship with the program, read and checked once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

from entity_tui.profiles.checked_yaml import read_checked
from entity_tui.profiles.shapes import SHAPES


def shipped_text(name: str) -> str:
    """The text of a packaged profile such as `midr.yaml`."""
    return resources.files("entity_tui.profiles").joinpath(name).read_text(encoding="utf-8")


@cache
def shipped(name: str) -> Any:
    """The checked data of a packaged profile. Raises ProfileError with line numbers if it is malformed."""
    return read_checked(shipped_text(name), name, SHAPES[name])


def midr_entries() -> Iterator[tuple[int, str, int, dict[str, Any]]]:
    """(implementer, maker, part, entry) of every core in the MIDR table."""
    for implementer, body in shipped("midr.yaml")["implementers"].items():
        for part, entry in body["cores"].items():
            yield int(implementer, 16), body["maker"], int(part, 16), entry
