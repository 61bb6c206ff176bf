"""The guard experiment: windows of both arms from a real server, and a crossover only where there is one."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.experiments.guard import Window, crossover_s, measure_guard, sentence
from entity_tui.experiments.prepare import prepare
from entity_tui.transport.local import LocalTransport


def rows(arm: str, *tokens: int, delay_ms: int = 0) -> list[Window]:
    return [Window(arm, number, made, 30.0, 2, "", delay_ms) for number, made in enumerate(tokens, 1)]


def test_the_crossover_is_where_the_guarded_arm_stays_ahead() -> None:
    windows = [*rows("guard off", 300, 200, 100, 100), *rows("guard on", 200, 200, 250, 250, delay_ms=90)]
    assert crossover_s(windows) == 60.0
    assert sentence(windows, 2) == "From 60 s on the guarded arm had made more tokens."


def test_a_lead_that_is_lost_again_is_no_crossover() -> None:
    windows = [*rows("guard off", 100, 300), *rows("guard on", 200, 100, delay_ms=90)]
    assert crossover_s(windows) is None
    assert "None in 1 minutes" in sentence(windows, 1)


def test_a_guard_that_never_waited_says_so() -> None:
    assert "never waited" in sentence([*rows("guard off", 100), *rows("guard on", 120)], 1)


@pytest.mark.long
async def test_both_arms_are_measured_on_a_real_server(
    x86_engine: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    async with LocalTransport() as here:
        ready = await prepare(here, engine=str(x86_engine), model=str(smollm2))
        windows = await measure_guard(here, ready.setting, minutes=0.1, window_s=2.0, cooldown_s=0.0, seed=1)
    assert {window.arm for window in windows} == {"guard off", "guard on"}
    assert all(window.tok_s > 0 for window in windows)
    assert all(window.delay_ms == 0 for window in windows)
