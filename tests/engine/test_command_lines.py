"""Command lines as a phone needs them."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.engine.command_lines import bench_argv, engine_env, removed_flag, shell_line


def test_one_launch_measures_one_phase() -> None:
    argv = bench_argv("/e/llama-bench", "/m.gguf", n_prompt=512, n_gen=0, threads=4)
    assert argv == (*("/e/llama-bench", "-m", "/m.gguf", "-p", "512", "-n", "0", "-t", "4", "-r", "1", "-o", "jsonl"),)


def test_a_launch_of_nothing_is_refused_because_the_program_would_run_its_default() -> None:
    with pytest.raises(ValueError, match="prompt"):
        bench_argv("/e/llama-bench", "/m.gguf", n_prompt=0, n_gen=0, threads=4)


def test_an_aborting_engine_starts_no_debugger() -> None:
    assert dict(engine_env("/e"))["GGML_NO_BACKTRACE"] == "1"


def test_a_bin_and_lib_layout_finds_its_libraries() -> None:
    assert dict(engine_env("/e/bin"))["LD_LIBRARY_PATH"] == "/e/bin:/e/lib"


def test_the_arms_own_environment_wins() -> None:
    assert dict(engine_env("/e", {"GGML_NO_BACKTRACE": "0"}))["GGML_NO_BACKTRACE"] == "0"


def test_a_removed_flag_is_named_with_its_replacement() -> None:
    assert removed_flag(["-fa", "1", "--no-mmap"]) == ("--no-mmap", "-lm none")
    assert removed_flag(["-fa", "1"]) is None


@given(st.lists(st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"])), min_size=1))
def test_a_printed_line_is_read_back_by_a_shell_as_it_was(argv: list[str]) -> None:
    assert shlex.split(shell_line(argv)) == argv
