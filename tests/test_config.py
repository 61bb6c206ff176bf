"""Settings say where each value came from, and a mistake is named with its line."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui import config
from entity_tui.errors import UsageError


def test_a_value_of_the_file_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("# mine\ntheme: entity-light\nhz: 2\n", encoding="utf-8")
    loaded = config.load(tmp_path)
    assert (loaded["theme"], loaded["hz"], loaded["ascii"]) == ("entity-light", 2, False)
    assert loaded.sources["theme"].endswith("config.yaml:2")
    assert loaded.sources["ascii"] == "default"


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.yaml").write_text("hz: 2\n", encoding="utf-8")
    monkeypatch.setenv("ENTITY_TUI_HZ", "4")
    loaded = config.load(tmp_path)
    assert loaded["hz"] == 4
    assert loaded.sources["hz"] == "ENTITY_TUI_HZ"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("theme: entity-light\nhzz: 2\n", "config.yaml:2: there is no setting 'hzz'"),
        ("hz: fast\n", "config.yaml:1: hz is 'fast'"),
        ("hz: 99\n", "config.yaml:1: hz is 99"),
        ("ascii: 1\n", "config.yaml:1: ascii is 1"),
        ("a: [1\n", "is not YAML"),
        ("- one\n", "is not a map"),
    ],
)
def test_a_mistake_is_named_with_its_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "config.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as failure:
        config.load(tmp_path)
    assert said in str(failure.value)


def test_a_remembered_device_keeps_the_others(tmp_path: Path) -> None:
    config.remember(config.KnownDevice("termux", "ssh:u0_a1@192.0.2.2:8022"), tmp_path)
    config.remember(config.KnownDevice("desk", "local", {"placement": "perf_cores"}), tmp_path)
    assert [known.name for known in config.known_devices(tmp_path)] == ["termux", "desk"]
    assert config.known_devices(tmp_path)[1].settings == {"placement": "perf_cores"}
    assert config.forget("termux", tmp_path)
    assert not config.forget("termux", tmp_path)
    assert [known.name for known in config.known_devices(tmp_path)] == ["desk"]


@given(st.text())
def test_any_text_is_settings_or_a_clear_error(text: str) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_text(text, encoding="utf-8", errors="replace")
        with contextlib.suppress(UsageError):
            assert config.load(Path(folder)).values
