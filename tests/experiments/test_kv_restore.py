"""What a saved conversation saves, by the wall and on a real server."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from entity_tui.errors import UsageError
from entity_tui.experiments.kv_restore import RestorePoint, measure_restore, sentence, server_plan
from tests.experiments.bed import four_plus_four, setting
from tests.experiments.live_bed import on_this_computer


def test_the_server_gets_this_devices_widths_and_room_for_the_history() -> None:
    phone = setting(four_plus_four())
    phone = replace(phone, engine=replace(phone.engine, server="/e/llama-server"))
    plan = server_plan(phone, (128, 1024))
    assert (plan.decode_threads, plan.prefill_threads, plan.mask) == (4, 4, "f0")
    assert plan.context_tokens >= 1024 + 2


def test_an_engine_without_a_server_is_refused() -> None:
    with pytest.raises(UsageError, match="no llama-server"):
        server_plan(setting(four_plus_four()), (128,))


def test_a_restore_that_left_something_out_is_not_called_one() -> None:
    whole = RestorePoint(100, 10.0, 0.1, 0.5, 2_300_000, 1)
    assert "×20" in sentence([whole])
    assert "23.0 kB a token" in sentence([whole])
    assert "did not bring everything back: 60 of 100" in sentence([replace(whole, evaluated=60)])


@pytest.mark.long
async def test_a_real_server_reads_one_token_behind_a_restore(x86_engine: Path, smollm2: Path, tmp_path: Path) -> None:
    async with on_this_computer(x86_engine, smollm2, tmp_path) as bench:
        (point,) = await measure_restore(bench.transport, bench.ready.setting, lengths=(64,))
    assert point.evaluated == 1
    assert point.bytes_per_token == pytest.approx(23_100, rel=0.05)
