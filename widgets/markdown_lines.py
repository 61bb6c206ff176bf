"""Markdown as rows of spans: headings, lists, tables, code and formulas, from text that is data and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.texmath import texmath_plugin

from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line
from entity_tui.widgets.text import cells, cut, plain

DisplayMaths = Callable[[str], tuple[str, ...]]
InlineMaths = Callable[[str], str]


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """CommonMark, tables, strike-through, and formulas between `$ $$ \\( \\[`; a lone dollar sign stays one."""
    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.use(dollarmath_plugin, allow_space=False, allow_digits=False, allow_labels=False, double_inline=True)
    parser.use(texmath_plugin, delimiters="brackets")
    return parser


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a text is drawn: its width in cells, and what draws formulas."""

    width: int
    display: DisplayMaths
    inline: InlineMaths


def markdown_rows(source: str, drawing: Drawing) -> tuple[Line, ...]:
    """The rows of a Markdown text, wrapped to the width. HTML, links and images appear as text; nothing is fetched."""
    tokens = _parser().parse(source)
    rows = list(_blocks(tokens, drawing))
    while rows and not rows[-1]:
        rows.pop()
    return tuple(rows)


def code_blocks(source: str) -> tuple[str, ...]:
    """The sources of all code blocks, in order: what a copy key copies."""
    return tuple(token.content for token in _parser().parse(source) if token.type in ("fence", "code_block"))


def _blocks(tokens: list[Token], drawing: Drawing) -> Iterator[Line]:
    """Walk the block tokens; `prefix` holds the marks of the lists and quotes we are in."""
    prefix: list[tuple[Line, Line]] = []
    counters: list[int | None] = []
    index = 0
    while index < len(tokens):
        token = tokens[index]
        inner = _inset(prefix, drawing)
        if token.type == "inline":
            parent = tokens[index - 1]
            ink = Ink.HEADING if parent.type == "heading_open" else Ink.TEXT
            yield from _prefixed(prefix, _inline_rows(token, inner, ink))
            if not (parent.hidden or counters):
                yield BLANK
        elif token.type in ("fence", "code_block"):
            yield from _prefixed(prefix, _code(token, inner))
            yield BLANK
        elif token.type in ("math_block", "math_block_label", "math_block_eqno"):
            yield from _prefixed(prefix, _formula(token.content, inner))
            yield BLANK
        elif token.type == "html_block":
            yield from _prefixed(prefix, [line(row) for row in _lines(token.content, inner.width)])
            yield BLANK
        elif token.type == "hr":
            yield from _prefixed(prefix, [line(("─" * inner.width, Ink.BORDER))])
            yield BLANK
        elif token.type == "table_open":
            end = next(i for i in range(index, len(tokens)) if tokens[i].type == "table_close")
            yield from _prefixed(prefix, _table(tokens[index:end], inner))
            yield BLANK
            index = end
        elif token.type in ("bullet_list_open", "ordered_list_open"):
            start = token.attrGet("start")
            counters.append(int(start) if start is not None else 1)
            if token.type == "bullet_list_open":
                counters[-1] = None
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            counters.pop()
            if not counters:
                yield BLANK
        elif token.type == "list_item_open":
            prefix.append(_bullet(counters))
        elif token.type == "blockquote_open":
            bar = line(("▏ ", Ink.MUTED))
            prefix.append((bar, bar))
        elif token.type in ("list_item_close", "blockquote_close"):
            prefix.pop()
        index += 1


def _bullet(counters: list[int | None]) -> tuple[Line, Line]:
    """(first row's mark, further rows' indent) of the next item of the innermost list."""
    number = counters[-1]
    if number is None:
        return line(("• ", Ink.ACCENT)), line("  ")
    counters[-1] = number + 1
    mark = f"{number}. "
    return line((mark, Ink.ACCENT)), line(" " * len(mark))


def _inset(prefix: list[tuple[Line, Line]], drawing: Drawing) -> Drawing:
    used = sum(cells(text) for _, further in prefix for text, _ in further)
    return Drawing(max(8, drawing.width - used), drawing.display, drawing.inline)


def _prefixed(prefix: list[tuple[Line, Line]], rows: list[Line]) -> Iterator[Line]:
    """Rows behind the marks of their lists; a mark is used once, then its indent."""
    for row in rows:
        lead: list[Span] = []
        for depth, (first, further) in enumerate(prefix):
            lead.extend(first)
            prefix[depth] = (further, further)
        yield (*lead, *row)


def _spans(token: Token, drawing: Drawing, ink: Ink) -> list[Span]:
    """The spans of an inline token; a hard break is a span of one newline."""
    spans: list[Span] = []
    inks = [ink]
    link = ""
    for child in token.children or []:
        if child.type in ("strong_open", "em_open", "s_open"):
            inks.append({"strong_open": Ink.STRONG, "em_open": Ink.EMPHASIS, "s_open": Ink.MUTED}[child.type])
        elif child.type in ("strong_close", "em_close", "s_close"):
            inks.pop()
        elif child.type == "link_open":
            link = str(child.attrGet("href") or "")
        elif child.type == "link_close":
            if link:
                spans.append((f" ({plain(link)})", Ink.MUTED))
            link = ""
        elif child.type == "code_inline":
            spans.append((plain(child.content), Ink.CODE))
        elif child.type in ("math_inline", "math_inline_double", "math_single"):
            spans.append((plain(drawing.inline(child.content)), Ink.STRONG))
        elif child.type == "softbreak":
            spans.append((" ", inks[-1]))
        elif child.type == "hardbreak":
            spans.append(("\n", inks[-1]))
        elif child.type == "image":
            spans.append((f"[image: {plain(child.content)}]", Ink.MUTED))
        elif child.content:
            spans.append((plain(child.content), inks[-1]))
    return spans


def _inline_rows(token: Token, drawing: Drawing, ink: Ink) -> list[Line]:
    return wrap(_spans(token, drawing, ink), drawing.width)


def wrap(spans: list[Span], width: int) -> list[Line]:
    """Spans broken at spaces into rows of at most `width` cells; a longer word is broken where it must be."""
    rows: list[list[Span]] = [[]]
    used = 0
    for text, ink in spans:
        for part in _words(text):
            if part == "\n":
                rows.append([])
                used = 0
                continue
            size = cells(part)
            if used + size > width and used and part != " ":
                rows.append([])
                used = 0
            if part == " " and (used == 0 or used >= width):
                continue
            while size > width:
                head = cut(part, width + 1).removesuffix("…") or part[:1]
                rows[-1].append((head, ink))
                rows.append([])
                part = part[len(head) :]
                size = cells(part)
            if part:
                rows[-1].append((part, ink))
                used += size
    return [_joined(row) for row in rows]


def _words(text: str) -> Iterator[str]:
    """Words, single spaces and newlines."""
    word = ""
    for character in text:
        if character in " \n":
            if word:
                yield word
                word = ""
            yield character
        else:
            word += character
    if word:
        yield word


def _joined(row: list[Span]) -> Line:
    """Neighbouring spans of one ink made one, trailing spaces dropped."""
    merged: list[Span] = []
    for text, ink in row:
        if merged and merged[-1][1] is ink:
            merged[-1] = (merged[-1][0] + text, ink)
        else:
            merged.append((text, ink))
    while merged and not merged[-1][0].strip():
        merged.pop()
    return line(*merged)


def _lines(text: str, width: int) -> list[str]:
    """Plain rows of a text that keeps its own line ends, long ones continued below."""
    rows: list[str] = []
    for raw in text.rstrip("\n").split("\n"):
        row = plain(raw.replace("\t", "    "))
        while cells(row) > width:
            head = cut(row, width + 1).removesuffix("…") or row[:1]
            rows.append(head)
            row = row[len(head) :]
        rows.append(row)
    return rows


def _code(token: Token, drawing: Drawing) -> list[Line]:
    """A code block in a thin box with its language; the box is as wide as the longest row, at most the panel."""
    name = plain(token.info.split()[0]) if token.info.strip() else "code"
    rows = _lines(token.content, max(4, drawing.width - 4))
    inner = max([cells(row) for row in rows] + [len(name) + 4, 8])
    name = cut(name, inner - 2)
    top = f"┌─ {name} " + "─" * max(0, inner - cells(name) - 1) + "┐"
    framed = [line((top, Ink.BORDER))]
    for row in rows:
        fill = " " * (inner - cells(row))
        framed.append(line(("│ ", Ink.BORDER), (row, Ink.CODE), (f"{fill} │", Ink.BORDER)))
    framed.append(line(("└" + "─" * (inner - 4) + " y ───┘", Ink.BORDER)))
    return framed


def _formula(source: str, drawing: Drawing) -> list[Line]:
    """A display formula, indented; one that is too wide falls back to its source, wrapped."""
    rows = drawing.display(source)
    widest = max((cells(row) for row in rows), default=0)
    if widest > drawing.width:
        return [line((row, Ink.CODE)) for row in _lines(source.strip(), drawing.width)]
    indent = " " * min(4, drawing.width - widest)
    return [line(indent, (plain(row) if row.strip() else "", Ink.STRONG)) for row in rows]


def _table(tokens: list[Token], drawing: Drawing) -> list[Line]:
    """A table with its columns as wide as they need, shrunk to the panel; cells wrap."""
    grid: list[list[list[Span]]] = []
    heads = 0
    for token in tokens:
        if token.type == "tr_open":
            grid.append([])
        elif token.type == "thead_close":
            heads = len(grid)
        elif token.type == "inline" and grid:
            ink = Ink.STRONG if heads == 0 else Ink.TEXT
            grid[-1].append(_spans(token, drawing, ink))
    columns = max((len(row) for row in grid), default=0)
    if columns == 0:
        return []
    wanted = [max([_size(row[i]) for row in grid if i < len(row)] + [3]) for i in range(columns)]
    widths = _shrunk(wanted, max(columns * 3, drawing.width - 3 * (columns - 1)))
    rows: list[Line] = []
    for number, row in enumerate(grid):
        rows += _table_row(row, widths)
        if number + 1 == heads:
            rows.append(line(("─┼─".join("─" * width for width in widths), Ink.BORDER)))
    return rows


def _size(spans: list[Span]) -> int:
    return sum(cells(text) for text, _ in spans)


def _shrunk(wanted: list[int], room: int) -> list[int]:
    """Column widths that fit `room`: the widest gives way first."""
    widths = list(wanted)
    while sum(widths) > room and max(widths) > 3:
        widths[widths.index(max(widths))] -= 1
    return widths


def _table_row(row: list[list[Span]], widths: list[int]) -> list[Line]:
    wrapped = [wrap(cell, width) for cell, width in zip(row, widths, strict=False)]
    wrapped += [[BLANK]] * (len(widths) - len(wrapped))
    height = max(len(cell) for cell in wrapped)
    rows: list[Line] = []
    for y in range(height):
        parts: list[Span] = []
        for x, width in enumerate(widths):
            spans = wrapped[x][y] if y < len(wrapped[x]) else BLANK
            parts += [*spans, (" " * max(0, width - _size(list(spans))), Ink.TEXT)]
            if x + 1 < len(widths):
                parts.append((" │ ", Ink.BORDER))
        rows.append(line(*parts))
    return rows
