"""Nothing a device says reaches the terminal as anything but characters."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.printable import printable


@given(st.text())
def test_no_control_survives(text: str) -> None:
    shown = printable(text)
    assert not any(unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") for character in shown)
    assert "\x1b" not in shown
    assert printable(shown) == shown


@given(st.text(st.characters(categories=["L", "N", "P", "S"])))
def test_ordinary_text_is_untouched(text: str) -> None:
    assert printable(text) == text


def test_escape_sequences_and_overrides_are_shown_not_obeyed() -> None:
    assert printable("a\x1b]0;owned\x07b\u202ec") == "a�]0;owned�b�c"
    assert printable("one\ttwo\nthree", keep_newlines=True) == "one two\nthree"
