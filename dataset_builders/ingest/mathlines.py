"""Printed lines from glyphs, formulas as LaTeX.

Contract: `lines_of` takes the glyphs and the free horizontal rules of one column and gives its lines from top to
bottom. Small glyphs raised or lowered beside bigger ones are scripts and go to the line of these.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from livek12.dataset_builders.ingest.atoms import BIG, FENCES, Atom, around, atom_of
from livek12.dataset_builders.ingest.geometry import Bounds, Rule
from livek12.dataset_builders.ingest.glyphs import Glyph
from livek12.dataset_builders.ingest.mathbuild import accents, bars, brackets, functions, operators
from livek12.dataset_builders.ingest.mathrows import cases, matrices
from livek12.dataset_builders.ingest.writing import written

_LONGEST_SCRIPT = 6
"""Letters of a run that OCR read as one: a longer one is text, wherever it stands."""
_PLAIN_FENCE = 1.2
"""Letter sizes: a bracket that is not higher stands on the base line of its line."""


@dataclass(slots=True)
class TextLine:
    """One line: its text and where it stands, in points."""

    text: str
    box: Bounds
    size: float
    base: float
    bold: bool
    sound: bool
    confidence: float = 1.0


def lines_of(glyphs: Iterable[Glyph], rules: Sequence[Rule]) -> list[TextLine]:
    """The lines of a column, from top to bottom; one that a rule runs over or through, unread, is not sound."""
    atoms = [atom_of(glyph) for glyph in glyphs]
    atoms = brackets(atoms)
    rules = sorted(rules, key=lambda rule: rule.right - rule.left)
    atoms = operators(functions(accents(atoms, rules)))
    atoms = matrices(cases(operators(bars(atoms, rules))))
    lines = [line for line in map(_line, _rows(atoms)) if line.text.strip()]
    for rule in rules:
        for line in lines:
            line.sound = line.sound and not _cuts(rule, line, lines)
    return lines


def _cuts(rule: Rule, line: TextLine, lines: Sequence[TextLine]) -> bool:
    """Whether a rule of which nothing was made stands over letters of a line or through them, not under any."""
    left, top, right, _ = line.box
    y = (rule.top + rule.bottom) / 2
    if min(right, rule.right) - max(left, rule.left) < 0.5 * (rule.right - rule.left):
        return False
    if not top - 0.3 * line.size < y < line.base - 0.12 * line.size:
        return False
    return not any(
        other is not line
        and other.box[0] < rule.right
        and rule.left < other.box[2]
        and 0 <= y - other.base < 0.5 * other.size
        for other in lines
    )


def _rows(atoms: list[Atom]) -> list[list[Atom]]:
    """Groups what stands on one line; the first of each group says where the line and how big its letters are."""
    ink = [atom for atom in atoms if atom.text.strip()]
    small = _small(ink)
    rows: list[list[Atom]] = []
    stretched = [atom for atom in ink if id(atom) not in small and _stretched(atom)]
    loose = {id(atom) for atom in stretched}
    for atom in sorted((atom for atom in ink if id(atom) not in small | loose), key=lambda atom: atom.axis):
        last = rows[-1] if rows else None
        if last and atom.axis - sum(one.axis for one in last) / len(last) < 0.42 * min(atom.size, last[0].size):
            last.append(atom)
        else:
            rows.append([atom])
    _place(rows, [*stretched, *(atom for atom in ink if id(atom) in small)])
    rows = [_headed(row, small) for row in rows]
    for atom in atoms:
        if not atom.text.strip():
            home = min(rows, key=lambda row: abs(row[0].base - atom.base), default=None)
            if home is not None and abs(home[0].base - atom.base) < 0.5 * home[0].size:
                home.append(atom)
    return rows


def _stretched(atom: Atom) -> bool:
    """Whether it is a bracket or a big sign whose base line does not say where its line is."""
    if atom.built or atom.text not in FENCES | BIG:
        return False
    return (
        atom.text in BIG or atom.bottom - atom.top > _PLAIN_FENCE * atom.size or not atom.top < atom.axis < atom.bottom
    )


def _headed(row: list[Atom], small: set[int]) -> list[Atom]:
    """Puts the letter first that is set as most of the line is."""
    plain = [atom for atom in row if not atom.built and id(atom) not in small and atom.text not in FENCES | BIG] or row
    sizes: dict[int, float] = {}
    for atom in plain:
        sizes[round(2 * atom.size)] = sizes.get(round(2 * atom.size), 0.0) + max(1.0, atom.right - atom.left)
    common = max(sizes, key=lambda size: sizes[size])
    usual = sorted((atom for atom in plain if round(2 * atom.size) == common), key=lambda atom: atom.base)
    head = usual[len(usual) // 2]
    return [head, *(atom for atom in row if atom is not head)]


def _small(atoms: list[Atom]) -> set[int]:
    """Scripts: smaller than what stands beside them, and raised or lowered."""
    found: set[int] = set()
    ordered = sorted(atoms, key=lambda atom: atom.left)
    lefts = [atom.left for atom in ordered]
    for atom in atoms:
        if len(atom.text) > _LONGEST_SCRIPT and not atom.built:
            continue
        reach = 0.45 * atom.size
        first = bisect.bisect_left(lefts, atom.left - 80)
        for other in ordered[first : bisect.bisect_right(lefts, atom.right + reach)]:
            if other is atom or other.size < 1.15 * atom.size or other.text in FENCES:
                continue
            beside = (
                -0.6 * atom.size < atom.left - other.right < 3.2 * atom.size or 0 <= other.left - atom.right < reach
            )
            level = atom.top < other.bottom + 0.5 * other.size and atom.bottom > other.top - 0.75 * other.size
            if atom.built or atom.text in FENCES:
                shifted = abs(atom.axis - other.axis) > 0.2 * other.size
            else:
                shifted = abs(atom.base - other.base) > 0.1 * other.size
            if beside and level and shifted:
                found.add(id(atom))
                break
    return found


def _place(rows: list[list[Atom]], small: list[Atom]) -> None:
    """Scripts go to the line whose letters they stand beside."""
    spans = [(min(a.top for a in row), max(a.bottom for a in row), max(a.size for a in row)) for row in rows]
    homes: dict[int, int] = {}
    for atom in sorted(small, key=lambda atom: atom.left):
        best, cost = None, 1e9
        centre = (atom.top + atom.bottom) / 2
        for at, (top, bottom, size) in enumerate(spans):
            if not top - 0.7 * size < centre < bottom + 0.6 * size:
                continue
            for host in rows[at]:
                gap = min(abs(atom.left - host.right), abs(host.left - atom.right) + 0.2 * size)
                away = gap + max(0.0, host.top - 0.2 * size - centre, centre - host.bottom - 0.2 * size)
                if id(host) in homes:
                    away += 0.05 * size
                if away < cost:
                    best, cost = at, away
        if best is None:
            rows.append([atom])
            spans.append((atom.top, atom.bottom, atom.size))
        else:
            rows[best].append(atom)
            homes[id(atom)] = best


def _line(row: list[Atom]) -> TextLine:
    head = row[0]
    ink = [atom for atom in row if atom.text.strip()]
    ordered = sorted(row, key=lambda atom: (atom.left, atom.right))
    try:
        text, sound = written(ordered, head), all(atom.sound for atom in ink)
    except RecursionError:  # letters that each seem a script of the next: as they stand, and said to be unread
        text, sound = "".join(atom.text for atom in ordered), False
    letters = sum(len(atom.text) for atom in ink)
    bold = 2 * sum(len(atom.text) for atom in ink if atom.bold) > letters
    plain = [atom for atom in ink if not atom.built] or ink
    size = sorted(atom.size for atom in plain)[len(plain) // 2]
    sure = sum(atom.confidence * len(atom.text) for atom in ink) / max(1, letters)
    return TextLine(text, around(ink), size, head.base, bold, sound, sure)
