"""Placement."""

from __future__ import annotations

from entity_tui.screens.frame_screen import FrameScreen


class PlacementScreen(FrameScreen):
    """Placement."""

    tab = "placement"
    title_words = "Placement"
