"""The table of keys in docs/interface.md, made from the one table the program itself uses.

`python -m tools.interface_page` rewrites the part between the two marks.
"""

from __future__ import annotations

import sys
from pathlib import Path

from entity_tui.screens.keys import EVERYWHERE, KEYS

PAGE = Path(__file__).resolve().parents[1] / "docs" / "interface.md"
BEGIN, END = "<!-- keys: made by tools/interface_page.py -->", "<!-- end of keys -->"


def row(id: str) -> str:
    """One key as a row of Markdown."""
    key = KEYS[id]
    keys = " ".join(f"`{part}`" for part in (key.shown, *key.keys.split(",")[1:]))
    return f"| {keys} | {key.help} | `{id}` |"


def table() -> str:
    """All keys: those of everywhere first, then by screen."""
    head = ["| key | what it does | id in the settings |", "| --- | --- | --- |"]
    everywhere = [row(id) for id in (*EVERYWHERE, "palette", "interrupt")]
    others = [row(id) for id in KEYS if id not in EVERYWHERE and id not in ("palette", "interrupt")]
    return "\n".join(["### Everywhere", "", *head, *everywhere, "", "### On single screens", "", *head, *others])


def page_with_keys(text: str) -> str:
    """The page with a fresh table between its marks."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{table()}\n\n{END}{after}"


def main() -> int:
    """Rewrite the page."""
    PAGE.write_text(page_with_keys(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
