"""What a line is built of: glyphs and what was made of them, each set like one letter.

Contract: an `Atom` knows where it stands and how big it is set; positions are points, y grows downwards. A `Finder`
holds the atoms of a column by x.
"""

from __future__ import annotations

import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from livek12.dataset_builders.ingest import latex
from livek12.dataset_builders.ingest.geometry import Bounds
from livek12.dataset_builders.ingest.glyphs import Glyph

AXIS: Final = 0.26
"""Height of the fraction bar over the base line, in letter sizes."""
FENCES: Final = frozenset("()[]{}|∣‖⟨⟩⌊⌋⌈⌉")
"""Signs that are stretched to what they enclose: their middle says where they stand, their size nothing."""
BIG: Final = frozenset("∑∏∫∬∮⋃⋂√")


@dataclass(slots=True)
class Atom:
    """Something that is set like one letter: a glyph, a word, a fraction."""

    text: str
    left: float
    top: float
    right: float
    bottom: float
    base: float
    size: float
    math: bool = False
    built: bool = False
    bold: bool = False
    sound: bool = True
    advance: float = 0.0
    upright: bool = False
    confidence: float = 1.0

    @property
    def middle(self) -> float:
        """X of its centre."""
        return (self.left + self.right) / 2

    @property
    def axis(self) -> float:
        """Y of the line it is centred on."""
        return self.base - AXIS * self.size

    @property
    def height(self) -> float:
        """Of its ink."""
        return self.bottom - self.top


def atom_of(glyph: Glyph) -> Atom:
    """A glyph as an atom."""
    math = glyph.math or (len(glyph.text) == 1 and latex.is_math_letter(glyph.text))
    base, size = glyph.base, glyph.size
    if glyph.text in FENCES and glyph.math:
        size = min(size, glyph.bottom - glyph.top)
        base = (glyph.top + glyph.bottom) / 2 + AXIS * size
    return Atom(
        glyph.text,
        glyph.left,
        glyph.top,
        glyph.right,
        glyph.bottom,
        base,
        size,
        math,
        bold=glyph.bold,
        sound=glyph.sound,
        advance=glyph.advance,
        confidence=glyph.confidence,
        upright=len(glyph.text) == 1 and glyph.text.isascii() and glyph.text.isalpha(),
    )


def around(atoms: Sequence[Atom]) -> Bounds:
    """The smallest box around all."""
    return (
        min(atom.left for atom in atoms),
        min(atom.top for atom in atoms),
        max(atom.right for atom in atoms),
        max(atom.bottom for atom in atoms),
    )


def joined(text: str, atoms: Sequence[Atom], base: float, size: float, *, extra: Bounds | None = None) -> Atom:
    """One atom in the place of its parts.

    Args:
        text: its LaTeX.
        atoms: the parts.
        base: y of its base line.
        size: of its letters.
        extra: a box it covers as well.
    """
    left, top, right, bottom = around(atoms)
    if extra:
        left, top, right, bottom = min(left, extra[0]), min(top, extra[1]), max(right, extra[2]), max(bottom, extra[3])
    sound = all(atom.sound for atom in atoms)
    sure = sum(atom.confidence for atom in atoms) / len(atoms)
    return Atom(text, left, top, right, bottom, base, size, True, True, sound=sound, advance=right, confidence=sure)


class Finder:
    """Atoms by where they stand; taken ones are gone."""

    def __init__(self, atoms: list[Atom]) -> None:
        self.atoms = sorted(atoms, key=lambda atom: atom.left)
        self.lefts = [atom.left for atom in self.atoms]
        self.widest = max((atom.right - atom.left for atom in atoms), default=0.0)

    def between(self, left: float, right: float) -> list[Atom]:
        """Those whose centre is between two x, from left to right."""
        first = bisect.bisect_left(self.lefts, left - self.widest)
        last = bisect.bisect_right(self.lefts, right)
        return [atom for atom in self.atoms[first:last] if left <= atom.middle <= right]

    def replace(self, gone: Sequence[Atom], new: Sequence[Atom]) -> None:
        """Puts one thing in the place of its parts."""
        for atom in gone:
            at = bisect.bisect_left(self.lefts, atom.left)
            while self.atoms[at] is not atom:
                at += 1
            del self.atoms[at], self.lefts[at]
        for atom in new:
            at = bisect.bisect_left(self.lefts, atom.left)
            self.atoms.insert(at, atom)
            self.lefts.insert(at, atom.left)
            self.widest = max(self.widest, atom.right - atom.left)
