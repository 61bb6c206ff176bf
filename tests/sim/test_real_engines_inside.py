"""Real llama.cpp builds inside the simulated phone: native with the phone's loader line, arm64 with its own."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from entity_tui.errors import UsageError
from entity_tui.sim.bench import VARIANT_NEEDS, loaded_variant
from entity_tui.sim.phone import Phone
from entity_tui.sim.profile import load_image
from entity_tui.sim.real_engine import QEMU_FEATURES, cpu_model_for, with_cpu
from tests.fixtures.tools import need_shared, need_tool
from tests.sim.inside_phone import running, sh

ANDROID = [tag for tag in VARIANT_NEEDS if tag.startswith("android")]
X86 = "llama-b11434-bin-linux-x64.tar.xz"
ARM64 = "llama-b11434-bin-aarch64-android-variants.tar.xz"
BENCH = "/data/local/tmp/llama.cpp/llama-bench -m /data/local/tmp/m.gguf -p 8 -n 2 -r 1 -t 1 --no-warmup -o jsonl"


async def loads(phone: Phone, model: Path) -> tuple[str, list[dict[str, object]]]:
    """The loader line and the rows of a small run with a real model."""
    target = phone.folder / "root/sdcard/m.gguf"
    target.write_bytes(model.read_bytes())
    _, out = await sh(phone, f"cp /sdcard/m.gguf /data/local/tmp/; taskset 80 {BENCH}")
    lines = out.splitlines()
    return next(line for line in lines if "load_backend" in line), [json.loads(x) for x in lines if x.startswith("{")]


@pytest.mark.long
async def test_a_native_engine_prints_the_phones_loader_line_and_logs_its_own(smollm2: Path) -> None:
    async with running(engine=need_shared("engines", X86)) as phone:
        line, rows = await loads(phone, smollm2)
        _, log = await sh(phone, "cat /data/local/tmp/.entity-engine.log")
    assert line.endswith("/data/local/tmp/llama.cpp/libggml-cpu-android_armv8.2_2.so")
    assert ".real/libggml-cpu-" in log
    assert [row["n_gen"] for row in rows] == [0, 2]


@pytest.mark.long
@pytest.mark.parametrize("cpu", ["cortex-a53", "cortex-a76", "max"])
async def test_an_arm64_engine_loads_what_the_phones_features_predict(cpu: str, smollm2: Path) -> None:
    need_tool("qemu-aarch64-static")
    async with running(engine=need_shared("engines", ARM64), qemu_cpu=cpu) as phone:
        line, rows = await loads(phone, smollm2)
        _, features = await sh(phone, "grep -m1 Features /proc/cpuinfo")
    predicted = loaded_variant(ANDROID, frozenset(features.split()))
    assert line.endswith(f"/data/local/tmp/llama.cpp/libggml-cpu-{predicted}.so")
    assert len(rows) == 2


async def test_an_arm64_program_that_was_pushed_runs_as_it_is_where_the_kernel_allows(arm_engine: Path) -> None:
    need_tool("qemu-aarch64-static")
    async with running() as phone:
        if not phone.enclosure.runs_foreign_programs:
            pytest.skip("this kernel has no binfmt_misc of a user namespace's own")
        shutil.copytree(arm_engine, phone.folder / "root/sdcard/e", symlinks=True)
        code, out = await sh(
            phone, "cp -R /sdcard/e /data/local/tmp/ && taskset f0 /data/local/tmp/e/llama-bench --list-devices"
        )
    assert code == 0
    assert "/data/local/tmp/e/libggml-cpu-android_armv8.2_2.so" in out
    assert "Available devices:" in out


def test_every_cpu_model_loads_what_the_oracle_saw_it_load() -> None:
    path = need_shared("recordings", "llama_cpp", "variant_oracle", "oracle_profiles.csv")
    rows = {row["cpu"]: row for row in csv.DictReader(path.read_text().splitlines()) if row["variant_set"] == "android"}
    known = [name for name in QEMU_FEATURES if name in rows]
    assert len(known) >= 6
    for name in known:
        assert loaded_variant(ANDROID, frozenset(QEMU_FEATURES[name].split())) == rows[name]["loaded"], name


@pytest.mark.parametrize(
    ("profile", "cpu"), [("cmf-phone-1", "cortex-a76"), ("octa-a53", "cortex-a53"), ("flagship-1-3-4", "max,sme=off")]
)
def test_each_demo_profile_has_a_cpu_model_that_loads_the_same(profile: str, cpu: str) -> None:
    assert cpu_model_for(load_image(profile)) == cpu


def test_an_unknown_cpu_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError) as error:
        with_cpu(load_image("cmf-phone-1"), "pentium")
    assert "cortex-a76" in error.value.fix


async def test_a_folder_without_an_engine_is_refused(tmp_path: Path) -> None:
    (tmp_path / "readme").write_text("nothing")
    with pytest.raises(UsageError, match="no llama program"):
        async with running(engine=tmp_path):
            pass
