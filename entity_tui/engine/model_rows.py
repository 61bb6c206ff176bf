"""Models as rows for one device: facts, memory, own results and the chip's constants brought together."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence

from entity_tui.device.facts import Facts
from entity_tui.engine.model_files import CountedModel
from entity_tui.models.catalog import CatalogEntry, find_chip
from entity_tui.models.census import Census
from entity_tui.models.fit import MemoryReading
from entity_tui.models.on_device import ModelFile
from entity_tui.models.predict import Machine, OwnRun, fit_machine, machine_of_chip
from entity_tui.models.tensor_types import base_type_of
from entity_tui.models.view import Known, ModelRow, Place, catalog_row, file_row, quant_of_name
from entity_tui.records.schema import Metric, Row


def memory_of(facts: Facts | None, *, taken_at: str = "", age_s: float | None = None) -> MemoryReading:
    """What the device said it can hand out. None stays None: an unread memory is not a big one."""
    available = facts.memory.available_bytes if facts else None
    return MemoryReading(available, taken_at, age_s)


def known_of(
    facts: Facts | None, runs: Sequence[OwnRun] = (), *, taken_at: str = "", age_s: float | None = None
) -> Known:
    """What a row needs of a device: its ISA, its memory, and constants from own runs or else from its chip."""
    return Known(
        isa=facts.isa if facts else None,
        memory=memory_of(facts, taken_at=taken_at, age_s=age_s),
        machine=fit_machine(runs) or machine_for(facts),
        runs=tuple(runs),
        simulated=facts.simulated if facts else False,
    )


def machine_for(facts: Facts | None) -> Machine | None:
    """The constants others measured on this chip; None when nobody did."""
    if facts is None:
        return None
    for name in (facts.identity.soc_code, facts.identity.soc):
        if chip := find_chip(name):
            return machine_of_chip(chip)
    return None


def own_runs(
    rows: Iterable[Row], censuses: Mapping[str, Census], *, device_id_hash: str | None = None
) -> tuple[OwnRun, ...]:
    """The best usable result of each model: the arm with the highest median of generated tokens a second.

    `censuses` gives bytes per token and parameters by model file name; a model without one is left out, since
    nothing can be scaled from it. Rows of other devices are left out when `device_id_hash` is given.
    """
    values: dict[tuple[str, str], dict[str, list[float]]] = {}
    settings: dict[tuple[str, str], Row] = {}
    for row in rows:
        if not row.countable or row.value is None or not row.model_name or row.arm is None:
            continue
        if device_id_hash is not None and row.device_id_hash != device_id_hash:
            continue
        if row.metric not in (Metric.DECODE_TOK_S, Metric.PROMPT_TOK_S):
            continue
        name = row.model_name.rsplit("/", 1)[-1]
        key = (name, row.arm)
        values.setdefault(key, {}).setdefault(row.metric, []).append(row.value)
        settings[key] = row
    best: dict[str, OwnRun] = {}
    for (name, arm), metrics in values.items():
        counted = censuses.get(name)
        decode = metrics.get(Metric.DECODE_TOK_S, [])
        prompt = metrics.get(Metric.PROMPT_TOK_S, [])
        if counted is None or not decode:
            continue
        middle = statistics.median(decode)
        if name in best and (best[name].decode_tok_s or 0.0) >= middle:
            continue
        row = settings[(name, arm)]
        best[name] = OwnRun(
            model=name,
            bytes_per_token=counted.per_token_bytes,
            params_b=counted.parameters / 1e9,
            quant=counted.main_type or base_type_of(quant_of_name(name)),
            decode_tok_s=middle,
            prefill_tok_s=statistics.median(prompt) if prompt else None,
            runs=len(decode),
            settings=f"{arm}, {row.threads_requested or '?'} threads, mask {row.mask_applied or 'none'}",
            simulated=row.simulated,
        )
    return tuple(best.values())


def device_rows(
    counted: Sequence[CountedModel], known: Known, catalog: Sequence[CatalogEntry], place: Place = Place.DEVICE
) -> tuple[ModelRow, ...]:
    """The rows of models that are somewhere, in the order found."""
    return tuple(
        file_row(model.file, model.census, known, error=model.error, catalog=catalog, place=place) for model in counted
    )


def catalog_rows(
    catalog: Sequence[CatalogEntry], known: Known, *, here: Iterable[ModelFile] = ()
) -> tuple[ModelRow, ...]:
    """The rows of catalog entries that are not already among `here`."""
    names = {file.name for file in here}
    return tuple(catalog_row(entry, known) for entry in catalog if entry.file_name not in names)
