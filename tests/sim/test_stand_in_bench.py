"""The stand-in llama-bench beside recordings of the real one."""

from __future__ import annotations

import csv
import json
import re
from random import Random

import pytest

from entity_tui.sim.bench import VARIANT_NEEDS, BenchRun, Surroundings, loaded_variant
from entity_tui.sim.bench_rows import BenchModel
from entity_tui.sim.profile import load_image
from tests.fixtures.tools import need_shared

MODEL = BenchModel("llama 1B Q4_0", 773_025_920, 1_235_814_400)


def play(command: str, *, model: BenchModel | None = MODEL) -> tuple[int, list[str], list[str]]:
    """Exit code, stdout and stderr lines of one run at full clocks."""
    silicon = load_image("cmf-phone-1").silicon
    lines: list[tuple[str, str]] = []
    run = BenchRun(
        silicon=silicon,
        argv=command.split(),
        folder="/data/local/tmp/entity/bin",
        variants=tuple(VARIANT_NEEDS),
        read_model=lambda _: model,
        say=lambda stream, text: lines.append((stream, text)),
        random=Random(5),
    )
    top = {cluster.name: cluster.max_khz for cluster in silicon.clusters}
    while run.exit_code is None:
        run.advance(1.0, Surroundings(silicon.cpus, silicon.cpus, top))
    return run.exit_code, [text for kind, text in lines if kind == "o"], [text for kind, text in lines if kind == "e"]


def recording(name: str, stream: str) -> list[str]:
    return need_shared("recordings", "llama_cpp", "bench", f"{name}.{stream}").read_text().splitlines()


def test_jsonl_has_the_fields_of_the_real_one_in_their_order_and_kinds() -> None:
    _, out, _ = play("-m m.gguf -p 64 -n 16 -r 3 -t 2 -o jsonl")
    real = [json.loads(line) for line in recording("jsonl_p64_n16", "stdout")]
    ours = [json.loads(line) for line in out]
    assert [list(row) for row in ours] == [list(row) for row in real]
    for mine, theirs in zip(ours, real, strict=True):
        same = {key for key in theirs if type(mine[key]) is type(theirs[key])}
        assert set(theirs) - same == set()
        assert (mine["n_prompt"], mine["n_gen"], len(mine["samples_ns"])) == (theirs["n_prompt"], theirs["n_gen"], 3)


def test_progress_lines_are_those_of_the_real_one() -> None:
    _, _, err = play("-m m -p 32 -n 8 -d 0,128 -r 2 -t 2 -o jsonl --progress --delay 1")
    theirs = [line for line in recording("jsonl_progress_depth_delay", "stderr") if line.startswith("llama-bench:")]
    assert [line for line in err if line.startswith("llama-bench:")] == theirs


def test_a_missing_model_ends_with_the_real_words() -> None:
    code, out, err = play("-m models/nope.gguf -p 8 -n 0 -r 1 -o jsonl", model=None)
    assert (code, out) == (1, [])
    assert err[1:] == recording("err_missing_model", "stderr")[1:]


def test_an_unknown_flag_is_turned_down_with_the_real_words() -> None:
    code, out, err = play("--bogus")
    assert code == 1
    assert err[-1] in recording("err_unknown_flag", "stderr")
    assert out[0].startswith("usage:")


def test_a_mask_that_is_no_number_is_turned_down() -> None:
    code, _, err = play("-m m -p 8 -n 0 -r 1 -t 2 -C zz -o jsonl")
    assert code == 1
    assert "llama_bench: failed to parse cpu-mask: zz" in err


def test_csv_has_the_header_of_the_real_one() -> None:
    _, out, _ = play("-m m -p 64 -n 16 -r 1 -t 1,2 -o csv")
    assert out[0] == recording("csv_p64_n16", "stdout")[0]
    assert [row["n_threads"] for row in csv.DictReader(out)] == ["1", "1", "2", "2"]


def test_json_is_one_valid_list() -> None:
    _, out, _ = play("-m m -p 64 -n 16 -r 1 -t 4 -o json")
    assert [row["n_gen"] for row in json.loads("\n".join(out))] == [0, 16]


def test_the_markdown_table_ends_with_the_build() -> None:
    _, out, _ = play("-m m -p 64 -n 16 -r 1 -t 4 -o md")
    assert re.fullmatch(r"build: simulated \(11434\)", out[-1])
    assert out[2].startswith("| llama 1B Q4_0")


def test_more_repetitions_scatter_but_little() -> None:
    _, out, _ = play("-m m -p 0 -n 128 -r 8 -t 4 -C 0xf0 -o jsonl")
    row = json.loads(out[0])
    assert 0 < row["stddev_ts"] < 0.08 * row["avg_ts"]


@pytest.mark.parametrize("kind", ["android", "linux"])
def test_the_loaded_variant_is_the_oracles_for_every_set_of_features(kind: str) -> None:
    path = need_shared("recordings", "llama_cpp", "variant_oracle", "oracle_exhaustive.csv")
    rows = [row for row in csv.DictReader(path.read_text().splitlines()) if row["variant_set"] == kind]
    assert len(rows) == 128
    tags = [tag for tag in VARIANT_NEEDS if tag.startswith("android") == (kind == "android")]
    names = ("fphp", "asimdhp", "asimddp", "sve", "i8mm", "sve2", "sme")
    for row in rows:
        features = frozenset(name for name in names if row[name] == "1")
        assert loaded_variant(tags, features) == row["loaded"], row
