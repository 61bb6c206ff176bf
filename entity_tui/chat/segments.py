"""A growing reply cut into segments: what is finished never changes again, only the short tail is drawn anew."""

from __future__ import annotations

from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

TAIL_LINES = 60
"""An open code block, table or list is sealed every so many lines and goes on in the next segment."""

TAIL_CHARACTERS = 4_000
"""A paragraph without an end is sealed at the last space before this."""


@dataclass
class Segments:
    """Feed it text; `sealed` are Markdown sources that stand, `tail` is the rest. Nothing is lost: see `source`."""

    sealed: list[str] = field(default_factory=list)
    tail: str = ""
    source: str = ""
    """The reply exactly as it came."""
    _parser: MarkdownIt = field(default_factory=lambda: MarkdownIt("commonmark").enable("table"))

    def feed(self, text: str) -> bool:
        """Add text; true when something was sealed by it."""
        self.source += text
        self.tail += text
        if "\n" not in text and len(self.tail) < TAIL_CHARACTERS:
            return False
        before = len(self.sealed)
        while self._seal():
            pass
        return len(self.sealed) > before

    def finish(self) -> None:
        """Seal what is left."""
        if self.tail.strip():
            self.sealed.append(self.tail)
        self.tail = ""

    def _seal(self) -> bool:
        blocks = [token for token in self._parser.parse(self.tail) if token.level == 0 and token.map]
        opening = [token for token in blocks if token.nesting >= 0]
        lines = self.tail.splitlines(keepends=True)
        if len(opening) > 1:
            at = opening[-1].map[0] if opening[-1].map else 0
            return self._cut(lines, at)
        if not opening:
            return False
        return self._seal_open(opening[0], lines)

    def _seal_open(self, block: Token, lines: list[str]) -> bool:
        """Cut inside the one block that is still open, when it is long."""
        start = block.map[0] if block.map else 0
        if block.type == "fence" and len(lines) - start > TAIL_LINES:
            head = lines[start]
            fence = head.strip()[: len(head.strip()) - len(head.strip().lstrip("`~"))] or "```"
            body = "".join(lines[: start + TAIL_LINES])
            self.sealed.append(f"{body}{fence}\n")
            self.tail = head + "".join(lines[start + TAIL_LINES :])
            return True
        if block.type == "table_open" and len(lines) - start > TAIL_LINES:
            self.sealed.append("".join(lines[: start + TAIL_LINES]))
            self.tail = "".join(lines[start : start + 2]) + "".join(lines[start + TAIL_LINES :])
            return True
        if block.type in ("bullet_list_open", "ordered_list_open") and len(lines) - start > TAIL_LINES:
            return self._seal_list(lines)
        if block.type == "paragraph_open" and len(self.tail) > TAIL_CHARACTERS:
            at = self.tail.rfind(" ", 0, TAIL_CHARACTERS)
            at = at + 1 if at > 0 else TAIL_CHARACTERS
            self.sealed.append(self.tail[:at])
            self.tail = self.tail[at:]
            return True
        return False

    def _seal_list(self, lines: list[str]) -> bool:
        """Cut a long list before its last item; a numbered one goes on with its own numbers."""
        items = [
            token for token in self._parser.parse(self.tail) if token.type == "list_item_open" and token.level == 1
        ]
        if len(items) < 2 or items[-1].map is None:
            return False
        return self._cut(lines, items[-1].map[0])

    def _cut(self, lines: list[str], at: int) -> bool:
        if at <= 0:
            return False
        self.sealed.append("".join(lines[:at]))
        self.tail = "".join(lines[at:])
        return True
