"""Arms as a user writes them: YAML read with the place of each mistake, before any device is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path
from types import MappingProxyType
from typing import Any

from entity_tui.errors import UsageError
from entity_tui.experiments.arms import no_env
from entity_tui.records.schema import Role

THREAD_WORDS = ("online", "auto", "little")
PLACEMENTS = ("all", "fastest", "slowest", "perf", "little", "none")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_KEYS = frozenset(
    (
        *("label", "threads", "prefill_threads", "placement", "cpus", "mask", "flags", "env"),
        *("engine", "model", "command", "copy_of", "role", "incapable"),
    )
)


@dataclass(frozen=True, slots=True)
class ArmSpec:
    """One arm as written. `threads` is a number as text or one of THREAD_WORDS, `placement` one of PLACEMENTS."""

    arm_id: str
    label: str = ""
    threads: str = "auto"
    prefill_threads: str = ""
    placement: str = "all"
    cpus: frozenset[int] | None = None
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=no_env)
    engine: str = ""
    model: str = ""
    command: tuple[str, ...] = ()
    role: str = Role.MEASURE
    incapable: str = ""


@dataclass(frozen=True, slots=True)
class ArmFile:
    """A user's own file: its arms, and what it says about the plan (`blocks`, `gate`, `comparisons`, …)."""

    arms: Mapping[str, ArmSpec]
    plan: Mapping[str, Any]
    source: str = ""


def read_arm_file(text: str, source: str, known: Mapping[str, ArmSpec] = MappingProxyType({})) -> ArmFile:
    """Read a YAML file of arms. Raises UsageError naming the file, the arm and the key that is wrong."""
    import yaml

    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise UsageError(f"{source} is not YAML", detail=str(error).replace("\n", " ")) from error
    if not isinstance(loaded, dict) or not isinstance(loaded.get("arms"), dict) or not loaded["arms"]:
        raise UsageError(f"{source} has no arms", fix="write `arms:` and below it one name and its settings an arm")
    found: dict[str, ArmSpec] = dict(known)
    for name, row in loaded["arms"].items():
        found[str(name)] = _spec(str(name), row, source, found)
    own = {str(name): found[str(name)] for name in loaded["arms"]}
    return ArmFile(MappingProxyType(own), {key: loaded[key] for key in loaded if key != "arms"}, source)


def _spec(name: str, row: Any, source: str, known: Mapping[str, ArmSpec]) -> ArmSpec:
    from dataclasses import replace

    where = f"arm {name} in {source}"
    if not _NAME.fullmatch(name):
        raise UsageError(f"{where}: a name holds letters, digits and . _ -, and begins with a letter or digit")
    if not isinstance(row, dict):
        raise UsageError(f"{where} has no settings", fix="write at least `threads:`")
    unknown = set(row) - _KEYS
    if unknown:
        raise UsageError(f"{where}: unknown key {sorted(unknown)[0]}", fix=f"known keys: {', '.join(sorted(_KEYS))}")
    if "copy_of" in row:
        original = known.get(str(row["copy_of"]))
        if original is None:
            raise UsageError(
                f"{where} copies {row['copy_of']}, which is not an arm", fix="name an arm written above it"
            )
        return replace(
            original, arm_id=name, label=str(row.get("label", name)), role=str(row.get("role", original.role))
        )
    placement = str(row.get("placement", "all"))
    if placement not in PLACEMENTS:
        raise UsageError(f"{where}: placement {placement!r}", fix=f"one of {', '.join(PLACEMENTS)}, or `cpus: 4-7`")
    threads = _threads(row.get("threads", "auto"), where)
    return ArmSpec(
        arm_id=name,
        label=str(row.get("label", name)),
        threads=threads,
        prefill_threads=_threads(row["prefill_threads"], where) if "prefill_threads" in row else "",
        placement=placement,
        cpus=_cpus(row, where),
        flags=_words(row.get("flags", ()), where, "flags"),
        env=MappingProxyType({str(key): str(value) for key, value in dict(row.get("env") or {}).items()}),
        engine=str(row.get("engine", "")),
        model=str(row.get("model", "")),
        command=_words(row.get("command", ()), where, "command"),
        role=str(row.get("role", Role.MEASURE)),
        incapable=str(row.get("incapable", "")),
    )


def _threads(value: Any, where: str) -> str:
    text = str(value)
    if text in THREAD_WORDS or (text.isdigit() and int(text) > 0):
        return text
    raise UsageError(f"{where}: threads {text!r}", fix=f"a number above 0, or one of {', '.join(THREAD_WORDS)}")


def _words(value: Any, where: str, key: str) -> tuple[str, ...]:
    if isinstance(value, str):
        import shlex

        try:
            return tuple(shlex.split(value))
        except ValueError as error:
            raise UsageError(f"{where}: {key} cannot be split into words", detail=str(error)) from error
    if isinstance(value, list | tuple):
        return tuple(str(item) for item in value)
    raise UsageError(f"{where}: {key} is neither text nor a list")


def _cpus(row: Mapping[str, Any], where: str) -> frozenset[int] | None:
    from entity_tui.silicon.masks import parse_cpu_list, parse_mask

    for key, read in (("cpus", parse_cpu_list), ("mask", parse_mask)):
        if key in row:
            try:
                found = frozenset(read(str(row[key])) or ())
            except ValueError as error:
                raise UsageError(f"{where}: {key} {row[key]!r}", detail=str(error)) from error
            if not found:
                raise UsageError(f"{where}: {key} {row[key]!r} names no CPU")
            return found
    return None


@cache
def shipped_arms() -> Mapping[str, ArmSpec]:
    """The arms that come with the program, by id."""
    text = resources.files("entity_tui.profiles").joinpath("arms.yaml").read_text(encoding="utf-8")
    return read_arm_file(text, "arms.yaml").arms


def choose_arms(words: str) -> ArmFile | tuple[ArmSpec, ...]:
    """What `--arms` names: a file (an ArmFile), or shipped arms separated by commas.

    Raises UsageError for a name that is neither, with the names there are.
    """
    path = Path(words).expanduser()
    if path.suffix in (".yaml", ".yml") or path.is_file():
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"cannot read the arms file {path}", detail=str(error)) from error
        return read_arm_file(text, path.name, shipped_arms())
    known = shipped_arms()
    chosen: list[ArmSpec] = []
    for name in (word.strip() for word in words.split(",") if word.strip()):
        if name not in known:
            raise UsageError(f"no arm is called {name}", fix=f"arms: {', '.join(known)}; or name a YAML file")
        chosen.append(known[name])
    if not chosen:
        raise UsageError("--arms names no arm", fix=f"arms: {', '.join(known)}; or name a YAML file")
    return tuple(chosen)
