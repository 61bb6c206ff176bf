"""The adb server's socket protocol on asyncio: requests, shell v2 packets, and the errors the server words."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import struct
from collections.abc import AsyncIterator
from dataclasses import dataclass

from entity_tui.transport.base import DeviceState, LinkLost, NotReady, TransportError
from entity_tui.transport.channel import Channel, Piece, PieceKind

CONNECT_TIMEOUT_S = 3.0
ANSWER_TIMEOUT_S = 10.0
REQUEST_LIMIT_BYTES = 65_535
READ_CHUNK_BYTES = 256 * 1024
WRITE_BUFFER_BYTES = 1 << 20
_HEX4 = re.compile(rb"[0-9a-fA-F]{4}")
_PACKET = struct.Struct("<BI")
_STDIN, _STDOUT, _STDERR, _EXIT, _CLOSE_STDIN = range(5)
PACKET_LIMIT_BYTES = 1 << 30
"""No adbd sends a packet near this; a longer one is a broken or hostile stream."""


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where an adb server listens; the default is the user's own, as every adb client finds it."""

    host: str = "127.0.0.1"
    port: int = 5037

    @classmethod
    def default(cls) -> ServerAddress:
        """ANDROID_ADB_SERVER_ADDRESS or _HOST, and _PORT of the environment, else 127.0.0.1:5037."""
        named = os.environ.get("ANDROID_ADB_SERVER_ADDRESS") or os.environ.get("ANDROID_ADB_SERVER_HOST")
        port = os.environ.get("ANDROID_ADB_SERVER_PORT", "")
        return cls(named or "127.0.0.1", int(port) if port.isdigit() else 5037)

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


class AdbServerAbsent(LinkLost):
    """No adb server answers; one can be started."""


class AdbRefused(TransportError):
    """The adb server answered FAIL; its words are in `detail`."""


FIXES: dict[DeviceState, str] = {
    DeviceState.ABSENT: "Plug the phone in and switch on USB debugging, or run `adb connect HOST:PORT` for Wi-Fi.",
    DeviceState.OFFLINE: "Unplug and plug in again; for Wi-Fi, entity-tui disconnects and connects again by itself.",
    DeviceState.UNAUTHORIZED: "Unlock the phone and tap Allow in its `Allow USB debugging?` dialog.",
    DeviceState.AUTHORIZING: "Wait a moment, or unlock the phone and tap Allow in its debugging dialog.",
    DeviceState.CONNECTING: "Wait a moment; if it stays so, unplug and plug in again.",
    DeviceState.RECOVERY: "The phone is in recovery; choose `Reboot system now` there.",
    DeviceState.SIDELOAD: "The phone waits for a sideload; reboot it into Android.",
    DeviceState.NO_PERMISSION: "This account may not open the USB device: install the android-udev rules (package "
    "android-sdk-platform-tools-common on Debian and Ubuntu), log in again, then `adb kill-server`.",
    DeviceState.STALE: "The phone is listed but does not answer; unlock it, check Wi-Fi, or plug in again.",
    DeviceState.LOST: "Check the cable or the network; entity-tui goes on by itself when the phone is back.",
    DeviceState.REBOOTED: "The phone restarted; runs that were in flight are marked and can be collected.",
    DeviceState.WRONG_KEY: "The key of this host changed; compare its fingerprint before you accept it.",
}
"""What to do in every state that is not ready."""


def state_of(word: str) -> DeviceState:
    """The device state behind the adb server's word for it; an unknown word reads as offline."""
    word = word.strip()
    if word.startswith("no permissions"):
        return DeviceState.NO_PERMISSION
    known = {
        "device": DeviceState.READY,
        "emulator": DeviceState.READY,
        "unauthorized": DeviceState.UNAUTHORIZED,
        "authorizing": DeviceState.AUTHORIZING,
        "connecting": DeviceState.CONNECTING,
        "recovery": DeviceState.RECOVERY,
        "rescue": DeviceState.RECOVERY,
        "bootloader": DeviceState.RECOVERY,
        "sideload": DeviceState.SIDELOAD,
        "absent": DeviceState.ABSENT,
    }
    return known.get(word, DeviceState.OFFLINE)


def error_of(words: str) -> TransportError:
    """The right error for a FAIL of the server. Its texts are the only thing adb tells apart by."""
    low = words.lower()
    for needle, state, title in (
        ("unauthorized", DeviceState.UNAUTHORIZED, "The phone has not allowed this computer"),
        ("authorizing", DeviceState.AUTHORIZING, "The phone is still asking whether to allow this computer"),
        ("still connecting", DeviceState.CONNECTING, "The phone is still connecting"),
        ("no permissions", DeviceState.NO_PERMISSION, "This computer may not open the phone's USB device"),
        ("insufficient permissions", DeviceState.NO_PERMISSION, "This computer may not open the phone's USB device"),
        ("device offline", DeviceState.OFFLINE, "The phone is offline"),
        ("not found", DeviceState.ABSENT, "The phone is not there"),
        ("no devices", DeviceState.ABSENT, "The phone is not there"),
    ):
        if needle in low:
            return NotReady(title, state=state, detail=words, fix=FIXES[state])
    if low.strip() in ("closed", "") or "protocol fault" in low or "eof" in low:
        return LinkLost("The phone closed the link", detail=words or "closed", fix=FIXES[DeviceState.LOST])
    return AdbRefused("adb refused", detail=words)


class AdbStream:
    """One socket to the adb server."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def request(self, service: str) -> None:
        """Send a service name and wait for OKAY. Raises what `error_of` makes of a FAIL, or LinkLost."""
        data = service.encode()
        if len(data) > REQUEST_LIMIT_BYTES:
            raise AdbRefused("The request is too long for adb", detail=f"{len(data)} bytes")
        self.writer.write(b"%04x" % len(data) + data)
        await self.expect_okay()

    async def expect_okay(self) -> None:
        """Read one status word."""
        status = await self._exactly(4)
        if status == b"OKAY":
            return
        if status == b"FAIL":
            raise error_of(await self.sized_text())
        raise LinkLost("The adb server answered something else than adb", detail=repr(status))

    async def sized_text(self) -> str:
        """A text with its length in four hex digits before it."""
        head = await self._exactly(4)
        if head == b"FAIL":  # some services say OKAY first and only then that they failed
            raise error_of(await self.sized_text())
        if not _HEX4.fullmatch(head):  # int() would also take signs, blanks and underscores
            raise LinkLost("The adb server answered something else than adb", detail=repr(head))
        return (await self._exactly(int(head, 16))).decode("utf-8", "replace")

    async def _exactly(self, size: int) -> bytes:
        try:
            return await self.reader.readexactly(size)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise LinkLost("The adb server closed the connection", detail=str(error)) from error

    def close(self) -> None:
        """Let go at once; nothing that matters is ever left unsent."""
        self.writer.transport.abort()


async def dial(server: ServerAddress) -> AdbStream:
    """A connection to the server. Raises AdbServerAbsent when nobody listens there."""
    try:
        async with asyncio.timeout(CONNECT_TIMEOUT_S):
            reader, writer = await asyncio.open_connection(server.host, server.port, limit=1 << 20)
    except (OSError, TimeoutError) as error:
        raise AdbServerAbsent(
            f"No adb server answers at {server}",
            detail=str(error) or "timed out",
            fix="Start one with `adb start-server`, or run `entity-tui doctor`.",
        ) from error
    return AdbStream(reader, writer)


@contextlib.asynccontextmanager
async def session(server: ServerAddress, *, timeout_s: float = ANSWER_TIMEOUT_S) -> AsyncIterator[AdbStream]:
    """A connection for one exchange under one deadline; a silent server is a lost link."""
    stream = await dial(server)
    try:
        async with asyncio.timeout(timeout_s):
            yield stream
    except TimeoutError as error:
        raise LinkLost(f"The adb server at {server} did not answer within {timeout_s:g} s") from error
    finally:
        stream.close()


async def query(server: ServerAddress, service: str, *, timeout_s: float = ANSWER_TIMEOUT_S) -> str:
    """One host service that answers with a text."""
    async with session(server, timeout_s=timeout_s) as stream:
        await stream.request(service)
        return await stream.sized_text()


async def open_service(server: ServerAddress, serial: str, service: str, *, timeout_s: float) -> AdbStream:
    """A stream to a service on the phone, such as `shell,v2,raw:id` or `tcp:8080`, the whole opening in `timeout_s`."""
    stream = await dial(server)
    try:
        async with asyncio.timeout(timeout_s):
            await stream.request(f"host:transport:{serial}")
            await stream.request(service)
    except TimeoutError as error:
        stream.close()
        raise LinkLost(
            f"{serial} did not answer within {timeout_s:g} s",
            detail="it is listed, but it does not open a service",
            fix=FIXES[DeviceState.STALE],
        ) from error
    except BaseException:
        stream.close()
        raise
    return stream


class PacketReader:
    """Cuts a byte stream into shell v2 packets; pure, so that no cancellation can lose a byte."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def feed(self, data: bytes) -> None:
        """Add bytes as they came."""
        self._buffer += data

    def next(self) -> Piece | None:
        """The next whole packet, or None. Unknown packet kinds are skipped. Raises LinkLost for a broken stream."""
        while len(self._buffer) >= _PACKET.size:
            kind, size = _PACKET.unpack_from(self._buffer)
            if size > PACKET_LIMIT_BYTES:
                raise LinkLost("The phone sent a broken stream", detail=f"a packet of {size} bytes")
            end = _PACKET.size + size
            if len(self._buffer) < end:
                return None
            data = bytes(memoryview(self._buffer)[_PACKET.size : end])
            del self._buffer[:end]
            if kind == _EXIT and data:
                return Piece(PieceKind.EXIT, code=data[0])
            if kind in (_STDOUT, _STDERR) and data:
                return Piece(PieceKind.STDOUT if kind == _STDOUT else PieceKind.STDERR, data)
        return None


class ShellV2Channel(Channel):
    """A `shell,v2,raw:` service: three pipes and an exit code, no terminal on the phone."""

    def __init__(self, stream: AdbStream) -> None:
        self._stream = stream
        self._packets = PacketReader()
        self._exited = False
        # Enough in hand that the server never waits for us; a reader that is slow still stops a sender that is not.
        stream.writer.transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)

    async def receive(self) -> Piece:
        """The next packet. Raises LinkLost when the stream ends without an exit code."""
        while (piece := self._packets.next()) is None:
            try:
                data = await self._stream.reader.read(READ_CHUNK_BYTES)
            except OSError as error:
                raise LinkLost("The link to the phone broke", detail=str(error), fix=FIXES[DeviceState.LOST]) from error
            if not data:
                raise LinkLost(
                    "The link to the phone ended before the command did",
                    detail="no exit code came",
                    fix=FIXES[DeviceState.LOST],
                )
            self._packets.feed(data)
        self._exited = self._exited or piece.kind is PieceKind.EXIT
        return piece

    async def send(self, data: bytes) -> None:
        """One stdin packet; waits while the server takes no more."""
        await self._write(_PACKET.pack(_STDIN, len(data)) + data)

    async def close_stdin(self) -> None:
        """The packet that means end of file; adb streams themselves have no half-close."""
        await self._write(_PACKET.pack(_CLOSE_STDIN, 0))

    async def _write(self, packet: bytes) -> None:
        if self._exited:
            raise BrokenPipeError("the command is over")
        try:
            self._stream.writer.write(packet)
            await self._stream.writer.drain()
        except OSError as error:
            raise LinkLost("The link to the phone broke", detail=str(error), fix=FIXES[DeviceState.LOST]) from error

    async def end(self) -> bool:
        """Close the stream; adbd hangs up the shell it started."""
        self._stream.close()
        return self._exited
