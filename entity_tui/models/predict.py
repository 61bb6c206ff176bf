"""How fast a model will be on a device, by the roofline: bytes a token reads and parameters a prompt multiplies."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from entity_tui.models.catalog import ChipSpeed
from entity_tui.models.entity_probe import prefill_gain

PROMPT_TOKENS = 512
"""A TTFT is that of a prompt this long, as everywhere in the record."""


class Basis(StrEnum):
    """Where the two constants of a device come from; shown beside every predicted number."""

    OWN_RUNS = "own runs"
    CHIP = "chip"
    PROBE = "probe"
    READINGS = "ENTITY readings"


@dataclass(frozen=True, slots=True)
class OwnRun:
    """The best usable result of one model on one device. Speeds are tokens a second, None when not measured."""

    model: str
    bytes_per_token: float
    params_b: float
    quant: str
    decode_tok_s: float | None
    prefill_tok_s: float | None
    runs: int = 1
    settings: str = ""
    """Threads and placement in words, so that a reader knows what was best."""
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """A device as the roofline sees it: effective GB/s while generating, B parameters · tok/s while prompting."""

    decode_gb_s: float | None
    prefill_b_tok_s: float | None
    basis: Basis
    words: str
    observations: int = 1
    spread_pct: float | None = None
    caveat: str = ""
    simulated: bool = False


@dataclass(frozen=True, slots=True)
class Prediction:
    """Predicted speeds, to be printed with `~`; None where the machine's constant is not known."""

    decode_tok_s: float | None
    prefill_tok_s: float | None
    ttft_ms: float | None
    basis: Basis
    words: str
    caveat: str = ""


@dataclass(frozen=True, slots=True)
class HeldOut:
    """One model predicted from all others and then compared: errors are predicted ÷ measured − 1, in percent."""

    model: str
    from_models: tuple[str, ...]
    predicted_decode_tok_s: float | None
    measured_decode_tok_s: float | None
    predicted_prefill_tok_s: float | None
    measured_prefill_tok_s: float | None

    @property
    def decode_error_pct(self) -> float | None:
        """Of generation."""
        return _error(self.predicted_decode_tok_s, self.measured_decode_tok_s)

    @property
    def prefill_error_pct(self) -> float | None:
        """Of the prompt."""
        return _error(self.predicted_prefill_tok_s, self.measured_prefill_tok_s)


def _error(predicted: float | None, measured: float | None) -> float | None:
    return None if predicted is None or not measured else (predicted / measured - 1) * 100


def decode_gb_s(decode_tok_s: float, bytes_per_token: float) -> float:
    """Effective bandwidth of generation: bytes a token reads × tokens a second."""
    return decode_tok_s * bytes_per_token / 1e9


def prefill_b_tok_s(prefill_tok_s: float, params_b: float, quant: str) -> float:
    """Compute rate of a prompt, on the scale of Q4_0: tokens a second × billions of parameters ÷ gain of the type."""
    return prefill_tok_s * params_b / prefill_gain(quant)


@dataclass(frozen=True, slots=True)
class Balance:
    """Machine balance and arithmetic intensity, FLOP a byte: a phase above the balance is bound by compute."""

    compute_gflop_s: float
    bandwidth_gb_s: float
    balance: float
    decode_intensity: float
    prefill_intensity: float

    @property
    def prefill_over_balance(self) -> float:
        """How far the prompt is on the compute side."""
        return self.prefill_intensity / self.balance


def balance(
    params: float, file_bytes: float, prefill_tok_s: float, decode_tok_s: float, prompt: int = PROMPT_TOKENS
) -> Balance:
    """Both rooflines of one measured model (two FLOP a parameter and token)."""
    compute = 2 * params * prefill_tok_s / 1e9
    bandwidth = file_bytes * decode_tok_s / 1e9
    intensity = 2 * params / file_bytes
    return Balance(compute, bandwidth, compute / bandwidth, intensity, intensity * prompt)


def fit_machine(runs: Sequence[OwnRun], *, words: str = "", basis: Basis = Basis.OWN_RUNS) -> Machine | None:
    """The medians over runs; None without one. The spread is (max − min) ÷ median of the decode constants."""
    decode = [decode_gb_s(run.decode_tok_s, run.bytes_per_token) for run in runs if run.decode_tok_s]
    prefill = [prefill_b_tok_s(run.prefill_tok_s, run.params_b, run.quant) for run in runs if run.prefill_tok_s]
    if not decode and not prefill:
        return None
    middle = statistics.median(decode) if decode else None
    spread = (max(decode) - min(decode)) / middle * 100 if middle and len(decode) > 1 else None
    models = sorted({run.model for run in runs})
    stated = words or f"anchored on own runs of {', '.join(models[:3])}"
    if middle is not None:
        stated = f"{middle:.1f} GB/s effective, {stated}"
    simulated = any(run.simulated for run in runs)
    return Machine(
        decode_gb_s=middle,
        prefill_b_tok_s=statistics.median(prefill) if prefill else None,
        basis=basis,
        words=stated + (" (simulated)" if simulated else ""),
        observations=len(runs),
        spread_pct=spread,
        simulated=simulated,
    )


def machine_of_chip(chip: ChipSpeed) -> Machine:
    """A device known only by its chip: the median of what others measured on it."""
    notes = []
    if chip.single_pass:
        notes.append("single passes only")
    if chip.understated:
        notes.append(f"measured on {chip.threads} of {chip.fast_cores} fast cores: a lower bound")
    if chip.spread_pct is not None:
        notes.append(f"runs differ by {chip.spread_pct:.0f} %")
    times = "1 run" if chip.observations == 1 else f"{chip.observations} runs"
    return Machine(
        decode_gb_s=chip.decode_gb_s,
        prefill_b_tok_s=chip.prefill_b_tok_s,
        basis=Basis.CHIP,
        words=f"{chip.decode_gb_s:.1f} GB/s effective, {chip.title} as measured by {times}",
        observations=chip.observations,
        spread_pct=chip.spread_pct,
        caveat="; ".join(notes),
    )


def machine_of_probe(run: OwnRun) -> Machine | None:
    """A device measured just now with a small model: a bandwidth and a compute reading, no more."""
    machine = fit_machine([run], words=f"a short run of {run.model} on this device", basis=Basis.PROBE)
    if machine is None:
        return None
    return Machine(
        decode_gb_s=machine.decode_gb_s,
        prefill_b_tok_s=machine.prefill_b_tok_s,
        basis=Basis.PROBE,
        words=machine.words,
        caveat="a small model stays partly in caches: larger ones may be slower than this says",
        simulated=run.simulated,
    )


def predict(machine: Machine, *, bytes_per_token: float, params_b: float, quant: str) -> Prediction:
    """Speeds of a model of that size and type. TTFT is 512 prompt tokens and one generated one."""
    decode = machine.decode_gb_s * 1e9 / bytes_per_token if machine.decode_gb_s and bytes_per_token > 0 else None
    prefill = None
    if machine.prefill_b_tok_s:
        prefill = machine.prefill_b_tok_s / max(0.01, params_b) * prefill_gain(quant)
    ttft = 1000 * (PROMPT_TOKENS / prefill + 1 / decode) if prefill and decode else None
    return Prediction(decode, prefill, ttft, machine.basis, machine.words, machine.caveat)


def held_out(runs: Sequence[OwnRun], model: str) -> HeldOut | None:
    """`model` predicted from the runs of all other models; None when there is no other, or no run of it.

    A model is never both fitted and predicted.
    """
    others = [run for run in runs if run.model != model]
    own = [run for run in runs if run.model == model]
    machine = fit_machine(others)
    if machine is None or not own:
        return None
    target = own[0]
    told = predict(machine, bytes_per_token=target.bytes_per_token, params_b=target.params_b, quant=target.quant)
    decode = [run.decode_tok_s for run in own if run.decode_tok_s]
    prefill = [run.prefill_tok_s for run in own if run.prefill_tok_s]
    return HeldOut(
        model=model,
        from_models=tuple(sorted({run.model for run in others})),
        predicted_decode_tok_s=told.decode_tok_s,
        measured_decode_tok_s=statistics.median(decode) if decode else None,
        predicted_prefill_tok_s=told.prefill_tok_s,
        measured_prefill_tok_s=statistics.median(prefill) if prefill else None,
    )
