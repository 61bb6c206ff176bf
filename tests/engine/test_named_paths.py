"""An engine or a model named by its path on the device is taken, wherever it lies there."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.engine.select import choose_engine, choose_model
from entity_tui.errors import UsageError
from tests.experiments.paper_engine import make_engine, make_model
from tests.fixtures.ssh import SshServer


async def test_a_folder_and_a_file_outside_the_usual_places_are_found_by_their_path(
    ssh_server: SshServer, tmp_path: Path
) -> None:
    folder = make_engine(tmp_path / "deep" / "in" / "a tree" / "bin")
    model = make_model(tmp_path / "some where")
    async with ssh_server.transport() as link:
        for named in (str(folder), f"{folder}/", str(folder.parent)):
            assert (await choose_engine(link, named)).directory == str(folder)
        found = await choose_model(link, str(model))
        assert (found.path, found.name, found.size_bytes) == (str(model), model.name, model.stat().st_size)


@pytest.mark.parametrize("named", ["/no/such/place", "/etc/passwd", "relative", "/"])
async def test_a_path_that_holds_none_is_a_clear_refusal(ssh_server: SshServer, named: str) -> None:
    async with ssh_server.transport() as link:
        with pytest.raises(UsageError, match="No engine at"):
            await choose_engine(link, named)
        if named != "/etc/passwd":
            with pytest.raises(UsageError, match="No model called"):
                await choose_model(link, named)
