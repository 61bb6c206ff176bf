"""adb servers: finding the adb program, starting the user's own when none runs, and private ones that we also end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

from entity_tui.transport.adb_host import server_version
from entity_tui.transport.adb_wire import AdbServerAbsent, ServerAddress, session
from entity_tui.transport.base import LinkLost, Unsupported

START_TIMEOUT_S = 20.0
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


def _adb_path() -> str:
    import adbutils

    try:
        return str(adbutils.adb_path())
    except adbutils.AdbError as error:
        raise Unsupported(
            "No adb program was found",
            detail=str(error),
            fix="Install it: `apt install adb`, `brew install android-platform-tools`, or Google's platform-tools.",
        ) from error


async def find_adb() -> str:
    """The adb program of this computer: $ADBUTILS_ADB_PATH, PATH, or the one adbutils brings. Raises Unsupported."""
    return await asyncio.wait_for(asyncio.to_thread(_adb_path), START_TIMEOUT_S)


def free_port() -> int:
    """A loopback port nobody uses, outside 5555..5585 which every adb server takes for emulators."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        if not 5554 <= port <= 5682:
            return port


async def ensure_server(server: ServerAddress) -> int:
    """The protocol number of the server at `server`; a local one that does not run is started as any adb would."""
    try:
        return await server_version(server)
    except AdbServerAbsent:
        if server.host not in _LOOPBACK:
            raise
    adb = await find_adb()
    process = await asyncio.create_subprocess_exec(
        adb,
        "-P",
        str(server.port),
        "start-server",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        env={name: value for name, value in os.environ.items() if name != "ANDROID_ADB_SERVER_ADDRESS"},
        start_new_session=True,
    )
    try:
        await asyncio.wait_for(process.wait(), START_TIMEOUT_S)
    except TimeoutError:
        process.kill()
        await process.wait()
    return await server_version(server)


class AdbServer:
    """A private adb server: own port, own home and keys; it never meets the user's, and it ends when we do.

    Use as an async context manager; `address` is valid inside.
    """

    def __init__(self, adb: str | None = None, *, port: int | None = None, home: Path | None = None) -> None:
        self._adb = adb
        self._port = port
        self._given_home = home
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: asyncio.subprocess.Process | None = None
        self._starting = asyncio.Lock()

    @property
    def address(self) -> ServerAddress:
        """Where it listens."""
        if self._port is None:
            raise LinkLost("The private adb server has not been started")
        return ServerAddress("127.0.0.1", self._port)

    @property
    def port(self) -> int:
        """The port of `address`."""
        return self.address.port

    @property
    def home(self) -> Path:
        """The folder that is HOME and ANDROID_USER_HOME for this server."""
        if self._given_home is None:
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="entity-adb-")
            return Path(self._folder.name)
        return self._given_home

    @property
    def environment(self) -> dict[str, str]:
        """The environment in which any adb client talks to this server and to no other."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANDROID_", "ADB_"))}
        kept.update(
            HOME=str(self.home),
            ANDROID_USER_HOME=str(self.home / ".android"),
            ANDROID_ADB_SERVER_PORT=str(self.port),
            ADB_USB="0",  # the user's own server keeps the cables
            ADB_EMU="0",
            ADB_MDNS="0",  # nothing of ours speaks to the network
        )
        return kept

    async def ensure(self) -> None:
        """Start it again, on its port and with its keys, when somebody ended it. Raises as `start` does."""
        async with self._starting:
            if self._process is not None and self._process.returncode is not None:
                await self.start()

    async def start(self) -> None:
        """Start the server and wait until it answers. Raises Unsupported without adb, LinkLost when it stays silent."""
        adb = self._adb or await find_adb()
        self._port = self._port or free_port()
        (self.home / ".android").mkdir(parents=True, exist_ok=True)
        self._process = await asyncio.create_subprocess_exec(
            adb,
            "-P",
            str(self._port),
            "nodaemon",
            "server",
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                while True:
                    with contextlib.suppress(LinkLost):
                        await server_version(self.address)
                        return
                    if self._process.returncode is not None:
                        raise LinkLost(
                            "The private adb server ended at once", detail=f"exit {self._process.returncode}"
                        )
                    await asyncio.sleep(0.05)
        except BaseException:
            await self.stop()
            raise

    async def kill(self) -> None:
        """End the process at once, as anybody's `adb kill-server` would; `stop` still cleans up."""
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()

    async def stop(self) -> None:
        """End exactly the process that was started, and remove the folder if it was ours."""
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), 3.0)
            except TimeoutError:
                process.kill()
                await process.wait()
        if self._port is not None and process is not None:
            # Whatever an adb client started anew on our private port is ours to end, too.
            with contextlib.suppress(LinkLost):
                async with session(self.address) as stream:
                    await stream.request("host:kill")
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()
