"""The 158 machines as snapshots, and the places where a published decoder and we differ, each with its reason."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from entity_tui.device.snapshot import Outcome, Reading, Snapshot
from tests.fixtures.tools import SHARED

FOLDER = SHARED / "devices"
CPU = "/sys/devices/system/cpu"


@dataclass(frozen=True)
class Machine:
    """One machine read by one width of process."""

    slug: str
    width: str
    data: dict[str, Any]
    snapshot: Snapshot

    @property
    def expected(self) -> dict[str, Any] | None:
        """What the published decoder's tests assert for this width, None when they assert nothing."""
        found: dict[str, Any] | None = (self.data.get("expected") or {}).get(self.width)
        return found

    @property
    def cpuinfo(self) -> str:
        """The file as read, empty when it was not."""
        return self.snapshot.file("/proc/cpuinfo").text


def snapshot_of(files: dict[str, str], props: dict[str, str] | None = None) -> Snapshot:
    """A snapshot in which every given file was readable."""
    return Snapshot(files={path: Reading(path, Outcome.OK, text) for path, text in files.items()}, props=props or {})


@cache
def slugs() -> tuple[str, ...]:
    """Every machine's name; empty where the companion data is absent."""
    paths = sorted(FOLDER.glob("*.json")) if FOLDER.is_dir() else []
    return tuple(path.stem for path in paths if path.stem != "devicetree_facts")


@cache
def load(slug: str) -> dict[str, Any]:
    """The machine's file as it is."""
    data: dict[str, Any] = json.loads((FOLDER / f"{slug}.json").read_text(encoding="utf-8"))
    return data


def machines(slug: str) -> list[Machine]:
    """The machine once per width of process it was read with; one without files gives one with an empty snapshot."""
    data = load(slug)
    files = dict(data.get("files") or data.get("partial_files") or {})
    widths = list(data.get("userspace") or ["arm64"])
    found = [Machine(slug, widths[0], data, snapshot_of(files, data.get("props")))]
    for width in widths[1:]:
        differing = data.get("files_arm32" if width == "arm" else f"files_{width}") or {}
        found.append(Machine(slug, width, data, snapshot_of({**files, **differing}, data.get("props"))))
    return found


def figures_as_files(facts: dict[str, Any]) -> dict[str, str]:
    """A report's figures written as the files they were read from, to try the same reader on them."""
    files: dict[str, str] = {}
    rows = facts.get("topology_table") or []
    for row in rows:
        members = [other["cpu"] for other in rows if other["policy"] == row["policy"]]
        files[f"{CPU}/cpu{row['cpu']}/cpufreq/related_cpus"] = " ".join(map(str, members)) + "\n"
        if row["max_mhz"] is not None:
            files[f"{CPU}/cpu{row['cpu']}/cpufreq/cpuinfo_max_freq"] = f"{row['max_mhz']}000\n"
    for cpu, capacity in (facts.get("cpu_capacity") or {}).items():
        files[f"{CPU}/cpu{cpu}/cpu_capacity"] = f"{capacity}\n"
    for cpu, clocks in (facts.get("frequencies_khz_by_cpu") or {}).items():
        files[f"{CPU}/cpu{cpu}/cpufreq/scaling_available_frequencies"] = " ".join(map(str, clocks)) + " \n"
    if files:
        count = facts.get("cpu_count") or len(rows)
        files[f"{CPU}/present"] = files[f"{CPU}/online"] = f"0-{count - 1}\n"
    return files


ORDER_EXCEPTIONS: dict[str, str] = {
    "galaxy-a8-2016-duos": "cpuinfo_max_freq reads 1459200 for CPUs 0-3 and 1113600 for 4-7: 0-3 are the fast ones",
    "moto-g-gen4": "cpuinfo_max_freq reads 1516800 for CPUs 0-3 and 1209600 for 4-7: 0-3 are the fast ones",
    "galaxy-j7-prime": "both clusters top at 1586000 with one design: they are equal, the lower numbers stand first",
    "xiaomi-redmi-note-4": "one policy of 2016000 governs both clusters: they are equal, the lower numbers stand first",
    "oppo-r9": "no file tells a speed for CPUs 4-7: they stay unknown, behind what is known",
}
"""Machines whose clusters are the decoder's in members, counts and names, but stand in another order here."""

DECODER_NAMES = {
    "cortex_a55r0": "Cortex-A55",
    "krait": "Krait",
    "scorpion": "Scorpion",
    "exynos_m1": "Exynos-M1",
    "exynos_m2": "Exynos-M2",
}


def decoder_name(uarch: str) -> str:
    """The decoder's name of a design in the table's spelling."""
    return DECODER_NAMES.get(uarch) or "Cortex-" + uarch.removeprefix("cortex_").upper()


def data_folder_present() -> bool:
    """True where the companion data is there."""
    return Path(FOLDER).is_dir()
