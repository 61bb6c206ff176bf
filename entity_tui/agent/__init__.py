"""The scripts that run on the device, as text: data files of plain sh, each with the shared words put in front."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

SCRIPTS = ("probe", "sampler", "runner")


@cache
def script(name: str) -> str:
    """The whole text of `probe`, `sampler` or `runner`, ready to run with any POSIX sh."""
    folder = files(__name__)
    return folder.joinpath("common.sh").read_text("utf-8") + folder.joinpath(f"{name}.sh").read_text("utf-8")
