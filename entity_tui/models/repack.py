"""Which weights llama.cpp copies into an interleaved layout at load, and so holds twice when the file is mapped."""

from __future__ import annotations

from collections.abc import Iterable

from entity_tui.device.isa import IsaFeatures
from entity_tui.models.header import TensorInfo

_ARM = frozenset({"Q4_0", "Q4_K", "Q5_K", "Q6_K", "Q8_0", "Q1_0"})
_ARM_DOTPROD = frozenset({"IQ4_NL", "MXFP4"})
_AVX2 = frozenset({"Q4_0", "Q4_K", "IQ4_NL", "MXFP4"})
_ROWS_OF_8 = frozenset({"Q4_K", "Q5_K", "Q6_K"})


def repacked_types(isa: IsaFeatures) -> frozenset[str] | None:
    """The types repacked on this CPU (ggml-cpu/repack.cpp, build b11434); None when its features are unknown."""
    if isa.architecture.startswith("x86"):
        return _AVX2 if "avx2" in isa.names or "avx2" in isa.common else frozenset()
    if isa.dotprod is None and isa.i8mm is None:
        return None
    if isa.dotprod:
        return _ARM | _ARM_DOTPROD
    return _ARM if isa.i8mm else frozenset()


def is_repacked(tensor: TensorInfo, types: frozenset[str], *, x86: bool) -> bool:
    """True when this tensor is copied: a matrix of such a type whose rows divide by the interleave."""
    if tensor.type.name not in types or len(tensor.dims) < 2 or tensor.name == "token_embd.weight":
        return False
    rows = tensor.dims[1]
    return rows % (8 if x86 or tensor.type.name in _ROWS_OF_8 else 4) == 0


def repack_bytes(tensors: Iterable[TensorInfo], isa: IsaFeatures, *, tied: bool) -> int | None:
    """Bytes of the second copy; None when the CPU's features are unknown.

    A tied embedding table serves as the output matrix through a copy of its own, which is repacked when its type is.
    """
    types = repacked_types(isa)
    if types is None:
        return None
    x86 = isa.architecture.startswith("x86")
    total = 0
    for tensor in tensors:
        output = tied and tensor.name == "token_embd.weight" and tensor.type.name in types
        if is_repacked(tensor, types, x86=x86) or (output and tensor.dims[1] % 8 == 0):
            total += tensor.size_bytes
    return total
