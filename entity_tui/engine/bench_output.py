"""What llama-bench printed, whatever stood before or behind it; a number only from a whole and plausible result."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from entity_tui.engine.bench_scan import Piece, scan_objects

OK = "ok"
TRUNCATED = "output_truncated"
MALFORMED = "output_malformed"

PLAUSIBLE_TOK_S = 1_000_000.0
"""Above this no CPU or phone GPU has ever computed a token; such a figure is a broken clock."""

NS = 1e9


@dataclass(frozen=True, slots=True)
class BenchResult:
    """One test of llama-bench: a prompt (`n_prompt` > 0) or a generation (`n_gen` > 0), or both.

    `samples_ns` has one duration per repetition; empty for builds that print only their mean. None and empty text mean
    that the build does not print the field.
    """

    n_prompt: int
    n_gen: int
    n_depth: int
    n_threads: int | None
    avg_ns: float | None
    avg_ts: float | None
    samples_ns: tuple[float, ...]
    build_number: int | None = None
    build_commit: str = ""
    model_filename: str = ""
    model_type: str = ""
    model_size_bytes: int | None = None
    model_n_params: int | None = None
    backends: str = ""
    devices: str = ""
    cpu_mask: str = ""
    load_mode: str = ""
    test_time_utc: str = ""
    fields: Mapping[str, Any] | None = None
    """Every field as printed, for export."""

    @property
    def tokens(self) -> int:
        """Tokens of one repetition."""
        return self.n_prompt + self.n_gen

    @property
    def aggregate_only(self) -> bool:
        """True when the build printed a mean and no repetitions."""
        return not self.samples_ns

    @property
    def seconds(self) -> float | None:
        """Seconds of all repetitions together, None when no time was printed."""
        if self.samples_ns:
            return sum(self.samples_ns) / NS
        return None if self.avg_ns is None else self.avg_ns / NS

    @property
    def rate_tok_s(self) -> float | None:
        """Tokens over seconds, all repetitions together; None unless both are positive and the rate is plausible."""
        seconds = self.seconds
        repetitions = max(1, len(self.samples_ns))
        if seconds is None or seconds <= 0 or self.tokens <= 0:
            return self._stated_rate() if seconds is None and self.tokens > 0 else None
        return _plausible(self.tokens * repetitions / seconds)

    def _stated_rate(self) -> float | None:
        return None if self.avg_ts is None else _plausible(self.avg_ts)

    @property
    def rates_tok_s(self) -> tuple[float, ...]:
        """One rate per repetition, implausible ones left out; empty for a build that prints only means."""
        rates = (_plausible(self.tokens * NS / sample) for sample in self.samples_ns if sample > 0)
        return tuple(rate for rate in rates if rate is not None)


@dataclass(frozen=True, slots=True)
class BenchOutput:
    """A whole standard output. `results` may only become numbers when `state` is `ok`."""

    state: str
    results: tuple[BenchResult, ...] = ()
    detail: str = ""
    noise: tuple[str, ...] = ()
    """Lines that belong to no result, such as a banner or a linker warning."""


def _plausible(rate: float) -> float | None:
    return rate if math.isfinite(rate) and 0 < rate <= PLAUSIBLE_TOK_S else None


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _integer(value: Any) -> int | None:
    found = _number(value)
    return int(found) if found is not None and found == int(found) else None


def _samples(item: Mapping[str, Any]) -> tuple[float, ...] | None:
    """Durations per repetition; rates are turned into durations where only they are printed. None: not numbers."""
    given = item.get("samples_ns")
    if isinstance(given, list):
        found = [_number(value) for value in given]
        return None if any(value is None for value in found) else tuple(value for value in found if value is not None)
    rates = item.get("samples_ts")
    if not isinstance(rates, list):
        return ()
    tokens = (_integer(item.get("n_prompt")) or 0) + (_integer(item.get("n_gen")) or 0)
    durations = [tokens * NS / rate for value in rates if (rate := _number(value)) is not None and rate > 0]
    return tuple(durations) if len(durations) == len(rates) else None


def result_of(item: Mapping[str, Any]) -> BenchResult | None:
    """The result in one object of llama-bench's, or None when it holds no test or no usable time."""
    n_prompt, n_gen = _integer(item.get("n_prompt")), _integer(item.get("n_gen"))
    samples = _samples(item)
    if n_prompt is None or n_gen is None or samples is None or n_prompt < 0 or n_gen < 0:
        return None
    result = BenchResult(
        n_prompt=n_prompt,
        n_gen=n_gen,
        n_depth=_integer(item.get("n_depth")) or 0,
        n_threads=_integer(item.get("n_threads")),
        avg_ns=_number(item.get("avg_ns")),
        avg_ts=_number(item.get("avg_ts")),
        samples_ns=samples,
        build_number=_integer(item.get("build_number")),
        build_commit=str(item.get("build_commit", "")),
        model_filename=str(item.get("model_filename", "")),
        model_type=str(item.get("model_type", "")),
        model_size_bytes=_integer(item.get("model_size")),
        model_n_params=_integer(item.get("model_n_params")),
        backends=str(item.get("backends", "")),
        devices=str(item.get("devices", "")),
        cpu_mask=str(item.get("cpu_mask", "")),
        load_mode=str(item.get("load_mode", "")),
        test_time_utc=str(item.get("test_time", "")),
        fields=dict(item),
    )
    return result if result.rate_tok_s is not None else None


def _csv_pieces(text: str) -> Iterator[Piece]:
    """The rows of a CSV output; one with too few cells, or whose last line has no end, is cut."""
    lines = text.splitlines(keepends=True)
    heads = (n for n, line in enumerate(lines) if line.lstrip("\ufeff").startswith(("build_commit,", '"build_commit"')))
    start = next(heads, None)
    if start is None:
        return
    header = next(csv.reader([lines[start]]))
    for line in lines[start + 1 :]:
        if not line.startswith('"'):
            continue
        try:
            cells = next(csv.reader(io.StringIO(line), strict=True))
        except (csv.Error, StopIteration):
            cells = []
        whole = len(cells) == len(header) and line.endswith("\n")
        yield Piece(dict(zip(header, cells, strict=True)) if whole else None, cut=not whole)


def parse_bench(text: str) -> BenchOutput:
    """Read llama-bench's jsonl, json or csv. Banners before, warnings behind and unknown fields are tolerated.

    `state` is `output_truncated` when a result was begun and not ended, `output_malformed` when there is no result at
    all or one whose numbers are none; then nothing in `results` may be used. Never raises.
    """
    pieces, noise = scan_objects(text)
    looks_csv = not pieces
    found = list(_csv_pieces(text)) if looks_csv else pieces
    results: list[BenchResult] = []
    broken = cut = 0
    for piece in found:
        result = None if piece.value is None else result_of(piece.value)
        if result is not None:
            results.append(result)
        elif piece.cut:
            cut += 1
        else:
            broken += 1
    kept = tuple(results)
    if cut or (not looks_csv and _open_array(text)):
        return BenchOutput(TRUNCATED, kept, f"{len(kept)} whole results, then the output is cut", tuple(noise))
    if broken:
        return BenchOutput(MALFORMED, kept, f"{broken} of {len(found)} results hold no usable number", tuple(noise))
    if not kept:
        return BenchOutput(MALFORMED, (), "no result in the output" if text.strip() else "no output", tuple(noise))
    return BenchOutput(OK, kept, "", tuple(noise))


def _open_array(text: str) -> bool:
    """True for the json form without its closing bracket, which only a normal end writes."""
    lines = [line.strip() for line in text.splitlines()]
    return "[" in lines and "]" not in lines
