"""What stands between a user and a measurement: checks of this computer and of a device, each with what to do."""

from __future__ import annotations

import asyncio
import importlib.util
import os
import shutil
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from entity_tui import config
from entity_tui.errors import EntityError
from entity_tui.transport.base import DeviceState, Transport, TransportError

if TYPE_CHECKING:
    from entity_tui.device.facts import Facts


class Grade(StrEnum):
    """How a check came out."""

    GOOD = "good"
    NOTE = "note"
    """A capability less, not an error."""
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the doctor: what was looked at, how it is, the evidence, and what to do."""

    name: str
    grade: Grade
    found: str
    fix: str = ""


CLIENT_PROTOCOL = 41
"""What every adb of recent years calls its protocol (1.0.41); a client of another number kills the server."""


async def check_host() -> AsyncIterator[Check]:
    """This computer: Python, terminal, folders, adb program and server, extras."""
    version = ".".join(str(part) for part in sys.version_info[:3])
    yield Check("python", Grade.GOOD, f"{version} on {sys.platform}")
    yield _terminal()
    for name, folder in (("settings", config.config_folder()), ("data", config.data_folder())):
        yield _writable(name, folder)
    try:
        config.load()
        config.known_devices()
    except EntityError as error:
        yield Check("settings file", Grade.BAD, str(error), error.fix)
    async for check in _adb():
        yield check
    if importlib.util.find_spec("xllamacpp") is None:
        yield Check(
            "local engine", Grade.NOTE, "not installed", "pip install 'entity-tui[local]' measures this computer too"
        )
    else:
        yield Check("local engine", Grade.GOOD, "xllamacpp is installed")


def _terminal() -> Check:
    size = shutil.get_terminal_size()
    encoding = (sys.stdout.encoding or "ascii").lower()
    if "utf" not in encoding:
        fix = "set LANG to a UTF-8 locale, or use --ascii"
        return Check("terminal", Grade.NOTE, f"{size.columns}x{size.lines}, {encoding}", fix)
    if size.columns < 80 or size.lines < 24:
        return Check("terminal", Grade.NOTE, f"{size.columns}x{size.lines}", "80x24 or larger shows the panels")
    return Check("terminal", Grade.GOOD, f"{size.columns}x{size.lines}, {encoding}")


def _writable(name: str, folder: Path) -> Check:
    there = folder
    while not there.exists():
        there = there.parent
    if os.access(there, os.W_OK):
        return Check(f"{name} folder", Grade.GOOD, str(folder))
    variable = "ENTITY_TUI_CONFIG" if name == "settings" else "ENTITY_TUI_DATA"
    return Check(f"{name} folder", Grade.BAD, f"{folder} cannot be written", f"set {variable} to another folder")


async def _adb() -> AsyncIterator[Check]:
    """The adb program, its server, and every phone the server knows."""
    from entity_tui.transport.adb_host import list_devices, server_version
    from entity_tui.transport.adb_server import find_adb
    from entity_tui.transport.adb_wire import FIXES, ServerAddress

    try:
        path = await find_adb()
        yield Check("adb program", Grade.GOOD, path)
    except (TransportError, TimeoutError) as error:
        fix = getattr(error, "fix", "") or "install adb, or set ADBUTILS_ADB_PATH"
        yield Check("adb program", Grade.BAD, str(error), fix)
    server = ServerAddress.default()
    place = f"{server.host}:{server.port}"
    try:
        number = await asyncio.wait_for(server_version(server), 5.0)
    except TransportError as error:
        yield Check("adb server", Grade.NOTE, f"none at {place} ({error.title})", "it starts with the first phone")
        return
    except TimeoutError:
        fix = "adb kill-server ends it; the next command starts a fresh one"
        yield Check("adb server", Grade.BAD, f"{place} accepts but stays silent", fix)
        return
    if number != CLIENT_PROTOCOL:
        fix = "two adb versions fight over the server: use one of them everywhere"
        yield Check("adb server", Grade.BAD, f"{place} speaks 1.0.{number}, ours 1.0.{CLIENT_PROTOCOL}", fix)
    else:
        yield Check("adb server", Grade.GOOD, f"{place}, 1.0.{number}")
    devices = await list_devices(server)
    if not devices:
        fix = "switch on USB debugging in the developer options; try another cable (some only charge)"
        if sys.platform == "linux" and shutil.which("lsusb") is None:
            fix += "; lsusb (package usbutils) shows whether the phone is seen at all"
        yield Check("phones", Grade.NOTE, "none is listed", fix)
    for device in devices:
        good = device.state is DeviceState.READY
        grade = Grade.GOOD if good else Grade.BAD
        yield Check(f"phone {device.serial}", grade, device.state.value, "" if good else FIXES.get(device.state, ""))


async def check_device(transport: Transport) -> AsyncIterator[Check]:
    """A connected device: what it lets us read, its engines and models, its space."""
    from entity_tui.device.facts import read_facts
    from entity_tui.engine.find import find_engines
    from entity_tui.experiments.probe import probe
    from entity_tui.models.on_device import find_models

    facts = read_facts(await probe(transport))
    simulated = " (simulated)" if transport.simulated else ""
    yield Check("device", Grade.GOOD, f"{facts.identity.name or transport.spec}{simulated} over {transport.kind}")
    for check in _abilities(facts):
        yield check
    engines = await find_engines(transport)
    if engines:
        for engine in engines:
            runs = ", ".join(engine.executables) or "no programs"
            yield Check("engine", Grade.GOOD, f"{engine.label} in {engine.directory}: {runs}")
    else:
        fix = "entity-tui engine install llama-bNNNNN-bin-android-arm64.tar.gz (from llama.cpp's releases)"
        yield Check("engine", Grade.BAD, "no llama.cpp was found on the device", fix)
    models = await find_models(transport)
    if models:
        yield Check("models", Grade.GOOD, f"{len(models)} GGUF files, such as {models[0].name}")
    else:
        yield Check("models", Grade.BAD, "no GGUF file was found on the device", "entity-tui models push FILE")


def _abilities(facts: Facts) -> list[Check]:
    """What this device lets us read, from the probe's own outcomes."""
    checks = []
    for item in facts.capabilities.items:
        grade = Grade.GOOD if item.ability.value in ("present", "degraded") else Grade.NOTE
        words = f"{item.ability.value}{': ' + item.detail if item.detail else ''}"
        checks.append(Check(item.title or item.key, grade, words))
    return checks
