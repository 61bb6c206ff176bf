"""Files to and from a device through any shell: free space first, resumed where a cut left it, hashed, renamed."""

from __future__ import annotations

import asyncio
import hashlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from entity_tui.checksum import file_sha256
from entity_tui.digits import whole
from entity_tui.errors import Where
from entity_tui.transport.base import (
    LinkLost,
    Progress,
    RemoteFileError,
    Transfer,
    TransferMismatch,
    Transport,
    TransportError,
)
from entity_tui.transport.channel import Channel, PieceKind
from entity_tui.transport.device_text import parse_df_free_bytes, parse_sha256

if TYPE_CHECKING:
    from entity_tui.transport.shell import ShellTransport

_DD_COUNTS = re.compile(r"records (in|out)|bytes .*copied")
CHUNK_BYTES = 64 * 1024
SEND_BYTES = 64 * 1024
"""A phone passes a packet on only when it has all of it: larger ones leave it idle in between."""
STALL_TIMEOUT_S = 30.0
"""A transfer has no deadline of its own; a link that moves nothing for this long is lost."""
HASH_TIMEOUT_S = 600.0
END_OF_PULL_S = 1.0

READ = """LC_ALL=C; export LC_ALL
[ -d "$1" ] && { echo "Is a directory" >&2; exit 21; }
exec < "$1" || exit 1
if [ "$2" = 1 ]; then if [ -n "$3" ]; then exec head -c "$3"; else exec cat; fi; fi
if [ -n "$3" ]; then tail -c "+$2" | head -c "$3"; else exec tail -c "+$2"; fi
"""
"""$1 path, $2 first byte counted from 1, $3 limit or empty. The redirection gives the shell's own words on failure."""

HASH = """LC_ALL=C; export LC_ALL
{ sha256sum < "$1" || toybox sha256sum < "$1" || shasum -a 256 < "$1" || openssl dgst -sha256 < "$1"; } 2>/dev/null
"""

TAKE = """LC_ALL=C; export LC_ALL
d=${1%/*}; [ -n "$d" ] || d=/
[ -d "$1" ] && { echo "$1: Is a directory" >&2; exit 21; }
[ -d "$d" ] || mkdir -p "$d" || exit 1
if [ -s "$2" ]; then echo "size $(wc -c < "$2")"; else echo "size 0"; fi
df -Pk "$d" 2>/dev/null || df -k "$d" 2>/dev/null || :
echo ready
read -r word || exit 0
if [ "$word" = anew ]; then exec > "$2"; else exec >> "$2"; fi
if command -v dd >/dev/null 2>&1; then exec dd bs=262144; else exec cat; fi
"""
"""$1 final path, $2 temporary path: makes the folder, tells how much of the file is there and what is free, waits for
a word, and takes the rest of its input. A shell reads that word byte by byte, so nothing of the file is lost to it.
dd moves large blocks where toybox's cat moves 4 KiB, which is what makes this as quick as adb's own file service."""

LENGTH = """LC_ALL=C; export LC_ALL
[ -e "$1" ] || { cat < "$1"; exit 1; }
[ -d "$1" ] && { echo "$1: Is a directory" >&2; exit 21; }
[ -r "$1" ] || { cat < "$1"; exit 1; }
stat -c '%s %Y' "$1" 2>/dev/null || stat -f '%z %m' "$1" 2>/dev/null || wc -c < "$1"
"""

SETTLE = """LC_ALL=C; export LC_ALL
chmod "$3" "$2" && mv -f "$2" "$1"
"""


def _fail(title: str, words: str) -> RemoteFileError:
    words = "\n".join(line for line in words.splitlines() if not _DD_COUNTS.search(line))
    fix = "Free some space on the device, or choose another folder." if "No space left" in words else ""
    return RemoteFileError(title, detail=words.strip() or "the device gave no reason", fix=fix)


def _push_key(path: Path, status: os.stat_result) -> str:
    """Names the temporary file: only a part of the very same file is ever resumed."""
    digest = hashlib.sha256(f"{status.st_size}:{status.st_mtime_ns}:".encode())
    with path.open("rb") as file:
        digest.update(file.read(CHUNK_BYTES))
        file.seek(max(0, status.st_size - CHUNK_BYTES))
        digest.update(file.read(CHUNK_BYTES))
    return digest.hexdigest()[:16]


def _temporary(remote: str, key: str) -> str:
    folder, _, name = remote.rpartition("/")
    return f"{folder}/.{name[:160]}.{key}.part"


async def device_sha256(transport: Transport, path: str) -> str:
    """The sha256 of a file, computed on the device by whichever tool it has. RemoteFileError when it has none."""
    result = await transport.script(HASH, args=[path], timeout_s=HASH_TIMEOUT_S)
    found = parse_sha256(result.text)
    if found is None:
        raise _fail(f"Cannot hash {path!r} on the device", result.error_text or "no sha256sum, shasum or openssl")
    return found


async def _await_exit(channel: Channel) -> tuple[int, str]:
    """Drain a channel to its end: (exit code, stderr)."""
    words = bytearray()
    while True:
        piece = await channel.receive()
        if piece.kind is PieceKind.EXIT:
            return piece.code, words.decode("utf-8", "replace")
        if piece.kind is PieceKind.STDERR and len(words) < CHUNK_BYTES:
            words += piece.data


async def _await_ready(channel: Channel) -> str:
    """What the device tells before it takes a file. Raises RemoteFileError with its words when it does not."""
    told, words = bytearray(), bytearray()
    while not told.endswith(b"ready\n"):
        piece = await channel.receive()
        if piece.kind is PieceKind.EXIT:
            raise _fail("The device does not take the file", words.decode("utf-8", "replace"))
        (told if piece.kind is PieceKind.STDOUT else words).extend(piece.data[:CHUNK_BYTES])
    return told.decode("utf-8", "replace")


@dataclass(slots=True)
class _Sending:
    """The rest of a file on its way to the device; `done` counts the bytes the link took."""

    channel: Channel
    file: BinaryIO
    done: int
    size: int
    progress: Progress | None

    async def all(self) -> None:
        """Send to the end of the file, then the end itself. A device that has stopped taking it is no failure here:
        its exit says why."""
        try:
            while data := self.file.read(SEND_BYTES):
                await self.channel.send(data)
                await asyncio.sleep(0)  # a link that takes everything at once must not keep the interface waiting
                self.done += len(data)
                if self.progress is not None:
                    self.progress(self.done, self.size)
            await self.channel.close_stdin()
        except BrokenPipeError:
            return


async def _send_rest(channel: Channel, file: BinaryIO, start: int, size: int, progress: Progress | None) -> None:
    """Send everything from `start`. The device's early exit (no space) wins over our writes."""
    file.seek(start)
    rest = _Sending(channel, file, start, size, progress)
    ending = asyncio.ensure_future(_await_exit(channel))
    sending = asyncio.ensure_future(rest.all())
    try:
        while not ending.done():
            before, waiting = rest.done, sending.done()
            watched = {ending} if waiting else {ending, sending}
            await asyncio.wait(watched, timeout=STALL_TIMEOUT_S, return_when=asyncio.FIRST_COMPLETED)
            if sending.done():
                sending.result()
            if not ending.done() and sending.done() == waiting and rest.done == before:
                words = "The device did not finish a push" if waiting else "The link moved nothing in a push"
                raise LinkLost(f"{words} for {STALL_TIMEOUT_S:g} s")
        code, words = ending.result()
    finally:
        for task in (sending, ending):
            task.cancel()
        await asyncio.gather(sending, ending, return_exceptions=True)
    if code != 0:
        raise _fail("The device stopped taking the file", words)


async def _push_once(
    transport: ShellTransport, local: Path, remote: str, temporary: str, size: int, progress: Progress | None
) -> int:
    """Bring the temporary file to its full size; returns how many bytes were sent for that."""
    async with transport.channel(TAKE, args=[remote, temporary]) as channel:
        try:
            told = await asyncio.wait_for(_await_ready(channel), STALL_TIMEOUT_S)
        except TimeoutError as error:
            raise LinkLost(f"The device did not answer a push within {STALL_TIMEOUT_S:g} s") from error
        first, _, df_text = told.partition("\n")
        there = whole(first.removeprefix("size").strip()) or 0
        if there > size:
            there = 0
        free = parse_df_free_bytes(df_text)
        if free is not None and size - there > free:
            raise _fail(
                f"Not enough room for {local.name}",
                f"No space left: {size - there} bytes to send, {free} bytes free",
            )
        if progress is not None:
            progress(there, size)
        await channel.send(b"append\n" if there else b"anew\n")
        with local.open("rb") as file:
            await _send_rest(channel, file, there, size, progress)
    return size - there


async def push(
    transport: ShellTransport, local: Path, remote: str, *, mode: int, progress: Progress | None, verify: bool
) -> Transfer:
    """Copy a file to the device. A part that fails its hash after a resume is sent once more from the start."""
    status = local.stat()
    temporary = _temporary(remote, _push_key(local, status))
    began = time.monotonic()
    sent = await _push_once(transport, local, remote, temporary, status.st_size, progress)
    ended = time.monotonic()
    sha256 = ""
    if verify:
        sha256, there = await asyncio.gather(asyncio.to_thread(file_sha256, local), device_sha256(transport, temporary))
        if sha256 != there:
            await transport.run(["rm", "-f", temporary])
            if sent < status.st_size:
                return await push(transport, local, remote, mode=mode, progress=progress, verify=verify)
            raise TransferMismatch(
                f"{local.name} arrived damaged", detail=f"sent {sha256}, the device has {there}", fix="Try again."
            )
    verified = time.monotonic()
    settled = await transport.script(SETTLE, args=[remote, temporary, f"{mode:o}"])
    if not settled.ok:
        raise _fail(f"Cannot give {remote!r} its name on the device", settled.error_text)
    return Transfer(status.st_size, sent, sha256, ended - began, verified - ended)


async def _fetch_rest(
    transport: ShellTransport, remote: str, file: BinaryIO, start: int, size: int, progress: Progress | None
) -> None:
    """Append bytes `start`..`size` of a remote file; a file that grows meanwhile is taken up to `size`."""
    done = start
    words = bytearray()
    async with transport.channel(READ, args=[remote, str(start + 1), ""]) as channel:
        while True:
            # Past the size only the exit is awaited: letting go of a command that ends by itself costs nothing.
            limit_s = STALL_TIMEOUT_S if done < size else END_OF_PULL_S
            try:
                piece = await asyncio.wait_for(channel.receive(), limit_s)
            except TimeoutError as error:
                if done == size:
                    break
                raise LinkLost(f"The link moved nothing for {STALL_TIMEOUT_S:g} s during a pull") from error
            if piece.kind is PieceKind.EXIT:
                break
            if piece.kind is PieceKind.STDERR:
                words += piece.data[:CHUNK_BYTES]
                continue
            if done == size:
                break
            data = piece.data[: size - done]
            file.write(data)
            done += len(data)
            if progress is not None:
                progress(done, size)
    if done < size:
        raise _fail(f"{remote!r} ended early", words.decode("utf-8", "replace") or f"{done} of {size} bytes came")


async def pull(
    transport: ShellTransport, remote: str, local: Path, *, progress: Progress | None, verify: bool
) -> Transfer:
    """Copy a file from the device to a temporary name beside `local`, hash it on both sides, rename it."""
    if local.exists() and not local.is_file():
        raise TransportError(f"{local} is not a file", fix="Name a file to write to.", where=Where.HOST)
    asked = await transport.script(LENGTH, args=[remote])
    numbers = asked.text.split()
    size = whole(numbers[0]) if asked.ok and numbers else None
    if size is None:
        raise _fail(f"Cannot read {remote!r} on the device", asked.error_text)
    key = hashlib.sha256(f"{transport.spec}:{remote}:{' '.join(numbers)}".encode()).hexdigest()[:16]
    temporary = local.with_name(f".{local.name[:160]}.{key}.part")
    began = time.monotonic()
    with temporary.open("ab") as file:
        start = file.tell()
        if start > size:
            file.truncate(0)
            start = 0
        free = shutil.disk_usage(local.parent).free
        if size - start > free:
            temporary.unlink()
            raise TransportError(
                f"Not enough room here for {local.name}",
                detail=f"No space left: {size - start} bytes to fetch, {free} bytes free",
                fix="Free some space on this computer.",
                where=Where.HOST,
            )
        if start < size:
            await _fetch_rest(transport, remote, file, start, size, progress)
    ended = time.monotonic()
    sha256 = ""
    if verify:
        sha256, there = await asyncio.gather(
            asyncio.to_thread(file_sha256, temporary), device_sha256(transport, remote)
        )
        if sha256 != there:
            temporary.unlink()
            if start:
                return await pull(transport, remote, local, progress=progress, verify=verify)
            raise TransferMismatch(
                f"{remote} arrived damaged", detail=f"the device has {there}, here is {sha256}", fix="Try again."
            )
    os.replace(temporary, local)
    return Transfer(size, size - start, sha256, ended - began, time.monotonic() - ended)
