"""A device that lies in every text it has, seen in a real terminal: nothing of it acts on this computer."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
import pytest_asyncio

from entity_tui.sim.launch import DemoPhone
from entity_tui.sim.profile import load_image
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_server import AdbServer
from tests.chat.test_hostile_terminal import state
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import REPOSITORY
from tests.screens.test_terminal import Terminal, terminal

__all__ = ["terminal"]

pytestmark = [pytest.mark.long, pytest.mark.timeout(400)]

ACTS = (
    "\x1b[2J\x1b[H\x1b[31mred\x1b[0m",
    "\x1b]0;owned\x07",
    "\x1b]52;c;ZXZpbA==\x07",
    "\x1b[?1049h\x1b[?1000h\x1b[?25l",
    '\x1bP$q"p\x1b\\\x1b_apc\x1b\\',
    "\x1b[6n\x1b[c\x1b[>c",
    "\x1b(0lqqk\x1b#8",
    "\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\",
    "\x1b[5;10r\x1b[4h\x1b[?7l\x1b[?6h",
    "\x9b31m\x9d0;c1\x9c",
    "a\rb\x08\x08c\x0bd\x0ce\x07\x07\x07",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "[bold red]markup[/] [@click=app.quit]x[/]",
    '=HYPERLINK("https://example.org","x")',
    "$(touch owned)`touch owned`;touch owned",
    "../../../../../../tmp/owned",
    "!!python/object/apply:os.system ['touch owned']",
    "%s%n%x {0.__class__} ${HOME}",
    "<script>alert(1)</script>",
    "x" * 3000,
)
"""What a text can try: the terminal's own language, markup, formulas, shells, paths, loaders, formats, length."""

PROPS = (
    "ro.product.model",
    "ro.product.manufacturer",
    "ro.product.brand",
    "ro.soc.model",
    "ro.soc.manufacturer",
    "ro.board.platform",
    "ro.hardware",
    "ro.build.version.release",
    "ro.build.fingerprint",
    "ro.build.display.id",
    "ro.product.device",
    "ro.build.version.security_patch",
)
FILES = (
    "/proc/version",
    "/sys/class/power_supply/battery/status",
    "/sys/class/power_supply/battery/technology",
    "/sys/class/power_supply/battery/health",
    "/sys/class/thermal/thermal_zone0/type",
    "/sys/class/thermal/thermal_zone1/type",
    "/sys/devices/system/cpu/cpufreq/policy0/scaling_governor",
    "/sys/devices/system/cpu/cpufreq/policy4/scaling_governor",
    "/sys/devices/system/cpu/cpu4/cpu_capacity",
    "/proc/self/cgroup",
)
NAMES = tuple(text.replace("/", ":")[:200] for text in ACTS)
CASES = len(PROPS) + len(FILES) + len(NAMES) * 2
"""Properties, kernel files, model files and run folders, each with another text."""

SCREENS = (
    ("F3", "[2 Chat]"),
    ("F4", "[3 Bench]"),
    ("F5", "[4 Placement]"),
    ("F6", "[5 Models]"),
    ("F7", "[6 History]"),
    ("F2", "[1 Dashboard]"),
    ("l", "Log"),
)

COMMANDS = (
    ("topology", 0),
    ("variants", 0),
    ("monitor --for 2s --hz 2", 0),
    ("models list", 0),
    ("engine list", 0),
    ("engine check /data/local/tmp/e", 3),
    ("bench --engine /data/local/tmp/e --runs 1 --yes", 3),
    ("run list", 0),
    ("doctor", 0),
    ("snapshot save ../kept.json", 0),
)
"""What is typed, and how it ends."""

PLANT = r"""
cd /data/local/tmp && mkdir -p m && cd m || exit 1
i=1
for name; do
  printf 'GGUFjunk%s' "$name" > "$name.gguf"
  mkdir -p "/data/local/tmp/entity/runs/$name" && echo x > "/data/local/tmp/entity/runs/$name/plan.flat"
  printf '1 1 run_start session=%s pid=1 start=1 boot_id=%s ;\n2 2 cell n=1 dir=../../../../owned ;\n' "$name" "$name" \
    > "/data/local/tmp/entity/runs/$name/journal"
done
ln -s a b; ln -s b a; ln -s . self; ln -s ../../../../../../etc/passwd passwd.gguf
mkdir -p ../e && cd ../e || exit 1
printf '#!/system/bin/sh\nhead -c 1000000000 /dev/zero | tr "\\0" x >&2\nprintf "\\033[2J"\n' > llama-bench
chmod 755 llama-bench
"""


def hostile_recording(folder: Path) -> Path:
    """The demo phone with a hostile text in every place that can hold one."""
    image = load_image("cmf-phone-1")
    files, props = dict(image.files), dict(image.props)
    for index, name in enumerate(PROPS):
        props[name] = ACTS[index % len(ACTS)]
    for index, path in enumerate(FILES, len(PROPS)):
        files[path] = ACTS[index % len(ACTS)] + "\n"
    files["/proc/cpuinfo"] = files["/proc/cpuinfo"] + f"Hardware\t: {ACTS[0]}{ACTS[12]}\n"
    path = folder / "hostile.json"
    path.write_text(json.dumps({"files": files, "props": props}), encoding="utf-8")
    return path


@pytest_asyncio.fixture
async def own_server() -> AsyncIterator[AdbServer]:
    """An adb server that knows no phone of another test."""
    async with AdbServer() as server:
        yield server


@pytest.fixture
def outside(tmp_path: Path) -> Iterator[Path]:
    """The folder commands run in: nothing may appear there."""
    folder = tmp_path / "outside"
    folder.mkdir()
    yield folder
    assert list(folder.iterdir()) == []
    assert not list(tmp_path.glob("**/*owned*"))
    assert not Path("/tmp/owned").exists()


async def shown(screen: Terminal, holds: Callable[[str], bool]) -> str:
    """The page once a condition holds, without stopping the phone beside it."""
    return await asyncio.to_thread(screen.until, holds)


async def test_forty_lies_of_a_device_change_neither_terminal_nor_laptop(
    phones: PhoneFactory,
    own_server: AdbServer,
    terminal: Callable[[int, int], Terminal],
    tmp_path: Path,
    outside: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CASES >= 40
    phone: DemoPhone = await phones(str(hostile_recording(tmp_path)), speed=20.0)
    async with AdbTransport(phone.address, "127.0.0.1", own_server.port, simulated=True) as link:
        planted = await link.script(PLANT, args=NAMES)
        assert planted.ok, planted.error_text
    monkeypatch.setenv("ANDROID_ADB_SERVER_PORT", str(own_server.port))
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    screen = terminal(100, 30)
    screen.type(f"cd {outside} && clear", "Enter")
    before = state(screen)
    program, device = f"{sys.executable} -m entity_tui", f"--device adb:{phone.address}"
    screen.type(f"{program} {device}", "Enter")
    await shown(screen, lambda page: "Topology" in page and "Hz" in page)
    for key, words in SCREENS:
        screen.type(key)
        page = await shown(screen, lambda page, words=words: words in page)  # type: ignore[misc]
        assert not [letter for letter in page if letter != "\n" and (ord(letter) < 32 or 127 <= ord(letter) < 160)]
    screen.type("Escape")
    await shown(screen, lambda page: "[1 Dashboard]" in page)
    screen.type("q")
    await shown(screen, lambda page: "Dashboard" not in page)
    assert state(screen) == before
    for number, (words, code) in enumerate(COMMANDS):
        screen.type(f"clear; {program} {words} {device}; echo end-{number}-$?", "Enter")
        page = await shown(screen, lambda page, number=number: f"\nend-{number}-" in page)  # type: ignore[misc]
        assert "Traceback" not in page, page
        assert f"\nend-{number}-{code}" in page, page
    listed = subprocess.run(
        [sys.executable, "-m", "entity_tui", "devices", "--json"], capture_output=True, check=True, text=True
    )
    specs = {row["spec"] for row in json.loads(listed.stdout)}
    assert specs == {f"adb:{phone.address}", "local", "demo:cmf-phone-1"}, "a phone cannot make up another one"
    screen.type("clear", "Enter")
    await shown(screen, lambda page: "end-" not in page)
    assert state(screen) == before
