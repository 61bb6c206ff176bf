"""A model row, a census and a fit as plain JSON values: every value the screen shows, under its own name."""

from __future__ import annotations

from typing import Any

from entity_tui.models.catalog import usability_words
from entity_tui.models.census import Census, Coverage
from entity_tui.models.fit import Fit
from entity_tui.models.kleidiai import KleidiAnswers
from entity_tui.models.predict import HeldOut, OwnRun, Prediction
from entity_tui.models.view import ModelRow


def _round(value: float | None, digits: int = 3) -> float | None:
    return None if value is None else round(value, digits)


def coverage_json(coverage: Coverage | None) -> dict[str, Any] | None:
    """A coverage with its definition."""
    if coverage is None:
        return None
    return {"definition": coverage.definition, "share": _round(coverage.share, 4), "percent": coverage.percent}


def census_json(census: Census, *, tensors: bool = False) -> dict[str, Any]:
    """The census of a file; with `tensors` also every tensor."""
    kv = census.kv
    value: dict[str, Any] = {
        "architecture": census.architecture,
        "name": census.name,
        "gguf_version": census.version,
        "big_endian": census.big_endian,
        "parameters": census.parameters,
        "tensors": census.tensor_count,
        "data_bytes": census.data_bytes,
        "file_bytes": census.file_bytes,
        "header_bytes": census.header_bytes,
        "read_bytes": census.read_bytes,
        "bits_per_weight": _round(census.bits_per_weight, 4),
        "file_type": census.file_type,
        "main_type": census.main_type,
        "file_type_note": census.file_type_note,
        "tied_embeddings": census.tied,
        "trained_context": census.trained_context,
        "layers": census.layers,
        "embedding": census.embedding,
        "feed_forward": census.feed_forward,
        "heads": census.heads,
        "kv_heads": census.kv_heads,
        "experts": census.experts,
        "experts_used": census.experts_used,
        "kv_bytes_per_token": kv.bytes_per_token() if kv else None,
        "kv_window_tokens": kv.window_tokens if kv else None,
        "kv_note": kv.note if kv else "the header does not say enough",
        "vocabulary": census.vocabulary,
        "chat_template_chars": len(census.chat_template) if census.chat_template is not None else None,
        "bytes_per_token": round(census.per_token_bytes),
        "part": census.part,
        "parts": census.parts,
        "types": [
            {
                "type": share.type,
                "tensors": share.tensors,
                "parameters": share.elements,
                "bytes": share.size_bytes,
                "share": _round(share.size_bytes / census.data_bytes if census.data_bytes else None, 4),
                "bits_per_weight": _round(share.bits_per_weight, 4),
                "bytes_per_token": round(share.per_token_bytes),
            }
            for share in census.types
        ],
        "entity_coverage": coverage_json(census.entity_coverage),
        "outside_kleidiai": [
            {"tensor": tensor.name, "type": tensor.type.name, "parameters": tensor.elements, "bytes": tensor.size_bytes}
            for tensor in census.offenders[:10]
        ],
    }
    if tensors:
        value["tensor_list"] = [
            {"name": t.name, "dims": list(t.dims), "type": t.type.name, "bytes": t.size_bytes, "offset": t.offset}
            for t in census.tensors
        ]
    return value


def fit_json(verdict: Fit) -> dict[str, Any]:
    """A verdict with its parts, the reading it used, and what would help."""
    need, memory = verdict.need, verdict.memory
    return {
        "verdict": verdict.level.value,
        "reason": verdict.reason,
        "rule": verdict.rule,
        "weights_bytes": round(need.weights_bytes),
        "second_copy_bytes": round(need.second_copy_bytes),
        "kv_bytes": round(need.kv_bytes),
        "compute_bytes": round(need.compute_bytes),
        "total_bytes": round(need.total_bytes),
        "window_tokens": need.window_tokens,
        "certain": need.certain,
        "available_bytes": memory.available_bytes,
        "memory_source": memory.source,
        "memory_read_at": memory.taken_at,
        "memory_age_s": _round(memory.age_s, 1),
        "would_help": list(verdict.helps),
    }


def prediction_json(prediction: Prediction | None) -> dict[str, Any] | None:
    """Predicted speeds with their basis."""
    if prediction is None:
        return None
    return {
        "decode_tok_s": _round(prediction.decode_tok_s),
        "prompt_tok_s": _round(prediction.prefill_tok_s),
        "ttft_pp512_ms": _round(prediction.ttft_ms, 1),
        "basis": prediction.basis.value,
        "words": prediction.words,
        "caveat": prediction.caveat,
        "usability": usability_words(prediction.decode_tok_s),
    }


def run_json(run: OwnRun | None) -> dict[str, Any] | None:
    """A measured result."""
    if run is None:
        return None
    return {
        "decode_tok_s": _round(run.decode_tok_s),
        "prompt_tok_s": _round(run.prefill_tok_s),
        "runs": run.runs,
        "settings": run.settings,
        "simulated": run.simulated,
    }


def held_out_json(held: HeldOut | None) -> dict[str, Any] | None:
    """A held-out comparison."""
    if held is None:
        return None
    return {
        "model": held.model,
        "predicted_from": list(held.from_models),
        "predicted_decode_tok_s": _round(held.predicted_decode_tok_s),
        "measured_decode_tok_s": _round(held.measured_decode_tok_s),
        "decode_error_pct": _round(held.decode_error_pct, 2),
        "predicted_prompt_tok_s": _round(held.predicted_prefill_tok_s),
        "measured_prompt_tok_s": _round(held.measured_prefill_tok_s),
        "prompt_error_pct": _round(held.prefill_error_pct, 2),
    }


def kleidi_json(kleidi: KleidiAnswers | None) -> dict[str, Any] | None:
    """KleidiAI's three answers."""
    if kleidi is None:
        return None
    return {
        "summary": kleidi.summary,
        "in_build": kleidi.in_build,
        "in_build_evidence": kleidi.in_build_evidence,
        "kernels": [
            {"type": k.weight_type, "family": k.family, "reason": k.reason, "prompt_only": k.prompt_only}
            for k in kleidi.kernels
        ],
        "ran": kleidi.ran,
        "ran_evidence": kleidi.ran_evidence,
    }


def row_json(row: ModelRow) -> dict[str, Any]:
    """Every value the Models screen shows of one model."""
    quality = row.quality
    return {
        "id": row.id,
        "title": row.title,
        "file": row.file_name,
        "place": row.place.value,
        "simulated": row.simulated,
        "path": row.path,
        "params_b": _round(row.params_b),
        "quant": row.quant,
        "size_bytes": row.size_bytes,
        "coverage": coverage_json(row.coverage),
        "entity_coverage": coverage_json(row.entity_coverage),
        "kleidiai": kleidi_json(row.kleidi),
        "window_tokens": row.window.tokens,
        "window_reason": row.window.reason,
        "fit": fit_json(row.fit),
        "predicted": prediction_json(row.prediction),
        "measured": run_json(row.measured),
        "held_out": held_out_json(row.held_out),
        "quality": None
        if quality is None
        else {
            "perplexity": quality.perplexity,
            "over_f16_pct": _round(quality.over_f16_pct, 2),
            "note": quality.note,
            "source": quality.source,
            "caveat": quality.caveat,
        },
        "census": census_json(row.census) if row.census else None,
        "census_error": row.census_error,
    }
