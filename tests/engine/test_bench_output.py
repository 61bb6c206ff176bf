"""What llama-bench prints: banners, cut lines and nonsense never become a number."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.engine.bench_output import MALFORMED, OK, TRUNCATED, parse_bench
from tests.fixtures.tools import need_shared


def recorded(name: str) -> str:
    return need_shared("recordings", "llama_cpp", "bench", f"{name}.stdout").read_text()


def line(**changes: object) -> str:
    fields: dict[str, object] = {"n_prompt": 0, "n_gen": 16, "n_depth": 0, "n_threads": 2, "samples_ns": [200_000_000]}
    return json.dumps({**fields, **changes}) + "\n"


@pytest.mark.parametrize("name", ["jsonl_p64_n16", "json_p64_n16", "csv_p64_n16"])
def test_each_output_format_of_one_command_gives_prompt_and_generation(name: str) -> None:
    output = parse_bench(recorded(name))
    assert output.state == OK
    assert {(result.n_prompt > 0, result.n_gen > 0) for result in output.results} == {(True, False), (False, True)}
    assert all(result.rate_tok_s and result.rate_tok_s > 1 for result in output.results)


def test_a_rate_is_tokens_over_seconds_not_a_mean_of_rates() -> None:
    (result,) = parse_bench(line(samples_ns=[100_000_000, 300_000_000])).results
    assert result.rate_tok_s == pytest.approx(32 / 0.4)
    assert result.rates_tok_s == (pytest.approx(160.0), pytest.approx(16 / 0.3))


def test_a_banner_before_and_a_warning_behind_do_not_hurt() -> None:
    output = parse_bench("WARNING: linker: {unsupported} flags\n" + recorded("jsonl_p64_n16") + "warn: bye\n")
    assert output.state == OK
    assert len(output.results) == 2
    assert output.noise == ("WARNING: linker: {unsupported} flags", "warn: bye")


@pytest.mark.parametrize("form", ["jsonl_p64_n16", "json_p64_n16", "csv_p64_n16"])
def test_an_output_cut_anywhere_inside_its_last_result_is_truncated(form: str) -> None:
    text = recorded(form)
    end = text.rstrip("]\n").rstrip()
    for cut in (1, 7, 40, 120):
        assert parse_bench(end[:-cut]).state == TRUNCATED, cut


def test_a_cut_line_does_not_swallow_the_whole_one_behind_it() -> None:
    output = parse_bench(line()[:60] + "\n" + line(n_threads=4))
    assert output.state == TRUNCATED
    assert [result.n_threads for result in output.results] == [4]


@pytest.mark.parametrize(
    "changes",
    [
        {"samples_ns": []},
        {"samples_ns": [0]},
        {"samples_ns": [-5]},
        {"samples_ns": ["fast"]},
        {"samples_ns": [1]},
        {"n_gen": 0},
        {"n_gen": "many"},
        {"samples_ns": [float("nan")]},
    ],
)
def test_a_result_without_positive_plausible_time_and_tokens_is_malformed(changes: dict[str, object]) -> None:
    output = parse_bench(line(**changes))
    assert output.state == MALFORMED
    assert not output.results


@pytest.mark.parametrize("name", ["help", "err_unknown_flag", "err_missing_model", "md_p64_n16", "sql_p64"])
def test_usage_text_tables_and_silence_are_malformed(name: str) -> None:
    assert parse_bench(recorded(name)).state == MALFORMED


def test_an_older_build_that_prints_only_means_is_labelled() -> None:
    text = json.dumps([{"n_prompt": 0, "n_gen": 128, "avg_ts": 19.5}])
    (result,) = parse_bench(text).results
    assert result.aggregate_only
    assert result.rate_tok_s == 19.5


@given(st.text())
def test_any_text_is_read_without_an_exception(text: str) -> None:
    output = parse_bench(text)
    assert output.state in (OK, TRUNCATED, MALFORMED)


@given(st.integers(1, 400), st.integers(0, 3))
def test_no_prefix_of_an_output_is_taken_for_a_whole_one(cut: int, lines: int) -> None:
    whole = line() * lines + line(n_gen=32)
    text = whole[: max(0, len(whole) - 2 - cut)]
    output = parse_bench(text)
    kept = len([one for one in text.splitlines(keepends=True) if one.endswith("\n") or one.endswith("}")])
    assert len(output.results) == kept
