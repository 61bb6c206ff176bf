"""Lends a simulated phone this computer's own engine, so that a real model answers a chat on it."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path

import entity_tui

PROGRAM = "llama-server"
MODULE = "entity_tui.engine.lookalike_server"


@dataclass(frozen=True, slots=True)
class Lent:
    """What a phone gets: folders of this computer to lay into its root, read-only, and files to plant at boot."""

    binds: tuple[tuple[str, str], ...]
    files: tuple[tuple[str, str, int, int], ...]


def can_lend() -> bool:
    """True when the package that holds an engine is installed beside us."""
    return importlib.util.find_spec("xllamacpp") is not None


def lend(root: Path, seed: Path, engine_folder: str, model: Path | None) -> Lent:
    """Make room below `root` for this Python and its packages, and a `llama-server` that runs on them.

    The stand-in `llama-bench` stays beside it: what is measured on a simulated phone follows its model of a phone, and
    only talking uses the real engine. `model` is planted under its own name.
    """
    binds = []
    for folder in _folders():
        target = root / str(folder).lstrip("/")
        target.mkdir(parents=True, exist_ok=True)
        binds.append((str(folder), str(target)))
    script = seed / PROGRAM
    code = f"import sys; from {MODULE} import main; sys.exit(main())"
    script.write_text(f'#!/system/bin/sh\nexec {sys.executable} -I -c "{code}" "$@"\n', encoding="utf-8")
    files = [(f"{engine_folder}/{PROGRAM}", str(script), 0, 0o755)]
    if model is not None:
        files.append((f"/data/local/tmp/entity/models/{model.name}", str(model), 0, 0o644))
    return Lent(tuple(binds), tuple(files))


def _folders() -> list[Path]:
    """This interpreter, its environment and our own package, none of them inside another one."""
    own = Path(entity_tui.__file__).resolve().parent
    wanted = sorted({Path(sys.base_prefix).resolve(), Path(sys.prefix).resolve(), own})
    if any(folder in (Path("/"), Path("/usr")) for folder in wanted):
        # The system's own Python: its programs and libraries by themselves, never the whole of /usr.
        version = f"python{sys.version_info.major}.{sys.version_info.minor}"
        parts = [Path("/usr/bin"), Path("/usr/lib", version), Path("/usr/lib/python3"), Path("/usr/local/lib")]
        wanted = [folder for folder in wanted if folder not in (Path("/"), Path("/usr"))]
        wanted += [part for part in parts if part.is_dir() and str(part).startswith("/usr/bin")]
    return [folder for folder in wanted if not any(other in folder.parents for other in wanted)]
