"""SSH against a real sshd: keys that are asked for, keys that fit, jumps, limits, and an app's narrow rights."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from entity_tui.errors import UsageError
from entity_tui.transport.base import DeviceState, HostKeyUnknown, LinkLost, NotReady
from entity_tui.transport.ssh import SESSION_LIMIT, SshTransport, parse_destination
from tests.fixtures.ssh import SshServer
from tests.fixtures.tools import need_tool, until

Servers = Callable[..., SshServer]


@pytest.mark.parametrize(
    ("text", "user", "host", "port"),
    [
        ("phone", None, "phone", None),
        ("u0_a214@192.0.2.20:8022", "u0_a214", "192.0.2.20", 8022),
        ("ssh:me@board", "me", "board", None),
        ("[2001:db8::1]:8022", None, "2001:db8::1", 8022),
        ("me@[fe80::1%eth0]", "me", "fe80::1%eth0", None),
    ],
)
def test_a_destination_is_read(text: str, user: str | None, host: str, port: int | None) -> None:
    found = parse_destination(text)
    assert (found.user, found.host, found.port) == (user, host, port)
    assert parse_destination(str(found)) == found


@pytest.mark.parametrize("text", ["", "a b", "host:port", "host:99999", "-oProxyCommand=x", "a@b@c", "[x]:1", "h/x"])
def test_what_is_no_destination_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_destination(text)


def to(server: SshServer, folder: Path, **options: object) -> SshTransport:
    """A transport that knows none of the server's keys yet."""
    given = {"config": [], "client_keys": [server.client_key], "trust_file": folder / "trust", "root": str(folder)}
    return SshTransport(server.destination, **{**given, **options})  # type: ignore[arg-type]


async def test_an_unknown_host_key_is_asked_for_and_remembered(ssh_server: SshServer, tmp_path: Path) -> None:
    link = to(ssh_server, tmp_path)
    with pytest.raises(HostKeyUnknown) as caught:
        await link.connect()
    question = caught.value
    assert not question.changed
    shown = subprocess.run(
        [need_tool("ssh-keygen"), "-lf", str(ssh_server.folder / "host.pub")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert question.fingerprint in shown.stdout
    assert await link.listed_state() is DeviceState.WRONG_KEY
    assert not (tmp_path / "trust").exists()
    link.trust(question)
    assert (tmp_path / "trust").read_text() == ssh_server.host_key_line + "\n"
    async with link:
        assert (await link.run(["echo", "in"])).stdout == b"in\n"
    async with to(ssh_server, tmp_path) as later:
        assert (await later.run(["true"])).ok


async def test_a_host_key_that_changed_is_told_and_never_taken_silently(ssh_server: SshServer, tmp_path: Path) -> None:
    subprocess.run(
        [need_tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "other")], check=True
    )
    old = " ".join((tmp_path / "other.pub").read_text().split()[:2])
    (tmp_path / "trust").write_text(f"[127.0.0.1]:{ssh_server.port} {old}\n")
    link = to(ssh_server, tmp_path)
    with pytest.raises(HostKeyUnknown) as caught:
        await link.connect()
    assert caught.value.changed
    assert "CHANGED" in caught.value.title
    link.trust(caught.value)
    assert (tmp_path / "trust").read_text() == ssh_server.host_key_line + "\n"


async def test_the_users_own_known_hosts_counts(ssh_server: SshServer, tmp_path: Path) -> None:
    known = Path(os.environ["HOME"]) / ".ssh" / "known_hosts"
    known.parent.mkdir(parents=True)
    known.write_text(ssh_server.host_key_line + "\n")
    async with to(ssh_server, tmp_path) as link:
        assert (await link.run(["true"])).ok


async def test_a_configuration_that_switches_checking_off_is_not_obeyed(ssh_server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text("Host *\n  UserKnownHostsFile none\n  StrictHostKeyChecking no\n")
    with pytest.raises(HostKeyUnknown):
        await to(ssh_server, tmp_path, config=[config]).connect()


async def test_the_openssh_configuration_is_read(ssh_server: SshServer, tmp_path: Path) -> None:
    config = tmp_path / "config"
    config.write_text(
        f"Host board\n  HostName 127.0.0.1\n  Port {ssh_server.port}\n  User {ssh_server.user}\n"
        f"  IdentityFile {ssh_server.client_key}\n"
    )
    (tmp_path / "trust").write_text(ssh_server.host_key_line + "\n")
    async with SshTransport("board", config=[config], trust_file=tmp_path / "trust") as link:
        assert (await link.run(["echo", "by name"])).stdout == b"by name\n"
        assert link.spec == "ssh:board"
        assert link.root.endswith("/.cache/entity")


async def test_a_key_nobody_installed_is_refused_with_what_to_do(
    ssh_server: SshServer, tmp_path: Path, record_property: Any
) -> None:
    record_property("link", "ssh")
    subprocess.run([need_tool("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "mine")], check=True)
    (tmp_path / "trust").write_text(ssh_server.host_key_line + "\n")
    link = to(ssh_server, tmp_path, client_keys=[tmp_path / "mine"])
    with pytest.raises(NotReady) as caught:
        await link.connect()
    assert caught.value.state is DeviceState.UNAUTHORIZED
    assert "ssh-copy-id" in caught.value.fix
    assert await link.listed_state() is DeviceState.UNAUTHORIZED


async def test_a_key_in_the_agent_opens(ssh_server: SshServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    need_tool("ssh-agent")
    key = tmp_path / "locked"
    shutil.copy(ssh_server.client_key, key)
    key.chmod(0o600)
    socket = tmp_path / "agent"
    agent = await asyncio.create_subprocess_exec(
        "ssh-agent", "-D", "-a", str(socket), stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        await until(socket.exists)
        monkeypatch.setenv("SSH_AUTH_SOCK", str(socket))
        subprocess.run(["ssh-add", "-q", str(key)], check=True)
        (tmp_path / "trust").write_text(ssh_server.host_key_line + "\n")
        async with to(ssh_server, tmp_path, client_keys=None) as link:
            assert (await link.run(["true"])).ok
    finally:
        agent.kill()
        await agent.wait()


async def test_a_host_behind_another_one_is_reached_through_it(
    ssh_server: SshServer, ssh_servers: Servers, tmp_path: Path
) -> None:
    behind = ssh_servers()
    (tmp_path / "trust").write_text(f"{ssh_server.host_key_line}\n{behind.host_key_line}\n")
    keys = [ssh_server.client_key, behind.client_key]
    async with to(behind, tmp_path, client_keys=keys, jump=ssh_server.destination) as link:
        result = await link.run(["sh", "-c", "echo $SSH_CONNECTION"])
        assert result.text.split()[3] == str(behind.port)
        assert not link._jump._live().is_closed()  # type: ignore[union-attr]


async def test_more_commands_than_sessions_wait_their_turn_and_can_still_be_ended(ssh_server: SshServer) -> None:
    async with ssh_server.transport() as link, AsyncExitStack() as others:
        first = AsyncExitStack()
        for stack in (first, *[others] * (SESSION_LIMIT - 1)):
            lines = await stack.enter_async_context(link.stream(["sh", "-c", "echo up; cat"]))
            assert await anext(lines) == "up"
        waiting = asyncio.ensure_future(link.run(["echo", "at last"]))
        done, _ = await asyncio.wait({waiting}, timeout=0.3)
        assert not done
        await first.aclose()
        assert (await waiting).stdout == b"at last\n"
        await link.close()


async def test_a_session_that_sshd_still_counts_is_asked_for_again(ssh_servers: Servers, tmp_path: Path) -> None:
    server = ssh_servers(extra="MaxSessions 2\n")
    async with server.transport() as link:
        answers = await asyncio.gather(*(link.run(["sh", "-c", f"sleep 0.1; echo {n}"]) for n in range(6)))
        assert [answer.text for answer in answers] == [f"{n}\n" for n in range(6)]


async def test_an_apps_uid_sees_what_it_may_not_and_where_it_runs(ssh_unprivileged: SshServer) -> None:
    async with ssh_unprivileged.transport(root=None) as link:
        assert link.uid == 10_214
        assert link.root == f"{link.home}/.cache/entity"
        assert link.launch_context
        denied = await link.run(["cat", "/proc/1/environ"])
        assert not denied.ok
        assert "ermission denied" in denied.error_text
        assert not (await link.run(["touch", "/outside"])).ok
        assert (await link.script('mkdir -p "$1" && touch "$1/inside"', args=[link.root])).ok


async def test_a_server_that_is_gone_is_a_lost_link_and_comes_back(ssh_servers: Servers) -> None:
    server = ssh_servers()
    async with server.transport() as link:
        server.stop()
        with pytest.raises(LinkLost):
            await link.run(["true"])
        with pytest.raises(LinkLost):
            await link.recover()
        assert await link.listed_state() is DeviceState.OFFLINE
        server.start()
        await link.recover()
        assert (await link.run(["echo", "back"])).stdout == b"back\n"


async def test_a_server_that_accepts_and_stays_silent_costs_the_connect_timeout_only(
    ssh_server: SshServer, wires: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    record_property("link", "ssh")
    monkeypatch.setattr("entity_tui.transport.ssh.CONNECT_TIMEOUT_S", 0.5)
    wire = await wires(ssh_server.port)
    wire.clog()
    link = SshTransport(f"x@{wire.address}", config=[], client_keys=[], trust_file=tmp_path / "trust")
    with pytest.raises(LinkLost) as caught:
        await asyncio.wait_for(link.connect(), 10)
    assert caught.value.retry


async def test_a_transfer_leaves_the_loop_free_for_the_interface(ssh_server: SshServer, tmp_path: Path) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(24 << 20))
    lags: list[float] = []
    loop = asyncio.get_running_loop()

    def tick(due: float) -> None:
        lags.append(loop.time() - due)
        loop.call_later(0.02, tick, loop.time() + 0.02)

    async with ssh_server.transport() as link:
        tick(loop.time())
        await link.push(big, f"{tmp_path}/device/big.bin")
        await link.pull(f"{tmp_path}/device/big.bin", tmp_path / "back.bin")
    late = sorted(lags)
    assert len(late) > 10
    assert late[int(len(late) * 0.9)] < 0.1
