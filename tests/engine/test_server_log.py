"""Every way a llama-server failed in the recordings has its own sentence and a way out."""

from __future__ import annotations

import pytest

from entity_tui.engine.server_log import explain_failure, read_start_log
from tests.fixtures.tools import need_shared

CASES = {
    "badarch": ("model_load_failed", "architecture"),
    "badmagic": ("model_load_failed", "not a sound GGUF"),
    "ctx_too_big": ("killed_oom", "not enough memory"),
    "ctv_q8_fa_off": ("workload_error", "flash attention"),
    "missing_model": ("model_load_failed", "cannot be opened"),
    "unreadable_model": ("model_load_failed", "cannot be opened"),
    "no_cpu_backend": ("library_missing", "no CPU backend"),
    "no_lib": ("library_missing", "library of the engine is missing"),
    "trunc_20": ("model_load_failed", "cut short"),
    "trunc_half": ("model_load_failed", "cut short"),
    "bad_host": ("workload_error", "port is taken"),
    "unknown_flag": ("workload_error", "does not take"),
    "removed_flag_mmap": ("workload_error", "does not take"),
    "ulimit_v": ("killed_oom", "not enough memory"),
}


@pytest.mark.parametrize("name", CASES)
def test_a_recorded_failure_is_named(name: str) -> None:
    text = need_shared("recordings", "llama_cpp", "errors", f"server_{name}.stderr").read_text(errors="replace")
    state, words = CASES[name]
    failure = explain_failure(text, 1)
    assert failure.state == state
    assert words in failure.title
    assert failure.fix
    assert failure.evidence in text


def test_a_server_that_was_killed_without_a_word_ran_out_of_memory() -> None:
    assert explain_failure("0.00.1 I srv  load_model: loading model", 137).state == "killed_oom"
    assert explain_failure("", 132).state == "crashed_sigill"
    assert explain_failure("", 139).state == "crashed_segv"


def test_the_start_is_told_step_by_step() -> None:
    text = need_shared("recordings", "llama_cpp", "server", "startup_lv4.stderr").read_text(errors="replace")
    assert read_start_log("").step == "starting"
    assert read_start_log("\n".join(text.splitlines()[:3])).step == "choosing the CPU variant"
    log = read_start_log(text)
    assert log.variant == "zen4"
    assert log.port is not None
    assert log.context_tokens is not None
    assert log.step == "ready"
    assert dict(log.buffers_mib)
    assert not log.kleidiai
