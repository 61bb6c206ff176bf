"""Numbers out of programs that are not llama-bench: a pattern in any text, and llama-perplexity's series."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from entity_tui.errors import UsageError

_CHUNK = re.compile(r"\[(\d+)\](-?\d+\.\d+|nan|inf)", re.IGNORECASE)
_FINAL = re.compile(r"Final estimate: PPL = (\d+\.\d+)")
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


@dataclass(frozen=True, slots=True)
class Measure:
    """One number of a launch with its metric, unit, direction, and what it is a rate of."""

    metric: str
    value: float
    unit: str
    better: str = ""
    n_tokens: int | None = None
    seconds: float | None = None


def compile_pattern(text: str) -> re.Pattern[str]:
    """The pattern of a foreign engine's number. UsageError when it is none or has not exactly one group."""
    try:
        pattern = re.compile(text)
    except re.error as error:
        raise UsageError(f"--pattern {text!r} is not a regular expression", detail=str(error)) from error
    if pattern.groups != 1:
        raise UsageError(f"--pattern {text!r} has {pattern.groups} groups", fix="put the number, and only it, in ( )")
    return pattern


def read_pattern(text: str, options: Mapping[str, str]) -> Measure | str:
    """The last number the pattern finds, or why there is none. Never raises for text, whatever it holds."""
    pattern = compile_pattern(options.get("pattern", ""))
    found = pattern.findall(text)
    if not found:
        return "the pattern finds no number in the output"
    try:
        value = float(found[-1])
    except ValueError:
        return f"{found[-1]!r} is not a number"
    if not math.isfinite(value) or value <= 0:
        return f"{found[-1]} cannot be a result"
    return Measure(options.get("metric", "command_value"), value, options.get("unit", ""), options.get("better", ""))


@dataclass(frozen=True, slots=True)
class Perplexity:
    """llama-perplexity's running values by chunk, 4 decimals as printed, and its final one."""

    chunks: tuple[str, ...]
    final: float | None


def read_perplexity(stdout: str, stderr: str) -> Perplexity:
    """The series of one run. A text that is too short ends with status 0 and no chunk: then the series is empty."""
    found = {int(number): value for number, value in _CHUNK.findall(stdout)}
    series = tuple(found[number] for number in sorted(found))
    final = _FINAL.search(stderr) or _FINAL.search(stdout)
    return Perplexity(series, float(final[1]) if final else None)
