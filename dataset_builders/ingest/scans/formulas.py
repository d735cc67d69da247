"""Formulas in OCR's text: scripts by their ink ("x3" for x³), fractions read in parts, LaTeX.

Contract: a script (`UP` or `DOWN` before it) is smaller than the line's letters, its foot clearly off the base line.
`formulas` turns these marks into LaTeX or removes them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

import numpy as np

from livek12.dataset_builders.ingest.pages.atoms import FUNCTIONS, symbol
from livek12.dataset_builders.ingest.pages.geometry import Bounds, Rule, around
from livek12.dataset_builders.ingest.scans.scan import (
    Dark,
    Grey,
    Read,
    components,
    inked,
    line_height,
    short_bars,
    stacks,
)
from livek12.dataset_builders.ingest.sources.mathml import joined as side_by_side

UP: Final = "\x02"
DOWN: Final = "\x03"
_TALL: Final = frozenset("0123456789ABCDEFGHIKLMNOPRSTUVWXYZbdhk")
_SMALL: Final = frozenset("aceimnorsuvwxz")
_CARRIERS: Final = frozenset(")]}|")

_INK: Final = 0.4
"""Darkness of ink, from black (0) to paper (1), at which letters that nearly touch are apart."""

_Span = tuple[float, float]


def raised(read: Read, page: Grey) -> str:
    """The text of a line with its scripts marked; `page` is grey values."""
    if len(read.places) != len(read.text) or not any(letter.isascii() and letter.isalnum() for letter in read.text):
        return read.text
    spans = _spans(read, page)
    printed = [(letter, *span) for letter, span in zip(read.text, spans, strict=True) if span]
    feet = [foot for letter, _, foot in printed if letter in _TALL | _SMALL]
    heights = sorted(foot - top for letter, top, foot in printed if letter in _TALL)
    han = [foot - top for letter, top, foot in printed if "一" <= letter <= "鿿"]
    if len(feet) < 2 or not (heights or han):
        return read.text
    limits = [heights[(3 * len(heights)) // 4]] if heights else []
    limits += [0.86 * median(han)] if han else []  # noise on one big letter does not make the others small
    height = min(limits)
    big = [foot for letter, top, foot in printed if letter in _TALL and foot - top > 0.85 * height]
    return _marked(read.text, spans, median(big or feet), height)


def _marked(text: str, spans: list[_Span | None], base: float, height: float) -> str:
    done, host = "", ""
    for letter, span in zip(text, spans, strict=True):
        carries = host.isalpha() or (host.isascii() and host.isdigit()) or host in _CARRIERS
        is_script = carries and span and letter.isascii() and letter.isalnum()
        mark = _mark(letter, span, base, height) if is_script and span else ""
        done += mark + letter
        host = host if mark else letter
    return done


def _mark(letter: str, span: _Span, base: float, height: float) -> str:
    top, bottom = span
    tall = bottom - top
    if tall < 0.25 * height or tall > (0.86 if letter in _TALL else 0.7 if letter in _SMALL else 0.95) * height:
        return ""
    if base - bottom > 0.26 * height and top < base - 0.8 * height:
        return UP
    if letter in _TALL | _SMALL and bottom - base > 0.12 * height and top > base - 0.62 * height:
        return DOWN
    return ""


def _spans(read: Read, page: Grey) -> list[_Span | None]:
    """Top and bottom of each letter's ink, if any."""
    cells = _cells(read, page)
    letters = [at for at, letter in enumerate(read.text) if not letter.isspace()]
    tall = 0.6 * (read.height)
    done: list[_Span | None] = [None] * len(read.text)
    for pair, other in _paired([read.places[at] for at in letters], [(a + c) / 2 for a, _, c, _ in cells], tall):
        done[letters[pair]] = (cells[other][1], cells[other][3])
    return done


def _cells(read: Read, page: Grey) -> list[Bounds]:
    """Boxes of a line's ink from left to right, stacked ones joined."""
    left, top, right, bottom = (max(0, round(value)) for value in read.box)
    grey = page[top : bottom + 1, left : right + 1]
    black, white = float(np.percentile(grey, 2)), float(np.percentile(grey, 90))
    crop = (grey < black + _INK * (white - black)).astype(np.uint8)
    cells: list[Bounds] = []
    for x, y, width, tall, area in sorted(components(crop)[0]):
        if area < 4 or width > 2 * crop.shape[0] or y + tall < 3 or y > crop.shape[0] - 3:
            continue
        box = (x + left, y + top, x + left + width, y + top + tall)
        last = cells[-1] if cells else None
        if last and last[2] - box[0] > 0.5 * min(width, last[2] - last[0]):
            cells[-1] = around([last, box])
        else:
            cells.append(box)
    return cells


def _paired(letters: Sequence[float], cells: Sequence[float], unit: float) -> list[tuple[int, int]]:
    alone, spare = 0.8, 0.3
    costs = [[spare * column for column in range(len(cells) + 1)]]
    for row, x in enumerate(letters):
        before, line = costs[-1], [alone * (row + 1)]
        for column, y in enumerate(cells):
            line.append(min(before[column] + abs(x - y) / unit, before[column + 1] + alone, line[column] + spare))
        costs.append(line)
    pairs: list[tuple[int, int]] = []
    row, column = len(letters), len(cells)
    while row and column:
        here = costs[row][column]
        if here == costs[row][column - 1] + spare:
            column -= 1
        elif here == costs[row - 1][column] + alone:
            row -= 1
        else:
            row, column = row - 1, column - 1
            pairs.append((row, column))
    return pairs


_MATH_SIGNS: Final = "+\\-−=<>≤≥⩽⩾≠≈×÷±·⋅√∞∈∉∪∩⊂⊆⊥∥∠△°′'|(){}\\[\\]^/*,.:→⇒∑∫∅∀∃⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ₀₁₂₃₄₅₆₇₈₉ₙ\x02\x03"
_RUN: Final = re.compile(rf"[A-Za-z0-9\u0370-\u03ff\s{_MATH_SIGNS}]+")
_TELLING: Final = re.compile(
    r"[=<>≤≥⩽⩾≠≈×÷±√∞∈∉∪∩⊂⊆⊥∥∠△°→⇒∑∫\u0370-\u03ff⁰¹²³⁴-⁹ⁿ₀-₉\x02\x03]|[A-Za-z0-9)]\s*[+−]\s*[A-Za-z0-9(]|(?<!\d)[-−]\d"
)
_LABELS: Final = re.compile(r"^(?:\s*(?:[A-H]|\d{1,2}|[(（]\d{1,2}[)）])\s*[.．、)]\s*){1,2}")
_ROOT: Final = re.compile(r"√\s*(\d+|[A-Za-z]|\(([^()]*)\))")
_EDGE: Final = " ,.:"
_SCRIPTS: Final = re.compile("([⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ]+)|[₀₁₂₃₄₅₆₇₈₉ₙ]+")
_MARKED: Final = re.compile(r"([\x02\x03])[^\x02\x03](?:\1[^\x02\x03])*")


def formulas(text: str) -> str:
    """The text with its formulas as LaTeX."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        return text
    done = "".join(f"${part}$" if at % 2 else _plain(part) for at, part in enumerate(parts))
    return re.sub(r"(?<=[^$\s])\$ ?\$(?=[^$\s])", "", done).replace(UP, "").replace(DOWN, "")


def _plain(text: str) -> str:
    pieces = ((_LABELS.sub("", piece), piece) for piece in re.split(r"( {4,})", text))
    return "".join(piece.removesuffix(rest) + _RUN.sub(_formula, rest) for rest, piece in pieces)


def _formula(match: re.Match[str]) -> str:
    run = match[0]
    core = run.strip(_EDGE)
    words = re.findall(r"[A-Za-z]{3,}", core)
    named = all(word.lower() in FUNCTIONS or (word.isupper() and len(word) < 6) for word in words)
    if not core or not named or not _TELLING.search(core):
        return run
    at = run.index(core)
    return f"{run[:at]}${latex_of(core)}${run[at + len(core) :]}"


def latex_of(core: str) -> str:
    """LaTeX of a formula, without dollar signs."""
    core = _ROOT.sub(lambda root: f"\x00{root[2] or root[1]}\x01", core)
    pieces = []
    for piece in re.findall(r"[\x02\x03].|[A-Za-z]+|\s+|.", core):
        if piece[0] in UP + DOWN:
            pieces.append(piece[0] + symbol(piece[1:]))
        elif piece in FUNCTIONS:
            pieces.append(f"\\{piece}")
        elif (piece.isalpha() and piece.isascii()) or _SCRIPTS.match(piece):
            pieces.append(piece)
        elif not piece.isspace():
            pieces.append(symbol(piece))
    text = _SCRIPTS.sub(lambda run: _script("^" if run[1] else "_", run[0]), side_by_side(pieces))
    text = _MARKED.sub(lambda run: _script("^" if run[1] == UP else "_", re.sub("[\x02\x03]", "", run[0])), text)
    return text.replace("\x00", "\\sqrt{").replace("\x01", "}")


def _script(mark: str, inner: str) -> str:
    inner = unicodedata.normalize("NFKC", inner).replace("−", "-")
    return f"{mark}{{{inner}}}" if len(inner) > 1 else f"{mark}{inner}"


GAP: Final = 0.85
"""Heights of a line that part two runs."""
_INTO: Final = 0.3
"""Heights of a line by which a box may miss the edge of its ink."""
UNSURE: Final = 0.5
"""Confidence of what two engines read differently; no run is surer than such a piece of it."""
_SPACE: Final = 0.2
"""Heights of a line that part two words."""
_WORDS: Final = re.compile(r"[\u1100-\u11ff\u2e80-\ud7af]")
"""Strokes of characters look like bars: what stands above or below them reads as characters again."""
ReadBoxes = Callable[[Sequence[Bounds]], list[Read]]


@dataclass(frozen=True, slots=True)
class LinePart:
    """A part of a line, and the boxes to read: its own, or those above and below a fraction's bar."""

    box: Bounds
    halves: tuple[Bounds, ...]

    @property
    def stacked(self) -> bool:
        """True for a fraction."""
        return len(self.halves) > 1


def part_boxes(dark: Dark, box: Bounds, bars: Sequence[Rule], letter: float) -> list[LinePart]:
    """A box cut into fractions and the rest."""
    done: list[LinePart] = []
    at = box[0]
    for bar, above, below in stacks(dark, box, bars, letter):
        if bar.left < at - 4:
            continue
        done += [LinePart(ink, (ink,)) for ink in inked(dark, (at, box[1], bar.left - 2, box[3]))]
        done.append(LinePart((bar.left, box[1], bar.right, box[3]), (above, below)))
        at = bar.right + 3
    rest = inked(dark, (at, box[1], box[2], box[3])) if done else [box]
    return [*done, *(LinePart(ink, (ink,)) for ink in rest)]


def read_part(part: LinePart, reads: Mapping[Bounds, Read]) -> Read | None:
    """The text of a part; None if it was not read or is no formula."""
    halves = [reads[box] for box in part.halves if box in reads]
    if not part.stacked or len(halves) < 2:
        return halves[0] if halves and not part.stacked else None
    above, below = halves
    if _WORDS.search(above.text + below.text):
        return None
    text = f"$\\frac{{{latex_of(above.text)}}}{{{latex_of(below.text)}}}$"
    return Read(text, *part.box, min(above.confidence, below.confidence))


def read_lines(dark: Dark, boxes: Sequence[Bounds], read: ReadBoxes) -> list[Read]:
    """Lines of some boxes, fractions as LaTeX; a line whose fractions fail is read as a whole."""
    bars, letter = short_bars(dark, boxes), line_height(boxes)
    cut = {box: part_boxes(dark, box, bars, letter) for box in boxes}
    parts = [part for own in cut.values() if any(part.stacked for part in own) for part in own]
    reads = {run.box: run for run in read([*boxes, *(box for part in parts for box in part.halves if box not in cut)])}
    done = []
    for box, own in cut.items():
        pieces = [read_part(part, reads) for part in own]
        fractions = [piece for piece, part in zip(pieces, own, strict=True) if part.stacked]
        if fractions and all(fractions):
            done += joined([piece for piece in pieces if piece], dark, box, _SPACE * letter)
        elif whole := reads.get(box):
            done.append(whole)
    return done


def joined(pieces: Sequence[Read], dark: Dark, home: Bounds, space: float) -> list[Read]:
    """Pieces of a line as runs; `space` pixels of white part two words."""
    tall = home[3] - home[1]
    runs: list[Read] = []
    for piece in pieces:
        last = runs[-1] if runs else None
        if last is None or piece.left - last.right > GAP * tall:
            runs.append(replace(piece, places=()))
            continue
        between = (last.right - _INTO * tall, home[1], piece.left + _INTO * tall, home[3])
        share = len(piece.text) / max(1, len(piece.text) + len(last.text))
        mean = last.confidence * (1 - share) + piece.confidence * share
        room = " " * (len(inked(dark, between, space)) > 1)
        sure = min([mean, *(own for own in (last.confidence, piece.confidence) if own <= UNSURE)])
        right = max(last.right, piece.right)
        runs[-1] = replace(last, text=f"{last.text}{room}{piece.text}", right=right, confidence=sure)
    return runs
