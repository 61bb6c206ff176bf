"""What a chat is started with on this computer, and where each choice comes from."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from entity_tui.applied import apply_placement
from entity_tui.chat.prepare import ChatSettings, Prepared, prepare
from entity_tui.device.facts import read_facts
from entity_tui.errors import UsageError
from entity_tui.experiments.probe import probe
from entity_tui.transport.local import LocalTransport


@pytest.fixture
async def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[LocalTransport]:
    """This computer with a folder of its own."""
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    async with LocalTransport() as transport:
        yield transport


async def prepared(here: LocalTransport, engine: Path, model: Path, **changes: object) -> Prepared:
    facts = read_facts(await probe(here))
    return await prepare(here, facts, ChatSettings(engine=str(engine), model=str(model), **changes))  # type: ignore[arg-type]


async def test_every_automatic_value_names_its_rule(here: LocalTransport, x86_engine: Path, smollm2: Path) -> None:
    found = await prepared(here, x86_engine, smollm2)
    assert {choice.name for choice in found.choices} == {"engine", "model", "context", "threads", "placement"}
    assert all(choice.rule for choice in found.choices)
    assert found.plan.context_tokens in (4096, 8192)


async def test_a_placement_applied_to_the_device_is_used_and_said(
    here: LocalTransport, x86_engine: Path, smollm2: Path
) -> None:
    apply_placement("local", "scheduler")
    found = await prepared(here, x86_engine, smollm2)
    assert found.placement == "scheduler"
    assert "applied to this device" in next(choice.rule for choice in found.choices if choice.name == "placement")
    chosen = await prepared(here, x86_engine, smollm2, placement="perf_cores")
    assert "perf cores" in chosen.placement


async def test_efficiency_keeps_the_prompt_width(here: LocalTransport, x86_engine: Path, smollm2: Path) -> None:
    plain = await prepared(here, x86_engine, smollm2)
    careful = await prepared(here, x86_engine, smollm2, efficiency=True)
    assert careful.plan.decode_threads <= 2
    assert careful.plan.prefill_threads == plain.plan.prefill_threads


async def test_a_folder_without_an_engine_is_refused_with_what_to_do(here: LocalTransport, tmp_path: Path) -> None:
    facts = read_facts(await probe(here))
    with pytest.raises(UsageError) as failure:
        await prepare(here, facts, ChatSettings(engine=str(tmp_path)))
    assert failure.value.title
