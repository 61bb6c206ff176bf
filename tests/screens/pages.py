"""What a terminal shows, as text: the one place that asks Textual for its rendered strips."""

from __future__ import annotations

from textual.app import App


def page(app: App[None]) -> str:
    """Every row of the screen in view, right-stripped, as a terminal or tmux would capture it."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text.replace("\u2800", " ").rstrip() for strip in strips)
