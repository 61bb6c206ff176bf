"""Pictures of screens for the documentation: a real session, a screenshot as SVG, and a PNG made by Chromium.

`python tools/picture.py` starts a run on the demo phone, waits for its load, and writes `docs/dashboard.svg` and
`docs/dashboard.png`; `python tools/picture.py bench docs/bench` does the same for another
screen. Chromium with Fira Code is exact where other converters lose braille.
"""

from __future__ import annotations

import argparse
import asyncio
import html
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.cells import cell_len
from textual.pilot import Pilot

from entity_tui.app import AppOptions, EntityApp
from entity_tui.screens.device_values import topology_value
from entity_tui.screens.dialogs import ConfirmScreen
from entity_tui.session import Session

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
SCALE = 2
CONNECT_S = 90.0


async def ready(session: Session, pilot: Pilot[None], seconds: float) -> None:
    """Wait until the device is read and searched and some samples are there."""
    for _ in range(int(CONNECT_S / 0.25)):
        if session.view.searched and session.telemetry.sequence > 5:
            break
        await pilot.pause(0.25)
    await pilot.pause(seconds)


async def during(session: Session, pilot: Pilot[None], arm: str) -> None:
    """Wait until the samples show an arm's load on the fastest cores, with the loader's line seen."""
    for _ in range(3_000):
        if isinstance(pilot.app.screen, ConfirmScreen):
            await pilot.press("enter")
        current = session.run.current if session.run else None
        clusters = topology_value(session).clusters
        busy = clusters[0].busy_pct if clusters else None
        if current is not None and current.arm == arm and (busy or 0.0) > 85 and session.view.loaded_variant:
            break
        await pilot.pause(0.1)


async def take(chosen: argparse.Namespace) -> str:
    """The SVG of one screen of the running program."""
    session = Session()
    session.speed = chosen.speed
    app = EntityApp(session, AppOptions(spec=chosen.device, theme=chosen.theme))
    async with app.run_test(size=(chosen.columns, chosen.rows)) as pilot:
        await ready(session, pilot, chosen.warm)
        app.action_goto(chosen.screen)
        for key in chosen.press:
            await pilot.press(key)
            await pilot.pause(0.5)
        await pilot.pause(chosen.wait)
        if chosen.during:
            await during(session, pilot, chosen.during)
        app.action_goto(chosen.screen)
        await pilot.pause(0.5)
        app.paint()
        await pilot.pause()
        svg = app.export_screenshot(title=chosen.title)
    await session.close()
    return svg


def local_fonts(svg: str) -> str:
    """The SVG with the font of this computer, so that it is the same without a network."""
    svg = re.sub(r"@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    return svg.replace("Fira Code", "Fira Code, DejaVu Sans Mono")


def on_the_grid(svg: str) -> str:
    """The SVG with every character at its own cell: a font that lacks braille borrows it from one of another width."""

    def placed(match: re.Match[str]) -> str:
        text = html.unescape(match["text"])
        at = float(match["x"])
        step = float(match["length"]) / max(1, sum(cell_len(c) for c in text))
        places, column = [], 0
        for character in text:
            places.append(f"{at + column * step:.1f}")
            column += cell_len(character)
        return f'<text{match["before"]}x="{" ".join(places)}"{match["between"]}{match["after"]}>{match["text"]}</text>'

    pattern = (
        r'<text(?P<before>[^>]*?)x="(?P<x>[\d.]+)"(?P<between>[^>]*?)textLength="(?P<length>[\d.]+)"'
        r"(?P<after>[^>]*)>(?P<text>[^<]*)</text>"
    )
    return re.sub(pattern, placed, svg)


def to_png(svg: Path, png: Path) -> None:
    """Render with a headless Chromium, at twice the size."""
    program = next((path for name in CHROMIUM if (path := shutil.which(name))), None)
    if program is None:
        raise SystemExit("no chromium is installed; the SVG was written")
    text = svg.read_text(encoding="utf-8")
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', text)
    assert found is not None
    width, height = (round(float(size)) for size in found.groups())
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        style = "html,body{margin:0;background:transparent}svg{display:block}"
        page.write_text(f"<meta charset=utf-8><style>{style}</style>{text}", encoding="utf-8")
        subprocess.run(
            [
                program,
                "--headless=new",
                "--no-sandbox",
                "--hide-scrollbars",
                "--default-background-color=00000000",
                f"--force-device-scale-factor={SCALE}",
                f"--window-size={width},{height}",
                f"--user-data-dir={folder}/profile",
                f"--screenshot={png.resolve()}",
                page.as_uri(),
            ],
            check=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=120,
        )


def main() -> int:
    """Take one picture."""
    parser = argparse.ArgumentParser()
    parser.add_argument("screen", nargs="?", default="dashboard")
    parser.add_argument("target", nargs="?", type=Path, default=Path("docs/dashboard"), help="path without suffix")
    parser.add_argument("--device", default="demo:cmf-phone-1")
    parser.add_argument("--speed", type=float, default=8.0)
    parser.add_argument("--theme", default="entity-dark")
    parser.add_argument("--columns", type=int, default=120)
    parser.add_argument("--rows", type=int, default=40)
    parser.add_argument("--warm", type=float, default=5.0, help="seconds of samples before the keys are pressed")
    parser.add_argument("--wait", type=float, default=1.0, help="seconds after the keys")
    parser.add_argument("--press", nargs="*", default=["b"])
    parser.add_argument("--during", default="optimized", help="wait until the samples show this arm's load")
    parser.add_argument("--title", default="entity-tui")
    chosen = parser.parse_args()
    svg, png = chosen.target.with_suffix(".svg"), chosen.target.with_suffix(".png")
    svg.parent.mkdir(parents=True, exist_ok=True)
    svg.write_text(on_the_grid(local_fonts(asyncio.run(take(chosen)))), encoding="utf-8")
    to_png(svg, png)
    print(f"{svg} {svg.stat().st_size} bytes, {png} {png.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
