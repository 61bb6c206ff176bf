"""Models as rows, the census of one, and its fit and prediction beside what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from entity_tui.model_transfers import TransferState, TransferView
from entity_tui.models.card import kleidi_words
from entity_tui.models.catalog import usability_words
from entity_tui.models.fit import FitLevel
from entity_tui.models.view import ModelRow, Place
from entity_tui.widgets.census_bar import Portion, coverage_spans, portion_line
from entity_tui.widgets.ink import BLANK, Ink, Line, Span, line, muted
from entity_tui.widgets.numbers import NONE, fixed, long_bytes, short_bytes, significant, tok_s
from entity_tui.widgets.table import Cell, Column, TableRow
from entity_tui.widgets.text import cut, fold, left, plain, right

BAR_CELLS = 10
COLUMNS = (
    Column("model", "model", 32, flexible=True, least=18, gap=0),
    Column("params", "params", 6, "right", drop=3, gap=1),
    Column("quant", "quant", 7),
    Column("size", "size", 5, "right", gap=1),
    Column("bar", "KleidiAI coverage", 18, drop=2, gap=3),
    Column("coverage", "KleidiAI", 8, "right", gap=1),
    Column("fit", "fit", 7, gap=3),
    Column("decode", "~decode", 7, "right"),
    Column("ttft", "~ttft", 7, "right", drop=4),
    Column("measured", "measured", 14, gap=3),
)
FIT_MARKS: dict[FitLevel, Span] = {
    FitLevel.GOOD: ("●", Ink.GOOD),
    FitLevel.FITS: ("○", Ink.TEXT),
    FitLevel.TIGHT: ("▲", Ink.WARN),
    FitLevel.NO: ("✖", Ink.BAD),
    FitLevel.UNKNOWN: ("?", Ink.WARN),
}


def predicted(text: str) -> Span:
    """A predicted number carries `~`; no number is a dash."""
    return (NONE, Ink.MUTED) if text == NONE else (f"~{text}", Ink.PREDICTED)


def seconds(ms: float | None) -> str:
    """Milliseconds as `4.0`, seconds."""
    return NONE if ms is None else fixed(ms / 1_000, 1)


def columns(wide: bool) -> tuple[Column, ...]:
    """The bar where there is room for it, else its number alone."""
    left_out = "coverage" if wide else "bar"
    kept = tuple(column for column in COLUMNS if column.key != left_out)
    return kept if wide else (*kept[:-1], replace(kept[-1], width=8, gap=2))


def measured_words(row: ModelRow, *, wide: bool) -> str:
    """`18.2  3 runs`, narrow `18.2`, with the mark for a single run; or a dash."""
    if row.measured is None or row.measured.decode_tok_s is None:
        return NONE
    if not wide:
        return tok_s(row.measured.decode_tok_s) + ("" if row.measured.runs != 1 else "†")
    runs = f"{row.measured.runs} run{'s' if row.measured.runs != 1 else ' †'}"
    return f"{tok_s(row.measured.decode_tok_s)}  {runs}"


def model_row(row: ModelRow, *, wide: bool) -> TableRow:
    """One model of the list."""
    share = row.coverage.share if row.coverage is not None else None
    prediction = row.prediction
    coverage = coverage_spans(share, BAR_CELLS if wide else 0)
    cells: tuple[Cell, ...] = (
        plain(row.title),
        NONE if row.params_b is None else fixed(row.params_b, 2),
        plain(row.quant),
        short_bytes(row.size_bytes),
        coverage,
        line(FIT_MARKS[row.fit.level], f" {row.fit.level.value}"),
        predicted(tok_s(prediction.decode_tok_s) if prediction else NONE),
        predicted(seconds(prediction.ttft_ms) if prediction else NONE),
        measured_words(row, wide=wide),
    )
    return TableRow(row.id, cells, dimmed=row.path is None)


def census_rows(row: ModelRow, width: int) -> tuple[Line, ...]:
    """Types with their bytes and the kernel each gets here, then coverage and shape."""
    census = row.census
    if census is None and row.place is Place.CATALOG:
        sentence = (
            f"Not on this device; entity-tui models download {row.id} gets it. KleidiAI {kleidi_words(None, row.quant)}"
        )
        return tuple(line(piece) for piece in fold(plain(sentence), width))
    if census is None:
        return (line(plain(row.census_error or "No census: the header was not read.")),)
    kernels = {kernel.weight_type: kernel for kernel in row.kleidi.kernels} if row.kleidi else {}
    total = sum(share.size_bytes for share in census.types) or 1
    rows: list[Line] = [
        muted(f"{left('type', 8)}{right('tensors', 7)}{right('bytes', 10)}{right('share', 9)}   kernel here")
    ]
    for share in census.types:
        kernel = kernels.get(share.type)
        if kernel is None:
            words: tuple[Span, ...] = (("—", Ink.MUTED),)
        elif kernel.family:
            words = (("● ", Ink.GOOD), (f"KleidiAI {plain(kernel.family)}", Ink.TEXT))
        else:
            words = (("○ ", Ink.TEXT), ("ggml", Ink.TEXT))
        part = f"{share.size_bytes / total * 100:.1f} %"
        numbers = f"{left(share.type, 8)}{share.tensors:>7}{right(long_bytes(share.size_bytes), 10)}{right(part, 9)}   "
        rows.append(line(numbers, *words))
    rows.append(BLANK)
    rows += _coverage_rows(row, width)
    if census.tied:
        rows.append(muted("token_embd is tied to the output: read for every token"))
    heads = f"GQA {census.heads}/{census.kv_heads}" if census.heads and census.kv_heads else ""
    context = f"trained ctx {fixed(census.trained_context, 0)}" if census.trained_context else ""
    layers = f"{census.layers} layers" if census.layers else ""
    shape = "  ".join(part for part in (f"arch {plain(census.architecture)}", layers, context, heads) if part)
    rows += [muted(shape), muted(f"{long_bytes(census.read_bytes)} of the file were read, nothing was loaded")]
    return tuple(rows)


def _coverage_rows(row: ModelRow, width: int) -> list[Line]:
    rows: list[Line] = []
    if row.coverage is not None and row.coverage.percent is not None:
        words = f"{row.coverage.percent} % of the bytes a token reads have a KleidiAI kernel here"
        rows += [line(piece) for piece in fold(words, width)]
    if row.entity_coverage is not None and row.entity_coverage.percent is not None:
        words = f"{row.entity_coverage.percent} % {plain(row.entity_coverage.definition)}"
        rows += [muted(piece) for piece in fold(words, width)]
    if row.kleidi is not None:
        why = f": {row.kleidi.in_build_evidence}" if row.kleidi.in_build is False else ""
        rows += [muted(piece) for piece in fold(plain(f"KleidiAI {row.kleidi.summary}{why}"), width)]
    return rows


def fit_rows(row: ModelRow, width: int) -> tuple[Line, ...]:
    """Memory parts as bars, the verdict with its reason, then prediction beside measurement."""
    needed, available = row.fit.need, row.fit.memory.available_bytes
    widest = max(
        needed.weights_bytes, needed.second_copy_bytes, needed.kv_bytes, needed.compute_bytes, available or 0, 1
    )
    level = line(FIT_MARKS[row.fit.level], f" {row.fit.level.value}")
    portions = [
        Portion("weights", long_bytes(needed.weights_bytes), needed.weights_bytes / widest),
        Portion("repacked", long_bytes(needed.second_copy_bytes), needed.second_copy_bytes / widest),
        Portion(f"KV {fixed(needed.window_tokens, 0)}", long_bytes(needed.kv_bytes), needed.kv_bytes / widest),
        Portion("compute", long_bytes(needed.compute_bytes), needed.compute_bytes / widest),
        Portion("free", long_bytes(available), (available or 0) / widest, "░"),
    ]
    bar_cells = max(6, width - 26)
    rows = [portion_line(p, 9, 8, bar_cells) for p in portions if p.share or p.name == "free"]
    rows += [line(*level, "  ", pieces) for pieces in fold(plain(row.fit.reason), width - 10)[:1]]
    rows += (
        [muted(f"  {row.fit.memory.source} read {plain(row.fit.memory.taken_at)}")] if row.fit.memory.taken_at else []
    )
    rows += [muted(f"  {piece}") for help in row.fit.helps[:2] for piece in fold(plain(help), width - 2)[:1]]
    rows.append(BLANK)
    rows += prediction_rows(row, width)
    return tuple(rows)


def prediction_rows(row: ModelRow, width: int) -> list[Line]:
    """`~` predicted above measured, the held-out error, and the basis in one line."""
    prediction, measured, held = row.prediction, row.measured, row.held_out
    rows = [muted(f"{left('prediction', 14)}{right('decode', 8)}{right('prompt', 9)}{right('ttft pp512', 12)}")]
    if prediction is None:
        rows.append(muted("no basis yet: b measures this device, or its chip is not in the list"))
    else:
        cells = [tok_s(prediction.decode_tok_s), tok_s(prediction.prefill_tok_s), f"{seconds(prediction.ttft_ms)} s"]
        widths = (8, 9, 12)
        spans = [
            (right(predicted(c)[0] if c != NONE else c, w), Ink.PREDICTED) for c, w in zip(cells, widths, strict=True)
        ]
        rows.append(line(left("  this device", 14), *spans))
    if measured is not None:
        numbers = f"{right(tok_s(measured.decode_tok_s), 8)}{right(tok_s(measured.prefill_tok_s), 9)}"
        rows.append(line(left("  measured", 14), numbers))
    if held is not None and held.decode_error_pct is not None:
        was = f"~{tok_s(held.predicted_decode_tok_s)} vs {tok_s(held.measured_decode_tok_s)}"
        rows.append(line(f"  held out {was}   error {held.decode_error_pct:+.0f} %".replace("-", "−")))
    if prediction is not None:
        rows += [muted(piece) for piece in fold(f"basis  {plain(prediction.words)}", width)[:2]]
        rows += [muted(piece) for piece in fold(usability_words(prediction.decode_tok_s), width)[:1]]
        if prediction.caveat:
            rows += [line(("▲ ", Ink.WARN), piece) for piece in fold(plain(prediction.caveat), width - 2)[:1]]
    if row.quality is not None:
        price = f"{row.quality.over_f16_pct:+.1f} % perplexity over F16 with {row.quality.quant}, {row.quality.caveat}"
        rows += [muted(piece) for piece in fold(plain(price), width)[:2]]
    return rows


def compact_rows(row: ModelRow, width: int) -> tuple[Line, ...]:
    """Census, fit and prediction in the few rows of a narrow terminal."""
    rows: list[Line] = []
    if row.census is not None:
        kernels = {kernel.weight_type: kernel for kernel in row.kleidi.kernels} if row.kleidi else {}
        for share in row.census.types[:3]:
            kernel = kernels.get(share.type)
            mark: Span = ("● KleidiAI", Ink.GOOD) if kernel and kernel.family else ("○ ggml", Ink.TEXT)
            rows.append(
                line(
                    f"{left(share.type, 6)} {share.tensors:>4} tensors {right(long_bytes(share.size_bytes), 8)}  ", mark
                )
            )
    needed = row.fit.need
    parts = f"weights {long_bytes(needed.weights_bytes)} + KV {long_bytes(needed.kv_bytes or None)}"
    free = f"of {long_bytes(row.fit.memory.available_bytes)} free   "
    rows.append(line(f"{parts} {free}", FIT_MARKS[row.fit.level], f" {row.fit.level.value}"))
    if row.prediction is not None:
        words = f"~{tok_s(row.prediction.decode_tok_s)} tok/s decode   ~{tok_s(row.prediction.prefill_tok_s)} prompt"
        rows.append(line((f"{words}   ~{seconds(row.prediction.ttft_ms)} s to first token (pp512)", Ink.PREDICTED)))
    if row.measured is not None:
        rows.append(line(f"measured {tok_s(row.measured.decode_tok_s)} / {tok_s(row.measured.prefill_tok_s)}"))
    rows.append(muted(cut(plain(row.fit.reason), width)))
    return tuple(rows)


def tensor_rows(row: ModelRow) -> tuple[Line, ...]:
    """Every tensor of the file with its type and size."""
    if row.census is None:
        return ()
    rows: list[Line] = []
    for tensor in row.census.tensors:
        size = right(significant(tensor.size_bytes / 1e6), 8)
        rows.append(line(f"{left(cut(plain(tensor.name), 32), 34)}{left(tensor.type.name, 7)}{size} MB"))
    return tuple(rows)


def transfer_line(views: Sequence[TransferView]) -> Line | None:
    """The newest transfer that is under way, with its progress and speed; None when none is."""
    view = next((view for view in reversed(views) if view.running), None)
    if view is None:
        return None
    if view.state is TransferState.WAITING or not view.total_bytes:
        return line(f"{view.kind} {plain(view.name)}: {view.state.value}", (f"  {view.words}", Ink.MUTED))
    share = f"{view.done_bytes / view.total_bytes:.0%}"
    done = f"{long_bytes(view.done_bytes)} of {long_bytes(view.total_bytes)}"
    return line(f"{view.kind} {plain(view.name)} {share}  ", (f"{done}  {long_bytes(view.bytes_per_s)}/s", Ink.MUTED))
