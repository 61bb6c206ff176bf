"""Long commands over every link: lines as they come, and an end on the device when we let go."""

from __future__ import annotations

import asyncio

import pytest

from entity_tui.transport.base import RemoteFileError, Transport
from entity_tui.transport.channel import LINE_LIMIT_BYTES, LineStream
from tests.fixtures.tools import until

pytestmark = pytest.mark.links("local", "ssh", "adb")


@pytest.mark.links("local", "ssh", "adb", "replay")
async def test_lines_come_without_their_newlines_and_the_last_one_may_lack_it(link: Transport) -> None:
    async with link.stream(["printf", "one\\n\\ntwo\\r\\n\\377\\nlast"]) as lines:
        assert [line async for line in lines] == ["one", "", "two\r", "�", "last"]


@pytest.mark.links("local", "ssh", "adb", "replay")
async def test_a_stream_tells_its_exit_code_when_it_is_over(link: Transport) -> None:
    async with link.stream(["sh", "-c", "echo a; exit 3"]) as lines:
        assert [line async for line in lines] == ["a"]
        assert lines.exit_code == 3  # type: ignore[attr-defined]


async def test_lines_arrive_while_the_command_runs(link: Transport) -> None:
    async with link.stream(["sh", "-c", "echo first; read -r word; echo got $word"]) as lines:
        assert await anext(lines) == "first"
        assert isinstance(lines, LineStream)
        await lines.send(b"word\n")
        assert await anext(lines) == "got word"


async def test_leaving_a_stream_ends_the_command_and_its_children(link: Transport, folder: str) -> None:
    script = 'sleep 300 & echo $! > "$1/child"; echo $$ > "$1/pid"; echo up; wait'
    async with link.stream(["sh", "-c", script, "sh", folder]) as lines:
        assert await anext(lines) == "up"
    for name in ("pid", "child"):
        pid = (await link.read(f"{folder}/{name}")).decode().strip()

        async def gone(pid: str = pid) -> bool:
            state = await link.script('read -r s < "/proc/$1/stat" || exit 0; echo "$s"', args=[pid])
            return ") Z" in state.text or not state.text

        await until(gone, within_s=5)


async def test_a_command_that_ignores_term_is_ended_all_the_same(link: Transport, folder: str) -> None:
    script = "trap '' TERM HUP; echo $$; while :; do sleep 0.2; done"
    async with link.stream(["sh", "-c", script]) as lines:
        pid = await anext(lines)

    async def gone() -> bool:
        return not (await link.run(["kill", "-0", pid])).ok

    await until(gone, within_s=5)


async def test_a_cancelled_run_ends_the_command(link: Transport, folder: str) -> None:
    task = asyncio.ensure_future(link.script('echo $$ > "$1/pid"; sleep 300', args=[folder]))

    async def started() -> bool:
        try:
            return bool(await link.read(f"{folder}/pid"))
        except RemoteFileError:
            return False

    await until(started, within_s=10)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    pid = (await link.read(f"{folder}/pid")).decode().strip()

    async def gone() -> bool:
        return not (await link.run(["kill", "-0", pid])).ok

    await until(gone, within_s=5)


async def test_the_input_of_a_stream_stays_open_until_it_is_left(link: Transport, folder: str) -> None:
    async with link.stream(["sh", "-c", 'echo up; cat; echo over > "$1/over"', "sh", folder]) as lines:
        assert await anext(lines) == "up"
        assert not (await link.run(["test", "-e", f"{folder}/over"])).ok
        assert isinstance(lines, LineStream)
        await lines.close_stdin()
        assert [line async for line in lines] == []
    assert (await link.run(["test", "-e", f"{folder}/over"])).ok


async def test_a_line_longer_than_the_limit_comes_in_pieces(link: Transport) -> None:
    script = f"head -c {2 * LINE_LIMIT_BYTES + 5} /dev/zero | tr '\\0' x; echo; echo next"
    async with link.stream(["sh", "-c", script]) as lines:
        sizes = [len(line) async for line in lines]
    assert sizes == [LINE_LIMIT_BYTES, LINE_LIMIT_BYTES, 5, 4]


async def test_a_reader_that_waits_makes_the_command_wait(link: Transport, folder: str) -> None:
    script = 'i=0; while [ $i -lt 400 ]; do i=$((i+1)); head -c 65536 /dev/zero; echo $i > "$1/count"; done'
    async with link.stream(["sh", "-c", script, "sh", folder]):
        seen: list[int] = []

        async def settled() -> bool:
            count = await link.script('read -r n < "$1/count" && echo "$n"', args=[folder])
            seen.append(int(count.text.strip() or 0))
            return len(seen) > 5 and seen[-1] == seen[-5] > 0

        await until(settled, within_s=20)
        assert seen[-1] < 400
