"""Our two themes, and how any theme becomes the paper our widgets are drawn on."""

from __future__ import annotations

from textual.theme import Theme

from entity_tui.widgets.ink import ANSI, DARK, LIGHT, Paper, Tones, coloured, monochrome


def _theme(name: str, tones: Tones, *, dark: bool) -> Theme:
    return Theme(
        name=name,
        primary=tones.accent,
        secondary=tones.predicted,
        accent=tones.accent,
        warning=tones.warn,
        error=tones.bad,
        success=tones.good,
        foreground=tones.text,
        background=tones.background,
        surface=tones.cursor,
        panel=tones.cursor,
        dark=dark,
        variables={"border": tones.border, "footer-background": tones.background or ""},
    )


ENTITY_DARK = _theme("entity-dark", DARK, dark=True)
ENTITY_LIGHT = _theme("entity-light", LIGHT, dark=False)
OWN = {"entity-dark": DARK, "entity-light": LIGHT}


def tones_of(theme: Theme) -> Tones:
    """The tones of one of Textual's themes; what it does not name is taken from ours of the same brightness."""
    if theme.name in OWN:
        return OWN[theme.name]
    if theme.ansi:
        return ANSI
    base = DARK if theme.dark else LIGHT
    colours = theme.to_color_system().generate()

    def colour(name: str, otherwise: str) -> str:
        value = colours.get(name, otherwise)
        return value if value.startswith("#") and len(value) == 7 else otherwise

    return Tones(
        background=colour("background", base.background or "#000000"),
        text=colour("foreground", base.text or "#ffffff"),
        muted=colour("secondary", base.muted) if theme.name not in OWN else base.muted,
        accent=colour("accent", base.accent),
        good=colour("primary", base.good),
        warn=colour("warning", base.warn),
        bad=colour("error", base.bad),
        predicted=base.predicted,
        border=colour("surface-lighten-2", base.border),
        track=colour("surface-lighten-1", base.track),
        series=base.series,
        cursor=colour("surface", base.cursor),
    )


def paper_for(theme: Theme, *, ascii: bool, colour: bool) -> Paper:
    """The paper of a theme in a mode."""
    return coloured(tones_of(theme), ascii=ascii) if colour else monochrome(ascii=ascii)
