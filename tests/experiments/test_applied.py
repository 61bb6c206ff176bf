"""A placement is applied by a user, to one device, and remembered with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from entity_tui.applied import applied_placement, apply_placement
from entity_tui.config import KnownDevice, known_devices, remember
from entity_tui.errors import UsageError


def test_nothing_is_applied_until_somebody_does(tmp_path: Path) -> None:
    assert applied_placement("adb:0015725", tmp_path) == ""
    apply_placement("adb:0015725", "perf_cores", tmp_path)
    assert applied_placement("adb:0015725", tmp_path) == "perf_cores"
    assert applied_placement("adb:other", tmp_path) == ""


def test_a_named_device_keeps_its_name_and_its_other_settings(tmp_path: Path) -> None:
    remember(KnownDevice("desk", "ssh:user@host:8022", {"last_seen": "2026-01-01"}), tmp_path)
    apply_placement("ssh:user@host:8022", "scheduler", tmp_path)
    (device,) = known_devices(tmp_path)
    assert (device.name, device.spec) == ("desk", "ssh:user@host:8022")
    assert dict(device.settings) == {"last_seen": "2026-01-01", "placement": "scheduler"}
    assert applied_placement("desk", tmp_path) == "scheduler"


def test_a_word_that_is_no_placement_is_refused_and_an_unknown_one_reads_as_none(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no placement"):
        apply_placement("local", "turbo", tmp_path)
    remember(KnownDevice("old", "local", {"placement": "turbo"}), tmp_path)
    assert applied_placement("local", tmp_path) == ""
