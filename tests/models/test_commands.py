"""`models`, `predict`, `context` and `engine` from the command line: data on stdout, words on stderr, exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from entity_tui.cli import cli, main
from entity_tui.commands.sizes import parse_size
from entity_tui.errors import UsageError
from tests.fixtures.tools import need_shared
from tests.models.gguf_text import llama_like


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every folder of the program below the test's own."""
    monkeypatch.setenv("ENTITY_TUI_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ENTITY_TUI_CONFIG", str(tmp_path / "config"))
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "root"))
    return tmp_path


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    path = tmp_path / "tiny-Q4_0.gguf"
    path.write_bytes(llama_like().bytes())
    return path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), catch_exceptions=False, standalone_mode=False)


def as_json(*arguments: str) -> Any:
    return json.loads(run(*arguments).stdout)


def exit_code(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_context_answers_without_a_phone() -> None:
    assert run("context", "--size", "773MB", "--free", "3.4GiB").stdout == "8192 tokens\n"
    assert as_json("context", "--size", "1.6GB", "--free", "2.2GiB", "--json")["window_tokens"] == 2048
    known = as_json("context", "--model", "llama3.2-1b-q4_0", "--free", "2.4GiB", "--json")
    assert (known["window_tokens"], known["kv_bytes"]) == (4096, 4096 * 16 * 2 * 8 * 64 * 2)


def test_context_of_a_file_uses_what_it_was_trained_on(tiny: Path) -> None:
    found = as_json("context", "--model", str(tiny), "--free", "8GiB", "--json")
    assert (found["window_tokens"], found["trained_context"]) == (8192, 8192)


@pytest.mark.parametrize(
    "arguments",
    [
        ("context", "--free", "1GiB"),
        ("context", "--size", "1GB", "--model", "x", "--free", "1GiB"),
        ("context", "--size", "big", "--free", "1GiB"),
        ("context", "--model", "no-such-model", "--free", "1GiB"),
        ("predict", "--chip", "no-such-chip"),
        ("predict", "--chip", "mt6878", "--snapshot", "x.json"),
        ("predict", "no-such-model", "--chip", "mt6878"),
        ("predict", "--method", "entity"),
        ("predict", "--bandwidth", "26.2"),
        ("predict", "--bandwidth", "26.2", "--score", "1", "--isa", "neon"),
        ("models", "fetch", "no-such-model"),
        ("models", "download", "no-such-model"),
        ("models", "download", "smollm2-360m-q4_0", "--offline"),
        ("models", "inspect", "/no/such/file.gguf"),
    ],
)
def test_what_cannot_be_meant_ends_with_2(arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code(*arguments) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err


def test_predict_for_a_chip_needs_no_phone() -> None:
    found = as_json("predict", "--chip", "dimensity-7300", "--free", "3.4GiB", "--json")
    assert len(found["models"]) == 19
    llama = next(row for row in found["models"] if row["id"] == "llama3.2-1b-q4_0")
    assert llama["predicted"]["decode_tok_s"] == pytest.approx(13.8346e9 / 773_025_920, abs=1e-3)
    assert llama["predicted"]["basis"] == "chip"
    assert set(found["recommended"]) == {"balanced", "long-prompt", "long-generation"}
    text = run("predict", "llama3.2-1b-q4_0", "--chip", "mt6878", "--free", "3.4GiB")
    assert "~17.9" in text.stdout
    assert "basis: 13.8 GB/s effective" in text.stderr


def test_entitys_method_equals_its_parity_table() -> None:
    table = json.loads(need_shared("seed_data", "entity", "probe_parity.json").read_text())["profiles"][0]
    given = table["profile"]
    found = as_json(
        "predict", "--method", "entity", "--bandwidth", str(given["bandwidth_gb_s"]), "--score",
        str(given["compute_score"]), "--isa", ",".join(given["flags"]), "--free", str(given["available_ram_bytes"]),
        "--json",
    )  # fmt: skip
    assert [(row["model"], row["fit"], row["reason"]) for row in found["models"]] == [
        (row["model"], row["fit"], row["reason"]) for row in table["estimates"]
    ]
    assert found["recommended"]["balanced"]["pick"] == table["recommend"]["BALANCED"]["pick"]
    assert run("predict", "--method", "entity", "--chip", "mt6878").exit_code == 0


def test_inspect_prints_card_census_and_both_coverages(tiny: Path) -> None:
    text = run("models", "inspect", str(tiny), "--free", "3.4GiB").stdout
    for words in ("Trained context", "8 192", "KleidiAI coverage", "bits per weight", "fit: ", "no weights loaded"):
        assert words in text
    found = as_json("models", "inspect", str(tiny), "--json", "--tensors")
    assert len(found["census"]["tensor_list"]) == 8
    assert found["census"]["tied_embeddings"] is True


def test_inspect_judges_the_kernels_of_a_snapshots_cpu(tiny: Path) -> None:
    snapshot = need_shared("devices", "pixel-8.json")
    found = as_json("models", "inspect", str(tiny), "--snapshot", str(snapshot), "--json")
    kernels = {kernel["type"]: kernel["family"] for kernel in found["kleidiai"]["kernels"]}
    assert kernels["Q4_0"] == "I8MM"
    assert kernels["Q4_1"] is None
    assert found["kleidiai"]["in_build"] is False
    assert 0 < found["coverage"]["share"] < 1


def test_the_catalog_is_listed_for_a_snapshot() -> None:
    snapshot = need_shared("devices", "pixel-8.json")
    found = as_json("models", "list", "--catalog", "--snapshot", str(snapshot), "--json")
    assert len(found["models"]) == 19
    assert {row["place"] for row in found["models"]} == {"catalog"}


def test_a_broken_file_ends_with_1_and_says_what_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.gguf"
    bad.write_bytes(b"hello world, this is text")
    assert exit_code("models", "inspect", str(bad)) == 1
    assert "not a GGUF file" in capsys.readouterr().err
    assert exit_code("models", "push", str(bad), "--device", "local") == 1


def test_push_list_verify_pull_and_delete_on_this_computer(
    tiny: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pushed = as_json("models", "push", str(tiny), "--device", "local", "--json")
    assert pushed["path"] == f"{tmp_path}/root/models/{tiny.name}"
    again = as_json("models", "push", str(tiny), "--device", "local", "--json")
    assert again["sha256"] == pushed["sha256"]
    listed = as_json("models", "list", "--device", "local", "--json")["models"]
    mine = next(row for row in listed if row["path"] == pushed["path"])
    assert mine["census"]["parameters"] > 0
    assert mine["fit"]["memory_read_at"]
    verified = as_json("models", "verify", tiny.name, "--device", "local", "--against", str(tiny), "--json")
    assert verified["same"] is True
    assert exit_code("models", "verify", tiny.name, "--device", "local", "--sha256", "0" * 64) == 1
    capsys.readouterr()
    back = tmp_path / "back"
    back.mkdir()
    run("models", "pull", tiny.name, str(back), "--device", "local")
    assert (back / tiny.name).read_bytes() == tiny.read_bytes()
    assert run("models", "delete", tiny.name, "--device", "local", "--yes").exit_code == 0
    assert not Path(pushed["path"]).exists()


def test_only_our_own_models_can_be_deleted(tiny: Path, private_home: Path) -> None:
    theirs = private_home / "theirs.gguf"
    theirs.write_bytes(tiny.read_bytes())
    assert exit_code("models", "delete", "theirs.gguf", "--device", "local", "--yes") == 2
    assert theirs.exists()


def test_engine_install_list_and_check(x86_engine: Path) -> None:
    installed = as_json("engine", "install", str(x86_engine), "--device", "local", "--json")
    assert installed["engine"]["build"] == "b11434"
    assert installed["engine"]["variant_list"] == "x86"
    listed = as_json("engine", "list", "--device", "local", "--json")["engines"]
    assert installed["engine"]["directory"] in {engine["directory"] for engine in listed}
    checked = as_json("engine", "check", installed["engine"]["directory"], "--device", "local", "--no-answer", "--json")
    assert checked["ok"] is True
    assert checked["loaded"] in installed["engine"]["variants"]


def test_a_path_without_an_engine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code("engine", "install", str(tmp_path), "--device", "local") == 2
    assert "no llama.cpp" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "size"),
    [("3.4GiB", 3_650_722_201), ("773MB", 773_000_000), ("98362432", 98_362_432), ("1 kib", 1024), ("2T", 2 * 10**12)],
)
def test_sizes_are_read_with_decimal_and_binary_units(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "GB", "-1GB", "1.5.5GB", "1XB", "9" * 40, "1e9", "nan"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(UsageError):
        parse_size(text)
