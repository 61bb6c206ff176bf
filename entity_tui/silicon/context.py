"""The automatic context window as a plain number, for callers that need no reason with it."""

from __future__ import annotations

from entity_tui.models.context import MANUAL_WINDOWS, adaptive_window


def adaptive_context(file_bytes: int, available_bytes: int | None) -> int:
    """ENTITY's automatic window in tokens: `models.context.adaptive_window`, the one place the rule stands."""
    return adaptive_window(file_bytes, available_bytes).tokens


__all__ = ["MANUAL_WINDOWS", "adaptive_context"]
