"""The links the contract runs over: this computer, a real sshd, a real adb server with a phone, and a recording."""

from __future__ import annotations

import contextlib
import secrets
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect, disconnect
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Completed, DeviceState, Job, Transport, TransportError
from entity_tui.transport.local import LocalTransport
from entity_tui.transport.record import RecordingTransport
from entity_tui.transport.replay import ReplayTransport
from entity_tui.transport.shell import ShellTransport
from tests.fixtures.adb import LoopThread
from tests.fixtures.tools import until
from tests.fixtures.wire import Wire

COLUMNS = ["local", "ssh", "adb", "adb-new", "replay"]
LIVE = ["local", "ssh", "adb"]
ALL = [*LIVE, "replay"]
FAULTY = ["ssh", "adb", "adb-new", "replay"]
"""The links that have a wire; `adb-new` is the same phone behind the newer adb server."""


class EchoOfARecording(ReplayTransport):
    """Asks a live device and records it, then answers from the recording alone: the contract over replay."""

    def __init__(self, file: Path, inner: Transport) -> None:
        super().__init__(file)
        self.live = RecordingTransport(inner, file)

    async def connect(self) -> None:
        await self.live.connect()
        await super().connect()

    async def close(self) -> None:
        await self.live.close()

    async def _reload(self) -> None:
        self._answers.clear()
        self._states.clear()
        await super().connect()
        for rows in self._answers.values():
            while len(rows) > 1:
                rows.popleft()

    async def run(self, argv: Sequence[str], **options: Any) -> Completed:
        with contextlib.suppress(TransportError):
            await self.live.run(argv, **options)
        await self._reload()
        return await super().run(argv, **options)

    async def script(self, text: str, **options: Any) -> Completed:
        with contextlib.suppress(TransportError):
            await self.live.script(text, **options)
        await self._reload()
        return await super().script(text, **options)

    @contextlib.asynccontextmanager
    async def stream(self, argv: Sequence[str], *, stdin: bytes | None = None) -> AsyncIterator[AsyncIterator[str]]:
        with contextlib.suppress(TransportError):
            async with self.live.stream(argv, stdin=stdin) as lines:
                async for _ in lines:
                    continue
        await self._reload()
        async with super().stream(argv, stdin=stdin) as replayed:
            yield replayed

    async def read(self, path: str, **options: Any) -> bytes:
        with contextlib.suppress(TransportError):
            await self.live.read(path, **options)
        await self._reload()
        return await super().read(path, **options)

    async def spawn(self, argv: Sequence[str], *, directory: str, stdout: str, stderr: str) -> Job:
        await self.live.spawn(argv, directory=directory, stdout=stdout, stderr=stderr)
        await self._reload()
        return await super().spawn(argv, directory=directory, stdout=stdout, stderr=stderr)

    async def alive(self, job: Job) -> bool:
        await self.live.alive(job)
        await self._reload()
        return await super().alive(job)

    async def signal(self, job: Job, number: int) -> bool:
        await self.live.signal(job, number)
        await self._reload()
        return await super().signal(job, number)


@dataclass(frozen=True)
class Phone:
    """A simulated phone that lives as long as the test session, and the server it is connected to."""

    address: str
    server: AdbServer

    def transport(self, address: str | None = None, server: AdbServer | None = None) -> AdbTransport:
        """A fresh transport to it, by another way in where one is named."""
        port = (server or self.server).port
        return AdbTransport(address or self.address, "127.0.0.1", port, simulated=True)

    @property
    def adbd_port(self) -> int:
        """Where the phone itself listens."""
        return int(self.address.rpartition(":")[2])


@pytest.fixture(scope="session")
def contract_phone(loop_thread: LoopThread, adb_server: AdbServer) -> Any:
    """One demo phone for all contract tests that do not harm it."""
    from entity_tui.sim.launch import demo_phone

    stack = contextlib.AsyncExitStack()

    async def start() -> str:
        phone = await stack.enter_async_context(demo_phone("cmf-phone-1", speed=20.0))
        await connect(adb_server.address, phone.address)
        return phone.address

    yield Phone(loop_thread.run(start()), adb_server)
    loop_thread.run(stack.aclose())


def make_link(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> Transport:
    """An unconnected transport of a kind, with a root of its own where the device is this computer."""
    if kind == "local":
        return LocalTransport(root=str(tmp_path / "root"))
    if kind == "ssh":
        return request.getfixturevalue("ssh_server").transport(root=str(tmp_path / "root"))  # type: ignore[no-any-return]
    if kind == "adb":
        return request.getfixturevalue("contract_phone").transport()  # type: ignore[no-any-return]
    return EchoOfARecording(tmp_path / "session.jsonl", LocalTransport(root=str(tmp_path / "root")))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `link` runs over every link, or over those its `links` marker names."""
    if "link" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("links")
        metafunc.parametrize("link", list(marker.args) if marker else ALL, indirect=True)
    if "faulty" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("links")
        kinds = list(marker.args) if marker else FAULTY
        # The newer server meets the same faults in the long run; the quick one has the distribution's.
        cases = [pytest.param(kind, marks=pytest.mark.long if kind == "adb-new" else ()) for kind in kinds]
        metafunc.parametrize("faulty", cases, indirect=True)


@pytest_asyncio.fixture
async def link(request: pytest.FixtureRequest, tmp_path: Path, record_property: Any) -> AsyncIterator[Transport]:
    """A connected transport."""
    record_property("link", request.param)
    async with make_link(request.param, request, tmp_path) as transport:
        yield transport


@dataclass(frozen=True)
class Faulty:
    """A device behind a wire that can be harmed, and a second way to the same device that cannot."""

    kind: str
    link: Transport
    wire: Wire
    direct: Transport

    async def back(self) -> None:
        """Heal the wire and bring the link back, as its supervisor would."""
        self.wire.heal()
        inner = self.link.live._inner if isinstance(self.link, EchoOfARecording) else self.link
        assert isinstance(inner, ShellTransport)

        async def ready() -> bool:
            with contextlib.suppress(TransportError):
                await inner.recover()
                return await inner.listed_state() is DeviceState.READY
            return False

        await until(ready)


@pytest_asyncio.fixture
async def faulty(
    request: pytest.FixtureRequest, tmp_path: Path, wires: Any, record_property: Any
) -> AsyncIterator[Faulty]:
    """A connected transport over a wire of its own."""
    kind = request.param
    record_property("link", kind)
    direct: Transport
    inner: Transport
    if kind in ("adb", "adb-new"):
        phone = request.getfixturevalue("contract_phone")
        server = request.getfixturevalue("adb_server_new") if kind == "adb-new" else phone.server
        wire = await wires(phone.adbd_port)
        inner, direct = phone.transport(wire.address, server), phone.transport()
    else:
        sshd = request.getfixturevalue("ssh_server")
        wire = await wires(sshd.port)
        inner, direct = sshd.transport(through=wire.port, root=str(tmp_path)), sshd.transport(root=str(tmp_path))
    link = EchoOfARecording(tmp_path / "session.jsonl", inner) if kind == "replay" else inner
    async with direct, link:
        yield Faulty(kind, link, wire, direct)
    if isinstance(inner, AdbTransport):
        await disconnect(inner.server, inner.serial)


@pytest_asyncio.fixture
async def far(faulty: Faulty) -> AsyncIterator[str]:
    """A fresh folder on the device behind the wire."""
    path = f"{faulty.direct.root}/contract-{secrets.token_hex(4)}"
    assert (await faulty.direct.run(["mkdir", "-p", path])).ok
    yield path
    await faulty.direct.run(["rm", "-rf", path])


@pytest_asyncio.fixture
async def folder(link: Transport) -> AsyncIterator[str]:
    """A fresh folder on the device, removed afterwards."""
    device = link.live if isinstance(link, EchoOfARecording) else link
    path = f"{device.root}/contract-{secrets.token_hex(4)}"
    assert (await device.run(["mkdir", "-p", path])).ok
    yield path
    with contextlib.suppress(TransportError):
        await device.run(["rm", "-rf", path])


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """A table of every behaviour and fault over every link."""
    results: dict[str, dict[str, str]] = defaultdict(dict)
    for outcome in ("passed", "failed", "skipped", "error"):
        for report in terminalreporter.stats.get(outcome, []):
            kind = dict(getattr(report, "user_properties", [])).get("link")
            if kind is None or (outcome == "passed" and report.when != "call"):
                continue
            name = report.nodeid.rpartition("::")[2].partition("[")[0].removeprefix("test_").replace("_", " ")
            old = results[name].get(kind, "passed")
            results[name][kind] = outcome if old == "passed" else old
    if not results:
        return
    terminalreporter.section("contract: behaviour or fault x link")
    terminalreporter.write_line("· does not apply to this link, or is part of the long run")
    terminalreporter.write_line(f"{'':72}" + "".join(f"{kind:>9}" for kind in COLUMNS))
    for name in sorted(results):
        cells = "".join(f"{results[name].get(kind, '·'):>9}" for kind in COLUMNS)
        terminalreporter.write_line(f"{name[:71]:72}{cells}")
