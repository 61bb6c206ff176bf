"""A few thousand hostile inputs over every parser; `tools/fuzz_parsers.py` runs as many as one likes."""

from __future__ import annotations

import random
import time

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


PATHOLOGICAL = {
    "blanks": " " * 20000,
    "line ends": "\n" * 20000,
    "a name and blanks": "A" + " " * 20000 + "x",
    "digits": "9" * 20000,
    "numbers": "1 " * 20000,
    "keys": "a:" * 20000,
    "processors": "processor : 1\n" * 3000,
    "braces": "{" * 20000,
    "open entries": "Temperature{mValue=" * 1500,
    "denials": "avc: denied { x } for " * 1000,
    "comments": "/*" * 10000,
}


def test_no_parser_takes_long_on_texts_made_to_be_slow() -> None:
    slow = []
    for name, parse in PARSERS:
        for kind, text in PATHOLOGICAL.items():
            start = time.perf_counter()
            parse(text)
            # Linear parsers need some milliseconds; quadratic ones took 4 to 12 s.
            if (seconds := time.perf_counter() - start) > 2.0:
                slow.append(f"{name} on {kind}: {seconds:.1f} s")
    assert slow == []


def test_no_hostile_snapshot_makes_facts_raise_or_invent_a_zero() -> None:
    for seed in range(150):
        snapshot = snapshot_from(seed)
        assert check_facts(read_facts(snapshot)) == [], seed


def test_a_snapshot_that_could_not_be_read_has_no_zero() -> None:
    for seed in range(150):
        assert check_facts(read_facts(snapshot_from(seed, readable=False)), unreadable=True) == [], seed
