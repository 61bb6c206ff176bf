"""The profiles that ship with the program, read and checked once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, TypeVar

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
    for implementer, body in merged("midr.yaml")["implementers"].items():
        for part, entry in body["cores"].items():
            yield int(implementer, 16), body["maker"], int(part, 16), entry


T = TypeVar("T")
_cached: list[Callable[[], None]] = []


def cached_profile(build: Callable[[], T]) -> Callable[[], T]:
    """Like `functools.cache` for what is built from profiles: forgotten when the user's own profiles change."""
    kept = cache(build)
    _cached.append(kept.cache_clear)
    return kept


def _forget() -> None:
    merged.cache_clear()
    for clear in _cached:
        clear()


_user_texts: dict[str, list[tuple[str, str]]] = {}


def add_user_folder(folder: Path) -> tuple[str, ...]:
    """Take the user's own profiles from a folder: files named as the shipped ones (`chips.yaml`, `presets.yaml`, …).

    Their entries are added to the shipped ones and win over them. Returns the paths taken. Raises ProfileError with
    file and line for a malformed one. A folder that is not there holds nothing.
    """
    taken = []
    for name in SHAPES:
        path = folder / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8")
        read_checked(text, str(path), SHAPES[name])
        _user_texts.setdefault(name, []).append((str(path), text))
        taken.append(str(path))
    _forget()
    return tuple(taken)


def forget_user_folders() -> None:
    """Back to the shipped profiles alone."""
    _user_texts.clear()
    _forget()


def _over(base: Any, extra: Any) -> Any:
    """Mappings merged key by key, everything else replaced."""
    if isinstance(base, dict) and isinstance(extra, dict):
        return {**base, **{key: _over(base[key], value) if key in base else value for key, value in extra.items()}}
    return extra


@cache
def merged(name: str) -> Any:
    """The shipped profile with the user's own entries laid over it."""
    data = shipped(name)
    for path, text in _user_texts.get(name, ()):
        data = _over(data, read_checked(text, path, SHAPES[name]))
    return data
