"""A model file with a true header and no weights: a 1B Llama in Q4_0 whose data is a hole of the right size."""

from __future__ import annotations

import struct
from pathlib import Path

LAYERS, WIDTH, FEED_FORWARD, HEADS, KV_HEADS, VOCABULARY = 16, 2048, 8192, 32, 8, 128_256
TRAINED_CONTEXT = 131_072
TYPE_F32, TYPE_Q4_0, TYPE_Q6_K = 0, 2, 14
BLOCK = {TYPE_F32: (1, 4), TYPE_Q4_0: (32, 18), TYPE_Q6_K: (256, 210)}
"""Weights and bytes of one block of each type."""
ALIGNMENT = 32
UINT32, FLOAT32, STRING, ARRAY, INT32 = 4, 6, 8, 9, 5


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def _pair(key: str, kind: int, value: bytes) -> bytes:
    return _text(key) + struct.pack("<I", kind) + value


def tensors() -> list[tuple[str, tuple[int, ...], int]]:
    """Name, shape and type of every tensor, in the file's order."""
    kv_width = WIDTH // HEADS * KV_HEADS
    rows: list[tuple[str, tuple[int, ...], int]] = [
        ("rope_freqs.weight", (32,), TYPE_F32),
        ("token_embd.weight", (WIDTH, VOCABULARY), TYPE_Q6_K),
    ]
    for layer in range(LAYERS):
        name = f"blk.{layer}"
        rows += [
            (f"{name}.attn_norm.weight", (WIDTH,), TYPE_F32),
            (f"{name}.ffn_down.weight", (FEED_FORWARD, WIDTH), TYPE_Q4_0),
            (f"{name}.ffn_gate.weight", (WIDTH, FEED_FORWARD), TYPE_Q4_0),
            (f"{name}.ffn_up.weight", (WIDTH, FEED_FORWARD), TYPE_Q4_0),
            (f"{name}.ffn_norm.weight", (WIDTH,), TYPE_F32),
            (f"{name}.attn_k.weight", (WIDTH, kv_width), TYPE_Q4_0),
            (f"{name}.attn_output.weight", (WIDTH, WIDTH), TYPE_Q4_0),
            (f"{name}.attn_q.weight", (WIDTH, WIDTH), TYPE_Q4_0),
            (f"{name}.attn_v.weight", (WIDTH, kv_width), TYPE_Q4_0),
        ]
    return [*rows, ("output_norm.weight", (WIDTH,), TYPE_F32)]


def write_placeholder(path: Path) -> int:
    """Write the header to `path` and return the size the whole file has to be stretched to, in bytes."""
    metadata = [
        _pair("general.architecture", STRING, _text("llama")),
        _pair("general.name", STRING, _text("Stand-in 1B (simulated, no weights)")),
        _pair("general.type", STRING, _text("model")),
        _pair("general.size_label", STRING, _text("1B")),
        _pair("general.file_type", UINT32, struct.pack("<I", 2)),
        _pair("general.quantization_version", UINT32, struct.pack("<I", 2)),
        _pair("llama.block_count", UINT32, struct.pack("<I", LAYERS)),
        _pair("llama.context_length", UINT32, struct.pack("<I", TRAINED_CONTEXT)),
        _pair("llama.embedding_length", UINT32, struct.pack("<I", WIDTH)),
        _pair("llama.feed_forward_length", UINT32, struct.pack("<I", FEED_FORWARD)),
        _pair("llama.attention.head_count", UINT32, struct.pack("<I", HEADS)),
        _pair("llama.attention.head_count_kv", UINT32, struct.pack("<I", KV_HEADS)),
        _pair("llama.attention.key_length", UINT32, struct.pack("<I", WIDTH // HEADS)),
        _pair("llama.attention.value_length", UINT32, struct.pack("<I", WIDTH // HEADS)),
        _pair("llama.attention.layer_norm_rms_epsilon", FLOAT32, struct.pack("<f", 1e-5)),
        _pair("llama.rope.freq_base", FLOAT32, struct.pack("<f", 500_000.0)),
        _pair("llama.rope.dimension_count", UINT32, struct.pack("<I", WIDTH // HEADS)),
        _pair("llama.vocab_size", UINT32, struct.pack("<I", VOCABULARY)),
        _pair("tokenizer.ggml.model", STRING, _text("gpt2")),
    ]
    infos, offset = b"", 0
    rows = tensors()
    for name, shape, kind in rows:
        infos += _text(name) + struct.pack("<I", len(shape)) + b"".join(struct.pack("<Q", side) for side in shape)
        infos += struct.pack("<IQ", kind, offset)
        weights = 1
        for side in shape:
            weights *= side
        per_block, block_bytes = BLOCK[kind]
        offset += -(-(weights // per_block * block_bytes) // ALIGNMENT) * ALIGNMENT
    head = b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(metadata)) + b"".join(metadata) + infos
    head += bytes(-len(head) % ALIGNMENT)
    path.write_bytes(head)
    return len(head) + offset
