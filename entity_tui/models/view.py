"""Everything the Models screen and `models list` show of one model, gathered from the rules into one value."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from entity_tui.device.isa import IsaFeatures
from entity_tui.models.catalog import CatalogEntry, QualityPrice, quality_of
from entity_tui.models.census import Census, Coverage, kernel_coverage
from entity_tui.models.context import Window, adaptive_window
from entity_tui.models.fit import Fit, FitLevel, MemoryReading, Subject, fit
from entity_tui.models.kleidiai import ENTITY_ELIGIBLE, KleidiAnswers, SeenInLog, answers, kernel_for
from entity_tui.models.on_device import ModelFile
from entity_tui.models.predict import Basis, HeldOut, Machine, OwnRun, Prediction, fit_machine, held_out, predict
from entity_tui.models.recommend import Candidate, Workload, recommend
from entity_tui.models.repack import repack_bytes, repacked_types
from entity_tui.models.tensor_types import base_type_of

_QUANT = re.compile(
    r"(?<![A-Za-z0-9])(I?Q\d+_[0-9A-Z]+(?:_[A-Z]+)?|TQ[12]_0|MXFP4|NVFP4|BF16|F16|F32)(?![A-Za-z0-9])", re.I
)


class Place(StrEnum):
    """Where the file is."""

    DEVICE = "device"
    LAPTOP = "laptop"
    CATALOG = "catalog"


@dataclass(frozen=True, slots=True)
class ModelRow:
    """One model as a row. Speeds are tokens a second; None is shown as `—`."""

    id: str
    """The path of a file, or the id of a catalog entry."""
    title: str
    file_name: str
    place: Place
    path: str | None
    params_b: float | None
    quant: str
    size_bytes: int
    census: Census | None
    census_error: str
    coverage: Coverage | None
    """By bytes a token reads, this CPU's kernels; None without a census or with an unknown CPU."""
    entity_coverage: Coverage | None
    kleidi: KleidiAnswers | None
    window: Window
    fit: Fit
    prediction: Prediction | None
    measured: OwnRun | None
    held_out: HeldOut | None
    quality: QualityPrice | None
    catalog: CatalogEntry | None
    fast_kernel: bool | None = None
    """True when the main weight type has an optimised kernel on this CPU (KleidiAI's or a repacked one)."""
    simulated: bool = False
    """True for a row made for a simulated phone."""

    @property
    def eligible(self) -> bool:
        """Its main weights reach KleidiAI by ENTITY's label rule."""
        return self.quant.upper() in ENTITY_ELIGIBLE


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the device a row is made for; everything may be unknown."""

    isa: IsaFeatures | None = None
    memory: MemoryReading = field(default_factory=lambda: MemoryReading(None))
    machine: Machine | None = None
    runs: Sequence[OwnRun] = ()
    build_origin: str = ""
    seen: SeenInLog | None = None
    simulated: bool = False

    @property
    def runs_decide(self) -> bool:
        """True when predictions rest on this device's own runs."""
        return self.machine is not None and self.machine.basis is Basis.OWN_RUNS


def quant_of_name(file_name: str) -> str:
    """The weight type in a file's name (`Q4_0`, `Q4_K_M`, `IQ4_XS`, `F16`), upper case, or empty."""
    found = _QUANT.findall(file_name.removesuffix(".gguf"))
    return found[-1].upper() if found else ""


@dataclass(frozen=True, slots=True)
class _Source:
    """Where a row's facts come from."""

    id: str
    title: str
    file_name: str
    place: Place
    path: str | None
    label: str
    census: Census | None
    entry: CatalogEntry | None
    error: str = ""


def file_row(
    file: ModelFile,
    census: Census | None,
    known: Known,
    *,
    error: str = "",
    catalog: Sequence[CatalogEntry] = (),
    place: Place = Place.DEVICE,
) -> ModelRow:
    """The row of a file on a device or laptop, with or without its census (`error` says why there is none)."""
    entry = next((entry for entry in catalog if entry.file_name == file.name), None)
    label = (census.file_type if census else "") or quant_of_name(file.name)
    stem = file.split[0] if file.split else file.name.removesuffix(".gguf")
    title = entry.name if entry else stem
    source = _Source(file.path, title, file.name, place, file.path, label, census, entry, error)
    params = census.parameters / 1e9 if census else entry.params_b if entry else None
    return _row(source, _subject(source, file.size_bytes, params, known.isa), known)


def catalog_row(entry: CatalogEntry, known: Known) -> ModelRow:
    """The row of a model that is not here yet."""
    source = _Source(entry.id, entry.name, entry.file_name, Place.CATALOG, None, entry.quant, None, entry)
    return _row(source, _subject(source, entry.size_bytes, entry.params_b, known.isa), known)


def _subject(source: _Source, size_bytes: int, params_b: float | None, isa: IsaFeatures | None) -> Subject:
    census, network = source.census, source.entry.network if source.entry else None
    main = census.main_type if census else base_type_of(source.label)
    types = repacked_types(isa) if isa else None
    second: float | None = None
    if isa is not None and census is not None:
        second = repack_bytes(census.tensors, isa, tied=census.tied)
    elif types is not None:
        second = float(size_bytes) if main in types else 0.0
    fast: bool | None = None
    if isa is not None and types is not None and not isa.architecture.startswith("x86"):
        fast = main in types or kernel_for(main, isa).family is not None
    shape = census or network
    return Subject(
        params_b=params_b or 0.0,
        weights_bytes=size_bytes,
        second_copy_bytes=second,
        kv=shape.kv if shape else None,
        embedding=shape.embedding if shape else None,
        feed_forward=shape.feed_forward if shape else None,
        vocabulary=shape.vocabulary if shape else None,
        trained_context=shape.trained_context if shape else None,
        fast_kernel=fast,
    )


def _row(source: _Source, subject: Subject, known: Known) -> ModelRow:
    census, memory = source.census, known.memory
    window = adaptive_window(subject.weights_bytes, memory.available_bytes, trained_context=subject.trained_context)
    per_token = census.per_token_bytes if census else float(subject.weights_bytes)
    main = census.main_type if census else base_type_of(source.label)
    prediction = None
    # A model that was measured is predicted from the others where there are any: never fitted and predicted at once.
    others = fit_machine([run for run in known.runs if run.model != source.file_name])
    machine = others if others is not None and known.runs_decide else known.machine
    if machine is not None and subject.params_b > 0:
        prediction = predict(machine, bytes_per_token=per_token, params_b=subject.params_b, quant=main)
    measured = next((run for run in known.runs if run.model == source.file_name), None)
    coverage = kleidi = None
    if census is not None and known.isa is not None:
        names = [share.type for share in census.types]
        kleidi = answers(names, known.isa, build_origin=known.build_origin, seen=known.seen)
        covered = frozenset(kernel.weight_type for kernel in kleidi.kernels if kernel.family and not kernel.prompt_only)
        coverage = kernel_coverage(census.types, covered - {"F32"})
    return ModelRow(
        id=source.id,
        title=source.title,
        file_name=source.file_name,
        place=source.place,
        path=source.path,
        params_b=subject.params_b or None,
        quant=source.label,
        size_bytes=subject.weights_bytes,
        census=census,
        census_error=source.error,
        coverage=coverage,
        entity_coverage=census.entity_coverage if census else None,
        kleidi=kleidi,
        window=window,
        fit=fit(subject, memory, window.tokens),
        prediction=prediction,
        measured=measured,
        held_out=held_out(known.runs, source.file_name) if measured else None,
        quality=quality_of(source.label) if source.label else None,
        catalog=source.entry,
        fast_kernel=subject.fast_kernel,
        simulated=known.simulated,
    )


_ORDER = {FitLevel.GOOD: 0, FitLevel.FITS: 1, FitLevel.TIGHT: 2, FitLevel.UNKNOWN: 3, FitLevel.NO: 4}


def sort_rows(rows: Sequence[ModelRow], order: str = "fit") -> tuple[ModelRow, ...]:
    """Rows by `fit` (then their own order), `size`, `name`, or `speed`. Raises KeyError for another word."""
    keys = {
        "fit": lambda row: (_ORDER[row.fit.level],),
        "size": lambda row: (row.size_bytes,),
        "name": lambda row: (row.title.lower(), row.size_bytes),
        "speed": lambda row: (-(row.prediction.decode_tok_s or 0.0) if row.prediction else 0.0,),
    }
    return tuple(sorted(rows, key=keys[order]))


def recommended(rows: Sequence[ModelRow], workload: str) -> dict[str, str | None]:
    """The pick and the runner-up, by row id, among models with a predicted speed; None when nothing is usable.

    `workload` is a value of `recommend.Workload`. A missing kernel counts only where it is known to be missing.
    """
    candidates = [
        Candidate(
            id=row.id,
            params_b=row.params_b or 0.0,
            decode_tok_s=row.prediction.decode_tok_s,
            prefill_tok_s=row.prediction.prefill_tok_s or 0.0,
            eligible=row.fast_kernel is not False,
            tight=row.fit.level in (FitLevel.TIGHT, FitLevel.UNKNOWN),
            fits=row.fit.level is not FitLevel.NO,
        )
        for row in rows
        if row.prediction is not None and row.prediction.decode_tok_s is not None
    ]
    best, second = recommend(candidates, Workload(workload))
    return {"pick": best, "runner_up": second}
