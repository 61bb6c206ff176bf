"""Writing so that a crash leaves the old file or the new one, never half of either."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path

from entity_tui.errors import EntityError


class RecordError(EntityError):
    """A record could not be written or read; the detail is the operating system's own words."""


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file under a temporary name in the same folder, flush it to the disk, and rename it.

    A link is followed, and what is no file (a terminal, a pipe, /dev/null) is written to, never replaced by one.
    Raises RecordError when the disk refuses; the file that was there before is then untouched.
    """
    data = content.encode("utf-8") if isinstance(content, str) else content
    temporary = ""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            with path.open("wb") as device:
                device.write(data)
            return
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = str(path.parent / f".{path.name}.{secrets.token_hex(6)}")
        with open(temporary, "xb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except OSError as error:
        if temporary:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
        raise RecordError(
            f"cannot write {path.name}", detail=str(error), fix="check the free space and the folder's permissions"
        ) from error


def write_at(path: Path, data: bytes, offset: int) -> None:
    """Write from an offset on and flush it to the disk. Raises RecordError when the disk refuses.

    Two programs that bring the same bytes to the same place leave them there once.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        with path.open("r+b") as stream:
            stream.seek(offset)
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        raise RecordError(
            f"cannot append to {path.name}", detail=str(error), fix="check the free space and the folder's permissions"
        ) from error


def read_text(path: Path) -> str:
    """The text of a file, undecodable bytes replaced. Raises RecordError when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise RecordError(f"cannot read {path.name}", detail=str(error), fix="check the path") from error
