"""Formulas as rows of characters: two-dimensional where it can be drawn, on one line where it must, else as written."""

from __future__ import annotations

import re
from functools import lru_cache

LONGEST = 2_000
"""A longer formula is shown as written."""

_LINEAR = (
    (re.compile(r"\\(?:d|t)?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}"), r"(\1)/(\2)"),
    (re.compile(r"\\sqrt\s*\{([^{}]*)\}"), r"√(\1)"),
    (re.compile(r"\\(?:text|mathrm|mathbf|operatorname)\s*\{([^{}]*)\}"), r"\1"),
    (re.compile(r"\\left|\\right|\\,|\\;|\\!|\\quad|\\displaystyle"), ""),
)
_NAMES: str = (
    "alpha α beta β gamma γ delta δ epsilon ε theta θ lambda λ mu μ pi π rho ρ sigma σ tau τ phi φ omega ω "
    "Delta Δ Sigma Σ Omega Ω Pi Π times × cdot · le ≤ leq ≤ ge ≥ geq ≥ neq ≠ ne ≠ approx ≈ infty ∞ sum ∑ prod ∏ int ∫ "
    "to → rightarrow → leftarrow ← pm ± in ∈ forall ∀ exists ∃ partial ∂ nabla ∇ ldots … dots … cdots …"
)
_WORDS = _NAMES.split()
_SYMBOLS = dict(zip(_WORDS[::2], _WORDS[1::2], strict=True))
_SUPERSCRIPTS = str.maketrans("0123456789+-=()ni", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱ")
_SUBSCRIPTS = str.maketrans("0123456789+-=()aeijnt", "₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑᵢⱼₙₜ")


@lru_cache(maxsize=256)
def display(source: str) -> tuple[str, ...]:
    """Rows of a display formula: drawn by the optional `math` package, else linear, else the source."""
    drawn = _drawn(source)
    return drawn if drawn is not None else (linear(source),)


@lru_cache(maxsize=1_024)
def linear(source: str) -> str:
    """A formula on one line; the source untouched when something in it has no linear form here."""
    text = source.strip()
    if len(text) > LONGEST:
        return text
    for _ in range(8):
        before = text
        for pattern, replacement in _LINEAR:
            text = pattern.sub(replacement, text)
        if text == before:
            break
    text = re.sub(r"\\([A-Za-z]+)", lambda found: _SYMBOLS.get(found[1], found[0]), text)
    text = _scripts(_scripts(text, "^", _SUPERSCRIPTS), "_", _SUBSCRIPTS)
    return source.strip() if "\\" in text else " ".join(text.split())


def _scripts(text: str, mark: str, table: dict[int, int]) -> str:
    """Exponents and indices that Unicode can write; the others keep their mark."""

    def small(found: re.Match[str]) -> str:
        inner = found[1] if found[1] is not None else found[2]
        moved = inner.translate(table)
        return moved if all(ord(character) in table for character in inner) else f"{mark}{inner}"

    return re.sub(re.escape(mark) + r"(?:\{([^{}]*)\}|(\w))", small, text)


def _drawn(source: str) -> tuple[str, ...] | None:
    """Two-dimensional rows by texicode, None when it is not installed or cannot draw this."""
    if len(source) > LONGEST:
        return None
    try:
        from texicode.pipeline import init_arts, render_tex_rows
    except ImportError:
        return None
    try:
        # Upright letters: the slanted ones lie outside the plane many terminal fonts cover.
        init_arts({"fonts": "normal"})
        rows = render_tex_rows(source.strip(), False)
    except Exception:  # a border: whatever the drawing package fails with, the formula is shown as written
        return None
    if not rows or any(row.startswith("TeXicode:") for row in rows):
        return None
    return tuple(str(row).rstrip() for row in rows)
