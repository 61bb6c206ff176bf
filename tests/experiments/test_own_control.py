"""A second copy of a control of one's own is an A/A check as well."""

from __future__ import annotations

import pytest

from entity_tui.analysis.session import aa_arms
from tests.experiments.live_bed import Bench

TEXT = """
arms:
  mine: {threads: 1, cpus: '0'}
  again: {copy_of: mine, role: aa}
  other: {threads: 1, cpus: '0', env: {NS: '60000000'}}
gate: {minimum_s: 0, limit_s: 1, sensorless_dwell_s: 0}
"""


@pytest.mark.long
async def test_an_aa_arm_of_ones_own_is_checked_against_the_arm_it_copies(paper: Bench) -> None:
    result = await paper.run(paper.own(TEXT, runs=3))
    assert aa_arms(result.rows) == ("mine", "again")
    assert any(line.startswith("A/A check") for line in result.view.verdicts)
