"""A QR code in text, for a phone to scan from the terminal."""

from __future__ import annotations

QUIET_ZONE = 2
"""Light modules around the code; scanners want some, terminals are small."""

_HALVES = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str, *, ascii_only: bool = False, dark_paper: bool = True) -> tuple[str, ...]:
    """The code for `text`: light modules drawn on a dark terminal, dark ones on light paper, as a scanner wants it.

    Two modules a row of half blocks, or two characters a module with `ascii_only`.
    """
    import segno

    code = segno.make(text, error="m", micro=False)
    rows = [[bool(module) != dark_paper for module in row] for row in code.matrix_iter(border=QUIET_ZONE)]
    if ascii_only:
        return tuple("".join("##" if drawn else "  " for drawn in row) for row in rows)
    if len(rows) % 2:
        rows.append([dark_paper] * len(rows[0]))
    return tuple(
        "".join(_HALVES[above, below] for above, below in zip(rows[index], rows[index + 1], strict=True))
        for index in range(0, len(rows), 2)
    )
