"""What it means when an engine's program ended the way it did: a missing library is not an unsupported CPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum


class LaunchEnd(StrEnum):
    """How a launch ended."""

    OK = "ok"
    MISSING_LIBRARY = "missing library"
    MISSING_PROGRAM = "missing program"
    NOT_EXECUTABLE = "not executable"
    OTHER_MACHINE = "built for another machine"
    UNSUPPORTED_CPU = "unsupported CPU"
    NO_CPU_BACKEND = "no CPU backend"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class LaunchWords:
    """The end with its evidence and what to do."""

    end: LaunchEnd
    detail: str = ""
    fix: str = ""


_LIBRARY = (
    re.compile(r"error while loading shared libraries: (\S+?): cannot open shared object file"),
    re.compile(r'CANNOT LINK EXECUTABLE .*?library "([^"]+)" not found'),
    re.compile(r"dlopen failed: library \"([^\"]+)\" not found"),
    re.compile(r"Library not loaded: (\S+)"),
)
_BUILD = re.compile(r"build (\d+), commit (\w+)|version: (\d+) \((\w+)\)|version: xllamacpp (\S+)")


def stated_build(text: str) -> str | None:
    """`b11434` from the answer to --version of today's and of older builds; None when it says none."""
    match = _BUILD.search(text)
    if match is None:
        return None
    if match[5]:
        return match[5]
    number = match[1] or match[3]
    return f"b{number}" if number != "0" else None


def launch_words(exit_code: int, output: str) -> LaunchWords:
    """The end of a launch from its exit status (128 + n for a signal) and everything it printed."""
    tail = output.strip()[-400:]
    for pattern in _LIBRARY:
        if match := pattern.search(output):
            return LaunchWords(
                LaunchEnd.MISSING_LIBRARY, match[1], "Install the engine again with all .so files of its archive."
            )
    if exit_code == 0:
        return LaunchWords(LaunchEnd.OK)
    if exit_code == 132:
        return LaunchWords(
            LaunchEnd.UNSUPPORTED_CPU,
            "ended by SIGILL: an instruction this CPU does not have",
            "Use a build with CPU variants (the android-arm64 archive), not one for another chip.",
        )
    if "Exec format error" in output or "not executable: " in output or "wrong ELF class" in output:
        return LaunchWords(LaunchEnd.OTHER_MACHINE, tail, "Install the archive for this device's processor.")
    if exit_code == 126:
        return LaunchWords(LaunchEnd.NOT_EXECUTABLE, tail, "The folder may be mounted noexec; use another one.")
    if exit_code == 127:
        return LaunchWords(LaunchEnd.MISSING_PROGRAM, tail, "Install the engine again.")
    if "no backends are loaded" in output or "CPU backend is not loaded" in output:
        return LaunchWords(LaunchEnd.NO_CPU_BACKEND, tail, "The libggml-cpu-*.so files must stand beside the program.")
    return LaunchWords(LaunchEnd.FAILED, tail)
