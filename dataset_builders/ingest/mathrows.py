"""Formulas set in rows behind a brace or between brackets: cases and matrices.

Contract: as `mathbuild`: takes the atoms of a column and gives them back with what it recognised in the place of its
parts. What cannot be told is left as it stands.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from livek12.dataset_builders.ingest.atoms import AXIS, Atom, joined
from livek12.dataset_builders.ingest.writing import tex

_MATRIX: Final = {"(": "pmatrix", "[": "bmatrix", "|": "vmatrix", "∣": "vmatrix"}
_CLOSES: Final = {"(": ")", "[": "]", "|": "|", "∣": "∣"}


def cases(atoms: list[Atom]) -> list[Atom]:
    """What stands in rows behind a tall brace becomes cases."""
    braces = [atom for atom in atoms if atom.text == "{" and not atom.built and atom.height > 1.6 * atom.size]
    for brace in sorted(braces, key=lambda atom: -atom.left):
        size = brace.size
        inside = [
            atom
            for atom in atoms
            if atom.text.strip()
            and atom.left > brace.middle
            and atom.top > brace.top - 0.5 * size
            and atom.bottom < brace.bottom + 0.5 * size
        ]
        closed = any(atom.text == "}" and atom.height > 0.7 * brace.height for atom in inside)
        rows = [] if closed else _small_rows(inside, brace) or _rows_behind(inside, brace)
        if len(rows) < 2:
            continue
        body = " \\\\ ".join(_wide(row) for row in rows)
        parts = [brace, *(atom for row in rows for atom in row)]
        made = joined(
            f"\\begin{{cases}}{body}\\end{{cases}}", parts, (brace.top + brace.bottom) / 2 + AXIS * size, size
        )
        used = {id(atom) for atom in parts}
        atoms = [*(atom for atom in atoms if id(atom) not in used), made]
    return atoms


def _small_rows(atoms: list[Atom], brace: Atom) -> list[list[Atom]]:
    """Two rows set small, over and under the middle of a brace, up to the first big letter on its own line."""
    middle = (brace.top + brace.bottom) / 2
    reach = 0.2 * brace.height
    big = [atom for atom in atoms if atom.size > 0.83 * brace.size]
    level = [atom.left for atom in big if abs((atom.top + atom.bottom) / 2 - middle) < reach]
    inside = [atom for atom in atoms if atom.right <= min(level, default=1e9) + 0.5]
    if not inside or any(atom in big for atom in inside):
        return []
    halves = [[a for a in inside if ((a.top + a.bottom) / 2 > middle) == down] for down in (False, True)]
    return halves if all(halves) else []


def matrices(atoms: list[Atom]) -> list[Atom]:
    """What stands in rows between two tall brackets of one height becomes a matrix."""
    signs = [a for a in atoms if a.text in "()[]|∣" and not a.built and a.height > 1.35 * a.size and a.text.strip()]
    for first in sorted((a for a in signs if a.text in _MATRIX), key=lambda atom: -atom.left):
        last = min(
            (a for a in signs if a.text == _CLOSES[first.text] and a.left > first.right and _level(a, first)),
            key=lambda atom: atom.left,
            default=None,
        )
        if last is None or first not in atoms or last not in atoms:
            continue
        inside = [
            atom
            for atom in atoms
            if atom.text.strip() and first.middle < atom.middle < last.middle and atom not in (first, last)
            if first.top - 1 < (atom.top + atom.bottom) / 2 < first.bottom + 1
        ]
        rows = _matrix_rows(inside)
        if len(rows) < 2:
            continue
        cells = [_columns(row) for row in rows]
        body = " \\\\ ".join(" & ".join(tex(cell) for cell in row) for row in cells)
        parts = [first, *inside, last]
        name, middle = _MATRIX[first.text], (first.top + first.bottom) / 2
        text = f"\\begin{{{name}}}{body}\\end{{{name}}}"
        made = joined(text, parts, middle + AXIS * first.size, first.size)
        made.sound = made.sound and len({len(row) for row in cells}) == 1
        used = {id(atom) for atom in parts}
        atoms = [*(atom for atom in atoms if id(atom) not in used), made]
    return atoms


def _level(one: Atom, other: Atom) -> bool:
    return abs(one.top - other.top) < 0.15 * one.size and abs(one.bottom - other.bottom) < 0.15 * one.size


def _matrix_rows(atoms: list[Atom]) -> list[list[Atom]]:
    """Rows one clear under the other; none where anything stands between them."""
    size = max((atom.size for atom in atoms), default=0.0)
    rows = _rows(atoms, size, 0.83)
    apart = all(min(a.top for a in low) > max(a.bottom for a in high) - 0.1 * size for high, low in pairwise(rows))
    return rows if apart else []


def _rows(atoms: list[Atom], full: float, share: float) -> list[list[Atom]]:
    """Atoms by the lines of those that are larger than this share of the full size; smaller ones join the nearest."""
    rows: list[list[Atom]] = []
    for atom in sorted((a for a in atoms if a.size > share * full or a.built), key=lambda a: a.axis):
        if rows and abs(atom.axis - rows[-1][0].axis) < 0.5 * full:
            rows[-1].append(atom)
        else:
            rows.append([atom])
    for atom in (a for a in atoms if not (a.size > share * full or a.built)):
        min(rows, key=lambda row: abs(row[0].axis - atom.axis)).append(atom)
    return rows


def _columns(row: list[Atom]) -> list[list[Atom]]:
    """A row of a matrix, parted at wide gaps."""
    ordered = sorted(row, key=lambda atom: atom.left)
    cells = [[ordered[0]]]
    for atom in ordered[1:]:
        if atom.left - max(a.right for a in cells[-1]) > 0.7 * atom.size:
            cells.append([atom])
        else:
            cells[-1].append(atom)
    return cells


def _wide(row: list[Atom]) -> str:
    """A row of cases: a wide gap divides its value from its condition."""
    ordered = sorted(row, key=lambda atom: atom.left)
    for at in range(1, len(ordered)):
        if ordered[at].left - max(atom.right for atom in ordered[:at]) > 0.9 * ordered[at].size:
            return f"{tex(ordered[:at])} & {tex(ordered[at:])}"
    return tex(ordered)


def _rows_behind(atoms: list[Atom], brace: Atom) -> list[list[Atom]]:
    """Rows inside the height of a brace; what follows them on the brace's own line is not among them."""
    if not atoms:
        return []
    full = max(atom.size for atom in atoms)
    rows = _rows(atoms, full, 0.87)
    middle = (brace.top + brace.bottom) / 2
    if len(rows) > 2:
        centred = [one for one in rows if abs(one[0].axis - middle) < 0.3 * full]
        outer = [one for one in rows if one not in centred]
        if (
            centred
            and len(outer) >= 2
            and min(a.left for a in centred[0]) > max(a.right for one in outer for a in one) - 1
        ):
            return outer
    return rows
