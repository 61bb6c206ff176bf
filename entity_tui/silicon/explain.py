"""What the rules mean for one phone in numbers: what lockstep costs here, what the engine would do alone, which side
of the balance each phase lies on.
"""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.device.facts import Facts
from entity_tui.models.catalog import find_chip
from entity_tui.models.predict import Balance, Machine, balance, machine_of_chip
from entity_tui.silicon.straggler import StragglerBound, predicted_factor, straggler
from entity_tui.silicon.widths import Widths, widths

REFERENCE_MODEL = "Llama-3.2-1B-Instruct-Q4_0"
REFERENCE_PARAMETERS = 1.24e9
REFERENCE_BYTES = 773_025_920
"""The anchor model of the dataset: parameters and file bytes."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Numbers for one device; None where the device, its own runs and the dataset do not give them.

    `thread_factor` is the straggler bound of the decode width against all cores. `machine` is the balance of the
    reference model, scaled from `basis`: this device's own runs, or what others measured on its chip.
    """

    widths: Widths
    bound: StragglerBound | None
    thread_factor: float | None
    engine_default: int | None
    engine_default_factor: float | None
    """Straggler rate of the decode width over the engine's own default width."""
    machine: Balance | None
    basis: Machine | None


def explain(facts: Facts, measured: Machine | None = None) -> Explanation:
    """The numbers of one device. `measured` are constants from its own runs; without them the chip dataset serves."""
    found = widths(facts.topology)
    bound = straggler(facts.topology)
    chip = find_chip(facts.identity.soc_code) if facts.identity.soc_code else None
    basis = measured or (None if chip is None else machine_of_chip(chip))
    machine = None
    if basis is not None and basis.decode_gb_s and basis.prefill_b_tok_s:
        machine = balance(
            REFERENCE_PARAMETERS,
            REFERENCE_BYTES,
            basis.prefill_b_tok_s / (REFERENCE_PARAMETERS / 1e9),
            basis.decode_gb_s * 1e9 / REFERENCE_BYTES,
        )
    everything = None if bound is None else predicted_factor(bound, found.online, found.decode)
    default = found.engine_default
    against_default = None if bound is None or default is None else predicted_factor(bound, default, found.decode)
    return Explanation(found, bound, everything, default, against_default, machine, basis)
