"""Snapshot files: every collection of dumps can be read, and what is saved names nobody."""

from __future__ import annotations

import contextlib
import json
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from entity_tui.device.redaction import REDACTED, redact
from entity_tui.device.snapshot import Outcome, Reading, Snapshot, dumps
from entity_tui.device.snapshot_json import loads
from entity_tui.errors import UsageError
from tests.fixtures.tools import need_shared

outcomes = st.sampled_from(list(Outcome))
readings = st.dictionaries(
    st.text(min_size=1, max_size=20),
    st.builds(Reading, st.just(""), outcomes, st.text(max_size=20), st.text(max_size=9), st.none() | st.just(3.0)),
    max_size=4,
).map(
    lambda table: MappingProxyType(
        {key: Reading(key, item.outcome, item.text, item.detail, item.duration_ms) for key, item in table.items()}
    )
)


@given(readings, readings, st.dictionaries(st.text(max_size=9), st.text(max_size=9), max_size=3), st.booleans())
def test_a_snapshot_survives_its_file(
    files: MappingProxyType[str, Reading],
    commands: MappingProxyType[str, Reading],
    props: dict[str, str],
    simulated: bool,
) -> None:
    snapshot = Snapshot(files, commands, props, "2026-11-30T10:00:00+00:00", "adb:x", simulated, "adb", False, "here")
    again = loads(dumps(snapshot))
    assert (dict(again.files), dict(again.commands), dict(again.props)) == (dict(files), dict(commands), props)
    assert (again.simulated, again.transport, again.origin) == (simulated, "adb", "here")


def test_every_published_dump_loads_with_its_texts() -> None:
    seen = 0
    for path in sorted(need_shared("devices").glob("*.json")):
        data = json.loads(path.read_text())
        if "files" not in data:
            continue
        snapshot = loads(path.read_text())
        assert {key: reading.text for key, reading in snapshot.files.items() if reading.ok} == data["files"]
        assert dict(snapshot.props) == data.get("props", {})
        cut = set(data.get("partial_files", {})) - set(data["files"])
        assert {key for key, reading in snapshot.files.items() if reading.outcome is Outcome.SUSPECT} == cut
        seen += 1
    assert seen > 100


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "nonsense",
        '{"files": 3}',
        '{"entity_snapshot": 99}',
        '{"entity_snapshot": 1, "files": {"/a": {}}}',
    ],
)
def test_what_is_no_snapshot_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError) as refused:
        loads(text)
    assert refused.value.title


@given(st.text(max_size=200))
def test_no_text_raises_anything_else(text: str) -> None:
    with contextlib.suppress(UsageError):
        loads(text)


SECRETS = {
    "ro.serialno": "R58M1234ABC",
    "ro.boot.serialno": "R58M1234ABC",
    "persist.radio.imei": "356938035643809",
    "wifi.interface.macaddr": "02:00:5e:10:00:01",
    "net.hostname": "annas-phone",
    "dhcp.wlan0.ipaddress": "192.168.7.23",
    "persist.sys.timezone": "Europe/Paris",
    "gsm.operator.alpha": "Orange F",
}
TEXTS = {
    "/proc/cpuinfo": ("processor: 0\nSerial\t\t: 00000000deadbeef\nHardware: X\n", "deadbeef"),
    "/sys/class/power_supply/battery/uevent": ("POWER_SUPPLY_SERIAL_NUMBER=AB12\nPOWER_SUPPLY_TEMP=309\n", "AB12"),
    "/proc/version": ("Linux version 5.10 (anna@box.example.org) #1", "anna@box"),
    "/sys/class/net/wlan0/address": ("aa:bb:cc:dd:ee:ff", "aa:bb"),
    "/note": (
        'SSID: "Anna at home" BSSID: aa:bb:cc:11:22:33 ip 10.0.0.7 imei 356938035643809 fe80::1c2:3ff /home/anna/x',
        "nna",
    ),
}


def test_saved_snapshots_hold_no_serial_address_or_account() -> None:
    commands = {
        "id": ("uid=1000(anna) gid=1000(anna) groups=1000(anna),3003(inet)", "anna"),
        "uname -a": ("Linux annas-laptop 6.1 #1 SMP", "annas-laptop"),
        "df -k /home/anna": ("/dev/x 1 2 3 4% /home/anna", "anna"),
        "dumpsys battery": ("  level: 80\n  Serial number: R58M1234ABC", "R58M1234ABC"),
    }
    snapshot = Snapshot(
        files={path: Reading(path, Outcome.OK, text) for path, (text, _) in TEXTS.items()},
        commands={line: Reading(line, Outcome.OK, text) for line, (text, _) in commands.items()},
        props={**SECRETS, "ro.product.model": "Pixel 8", "ro.build.fingerprint": "google/R58M1234ABC/x"},
        device_spec="adb:R58M1234ABC",
    )
    text = dumps(redact(snapshot))
    for secret in (*SECRETS.values(), *(secret for _, secret in (*TEXTS.values(), *commands.values()))):
        assert secret not in text, secret
    assert "Pixel 8" in text
    assert "POWER_SUPPLY_TEMP=309" in text
    assert redact(snapshot).redacted
    assert redact(snapshot).device_spec == f"adb:{REDACTED}"


def test_redacting_leaves_everything_measured_alone() -> None:
    for path in sorted(need_shared("devices").glob("*.json"))[::7]:
        if "files" not in json.loads(path.read_text()):
            continue
        snapshot = loads(path.read_text())
        again = redact(snapshot)
        for source, reading in snapshot.files.items():
            if source.startswith("/sys/devices/system/cpu"):
                assert again.files[source] == reading, (path.name, source)


def test_properties_that_name_nobody_stay() -> None:
    kept = {
        "init.svc.audioserver": "running",
        "init.svc.adbd": "running",
        "ro.product.model": "Pixel 8",
        "ro.product.cpu.abilist": "arm64-v8a",
        "dalvik.vm.isa.arm64.variant": "cortex-a55",
        "ro.build.version.sdk": "34",
        "ro.soc.model": "Tensor G3",
        "ro.board.platform": "zuma",
    }
    assert redact(Snapshot(props=kept)).props == kept


def test_redacting_twice_changes_nothing_more() -> None:
    snapshot = Snapshot(files={p: Reading(p, Outcome.OK, t) for p, (t, _) in TEXTS.items()}, props=SECRETS)
    assert redact(redact(snapshot)) == redact(snapshot)
