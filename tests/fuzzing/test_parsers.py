"""A few thousand hostile inputs over every parser; `tools/fuzz_parsers.py` runs as many as one likes."""

from __future__ import annotations

import random

from entity_tui.device.facts import read_facts
from tests.fuzzing.checks import check_facts
from tests.fuzzing.inputs import PARSERS, snapshot_from, text_from


def test_no_parser_raises_on_hostile_texts() -> None:
    rng = random.Random(20261130)
    for round_number in range(60):
        for name, parse in PARSERS:
            text = text_from(rng)
            try:
                parse(text)
            except Exception as error:
                raise AssertionError(f"{name} raised on round {round_number}: {text!r}") from error


def test_no_hostile_snapshot_makes_facts_raise_or_invent_a_zero() -> None:
    for seed in range(150):
        snapshot = snapshot_from(seed)
        assert check_facts(read_facts(snapshot)) == [], seed


def test_a_snapshot_that_could_not_be_read_has_no_zero() -> None:
    for seed in range(150):
        assert check_facts(read_facts(snapshot_from(seed, readable=False)), unreadable=True) == [], seed
