"""At least forty hostile replies in a real terminal: its state before and after is the same."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from tests.chat.test_hostile_text import CORPUS
from tests.fixtures.tools import REPOSITORY
from tests.screens.test_terminal import Terminal, terminal

__all__ = ["terminal"]

pytestmark = pytest.mark.long

STATE = (
    "#{pane_title}|#{alternate_on}|#{cursor_flag}|#{mouse_any_flag}|#{keypad_flag}|#{keypad_cursor_flag}|#{origin_flag}"
    "|#{wrap_flag}|#{insert_flag}|#{scroll_region_upper}|#{scroll_region_lower}|#{pane_width}x#{pane_height}"
)


def state(screen: Terminal) -> str:
    """Everything tmux knows of the terminal's modes, and what is in its clipboard."""
    return screen._run("display-message", "-p", STATE) + screen._run("list-buffers")


def test_forty_hostile_replies_leave_the_terminal_as_it_was(terminal: Callable[[int, int], Terminal]) -> None:
    assert len(CORPUS) >= 40
    screen = terminal(100, 30)
    screen.type("clear", "Enter")
    before = state(screen)
    screen.type(f"cd {REPOSITORY} && {sys.executable} -m tests.chat.hostile_program", "Enter")
    screen.until(lambda shown: f"{len(CORPUS)} cases" in shown)
    for _ in range(60):
        screen.type("Space")
    screen.until(lambda shown: "case 1" in shown)
    assert "Conversation" in screen.page()
    screen.type("q")
    screen.until(lambda shown: "Conversation" not in shown)
    screen.type("clear", "Enter")
    screen.until(lambda shown: "cases" not in shown)
    assert state(screen) == before
