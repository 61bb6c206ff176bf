"""What the rules mean for one phone in numbers: what lockstep costs here, what the engine would do alone, which side
of the balance each phase lies on.
"""

from __future__ import annotations

from dataclasses import dataclass

from entity_tui.device.facts import Facts
from entity_tui.models.catalog import ChipSpeed, find_chip
from entity_tui.models.predict import Balance, balance
from entity_tui.silicon.straggler import StragglerBound, predicted_factor, straggler
from entity_tui.silicon.widths import Widths, widths

REFERENCE_MODEL = "Llama-3.2-1B-Instruct-Q4_0"
REFERENCE_PARAMETERS = 1.24e9
REFERENCE_BYTES = 773_025_920
"""The anchor model of the dataset: parameters and file bytes."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """Numbers for one device; None where the device or the dataset does not give them.

    `thread_factor` is the straggler bound of the decode width against all cores. `machine` is the balance of the
    reference model on this chip by the dataset's constants: predicted, not measured here.
    """

    widths: Widths
    bound: StragglerBound | None
    thread_factor: float | None
    engine_default: int | None
    engine_default_factor: float | None
    """Straggler rate of the decode width over the engine's own default width."""
    machine: Balance | None
    chip: ChipSpeed | None


def explain(facts: Facts) -> Explanation:
    """The numbers of one device. Pure; uses the chip dataset only for the balance and says so."""
    found = widths(facts.topology)
    bound = straggler(facts.topology)
    chip = find_chip(facts.identity.soc_code) if facts.identity.soc_code else None
    machine = None
    if chip is not None and chip.decode_gb_s and chip.prefill_b_tok_s:
        machine = balance(
            REFERENCE_PARAMETERS,
            REFERENCE_BYTES,
            chip.prefill_b_tok_s / (REFERENCE_PARAMETERS / 1e9),
            chip.decode_gb_s * 1e9 / REFERENCE_BYTES,
        )
    everything = None if bound is None else predicted_factor(bound, found.online, found.decode)
    default = found.engine_default
    against_default = None if bound is None or default is None else predicted_factor(bound, default, found.decode)
    return Explanation(found, bound, everything, default, against_default, machine, chip)
