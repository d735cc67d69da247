"""Tall brackets whose font does not say what they are, told from their shape.

Contract: `name` looks at the picture of each tall unsound glyph and names the ones that are clearly a brace, a bracket,
a parenthesis or a bar; all others stay unsound. Fonts for formulas stretch these signs and give no Unicode for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from livek12.dataset_builders.ingest import pdf
from livek12.dataset_builders.ingest.glyphs import RawPage

if TYPE_CHECKING:
    import numpy as np

DPI = 360
MAX_GLYPHS = 400


def name(page: Any, raw: RawPage) -> None:
    """Names what it can in place."""
    tall = [
        g
        for g in raw.glyphs
        if not g.sound and g.bottom - g.top > 1.15 * g.size and g.right - g.left < 0.75 * (g.bottom - g.top)
    ]
    if not tall:
        return
    import numpy as np

    for glyph in tall[:MAX_GLYPHS]:
        box = (glyph.left - 0.2, glyph.top - 0.2, glyph.right + 0.2, glyph.bottom + 0.2)
        picture = pdf.drawn(page, DPI, box).convert("L")
        text = told(np.asarray(picture) < 140)
        if text:
            glyph.text, glyph.sound, glyph.math = text, True, True


def told(ink: np.ndarray[Any, Any]) -> str:
    """The bracket a picture shows; "" where it is not clear.

    Args:
        ink: rows of a picture, true where it is black.
    """
    import numpy as np

    rows = np.flatnonzero(ink.any(axis=1))
    columns = np.flatnonzero(ink.any(axis=0))
    if len(rows) < 20 or not len(columns):
        return ""
    ink = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]
    height, width = ink.shape
    filled = ink.any(axis=1)
    if filled.mean() < 0.97:
        return ""
    x = np.arange(width)
    centres = np.array([x[row].mean() if row.any() else np.nan for row in ink])
    if width < 0.1 * height and ink.mean() > 0.6:
        return "|"

    def at(share: float) -> float:
        one = int(share * (height - 1))
        here: float = np.nanmean(centres[max(0, one - 1) : one + 2]) / max(1, width - 1)
        return here

    end, quarter, inner, middle = (at(0.03) + at(0.97)) / 2, (at(0.25) + at(0.75)) / 2, (at(0.4) + at(0.6)) / 2, at(0.5)
    if abs(at(0.03) - at(0.97)) > 0.3 or abs(at(0.25) - at(0.75)) > 0.25:
        return ""
    ends = (ink[: max(1, height // 40)].any(axis=0).mean() + ink[-max(1, height // 40) :].any(axis=0).mean()) / 2
    if abs(middle - quarter) < 0.06 and abs(inner - middle) < 0.06 and ends > 0.7 and abs(end - middle) > 0.12:
        return "[" if end > middle else "]"
    turn = abs(middle - quarter)
    if turn > 0.18 and abs(inner - quarter) < 0.6 * turn and (end - quarter) * (quarter - middle) > 0:
        return "{" if quarter > middle else "}"
    if abs(end - middle) > 0.35 and (end - quarter) * (quarter - middle) > 0 and abs(inner - middle) < 0.15:
        return "(" if end > middle else ")"
    return ""
