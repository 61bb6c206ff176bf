"""Models."""

from __future__ import annotations

from entity_tui.screens.frame_screen import FrameScreen


class ModelsScreen(FrameScreen):
    """Models."""

    tab = "models"
    title_words = "Models"
