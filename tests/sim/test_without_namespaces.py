"""The phone on a computer that allows no namespaces: smaller, and honest about it."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.sim.services import path_outside
from entity_tui.transport.adb_server import AdbServer
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import need_tool
from tests.sim.adb_client import Client

PREFIX = ("--enclosure", "prefix")


@pytest.fixture
async def adb(phones: PhoneFactory, adb_server: AdbServer) -> Client:
    phone = await phones(speed=20.0, options=PREFIX)
    client = Client(need_tool("adb"), adb_server, phone)
    await client.connect()
    return client


async def test_what_is_below_the_prefix_is_the_phones(adb: Client) -> None:
    _, out, _ = await adb(
        "shell", "getprop ro.product.model; grep -c 0xd41 $ENTITY_PREFIX/proc/cpuinfo; nproc; dumpsys battery; uname -m"
    )
    assert out.splitlines()[:3] == ["A015", "4", "8"]
    assert "level: 78" in out
    assert out.splitlines()[-1] == "aarch64"
    assert json.loads(await adb.phone.ctl("status"))["enclosure"] == "prefix"


@pytest.mark.parametrize(
    "command", ["cat /proc/cpuinfo", "ls /", "rm -rf /data/local/tmp/x", "cat </etc/passwd", "a=/etc/x"]
)
async def test_this_computers_own_files_are_refused_in_words(adb: Client, command: str) -> None:
    code, out, err = await adb("shell", command)
    assert code == 126
    assert out == ""
    assert "no root of its own" in err


async def test_a_push_stays_below_the_prefix(adb: Client, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside")
    (outside / "a").write_text("content")
    assert (await adb("push", str(outside / "a"), "/data/local/tmp/../../../../../../../../../../tmp/b"))[0] == 0
    assert (adb.phone.root / "tmp/b").read_text() == "content"
    await adb("shell", f"ln -s ../../../../../../../../../{outside} data/local/tmp/link")
    code, _, _ = await adb("push", str(outside / "a"), "/data/local/tmp/link/c")
    assert code != 0
    assert [path.name for path in outside.iterdir()] == ["a"]


async def test_the_stand_in_engine_runs_by_relative_paths(adb: Client) -> None:
    code, out, err = await adb(
        "shell",
        "cd data/local/tmp/llama.cpp && taskset f0 ./llama-bench -m ../entity/models/stand-in-1b-q4_0.gguf "
        "-p 64 -n 16 -r 1 -t 4 -o jsonl",
    )
    assert code == 0, err
    assert [json.loads(line)["n_gen"] for line in out.splitlines()] == [0, 16]
    assert "libggml-cpu-android_armv8.2_2.so" in err


async def test_a_reboot_ends_only_what_the_phone_started(adb: Client) -> None:
    witness = await asyncio.create_subprocess_exec("sleep", "60")
    await adb.phone.ctl("reboot", "0.1")
    assert witness.returncode is None
    witness.kill()
    await witness.wait()


@given(st.text(alphabet="abc $'\"/;|&<>=.-", max_size=40))
def test_a_command_with_a_bare_absolute_path_never_passes(text: str) -> None:
    assert path_outside(f"{text} /etc/passwd") != ""


@pytest.mark.parametrize(
    "command", ["echo hi >/dev/null", "read x </proc/self/stat", "ls data", "sed s/a/b/", "cat $P/proc/cpuinfo"]
)
def test_relative_paths_devices_and_own_processes_pass(command: str) -> None:
    assert path_outside(command) == ""
