"""Models as text on a terminal: the list, and everything about one file."""

from __future__ import annotations

from collections.abc import Sequence

import click

from entity_tui.commands.columns import aligned
from entity_tui.models.card import KleidiState, card, kleidi_state
from entity_tui.models.catalog import usability_words
from entity_tui.models.census import Census
from entity_tui.models.fit import FitLevel, MemoryReading, size_words
from entity_tui.models.view import ModelRow, Place
from entity_tui.printable import printable

SIGNS = {
    FitLevel.GOOD: "● GOOD",
    FitLevel.FITS: "○ FITS",
    FitLevel.TIGHT: "▲ TIGHT",
    FitLevel.NO: "✖ NO",
    FitLevel.UNKNOWN: "? memory unread",
}


def rate(value: float | None, *, predicted: bool = False) -> str:
    """A speed with three significant digits, `~` before a predicted one, `—` for none."""
    if value is None:
        return "—"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{'~' if predicted else ''}{value:.{digits}f}"


def seconds(ttft_ms: float | None) -> str:
    """A predicted TTFT: ms below 10 s, else seconds."""
    if ttft_ms is None:
        return "—"
    return f"~{ttft_ms:.0f} ms" if ttft_ms < 10_000 else f"~{ttft_ms / 1000:.1f} s"


def percent(row: ModelRow) -> str:
    """Coverage by bytes read per token where a CPU is known; else ENTITY's by parameters, marked `e`.

    Without a header only the label speaks: expected or no.
    """
    if row.coverage is not None and row.coverage.percent is not None:
        return f"{row.coverage.percent} %"
    if row.entity_coverage is not None and row.entity_coverage.percent is not None:
        return f"{row.entity_coverage.percent} % e"
    if row.census is None and row.quant:
        return "expected" if kleidi_state(None, row.quant) is KleidiState.EXPECTED else "no"
    return "—"


def run_count(runs: int) -> str:
    """`3 runs`, `1 run †`: a single one has no spread."""
    return f"{runs} runs" if runs != 1 else "1 run †"


def memory_source(memory: MemoryReading) -> str:
    """Where and when the memory was read."""
    age = "" if memory.age_s is None else f", {memory.age_s:.0f} s ago"
    return f"{memory.source} {memory.taken_at}".strip() + age


def print_rows(rows: Sequence[ModelRow]) -> None:
    """The list, one model a line, with the basis of its predictions below."""
    if not rows:
        click.echo("no models found", err=True)
        return
    lines = [["model", "params", "quant", "size", "KleidiAI", "fit", "~decode", "~ttft", "measured", "price", "where"]]
    for row in rows:
        told, own = row.prediction, row.measured
        lines.append(
            [
                printable(row.title)[:34],
                f"{row.params_b:.2f}" if row.params_b else "—",
                row.quant or "—",
                size_words(row.size_bytes),
                percent(row),
                SIGNS[row.fit.level],
                rate(told.decode_tok_s if told else None, predicted=True),
                seconds(told.ttft_ms if told else None),
                f"{rate(own.decode_tok_s)}  {run_count(own.runs)}" if own else "—",
                f"+{row.quality.over_f16_pct:.1f} %" if row.quality else "—",
                row.place.value if row.place is not Place.CATALOG else row.id,
            ]
        )
    for line in aligned(lines, frozenset({1, 3, 4, 6, 7})):
        click.echo(line)
    for basis in list(dict.fromkeys(row.prediction.words for row in rows if row.prediction))[:3]:
        click.echo(f"basis: {printable(basis)}", err=True)
    memory = rows[0].fit.memory
    if memory.available_bytes:
        click.echo(f"free now: {size_words(memory.available_bytes)} ({memory_source(memory)})", err=True)
    if any(row.quality for row in rows):
        click.echo("price: perplexity over F16, Llama-3.2-1B on wikitext-2; only the order carries over", err=True)
    for row in rows:
        if row.census_error:
            click.echo(f"▲ {printable(row.file_name)}: {printable(row.census_error)}", err=True)


def print_inspection(row: ModelRow, *, tensors: bool) -> None:
    """Card, census, KleidiAI's answers, fit and prediction of one file."""
    if row.simulated:
        click.echo("simulated phone", err=True)
    for entry in card(row.census, label=row.quant, file_bytes=row.size_bytes):
        click.echo(f"{entry.label:<20} {printable(entry.value)}")
    if row.census is None:
        click.echo(f"\nno census: {printable(row.census_error)}")
        return
    click.echo("")
    _print_census(row.census)
    _print_coverage(row)
    _print_fit(row)
    if tensors:
        click.echo("")
        lines = [["tensor", "shape", "type", "bytes"]]
        lines += [
            [printable(t.name), "×".join(map(str, t.dims)), t.type.name, str(t.size_bytes)] for t in row.census.tensors
        ]
        for line in aligned(lines, frozenset({3})):
            click.echo(line)


def _print_census(census: Census) -> None:
    lines = [["type", "tensors", "parameters", "bytes", "share", "bits"]]
    lines += [
        [
            share.type,
            str(share.tensors),
            f"{share.elements / 1e6:.1f} M",
            size_words(share.size_bytes),
            f"{share.size_bytes / census.data_bytes:.1%}" if census.data_bytes else "—",
            f"{share.bits_per_weight:.4g}",
        ]
        for share in census.types
    ]
    for line in aligned(lines, frozenset({1, 2, 3, 4, 5})):
        click.echo(line)
    click.echo(
        f"{census.bits_per_weight:.3f} bits per weight in all; a token reads {size_words(census.per_token_bytes)}"
    )
    if census.file_type_note:
        click.echo(f"▲ {census.file_type_note}")
    if census.tied:
        click.echo("token_embd is tied to the output: read for every token")
    if census.kv is not None:
        note = f" ({census.kv.note})" if census.kv.note else ""
        click.echo(f"KV cache {census.kv.bytes_per_token():.0f} bytes per token at f16{note}")
    parts = f", {census.parts} parts" if census.parts > 1 else ""
    click.echo(f"{size_words(census.read_bytes)} read of {size_words(census.file_bytes)}{parts}; no weights loaded")


def _print_coverage(row: ModelRow) -> None:
    click.echo("")
    for coverage in (row.entity_coverage, row.coverage):
        if coverage is not None and coverage.percent is not None:
            click.echo(f"KleidiAI coverage {coverage.percent} %  ({coverage.definition})")
    if row.kleidi is not None:
        click.echo(f"KleidiAI here: {row.kleidi.summary}")
        click.echo(f"  in this build: {_answer(row.kleidi.in_build)} - {printable(row.kleidi.in_build_evidence)}")
        for kernel in row.kleidi.kernels:
            click.echo(f"  kernel for {kernel.weight_type}: {kernel.family or 'none'} - {kernel.reason}")
        click.echo(f"  ran for this file: {_answer(row.kleidi.ran)} - {printable(row.kleidi.ran_evidence)}")
    if row.census is not None and row.census.offenders:
        worst = row.census.offenders[0]
        click.echo(
            f"outside by type: {len(row.census.offenders)} tensors, largest {printable(worst.name)} {worst.type.name}"
        )
    advice = instead(row)
    if advice:
        click.echo(advice)


def instead(row: ModelRow) -> str:
    """What to load instead when KleidiAI's types are wanted, with the price in perplexity; empty when it has them."""
    from entity_tui.models.catalog import quality_of

    if row.census is None or row.entity_coverage is None or row.entity_coverage.share == 1.0 or row.eligible:
        return ""
    words = []
    for quant in ("Q4_0", "Q8_0"):
        price = quality_of(quant)
        words.append(f"{quant} ({price.over_f16_pct:+.1f} % perplexity over F16)" if price else quant)
    own = quality_of(row.quant)
    against = f"; {row.quant} costs {own.over_f16_pct:+.1f} %" if own else ""
    return f"for KleidiAI's types load {' or '.join(words)}{against} - {price_source()}"


def price_source() -> str:
    """Where the perplexity prices come from, in one clause."""
    from entity_tui.models.catalog import quality_prices

    return f"{quality_prices()[0].series}, {quality_prices()[0].caveat.split(';')[0]}"


def _answer(value: bool | None) -> str:
    return "not known" if value is None else "yes" if value else "no"


def _print_fit(row: ModelRow) -> None:
    need, memory = row.fit.need, row.fit.memory
    click.echo("")
    click.echo(f"fit: {SIGNS[row.fit.level]}  {row.fit.reason}")
    parts = [f"weights {size_words(need.weights_bytes)}"]
    if need.second_copy_bytes:
        parts.append(f"second copy {size_words(need.second_copy_bytes)}")
    parts += [f"KV {need.window_tokens} {size_words(need.kv_bytes)}", f"compute ~{size_words(need.compute_bytes)}"]
    click.echo("  " + " + ".join(parts) + f" = {size_words(need.total_bytes)}")
    if memory.available_bytes:
        click.echo(f"  free {size_words(memory.available_bytes)} ({memory_source(memory)})")
    click.echo(f"  window: {row.window.tokens} tokens, {row.window.reason}")
    for line in row.fit.helps:
        click.echo(f"  would help: {line}")
    told, own = row.prediction, row.measured
    if told is not None:
        click.echo(
            f"predicted {rate(told.decode_tok_s, predicted=True)} tok/s decode, "
            f"{rate(told.prefill_tok_s, predicted=True)} prompt, first token {seconds(told.ttft_ms)} (pp512)"
        )
        click.echo(f"  basis: {printable(told.words)}" + (f"; {told.caveat}" if told.caveat else ""))
        click.echo(f"  {usability_words(told.decode_tok_s)}")
    if own is not None:
        marked = ", simulated" if own.simulated else ""
        basis = f"{run_count(own.runs)}{marked}"
        click.echo(f"measured {rate(own.decode_tok_s)} decode, {rate(own.prefill_tok_s)} prompt ({basis})")
    held = row.held_out
    if held is not None and held.decode_error_pct is not None:
        others = ", ".join(map(printable, held.from_models))
        told_rate, measured = rate(held.predicted_decode_tok_s, predicted=True), rate(held.measured_decode_tok_s)
        click.echo(f"held out: {told_rate} from {others}, {measured} measured, error {held.decode_error_pct:+.0f} %")
