"""A real adb server and its real client against the simulated phone's adbd."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from entity_tui.sim.launch import DemoPhone
from tests.fixtures.adb import bundled_adb
from tests.fixtures.tools import need_tool
from tests.sim.adb_client import Client


@pytest.fixture(params=["distribution", pytest.param("adbutils", marks=pytest.mark.long)])
async def adb(request: pytest.FixtureRequest, demo_phone: DemoPhone) -> Client:
    """Each of the two adb programs with a server of its own kind, connected to one phone."""
    new = request.param == "adbutils"
    server = request.getfixturevalue("adb_server_new" if new else "adb_server")
    client = Client(bundled_adb() if new else need_tool("adb"), server, demo_phone)
    assert await client.connect() == f"connected to {demo_phone.address}"
    return client


async def test_devices_lists_the_phone_with_its_model(adb: Client) -> None:
    _, out, _ = await adb("devices", "-l", serial=False)
    line = next(line for line in out.splitlines() if line.startswith(adb.phone.address))
    assert "device" in line
    assert "model:A015" in line


async def test_shell_keeps_streams_apart_and_tells_the_exit_code(adb: Client) -> None:
    code, out, err = await adb("shell", "echo out; echo err >&2; exit 7")
    assert (code, out, err) == (7, "out\n", "err\n")


async def test_exit_codes_are_those_of_a_phone(adb: Client) -> None:
    commands = {
        "true": 0,
        "false": 1,
        "/etc/passwd": 126,
        "nosuchcommand": 127,
        "kill -TERM $$": 143,
        "kill -9 $$": 137,
    }
    assert {command: (await adb("shell", command))[0] for command in commands} == commands


async def test_a_command_runs_as_the_shell_user_without_any_capability(adb: Client) -> None:
    _, out, _ = await adb("shell", "id; grep CapEff /proc/self/status; ls -ld /data/local/tmp")
    assert "uid=2000(shell)" in out
    assert "CapEff:\t0000000000000000" in out


async def test_the_laptop_is_not_to_be_seen_from_inside(adb: Client) -> None:
    code, out, _ = await adb("shell", f"ls /home /root {adb.phone.root} /work 2>&1; ls /")
    assert "system" in out
    assert out.count("No such file") == 4
    _, cpuinfo, _ = await adb("shell", "cat /proc/cpuinfo")
    assert "0xd41" in cpuinfo
    assert "vendor_id" not in cpuinfo
    assert code == 0


async def test_push_and_pull_give_the_same_bytes_back(adb: Client, tmp_path: Path) -> None:
    data = bytes(range(256)) * 20_000 + b"tail"
    (tmp_path / "a").write_bytes(data)
    assert (await adb("push", str(tmp_path / "a"), "/data/local/tmp/new folder/ä b"))[0] == 0
    _, out, _ = await adb("shell", "sha256sum '/data/local/tmp/new folder/ä b'")
    assert out.split()[0] == hashlib.sha256(data).hexdigest()
    assert (await adb("pull", "/data/local/tmp/new folder/ä b", str(tmp_path / "b")))[0] == 0
    assert (tmp_path / "b").read_bytes() == data


async def test_a_push_that_cannot_be_says_why_and_leaves_nothing(adb: Client, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    code, out, err = await adb("push", str(tmp_path / "a"), "/system/bin/a")
    assert code != 0
    assert "Read-only file system" in out + err
    code, out, err = await adb("pull", "/data/local/tmp/absent", str(tmp_path / "c"))
    assert code != 0
    assert not (tmp_path / "c").exists()


async def test_a_full_disk_fails_the_push_with_the_phones_words(adb: Client, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 3_000_000)
    await adb.phone.ctl("fill-disk")
    code, out, err = await adb("push", str(tmp_path / "a"), "/data/local/tmp/a")
    assert code != 0
    assert "No space left on device" in out + err
    assert (await adb("shell", "ls /data/local/tmp/a"))[0] != 0
    await adb.phone.ctl("free-disk")
    assert (await adb("push", str(tmp_path / "a"), "/data/local/tmp/a"))[0] == 0


async def test_a_forward_leads_to_a_server_inside_the_phone(adb: Client) -> None:
    await adb("shell", "nc -s 127.0.0.1 -p 8123 -L echo hello from inside >/dev/null 2>&1 </dev/null &")
    _, port, _ = await adb("forward", "tcp:0", "tcp:8123")
    for _ in range(100):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(port))
        line = await reader.read(100)
        writer.close()
        if line:
            break
    assert line == b"hello from inside\n"


async def test_shell_and_exec_without_the_protocol_run_on_a_terminal_with_clean_bytes(adb: Client) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", adb.server.port)
    for service in (f"host:transport:{adb.phone.address}", "exec:[ -t 1 ] && echo tty; echo 'a\nb'"):
        writer.write(f"{len(service.encode()):04x}{service}".encode())
        assert await reader.readexactly(4) == b"OKAY"
    assert await reader.read() == b"tty\na\nb\n"
    writer.close()
