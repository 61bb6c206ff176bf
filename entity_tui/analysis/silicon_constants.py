"""What contributed runs say of a chip: one constant a phase, and the only honest check, predicting another model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from entity_tui.analysis.dataset import ContributedRun, soc_code
from entity_tui.analysis.summary import median

PREFILL_GAIN = {"Q8_0": 1.62, "Q4_0": 1.0}
OTHER_PREFILL_GAIN = 0.87
"""How much faster a quantisation's prompt runs than Q4_0's on the reference phone; the seeds' table."""


@dataclass(frozen=True, slots=True)
class ModelSize:
    """A catalog entry: bytes of the file and billions of parameters."""

    size_bytes: int
    params_b: float


@dataclass(frozen=True, slots=True)
class SiliconConstants:
    """One chip's constants: decode GB/s and compute rate, medians over its runs."""

    soc: str
    observations: int
    decode_gbs: float
    lowest_gbs: float
    highest_gbs: float
    compute_rate: float
    provisional: bool
    """True when every run was a single pass an arm."""

    @property
    def spread(self) -> float | None:
        """(max − min)/median as a fraction; None with a single run."""
        if self.observations < 2:
            return None
        return (self.highest_gbs - self.lowest_gbs) / self.decode_gbs


def decode_gbs(run: ContributedRun, size: ModelSize) -> float | None:
    """Decode rate of the optimized arm × file bytes, GB/s; None without the arm."""
    rate = run.decode("optimized")
    return None if rate is None else rate * size.size_bytes / 1e9


def compute_rate(run: ContributedRun, size: ModelSize) -> float | None:
    """Prompt rate of the optimized arm × billions of parameters, on Q4_0's scale; None without the arm."""
    arm = run.arm("optimized")
    if arm is None or arm.prompt_tok_s is None:
        return None
    return arm.prompt_tok_s * size.params_b / PREFILL_GAIN.get(run.quantization, OTHER_PREFILL_GAIN)


def constants(runs: Iterable[ContributedRun], catalog: Mapping[str, ModelSize]) -> tuple[SiliconConstants, ...]:
    """The constants of every chip, fastest decode first. Runs of a model that the catalog lacks are left out."""
    by_soc: dict[str, list[ContributedRun]] = {}
    for run in runs:
        if run.model_file in catalog:
            by_soc.setdefault(soc_code(run.soc), []).append(run)
    found = [_constants(soc, mine, catalog) for soc, mine in by_soc.items()]
    return tuple(sorted((item for item in found if item is not None), key=lambda item: -item.decode_gbs))


def _constants(soc: str, runs: Sequence[ContributedRun], catalog: Mapping[str, ModelSize]) -> SiliconConstants | None:
    bandwidth = [value for run in runs if (value := decode_gbs(run, catalog[run.model_file])) is not None]
    compute = [value for run in runs if (value := compute_rate(run, catalog[run.model_file])) is not None]
    if not bandwidth or not compute:
        return None
    return SiliconConstants(
        soc=soc,
        observations=len(bandwidth),
        decode_gbs=median(bandwidth),
        lowest_gbs=min(bandwidth),
        highest_gbs=max(bandwidth),
        compute_rate=median(compute),
        provisional=all(run.runs_per_arm == 1 for run in runs),
    )


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A decode rate predicted for a model from runs of another one on the same chip, against what was measured."""

    soc: str
    fitted_on: str
    held_out: str
    predicted_tok_s: float
    measured_tok_s: float

    @property
    def error(self) -> float:
        """predicted/measured − 1."""
        return self.predicted_tok_s / self.measured_tok_s - 1.0


def held_out(
    runs: Sequence[ContributedRun], catalog: Mapping[str, ModelSize], soc: str, fit: str, predict: str
) -> HeldOut | None:
    """Fit the bandwidth on one model's runs and predict another's. ValueError to fit and predict the same model.

    None when either model has no run on the chip.
    """
    if fit == predict:
        raise ValueError("a constant fitted on a model cannot be tested on the same model")
    mine = [run for run in runs if soc_code(run.soc) == soc]
    fitted = [v for run in mine if run.model_file == fit and (v := decode_gbs(run, catalog[fit])) is not None]
    measured = [v for run in mine if run.model_file == predict and (v := run.decode("optimized")) is not None]
    if not fitted or not measured:
        return None
    predicted = median(fitted) * 1e9 / catalog[predict].size_bytes
    return HeldOut(soc, fit, predict, predicted, median(measured))
