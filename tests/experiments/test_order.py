"""The order of cells: complete blocks, drawn from a seed."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.experiments.arms import Arm, PhaseSetting
from entity_tui.experiments.order import appended_block, balanced_pairs, grouped, randomised_blocks


def arms(count: int) -> list[Arm]:
    one = PhaseSetting(1, frozenset({0}))
    return [Arm(f"arm{index}", f"arm {index}", one, one) for index in range(count)]


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_every_block_holds_every_arm_once(count: int, blocks: int, seed: int) -> None:
    cells = randomised_blocks(arms(count), blocks, seed)
    assert Counter((cell.block, cell.arm) for cell in cells) == Counter(
        (block, arm.arm_id) for block in range(1, blocks + 1) for arm in arms(count)
    )
    assert [cell.position for cell in cells] == list(range(1, count + 1)) * blocks


@given(st.integers(0, 2**31 - 1))
def test_the_same_seed_gives_the_same_order(seed: int) -> None:
    assert randomised_blocks(arms(5), 8, seed) == randomised_blocks(arms(5), 8, seed)


def test_the_order_of_a_seed_never_changes() -> None:
    order = " ".join(cell.arm[3:] for cell in randomised_blocks(arms(4), 3, 4711))
    assert order == "2 0 3 1 3 0 1 2 3 1 0 2"


@given(st.integers(1, 12), st.integers(0, 2**31 - 1))
def test_pairs_are_balanced_as_far_as_their_number_allows(blocks: int, seed: int) -> None:
    cells = balanced_pairs(arms(2), blocks, seed)
    first = Counter(cell.arm for cell in cells if cell.position == 1)
    assert sum(first.values()) == blocks
    assert abs(first["arm0"] - first["arm1"]) == blocks % 2


def test_the_seeds_order_runs_arm_after_arm() -> None:
    assert [cell.arm for cell in grouped(arms(2), 3)] == ["arm0"] * 3 + ["arm1"] * 3


def test_an_appended_block_depends_on_seed_and_number_only() -> None:
    assert appended_block(arms(4), 9, 1) == appended_block(arms(4), 9, 1)
    assert {tuple(cell.arm for cell in appended_block(arms(4), number, 1)) for number in range(9, 20)} != {
        tuple(cell.arm for cell in appended_block(arms(4), 9, 1))
    }
