"""Columns drop before a number is cut; the cursor stays on its row; factors stand on a logarithmic axis."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from entity_tui.widgets.arms_table import COLUMNS, ArmValue, arm_row, arms_value
from entity_tui.widgets.factor_bars import FactorValue, factor_bar, glyph, place
from entity_tui.widgets.ink import text_of, width_of
from entity_tui.widgets.table import Column, Table, TableRow, TableValue, fit_columns, row_line
from entity_tui.widgets.topology_map import ClusterValue, CoreValue, compact_core, full_core, full_heading
from entity_tui.widgets.variant_table import VariantLine, VariantStanding, status_spans


def arm(**changes: object) -> ArmValue:
    """An arm with every number."""
    values: dict[str, object] = {
        "arm": "optimized",
        "threads": "4",
        "mask": "4-7",
        "done": 2,
        "planned": 3,
        "decode_tok_s": 27.6,
        "decode_sd": 0.2,
        "prompt_tok_s": 506.0,
        "ttft_ms": 1_048.0,
        "watts": 3.58,
        "tok_per_w": 7.71,
    }
    return ArmValue(**{**values, **changes})  # type: ignore[arg-type]


@given(st.integers(40, 200))
def test_columns_drop_in_their_order_and_numbers_stay_whole(width: int) -> None:
    """ttft first, then prompt, then the mask; what is shown is never cut."""
    fitted = fit_columns(COLUMNS, width)
    names = [column.key for column, _ in fitted]
    assert {"arm", "thr", "blocks", "decode", "watts", "tok_w", "state"} <= set(names)
    if "ttft" in names:
        assert "prompt" in names
    if "prompt" in names:
        assert "mask" in names
    order = {column.key: n for n, column in enumerate(COLUMNS)}
    shown = text_of(row_line(arm_row(arm()), fitted, order))
    assert "27.6 ±0.2" in shown
    assert "3.58" in shown


@given(st.integers(10, 120))
def test_fitted_columns_fill_no_more_than_the_width_when_they_can(width: int) -> None:
    """Flexible columns grow into what is free, and not further."""
    columns = (Column("a", "a", 30, flexible=True, least=4, gap=0), Column("b", "b", 5, drop=1))
    fitted = fit_columns(columns, width)
    total = sum(size for _, size in fitted) + sum(column.gap for column, _ in fitted[1:])
    assert total <= width


def test_missing_power_is_a_dash_with_its_reason() -> None:
    """Never 0, never empty without a word."""
    text = text_of(row_line(arm_row(arm(watts=None, tok_per_w=None, power_note="chg")), fit_columns(COLUMNS, 110), {
        column.key: n for n, column in enumerate(COLUMNS)
    }))  # fmt: skip
    assert "—" in text
    assert "chg" in text


def test_a_single_pass_has_no_deviation() -> None:
    """±0.0 would claim a spread that was not measured."""
    cells = arm_row(arm(decode_sd=None)).cells
    assert "±" not in str(cells[4])


def test_a_reason_without_power_stands_whole_under_the_row_when_the_column_is_too_narrow() -> None:
    """It read `covera` for `coverage 71 %` once."""
    row = arm_row(arm(watts=None, tok_per_w=None, power_note="coverage 71 %"))
    assert [text_of(note) for note in row.notes] == ["    └ no power: coverage 71 %"]
    assert "covera" not in str(row.cells)
    assert arm_row(arm(power_note="static")).notes == ()


def test_a_failed_arm_says_why_in_the_row_below() -> None:
    """A state is not a number that looks plausible."""
    row = arm_row(arm(decode_tok_s=None, word="killed_oom", detail="412 MB free"))
    assert "✖" in str(row.cells[-1])
    assert "412 MB free" in text_of(row.notes[0])


def test_two_widths_make_their_columns_wider() -> None:
    """Prefill and decode may have their own threads and masks."""
    value = arms_value([arm(threads="4/6", mask="4-7/2-7")])
    widths = {column.key: column.width for column in value.columns}
    assert widths["mask"] == 7


def test_the_cursor_stays_on_its_row_when_rows_move() -> None:
    """Keys, not places."""
    table = Table(cursor=True)
    columns = (Column("a", "a", 3),)
    table.value = TableValue(columns, tuple(TableRow(k, (k,)) for k in "abc"))
    table.cursor_key = "b"
    table.show(TableValue(columns, tuple(TableRow(k, (k,)) for k in "xab")))
    assert table.cursor_index == 2
    table.show(TableValue(columns, tuple(TableRow(k, (k,)) for k in "xa")))
    assert table.cursor_key == "a"


def test_a_factor_and_its_inverse_are_as_long() -> None:
    """On a log axis twice and half are the same distance from one."""
    one = place(1.0, 0.25, 4.0, 101)
    assert place(2.0, 0.25, 4.0, 101) - one == one - place(0.5, 0.25, 4.0, 101)


def test_a_factor_bar_begins_at_one() -> None:
    """The line of no effect is always drawn."""
    text = "".join(part for part, _ in factor_bar(FactorValue("f", "a → b", 2.0, 1.9, 2.1), 0.5, 4.0, 40))
    assert len(text) == 40
    assert text.index("┃") == place(1.0, 0.5, 4.0, 40)
    assert "█" in text[text.index("┃") :]


def test_a_factor_without_a_word_has_no_glyph() -> None:
    """Silence is not a verdict."""
    assert glyph(FactorValue("f", "", 2.0))[0] == " "
    assert glyph(FactorValue("f", "", 1.0, verdict="undecided"))[0] == "?"


def test_an_offline_core_keeps_its_row() -> None:
    """off, not zero."""
    assert text_of(full_core(CoreValue(6, online=False))).split() == ["6", "off"]
    assert "off" in text_of(compact_core(CoreValue(6, online=False)))


def test_a_core_without_readings_has_dashes() -> None:
    """Unknown load is not idle."""
    assert text_of(full_core(CoreValue(0))).count("—") == 2


def test_core_rows_are_as_wide_busy_or_idle() -> None:
    """Nothing moves because a digit came or went."""
    idle = full_core(CoreValue(0, 0.0, 300_000, 2_000_000, 9.5))
    busy = full_core(CoreValue(0, 100.0, 2_000_000, 2_000_000, 99.5))
    assert width_of(idle) == width_of(busy)


def test_a_cluster_without_capacity_leaves_it_out() -> None:
    """A missing fact takes no room."""
    heading = text_of(full_heading(ClusterValue("ALL", "x", "x", None, None, None, ()), 7))
    assert "cap" not in heading
    assert "policy" not in heading


def test_a_loaded_variant_that_was_not_predicted_says_so() -> None:
    """Our rule and the loader's line are compared, never merged."""
    line = VariantLine("armv8.2_1", "8.2_1", ("dotprod",), VariantStanding.LOADED, predicted_name="armv8.6_1")
    words = "".join(text for text, _ in status_spans(line))
    assert words == "▲ LOADED, predicted armv8.6_1"
