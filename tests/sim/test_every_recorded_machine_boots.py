"""Any recorded machine becomes a phone that shows its own texts."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from entity_tui.device.snapshot import Outcome, Reading, Snapshot, dumps
from entity_tui.errors import UsageError
from entity_tui.sim.profile import demo_profile_names, load_image
from tests.fixtures.tools import SHARED, need_shared, until
from tests.sim.inside_phone import running, sh

MOVING = ("scaling_cur_freq", "scaling_max_freq", "/online", "/offline", "affected_cpus")
"""What a running phone changes; the texts of a machine stand still otherwise."""
FEW = ("pixel-8", "galaxy-c9-pro", "hwloc-gb10")
EVERY = sorted(path.stem for path in SHARED.glob("devices/*.json") if path.stem != "devicetree_facts")


async def check(path: Path) -> None:
    """Boot the machine and compare every text below /proc and /sys."""
    record = json.loads(path.read_text("utf-8"))
    wanted = {
        name: hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()
        for name, text in record["files"].items()
        if name.startswith(("/proc/cpuinfo", "/sys/")) and not name.endswith(MOVING)
    }
    async with running(str(path)) as phone:
        names = sorted(wanted)
        for start in range(0, len(names), 200):
            quoted = " ".join(f"'{name}'" for name in names[start : start + 200])
            _, out = await sh(phone, f"sha256sum {quoted}")
            found = {line.split(None, 1)[1]: line.split()[0] for line in out.splitlines()}
            assert found == {name: wanted[name] for name in names[start : start + 200]}
        online = record["files"].get("/sys/devices/system/cpu/online")
        if online is not None:
            assert (await sh(phone, "cat /sys/devices/system/cpu/online"))[1].strip() == online.strip()
        for key, value in list((record.get("props") or {}).items())[:3]:
            assert (await sh(phone, f"getprop {key}"))[1] == value + "\n"


@pytest.mark.parametrize("slug", FEW)
async def test_an_odd_machine_boots_with_its_own_texts(slug: str) -> None:
    await check(need_shared("devices", f"{slug}.json"))


@pytest.mark.long
@pytest.mark.parametrize("slug", EVERY)
async def test_every_machine_boots_with_its_own_texts(slug: str) -> None:
    await check(need_shared("devices", f"{slug}.json"))


@pytest.mark.parametrize("profile", demo_profile_names())
async def test_every_demo_profile_boots_and_says_that_it_is_simulated(profile: str) -> None:
    async with running(profile) as phone:
        _, out = await sh(phone, "getprop ro.entity.simulated; cat /data/local/tmp/.entity-simulated; nproc")
    assert out.splitlines()[:2] == ["1", "simulated=1"]
    assert out.splitlines()[-1] == str(len(phone.image.silicon.cpus))


def test_an_unknown_profile_lists_the_known_ones() -> None:
    with pytest.raises(UsageError) as error:
        load_image("no-such-phone")
    assert "cmf-phone-1" in error.value.fix


def test_a_file_that_is_no_phone_is_refused_in_words(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"files": 3}')
    with pytest.raises(UsageError, match="not a phone"):
        load_image(str(tmp_path / "x.json"))


async def test_a_saved_snapshot_boots_with_its_outcomes_and_its_recorded_services(tmp_path: Path) -> None:
    path = "/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq"
    files = {
        "/proc/cpuinfo": Reading(
            "/proc/cpuinfo", Outcome.OK, "processor\t: 0\nFeatures\t: asimddp\nCPU part\t: 0xd05\n"
        ),
        path: Reading(path, Outcome.OK, "1800000\n"),
        "/sys/class/thermal/thermal_zone3/temp": Reading("", Outcome.DENIED, detail="Permission denied"),
        "/sys/class/thermal/thermal_zone4/temp": Reading("", Outcome.ABSENT),
    }
    commands = {"dumpsys power": Reading("dumpsys power", Outcome.OK, "mWakefulness=Awake\\n literal\n")}
    props = {"ro.product.model": "Odd \\t [name]: $(id) \x1b[31m"}
    (tmp_path / "s.json").write_text(dumps(Snapshot(files=files, commands=commands, props=props)))
    async with running(str(tmp_path / "s.json")) as phone:
        _, out = await sh(
            phone, f"cat {path} /sys/class/thermal/thermal_zone3/temp /sys/class/thermal/thermal_zone4/temp"
        )
        _, power = await sh(phone, "dumpsys power")
        _, model = await sh(phone, "getprop ro.product.model")
    lines = out.splitlines()
    assert lines[0] == "1800000"
    assert "Permission denied" in lines[1]
    assert "No such file" in lines[2]
    assert power == "mWakefulness=Awake\\n literal\n"
    assert model == props["ro.product.model"] + "\n"


async def test_the_phones_own_reboot_command_restarts_it() -> None:
    async with running() as phone:
        before = phone.live.boot_id
        code, _ = await sh(phone, "reboot")
        assert code == 137
        await until(lambda: phone.live.boot_id != before)
        await until(lambda: phone.adbd.address.rpartition(":")[2] != "0" and phone.clock.uptime_s() < 60)
        code, _ = await sh(phone, "true")
        assert code == 0
