"""The scripts that look for engines and models say the same in every shell a phone or a computer may have."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from entity_tui.engine.find import FIND_SCRIPT, parse_found
from entity_tui.models.on_device import FIND_MODELS_SCRIPT, parse_models
from tests.fixtures.tools import need_tool

SHELLS = {"dash": ["dash"], "mksh": ["mksh"], "busybox": ["busybox", "sh"], "bash": ["bash"]}


def said(shell: str, script: str, root: Path, home: Path) -> list[str]:
    """Lines of a script under a shell, with a bare environment."""
    command = SHELLS[shell]
    program = need_tool(command[0])
    done = subprocess.run(
        [program, *command[1:], "-c", script, "script", str(root)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={"HOME": str(home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout.splitlines()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A root with awkward names in it."""
    engine = tmp_path / "root" / "engines" / "llama b11434 ünï"
    engine.mkdir(parents=True)
    for name in ("llama-bench", "llama-server"):
        (engine / name).write_text("#!/bin/sh\n")
        (engine / name).chmod(0o755)
    (engine / "libggml-cpu-haswell.so").touch()
    (engine / "libggml.so.0").symlink_to("libggml-cpu-haswell.so")
    models = tmp_path / "root" / "models"
    (models / "deeper").mkdir(parents=True)
    (models / "-n \\t $HOME `x`.gguf").write_bytes(b"12345")
    (models / "deeper" / "b.gguf").write_bytes(b"1234567")
    (models / "empty").mkdir()
    return tmp_path / "root"


@pytest.mark.parametrize("shell", SHELLS)
def test_engines_are_found_in_every_shell(shell: str, root: Path, private_home: Path) -> None:
    found = [e for e in parse_found(said(shell, FIND_SCRIPT, root, private_home)) if str(root) in e.directory]
    assert [engine.directory for engine in found] == [f"{root}/engines/llama b11434 ünï"]
    assert sorted(found[0].executables) == ["llama-bench", "llama-server"]
    assert found[0].libraries == ("libggml-cpu-haswell.so", "libggml.so.0")
    assert found[0].build == "unknown"


@pytest.mark.parametrize("shell", SHELLS)
def test_models_are_found_in_every_shell(shell: str, root: Path, private_home: Path) -> None:
    found = [m for m in parse_models(said(shell, FIND_MODELS_SCRIPT, root, private_home)) if str(root) in m.path]
    assert [(model.name, model.size_bytes) for model in found] == [("-n \\t $HOME `x`.gguf", 5), ("b.gguf", 7)]
