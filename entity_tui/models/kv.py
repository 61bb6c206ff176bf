"""What a model's attention remembers: KV bytes per token and for a whole window, sliding windows included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.models.header import GgufHeader, Value
from entity_tui.models.tensor_types import BY_NAME

_PERIODS: Mapping[str, int] = MappingProxyType(
    {
        **{"gemma2": 2, "gpt-oss": 2, "gemma3": 6, "gemma3n": 5, "plamo3": 8, "cohere2": 4, "llama4": 4},
        **{"exaone4": 4, "exaone-moe": 4, "olmo2": 4, "afmoe": 4, "mellum": 4},
        **{"cohere2moe": -4, "smallthinker": -4, "laguna": -4},
    }
)
"""Every n-th layer of these architectures sees the whole context and the others a window; a negative period starts
with a full layer. Other architectures ignore the window their header states (llama.cpp b11434, src/models)."""

_MAX_LAYERS = 10_000
"""A header that states more is not believed: its count must never become a list's length."""

_PAD_TOKENS = 256
"""llama.cpp rounds a cache up to this many cells."""


@dataclass(frozen=True, slots=True)
class KvShape:
    """The parts of a KV cache: elements one token adds to layers that see everything, and to windowed ones."""

    layers: int
    full_elements: int
    window_elements: int = 0
    window_tokens: int | None = None
    note: str = ""

    def bytes_per_token(self, element_bits: float = 16.0) -> float:
        """Bytes one more token costs while no window is full; f16 cells by default."""
        return (self.full_elements + self.window_elements) * element_bits / 8

    def bytes_at(self, tokens: int, element_bits: float = 16.0, *, batch: int = 512) -> float:
        """Bytes of the cache for a window of `tokens`; windowed layers hold their window and one micro-batch more."""
        held = tokens
        if self.window_tokens is not None:
            held = -(-min(tokens, self.window_tokens + batch) // _PAD_TOKENS) * _PAD_TOKENS
        return (self.full_elements * tokens + self.window_elements * held) * element_bits / 8


def kv_bytes(layers: int, kv_heads: int, head_size: int, tokens: int, element_bytes: float = 2.0) -> float:
    """S = 2 · L · H_kv · d_head · C · p (ENTITY, section 2 of its seed): keys and values of one uniform cache."""
    return 2.0 * layers * kv_heads * head_size * tokens * element_bytes


def cache_bits(type_name: str) -> float:
    """Bits per cache element of `-ctk`/`-ctv` types such as f16 or q8_0. Raises KeyError for an unknown type."""
    return BY_NAME[type_name.upper()].bits_per_weight


def _per_layer(value: Value | None, layers: int, otherwise: int) -> list[int]:
    """A key that is one number for all layers or an array with one for each."""
    if isinstance(value, tuple):
        numbers = [item if isinstance(item, int) and not isinstance(item, bool) else 0 for item in value]
        return (numbers + [0] * layers)[:layers]
    if isinstance(value, int) and not isinstance(value, bool):
        return [value] * layers
    return [otherwise] * layers


def kv_shape(header: GgufHeader) -> KvShape | None:
    """The cache a model needs, from its header; None when the header does not say enough.

    Multi-head latent attention (DeepSeek) keeps one compressed vector a layer; layers without KV heads (recurrent
    ones) keep none here, and their constant state is not counted.
    """
    arch = header.text("general.architecture") or ""
    layers = header.number(f"{arch}.block_count")
    if layers is None or not 0 < layers <= _MAX_LAYERS:
        return None
    heads = _per_layer(header.values.get(f"{arch}.attention.head_count"), layers, 0)
    embedding = header.number(f"{arch}.embedding_length")
    if not any(heads):
        return None
    rank = header.number(f"{arch}.attention.kv_lora_rank")
    if rank is not None and header.number(f"{arch}.attention.key_length_mla") is not None:
        rope = header.number(f"{arch}.rope.dimension_count") or 0
        return KvShape(layers, layers * (rank + rope), note="latent attention: one compressed vector a layer")
    size = (embedding or 0) // max(heads)
    key_size = header.number(f"{arch}.attention.key_length") or size
    value_size = header.number(f"{arch}.attention.value_length") or size
    kv_heads = _per_layer(header.values.get(f"{arch}.attention.head_count_kv"), layers, max(heads))
    if key_size <= 0 or value_size <= 0:
        return None
    each = [count * (key_size + value_size) for count in kv_heads]
    window = header.number(f"{arch}.attention.sliding_window")
    windowed = _windowed(header, arch, layers) if window else None
    if not window or windowed is None:
        note = "windowed layers are counted as if they saw everything" if window else ""
        return KvShape(layers, sum(each), note=note)
    inside = sum(elements for elements, is_windowed in zip(each, windowed, strict=True) if is_windowed)
    return KvShape(
        layers, sum(each) - inside, inside, window, f"{sum(windowed)} of {layers} layers see {window} tokens"
    )


def _windowed(header: GgufHeader, arch: str, layers: int) -> list[bool] | None:
    """Which layers see only the window, or None when neither the header nor the architecture tells."""
    stated = header.values.get(f"{arch}.attention.sliding_window_pattern")
    if isinstance(stated, tuple) and len(stated) >= layers:
        return [bool(item) for item in stated[:layers]]
    period = _PERIODS.get(arch, 0)
    if isinstance(stated, int) and not isinstance(stated, bool) and stated > 0:
        period = -stated if period < 0 else stated
    if not period:
        return None
    return [layer % period != (period - 1 if period > 0 else 0) for layer in range(layers)]
