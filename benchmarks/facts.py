"""How long facts take against reading the same files (`python -m benchmarks.facts`).

The files are those of the largest snapshots at hand, written to a folder and read back one by one, as the only way to
get them without a probe. Exit 1 when reading facts out of the snapshot takes more than ten times as long.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from entity_tui.device.facts import read_facts
from entity_tui.device.snapshot import Outcome, Reading, Snapshot

LIMIT = 10.0
COMPANION = Path(__file__).resolve().parents[1].parent / "shared" / "devices"
CPU = "/sys/devices/system/cpu"


def made_up(cores: int = 8) -> dict[str, str]:
    """Files of an invented 4+4 phone with a thermal dump, where the companion data is absent."""
    files = {f"{CPU}/{name}": f"0-{cores - 1}\n" for name in ("present", "online", "possible")}
    files[f"{CPU}/offline"] = "\n"
    features = "Features\t: fp asimd asimddp fphp asimdhp"
    block = "processor\t: {}\nBogoMIPS\t: 26.00\n" + features + "\nCPU implementer\t: 0x41\nCPU part\t: {}\n"
    files["/proc/cpuinfo"] = "\n".join(block.format(cpu, "0xd05" if cpu < 4 else "0xd41") for cpu in range(cores))
    files["/proc/meminfo"] = "MemTotal: 7800000 kB\nMemFree: 200000 kB\nMemAvailable: 3900000 kB\n"
    for cpu in range(cores):
        top = 2_000_000 if cpu < 4 else 2_500_000
        group = "0 1 2 3" if cpu < 4 else "4 5 6 7"
        for leaf, text in (
            ("cpufreq/cpuinfo_max_freq", str(top)),
            ("cpufreq/scaling_max_freq", str(top)),
            ("cpufreq/scaling_cur_freq", "900000"),
            ("cpufreq/related_cpus", group),
            ("cpu_capacity", "314" if cpu < 4 else "1024"),
            ("topology/core_siblings_list", "0-3" if cpu < 4 else "4-7"),
            ("topology/thread_siblings", f"{1 << cpu:02x}"),
            ("topology/physical_package_id", "0"),
        ):
            files[f"{CPU}/cpu{cpu}/{leaf}"] = text + "\n"
    for zone in range(40):
        files[f"/sys/class/thermal/thermal_zone{zone}/type"] = f"cpu-0-{zone}\n"
        files[f"/sys/class/thermal/thermal_zone{zone}/temp"] = f"{30000 + zone * 100}\n"
    return files


def machines(names: Sequence[str]) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """(files, props) by name: the named machines of the companion data, and the invented phone."""
    found: dict[str, tuple[dict[str, str], dict[str, str]]] = {"invented 4+4": (made_up(), {})}
    for name in names:
        path = COMPANION / f"{name}.json"
        if path.is_file():
            data = json.loads(path.read_text(encoding="utf-8"))
            found[name] = (data["files"], data.get("props") or {})
    return found


def medians_ms(works: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Median processor milliseconds of each work, taken in turns after one round that is thrown away.

    Processor time, since on a busy machine the longer work is interrupted more often and the ratio says nothing.
    """
    times: list[list[float]] = [[] for _ in works]
    for turn in range(rounds + 1):
        for work, own in zip(works, times, strict=True):
            start = time.process_time()
            work()
            if turn:
                own.append((time.process_time() - start) * 1000)
    return [statistics.median(own) for own in times]


def written(files: dict[str, str], folder: Path) -> list[Path]:
    """The files under a folder, at their own paths."""
    paths = []
    for path, text in files.items():
        target = folder / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
        paths.append(target)
    return paths


def read_all(paths: Sequence[Path]) -> list[bytes]:
    """Every file's bytes, one open at a time."""
    return [path.read_bytes() for path in paths]


def main(argv: Sequence[str] | None = None) -> int:
    """Print reading, facts and their ratio for every machine; 1 when a ratio is above the limit."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=30)
    options.add_argument("names", nargs="*", default=["pixel-8", "meizu-pro-6s", "galaxy-s7-global", "hwloc-gb10"])
    chosen = options.parse_args(argv)
    worst = 0.0
    print("machine              files   reading     facts   ratio")
    for name, (files, props) in machines(chosen.names).items():
        with tempfile.TemporaryDirectory() as folder:
            paths = written(files, Path(folder))
            readings = {path: Reading(path, Outcome.OK, text) for path, text in files.items()}
            snapshot = Snapshot(files=readings, props=props)
            works = (partial(read_all, paths), partial(read_facts, snapshot))
            reading_ms, facts_ms = medians_ms(works, chosen.rounds)
        ratio = facts_ms / reading_ms
        worst = max(worst, ratio)
        print(f"{name:20s}{len(files):6d}{reading_ms:8.2f} ms{facts_ms:8.2f} ms{ratio:8.2f}")
    print(f"limit {LIMIT:.0f}, worst {worst:.2f}: {'ok' if worst <= LIMIT else 'too slow'}")
    return 0 if worst <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
