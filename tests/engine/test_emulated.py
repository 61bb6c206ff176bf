"""A real aarch64 engine on emulated CPUs: the variant its loader takes is the one predicted from their features."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.device.facts import read_facts
from entity_tui.device.isa import IsaFeatures, from_names
from entity_tui.engine.archive import describe_local
from entity_tui.engine.check import Result, check_engine
from entity_tui.engine.install import install
from entity_tui.experiments.probe import probe
from entity_tui.models.on_device import ModelFile
from entity_tui.transport.adb import AdbTransport
from entity_tui.transport.adb_host import connect
from entity_tui.transport.adb_server import AdbServer
from entity_tui.transport.local import LocalTransport
from tests.fixtures.engine import emulated_engine
from tests.fixtures.phone import PhoneFactory
from tests.fixtures.tools import need_tool

A76 = frozenset({"asimd", "asimddp", "fphp", "asimdhp"})
MAX = A76 | {"sve", "i8mm", "sve2", "sme"}
NO_SVE = A76 | {"i8mm"}


def isa(names: frozenset[str]) -> IsaFeatures:
    return IsaFeatures(architecture="arm64", **from_names(names))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cpu", "names", "variant"),
    [
        ("cortex-a53", frozenset({"asimd"}), "android_armv8.0_1"),
        pytest.param("cortex-a76", A76, "android_armv8.2_2", marks=pytest.mark.long),
        ("max", MAX, "android_armv9.2_2"),
        pytest.param("max,sve=off", NO_SVE, "android_armv8.6_1", marks=pytest.mark.long),
    ],
)
async def test_loaded_equals_predicted(
    arm_engine: Path, tmp_path: Path, cpu: str, names: frozenset[str], variant: str
) -> None:
    engine = describe_local(emulated_engine(arm_engine, tmp_path / "llama-b11434", cpu))
    async with LocalTransport(str(tmp_path)) as local:
        check = await check_engine(local, engine, isa(names))
    assert (check.predicted, check.loaded) == (variant, variant), check.items
    assert check.ok
    assert check.build == "b11434"


@pytest.mark.long
async def test_an_emulated_phone_cpu_gives_the_known_answer(arm_engine: Path, smollm2: Path, tmp_path: Path) -> None:
    engine = describe_local(emulated_engine(arm_engine, tmp_path / "llama-b11434", "cortex-a76"))
    model = ModelFile(str(smollm2), smollm2.stat().st_size, smollm2.name)
    async with LocalTransport(str(tmp_path)) as local:
        check = await check_engine(local, engine, isa(A76), model=model)
    answer = next(item for item in check.items if item.name == "known answer")
    assert answer.result is Result.OK, answer


@pytest.mark.long
@pytest.mark.parametrize(
    ("cpu", "variant"),
    [("cortex-a53", "android_armv8.0_1"), ("cortex-a76", "android_armv8.2_2"), ("max", "android_armv9.2_2")],
)
async def test_an_engine_installed_on_a_phone_loads_what_the_phone_predicts(
    arm_engine: Path, phones: PhoneFactory, adb_server: AdbServer, cpu: str, variant: str
) -> None:
    """Over adb: probe, install, check; the prediction is from the phone's own text, the loaded one from its loader."""
    need_tool("qemu-aarch64-static")
    phone = await phones("cmf-phone-1", speed=20.0, engine=arm_engine, options=("--qemu-cpu", cpu))
    await connect(adb_server.address, phone.address)
    async with AdbTransport(phone.address, "127.0.0.1", adb_server.port, simulated=True) as adb:
        facts = read_facts(await probe(adb))
        installed = await install(adb, describe_local(arm_engine))
        check = await check_engine(adb, installed.engine, facts.isa)
        again = await install(adb, describe_local(arm_engine))
    assert (check.predicted, check.loaded) == (variant, variant), check.items
    assert check.simulated
    assert again.sent == ()
