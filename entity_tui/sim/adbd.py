"""The phone's side of adb over TCP: what a real adb server connects to, authorises with and opens services on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from entity_tui.sim import packets
from entity_tui.sim.packets import AUTH, CLSE, CNXN, OKAY, OPEN, STLS, WRTE, Packet, ProtocolError, read_packet
from entity_tui.sim.streams import Stream, StreamClosed

FEATURES = ("shell_v2", "cmd", "fixed_push_mkdir")
"""What this adbd does. Nothing is named that is not served: a host that reads `stat_v2` here would use it."""

OpenService = Callable[[str, Stream], Awaitable[None]]
"""Serves one stream of the named service until it ends; raises LookupError before `accept` for one it has not."""


@dataclass(slots=True)
class LinkFaults:
    """What is wrong with the link right now."""

    delay_s: float = 0.0
    """Every packet of the phone goes out this much later, in order."""
    frozen: asyncio.Event = field(default_factory=asyncio.Event)
    """While set, the phone neither reads nor writes, but the TCP connection stays up."""
    thawed: asyncio.Event = field(default_factory=asyncio.Event)
    unauthorized: bool = False
    """True: no key is accepted until the user of the phone says so."""
    refused_until_s: float = 0.0
    """Loop time until which new connections are closed at once."""

    def freeze(self, on: bool) -> None:
        """Stop or go on answering."""
        if on:
            self.thawed.clear()
            self.frozen.set()
        else:
            self.frozen.clear()
            self.thawed.set()


class Link:
    """One TCP connection of an adb server."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, daemon: Adbd, open_service: OpenService
    ) -> None:
        self.reader, self.writer, self.daemon, self.open_service = reader, writer, daemon, open_service
        self.streams: dict[int, Stream] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self.with_checksum = True
        self.max_payload = 4096
        self.online = False
        self.token = os.urandom(20)
        self._next_id = 0
        self._outbox: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def run(self) -> None:
        """Serve the connection until it ends."""
        sender = asyncio.create_task(self._send_all())
        try:
            while True:
                packet = await read_packet(self.reader, with_checksum=self.with_checksum)
                await self._hold_while_frozen()
                await self._handle(packet)
        except (asyncio.IncompleteReadError, ConnectionError, ProtocolError):
            pass
        finally:
            sender.cancel()
            self.cut()

    def cut(self) -> None:
        """Let go of the connection and end every stream on it."""
        for stream in list(self.streams.values()):
            stream.ended()
        self.writer.transport.abort()

    async def _hold_while_frozen(self) -> None:
        if self.daemon.faults.frozen.is_set():
            await self.daemon.faults.thawed.wait()

    async def transmit(self, packet: Packet) -> None:
        """Queue a packet; the delay of a slow link counts from now, so that packets overtake neither each other nor it.

        Raises ConnectionError once the link is gone.
        """
        if self.writer.transport.is_closing():
            raise ConnectionResetError
        due = asyncio.get_running_loop().time() + self.daemon.faults.delay_s
        self._outbox.put_nowait((due, packets.encode(packet, with_checksum=self.with_checksum)))

    async def _send_all(self) -> None:
        loop = asyncio.get_running_loop()
        with contextlib.suppress(ConnectionError):
            while True:
                due, data = await self._outbox.get()
                if (wait := due - loop.time()) > 0:
                    await asyncio.sleep(wait)
                await self._hold_while_frozen()
                self.writer.write(data)
                await self.writer.drain()

    async def _handle(self, packet: Packet) -> None:
        if packet.command == CNXN:
            await self._connect(packet)
        elif packet.command == AUTH:
            await self._authorize(packet)
        elif packet.command == STLS:
            raise ProtocolError("TLS was not offered")
        elif not self.online:
            return
        elif packet.command == OPEN:
            self._open(packet)
        elif stream := self.streams.get(packet.arg1):
            self._to_stream(stream, packet)
        elif packet.command == WRTE:
            await self.transmit(Packet(CLSE, 0, packet.arg0))

    def _to_stream(self, stream: Stream, packet: Packet) -> None:
        if packet.command == OKAY:
            stream.delivered()
        elif packet.command == WRTE:
            stream.arrived(packet.payload)
        elif packet.command == CLSE:
            stream.ended()

    async def _connect(self, packet: Packet) -> None:
        self.max_payload = min(packet.arg1, packets.MAX_PAYLOAD_BYTES)
        if self.daemon.must_authorize:
            await self.transmit(Packet(AUTH, packets.AUTH_TOKEN, 0, self.token))
            # The version is only agreed on with the phone's own CNXN; until then sums are sent and zero is taken.
            self._version = min(packet.arg0, self.daemon.version)
            return
        self._version = min(packet.arg0, self.daemon.version)
        await self._welcome()

    async def _welcome(self) -> None:
        banner = self.daemon.banner()
        await self.transmit(Packet(CNXN, self.daemon.version, packets.MAX_PAYLOAD_BYTES, banner))
        self.with_checksum = self._version < packets.VERSION_SKIP_CHECKSUM
        self.online = True

    async def _authorize(self, packet: Packet) -> None:
        if packet.arg0 == packets.AUTH_SIGNATURE:
            # Signatures are not verified: a known key is one whose public half the phone's user once accepted, and the
            # host only offers that half after its signature was turned down.
            if self.daemon.faults.unauthorized or not self.daemon.accepted_keys:
                await self.transmit(Packet(AUTH, packets.AUTH_TOKEN, 0, self.token))
            else:
                await self._welcome()
        elif packet.arg0 == packets.AUTH_PUBLIC_KEY:
            key = packet.payload.rstrip(b"\0")
            self.tasks.add(task := asyncio.create_task(self._ask_user(key)))
            task.add_done_callback(self.tasks.discard)

    async def _ask_user(self, key: bytes) -> None:
        """The dialog on the phone's screen: waits until `authorize` is said, then the host is let in."""
        await self.daemon.user_said_yes.wait()
        self.daemon.accepted_keys.add(key)
        with contextlib.suppress(ConnectionError):
            await self._welcome()

    def _open(self, packet: Packet) -> None:
        self._next_id += 1
        stream = Stream(self._next_id, packet.arg0, self.transmit, self.max_payload)
        self.streams[stream.local] = stream
        name = packet.payload.rstrip(b"\0").decode("utf-8", "surrogateescape")
        self.tasks.add(task := asyncio.create_task(self._serve(name, stream)))
        task.add_done_callback(self.tasks.discard)

    async def _serve(self, name: str, stream: Stream) -> None:
        try:
            await self.open_service(name, stream)
        except LookupError:
            with contextlib.suppress(ConnectionError):
                await self.transmit(Packet(CLSE, 0, stream.remote))
            stream.ended()
        except (StreamClosed, ConnectionError):
            pass
        finally:
            await stream.close()
            self.streams.pop(stream.local, None)


class Adbd:
    """Listens on loopback and keeps the links. `identity` holds the ro.product.* values that `adb devices -l` shows."""

    def __init__(
        self,
        identity: Mapping[str, str],
        open_service: OpenService,
        *,
        version: int = packets.VERSION_SKIP_CHECKSUM,
        must_authorize: bool = False,
    ) -> None:
        self.identity = identity
        self.open_service = open_service
        self.version = version
        self.must_authorize = must_authorize
        self.faults = LinkFaults()
        self.accepted_keys: set[bytes] = set()
        self.user_said_yes = asyncio.Event()
        self.links: set[Link] = set()
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def address(self) -> str:
        """host:port of the listener."""
        return f"127.0.0.1:{self._port}"

    async def listen(self, port: int = 0) -> None:
        """Start to listen on a loopback port; 0 takes a free one that no adb server mistakes for an emulator's."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port or self._port, limit=1 << 21)
        self._port = int(self._server.sockets[0].getsockname()[1])

    async def stop_listening(self) -> None:
        """Refuse new connections, as a phone that is off does; the port is kept for `listen`."""
        if self._server is not None:
            self._server.close()
            self._server = None
            await asyncio.sleep(0)

    def banner(self) -> bytes:
        """What CNXN tells the host about this phone."""
        parts = [f"{key}={self.identity[key]};" for key in sorted(self.identity)]
        return f"device::{''.join(parts)}features={','.join(FEATURES)}".encode()

    def drop(self) -> None:
        """Cut every connection."""
        for link in list(self.links):
            link.cut()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if asyncio.get_running_loop().time() < self.faults.refused_until_s:
            writer.transport.abort()
            return
        writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(reader, writer, self, self.open_service)
        self.links.add(link)
        try:
            await link.run()
        finally:
            self.links.discard(link)
