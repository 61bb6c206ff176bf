"""The tensor types of today's llama.cpp: number, name, block size; and what `general.file_type` stands for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TensorType:
    """One ggml type: `block_elements` weights are stored in `block_bytes` bytes, scales included."""

    number: int
    name: str
    block_elements: int
    block_bytes: int
    quantized: bool

    @property
    def bits_per_weight(self) -> float:
        """Bits per weight, block scales included: Q4_0 is 4.5."""
        return self.block_bytes * 8 / self.block_elements


def _types() -> dict[int, TensorType]:
    """ggml.h and ggml-common.h of llama.cpp build b11434."""
    plain = {0: ("F32", 4), 1: ("F16", 2), 24: ("I8", 1), 25: ("I16", 2), 26: ("I32", 4), 27: ("I64", 8)}
    plain |= {28: ("F64", 8), 30: ("BF16", 2)}
    blocks_of_32 = {2: ("Q4_0", 18), 3: ("Q4_1", 20), 6: ("Q5_0", 22), 7: ("Q5_1", 24), 8: ("Q8_0", 34)}
    blocks_of_32 |= {9: ("Q8_1", 36), 20: ("IQ4_NL", 18), 39: ("MXFP4", 17)}
    blocks_of_256 = {10: ("Q2_K", 84), 11: ("Q3_K", 110), 12: ("Q4_K", 144), 13: ("Q5_K", 176), 14: ("Q6_K", 210)}
    blocks_of_256 |= {15: ("Q8_K", 292), 16: ("IQ2_XXS", 66), 17: ("IQ2_XS", 74), 18: ("IQ3_XXS", 98)}
    blocks_of_256 |= {19: ("IQ1_S", 50), 21: ("IQ3_S", 110), 22: ("IQ2_S", 82), 23: ("IQ4_XS", 136)}
    blocks_of_256 |= {29: ("IQ1_M", 56), 34: ("TQ1_0", 54), 35: ("TQ2_0", 66)}
    rows = [(number, name, 1, size, False) for number, (name, size) in plain.items()]
    rows += [(number, name, 32, size, True) for number, (name, size) in blocks_of_32.items()]
    rows += [(number, name, 256, size, True) for number, (name, size) in blocks_of_256.items()]
    rows += [(40, "NVFP4", 64, 36, True), (41, "Q1_0", 128, 18, True), (42, "Q2_0", 64, 18, True)]
    return {row[0]: TensorType(*row) for row in sorted(rows)}


TENSOR_TYPES: Mapping[int, TensorType] = MappingProxyType(_types())
"""Every type llama.cpp can load, by its number in the file."""

REMOVED_TYPES: Mapping[int, str] = MappingProxyType(
    {
        **{4: "Q4_2", 5: "Q4_3", 31: "Q4_0_4_4", 32: "Q4_0_4_8", 33: "Q4_0_8_8"},
        **{36: "IQ4_NL_4_4", 37: "IQ4_NL_4_8", 38: "IQ4_NL_8_8"},
    }
)
"""Types that llama.cpp once wrote and no longer loads."""

FILE_TYPES: Mapping[int, str] = MappingProxyType(
    {
        **{0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 8: "Q5_0", 9: "Q5_1", 10: "Q2_K", 11: "Q3_K_S"},
        **{12: "Q3_K_M", 13: "Q3_K_L", 14: "Q4_K_S", 15: "Q4_K_M", 16: "Q5_K_S", 17: "Q5_K_M", 18: "Q6_K"},
        **{19: "IQ2_XXS", 20: "IQ2_XS", 21: "Q2_K_S", 22: "IQ3_XS", 23: "IQ3_XXS", 24: "IQ1_S", 25: "IQ4_NL"},
        **{26: "IQ3_S", 27: "IQ3_M", 28: "IQ2_S", 29: "IQ2_M", 30: "IQ4_XS", 31: "IQ1_M", 32: "BF16"},
        **{36: "TQ1_0", 37: "TQ2_0", 38: "MXFP4", 39: "NVFP4", 40: "Q1_0", 41: "Q2_0"},
    }
)
"""`general.file_type` (llama_ftype) in the words of a file name."""

BY_NAME: Mapping[str, TensorType] = MappingProxyType({kind.name: kind for kind in TENSOR_TYPES.values()})


def base_type_of(label: str) -> str:
    """The tensor type most weights of a file labelled `label` should have: `Q4_K_M` is mostly Q4_K.

    Labels that mix types by design (IQ2_M, IQ3_M) give their own main type; an unknown label gives itself.
    """
    upper = label.upper()
    mixed = {"IQ2_M": "IQ2_S", "IQ3_M": "IQ3_S", "IQ3_XS": "IQ3_S", "Q2_K_S": "Q2_K"}
    if upper in mixed:
        return mixed[upper]
    for suffix in ("_S", "_M", "_L"):
        if upper.startswith("Q") and upper.endswith("_K" + suffix):
            return upper[: -len(suffix)]
    return upper
