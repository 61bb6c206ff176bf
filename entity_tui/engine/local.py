"""This computer's own engine: `llama-bench` and `llama-server` look-alikes over the package xllamacpp."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import sys
from pathlib import Path

from entity_tui.engine.build import LOOKALIKE, MANIFEST, EngineBuild, describe_folder
from entity_tui.engine.lookalike import package_version
from entity_tui.errors import EntityError

_PROGRAMS = {"llama-bench": "lookalike_bench", "llama-server": "lookalike_server"}


class LocalEngineMissing(EntityError):
    """The extra that brings an engine for this computer is not installed."""

    exit_code = 2


def available() -> bool:
    """True when xllamacpp is installed beside us; nothing is loaded to find out."""
    return importlib.util.find_spec("xllamacpp") is not None


def ensure_lookalikes(engines: Path) -> EngineBuild:
    """Write the two look-alike programs into `engines`/xllamacpp-VERSION and describe them.

    Each is a script that names this very Python, so that it runs without our environment being activated. Raises
    LocalEngineMissing when xllamacpp is not installed, OSError when the folder cannot be written.
    """
    if not available():
        raise LocalEngineMissing(
            "There is no engine for this computer.",
            detail="The Python package xllamacpp is not installed.",
            fix="pip install 'entity-tui[local]', or name a llama.cpp folder with --engine PATH.",
        )
    version = package_version()
    folder = engines / f"{LOOKALIKE}-{version}"
    folder.mkdir(parents=True, exist_ok=True)
    for program, module in _PROGRAMS.items():
        _write(folder / program, _launcher(module), 0o755)
    _write(folder / MANIFEST, json.dumps({"name": LOOKALIKE, "build": version}) + "\n", 0o644)
    return describe_folder(str(folder), _PROGRAMS, build=version, build_source="package", name=LOOKALIKE)


def _launcher(module: str) -> str:
    """A script that starts `module` with the very Python, and so the very packages, that wrote it."""
    code = f"import sys; from entity_tui.engine.{module} import main; sys.exit(main())"
    return f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -I -c {shlex.quote(code)} "$@"\n'


def _write(path: Path, text: str, mode: int) -> None:
    """Replace a file in one step, and only when its text differs, so that a running script is never cut."""
    if path.exists() and path.read_text(encoding="utf-8") == text and path.stat().st_mode & 0o777 == mode:
        return
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.chmod(mode)
    part.replace(path)
