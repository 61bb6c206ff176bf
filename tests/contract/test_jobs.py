"""Detached jobs over every link: they outlive it, and only the very same process is ever signalled."""

from __future__ import annotations

import dataclasses

import pytest

from entity_tui.transport.base import RemoteFileError, Transport
from tests.contract.conftest import make_link
from tests.fixtures.tools import until


async def test_a_job_runs_with_its_output_in_files(link: Transport, folder: str) -> None:
    job = await link.spawn(
        ["sh", "-c", "echo out; echo err >&2; pwd; exec sleep 300"],
        directory=folder,
        stdout=f"{folder}/o",
        stderr=f"{folder}/e",
    )
    assert await link.alive(job)

    async def written() -> bool:
        return (await link.read(f"{folder}/o")).count(b"\n") == 2

    await until(written, within_s=10)
    assert (await link.read(f"{folder}/o")).decode().splitlines()[0] == "out"
    assert await link.read(f"{folder}/e") == b"err\n"
    assert await link.signal(job, 15)

    async def gone() -> bool:
        return not await link.alive(job)

    await until(gone, within_s=10)
    assert not await link.signal(job, 15)


async def test_a_job_that_differs_in_any_identity_is_left_alone(link: Transport, folder: str) -> None:
    job = await link.spawn(["sleep", "300"], directory=folder, stdout=f"{folder}/o", stderr=f"{folder}/e")
    for other in (
        dataclasses.replace(job, boot_id="another-boot"),
        dataclasses.replace(job, start_time_ticks=job.start_time_ticks + 1),
        dataclasses.replace(job, pid=4_190_001),
    ):
        assert not await link.alive(other)
        assert not await link.signal(other, 9)
    assert await link.alive(job)
    assert await link.signal(job, 9)


async def test_a_job_that_ended_is_not_alive_even_as_a_zombie(link: Transport, folder: str) -> None:
    job = await link.spawn(["true"], directory=folder, stdout=f"{folder}/o", stderr=f"{folder}/e")

    async def gone() -> bool:
        return not await link.alive(job)

    await until(gone, within_s=10)


@pytest.mark.links("local", "ssh", "adb")
async def test_a_job_outlives_the_link_and_is_found_through_the_next_one(
    link: Transport, folder: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> None:
    job = await link.spawn(["sleep", "300"], directory=folder, stdout=f"{folder}/o", stderr=f"{folder}/e")
    await link.close()
    async with make_link(link.kind, request, tmp_path_factory.mktemp("next")) as later:
        assert await later.alive(job)
        assert await later.signal(job, 15)
        await later.run(["rm", "-rf", folder])


@pytest.mark.links("local", "ssh", "adb")
async def test_a_job_in_a_missing_folder_is_refused_with_the_devices_words(link: Transport, folder: str) -> None:
    with pytest.raises(RemoteFileError) as caught:
        await link.spawn(["true"], directory=f"{folder}/none", stdout="/dev/null", stderr="/dev/null")
    assert "none" in caught.value.detail
