"""A GGUF header read piece by piece, so that a file on a phone need not be pulled and a hostile one cannot hurt.

The parser never touches a file: it asks for byte ranges and is given bytes. Every count is checked against what the
file could hold before anything is allocated for it, and all failures are GgufError.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from entity_tui.models.tensor_types import REMOVED_TYPES, TENSOR_TYPES, TensorType
from entity_tui.models.window import MAX_STRING_BYTES, GgufError, Keeper, Need, Window

MAX_TENSORS = 100_000
MAX_KEYS = 100_000
MAX_ARRAY = 10_000_000
MAX_NAME_BYTES = 63
"""ggml's own limit for a tensor's name."""
KEPT_ARRAY = 256
"""Arrays up to this length are kept; of longer ones (a vocabulary) only the length."""
_DEPTH = 3

Value = bool | int | float | str | tuple["Value", ...]


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: its shape (fastest dimension first), type, and place relative to the start of the data."""

    name: str
    dims: tuple[int, ...]
    type: TensorType
    offset: int
    elements: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class GgufHeader:
    """Everything before the weights. `read_bytes` is what crossed the link, `header_bytes` what the header is long."""

    version: int
    big_endian: bool
    alignment: int
    values: Mapping[str, Value]
    array_lengths: Mapping[str, int]
    tensors: tuple[TensorInfo, ...]
    data_offset: int
    header_bytes: int
    size_bytes: int
    read_bytes: int

    def text(self, key: str) -> str | None:
        """The string under `key`, or None when it is absent or another type."""
        value = self.values.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """The integer under `key`, or None when it is absent or another type."""
        value = self.values.get(key)
        return value if isinstance(value, int) and not isinstance(value, bool) else None


_SCALARS: Mapping[int, tuple[str, int]] = {
    **{0: ("B", 1), 1: ("b", 1), 2: ("H", 2), 3: ("h", 2), 4: ("I", 4), 5: ("i", 4), 6: ("f", 4), 7: ("B", 1)},
    **{10: ("Q", 8), 11: ("q", 8), 12: ("d", 8)},
}
_BOOL, _STRING, _ARRAY = 7, 8, 9


def header_steps(size_bytes: int) -> Generator[Need, bytes, GgufHeader]:
    """The parser: yields ranges it needs, is sent their bytes, returns the header. Raises GgufError."""
    window, keeper = Window(size_bytes), Keeper()
    version, big_endian = yield from _version(window)
    tensor_count = yield from window.count()
    key_count = yield from window.count()
    smallest = 13 if window.wide else 9
    if key_count > min(MAX_KEYS, window.remaining() // smallest):
        raise GgufError("The header states more keys than the file can hold.", detail=str(key_count))
    values, lengths = yield from _values(window, keeper, key_count)
    alignment = values.get("general.alignment", 32)
    if isinstance(alignment, bool) or not isinstance(alignment, int) or alignment <= 0 or alignment & (alignment - 1):
        raise GgufError("general.alignment is not a power of two.", detail=repr(alignment)[:80])
    if tensor_count > min(MAX_TENSORS, window.remaining() // (24 if window.wide else 20)):
        raise GgufError("The header states more tensors than the file can hold.", detail=str(tensor_count))
    tensors = yield from _tensors(window, tensor_count)
    header_bytes = window.offset
    data_offset = -(-header_bytes // alignment) * alignment
    _check_places(tensors, alignment, size_bytes - data_offset)
    return GgufHeader(
        version=version,
        big_endian=big_endian,
        alignment=alignment,
        values=MappingProxyType(values),
        array_lengths=MappingProxyType(lengths),
        tensors=tensors,
        data_offset=data_offset,
        header_bytes=header_bytes,
        size_bytes=size_bytes,
        read_bytes=window.read_bytes,
    )


def _version(window: Window) -> Generator[Need, bytes, tuple[int, bool]]:
    if window.size < 8:
        raise GgufError("This is not a GGUF file.", detail=f"{window.size} bytes")
    yield from window.ensure(8)
    magic, raw = window.data[:4], window.data[4:8]
    if magic != b"GGUF":
        raise GgufError("This is not a GGUF file.", detail=f"it starts with {magic!r}")
    window.pos += 8
    version, swapped = int.from_bytes(raw, "little"), int.from_bytes(raw, "big")
    big_endian = version & 0xFFFF == 0 and swapped in (1, 2, 3)
    if big_endian:
        version, window.order = swapped, ">"
    if version not in (1, 2, 3):
        raise GgufError(f"GGUF version {version} is not known.", detail="known: 1, 2, 3")
    window.wide = version > 1
    return version, big_endian


def _values(
    window: Window, keeper: Keeper, count: int
) -> Generator[Need, bytes, tuple[dict[str, Value], dict[str, int]]]:
    values: dict[str, Value] = {}
    lengths: dict[str, int] = {}
    for _ in range(count):
        key = yield from window.string(65_535, "A key")
        if not key or key in values or key in lengths:
            raise GgufError("A key is empty, endless or there twice.", detail=repr(key)[:80])
        keeper.keep(len(key) + 100)
        kind = yield from window.number("I", 4)
        value, length = yield from _value(window, keeper, int(kind), 0)
        if length is not None:
            lengths[key] = length
        if value is not None:
            values[key] = value
    return values, lengths


def _value(
    window: Window, keeper: Keeper, kind: int, depth: int
) -> Generator[Need, bytes, tuple[Value | None, int | None]]:
    """(the value, or None when it is too long to keep; the length when it is an array)."""
    if kind == _STRING:
        text = yield from window.string(MAX_STRING_BYTES, "A value")
        keeper.walk(1)
        keeper.keep(len(text or ""))
        return text, None
    if kind in _SCALARS:
        number = yield from window.number(*_SCALARS[kind])
        return (bool(number) if kind == _BOOL else number), None
    if kind != _ARRAY or depth >= _DEPTH:
        raise GgufError("A value has a type GGUF does not have.", detail=f"type {kind} at {window.offset}")
    inner = int((yield from window.number("I", 4)))
    length = yield from window.count()
    if length > MAX_ARRAY:
        raise GgufError("An array is longer than any real one.", detail=f"{length} items")
    if inner in _SCALARS and length > KEPT_ARRAY:
        window.skip(length * _SCALARS[inner][1])
        return None, length
    if inner == _STRING and length > KEPT_ARRAY:
        keeper.walk(length)
        yield from window.pass_strings(length)
        return None, length
    if length * (_SCALARS[inner][1] if inner in _SCALARS else 4) > window.remaining():
        raise GgufError("An array is longer than the file.", detail=f"{length} items at {window.offset}")
    items: list[Value] = []
    for _ in range(length):
        keeper.keep(32)
        item, _length = yield from _value(window, keeper, inner, depth + 1)
        if item is not None:
            items.append(item)
    return tuple(items), length


def _tensors(window: Window, count: int) -> Generator[Need, bytes, tuple[TensorInfo, ...]]:
    tensors: list[TensorInfo] = []
    names: set[str] = set()
    for _ in range(count):
        name = yield from window.string(MAX_NAME_BYTES, "A tensor's name")
        if name is None or name in names:
            raise GgufError("A tensor's name is too long or there twice.", detail=repr(name)[:80])
        names.add(name)
        dimensions = int((yield from window.number("I", 4)))
        if dimensions > 4:
            raise GgufError("A tensor has more than four dimensions.", detail=f"{name[:64]!r}: {dimensions}")
        dims: list[int] = []
        for _ in range(dimensions):
            dims.append((yield from window.count()))  # noqa: PERF401 - a generator cannot stand in a comprehension
        kind = int((yield from window.number("I", 4)))
        offset = int((yield from window.number("Q", 8)))
        tensors.append(_tensor(name, tuple(dims), kind, offset))
    return tuple(tensors)


def _tensor(name: str, dims: tuple[int, ...], kind: int, offset: int) -> TensorInfo:
    tensor_type = TENSOR_TYPES.get(kind)
    if tensor_type is None:
        known = REMOVED_TYPES.get(kind)
        raise GgufError(
            f"Tensor type {known} is no longer supported." if known else "A tensor's type is not known.",
            detail=f"{name!r}: type {kind}",
            fix="Convert the model again with a current llama.cpp.",
        )
    elements = 1
    for size in dims:
        elements *= size
        if elements >= 1 << 63 or size >= 1 << 63:
            raise GgufError("A tensor's shape overflows.", detail=f"{name!r}: {dims}")
    if (dims[0] if dims else 1) % tensor_type.block_elements:
        raise GgufError("A tensor's rows are not whole blocks.", detail=f"{name!r}: {dims} of {tensor_type.name}")
    size_bytes = elements // tensor_type.block_elements * tensor_type.block_bytes
    return TensorInfo(name, dims, tensor_type, offset, elements, size_bytes)


def _check_places(tensors: tuple[TensorInfo, ...], alignment: int, data_bytes: int) -> None:
    """Each tensor is aligned, inside the file, and on no other one's bytes."""
    end, last = 0, ""
    for tensor in sorted(tensors, key=lambda tensor: (tensor.offset, tensor.size_bytes)):
        if tensor.offset % alignment:
            raise GgufError("A tensor's data are not aligned.", detail=f"{tensor.name!r} at {tensor.offset}")
        if tensor.offset + tensor.size_bytes > data_bytes:
            raise GgufError(
                "The file is cut: a tensor's data lie past its end.",
                detail=f"{tensor.name!r} ends at {tensor.offset + tensor.size_bytes} of {data_bytes} bytes of data",
                fix="Fetch the file again; its size or sha256 will tell.",
            )
        if tensor.size_bytes and tensor.offset < end:
            raise GgufError("Two tensors share the same bytes.", detail=f"{last!r} and {tensor.name!r}")
        if tensor.size_bytes:
            end, last = tensor.offset + tensor.size_bytes, tensor.name


def read_header(read: Callable[[int, int], bytes], size_bytes: int) -> GgufHeader:
    """The header of a file of `size_bytes` whose bytes `read(offset, count)` gives. Raises GgufError, or read's own."""
    steps = header_steps(size_bytes)
    try:
        need = next(steps)
        while True:
            need = steps.send(read(*need))
    except StopIteration as ended:
        header: GgufHeader = ended.value
        return header


async def read_header_async(read: Callable[[int, int], Awaitable[bytes]], size_bytes: int) -> GgufHeader:
    """As `read_header`, over a link. Raises GgufError, or the link's own errors."""
    steps = header_steps(size_bytes)
    try:
        need = next(steps)
        while True:
            need = steps.send(await read(*need))
    except StopIteration as ended:
        header: GgufHeader = ended.value
        return header
