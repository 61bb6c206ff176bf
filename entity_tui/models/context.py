"""The context window a model gets when nobody asks for one, from its file size and the free memory (ENTITY's rule)."""

from __future__ import annotations

from dataclasses import dataclass

MANUAL_WINDOWS = (1024, 2048, 4096, 8192)
_SMALL_FILE_GB = 1.6


@dataclass(frozen=True, slots=True)
class Window:
    """A derived window in tokens and the sentence that says why."""

    tokens: int
    reason: str
    rule: str = "ENTITY adaptiveContext"


def adaptive_window(size_bytes: int, free_bytes: float | None, *, trained_context: int | None = None) -> Window:
    """The automatic window. File size in decimal GB, free memory in GiB, comparisons strict (MainActivity.kt).

    Unknown memory (None, 0 or less) takes the smaller window, never the larger one. A model trained on fewer tokens
    gets no more than those; that bound is ours, the app only warns.
    """
    size_gb = size_bytes / 1e9
    free_gib = max(0.0, free_bytes or 0.0) / 2**30
    if size_gb < _SMALL_FILE_GB:
        tokens, bound = (8192, "> 3.0") if free_gib > 3.0 else (4096, "≤ 3.0")
        side = "< 1.6"
    else:
        tokens, bound = (4096, "> 2.2") if free_gib > 2.2 else (2048, "≤ 2.2")
        side = "≥ 1.6"
    if free_bytes is None or free_bytes <= 0:
        reason = f"a file of {size_gb:.2f} GB ({side} GB); available memory could not be read"
    else:
        reason = f"a file of {size_gb:.2f} GB ({side} GB) with {free_gib:.2f} GiB free ({bound} GiB)"
    if trained_context is not None and 0 < trained_context < tokens:
        return Window(trained_context, f"{reason}; {tokens} cut to what the model was trained on")
    return Window(tokens, reason)
