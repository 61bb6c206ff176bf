"""An engine given as a folder or an archive on this computer, unpacked without trusting one name inside it."""

from __future__ import annotations

import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from entity_tui.checksum import file_sha256
from entity_tui.engine.build import PROGRAMS, EngineBuild, build_from_path, describe_folder
from entity_tui.errors import EntityError, UsageError

MAX_ENTRIES = 5_000
MAX_UNPACKED_BYTES = 4 << 30
SUFFIXES = (".tar.xz", ".tar.gz", ".tgz", ".tar.bz2", ".tar", ".zip")


class ArchiveRefused(EntityError):
    """An archive that names a path outside itself, is too large when unpacked, or is cut."""

    exit_code = 2


def is_archive(path: Path) -> bool:
    """True when the name is one of an archive we can unpack."""
    return path.name.lower().endswith(SUFFIXES)


def unpack(archive: Path, target: Path) -> None:
    """Unpack into `target`, which must not exist; it appears whole or not at all.

    Refused: absolute names, `..`, links that lead outside, devices, more than 5 000 entries or 4 GiB. Raises
    ArchiveRefused, or OSError when this computer's disk says no.
    """
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        if archive.name.lower().endswith(".zip"):
            _unpack_zip(archive, part)
        else:
            _unpack_tar(archive, part)
        part.rename(target)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, UnicodeError, ValueError) as error:
        raise ArchiveRefused(
            f"Cannot unpack {archive.name}.", detail=str(error), fix="Download the archive again."
        ) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _bounded(sizes: Iterator[int]) -> None:
    entries = total = 0
    for size in sizes:
        entries, total = entries + 1, total + size
        if entries > MAX_ENTRIES or total > MAX_UNPACKED_BYTES:
            raise ArchiveRefused("The archive is too large to be an engine.", detail=f"{entries} entries, {total} B")


def _unpack_tar(archive: Path, target: Path) -> None:
    with tarfile.open(archive) as content:
        members: list[tarfile.TarInfo] = []

        def sizes() -> Iterator[int]:
            for member in content:
                members.append(member)
                yield member.size

        _bounded(sizes())
        for member in members:
            safe = tarfile.data_filter(member, str(target))
            content.extract(safe, target, filter="fully_trusted")


def _unpack_zip(archive: Path, target: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        _bounded(entry.file_size for entry in content.infolist())
        for entry in content.infolist():
            name = PurePosixPath(entry.filename.replace("\\", "/"))
            if name.is_absolute() or ".." in name.parts or ":" in entry.filename:
                raise ArchiveRefused("The archive names a path outside itself.", detail=repr(entry.filename))
            mode = entry.external_attr >> 16
            if stat.S_ISLNK(mode):
                raise ArchiveRefused(
                    "The zip holds a link, which zip engines do not need.", detail=repr(entry.filename)
                )
            path = target.joinpath(*name.parts)
            if entry.is_dir():
                path.mkdir(parents=True, exist_ok=True)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with content.open(entry) as source, path.open("wb") as sink:
                shutil.copyfileobj(source, sink, 1 << 20)
            path.chmod(0o755 if name.name in PROGRAMS or mode & 0o111 else 0o644)


def find_program_folder(folder: Path) -> Path | None:
    """The folder with llama-bench or llama-server: `folder` itself or one at most three levels below it."""
    level = [folder]
    for _ in range(4):
        for candidate in level:
            if any((candidate / name).is_file() for name in ("llama-bench", "llama-server")):
                return candidate
        level = [
            child for parent in level for child in sorted(parent.iterdir()) if child.is_dir() and not child.is_symlink()
        ]
    return None


def library_folder(programs: Path) -> Path:
    """Where the `.so` files are: beside the programs, or in the `lib` next to their `bin`."""
    beside = programs.parent / "lib"
    return beside if programs.name == "bin" and beside.is_dir() else programs


def describe_local(folder: Path, *, hint: str = "") -> EngineBuild:
    """The engine in a folder of this computer. `hint` is the archive's name, for its build number.

    Raises UsageError when there is no llama program in it.
    """
    programs = find_program_folder(folder) if folder.is_dir() else None
    if programs is None:
        raise UsageError(
            f"There is no llama.cpp in {folder}.",
            detail="Neither llama-bench nor llama-server was found in it.",
            fix="Name the folder or archive of a llama.cpp release for this device's processor.",
        )
    libraries = library_folder(programs)
    locations = {path.name: str(path) for place in {libraries, programs} for path in sorted(place.iterdir())}
    build = build_from_path(str(programs)) or build_from_path(hint)
    return describe_folder(
        str(programs), locations, build=build, build_source="folder name" if build else "", locations=locations
    )


def open_engine(path: Path, unpacked: Path) -> EngineBuild:
    """The engine in a folder or archive; an archive is unpacked once below `unpacked`, by its content.

    Raises UsageError for a path that is neither, ArchiveRefused for a hostile or broken archive.
    """
    path = path.expanduser().resolve()
    if path.is_dir():
        return describe_local(path)
    if not path.is_file() or not is_archive(path):
        raise UsageError(
            f"{path} is neither a folder nor an archive of llama.cpp.",
            fix=f"An archive ends in one of {', '.join(SUFFIXES)}.",
        )
    stem = next(path.name[: -len(suffix)] for suffix in SUFFIXES if path.name.lower().endswith(suffix))
    target = unpacked / f"{stem}-{file_sha256(path)[:12]}"
    if not target.exists():
        unpacked.mkdir(parents=True, exist_ok=True)
        unpack(path, target)
    return describe_local(target, hint=path.name)
