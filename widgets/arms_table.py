"""The arms of a run: widths, masks, medians with their deviation, power, and the state of each in a word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from entity_tui.widgets.ink import Ink, Line, Span, line, muted
from entity_tui.widgets.numbers import NONE, digits_like, known, millis, plus_minus, tok_s, watts
from entity_tui.widgets.table import Column, TableRow, TableValue
from entity_tui.widgets.text import right


@dataclass(frozen=True, slots=True)
class ArmValue:
    """One arm. Missing numbers are None; `word` is a state of the states table, or queued, running, done."""

    arm: str
    threads: str
    mask: str
    done: int
    planned: int
    decode_tok_s: float | None = None
    decode_sd: float | None = None
    prompt_tok_s: float | None = None
    ttft_ms: float | None = None
    watts: float | None = None
    tok_per_w: float | None = None
    power_note: str = ""
    word: str = "queued"
    detail: str = ""
    provisional: bool = True
    tainted: int = 0
    void: int = 0


GOOD_WORDS = frozenset({"ok", "done"})
WAITING_WORDS = frozenset({"queued", ""})
SKIPPED_WORDS = frozenset({"skipped_incapable", "cancelled"})

COLUMNS = (
    Column("arm", "arm", 18, flexible=True, least=12, gap=0),
    Column("thr", "thr", 4, "right", gap=1),
    Column("mask", "mask", 5, "right", drop=1, gap=1),
    Column("blocks", "blocks", 6),
    Column("decode", "decode tok/s", 12, gap=1),
    Column("prompt", "prompt", 6, "right", drop=3, gap=1),
    Column("ttft", "ttft ms", 7, "right", drop=4, gap=1),
    Column("watts", "W", 5, "right", gap=1),
    Column("tok_w", "tok/W", 6, "right", gap=1),
    Column("state", "state", 26, flexible=True, least=9),
)


NOTE_WIDTH = next(column.width for column in COLUMNS if column.key == "tok_w")


def columns_for(arms: Sequence[ArmValue]) -> tuple[Column, ...]:
    """The columns, wider where the two phases of an arm have their own widths and masks."""
    widest = {
        "thr": max([4, *(len(arm.threads) for arm in arms)]),
        "mask": max([5, *(len(arm.mask) for arm in arms)]),
    }
    return tuple(replace(column, width=widest.get(column.key, column.width)) for column in COLUMNS)


def rate_words(value: float | None, sd: float | None) -> str:
    """`13.8 ±0.3`: the median right-aligned to the point, the population standard deviation after it."""
    if not known(value):
        return f"{NONE:>5}"
    deviation = plus_minus(sd, digits_like(value))
    return f"{right(tok_s(value), 5)} {deviation}".rstrip()


def state_spans(arm: ArmValue) -> tuple[Span, ...]:
    """The state of an arm: glyph first, then its word."""
    if arm.word in GOOD_WORDS:
        mark: Span = ("●", Ink.GOOD)
        word = "ok"
    elif arm.word in WAITING_WORDS:
        mark, word = ("○", Ink.TEXT), "queued"
    elif arm.word in SKIPPED_WORDS:
        mark, word = ("○", Ink.MUTED), arm.word
    elif arm.word.startswith(("running", "gate", "prefill", "decode", "warmup")):
        mark, word = ("◐", Ink.GOOD), arm.word
    elif known(arm.decode_tok_s):
        mark, word = ("▲", Ink.WARN), arm.word
    else:
        mark, word = ("✖", Ink.BAD), arm.word
    return (mark, (f" {word}", Ink.TEXT))


def arm_row(arm: ArmValue) -> TableRow:
    """One arm as cells."""
    blocks = line(f"{arm.done}/{arm.planned}", (" †" if arm.provisional and arm.done else "", Ink.MUTED))
    power: Span = (watts(arm.watts), Ink.TEXT) if known(arm.watts) else (NONE, Ink.MUTED)
    short = len(arm.power_note) <= NOTE_WIDTH
    per_watt: Span = (
        (tok_s(arm.tok_per_w), Ink.TEXT)
        if known(arm.tok_per_w)
        else ((arm.power_note if short else "") or NONE, Ink.MUTED)
    )
    cells = (
        arm.arm,
        arm.threads,
        arm.mask,
        blocks,
        rate_words(arm.decode_tok_s, arm.decode_sd),
        tok_s(arm.prompt_tok_s),
        millis(arm.ttft_ms),
        power,
        per_watt,
        state_spans(arm),
    )
    counts = [f"{n} {name}" for n, name in ((arm.tainted, "tainted, kept"), (arm.void, "void, left out")) if n]
    detail = arm.detail if arm.word not in GOOD_WORDS | WAITING_WORDS else ""
    # A reason cut to six letters is none: a long one stands whole under the row.
    no_power = "" if short or known(arm.watts) else f"no power: {arm.power_note}"
    words = "; ".join(filter(None, (*counts, detail, no_power)))
    notes = (muted(f"    └ {words}"),) if words else ()
    return TableRow(arm.arm, cells, notes)


def arms_value(arms: Sequence[ArmValue], foot: Sequence[Line] = ()) -> TableValue:
    """The whole table; the foot says how far the run is."""
    return TableValue(columns_for(arms), tuple(arm_row(arm) for arm in arms), tuple(foot))


def progress_line(left_words: str, bar: tuple[Span, ...], counts: str, eta: str) -> Line:
    """`interleaved blocks, seed 4711   block 3 of 3   ▮▮▮▯ 12/15   eta 2 m 40 s`."""
    return line((f"{left_words}   " if left_words else "", Ink.MUTED), *bar, f" {counts}", (f"   {eta}", Ink.MUTED))
