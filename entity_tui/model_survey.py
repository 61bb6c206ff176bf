"""One look at a device's models: facts, files, headers, own results and catalog in a few round trips."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from entity_tui.device.facts import Facts, read_facts
from entity_tui.device.memory_read import read_memory
from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from entity_tui.engine.model_files import CountedModel, count_models, remote_size
from entity_tui.engine.model_rows import catalog_rows, device_rows, known_of, own_runs
from entity_tui.engine.select import choose_engine, choose_model
from entity_tui.engine.speed_probe import speed_probe
from entity_tui.errors import UsageError
from entity_tui.models.catalog import CatalogEntry
from entity_tui.models.fit import MemoryReading
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.models.predict import OwnRun, machine_of_probe
from entity_tui.models.view import Known, ModelRow
from entity_tui.transport.base import RemoteFileError, Transport
from entity_tui.transport.device_text import parse_df_free_bytes


async def memory_now(transport: Transport, seen: Snapshot) -> MemoryReading:
    """What the device can hand out right now; where that cannot be asked, what the snapshot said and how old it is."""
    path = "/proc/meminfo"
    try:
        text = (await transport.read(path, limit=65_536)).decode("utf-8", "replace")
    except RemoteFileError:
        text = ""
    now = datetime.now(UTC)
    fresh = read_memory(Snapshot(files={path: Reading(path, Outcome.OK, text)})).available_bytes if text else None
    if fresh is not None:
        return MemoryReading(fresh, now.strftime("%Y-%m-%dT%H:%M:%SZ"), 0.0)
    try:
        age_s: float | None = max(0.0, (now - datetime.fromisoformat(seen.taken_at_utc)).total_seconds())
    except (ValueError, TypeError):
        age_s = None
    return MemoryReading(read_memory(seen).available_bytes, seen.taken_at_utc, age_s)


_FREE = r"""
# $1 our directory, which may not be there yet: what its file system can still take.
d=$1
while [ -n "$d" ] && [ ! -d "$d" ]; do d=${d%/*}; done
df -Pk "${d:-/}" 2>/dev/null || df -k "${d:-/}"
"""


async def free_space_bytes(transport: Transport) -> int | None:
    """What the file system of our models folder can still take; None where it does not say. The link's errors rise."""
    return parse_df_free_bytes((await transport.script(_FREE, args=(transport.root,))).text)


def stored_runs(counted: Sequence[CountedModel], *, simulated: bool, device_hash: str) -> tuple[OwnRun, ...]:
    """This device's own results of these models from the run store; simulated and real ones are never mixed.

    The newest 200 runs count. Raises RecordError when the store cannot be read.
    """
    from entity_tui.records.places import open_store

    censuses = {model.file.name: model.census for model in counted if model.census is not None}
    if not censuses:
        return ()
    with open_store() as store:
        entries = store.select(now=datetime.now(UTC))
        mine = [e.session_id for e in entries if e.device_id_hash == device_hash and e.simulated == simulated]
        return own_runs(list(store.rows(mine)), censuses, device_id_hash=device_hash)


@dataclass(frozen=True, slots=True)
class _Look:
    """One look at a device: what it is, what it has, and what is known of it."""

    facts: Facts
    counted: tuple[CountedModel, ...]
    known: Known


async def _look(
    transport: Transport,
    snapshot: Snapshot | None,
    files: Sequence[ModelFile] | None = None,
    free_bytes: int | None = None,
) -> _Look:
    from entity_tui.experiments.context import device_id_hash
    from entity_tui.experiments.probe import probe

    seen = snapshot or await probe(transport)
    facts = read_facts(seen)
    counted = await count_models(transport, files)
    runs = stored_runs(counted, simulated=transport.simulated, device_hash=device_id_hash(seen, facts))
    memory = MemoryReading(free_bytes, source="--free") if free_bytes is not None else await memory_now(transport, seen)
    return _Look(facts, counted, replace(known_of(facts, runs), memory=memory))


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
    snapshot: Snapshot | None = None,
    free_bytes: int | None = None,
) -> tuple[ModelRow, ...]:
    """Rows of every model on the device, then, if asked, of the catalog entries it lacks. Raises the link's errors.

    A `snapshot` that was taken before spares the probe; the free memory is asked anew all the same, unless
    `free_bytes` replaces it.
    """
    look = await _look(transport, snapshot, free_bytes=free_bytes)
    return _all_rows(look.counted, look.known, entries, catalog=catalog)


async def survey_with_probe(
    transport: Transport, entries: Sequence[CatalogEntry], *, free_bytes: int | None = None
) -> tuple[ModelRow, ...]:
    """As `survey` with the catalog, predicted from a short run made now with the smallest model on the device.

    Raises UsageError without an engine or a model that can be run, ProbeFailed, or the link's errors.
    """
    look = await _look(transport, None, free_bytes=free_bytes)
    usable = [(model.file, model.census) for model in look.counted if model.census is not None]
    if not usable:
        raise UsageError(
            "A probe needs a model on the device.", fix="entity-tui models push FILE, or models fetch smollm2-135m"
        )
    file, counted = min(usable, key=lambda model: model[0].size_bytes)
    run = await speed_probe(transport, await choose_engine(transport), file, counted, look.facts.topology)
    known = replace(look.known, machine=machine_of_probe(run))
    return _all_rows(look.counted, known, entries, catalog=True)


async def survey_one(transport: Transport, name: str, entries: Sequence[CatalogEntry]) -> ModelRow:
    """The row of one file on the device, by its path or its name. Raises UsageError or the link's errors.

    The other models' headers are read too: what was measured with them is what this one is predicted from.
    """
    files = list(await find_models(transport))
    if name.startswith("/"):
        path = name
        if path not in {file.path for file in files}:
            files.append(ModelFile(path, await remote_size(transport, path), path.rsplit("/", 1)[-1]))
    else:
        path = (await choose_model(transport, name)).path
    look = await _look(transport, None, files)
    place = next(n for n, model in enumerate(look.counted) if path in {part.path for part in model.parts})
    return _all_rows(look.counted, look.known, entries, catalog=False)[place]
