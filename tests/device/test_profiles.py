"""Profiles are checked with the line of every mistake, and the user's own lie over the shipped ones."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.chips import find_chip
from entity_tui.device.throttle import ThrottleSign, judge_cap
from entity_tui.profiles.checked_yaml import ListOf, MapOf, ProfileError, Record, Scalar, read_checked
from entity_tui.profiles.library import add_user_folder, forget_user_folders, merged, shipped, shipped_text
from entity_tui.profiles.shapes import SHAPES
from entity_tui.silicon.presets import runtime_format
from entity_tui.silicon.variants import list_named

SHAPE = Record(
    required={"name": Scalar(str), "cores": Scalar(int, minimum=1, maximum=20)},
    optional={"words": ListOf(Scalar(str)), "clocks": MapOf(Scalar(float))},
)


@pytest.fixture
def user_folder(tmp_path: Path) -> Iterator[Path]:
    """A folder of the user's own profiles, forgotten after the test."""
    yield tmp_path
    forget_user_folders()


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_every_shipped_profile_has_its_shape(name: str) -> None:
    assert shipped(name)


def mistakes(text: str) -> str:
    """What is wrong with a text, by line."""
    with pytest.raises(ProfileError) as caught:
        read_checked(text, "mine.yaml", SHAPE)
    return caught.value.detail


def test_every_mistake_is_told_with_its_line() -> None:
    detail = mistakes("name: x\ncores: 0\nclocks:\n  a: fast\ncolour: red\nwords: one\n")
    assert detail.splitlines() == [
        "mine.yaml:2: cores: 0 is below 1",
        "mine.yaml:4: clocks.a: expected float, found 'fast'",
        "mine.yaml:5: colour: unknown key; known are clocks, cores, name, words",
        "mine.yaml:6: words: expected a list, found a scalar",
    ]


def test_a_missing_key_and_a_double_key() -> None:
    assert mistakes("name: x\n") == "mine.yaml:1: file: cores is missing"
    assert mistakes("name: x\ncores: 2\ncores: 3\n") == "mine.yaml:3: cores: given twice"


def test_broken_yaml_names_the_line() -> None:
    assert mistakes("name: x\ncores: [1\n").startswith("mine.yaml:")
    assert mistakes("") == "mine.yaml:1: nothing in it"


def test_yes_is_no_number() -> None:
    assert "expected int" in mistakes("name: x\ncores: yes\n")


def test_a_users_chip_is_found(user_folder: Path) -> None:
    assert find_chip(["mt9999"]) is None
    (user_folder / "chips.yaml").write_text(
        "chips:\n  mt9999: { title: My chip, vendor: mine, clusters: [{ count: 8, core: Cortex-A55 }] }\n",
        encoding="utf-8",
    )
    assert add_user_folder(user_folder) == (str(user_folder / "chips.yaml"),)
    found = find_chip(["MT9999"])
    assert found is not None
    assert found.title == "My chip"
    assert find_chip(["mt6878"]) is not None
    forget_user_folders()
    assert find_chip(["mt9999"]) is None


def test_a_users_runtime_format_and_variant_list(user_folder: Path) -> None:
    (user_folder / "presets.yaml").write_text(
        "presets: {}\nformats:\n  ncnn:\n    title: ncnn\n    inferred: true\n"
        "    lines: ['threads={generic_threads}']\n    has_command: false\n",
        encoding="utf-8",
    )
    (user_folder / "thresholds.yaml").write_text("throttle: { capped_below: 0.5 }\n", encoding="utf-8")
    assert judge_cap("x", 1_800_000, 2_000_000).sign is ThrottleSign.CAPPED
    add_user_folder(user_folder)
    assert runtime_format("ncnn").lines == ("threads={generic_threads}",)
    assert runtime_format("llama").has_command
    assert judge_cap("x", 1_800_000, 2_000_000).sign is ThrottleSign.NONE
    assert merged("thresholds.yaml")["throttle"]["dropped_below"] == 0.75


def test_a_malformed_user_profile_names_its_file_and_line(user_folder: Path) -> None:
    path = user_folder / "presets.yaml"
    path.write_text("presets:\n  mine: { title: x, mask: everything }\n", encoding="utf-8")
    with pytest.raises(ProfileError) as caught:
        add_user_folder(user_folder)
    assert caught.value.detail.startswith(f"{path}:2: presets.mine.mask: 'everything' is none of free")
    assert caught.value.exit_code == 2


def test_a_folder_that_is_not_there_holds_nothing(user_folder: Path) -> None:
    assert add_user_folder(user_folder / "absent") == ()


def test_an_unknown_list_is_refused_by_name() -> None:
    with pytest.raises(Exception, match="unknown variant list windows"):
        list_named("windows")


def test_core_tables_hold_what_phones_report() -> None:
    text = shipped_text("midr.yaml")
    assert text.count("name:") > 150


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused_with_a_line(text: str) -> None:
    found = None
    try:
        read_checked(text, "any.yaml", SHAPE)
    except ProfileError as error:
        found = error
    assert found is None or "any.yaml:" in found.detail
