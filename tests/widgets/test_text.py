"""Text and numbers on their way to a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from entity_tui.widgets import numbers
from entity_tui.widgets.text import cells, cut, fold, left, plain, right, to_ascii


@given(st.text())
def test_plain_text_is_one_printable_line(text: str) -> None:
    """Whatever comes in, nothing that comes out acts on a terminal, and it stays as it is the second time."""
    shown = plain(text)
    assert "\n" not in shown
    assert all(ord(c) >= 32 and not 127 <= ord(c) < 160 for c in shown)
    assert plain(shown) == shown


def test_plain_text_takes_escapes_apart() -> None:
    """The escape character goes, so what is left of the sequence is only letters."""
    assert plain("\x1b[31mred\x1b[0m") == "[31mred[0m"
    assert plain("a\u202eb\u200bc") == "abc"
    assert plain("a\nb\tc") == "a b c"


@given(st.text(max_size=40), st.integers(0, 30))
def test_cut_text_never_takes_more_cells_than_asked(text: str, width: int) -> None:
    """Also with characters two cells wide."""
    assert cells(cut(plain(text), width)) <= width


@given(st.text(max_size=200), st.integers(1, 30))
def test_folded_rows_fit_and_keep_every_word_character(text: str, width: int) -> None:
    """Nothing but spaces is lost, unless one character is wider than the row."""
    rows = fold(plain(text), width)
    if width > 1:
        assert all(cells(row) <= width for row in rows)
    assert "".join("".join(rows).split()) == "".join(plain(text).split())


@given(st.text())
def test_ascii_takes_as_many_cells(text: str) -> None:
    """A page keeps its columns when its glyphs are replaced."""
    shown = plain(text)
    assert to_ascii(shown).isascii()
    assert len(to_ascii(shown)) == cell_len(shown)


def test_ascii_glyphs_are_those_of_the_table() -> None:
    """The right column of the glyph table."""
    assert to_ascii("● ○ ◐ ▲ ✖ ◆ † ~ —") == "* o % ! x # + ~ -"
    assert to_ascii("13.8 ±0.3") == "13.8+-0.3"


def test_padding_counts_cells_not_characters() -> None:
    """A wide character is two cells."""
    assert left("手", 4) == "手  "
    assert right("手", 4) == "  手"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (6.4, "6.40"),
        (18.13, "18.1"),
        (99.96, "100"),
        (506.4, "506"),
        (1048.0, "1 048"),
        (None, "—"),
        (float("nan"), "—"),
    ],
)
def test_rates_have_three_significant_digits(value: float | None, shown: str) -> None:
    """Never four, never a zero for a missing one."""
    assert numbers.tok_s(value) == shown


def test_numbers_have_a_true_minus_and_no_minus_zero() -> None:
    """−0.0 is 0.0."""
    assert numbers.fixed(-64.6, 1) == "−64.6"
    assert numbers.fixed(-0.01, 1) == "0.0"
    assert numbers.change(-0.0001) == "+0.0 %"
    assert numbers.change(0.007) == "+0.7 %"


def test_sizes_spans_and_deviations() -> None:
    """Units of the screens."""
    assert numbers.short_bytes(773_000_000) == "773M"
    assert numbers.short_bytes(1_320_000_000) == "1.32G"
    assert numbers.long_bytes(3_400_000_000) == "3.40 GB"
    assert numbers.duration(160) == "2 m 40 s"
    assert numbers.duration(5_580) == "1 h 33 m"
    assert numbers.plus_minus(0.3, 1) == "±0.3"
    assert numbers.plus_minus(0.04, 1) == "±<0.1"
    assert numbers.plus_minus(0.0, 1) == "±0.0"
    assert numbers.plus_minus(None, 1) == ""
    assert numbers.millis(12_300) == "12.3 s"
