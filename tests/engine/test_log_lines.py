"""What an engine says on its standard error, read from recordings of the real one."""

from __future__ import annotations

import pytest

from entity_tui.engine.log_lines import classify, parse_log, used_gpu
from entity_tui.experiments.states import exit_states
from tests.fixtures.tools import need_shared


def stderr(folder: str, name: str) -> str:
    return need_shared("recordings", "llama_cpp", folder, f"{name}.stderr").read_text(errors="replace")


def exit_code(name: str) -> int:
    last = need_shared("recordings", "llama_cpp", "errors", f"{name}.cmd").read_text().splitlines()[-1]
    return int(last.split("rc=")[1].split()[0])


def test_the_loader_names_the_variant_it_loaded() -> None:
    assert parse_log(stderr("bench", "jsonl_p64_n16")).variant == "zen4"
    assert parse_log(stderr("errors", "bench_forced_variant_haswell")).variant == "haswell"


def test_a_second_cpu_backend_does_not_replace_the_first() -> None:
    log = parse_log(stderr("errors", "bench_backend_path_env_with_auto"))
    assert log.variant == "zen4"
    assert log.backends == ("CPU", "CPU")


def test_an_rpc_backend_is_neither_a_variant_nor_a_gpu() -> None:
    log = parse_log("load_backend: loaded RPC backend from /x/libggml-rpc.so\n" + stderr("bench", "jsonl_p64_n16"))
    assert log.variant == "zen4"
    assert not used_gpu(log)


def test_a_gpu_backend_is_seen() -> None:
    assert used_gpu(parse_log("load_backend: loaded Vulkan backend from /x/libggml-vulkan.so\n"))


def test_repack_buffers_are_read_in_mib() -> None:
    log = parse_log(stderr("bench", "jsonl_verbose_q4_0_repack"))
    assert log.buffers_mib["CPU_REPACK"] == pytest.approx(56.95, abs=0.01)


def test_kleidiai_has_three_answers_and_silence_is_none_of_them() -> None:
    silent = parse_log(stderr("bench", "jsonl_p64_n16")).kleidiai
    assert (silent.in_build, silent.ran, dict(silent.kernels)) == (None, None, {})
    spoke = parse_log(
        "kleidiai: primary q4 kernel feature I8MM\n"
        "kleidiai: no compatible q8 kernels found for CPU features mask 3\n"
        "load_tensors: CPU_KLEIDIAI model buffer size =   90.00 MiB\n"
        "no kernel for tensor type q4_K, not accelerated by KleidiAI\n"
    ).kleidiai
    assert (spoke.in_build, spoke.ran) == (True, True)
    assert dict(spoke.kernels) == {"q4": "I8MM", "q8": "NONE"}
    assert spoke.missing_for == ("q4_K",)
    absent = parse_log("system_info: n_threads = 1 / 2 | CPU : NEON = 1 | DOTPROD = 1 | REPACK = 1 |").kleidiai
    assert (absent.in_build, absent.ran) == (False, False)


def test_features_of_the_variant_are_read_and_the_thread_segment_is_not_one() -> None:
    text = "system_info: n_threads = 1 (n_threads_batch = 1) / 2 | CPU : NEON = 1 | DOTPROD = 1 | SVE_CNT = 64 |"
    assert dict(parse_log(text).features) == {"NEON": 1, "DOTPROD": 1, "SVE_CNT": 64}


@pytest.mark.parametrize(
    ("name", "state"),
    [
        ("bench_badarch", "model_load_failed"),
        ("bench_badmagic", "model_load_failed"),
        ("bench_empty", "model_load_failed"),
        ("bench_trunc_half", "model_load_failed"),
        ("bench_ulimit_v_mmap", "model_load_failed"),
        ("bench_no_cpu_backend", "workload_error"),
        ("server_no_lib", "library_missing"),
        ("bench_backend_from_cwd", "ok"),
    ],
)
def test_recorded_failures_get_their_state(name: str, state: str) -> None:
    found, detail = classify(exit_code(name), stderr("errors", name), exit_states())
    assert found == state
    assert bool(detail) == (state != "ok")


@pytest.mark.parametrize(
    ("code", "state"),
    [(137, "killed_oom"), (132, "crashed_sigill"), (139, "crashed_segv"), (1, "workload_error"), (-9, "killed_oom")],
)
def test_exit_statuses_name_the_death(code: int, state: str) -> None:
    assert classify(code, "", exit_states())[0] == state


def test_a_missing_exit_status_is_a_failure() -> None:
    assert classify(None, "", exit_states()) == ("workload_error", "no exit status")


def test_a_linker_complaint_is_never_a_statement_about_the_cpu() -> None:
    words = 'CANNOT LINK EXECUTABLE "./llama-bench": library "libomp.so" not found: needed by main executable'
    assert classify(1, words, exit_states()) == ("library_missing", words)
