"""History."""

from __future__ import annotations

from entity_tui.screens.frame_screen import FrameScreen


class HistoryScreen(FrameScreen):
    """History."""

    tab = "history"
    title_words = "History"
