"""Model output is data: whatever a model says, the rows drawn of it hold nothing a terminal would act on."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from entity_tui.chat import maths
from entity_tui.chat.segments import Segments
from entity_tui.widgets.ink import text_of
from entity_tui.widgets.markdown_lines import Drawing, code_blocks, markdown_rows
from entity_tui.widgets.text import cells

DRAWING = Drawing(40, maths.display, maths.linear)
ESCAPES = (
    "\x1b[2J",
    "\x1b]0;t\x07",
    "\x1b]52;c;aGk=\x07",
    "\x1bP1$r\x1b\\",
    "\x9b31m",
    "\x1b[?1049h",
    "\x07",
    "\x00",
    "\x08\x08",
)
MARKUP = ("[red]x[/red]", "[link=file:///etc]x[/link]", "[@click=app.quit]x[/]", "[bold", "[/]", "\\[")
FLOODS = (
    "\u200b" * 500,
    "a\u0300" * 500,
    "\u202e" + "abc",
    "\u2066x",
    "x" * 5_000,
    "|" * 400,
    "`" * 300,
    ">" * 200,
    "\ufeff",
)
BROKEN = (
    "```",
    "```sh\nrm -rf",
    "| a | b |\n|---",
    "$$",
    "$$\\frac{",
    "\\[ x",
    "**",
    "[a](",
    "![x](y",
    "<script>",
    "&#0;",
    "# " * 50,
    "- " * 200,
)
CORPUS = (
    *ESCAPES,
    *MARKUP,
    *FLOODS,
    *BROKEN,
    "\ud800",
    "\u2028line",
    "\r\rover",
    "\t" * 40,
    "🏳️‍🌈" * 60,
    "مرحبا",
    "𝕏" * 50,
)


def shown(source: str) -> list[str]:
    return [text_of(row) for row in markdown_rows(source, DRAWING)]


def harmless(rows: list[str]) -> None:
    for row in rows:
        assert not any(unicodedata.category(character) in ("Cc", "Cf", "Cs") for character in row), repr(row)
        assert cells(row) <= 40 + 8, repr(row)


@pytest.mark.parametrize("hostile", CORPUS, ids=range(len(CORPUS)))
@pytest.mark.parametrize("frame", ["{}", "# {}", "- {}", "```\n{}\n```", "| a |\n|---|\n| {} |", "`{}`", "> {}"])
def test_hostile_text_is_only_text(hostile: str, frame: str) -> None:
    harmless(shown(frame.format(hostile)))


def test_markup_of_our_own_library_is_shown_as_written() -> None:
    assert "[red]x[/red]" in " ".join(shown("say [red]x[/red] twice"))


@given(st.text(max_size=400))
@settings(max_examples=150, deadline=None)
def test_any_text_draws(text: str) -> None:
    harmless(shown(text))


@given(st.lists(st.text(st.sampled_from("ab \n`|-#*$>1."), max_size=40), max_size=40))
@settings(max_examples=150, deadline=None)
def test_segments_lose_nothing_however_the_reply_arrives(pieces: list[str]) -> None:
    segments = Segments()
    for piece in pieces:
        segments.feed(piece)
    assert segments.source == "".join(pieces)
    whole = "".join(segments.sealed) + segments.tail
    assert [line for line in whole.split("\n") if line] == [line for line in segments.source.split("\n") if line]


def test_an_endless_code_block_is_sealed_and_goes_on() -> None:
    segments = Segments()
    segments.feed("Look:\n\n```python\n")
    for number in range(150):
        segments.feed(f"print({number})\n")
    assert len(segments.sealed) >= 3
    assert segments.tail.startswith("```python\n")
    assert segments.tail.count("\n") < 70
    code = "".join("".join(code_blocks(part)) for part in [*segments.sealed, segments.tail])
    assert code == "".join(f"print({number})\n" for number in range(150))


def test_a_long_table_keeps_its_head_in_every_segment() -> None:
    segments = Segments()
    segments.feed("| n | square |\n|---|---|\n")
    for number in range(100):
        segments.feed(f"| {number} | {number * number} |\n")
    assert segments.sealed
    assert segments.tail.startswith("| n | square |\n|---|---|\n")


def test_a_lone_dollar_sign_stays_one() -> None:
    assert shown("It costs $5, or $6 with tax.") == ["It costs $5, or $6 with tax."]


def test_formulas_fall_back_from_drawn_to_linear_to_source() -> None:
    assert maths.linear(r"\frac{a}{b} \le x^2") == "(a)/(b) ≤ x²"
    assert maths.linear(r"\unknowncommand{x}") == r"\unknowncommand{x}"
    assert len(maths.display(r"\frac{BW}{weights}")) == 3
