"""What the user decided and what we remember: settings and known devices, each value with the file it came from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import platformdirs
import yaml

from entity_tui.errors import UsageError

APP = "entity-tui"


@dataclass(frozen=True, slots=True)
class Setting:
    """One thing a user can decide. `kind` is bool, float, str or map; `meaning` is its help text."""

    name: str
    kind: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None


SETTINGS: tuple[Setting, ...] = (
    Setting("device", "str", "", "the device to open at start; empty asks"),
    Setting("theme", "str", "entity-dark", "entity-dark, entity-light, ansi, or a theme of Textual"),
    Setting("ascii", "bool", False, "draw with ASCII characters only"),
    Setting("color", "bool", True, "false leaves one colour, bold and reverse"),
    Setting("reduced_motion", "bool", False, "update once a second, no smooth scrolling"),
    Setting("mouse", "bool", True, "false leaves the mouse to the terminal"),
    Setting("hz", "float", 5.0, "samples a second while nothing is measured", 0.2, 10.0),
    Setting("engine", "str", "", "folder of the engine to use when there are several; empty takes the newest"),
    Setting("model", "str", "", "file name of the model to use when there are several"),
    Setting("adb_host", "str", "127.0.0.1", "where the adb server listens"),
    Setting("adb_port", "float", 5037, "the adb server's port", 1, 65535),
    Setting("keys", "map", {}, "binding id: key, to change a key"),
    Setting("voltage_rule", "str", "evidence", "how battery units are decided: evidence or entity"),
)

BY_NAME: Mapping[str, Setting] = {setting.name: setting for setting in SETTINGS}


def _folder(variable: str, otherwise: str) -> Path:
    """A folder the user can move with an environment variable."""
    given = os.environ.get(variable)
    return Path(given) if given else Path(otherwise)


def config_folder() -> Path:
    """Settings, remembered devices, and the user's own plans and catalog entries."""
    return _folder("ENTITY_TUI_CONFIG", platformdirs.user_config_dir(APP))


def data_folder() -> Path:
    """Runs, conversations, fetched models: everything that was measured or downloaded."""
    return _folder("ENTITY_TUI_DATA", platformdirs.user_data_dir(APP))


def log_folder() -> Path:
    """The log file and what it rotated to."""
    return _folder("ENTITY_TUI_LOG", platformdirs.user_log_dir(APP))


@dataclass(frozen=True, slots=True)
class Config:
    """All settings with where each comes from: a file, an environment variable, or `default`."""

    values: Mapping[str, Any] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def _checked(setting: Setting, value: Any, place: str) -> Any:
    """The value in its type, or a UsageError that names the place and what would be right."""
    if setting.kind == "bool" and isinstance(value, bool):
        return value
    if setting.kind == "str" and isinstance(value, str):
        return value
    if setting.kind == "map" and isinstance(value, dict) and all(isinstance(v, str) for v in value.values()):
        return {str(key): text for key, text in value.items()}
    if setting.kind == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = setting.low, setting.high
        if (low is None or value >= low) and (high is None or value <= high):
            return value
        raise UsageError(f"{place}: {setting.name} is {value}", fix=f"a number from {low:g} to {high:g}")
    kinds = {"bool": "true or false", "str": "text", "float": "a number", "map": "a map of names to text"}
    raise UsageError(f"{place}: {setting.name} is {value!r}", fix=f"it takes {kinds[setting.kind]}: {setting.meaning}")


def _lines(text: str) -> dict[str, int]:
    """The line each top-level key stands on, counted from 1."""
    node = yaml.compose(text)
    if not isinstance(node, yaml.MappingNode):
        return {}
    return {str(key.value): key.start_mark.line + 1 for key, _ in node.value}


def read_mapping(path: Path) -> tuple[dict[str, Any], dict[str, int]]:
    """A YAML file that holds a map, and the line of each key. A missing file is empty. UsageError with the line."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, {}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}", detail=str(error)) from error
    try:
        loaded = yaml.safe_load(text)
        lines = _lines(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line} is not YAML", detail=str(getattr(error, "problem", error))) from error
    if loaded is None:
        return {}, {}
    if not isinstance(loaded, dict):
        raise UsageError(f"{path}:1 is not a map of names to values", fix="write lines of the form `name: value`")
    return {str(key): value for key, value in loaded.items()}, lines


def load(folder: Path | None = None) -> Config:
    """Defaults, then config.yaml, then ENTITY_TUI_<NAME> of the environment. UsageError names file and line."""
    path = (folder or config_folder()) / "config.yaml"
    values = {setting.name: setting.default for setting in SETTINGS}
    sources = dict.fromkeys(values, "default")
    written, lines = read_mapping(path)
    for name, value in written.items():
        place = f"{path}:{lines.get(name, 1)}"
        if name not in BY_NAME:
            import difflib

            near = difflib.get_close_matches(name, BY_NAME, n=1)
            fix = f"did you mean {near[0]}?" if near else "entity-tui config schema lists the settings"
            raise UsageError(f"{place}: there is no setting {name!r}", fix=fix)
        values[name] = _checked(BY_NAME[name], value, place)
        sources[name] = place
    for setting in SETTINGS:
        variable = f"ENTITY_TUI_{setting.name.upper()}"
        if variable in os.environ and setting.kind != "map":
            raw = os.environ[variable]
            parsed = raw if setting.kind == "str" else yaml.safe_load(raw)
            values[setting.name] = _checked(setting, parsed, variable)
            sources[setting.name] = variable
    return Config(values, sources)


@dataclass(frozen=True, slots=True)
class KnownDevice:
    """A device we remember: a name of the user's for a spec, and what was decided for it (its device settings)."""

    name: str
    spec: str
    settings: Mapping[str, Any] = field(default_factory=dict)


def known_devices(folder: Path | None = None) -> tuple[KnownDevice, ...]:
    """Devices the user gave a name, in the file's order."""
    path = (folder or config_folder()) / "devices.yaml"
    found, lines = read_mapping(path)
    rows = []
    for name, row in found.items():
        place = f"{path}:{lines.get(name, 1)}"
        if not isinstance(row, dict) or not isinstance(row.get("spec"), str):
            raise UsageError(f"{place}: {name} has no spec", fix="write `spec: ssh:user@host:8022` below it")
        rows.append(KnownDevice(name, row["spec"], {key: row[key] for key in row if key != "spec"}))
    return tuple(rows)


def remember(device: KnownDevice, folder: Path | None = None) -> None:
    """Write or replace one remembered device; the others stay as they are."""
    rows = {known.name: known for known in known_devices(folder)}
    rows[device.name] = device
    _write_devices(rows, folder)


def forget(name: str, folder: Path | None = None) -> bool:
    """Remove one remembered device; False when there is none of that name."""
    rows = {known.name: known for known in known_devices(folder)}
    if rows.pop(name, None) is None:
        return False
    _write_devices(rows, folder)
    return True


def _write_devices(rows: Mapping[str, KnownDevice], folder: Path | None) -> None:
    path = (folder or config_folder()) / "devices.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    content = {known.name: {"spec": known.spec, **known.settings} for known in rows.values()}
    text = yaml.safe_dump(content, allow_unicode=True, sort_keys=False)
    # Written beside and renamed, so that a full disk or a kill never leaves half a file.
    fresh = path.with_suffix(".yaml.new")
    fresh.write_text(text, encoding="utf-8")
    fresh.replace(path)
