"""A llama.cpp folder copied to a device: every library, unchanged files skipped by hash, stale ones removed."""

from __future__ import annotations

import asyncio
import json
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from entity_tui.checksum import file_sha256
from entity_tui.engine.archive import library_folder
from entity_tui.engine.build import MANIFEST, EngineBuild, VariantList, describe_folder
from entity_tui.engine.elf import needed_libraries, read_head
from entity_tui.engine.minimum_isa import code_features
from entity_tui.engine.remote_hash import remote_sha256s
from entity_tui.errors import EntityError, UsageError
from entity_tui.transport.base import Transport

_SAFE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,120}")
_SYSTEM = re.compile(r"^(lib(c|m|dl|log|pthread|rt|stdc\+\+|gcc_s|z|android|util|gomp|omp|c\+\+)\.so|ld-)")
_ARM_DEVICE = {"aarch64": "arm64", "arm64": "arm64", "armv8l": "arm64", "x86_64": "x86_64", "amd64": "x86_64"}

_REMOVE = r"""
# $1 our engine's folder; then the names to remove from it.
cd "$1" || exit 1
shift
for n in "$@"; do case $n in */*|.|..) ;; *) rm -f -- "./$n" ;; esac; done
exit 0
"""
_LIST = 'cd "$1" 2>/dev/null || exit 0; for f in * ; do [ -f "$f" ] && echo "$f"; done; exit 0'
_LINKS = r"""
# $1 folder; then pairs: link name, target name. A file system without links gets copies.
cd "$1" || exit 1
shift
while [ $# -ge 2 ]; do
  ln -sf -- "$2" "$1" 2>/dev/null || cp -f -- "$2" "$1" || exit 1
  shift 2
done
exit 0
"""


class EngineRefused(EntityError):
    """The engine cannot run on this device; nothing was copied or started."""

    exit_code = 2


@dataclass(frozen=True, slots=True)
class EngineFile:
    """One file of an engine on this computer; `link_to` is the name it points to when it is a link."""

    name: str
    path: Path
    executable: bool
    link_to: str | None = None


@dataclass(frozen=True, slots=True)
class Installed:
    """A finished installation: the engine as it is on the device, and what had to be copied."""

    engine: EngineBuild
    sent: tuple[str, ...]
    unchanged: tuple[str, ...]
    removed: tuple[str, ...]
    sent_bytes: int
    needs: tuple[str, ...]
    """Extensions a single-variant build's code uses; empty for builds with variants."""


def engine_files(engine: EngineBuild) -> tuple[EngineFile, ...]:
    """Programs, all libraries and the licence of an engine of this computer, flat, by name.

    Raises EngineRefused when a library it needs is neither in it nor one of the system.
    """
    programs = Path(engine.directory)
    folders = [programs, library_folder(programs)]
    files: dict[str, EngineFile] = {}
    for folder in dict.fromkeys(folders):
        for path in sorted(folder.iterdir()):
            wanted = path.name.startswith("llama-") or ".so" in path.name or path.name.startswith("LICENSE")
            if not path.is_file() or not wanted or not _SAFE.fullmatch(path.name):
                continue
            target = path.readlink().name if path.is_symlink() else None
            files[path.name] = EngineFile(path.name, path, path.name.startswith("llama-"), target)
    for file in files.values():
        if file.link_to is not None and file.link_to not in files:
            raise EngineRefused(f"{file.name} points to {file.link_to}, which is not in the folder.")
        if file.link_to is None:
            _check_libraries(file, files)
    return tuple(files.values())


def _check_libraries(file: EngineFile, files: dict[str, EngineFile]) -> None:
    absent = [
        name for name in needed_libraries(file.path.read_bytes()) if name not in files and not _SYSTEM.match(name)
    ]
    if absent:
        raise EngineRefused(
            f"{file.name} needs {', '.join(absent)}, which is not in the folder.",
            fix="All .so files of a release belong together: unpack the whole archive.",
        )


def minimum_needs(engine: EngineBuild, files: tuple[EngineFile, ...]) -> frozenset[str]:
    """The CPU extensions a build without variants needs, from its code; empty for a build that chooses at load."""
    if engine.variant_list not in (VariantList.SINGLE, VariantList.UNKNOWN):
        return frozenset()
    found: frozenset[str] = frozenset()
    for file in files:
        if file.link_to is None and file.name.startswith("libggml-cpu"):
            found |= code_features(file.path.read_bytes())
    return found


async def device_machine(transport: Transport) -> str:
    """The device's machine in our words (arm64, x86_64), or empty for one we have no engine names for."""
    return _ARM_DEVICE.get((await transport.script("uname -m")).text.strip(), "")


async def install(
    transport: Transport, engine: EngineBuild, *, progress: Callable[[str, int, int], None] | None = None
) -> Installed:
    """Copy an engine of this computer to the device's `engines/` folder.

    `progress(file, done, size)`. Raises EngineRefused for an engine of another machine (a simulated phone takes any:
    it runs them through an emulator), and the link's errors; a cut installation is completed by the next one.
    """
    files = engine_files(engine)
    _check_machine(engine, files, await device_machine(transport), simulated=transport.simulated)
    needs = minimum_needs(engine, files)
    label = engine.build if engine.build != "unknown" else Path(engine.directory).name
    if not _SAFE.fullmatch(label):
        raise UsageError(f"{label!r} cannot be the name of a folder.", fix="Rename the engine's folder.")
    folder = f"{transport.root}/engines/llama-{label}"
    regular = [file for file in files if file.link_to is None]
    there = await remote_sha256s(transport, [f"{folder}/{file.name}" for file in regular])
    hashes: dict[str, str] = {}
    sent, unchanged, sent_bytes = [], [], 0
    for file, remote in zip(regular, there, strict=True):
        name = file.name
        if remote is not None:
            hashes[name] = await asyncio.to_thread(file_sha256, file.path)
            if hashes[name] == remote:
                unchanged.append(name)
                continue

        def show(done: int, total: int, name: str = name) -> None:
            if progress is not None:
                progress(name, done, total)

        mode = 0o755 if file.executable else 0o644
        moved = await transport.push(file.path, f"{folder}/{name}", mode=mode, progress=show)
        hashes[name] = moved.sha256
        sent.append(name)
        sent_bytes += moved.sent_bytes
    removed = await _settle(transport, folder, files)
    await _write_manifest(transport, folder, engine, hashes, needs)
    installed = describe_folder(
        folder, [file.name for file in files], build=label, build_source="manifest", name=engine.name
    )
    return Installed(installed, tuple(sent), tuple(unchanged), removed, sent_bytes, tuple(sorted(needs)))


def _check_machine(engine: EngineBuild, files: tuple[EngineFile, ...], machine: str, *, simulated: bool) -> None:
    for file in files:
        if not file.executable or file.link_to is not None:
            continue
        with file.path.open("rb") as content:
            head = read_head(content.read(64))
        if head is not None and head.machine and machine and head.machine != machine and not simulated:
            raise EngineRefused(
                f"This engine is built for {head.machine}, the device is {machine}.",
                detail=f"{file.name} in {engine.directory}",
                fix="Phones need the android-arm64 archive of a llama.cpp release.",
            )


async def _settle(transport: Transport, folder: str, files: tuple[EngineFile, ...]) -> tuple[str, ...]:
    """Make the links, remove files of a former build: a stale variant would be loaded if it scored higher."""
    pairs = [word for file in files if file.link_to is not None for word in (file.name, file.link_to)]
    done = await transport.script(_LINKS, args=(folder, *pairs))
    if not done.ok:
        raise EngineRefused("The device could not make the libraries' links.", detail=done.error_text.strip()[-300:])
    present = (await transport.script(_LIST, args=(folder,))).text.split("\n")
    keep = {file.name for file in files} | {MANIFEST}
    stale = tuple(name for name in present if name not in keep and _SAFE.fullmatch(name))
    if stale:
        await transport.script(_REMOVE, args=(folder, *stale))
    return stale


async def _write_manifest(
    transport: Transport, folder: str, engine: EngineBuild, hashes: dict[str, str], needs: frozenset[str]
) -> None:
    text = json.dumps(
        {
            "name": engine.name,
            "build": engine.build,
            "variant_list": engine.variant_list.value,
            "needs": sorted(needs),
            "files": hashes,
        }
    )
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / MANIFEST
        path.write_text(text + "\n", encoding="utf-8")
        await transport.push(path, f"{folder}/{MANIFEST}")
