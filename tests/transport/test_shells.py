"""The scripts the transports send run unchanged in every shell and with every set of tools a device may have."""

from __future__ import annotations

import asyncio
import dataclasses
import os
from pathlib import Path

import pytest

from entity_tui.transport.base import DeadlineExceeded, RemoteFileError
from entity_tui.transport.channel import Channel
from entity_tui.transport.local import LocalChannel, LocalTransport
from entity_tui.transport.tracking import Tracking
from entity_tui.transport.transfer import device_sha256
from tests.fixtures.tools import need_tool, until

SHELLS = {"mksh": ["mksh"], "dash": ["dash"], "bash": ["bash", "--posix"], "ash": ["busybox", "ash"]}
QUICK = {("mksh", "toybox"), ("dash", "coreutils"), ("ash", "busybox")}
TOOLS = ["coreutils", "toybox", "busybox"]
PUT_IN_FRONT = (
    *("cat", "chmod", "df", "grep", "head", "id", "mkdir", "mv", "rm", "setsid", "sha256sum", "sleep", "stat", "tail"),
    "wc",
)


class InAShell(LocalTransport):
    """This computer through a shell and tools of choice, ending its commands the way a phone's are ended."""

    def __init__(self, root: str, shell: list[str], tracking: Tracking) -> None:
        super().__init__(root=root)
        self._shell = shell
        self.tracking = tracking  # type: ignore[misc]

    async def _open(self, command: str, *, timeout_s: float) -> Channel:
        return await LocalChannel.start([*self._shell, "-c", command])


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Each shell and each family of tools at once in the quick run; every pair of them in the long one."""
    if "tools" not in metafunc.fixturenames:
        return
    pairs = [(shell, tools) for shell in SHELLS for tools in TOOLS]
    cases = [pytest.param(*pair, id="-".join(pair), marks=() if pair in QUICK else pytest.mark.long) for pair in pairs]
    metafunc.parametrize(("shell", "tools"), cases, indirect=True)


@pytest.fixture
def tools(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A PATH with one family of tools in front."""
    if request.param != "coreutils":
        binary = need_tool(request.param)
        folder = tmp_path / "tools"
        folder.mkdir()
        for name in PUT_IN_FRONT:
            (folder / name).symlink_to(binary)
        monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return str(request.param)


@pytest.fixture
def shell(request: pytest.FixtureRequest) -> list[str]:
    """A shell by its full path, so that the tools in front do not replace it."""
    first, *rest = SHELLS[request.param]
    return [need_tool(first), *rest]


async def test_files_go_and_come_back(shell: list[str], tools: str, tmp_path: Path) -> None:
    payload = tmp_path / "payload"
    payload.write_bytes(os.urandom(200_001))
    async with InAShell(str(tmp_path / "root"), shell, Tracking.ANNOUNCED) as link:
        remote = f"{link.root}/a folder/Größe 'x'.bin"
        sent = await link.push(payload, remote, mode=0o700)
        assert sent.sha256 == await device_sha256(link, remote)
        assert Path(remote).stat().st_mode & 0o777 == 0o700
        assert await link.read(remote, offset=199_999) == payload.read_bytes()[199_999:]
        assert await link.read(remote, offset=5, limit=7) == payload.read_bytes()[5:12]
        await link.pull(remote, tmp_path / "back")
        assert (tmp_path / "back").read_bytes() == payload.read_bytes()
        for path, words in ((f"{link.root}/none", "o such file"), (link.root, "irectory")):
            with pytest.raises(RemoteFileError) as caught:
                await link.read(path)
            assert words in caught.value.detail
            with pytest.raises(RemoteFileError) as caught:
                await link.pull(path, tmp_path / "none")
            assert words in caught.value.detail


async def test_jobs_are_started_found_and_signalled(shell: list[str], tools: str, tmp_path: Path) -> None:
    async with InAShell(str(tmp_path), shell, Tracking.MARKED) as link:
        assert len(link.boot_id) == 36
        out, err = str(tmp_path / "o"), str(tmp_path / "e")
        job = await link.spawn(["sleep", "300"], directory=str(tmp_path), stdout=out, stderr=err)
        assert os.getsid(job.pid) == job.pid
        assert await link.alive(job)
        other = dataclasses.replace(job, start_time_ticks=job.start_time_ticks + 1)
        assert not await link.signal(other, 9)
        assert await link.signal(job, 15)

        async def gone() -> bool:
            return not await link.alive(job)

        await until(gone)


@pytest.mark.parametrize("tracking", [Tracking.MARKED, Tracking.ANNOUNCED])
async def test_what_we_let_go_of_ends_with_its_children(
    shell: list[str], tools: str, tmp_path: Path, tracking: Tracking
) -> None:
    script = 'sleep 300 & echo $! > "$1/child"; echo $$ > "$1/pid"; wait; sleep 301'
    async with InAShell(str(tmp_path), shell, tracking) as link:
        running = link.script(script, args=[str(tmp_path)], timeout_s=0.7)
        with pytest.raises(DeadlineExceeded):
            await asyncio.wait_for(running, 20)
        for name in ("pid", "child"):
            pid = int((tmp_path / name).read_text())
            await until(lambda pid=pid: ended(pid))  # type: ignore[misc]


def ended(pid: int) -> bool:
    """Gone, or a zombie nobody has reaped yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
