"""Clients nobody here wrote talk to the device's model through the address that `serve` prints."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fixtures.tools import need_tool


@pytest.fixture
def served(
    x86_engine: Path, smollm2: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[dict[str, str]]:
    """`entity-tui serve` as a process, ended by ctrl+c."""
    monkeypatch.setenv("ENTITY_ROOT", str(tmp_path / "device"))
    argv = [sys.executable, "-m", "entity_tui", "serve", "--device", "local", "--engine", str(x86_engine)]
    process = subprocess.Popen(
        [*argv, "--model", str(smollm2), "--context", "512", "--threads", "1", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        pytest.fail(process.communicate()[1])
    yield json.loads(line)
    process.send_signal(signal.SIGINT)
    _, words = process.communicate(timeout=30)
    assert process.returncode == 0, words


def test_the_openai_package_streams_a_reply(served: dict[str, str]) -> None:
    from openai import OpenAI

    with OpenAI(base_url=served["base_url"], api_key=served["api_key"]) as client:
        parts = client.chat.completions.create(
            model=served["model"],
            messages=[{"role": "user", "content": "Name the capital of France."}],
            max_tokens=16,
            temperature=0,
            stream=True,
        )
        text = "".join(part.choices[0].delta.content or "" for part in parts if part.choices)
    assert "Paris" in text


def test_curl_is_refused_without_the_key_and_answered_with_it(served: dict[str, str]) -> None:
    curl = [need_tool("curl"), "-s", "-o", "/dev/null", "-w", "%{http_code}", f"{served['base_url']}/models"]
    assert subprocess.run(curl, capture_output=True, text=True, timeout=30).stdout == "401"
    key = ["-H", f"Authorization: Bearer {served['api_key']}"]
    assert subprocess.run([*curl, *key], capture_output=True, text=True, timeout=30).stdout == "200"


def test_the_address_is_this_computer_only_and_the_key_is_random(served: dict[str, str]) -> None:
    assert served["base_url"].startswith("http://127.0.0.1:")
    assert len(served["api_key"]) == 48
