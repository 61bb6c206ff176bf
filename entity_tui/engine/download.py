"""One model file over HTTP: resumed where it was cut, its size and sha256 checked, nothing half-written left behind."""

from __future__ import annotations

import asyncio
import fcntl
import http.client
import os
import re
import shutil
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from entity_tui import __version__
from entity_tui.checksum import file_sha256
from entity_tui.errors import EntityError, UsageError
from entity_tui.transport.base import Progress

_CHUNK_BYTES = 1 << 18
_REDIRECTS = 5
_TIMEOUT_S = 30.0
_ATTEMPTS = 4
"""Tries in a row that may bring nothing; each byte received starts the count again."""
_RANGE = re.compile(r"^bytes (\d+)-(\d+)/(\d+|\*)$")


class DownloadFailed(EntityError):
    """The server or the disk said no, or what came is not the file that was promised."""


class DownloadCut(DownloadFailed):
    """The connection ended early; the part is kept and the next try goes on from there."""

    retry = True
    exit_code = 3


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to fetch and what it must be; `sha256` is None when nobody published one."""

    url: str
    file_name: str
    size_bytes: int
    sha256: str | None = None


@dataclass(frozen=True, slots=True)
class Downloaded:
    """A finished download. `received_bytes` is less than the size when it was resumed."""

    path: Path
    size_bytes: int
    received_bytes: int
    sha256: str
    checked: bool
    """True when a published sha256 was compared; the size always is."""


@contextmanager
def _only_one(part: Path) -> Iterator[None]:
    """One download per file at a time, across processes."""
    lock = part.with_suffix(part.suffix + ".lock")
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise UsageError(
                f"{part.name.removesuffix('.part')} is being downloaded already.", fix="Wait for the other one to end."
            ) from error
        try:
            yield
        finally:
            lock.unlink(missing_ok=True)


async def download(
    wanted: Wanted, folder: Path, *, offline: bool = False, progress: Progress | None = None
) -> Downloaded:
    """Fetch into `folder`/file_name; a file that is already there and right is not fetched again.

    Runs in a worker thread, so that an interface stays live; cancelling ends it at the next chunk and keeps the part.
    Raises UsageError when `offline`, DownloadFailed or DownloadCut.
    """
    stop = False
    work = asyncio.get_running_loop().run_in_executor(
        None, lambda: download_now(wanted, folder, offline=offline, progress=progress, stopped=lambda: stop)
    )
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        stop = True
        await asyncio.wait({work})
        raise


def download_now(
    wanted: Wanted,
    folder: Path,
    *,
    offline: bool = False,
    progress: Progress | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Downloaded:
    """The same, on this thread."""
    folder.mkdir(parents=True, exist_ok=True)
    target, part = folder / wanted.file_name, folder / f"{wanted.file_name}.part"
    if target.is_file() and target.stat().st_size == wanted.size_bytes:
        digest = file_sha256(target)
        if wanted.sha256 in (None, digest):
            return Downloaded(target, wanted.size_bytes, 0, digest, wanted.sha256 is not None)
    if offline:
        raise UsageError(f"{wanted.file_name} is not here and offline mode is on.", fix="Leave --offline away.")
    with _only_one(part):
        have = part.stat().st_size if part.exists() else 0
        free = shutil.disk_usage(folder).free
        if wanted.size_bytes - have > free:
            raise DownloadFailed(
                "There is no space left on this computer for it.",
                detail=f"{wanted.size_bytes - have} bytes to come, {free} free in {folder}",
            )
        received = _until_complete(wanted, part, progress, stopped)
        digest = file_sha256(part)
        if wanted.sha256 not in (None, digest):
            part.unlink()
            raise DownloadFailed(
                f"{wanted.file_name} is not the file that was published.",
                detail=f"sha256 {digest}, expected {wanted.sha256}",
                fix="Nothing was kept; try again, or another source.",
            )
        os.replace(part, target)
    return Downloaded(target, wanted.size_bytes, received, digest, wanted.sha256 is not None)


def _until_complete(wanted: Wanted, part: Path, progress: Progress | None, stopped: Callable[[], bool]) -> int:
    received, empty_tries = 0, 0
    while True:
        have = part.stat().st_size if part.exists() else 0
        if have > wanted.size_bytes:
            part.unlink()
            have = 0
        if have == wanted.size_bytes:
            return received
        try:
            got = _one_request(wanted, part, have, progress, stopped)
        except (OSError, http.client.HTTPException, ssl.SSLError) as error:
            got = max(0, (part.stat().st_size if part.exists() else 0) - have)
            cause: str = str(error) or type(error).__name__
        else:
            cause = "the connection ended early"
        received += got
        if stopped():
            raise DownloadCut("The download was stopped.", detail=f"{have + got} of {wanted.size_bytes} bytes are kept")
        empty_tries = 0 if got else empty_tries + 1
        if empty_tries >= _ATTEMPTS:
            raise DownloadCut(
                f"{wanted.file_name} could not be downloaded.",
                detail=cause,
                fix="Run it again: it goes on where it was cut.",
            )


def _one_request(wanted: Wanted, part: Path, have: int, progress: Progress | None, stopped: Callable[[], bool]) -> int:
    """One GET, from `have` on; bytes written to the part. Raises OSError, HTTPException or DownloadFailed."""
    link, answer = _open(wanted.url, have)
    try:
        start = _start_of(answer, have, wanted)
        written = 0
        with part.open("r+b" if start and part.exists() else "wb") as sink:
            sink.truncate(start)
            sink.seek(start)
            while not stopped() and (chunk := answer.read(_CHUNK_BYTES)):
                if start + written + len(chunk) > wanted.size_bytes:
                    sink.truncate(0)
                    raise DownloadFailed(
                        f"{wanted.file_name} is larger than it should be.",
                        detail=f"over {wanted.size_bytes} bytes came",
                        fix="The file behind the address has changed; nothing was kept.",
                    )
                sink.write(chunk)
                written += len(chunk)
                if progress is not None:
                    progress(start + written, wanted.size_bytes)
        return written
    finally:
        answer.close()
        link.close()


def _start_of(answer: http.client.HTTPResponse, have: int, wanted: Wanted) -> int:
    """Where the body starts in the file: `have` for a partial answer, 0 when the server sends everything again."""
    if answer.status == 206:
        match = _RANGE.match(answer.getheader("Content-Range", ""))
        if match is None or int(match[1]) != have or (match[3] != "*" and int(match[3]) != wanted.size_bytes):
            raise DownloadFailed(
                f"The file behind {wanted.url} has changed.",
                detail=answer.getheader("Content-Range", "no Content-Range"),
                fix="Update the catalog entry, or name another source.",
            )
        return have
    if answer.status != 200:
        raise DownloadFailed(
            f"The server answered {answer.status} {answer.reason}.",
            detail=wanted.url,
            fix="Check the address, or whether the model needs an account there.",
        )
    length = answer.getheader("Content-Length")
    if length is not None and length.isdigit() and int(length) != wanted.size_bytes:
        raise DownloadFailed(
            f"The file behind {wanted.url} has another size.",
            detail=f"{length} bytes, expected {wanted.size_bytes}",
            fix="Update the catalog entry, or name another source.",
        )
    return 0


def _open(url: str, have: int) -> tuple[http.client.HTTPConnection, http.client.HTTPResponse]:
    """A connection whose answer is no redirection. Raises OSError, HTTPException or DownloadFailed."""
    for _ in range(_REDIRECTS + 1):
        place = urlsplit(url)
        if place.scheme not in ("http", "https") or not place.hostname:
            raise DownloadFailed("The address is not one of HTTP.", detail=url)
        kind = http.client.HTTPSConnection if place.scheme == "https" else http.client.HTTPConnection
        link = kind(place.hostname, place.port, timeout=_TIMEOUT_S)
        headers = {"User-Agent": f"entity-tui/{__version__}", "Accept-Encoding": "identity"}
        if have:
            headers["Range"] = f"bytes={have}-"
        try:
            link.request("GET", (place.path or "/") + (f"?{place.query}" if place.query else ""), headers=headers)
            answer = link.getresponse()
        except BaseException:
            link.close()
            raise
        if answer.status not in (301, 302, 303, 307, 308):
            return link, answer
        target = urljoin(url, answer.getheader("Location", ""))
        answer.close()
        link.close()
        if place.scheme == "https" and urlsplit(target).scheme != "https":
            raise DownloadFailed("The server leads away from an encrypted connection.", detail=target)
        url = target
    raise DownloadFailed("The server redirects in circles.", detail=url)
