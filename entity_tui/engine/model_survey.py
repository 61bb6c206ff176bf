"""One look at a device's models: facts, files, headers, own results and catalog in a few round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from entity_tui import config
from entity_tui.device.facts import Facts, read_facts
from entity_tui.engine.model_files import CountedModel, count_model, count_models, group_parts, remote_size
from entity_tui.engine.model_rows import catalog_rows, device_rows, known_of, own_runs
from entity_tui.errors import UsageError
from entity_tui.models.catalog import CatalogEntry
from entity_tui.models.fit import MemoryReading
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.models.predict import OwnRun, machine_of_probe
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


def _known(
    facts: Facts, taken_at: str, counted: Sequence[CountedModel], transport: Transport, free_bytes: int | None = None
) -> Known:
    runs = stored_runs(counted, simulated=transport.simulated, data_folder=config.data_folder())
    known = known_of(facts, runs, taken_at=taken_at, age_s=0.0)
    return known if free_bytes is None else replace(known, memory=MemoryReading(free_bytes, source="--free"))


def _all_rows(
    counted: Sequence[CountedModel], known: Known, entries: Sequence[CatalogEntry], *, catalog: bool
) -> tuple[ModelRow, ...]:
    rows = device_rows(counted, known, entries)
    return (*rows, *catalog_rows(entries, known, here=[model.file for model in counted])) if catalog else rows


async def survey(
    transport: Transport,
    entries: Sequence[CatalogEntry],
    *,
    catalog: bool = False,
    facts: Facts | None = None,
    free_bytes: int | None = None,
) -> tuple[ModelRow, ...]:
    """Rows of every model on the device, then, if asked, of the catalog entries it lacks. Raises the link's errors.

    `free_bytes` replaces the device's own reading of its free memory.
    """
    taken_at = ""
    if facts is None:
        facts, taken_at = await _facts(transport)
    counted = await count_models(transport)
    known = _known(facts, taken_at, counted, transport, free_bytes)
    return _all_rows(counted, known, entries, catalog=catalog)


async def survey_with_probe(
    transport: Transport, entries: Sequence[CatalogEntry], *, free_bytes: int | None = None
) -> tuple[ModelRow, ...]:
    """As `survey` with the catalog, predicted from a short run made now with the smallest model on the device.

    Raises UsageError without an engine or a model that can be run, ProbeFailed, or the link's errors.
    """
    from entity_tui.engine.select import choose_engine
    from entity_tui.engine.speed_probe import speed_probe

    facts, taken_at = await _facts(transport)
    counted = await count_models(transport)
    usable = [model for model in counted if model.census is not None]
    if not usable:
        raise UsageError(
            "A probe needs a model on the device.", fix="entity-tui models push FILE, or models fetch smollm2-135m"
        )
    smallest = min(usable, key=lambda model: model.file.size_bytes)
    assert smallest.census is not None
    engine = await choose_engine(transport)
    run = await speed_probe(transport, engine, smallest.file, smallest.census, facts.topology)
    known = replace(_known(facts, taken_at, counted, transport, free_bytes), machine=machine_of_probe(run))
    return _all_rows(counted, known, entries, catalog=True)


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
