"""One look at a device's models: facts, files, headers, own results and catalog in a few round trips."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from entity_tui import config
from entity_tui.device.facts import Facts, read_facts
from entity_tui.engine.model_files import CountedModel, count_model, count_models, group_parts, remote_size
from entity_tui.engine.model_rows import catalog_rows, device_rows, known_of, own_runs
from entity_tui.models.catalog import CatalogEntry
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.models.predict import OwnRun
from entity_tui.models.view import Known, ModelRow
from entity_tui.transport.base import Transport


async def _facts(transport: Transport) -> tuple[Facts, str]:
    from entity_tui.experiments.probe import probe

    snapshot = await probe(transport)
    return read_facts(snapshot), datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def stored_runs(counted: Sequence[CountedModel], *, simulated: bool, data_folder: Path) -> tuple[OwnRun, ...]:
    """Own results of these models from the run store; simulated and real ones are never mixed."""
    from entity_tui.records.store import RunStore

    runs = data_folder / "runs"
    censuses = {model.file.name: model.census for model in counted if model.census is not None}
    if not runs.is_dir() or not censuses:
        return ()
    with RunStore(runs) as store:
        sessions = [entry.session_id for entry in store.select(now=datetime.now(UTC))]
        rows = [row for row in store.rows(sessions) if row.simulated == simulated]
    return own_runs(rows, censuses)


def _known(facts: Facts, taken_at: str, counted: Sequence[CountedModel], transport: Transport) -> Known:
    runs = stored_runs(counted, simulated=transport.simulated, data_folder=config.data_folder())
    return known_of(facts, runs, taken_at=taken_at, age_s=0.0)


async def survey(
    transport: Transport, entries: Sequence[CatalogEntry], *, catalog: bool = False, facts: Facts | None = None
) -> tuple[ModelRow, ...]:
    """Rows of every model on the device, then, if asked, of the catalog entries it lacks. Raises the link's errors."""
    taken_at = ""
    if facts is None:
        facts, taken_at = await _facts(transport)
    counted = await count_models(transport)
    known = _known(facts, taken_at, counted, transport)
    rows = device_rows(counted, known, entries)
    if not catalog:
        return rows
    return (*rows, *catalog_rows(entries, known, here=[model.file for model in counted]))


async def survey_one(transport: Transport, name: str, entries: Sequence[CatalogEntry]) -> ModelRow:
    """The row of one file on the device, by its path or its name. Raises UsageError or the link's errors."""
    from entity_tui.engine.select import choose_model

    if name.startswith("/"):
        file = ModelFile(name, await remote_size(transport, name), name.rsplit("/", 1)[-1])
    else:
        file = await choose_model(transport, name)
    parts: tuple[ModelFile, ...] = (file,)
    if file.split is not None:
        parts = next(
            group for group in group_parts(await find_models(transport)) if file.path in {p.path for p in group}
        )
    counted = await count_model(transport, parts)
    facts, taken_at = await _facts(transport)
    return device_rows([counted], _known(facts, taken_at, [counted], transport), entries)[0]
