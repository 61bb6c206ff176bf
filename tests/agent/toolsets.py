"""The shells and tool collections an Android phone, a Termux, a router or a laptop may have, as real programs here."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fixtures.tools import missing, need_tool

TOOLS = [
    "cat",
    "date",
    "df",
    "echo",
    "env",
    "grep",
    "head",
    "id",
    "ls",
    "mkdir",
    "mkfifo",
    "mv",
    "rm",
    "rmdir",
    "setsid",
    "sha256sum",
    "sleep",
    "tail",
    "taskset",
    "timeout",
    "true",
    "uname",
    "wc",
]
SHELLS = {"mksh": ("mksh",), "dash": ("dash",), "ash": ("busybox", "ash")}
COMBINATIONS = (
    pytest.param(("mksh", "toybox"), id="mksh-toybox"),
    pytest.param(("dash", "coreutils"), id="dash-coreutils"),
    pytest.param(("mksh", "coreutils"), id="mksh-coreutils", marks=pytest.mark.long),
    pytest.param(("dash", "toybox"), id="dash-toybox", marks=pytest.mark.long),
    pytest.param(("ash", "busybox"), id="ash-busybox", marks=pytest.mark.long),
)
"""What the agent promises to run under; every test of a script runs in each, the quick suite in the first two."""


@dataclass(frozen=True)
class Toolset:
    """One shell with one collection of tools, and nothing else on its PATH."""

    name: str
    shell: tuple[str, ...]
    path: str

    def run(
        self,
        text: str,
        args: Sequence[str] = (),
        *,
        env: Mapping[str, str] | None = None,
        stdin: int | None = subprocess.DEVNULL,
        timeout_s: float = 30.0,
        user: int | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a script text to its end."""
        return subprocess.run(
            [*self.shell, "-c", text, "agent", *args],
            env=self.environment(env),
            stdin=stdin,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            user=user,
            check=False,
        )

    def environment(self, more: Mapping[str, str] | None = None) -> dict[str, str]:
        """PATH with these tools only; `bin` in `more` puts a folder of stand-ins in front."""
        given = dict(more or {})
        front = given.pop("bin", "")
        return {"PATH": f"{front}:{self.path}" if front else self.path, **given}


def make_toolset(shell: str, tools: str, folder: Path) -> Toolset:
    """A folder of links to one collection's tools; skips where the machine has no such collection."""
    words = [need_tool(SHELLS[shell][0]), *SHELLS[shell][1:]]
    if tools == "coreutils":
        sources = {name: shutil.which(name) for name in TOOLS}
    else:
        program = need_tool(tools)
        listed = subprocess.run([program, *(["--list"] if tools == "busybox" else [])], capture_output=True, text=True)
        offered = set(listed.stdout.split())
        sources = {name: program for name in TOOLS if name in offered}
    absent = [name for name in TOOLS if not sources.get(name)]
    if absent:
        missing(f"{tools} has no {' '.join(absent)}")
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in sources.items():
        link = folder / name
        if not link.exists():
            link.symlink_to(str(source))
    return Toolset(f"{shell}-{tools}", tuple(words), str(folder))


@pytest.fixture(scope="session")
def tool_folder() -> Iterator[Path]:
    """A folder for the links that another user may enter; the ones of pytest are closed to everybody else."""
    with tempfile.TemporaryDirectory(prefix="entity-tools-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.fixture(params=COMBINATIONS)
def toolset(request: pytest.FixtureRequest, tool_folder: Path) -> Toolset:
    """Each promised pair of shell and tools in turn."""
    shell, tools = request.param
    return make_toolset(shell, tools, tool_folder / tools)


def put_program(folder: Path, name: str, text: str) -> Path:
    """An executable stand-in that runs under /bin/sh."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / name
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return program


def put_files(root: Path, files: Mapping[str, str]) -> None:
    """Lay `files` (absolute device paths) out below `root`."""
    for path, text in files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode())


def outsider() -> int | None:
    """A user id that file modes apply to: root itself reads everything, so root borrows `nobody`."""
    return 65534 if os.geteuid() == 0 else None
