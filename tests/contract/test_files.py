"""Files over every link: whole or not at all, resumed where a cut left them, and failures in the device's words."""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from entity_tui.transport import transfer
from entity_tui.transport.base import RemoteFileError, TransferMismatch, Transport, TransportError, Unsupported
from entity_tui.transport.shell import ShellTransport
from tests.fixtures.tools import missing

LIVE_ONLY = pytest.mark.links("local", "ssh", "adb")
NAMES = ["plain.bin", "Größe 模型 🦙 quo'te\"s$(x)`y`;&[a-z]*?.bin", "-rf \\ -n"]


@pytest.fixture
def payload(tmp_path: Path) -> Path:
    """A file of 1 MiB and a bit, with every byte value."""
    path = tmp_path / "payload.bin"
    path.write_bytes(os.urandom((1 << 20) + 17))
    return path


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


@LIVE_ONLY
@pytest.mark.parametrize("name", NAMES)
async def test_a_file_goes_and_comes_back_the_same(
    link: Transport, folder: str, payload: Path, tmp_path: Path, name: str
) -> None:
    steps: list[tuple[int, int]] = []
    sent = await link.push(payload, f"{folder}/sub/{name}", progress=lambda done, size: steps.append((done, size)))
    size = payload.stat().st_size
    assert (sent.size_bytes, sent.sent_bytes, sent.sha256) == (size, size, sha256(payload))
    assert steps[0] == (0, size)
    assert steps[-1] == (size, size)
    assert steps == sorted(steps)
    back = tmp_path / "back.bin"
    pulled = await link.pull(f"{folder}/sub/{name}", back)
    assert back.read_bytes() == payload.read_bytes()
    assert pulled.sha256 == sent.sha256
    listing = await link.script('ls -A "$1"', args=[f"{folder}/sub"])
    assert listing.text.strip().strip("'") != ""
    assert ".part" not in listing.text
    assert [entry.name for entry in tmp_path.iterdir() if entry.name.endswith(".part")] == []


@LIVE_ONLY
async def test_an_empty_file_arrives_empty(link: Transport, folder: str, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert (await link.push(tmp_path / "empty", f"{folder}/empty")).sent_bytes == 0
    assert await link.read(f"{folder}/empty") == b""
    await link.pull(f"{folder}/empty", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == b""


@LIVE_ONLY
async def test_the_mode_of_a_pushed_file_is_what_was_asked(link: Transport, folder: str, tmp_path: Path) -> None:
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\necho ran $1\n")
    await link.push(tool, f"{folder}/tool", mode=0o755)
    assert (await link.script('sh "$1/tool" x; [ -x "$1/tool" ]', args=[folder])).ok
    await link.push(tool, f"{folder}/tool2", mode=0o600)
    assert (await link.script('ls -l "$1/tool2"', args=[folder])).text.startswith("-rw-------")


@LIVE_ONLY
async def test_a_push_replaces_the_file_that_was_there(link: Transport, folder: str, payload: Path) -> None:
    assert (await link.script('echo old > "$1/f"; chmod 400 "$1/f"', args=[folder])).ok
    await link.push(payload, f"{folder}/f")
    assert await link.read(f"{folder}/f") == payload.read_bytes()


@LIVE_ONLY
async def test_a_cut_push_goes_on_where_it_was_cut(link: Transport, folder: str, payload: Path) -> None:
    size = payload.stat().st_size

    class Cut(Exception):
        pass

    def cut(done: int, size: int) -> None:
        if done >= 640 * 1024:
            time.sleep(0.3)  # what the link has taken by now reaches the device, however busy this computer is
            raise Cut

    with pytest.raises(Cut):
        await link.push(payload, f"{folder}/model.bin", progress=cut)
    assert not (await link.run(["test", "-e", f"{folder}/model.bin"])).ok
    again = await link.push(payload, f"{folder}/model.bin")
    assert 0 < again.sent_bytes < size
    assert await link.read(f"{folder}/model.bin") == payload.read_bytes()


@LIVE_ONLY
async def test_a_cut_pull_goes_on_where_it_was_cut(link: Transport, folder: str, payload: Path, tmp_path: Path) -> None:
    await link.push(payload, f"{folder}/log.bin")

    class Cut(Exception):
        pass

    def cut(done: int, size: int) -> None:
        if done >= 300 * 1024:
            raise Cut

    target = tmp_path / "back.bin"
    with pytest.raises(Cut):
        await link.pull(f"{folder}/log.bin", target, progress=cut)
    assert not target.exists()
    again = await link.pull(f"{folder}/log.bin", target)
    assert 0 < again.sent_bytes < again.size_bytes
    assert target.read_bytes() == payload.read_bytes()


@LIVE_ONLY
async def test_a_damaged_part_on_the_device_is_sent_anew_and_never_named(
    link: Transport, folder: str, payload: Path
) -> None:
    key = transfer._push_key(payload, payload.stat())
    part = transfer._temporary(f"{folder}/model.bin", key)
    assert (await link.script('head -c 300000 /dev/zero > "$1"', args=[part])).ok
    sent = await link.push(payload, f"{folder}/model.bin")
    assert sent.sent_bytes == sent.size_bytes
    assert await link.read(f"{folder}/model.bin") == payload.read_bytes()


@LIVE_ONLY
async def test_a_file_that_arrives_damaged_gets_no_name(
    link: Transport, folder: str, payload: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "file_sha256", lambda path: "0" * 64)
    with pytest.raises(TransferMismatch):
        await link.push(payload, f"{folder}/model.bin")
    assert (await link.script('ls -A "$1"', args=[folder])).text == ""


@pytest.mark.parametrize("hidden", [(), ("sha256sum",), ("sha256sum", "toybox"), ("sha256sum", "toybox", "shasum")])
async def test_a_hash_is_made_by_whichever_tool_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, payload: Path, hidden: tuple[str, ...]
) -> None:
    from entity_tui.transport.local import LocalTransport
    from tests.fixtures.tools import need_tool

    tools = tmp_path / "bin"
    tools.mkdir()
    for name in ("sh", "cat", "id", "sha256sum", "toybox", "shasum", "openssl", "perl"):
        if name not in hidden:
            (tools / name).symlink_to(need_tool(name))
    monkeypatch.setenv("PATH", str(tools))
    async with LocalTransport(root=str(tmp_path / "root")) as here:
        assert await transfer.device_sha256(here, str(payload)) == sha256(payload)


async def test_reading_follows_a_file_by_offset(link: Transport, folder: str) -> None:
    assert (await link.script('printf "0123456789" > "$1/f"', args=[folder])).ok
    path = f"{folder}/f"
    assert await link.read(path) == b"0123456789"
    assert await link.read(path, offset=4) == b"456789"
    assert await link.read(path, offset=4, limit=3) == b"456"
    assert await link.read(path, limit=2) == b"01"
    assert await link.read(path, offset=10) == b""
    assert await link.read(path, offset=99) == b""


async def test_kernel_files_without_a_size_can_be_read(link: Transport) -> None:
    assert b"model name" in await link.read("/proc/cpuinfo") or b"processor" in await link.read("/proc/cpuinfo")


@pytest.mark.parametrize("path", ["none", "none/below"])
async def test_a_missing_path_is_an_error_with_the_devices_words(link: Transport, folder: str, path: str) -> None:
    with pytest.raises(RemoteFileError) as caught:
        await link.read(f"{folder}/{path}")
    assert "No such file" in caught.value.detail
    assert not caught.value.retry


async def test_a_folder_is_no_file(link: Transport, folder: str) -> None:
    with pytest.raises(RemoteFileError) as caught:
        await link.read(folder)
    assert "directory" in caught.value.detail


@LIVE_ONLY
async def test_a_missing_path_is_not_pulled_and_leaves_nothing(link: Transport, folder: str, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    with pytest.raises(RemoteFileError) as caught:
        await link.pull(f"{folder}/none", tmp_path / "back")
    assert "No such file" in caught.value.detail
    assert sorted(tmp_path.iterdir()) == before


@LIVE_ONLY
async def test_a_file_larger_than_our_own_free_space_is_not_fetched(
    link: Transport, folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (await link.script('head -c 5000 /dev/zero > "$1/f"', args=[folder])).ok
    full = shutil.disk_usage(tmp_path)._replace(free=4999)
    monkeypatch.setattr("shutil.disk_usage", lambda path: full)
    with pytest.raises(TransportError) as caught:
        await link.pull(f"{folder}/f", tmp_path / "back")
    assert caught.value.where == "host"
    assert [path.name for path in tmp_path.iterdir() if "back" in path.name] == []


@LIVE_ONLY
async def test_a_folder_in_the_way_of_a_push_is_refused(link: Transport, folder: str, payload: Path) -> None:
    with pytest.raises(RemoteFileError) as caught:
        await link.push(payload, folder)
    assert "directory" in caught.value.detail


@LIVE_ONLY
async def test_a_file_larger_than_the_free_space_is_refused_before_it_is_sent(
    link: Transport, folder: str, tmp_path: Path
) -> None:
    huge = tmp_path / "huge.bin"
    room = os.statvfs(tmp_path)
    with huge.open("wb") as file:  # sparse: it has the size, not the blocks
        file.truncate(room.f_bavail * room.f_frsize + (1 << 40))
    steps: list[int] = []
    with pytest.raises(RemoteFileError) as caught:
        await link.push(huge, f"{folder}/huge.bin", progress=lambda done, size: steps.append(done))
    assert "No space left" in caught.value.detail
    assert "Free some space" in caught.value.fix
    assert steps == []


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB, mounted for the test."""
    where = tmp_path / "small"
    where.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(where)], capture_output=True)
    if made.returncode != 0:
        missing(f"a small file system cannot be mounted: {made.stderr.decode(errors='replace').strip()}")
    yield where
    subprocess.run(["umount", "-l", str(where)], check=True)


@pytest.mark.links("local", "ssh")
async def test_a_disk_that_fills_up_during_a_push_is_told_and_nothing_is_named(
    link: Transport, small_disk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transfer, "parse_df_free_bytes", lambda text: None)
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(8 << 20))
    with pytest.raises(RemoteFileError) as caught:
        await link.push(big, f"{small_disk}/big.bin")
    assert "No space left" in caught.value.detail
    assert "records" not in caught.value.detail
    assert not (small_disk / "big.bin").exists()


@pytest.mark.links("ssh", "adb")
async def test_what_may_not_be_read_is_denied_in_the_devices_words(
    link: Transport, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    target = link
    if link.kind == "ssh":
        secret = tmp_path / "secret"
        secret.mkdir(mode=0o700)
        (secret / "file").write_text("x")
        target = request.getfixturevalue("ssh_unprivileged").transport(root=str(tmp_path / "root"))
        async with target:
            with pytest.raises(RemoteFileError) as caught:
                await target.read(str(secret / "file"))
            listing = await target.run(["ls", str(secret)])
    else:
        with pytest.raises(RemoteFileError) as caught:
            await target.read("/proc/1/environ")
        listing = await target.run(["ls", "/data"])
    assert "ermission denied" in caught.value.detail
    assert not listing.ok
    assert "ermission denied" in listing.error_text


@pytest.mark.long
@LIVE_ONLY
async def test_100_mb_are_cut_and_resumed_both_ways_with_the_same_hash(
    link: Transport, folder: str, tmp_path: Path
) -> None:
    big = tmp_path / "big.bin"
    block = os.urandom(1 << 20)
    with big.open("wb") as file:
        for index in range(100):
            file.write(block[index:] + block[:index])

    class Cut(Exception):
        pass

    def cut_at(limit: int) -> transfer.Progress:
        def progress(done: int, size: int) -> None:
            if done >= limit:
                raise Cut

        return progress

    for limit in (20 << 20, 60 << 20):
        with pytest.raises(Cut):
            await link.push(big, f"{folder}/big.bin", progress=cut_at(limit))
    sent = await link.push(big, f"{folder}/big.bin")
    assert sent.sent_bytes < 60 << 20
    assert sent.sha256 == await asyncio.to_thread(sha256, big)
    back = tmp_path / "back.bin"
    for limit in (30 << 20, 70 << 20):
        with pytest.raises(Cut):
            await link.pull(f"{folder}/big.bin", back, progress=cut_at(limit))
    pulled = await link.pull(f"{folder}/big.bin", back)
    assert pulled.sent_bytes < 40 << 20
    assert pulled.sha256 == sent.sha256
    assert isinstance(link, ShellTransport)
    assert await asyncio.to_thread(sha256, back) == await transfer.device_sha256(link, f"{folder}/big.bin")


@pytest.mark.links("replay")
async def test_a_recording_refuses_files_and_ports(link: Transport, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    for attempt in (link.push(tmp_path / "f", "/x"), link.pull("/x", tmp_path / "y")):
        with pytest.raises(Unsupported):
            await attempt
    with pytest.raises(Unsupported):
        link.forward(80)
