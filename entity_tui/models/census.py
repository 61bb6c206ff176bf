"""What is inside a model file: weights by type, what one generated token reads, and how much of it KleidiAI covers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from entity_tui.models.header import GgufHeader, TensorInfo
from entity_tui.models.kleidiai import ENTITY_ELIGIBLE
from entity_tui.models.kv import KvShape, kv_shape
from entity_tui.models.tensor_types import BY_NAME, FILE_TYPES, base_type_of

NOT_COUNTED = frozenset({"F32", "F64"})
"""ENTITY leaves these out of its coverage: norms and biases, which no quantised kernel is meant for."""


@dataclass(frozen=True, slots=True)
class TypeShare:
    """All tensors of one type. `per_token_bytes` is what generating one token reads of them."""

    type: str
    tensors: int
    elements: int
    size_bytes: int
    per_token_bytes: float

    @property
    def bits_per_weight(self) -> float:
        """Bits per weight of this type, scales included."""
        return self.size_bytes * 8 / self.elements if self.elements else 0.0


@dataclass(frozen=True, slots=True)
class Coverage:
    """A share of covered weights (0..1) by a named definition; None when there is nothing to count."""

    definition: str
    share: float | None
    covered: float
    counted: float

    @property
    def percent(self) -> int | None:
        """The share as ENTITY prints it: rounded half up."""
        return None if self.share is None else int(self.share * 100 + 0.5)


@dataclass(frozen=True, slots=True)
class Census:
    """One model file. Unknown values are None; sizes are bytes, `parameters` counts every element once."""

    architecture: str
    name: str
    size_label: str
    version: int
    big_endian: bool
    parameters: int
    tensor_count: int
    data_bytes: int
    file_bytes: int
    header_bytes: int
    read_bytes: int
    types: tuple[TypeShare, ...]
    """By bytes, largest first."""
    bits_per_weight: float
    file_type: str
    """What `general.file_type` says, or empty."""
    main_type: str
    """The type most weights really have."""
    file_type_note: str
    """Empty when the two agree; else the difference in words."""
    tied: bool
    trained_context: int | None
    layers: int | None
    embedding: int | None
    feed_forward: int | None
    """Width of a layer's feed-forward part that one token passes (of the experts used, all of them)."""
    heads: int | None
    kv_heads: int | None
    experts: int | None
    experts_used: int | None
    kv: KvShape | None
    vocabulary: int | None
    chat_template: str | None
    per_token_bytes: float
    entity_coverage: Coverage
    offenders: tuple[TensorInfo, ...]
    """The weights ENTITY's rule counts as not covered, largest first."""
    tensors: tuple[TensorInfo, ...]
    part: int = 1
    parts: int = 1


def group_coverage(groups: Iterable[tuple[str, int]]) -> Coverage:
    """ENTITY's coverage over (type name, parameters): eligible ÷ all quantised parameters (TensorCensus.kt)."""
    covered = counted = 0
    for name, elements in groups:
        if name in NOT_COUNTED:
            continue
        counted += elements
        covered += elements if name in ENTITY_ELIGIBLE else 0
    return Coverage(
        "by ENTITY's rule: parameters in Q4_0 and Q8_0, norms left out",
        covered / counted if counted else None,
        covered,
        counted,
    )


def group_bytes(groups: Iterable[tuple[str, int]]) -> float:
    """Bytes of (type name, parameters) groups: Σ n · b / 8. Raises KeyError for an unknown type."""
    return sum(elements * BY_NAME[name].bits_per_weight / 8 for name, elements in groups)


def kernel_coverage(types: Iterable[TypeShare], with_kernel: frozenset[str]) -> Coverage:
    """The share of the bytes one token reads whose weight type has a kernel among `with_kernel` types."""
    covered = counted = 0.0
    for share in types:
        counted += share.per_token_bytes
        covered += share.per_token_bytes if share.type in with_kernel else 0.0
    return Coverage(
        "by bytes read per token, this CPU's kernels", covered / counted if counted else None, covered, counted
    )


def per_token_share(tensor: TensorInfo, *, tied: bool, expert_share: float) -> float:
    """The part (0..1) of a tensor that generating one token reads.

    Of an embedding table one row is looked up, unless it is also the output matrix; of experts only those routed to.
    """
    rows = tensor.dims[1] if len(tensor.dims) > 1 else 1
    lookup = tensor.name in ("token_embd.weight", "per_layer_token_embd.weight", "position_embd.weight")
    if lookup and not (tied and tensor.name == "token_embd.weight"):
        return 1.0 / max(1, rows)
    if "_exps." in tensor.name or tensor.name.endswith("_exps"):
        return expert_share
    return 1.0


def census(header: GgufHeader) -> Census:
    """The census of one header. Never raises for a header that was read."""
    arch = header.text("general.architecture") or ""
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    experts, used = header.number(f"{arch}.expert_count"), header.number(f"{arch}.expert_used_count")
    expert_share = used / experts if experts and used and 0 < used <= experts else 1.0
    totals: dict[str, list[float]] = {}
    for tensor in header.tensors:
        total = totals.setdefault(tensor.type.name, [0, 0, 0, 0.0])
        total[0] += 1
        total[1] += tensor.elements
        total[2] += tensor.size_bytes
        total[3] += tensor.size_bytes * per_token_share(tensor, tied=tied, expert_share=expert_share)
    types = tuple(
        TypeShare(name, int(total[0]), int(total[1]), int(total[2]), total[3])
        for name, total in sorted(totals.items(), key=lambda item: (-item[1][2], item[0]))
    )
    parameters, data_bytes = sum(share.elements for share in types), sum(share.size_bytes for share in types)
    main = max((share for share in types), key=lambda share: share.elements, default=None)
    number = header.number("general.file_type")
    label = FILE_TYPES.get(number, f"unknown ({number})") if number is not None else ""
    heads = header.number(f"{arch}.attention.head_count")
    misses = [t for t in header.tensors if t.type.name not in ENTITY_ELIGIBLE | NOT_COUNTED]
    return Census(
        architecture=arch,
        name=header.text("general.name") or "",
        size_label=header.text("general.size_label") or "",
        version=header.version,
        big_endian=header.big_endian,
        parameters=parameters,
        tensor_count=len(header.tensors),
        data_bytes=data_bytes,
        file_bytes=header.size_bytes,
        header_bytes=header.header_bytes,
        read_bytes=header.read_bytes,
        types=types,
        bits_per_weight=data_bytes * 8 / parameters if parameters else 0.0,
        file_type=label,
        main_type=main.type if main else "",
        file_type_note=_type_note(label, types, parameters),
        tied=tied,
        trained_context=header.number(f"{arch}.context_length"),
        layers=header.number(f"{arch}.block_count"),
        embedding=header.number(f"{arch}.embedding_length"),
        feed_forward=_feed_forward(header, arch, used),
        heads=heads,
        kv_heads=header.number(f"{arch}.attention.head_count_kv"),
        experts=experts,
        experts_used=used,
        kv=kv_shape(header),
        vocabulary=header.array_lengths.get("tokenizer.ggml.tokens") or header.number(f"{arch}.vocab_size"),
        chat_template=header.text("tokenizer.chat_template"),
        per_token_bytes=sum(share.per_token_bytes for share in types),
        entity_coverage=group_coverage((share.type, share.elements) for share in types),
        offenders=tuple(sorted(misses, key=lambda t: (-t.elements, t.name))),
        tensors=header.tensors,
        part=(header.number("split.no") or 0) + 1,
        parts=header.number("split.count") or 1,
    )


def _feed_forward(header: GgufHeader, arch: str, experts_used: int | None) -> int | None:
    each = header.number(f"{arch}.expert_feed_forward_length")
    if each and experts_used:
        return each * experts_used
    value = header.values.get(f"{arch}.feed_forward_length")
    widths = value if isinstance(value, tuple) else (value,)
    return max((width for width in widths if isinstance(width, int) and not isinstance(width, bool)), default=None)


def _type_note(label: str, types: tuple[TypeShare, ...], parameters: int) -> str:
    """What the tensors say that the label does not; empty when most weights are what the label names."""
    if not label or not parameters:
        return ""
    expected = base_type_of(label)
    share = next((share.elements for share in types if share.type == expected), 0) / parameters
    if share >= 0.5:
        return ""
    biggest = max(types, key=lambda share: share.elements)
    return f"labelled {label}, but {biggest.elements / parameters:.0%} of the weights are {biggest.type}"


def merge_parts(parts: Iterable[GgufHeader]) -> GgufHeader:
    """One header for a split model, from the headers of all its parts in order. Raises ValueError when one is amiss.

    The first part carries the model's keys; offsets stay those within each part.
    """
    headers = list(parts)
    if not headers:
        raise ValueError("no parts")
    stated = headers[0].number("split.count") or 1
    if stated != len(headers):
        raise ValueError(f"the first part speaks of {stated} parts, {len(headers)} are there")
    for place, header in enumerate(headers):
        if (header.number("split.no") or 0) != place or (header.number("split.count") or 1) != stated:
            raise ValueError(f"part {place + 1} says it is part {(header.number('split.no') or 0) + 1}")
    tensors = tuple(tensor for header in headers for tensor in header.tensors)
    wanted = headers[0].number("split.tensors.count")
    if len({tensor.name for tensor in tensors}) != len(tensors) or (wanted is not None and wanted != len(tensors)):
        raise ValueError(f"the parts hold {len(tensors)} tensors, {wanted} are stated")
    first = headers[0]
    return GgufHeader(
        version=first.version,
        big_endian=first.big_endian,
        alignment=first.alignment,
        values={**first.values, "split.no": 0, "split.count": stated},
        array_lengths=first.array_lengths,
        tensors=tensors,
        data_offset=first.data_offset,
        header_bytes=sum(header.header_bytes for header in headers),
        size_bytes=sum(header.size_bytes for header in headers),
        read_bytes=sum(header.read_bytes for header in headers),
    )
