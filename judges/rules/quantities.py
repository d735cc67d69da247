r"""Quantities as people write them by hand: 2 h 30 min, 5 ft 6 in, 1小时20分钟, and 2√3 cm, π/4 rad with plain letters.

Contract: pure, and linear in the text. Several units are one quantity only where they are of one kind, each smaller
than the one before, and no value but the last is broken or as large as the unit before it. Letters behind a value are a
unit only behind a space and a value that has no letters itself: one letter only where the other side of the comparison
has a unit (`letters`), for 2√3 m may be a formula in m.
"""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

from livek12.core.patterns import late
from livek12.judges.rules.notation import to_latex
from livek12.judges.rules.units import Unit, conversion, read_unit

MAX_CHARS = 60
_KINDS = [
    frozenset(f"{name}^1" for name in kind.split())
    for kind in ("d h min s", "mi yd ft in", "km m cm mm", "t kg g mg", "lb oz")
]
_CLOCK = frozenset({"时", "시"})
"""3时20分 is rather a time of day."""
_STYLE = late(r"\\(?:text|mathrm|textrm)\s*\{([^{}]*)\}|\\[,;: ]|~")
_PIECE = late(r"\s*(?P<number>\d{1,9}(?P<places>\.\d{1,9})?)\s*(?P<unit>[^\d\s,，.]{1,12})\.?\s*(?:and\b|又|零)?")


class Compound(NamedTuple):
    """A quantity in several units: its value in the first, the worth of its last digit (None: exact), its digits."""

    value: Fraction
    quantum: Fraction | None
    digits: int
    unit: Unit


def compound(text: str) -> Compound | None:
    """The quantity that a text with several units is; None for anything else."""
    if len(text) > MAX_CHARS:
        return None
    plain = _STYLE.sub(lambda style: f" {style[1] or ''} ", text).strip()
    pieces = []
    position = 0
    while position < len(plain):
        piece = _PIECE.match(plain, position)
        unit = read_unit(piece["unit"]) if piece and piece["unit"] not in _CLOCK else None
        if piece is None or unit is None:
            return None
        pieces.append((Fraction(piece["number"]), piece["places"], unit))
        position = piece.end()
    return _one(pieces)


def _one(pieces: list[tuple[Fraction, str | None, Unit]]) -> Compound | None:
    """The pieces as one quantity in the unit of the first."""
    if len(pieces) < 2 or not any(kind.issuperset(unit.symbol for _, _, unit in pieces) for kind in _KINDS):
        return None
    first = pieces[0][2]
    total, above = pieces[0][0], Fraction(1)
    for (_, places, _), (value, _, unit) in pairwise(pieces):
        _, size = conversion(unit.symbol, first.symbol)
        if places or size >= above or value * size >= above:
            return None
        total, above = total + value * size, size
    places = pieces[-1][1]
    quantum = above / 10 ** (len(places) - 1) if places else None
    return Compound(total, quantum, len(str(int(total / quantum))) if quantum else 0, first)


_BEHIND = late(
    r"(?P<value>.*(?:[\d)}\]π]|\\pi))(?:\s|\\[,;: ]|~)+(?P<unit>[A-Za-zΩ][A-Za-zΩ\d^/·{}²³⁻¹-]{0,20})",
    re.DOTALL,
)
_COMMAND = late(r"\\[a-zA-Z]+")
_NAME = late(r".*(?:[=≈]|\\approx(?![a-z]))", re.DOTALL)
_LETTER = late(r"[A-Za-z]")
_NO_FORMULA = late(
    r"(?<![A-Za-z])(?:rad|cm|mm|km|kg|mol|min|hr|[kMG]Hz|Hz|[kM]Pa|kWh)(?![A-Za-z])|(?<![A-Za-z])m/s(?![A-Za-z])"
)
"""Units whose letters nobody multiplies: mg, eV and kT may be weight, charge times voltage, and temperature."""


def upright(text: str, letters: bool = False) -> str:
    r"""A text with the plain letters of a unit behind its value set upright: "2√3 cm" as "2√3\text{ cm}".

    Args:
        text: an answer or a key.
        letters: whether any unit counts, for that is what the other side of the comparison has.
    """
    behind = _BEHIND.fullmatch(text) if len(text) <= MAX_CHARS else None
    if behind is None or not (letters or _NO_FORMULA.search(behind["unit"])):
        return text
    if _LETTER.search(_COMMAND.sub("", _NAME.sub("", behind["value"]))):
        return text
    unit = read_unit(to_latex(behind["unit"]))
    return f"{behind['value']}\\text{{ {behind['unit']}}}" if unit is not None and unit.symbol else text
