"""Which engine and which model a command uses when the user named none, or named a path."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from pathlib import Path

from entity_tui.engine.archive import open_engine
from entity_tui.engine.build import LOOKALIKE, EngineBuild
from entity_tui.engine.find import find_engines
from entity_tui.engine.local import available, ensure_lookalikes
from entity_tui.engine.model_files import remote_size
from entity_tui.errors import UsageError
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.transport.base import RemoteFileError, Transport


def build_order(build: str) -> tuple[int, ...]:
    """A key that sorts `b11434` and `v0.5.0` by age within their kind; unknown builds come first."""
    numbers = tuple(int(part) for part in re.findall(r"\d+", build))
    return (1, *numbers) if build.startswith("b") and numbers else (0, *numbers)


def newest(engines: Sequence[EngineBuild]) -> EngineBuild | None:
    """The engine to use among several: a llama.cpp before the look-alike, then the newest build, then the first."""
    if not engines:
        return None
    return max(engines, key=lambda engine: (engine.name != LOOKALIKE, build_order(engine.build)))


async def choose_engine(transport: Transport, given: str = "", *, unpacked: Path | None = None) -> EngineBuild:
    """The engine to run on this device.

    `given` is a folder or archive of this computer when the device is this computer (archives are unpacked below
    `unpacked`), else any folder on the device, or a build as `find_engines` lists it. Empty takes the newest one there
    is; this computer then gets the look-alikes when nothing else is found. Raises UsageError with what to do.
    """
    if given and transport.kind == "local":
        return open_engine(Path(given), unpacked or Path(transport.root) / "engines" / "unpacked")
    engines = await find_engines(transport, given if given.startswith("/") else "")
    if given:
        folder = given.rstrip("/")
        for engine in engines:
            if given in (engine.label, engine.build) or engine.directory in (folder, f"{folder}/bin"):
                return engine
        raise UsageError(
            f"No engine at {given} on this device.",
            detail="Found: " + (", ".join(engine.directory for engine in engines) or "none"),
            fix="`entity-tui engine install PATH` puts a llama.cpp release there.",
        )
    best = newest(engines)
    if transport.kind == "local" and (best is None or best.name == LOOKALIKE) and (available() or best is None):
        best = ensure_lookalikes(Path(transport.root) / "engines")
    if best is None:
        raise UsageError(
            "There is no llama.cpp on this device.",
            fix="`entity-tui engine install ARCHIVE` installs a release for Android arm64.",
        )
    return best


def local_model(path: Path) -> ModelFile:
    """A GGUF of this computer, as `find_models` would list it. Raises OSError."""
    status = path.stat()
    return ModelFile(str(path), status.st_size, path.name, int(status.st_mtime))


def runnable(file: ModelFile) -> bool:
    """False for what is no model by itself: later parts of a split one, projectors, vocabularies, adapters."""
    if file.split is not None and file.split[1] != 1:
        return False
    return not file.name.lower().startswith(("mmproj", "ggml-vocab", "lora-"))


async def choose_model(transport: Transport, given: str = "", *, folders: Sequence[Path] = ()) -> ModelFile:
    """The GGUF to run: `given` as a path on the device or a file name, else the smallest whole one that is found there.

    On this computer a path of the file system is taken as it is, and `folders` (where `models fetch` puts files) are
    searched too. Raises UsageError with what to do.
    """
    if given and transport.kind == "local" and Path(given).expanduser().is_file():
        return local_model(Path(given).expanduser().resolve())
    files = list(await find_models(transport))
    if transport.kind == "local":
        known = {file.path for file in files}
        found = sorted(path for folder in folders if folder.is_dir() for path in folder.glob("*.gguf"))
        files.extend(local_model(path) for path in found if str(path) not in known)
    if given:
        for file in files:
            if given in (file.path, file.name, file.name.removesuffix(".gguf")):
                return file
        if given.startswith("/"):
            with contextlib.suppress(RemoteFileError):
                return ModelFile(given, await remote_size(transport, given), given.rsplit("/", 1)[-1])
        raise UsageError(
            f"No model called {given} on this device.",
            detail="Found: " + (", ".join(file.name for file in files) or "none"),
            fix="`entity-tui models push FILE` puts one there.",
        )
    files = [file for file in files if runnable(file)]
    if not files:
        raise UsageError(
            "There is no model on this device.",
            fix="`entity-tui models push FILE` puts a GGUF there; `models fetch smollm2-135m` gets a small one.",
        )
    return min(files, key=lambda file: (file.split is not None, file.size_bytes, file.path))
