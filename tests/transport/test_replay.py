"""A recorded session played back: the same answers in the same order, the same states, and no guess beyond them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from entity_tui.errors import UsageError
from entity_tui.transport.base import DeviceState, LinkLost, Unsupported
from entity_tui.transport.local import LocalTransport
from entity_tui.transport.record import RecordingTransport
from entity_tui.transport.replay import ReplayTransport


def recorder(tmp_path: Path) -> RecordingTransport:
    return RecordingTransport(LocalTransport(root=str(tmp_path / "root")), tmp_path / "session.jsonl")


async def test_a_question_asked_often_is_answered_in_the_recorded_order_and_the_last_answer_stays(
    tmp_path: Path,
) -> None:
    count = 'n=$(cat "$1/n" 2>/dev/null); n=$((n+1)); echo $n > "$1/n"; echo $n'
    async with recorder(tmp_path) as live:
        for wanted in "123":
            assert (await live.script(count, args=[str(tmp_path)])).text == f"{wanted}\n"
    async with ReplayTransport(tmp_path / "session.jsonl") as played:
        seen = [(await played.script(count, args=[str(tmp_path)])).text for _ in range(5)]
    assert seen == ["1\n", "2\n", "3\n", "3\n", "3\n"]


async def test_what_was_never_asked_is_unsupported_and_nothing_runs(tmp_path: Path) -> None:
    async with recorder(tmp_path) as live:
        await live.run(["true"])
    async with ReplayTransport(tmp_path / "session.jsonl") as played:
        assert (await played.run(["true"])).ok
        with pytest.raises(Unsupported):
            await played.run(["touch", f"{tmp_path}/ran"])
    assert not (tmp_path / "ran").exists()


async def test_the_device_is_described_as_it_was(tmp_path: Path) -> None:
    live = recorder(tmp_path)
    live._inner.simulated = True
    live._inner.spec = "adb:demo"
    async with live:
        boot_id = live._inner.boot_id  # type: ignore[attr-defined]
    async with ReplayTransport(tmp_path / "session.jsonl") as played:
        assert (played.kind, played.recorded_spec, played.simulated) == ("replay", "adb:demo", True)
        assert (played.root, played.boot_id) == (str(tmp_path / "root"), boot_id)


async def test_states_and_a_stream_that_was_cut_are_played_as_they_went(tmp_path: Path, wires: Any) -> None:
    rows = [
        {"entity_recording": 1, "spec": "adb:x", "root": "/r", "boot_id": "b", "simulated": False},
        {"at_s": 0.0, "state": "ready"},
        {"at_s": 3.0, "state": "lost"},
        {"at_s": 9.0, "state": "ready"},
        {
            "at_s": 1.0,
            "key": '["stream",{"argv":["tick"],"stdin":null}]',
            "lines": [[0.1, "one"], [0.2, "two"]],
            "error": {"type": "LinkLost", "title": "gone", "detail": "cut", "fix": "", "retry": True},
        },
    ]
    file = tmp_path / "session.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    async with ReplayTransport(file) as played:
        states = played.states()
        assert [await anext(states) for _ in range(3)] == [DeviceState.READY, DeviceState.LOST, DeviceState.READY]
        await states.aclose()
        seen = []

        async def follow() -> None:
            async with played.stream(["tick"]) as lines:
                seen.extend([line async for line in lines])

        with pytest.raises(LinkLost) as caught:
            await follow()
        assert caught.value.detail == "cut"


@pytest.mark.parametrize("text", ["", "not json\n", "{}\n", '{"entity_recording": 99}\n', "[]\n"])
async def test_a_file_that_is_no_recording_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError):
        await ReplayTransport(file).connect()
