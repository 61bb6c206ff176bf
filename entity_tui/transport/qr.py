"""A QR code in text, for a phone to scan from the terminal."""

from __future__ import annotations

QUIET_ZONE = 2
"""Light modules around the code; scanners want some, terminals are small."""

_HALVES = {(True, True): "█", (True, False): "▀", (False, True): "▄", (False, False): " "}


def qr_lines(text: str, *, ascii_only: bool = False) -> tuple[str, ...]:
    """The code for `text`, light modules drawn, which is what a scanner sees on a dark terminal.

    Two modules a row of half blocks, or two characters a module with `ascii_only`.
    """
    import segno

    code = segno.make(text, error="m", micro=False)
    rows = [[not module for module in row] for row in code.matrix_iter(border=QUIET_ZONE)]
    if ascii_only:
        return tuple("".join("##" if light else "  " for light in row) for row in rows)
    if len(rows) % 2:
        rows.append([True] * len(rows[0]))
    return tuple(
        "".join(_HALVES[above, below] for above, below in zip(rows[index], rows[index + 1], strict=True))
        for index in range(0, len(rows), 2)
    )
