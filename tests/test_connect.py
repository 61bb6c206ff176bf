"""Device names on the command line, taken apart."""

from __future__ import annotations

import pytest

from entity_tui import config
from entity_tui.connect import connect_device, parse_spec
from entity_tui.errors import UsageError


@pytest.mark.parametrize(
    ("text", "kind", "rest"),
    [
        ("local", "local", ""),
        ("demo", "demo", "cmf-phone-1"),
        ("demo:pixel-8", "demo", "pixel-8"),
        ("adb:0015725", "adb", "0015725"),
        ("adb:192.0.2.14:37211", "adb", "192.0.2.14:37211"),
        ("ssh:u0_a214@192.0.2.20:8022", "ssh", "u0_a214@192.0.2.20:8022"),
    ],
)
def test_every_spelling_is_understood(text: str, kind: str, rest: str) -> None:
    spec = parse_spec(text)
    assert (spec.kind, spec.rest) == (kind, rest)
    assert parse_spec(spec.text) == spec


@pytest.mark.parametrize("text", ["", "adb", "adb:", "ssh:", "local:x", "phone", "usb:1"])
def test_anything_else_is_refused_with_the_spellings(text: str) -> None:
    with pytest.raises(UsageError) as failure:
        parse_spec(text)
    assert "ssh:[user@]host[:port]" in failure.value.fix


def test_a_remembered_name_leads_to_its_device() -> None:
    config.remember(config.KnownDevice("termux", "ssh:me@192.0.2.20:8022"))
    spec = parse_spec("termux")
    assert (spec.kind, spec.rest, spec.name) == ("ssh", "me@192.0.2.20:8022", "termux")


async def test_real_time_cannot_be_compressed() -> None:
    with pytest.raises(UsageError, match="demo phone"):
        async with connect_device("local", speed=20):
            raise AssertionError("connected")
