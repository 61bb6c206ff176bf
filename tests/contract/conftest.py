"""The links the contract is tested over: this computer, a real sshd, a real adb server with a phone, and a recording."""

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
from entity_tui.transport.adb_host import connect
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import Completed, Job, Transport, TransportError
from entity_tui.transport.local import LocalTransport
from entity_tui.transport.record import RecordingTransport
from entity_tui.transport.replay import ReplayTransport
from tests.fixtures.adb import LoopThread

LIVE = ["local", "ssh", "adb"]
ALL = [*LIVE, "replay"]


class EchoOfARecording(ReplayTransport):
    """Asks this computer and records it, then answers from the recording alone: the contract over replay."""

    def __init__(self, file: Path, root: str) -> None:
        super().__init__(file)
        self.live = RecordingTransport(LocalTransport(root=root), file)

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

    def transport(self, **options: Any) -> AdbTransport:
        """A fresh transport to it."""
        return AdbTransport(self.address, "127.0.0.1", self.server.port, simulated=True, **options)


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
    return EchoOfARecording(tmp_path / "session.jsonl", str(tmp_path / "root"))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test that takes `link` runs over every link, or over those its `links` marker names."""
    if "link" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("links")
        metafunc.parametrize("link", list(marker.args) if marker else ALL, indirect=True)


@pytest_asyncio.fixture
async def link(request: pytest.FixtureRequest, tmp_path: Path, record_property: Any) -> AsyncIterator[Transport]:
    """A connected transport."""
    record_property("link", request.param)
    async with make_link(request.param, request, tmp_path) as transport:
        yield transport


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
    terminalreporter.write_line(f"{'':72}" + "".join(f"{kind:>9}" for kind in ALL))
    for name in sorted(results):
        cells = "".join(f"{results[name].get(kind, '·'):>9}" for kind in ALL)
        terminalreporter.write_line(f"{name[:71]:72}{cells}")
