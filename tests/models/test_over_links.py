"""A census over a link is the laptop's own: only header bytes cross, whatever the link is."""

from __future__ import annotations

import shutil
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entity_tui.checksum import file_sha256
from entity_tui.engine.model_files import count_models, local_census, remote_header
from entity_tui.engine.own_catalog import load_catalog
from entity_tui.engine.remote_hash import remote_sha256
from entity_tui.errors import EntityError
from entity_tui.model_survey import survey, survey_one
from entity_tui.models.catalog import shipped_catalog
from entity_tui.models.census import census
from entity_tui.models.on_device import ModelFile, find_models
from entity_tui.models.row_json import row_json
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.base import RemoteFileError, Transport
from entity_tui.transport.local import LocalTransport
from tests.models.gguf_text import llama_like

Phones = Callable[..., Awaitable[Any]]


async def adb_phone(phones: Phones, server: AdbServer) -> AdbTransport:
    phone = await phones("cmf-phone-1", speed=20.0)
    await connect(server.address, phone.address)
    return AdbTransport(phone.address, "127.0.0.1", server.port, simulated=True)


async def census_over(link: Transport, path: str, size: int) -> object:
    return census(await remote_header(link, ModelFile(path, size, path.rsplit("/", 1)[-1])))


async def same_everywhere(model: Path, phones: Phones, server: AdbServer, ssh_server: Any) -> None:
    """Census here, over adb on a demo phone and over ssh; then the row of the phone's own copy."""
    here = local_census(model)
    async with await adb_phone(phones, server) as adb:
        remote = f"{adb.root}/models/{model.name}"
        await adb.push(model, remote)
        over_adb = await census_over(adb, remote, model.stat().st_size)
        assert await remote_sha256(adb, remote) == file_sha256(model)
        row = await survey_one(adb, model.name, shipped_catalog())
    async with ssh_server.transport() as ssh:
        over_ssh = await census_over(ssh, str(model), model.stat().st_size)
    assert over_adb == over_ssh == here
    assert row.census == here
    assert row.fit.memory.available_bytes


async def test_a_model_counts_the_same_here_over_adb_and_over_ssh(
    tmp_path: Path, phones: Phones, adb_server: AdbServer, ssh_server: Any
) -> None:
    model = tmp_path / "größe tiny.gguf"
    model.write_bytes(llama_like().bytes())
    await same_everywhere(model, phones, adb_server, ssh_server)


@pytest.mark.long
async def test_smollm2_counts_the_same_here_over_adb_and_over_ssh(
    smollm2: Path, phones: Phones, adb_server: AdbServer, ssh_server: Any
) -> None:
    await same_everywhere(smollm2, phones, adb_server, ssh_server)
    assert local_census(smollm2).read_bytes < 2_100_000, "of 98 MB"


async def test_a_demo_phone_lists_its_model_with_everything_the_screen_shows(
    phones: Phones, adb_server: AdbServer
) -> None:
    async with await adb_phone(phones, adb_server) as adb:
        rows = await survey(adb, shipped_catalog(), catalog=True)
    on_device = [row for row in rows if row.path]
    assert on_device
    value = row_json(on_device[0])
    assert value["simulated"] is True
    assert value["census"]["types"]
    assert value["fit"]["verdict"] in ("GOOD", "FITS", "TIGHT", "NO")
    assert value["predicted"]["basis"] == "chip"
    assert "Dimensity 7300" in value["predicted"]["words"]
    assert value["kleidiai"]["in_build"] is False
    assert len(rows) >= len(on_device) + 18


async def test_split_broken_and_unreadable_files_are_listed_with_the_reason(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    data = llama_like().bytes()
    (folder / "whole.gguf").write_bytes(data)
    (folder / "cut.gguf").write_bytes(data[:-100])
    (folder / "not.gguf").write_bytes(b"hello")
    (folder / "part-00001-of-00002.gguf").write_bytes(data)
    async with LocalTransport(str(tmp_path)) as local:
        files = [file for file in await find_models(local) if file.path.startswith(str(tmp_path))]
        counted = {model.file.name: model for model in await count_models(local, files)}
    assert counted["whole.gguf"].census is not None
    assert "cut" in counted["cut.gguf"].error
    assert "not a GGUF" in counted["not.gguf"].error
    assert counted["part-00001-of-00002.gguf"].error == "1 of 2 parts are there"


async def test_a_file_that_is_gone_is_an_error_of_its_own(tmp_path: Path) -> None:
    async with LocalTransport(str(tmp_path)) as local:
        with pytest.raises(RemoteFileError):
            await survey_one(local, f"{tmp_path}/none.gguf", shipped_catalog())
        with pytest.raises(RemoteFileError):
            await remote_sha256(local, f"{tmp_path}/none.gguf")


async def test_the_users_catalog_adds_and_replaces_entries(tmp_path: Path) -> None:
    (tmp_path / "catalog.yaml").write_text(
        """
models:
  my-model: {name: Mine, vendor: Me, params_b: 0.1, quant: Q8_0, size_bytes: 10, file: mine.gguf, url: "http://x/y"}
  llama3.2-1b-q4_0: {name: Other, vendor: M, params_b: 1, quant: Q4_0, size_bytes: 5, file: o.gguf, repository: a/b}
"""
    )
    entries = load_catalog(tmp_path)
    assert len(entries) == 20
    assert next(e for e in entries if e.id == "llama3.2-1b-q4_0").name == "Other"
    assert entries[-1].id == "my-model"
    assert entries[-1].own


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models:\n  a: {name: x}\n", "catalog.yaml:2"),
        ("models:\n  a: {name: x, vendor: v, params_b: 1, quant: q, size_bytes: 1, file: ../x.gguf, url: 'http://x'}\n",
         "plain file name"),
        ("models:\n  a: {name: x, vendor: v, params_b: 1, quant: q, size_bytes: 1, file: x.gguf}\n", "url"),
        ("models: [\n", "YAML"),
    ],
)  # fmt: skip
def test_mistakes_in_the_users_catalog_name_file_and_line(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "catalog.yaml").write_text(text)
    with pytest.raises(EntityError) as raised:
        load_catalog(tmp_path)
    assert words in f"{raised.value}"


async def test_engine_and_models_of_a_copied_folder_keep_their_times(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "a.gguf").write_bytes(llama_like().bytes())
    shutil.copy2(folder / "a.gguf", folder / "b.gguf")
    async with LocalTransport(str(tmp_path)) as local:
        first, second = [f for f in await find_models(local) if f.path.startswith(str(tmp_path))]
    assert replace(first, path="", name="") == replace(second, path="", name="")
