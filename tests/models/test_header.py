"""A GGUF header is read exactly or refused with a GgufError: no hang, no crash, no growth, no guess."""

from __future__ import annotations

import struct
import time
import tracemalloc
from pathlib import Path

import pytest
from gguf import GGUFReader
from hypothesis import given, settings
from hypothesis import strategies as st

from entity_tui.engine.model_files import local_header
from entity_tui.models.header import GgufHeader, read_header, read_header_async
from entity_tui.models.tensor_types import TENSOR_TYPES
from entity_tui.models.window import GgufError
from tests.models.gguf_text import ARRAY, BOOL, F32, STRING, U32, Gguf, llama_like, reader


def parsed(data: bytes, size: int | None = None) -> GgufHeader:
    return read_header(reader(data), len(data) if size is None else size)


def test_smollm2_equals_the_gguf_packages_own_reader(smollm2: Path, theirs: GGUFReader) -> None:
    ours = local_header(smollm2)
    assert ours.data_offset == theirs.data_offset
    assert [(t.name, t.elements, t.size_bytes, t.offset + ours.data_offset, t.type.name) for t in ours.tensors] == [
        (t.name, int(t.n_elements), int(t.n_bytes), int(t.data_offset), t.tensor_type.name) for t in theirs.tensors
    ]
    assert [t.dims for t in ours.tensors] == [tuple(int(d) for d in t.shape) for t in theirs.tensors]
    fields = {name: f for name, f in theirs.fields.items() if not name.startswith("GGUF.")}
    assert set(ours.values) | set(ours.array_lengths) == set(fields)
    for name, field in fields.items():
        if name in ours.array_lengths:
            assert ours.array_lengths[name] == len(field.data)
        else:
            assert ours.values[name] == field.contents(), name


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("big_endian", [False, True])
def test_every_version_and_both_byte_orders(version: int, big_endian: bool) -> None:
    header = parsed(llama_like(version=version, big_endian=big_endian).bytes())
    assert (header.version, header.big_endian) == (version, big_endian)
    assert header.text("general.name") == "Tiny größe"
    assert header.number("llama.block_count") == 2
    assert header.values["a.bool"] is True
    assert header.values["a.i64"] == -(2**40)
    assert header.values["a.nested"] == ((1, 2), (3,))
    assert header.array_lengths["tokenizer.ggml.tokens"] == 300
    assert len(header.tensors) == 8
    assert header.tensors[0].dims == (64, 300)


@pytest.mark.parametrize("kind", TENSOR_TYPES.values(), ids=lambda kind: kind.name)
def test_every_tensor_type_of_todays_llama_cpp(kind: object) -> None:
    from entity_tui.models.tensor_types import TensorType

    assert isinstance(kind, TensorType)
    header = parsed(Gguf([], [("t", (kind.block_elements * 2, 3), kind.name)]).bytes())
    assert header.tensors[0].size_bytes == 6 * kind.block_bytes


def test_a_header_cut_at_any_byte_is_an_error_and_never_a_different_answer() -> None:
    data = llama_like().bytes()
    whole = parsed(data)
    for cut in range(whole.header_bytes):
        with pytest.raises(GgufError):
            parsed(data[:cut])
        with pytest.raises(GgufError):
            parsed(data[:cut], len(data))  # the size is stated, the bytes do not come
    with pytest.raises(GgufError, match="cut"):
        parsed(data[:-1])


HUGE = [2**31 - 1, 2**32 - 1, 2**32, 2**32 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1]


@pytest.mark.parametrize("count", HUGE)
def test_huge_counts_are_refused_without_memory_or_time(count: int) -> None:
    good = llama_like().bytes()
    head = b"GGUF" + struct.pack("<I", 3)
    string_key = struct.pack("<Q", 1) + b"k"
    hostile = [
        head + struct.pack("<QQ", count, 0),
        head + struct.pack("<QQ", 0, count),
        head + struct.pack("<QQ", 0, 1) + struct.pack("<Q", count) + b"k",
        head + struct.pack("<QQ", 0, 1) + string_key + struct.pack("<IQ", 8, count),
        *(head + struct.pack("<QQ", 0, 1) + string_key + struct.pack("<IIQ", 9, kind, count) for kind in range(13)),
        head + struct.pack("<QQ", 1, 0) + string_key + struct.pack("<IQIQ", 1, count, 0, 0),
        head + struct.pack("<QQ", 1, 0) + string_key + struct.pack("<IQQIQ", 2, count, count, 0, 0),
        head + struct.pack("<QQ", 1, 0) + string_key + struct.pack("<IQIQ", 1, 32, 0, count),
        head + struct.pack("<QQ", 1, 0) + struct.pack("<Q", count) + b"k",
    ]
    tracemalloc.start()
    began = time.perf_counter()
    for data in hostile:
        for padding in (b"", good, b"\xff" * 4096):
            with pytest.raises(GgufError):
                parsed(data + padding)
    assert time.perf_counter() - began < 2.0
    assert tracemalloc.get_traced_memory()[1] < 1 << 20
    tracemalloc.stop()


def test_a_huge_stated_file_does_not_make_a_huge_array_real() -> None:
    """The size is what a device claims; only bytes that come are believed."""
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k"
    endless = head + struct.pack("<IIQ", 9, 8, 9_000_000)
    with pytest.raises(GgufError):
        read_header(lambda offset, count: (endless + b"\0" * 64)[offset : offset + count], 1 << 40)


def test_deeply_nested_arrays_are_refused() -> None:
    head = b"GGUF" + struct.pack("<IQQ", 3, 0, 1) + struct.pack("<Q", 1) + b"k" + struct.pack("<I", 9)
    with pytest.raises(GgufError):
        parsed(head + struct.pack("<IQ", 9, 1) * 10_000)


@pytest.mark.parametrize(
    ("offsets", "words"),
    [([0, 0], "share"), ([0, 64], "share"), ([0, 17], "aligned"), ([0, 1 << 40], "cut"), ([1 << 62, 0], "cut")],
)
def test_overlapping_and_outlying_tensors_are_refused(offsets: list[int], words: str) -> None:
    file = Gguf([], [("a", (64,), "F32"), ("b", (64,), "F32")], offsets=offsets)
    with pytest.raises(GgufError, match=words):
        parsed(file.bytes())


@pytest.mark.parametrize(
    ("file", "words"),
    [
        (Gguf([("k", U32, 1), ("k", U32, 2)]), "twice"),
        (Gguf([("", U32, 1)]), "empty"),
        (Gguf([], [("t", (32,), "F32"), ("t", (32,), "F32")]), "twice"),
        (Gguf([], [("t" * 64, (32,), "F32")]), "too long"),
        (Gguf([], [("t", (1, 1, 1, 1, 1), "F32")]), "four dimensions"),
        (Gguf([], [("t", (33, 2), "Q4_0")]), "whole blocks"),
        (Gguf([("general.alignment", U32, 24)]), "power of two"),
        (Gguf([("general.alignment", U32, 0)]), "power of two"),
        (Gguf([("general.alignment", STRING, "32")]), "power of two"),
        (Gguf([("general.alignment", BOOL, 1)]), "power of two"),
    ],
)
def test_headers_that_contradict_themselves_are_refused(file: Gguf, words: str) -> None:
    with pytest.raises(GgufError, match=words):
        parsed(file.bytes())


def test_an_empty_tensor_and_an_empty_model_are_fine() -> None:
    assert parsed(Gguf([], [("t", (0, 4), "F32"), ("u", (8,), "F32")]).bytes()).tensors[0].size_bytes == 0
    assert parsed(Gguf().bytes()).tensors == ()


def test_removed_and_unknown_types_are_named() -> None:
    data = bytearray(Gguf([], [("t", (32,), "F32")]).bytes())
    for number, words in ((31, "Q4_0_4_4 is no longer"), (99, "not known"), (2**32 - 1, "not known")):
        place = bytes(data).index(b"t" + struct.pack("<IQ", 1, 32)) + 13
        data[place : place + 4] = struct.pack("<I", number)
        with pytest.raises(GgufError, match=words):
            parsed(bytes(data))


def test_other_files_are_not_gguf() -> None:
    for data in (
        b"",
        b"GGU",
        b"XGUF" + b"\0" * 60,
        b"\x7fELF" + b"\0" * 60,
        b"GGUF" + struct.pack("<I", 99) + b"\0" * 60,
    ):
        with pytest.raises(GgufError):
            parsed(data)


async def test_over_a_link_only_header_bytes_are_asked_for() -> None:
    data = llama_like().bytes() + b"\0" * 8_000_000
    asked: list[tuple[int, int]] = []

    async def read(offset: int, count: int) -> bytes:
        asked.append((offset, count))
        return data[offset : offset + count]

    header = await read_header_async(read, len(data))
    assert header == read_header(reader(data), len(data))
    assert sum(count for _, count in asked) == header.read_bytes <= 1 << 17


def test_a_long_array_of_numbers_is_passed_over_without_reading_it() -> None:
    file = llama_like()
    file.keys.insert(3, ("big", ARRAY, (F32, [0.0] * 200_000)))
    header = parsed(file.bytes())
    assert header.array_lengths["big"] == 200_000
    assert header.read_bytes < 250_000
    assert len(header.tensors) == 8


SEED = llama_like().bytes()


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5000), st.binary(min_size=1, max_size=9)), min_size=1, max_size=6))
def test_mutated_headers_are_read_or_refused(edits: list[tuple[int, bytes]]) -> None:
    data = bytearray(SEED)
    for place, piece in edits:
        place %= len(data)
        data[place : place + len(piece)] = piece
    try:
        parsed(bytes(data))
    except GgufError:
        return


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=600))
def test_any_bytes_after_the_magic_are_read_or_refused(tail: bytes) -> None:
    for head in (b"GGUF", b"GGUF\x03\0\0\0", b"GGUF\0\0\0\x03", b"GGUF\x01\0\0\0"):
        try:
            parsed(head + tail)
        except GgufError:
            continue
