"""Model files where they are: headers read over any link or from this computer's disk, split models put together."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from entity_tui.digits import whole
from entity_tui.models.census import Census, census, merge_parts
from entity_tui.models.header import GgufHeader, read_header, read_header_async
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.models.window import GgufError
from entity_tui.transport.base import RemoteFileError, Transport

_AT_ONCE = 4


@dataclass(frozen=True, slots=True)
class CountedModel:
    """A model (all parts of it) and its census, or why there is none."""

    file: ModelFile
    parts: tuple[ModelFile, ...]
    census: Census | None
    error: str = ""


def local_header(path: Path) -> GgufHeader:
    """The header of a file of this computer. Raises GgufError or OSError."""
    with path.open("rb") as content:

        def read(offset: int, count: int) -> bytes:
            content.seek(offset)
            return content.read(count)

        return read_header(read, path.stat().st_size)


def local_census(path: Path) -> Census:
    """The census of a file of this computer; of all parts when it is the first of a split model.

    Raises GgufError or OSError.
    """
    parts = split_parts(path)
    return census(local_header(path)) if len(parts) == 1 else _merged([local_header(part) for part in parts])


def split_parts(path: Path) -> tuple[Path, ...]:
    """All files of a split model, in order, when `path` is one of them and all are there; else `path` alone.

    Raises GgufError when some are missing.
    """
    split = ModelFile(str(path), 0, path.name).split
    if split is None:
        return (path,)
    stem, _, count = split
    names = [path.with_name(f"{stem}-{number:05d}-of-{count:05d}.gguf") for number in range(1, count + 1)]
    missing = [name.name for name in names if not name.is_file()]
    if missing:
        raise GgufError("The model is split and parts are missing.", detail=", ".join(missing[:5]))
    return tuple(names)


async def remote_header(transport: Transport, file: ModelFile) -> GgufHeader:
    """The header of a file on the device; only header bytes cross the link.

    Raises GgufError, or the link's errors.
    """

    async def read(offset: int, count: int) -> bytes:
        return await transport.read(file.path, offset=offset, limit=count)

    return await read_header_async(read, file.size_bytes)


async def remote_size(transport: Transport, path: str) -> int:
    """Bytes of a file on the device. Raises RemoteFileError when it cannot be read."""
    asked = (
        '[ -f "$1" ] || exit 1; stat -L -c %s "$1" 2>/dev/null || stat -L -f %z "$1" 2>/dev/null || '
        '{ [ -r "$1" ] && wc -c <"$1"; }'
    )
    done = await transport.script(asked, args=(path,))
    size = whole(done.text.strip())
    if size is None:
        raise RemoteFileError(f"Cannot read {path} on the device.", detail=done.error_text.strip()[-300:])
    return size


def _merged(headers: Sequence[GgufHeader]) -> Census:
    try:
        return census(merge_parts(headers))
    except ValueError as error:
        raise GgufError("The parts of the model do not belong together.", detail=str(error)) from error


def group_parts(files: Iterable[ModelFile]) -> tuple[tuple[ModelFile, ...], ...]:
    """Files as models: the parts of a split one together, in order; others alone. First-seen order is kept."""
    groups: dict[tuple[str, str], list[ModelFile]] = {}
    for file in files:
        split = file.split
        key = (file.path.removesuffix(file.name), f"{split[0]}/{split[2]}" if split else file.name)
        groups.setdefault(key, []).append(file)
    return tuple(tuple(sorted(parts, key=lambda part: part.name)) for parts in groups.values())


async def count_model(transport: Transport, parts: Sequence[ModelFile]) -> CountedModel:
    """The census of one model on the device; an unreadable file gives an error text, a lost link raises."""
    first = parts[0]
    total = ModelFile(first.path, sum(part.size_bytes for part in parts), first.name, first.mtime_s)
    wanted = first.split[2] if first.split else 1
    if len(parts) != wanted:
        return CountedModel(total, tuple(parts), None, f"{len(parts)} of {wanted} parts are there")
    try:
        headers = [await remote_header(transport, part) for part in parts]
        found = census(headers[0]) if len(headers) == 1 else _merged(headers)
    except (GgufError, RemoteFileError) as error:
        return CountedModel(total, tuple(parts), None, str(error))
    return CountedModel(total, tuple(parts), found)


async def count_models(transport: Transport, files: Sequence[ModelFile] | None = None) -> tuple[CountedModel, ...]:
    """Every model on the device with its census, a few headers at a time. Raises the link's errors."""
    found = await find_models(transport) if files is None else files
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(parts: tuple[ModelFile, ...]) -> CountedModel:
        async with gate:
            return await count_model(transport, parts)

    return tuple(await asyncio.gather(*(one(parts) for parts in group_parts(found))))
