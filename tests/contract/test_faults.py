"""A link that is harmed at the wire never lies: no half answer is an answer, nothing hangs, and trying again helps."""

from __future__ import annotations

import asyncio
import os
import time
from pathlib import Path

import pytest

from entity_tui.transport.base import DeviceState, LinkLost, RemoteFileError, TransportError
from entity_tui.transport.link_watch import Heartbeat
from entity_tui.transport.shell import ShellTransport
from entity_tui.transport.tracking import END_TIMEOUT_S
from tests.contract.conftest import Faulty
from tests.fixtures.tools import until

LIVE_WIRES = pytest.mark.links("ssh", "adb", "adb-new")


async def test_a_cut_before_delivery_is_an_error_and_nothing_ran(faulty: Faulty, far: str) -> None:
    faulty.wire.cut(refuse=True)
    with pytest.raises(TransportError) as caught:
        await faulty.link.run(["touch", f"{far}/ran"])
    assert caught.value.retry
    assert caught.value.exit_code == 3
    assert not (await faulty.direct.run(["test", "-e", f"{far}/ran"])).ok
    await faulty.back()
    assert (await faulty.link.run(["echo", "again"])).stdout == b"again\n"


async def test_a_cut_after_delivery_is_a_lost_link_though_the_command_ran(faulty: Faulty, far: str) -> None:
    script = 'echo x > "$1/ran"; sleep 20; echo answer'
    task = asyncio.ensure_future(faulty.link.script(script, args=[far]))

    async def ran() -> bool:
        return (await faulty.direct.run(["test", "-e", f"{far}/ran"])).ok

    await until(ran)
    faulty.wire.cut()
    with pytest.raises(LinkLost):
        await task
    await faulty.back()
    assert (await faulty.link.run(["echo", "again"])).ok


async def test_a_cut_in_the_middle_of_output_is_never_a_short_answer(faulty: Faulty) -> None:
    faulty.wire.cut_after_down = faulty.wire.passed["down"] + 200_000
    with pytest.raises(LinkLost):
        await faulty.link.script("i=0; while [ $i -lt 2000000 ]; do i=$((i+1)); echo line of output $i; done")
    await faulty.back()


@LIVE_WIRES
async def test_a_stream_that_is_cut_gives_its_lines_and_then_the_loss(faulty: Faulty) -> None:
    seen: list[int] = []

    async def follow() -> None:
        async with faulty.link.stream(["sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; sleep 0.02; done"]) as lines:
            async for line in lines:
                seen.append(int(line))
                if len(seen) == 5:
                    faulty.wire.cut()

    with pytest.raises(LinkLost):
        await follow()
    assert seen == list(range(1, len(seen) + 1))
    assert len(seen) >= 5
    await faulty.back()


@LIVE_WIRES
async def test_a_device_that_says_nothing_any_more_costs_the_deadline_and_no_more(faulty: Faulty) -> None:
    faulty.wire.clog()
    began = time.monotonic()
    with pytest.raises(LinkLost) as caught:
        await faulty.link.run(["true"], timeout_s=0.5)
    assert time.monotonic() - began < 0.5 + END_TIMEOUT_S + 1.0
    assert caught.value.retry
    faulty.wire.heal()
    assert (await faulty.link.run(["echo", "thawed"])).stdout == b"thawed\n"


@LIVE_WIRES
async def test_a_silent_device_misses_its_heartbeat_while_it_is_still_listed_as_ready(faulty: Faulty) -> None:
    assert isinstance(faulty.link, ShellTransport)
    heart = Heartbeat(faulty.link, deadline_s=1.0)

    async def beats() -> bool:
        try:
            return await heart.beat() < 1000
        except (TimeoutError, TransportError):
            return False

    await until(beats)
    faulty.wire.clog()
    assert not await beats()
    assert await faulty.link.listed_state() is DeviceState.READY
    faulty.wire.heal()
    await until(beats)
    await heart.stop()


@LIVE_WIRES
@pytest.mark.parametrize("delay_ms", [20, 200])
async def test_a_slow_link_answers_late_but_whole(faulty: Faulty, delay_ms: int) -> None:
    async def best_s() -> float:
        """The shortest of three, so that other work on this computer does not count as the link's."""
        times = []
        for _ in range(3):
            began = time.monotonic()
            assert (await faulty.link.script("echo answer")).stdout == b"answer\n"
            times.append(time.monotonic() - began)
        return min(times)

    before_s = await best_s()
    faulty.wire.delay_s = delay_ms / 1000
    late_s = await best_s()
    assert late_s >= faulty.wire.delay_s
    # The round trips a command costs: no more than its opening, its output and its exit.
    assert late_s - before_s < faulty.wire.delay_s * (5 if faulty.kind == "ssh" else 3) + 0.3
    async with faulty.link.stream(["sh", "-c", "for i in 1 2 3 4 5; do echo $i; done"]) as lines:
        assert [line async for line in lines] == ["1", "2", "3", "4", "5"]


@LIVE_WIRES
async def test_a_push_that_is_cut_at_the_wire_is_resumed_by_the_next_one(
    faulty: Faulty, far: str, tmp_path: Path
) -> None:
    big = tmp_path / "big.bin"
    big.write_bytes(os.urandom(12 << 20))
    faulty.wire.cut_after_up = faulty.wire.passed["up"] + (6 << 20)
    with pytest.raises(TransportError) as caught:
        await faulty.link.push(big, f"{far}/big.bin")
    assert caught.value.retry
    assert not (await faulty.direct.run(["test", "-e", f"{far}/big.bin"])).ok
    await faulty.back()
    sent = await faulty.link.push(big, f"{far}/big.bin")
    assert 0 < sent.sent_bytes < sent.size_bytes
    assert await faulty.direct.read(f"{far}/big.bin") == big.read_bytes()


@LIVE_WIRES
async def test_a_pull_that_is_cut_at_the_wire_is_resumed_by_the_next_one(
    faulty: Faulty, far: str, tmp_path: Path
) -> None:
    big, back = tmp_path / "big.bin", tmp_path / "back.bin"
    big.write_bytes(os.urandom(12 << 20))
    await faulty.direct.push(big, f"{far}/big.bin")
    faulty.wire.cut_after_down = faulty.wire.passed["down"] + (5 << 20)
    with pytest.raises(TransportError) as caught:
        await faulty.link.pull(f"{far}/big.bin", back)
    assert caught.value.retry
    assert not back.exists()
    await faulty.back()
    pulled = await faulty.link.pull(f"{far}/big.bin", back)
    assert 0 < pulled.sent_bytes < pulled.size_bytes
    assert back.read_bytes() == big.read_bytes()


@LIVE_WIRES
async def test_a_detached_job_lives_through_a_cut(faulty: Faulty, far: str) -> None:
    job = await faulty.link.spawn(["sleep", "300"], directory=far, stdout=f"{far}/o", stderr=f"{far}/e")
    faulty.wire.cut()
    await faulty.back()
    assert await faulty.link.alive(job)
    assert await faulty.link.signal(job, 15)


@LIVE_WIRES
async def test_a_cut_never_reads_as_a_missing_file(faulty: Faulty, far: str) -> None:
    assert (await faulty.direct.script('echo text > "$1/f"', args=[far])).ok
    faulty.wire.cut(refuse=True)
    with pytest.raises(TransportError) as caught:
        await faulty.link.read(f"{far}/f")
    assert not isinstance(caught.value, RemoteFileError)
    await faulty.back()
    assert await faulty.link.read(f"{far}/f") == b"text\n"
