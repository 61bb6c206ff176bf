"""The states a cell can end in, read from the one table that shell, CSV and help share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any

from entity_tui.errors import UsageError
from entity_tui.records.schema import Usability


class When(StrEnum):
    """Whether a state is known before the arm did anything (it may exclude), or is an outcome of the arm."""

    BEFORE = "before"
    AFTER = "after"


class Scope(StrEnum):
    """Which of a cell's numbers a state is about."""

    CELL = "cell"
    POWER = "power"
    COUNTERS = "counters"


@dataclass(frozen=True, slots=True)
class State:
    """One way a cell can end, with the words a reader needs."""

    name: str
    usability: Usability
    when: When
    scope: Scope
    replace: bool
    """True when a block that lost a cell this way gets a fresh block appended."""
    usability_when_run: Usability
    """Its usability when the plan says to run the cell all the same; equal to `usability` for most."""
    sentence: str
    cause: str
    next_step: str


@dataclass(frozen=True, slots=True)
class ForeignState:
    """A state name of another tool in our words. `flag` is shown beside the number; empty when there is none."""

    state: str
    usability: Usability
    flag: str = ""


@cache
def _table() -> Mapping[str, Any]:
    import yaml

    text = resources.files("entity_tui.profiles").joinpath("states.yaml").read_text(encoding="utf-8")
    loaded: Mapping[str, Any] = yaml.safe_load(text)
    return loaded


@cache
def states() -> Mapping[str, State]:
    """Every state by name, in the order of the table."""
    found: dict[str, State] = {}
    for name, row in _table()["states"].items():
        usability = Usability(row["usability"])
        found[name] = State(
            name=name,
            usability=usability,
            when=When(row["when"]),
            scope=Scope(row.get("scope", "cell")),
            replace=bool(row.get("replace", False)),
            usability_when_run=Usability(row.get("run", usability)),
            sentence=row["sentence"],
            cause=row["cause"],
            next_step=row["next"],
        )
    return MappingProxyType(found)


def state(name: str) -> State:
    """The state called `name`. Raises UsageError for a word that is not in the table."""
    found = states().get(name)
    if found is None:
        raise UsageError(
            f"{name} is not a state of a cell",
            detail="the table knows: " + ", ".join(states()),
            fix="a run written by a newer version needs that version to be read",
        )
    return found


@cache
def exit_states() -> Mapping[int, str]:
    """The exit statuses that name a state by themselves."""
    return MappingProxyType({int(code): str(name) for code, name in _table()["exit_status"].items()})


@cache
def littletai_states() -> Mapping[str, ForeignState]:
    """LITTLETai's names for how an arm ended, in our words."""
    return MappingProxyType(
        {
            name: ForeignState(row["state"], Usability(row["usability"]), row.get("flag", ""))
            for name, row in _table()["littletai"].items()
        }
    )


def explain(name: str) -> str:
    """Sentence, cause and next step of a state as one paragraph for the help."""
    found = state(name)
    return f"{found.sentence} {found.cause} {found.next_step}"
