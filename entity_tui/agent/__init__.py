"""The scripts that run on the device, as text: data files of plain sh, each with the shared words put in front."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

PARTS = {
    "probe": ("common", "probe"),
    "sampler": ("common", "sampler"),
    "runner": ("common", "runner_plan", "runner_gate", "runner_readback", "runner_launch", "runner"),
}


@cache
def script(name: str) -> str:
    """The whole text of `probe`, `sampler` or `runner`, ready to run with any POSIX sh."""
    folder = files(__name__)
    return "".join(folder.joinpath(f"{part}.sh").read_text("utf-8") for part in PARTS[name])
