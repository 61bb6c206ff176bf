"""Small GGUF files made for tests, byte by byte, so that any part of them can be wrong."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from entity_tui.models.tensor_types import BY_NAME

U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 = range(13)
_CODES = {U8: "B", I8: "b", U16: "H", I16: "h", U32: "I", I32: "i", F32: "f", BOOL: "B", U64: "Q", I64: "q", F64: "d"}


@dataclass
class Gguf:
    """A file to be: keys with their types, tensors as (name, dims, type name), and the format it is written in."""

    keys: list[tuple[str, int, Any]] = field(default_factory=list)
    tensors: list[tuple[str, Sequence[int], str]] = field(default_factory=list)
    version: int = 3
    big_endian: bool = False
    alignment: int = 32
    offsets: list[int] | None = None
    """Where each tensor claims to be; None places them one after the other."""

    @property
    def order(self) -> str:
        return ">" if self.big_endian else "<"

    def count(self, value: int) -> bytes:
        return struct.pack(self.order + ("I" if self.version == 1 else "Q"), value)

    def string(self, text: str) -> bytes:
        raw = text.encode()
        return self.count(len(raw)) + raw

    def value(self, kind: int, value: Any) -> bytes:
        if kind == STRING:
            return self.string(value)
        if kind == ARRAY:
            inner, items = value
            return (
                struct.pack(self.order + "I", inner)
                + self.count(len(items))
                + b"".join(self.value(inner, item) for item in items)
            )
        return struct.pack(self.order + _CODES[kind], value)

    def header(self) -> bytes:
        """Everything before the padding."""
        parts = [b"GGUF", struct.pack(self.order + "I", self.version), self.count(len(self.tensors))]
        parts.append(self.count(len(self.keys)))
        for key, kind, value in self.keys:
            parts += [self.string(key), struct.pack(self.order + "I", kind), self.value(kind, value)]
        offset = 0
        for place, (name, dims, kind_name) in enumerate(self.tensors):
            stored = BY_NAME[kind_name]
            stated = offset if self.offsets is None else self.offsets[place]
            parts += [self.string(name), struct.pack(self.order + "I", len(dims)), *map(self.count, dims)]
            parts.append(struct.pack(self.order + "IQ", stored.number, stated))
            elements = 1
            for size in dims:
                elements *= size
            size_bytes = elements // stored.block_elements * stored.block_bytes
            offset += -(-size_bytes // self.alignment) * self.alignment
        self.data_bytes = offset
        return b"".join(parts)

    def bytes(self) -> bytes:
        """The whole file, weights all zero."""
        header = self.header()
        padding = -len(header) % self.alignment
        return header + b"\0" * (padding + self.data_bytes)


def reader(data: bytes) -> Any:
    """`read(offset, count)` over bytes."""
    return lambda offset, count: data[offset : offset + count]


def llama_like(**changes: Any) -> Gguf:
    """A two-layer model with tied embeddings, grouped heads and every kind of value in its keys."""
    keys: list[tuple[str, int, Any]] = [
        ("general.architecture", STRING, "llama"),
        ("general.name", STRING, "Tiny größe"),
        ("general.file_type", U32, 2),
        ("llama.block_count", U32, 2),
        ("llama.context_length", U32, 8192),
        ("llama.embedding_length", U32, 64),
        ("llama.feed_forward_length", U32, 128),
        ("llama.attention.head_count", U32, 4),
        ("llama.attention.head_count_kv", U32, 2),
        ("llama.rope.freq_base", F32, 10000.0),
        ("a.bool", BOOL, 1),
        ("a.i64", I64, -(2**40)),
        ("a.f64", F64, 0.5),
        ("a.nested", ARRAY, (ARRAY, [(U8, [1, 2]), (U8, [3])])),
        ("tokenizer.ggml.tokens", ARRAY, (STRING, [f"t{n}" for n in range(300)])),
        ("tokenizer.ggml.scores", ARRAY, (F32, [0.0] * 300)),
        ("tokenizer.chat_template", STRING, "{{ messages }}"),
    ]
    tensors: list[tuple[str, Sequence[int], str]] = [
        ("token_embd.weight", (64, 300), "F16"),
        ("output_norm.weight", (64,), "F32"),
    ]
    for layer in range(2):
        tensors += [
            (f"blk.{layer}.attn_q.weight", (64, 64), "Q4_0"),
            (f"blk.{layer}.ffn_down.weight", (128, 64), "Q4_1"),
            (f"blk.{layer}.ffn_up.weight", (64, 128), "Q8_0"),
        ]
    return Gguf(keys, tensors, **changes)
