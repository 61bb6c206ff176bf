"""A launch's end is told from its exit status and words: a missing library is never an unsupported CPU."""

from __future__ import annotations

import pytest

from entity_tui.engine.launch_words import LaunchEnd, launch_words, stated_build


@pytest.mark.parametrize(
    ("code", "output", "end", "detail"),
    [
        (127, "error while loading shared libraries: libllama.so.0: cannot open shared object file: No such file",
         LaunchEnd.MISSING_LIBRARY, "libllama.so.0"),
        (1, 'CANNOT LINK EXECUTABLE "./llama-bench": library "libggml.so" not found: needed by main executable',
         LaunchEnd.MISSING_LIBRARY, "libggml.so"),
        (134, 'CANNOT LINK EXECUTABLE "x": library "libc++_shared.so" not found', LaunchEnd.MISSING_LIBRARY,
         "libc++_shared.so"),
        (132, "", LaunchEnd.UNSUPPORTED_CPU, "ended by SIGILL: an instruction this CPU does not have"),
        (126, "sh: 1: ./llama-bench: Exec format error", LaunchEnd.OTHER_MACHINE, None),
        (126, "sh: ./llama-bench: can't execute: Permission denied", LaunchEnd.NOT_EXECUTABLE, None),
        (127, "sh: ./llama-bench: not found", LaunchEnd.MISSING_PROGRAM, None),
        (1, "llama_bench: error: CPU backend is not loaded", LaunchEnd.NO_CPU_BACKEND, None),
        (1, "something else", LaunchEnd.FAILED, "something else"),
        (0, "Available devices:", LaunchEnd.OK, ""),
    ],
)  # fmt: skip
def test_each_end_has_its_own_word(code: int, output: str, end: LaunchEnd, detail: str | None) -> None:
    words = launch_words(code, output)
    assert words.end is end
    if detail is not None:
        assert words.detail == detail
    if end not in (LaunchEnd.OK, LaunchEnd.FAILED):
        assert words.fix


@pytest.mark.parametrize(
    ("text", "build"),
    [
        ("version: 0.6.0-dev (build 11434, commit unknown)", "b11434"),
        ("version: 4567 (abc1234)", "b4567"),
        ("version: xllamacpp 2026.10.11549", "2026.10.11549"),
        ("version: 0 (unknown)", None),
        ("nothing", None),
    ],
)
def test_the_build_is_read_from_the_version_line(text: str, build: str | None) -> None:
    assert stated_build(text) == build
