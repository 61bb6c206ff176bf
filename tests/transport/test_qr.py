"""The QR code in text says module for module what the code itself says."""

from __future__ import annotations

import segno
from click.testing import CliRunner

from entity_tui.commands.pair import command
from entity_tui.transport.adb_host import QrPairing
from entity_tui.transport.qr import QUIET_ZONE, qr_lines


def modules(lines: tuple[str, ...]) -> list[list[bool]]:
    """Light modules, read back from half blocks."""
    rows: list[list[bool]] = []
    for line in lines:
        rows.append([char in "█▀" for char in line])
        rows.append([char in "█▄" for char in line])
    return rows


def test_half_blocks_draw_every_module() -> None:
    payload = QrPairing("entity-0a1b2c3d", "0123456789ab").payload
    wanted = [[not dark for dark in row] for row in segno.make(payload, error="m", micro=False).matrix_iter(border=2)]
    drawn = modules(qr_lines(payload))
    assert drawn[: len(wanted)] == wanted
    assert all(all(row) for row in drawn[len(wanted) :])
    assert all(all(row) for row in drawn[:QUIET_ZONE])


def test_the_plain_form_is_ascii_and_fits_a_small_terminal() -> None:
    payload = QrPairing.fresh().payload
    assert "".join(qr_lines(payload, ascii_only=True)).strip("# ") == ""
    blocks = qr_lines(payload)
    assert len(blocks) <= 22
    assert {len(line) for line in blocks} == {len(blocks[0])}
    assert len(blocks[0]) <= 79


def test_pair_asks_for_what_the_phone_shows() -> None:
    for words in ([], ["192.0.2.1:37001"], ["--qr", "192.0.2.1:37001", "123456"]):
        result = CliRunner().invoke(command, words)
        assert result.exception is not None
        assert "--qr" in str(result.exception)


def test_on_light_paper_the_dark_modules_are_drawn() -> None:
    payload = QrPairing("entity-0a1b2c3d", "0123456789ab").payload
    dark, light = (modules(qr_lines(payload, dark_paper=paper)) for paper in (True, False))
    assert [[not module for module in row] for row in dark] == light
