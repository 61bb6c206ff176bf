"""The page about the interface says what the program does."""

from __future__ import annotations

from entity_tui.screens.frame import TABS
from tests.screens.test_states import SCREENS
from tools.interface_page import PAGE, page_with_keys


def test_the_table_of_keys_is_the_programs_own() -> None:
    """A key that changes changes the page: `python -m tools.interface_page`."""
    text = PAGE.read_text(encoding="utf-8")
    assert page_with_keys(text) == text


def test_each_screen_stands_on_the_page_with_its_question() -> None:
    """The words of Help and of the page are the same."""
    text = PAGE.read_text(encoding="utf-8").lower()
    assert all(f"| {name.lower()} |" in text for _, name, _ in TABS)
    for screen in SCREENS:
        assert screen.question.lower() in text, screen.__name__
