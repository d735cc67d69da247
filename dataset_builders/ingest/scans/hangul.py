"""Korean pages by two engines: tesseract knows Hangul, rapidocr digits, letters, signs and circled labels.

Contract: sure syllables of tesseract are kept; the other engine reads the rest between them. A run ends at a wide gap.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median
from typing import Final

from livek12.dataset_builders.ingest.pages.geometry import Bounds
from livek12.dataset_builders.ingest.scans.formulas import (
    GAP,
    UNSURE,
    LinePart,
    ReadBoxes,
    joined,
    part_boxes,
    read_part,
)
from livek12.dataset_builders.ingest.scans.scan import Dark, Read, inked, line_height, short_bars, white

_HOCR: Final = re.compile(r"x_bboxes (?P<box>\d+ \d+ \d+ \d+); x_conf (?P<sure>[\d.]+)'>(?P<text>[^<]{1,12})<")
_SURE, _SURE_ALONE = 0.7, 0.95
"""Confidence from which a syllable is one, beside others and alone: formulas are read as single syllables with less."""
_TALLEST: Final = 1.3
"""Heights of an ordinary syllable that one which stands alone has at most: fractions are read as tall ones."""
_PUNCTUATION: Final = frozenset(".,?!:;[]()~'\"")
_SPACE, _BESIDE = 0.3, 1.5
"""Widths of a syllable that part two words, and that two neighbours lie apart."""
_UNSEEN: Final = 0.9
"""Widths of a syllable: wider ink between two of them is something that tesseract left out, narrower ink their own."""
_SNAP: Final = 0.35
"""Widths of a syllable by which its box may miss its edge."""
_CLEAR: Final = 0.9
"""Confidence of a reading of digits and signs from which it stands against a syllable."""
Cut = Callable[[Bounds], list[LinePart]]


class Letter(Read):
    """A character of tesseract."""

    @property
    def hangul(self) -> bool:
        """True for a syllable."""
        return "가" <= self.text <= "힣"


def letters_of(hocr: str) -> list[Letter]:
    """The characters of tesseract's hOCR, in its order."""
    letters = []
    for match in _HOCR.finditer(hocr):
        left, top, right, bottom = map(float, match["box"].split())
        letters.append(Letter(html.unescape(match["text"]), left, top, right, bottom, float(match["sure"]) / 100))
    return letters


def lines(dark: Dark, homes: Sequence[tuple[Bounds, Sequence[Letter]]], read: ReadBoxes) -> list[Read]:
    """The text of a page from boxes of lines with tesseract's characters; `read` is the other engine."""
    rows = [(box, sorted(letters, key=lambda letter: letter.centre[0])) for box, letters in homes]
    sure = _known([letters for _, letters in rows])
    wide = median([letter.width for letter in sure]) if sure else 0.0
    boxes = [box for box, _ in homes]
    bars, tall = short_bars(dark, boxes), line_height(boxes)

    def cut(box: Bounds) -> list[LinePart]:
        return part_boxes(dark, box, bars, tall)

    pieces = [_pieces(dark, box, letters, sure, wide, cut) for box, letters in rows]
    reads = {run.box: run for run in read([box for own in pieces for piece in own for box in piece.halves])}
    done: list[Read] = []
    for box, own in zip(boxes, pieces, strict=True):
        done += joined([_said(piece, reads) for piece in own], dark, box, _SPACE * (wide or 0.7 * tall))
    return [run for run in done if run.text.strip()]


def _known(rows: Sequence[Sequence[Letter]]) -> set[Letter]:
    likely = [letter for row in rows for letter in row if letter.hangul and letter.confidence >= _SURE]
    tall = median([letter.height for letter in likely]) if likely else 0.0
    near: set[Letter] = set()
    for syllable, other in (pair for row in rows for pair in pairwise(row)):
        if syllable.hangul and other.hangul and other.left - syllable.right < _BESIDE * tall:
            near |= {syllable, other}
    return {
        syllable
        for syllable in likely
        if syllable in near or (syllable.confidence >= _SURE_ALONE and syllable.height <= _TALLEST * tall)
    }


@dataclass(frozen=True, slots=True)
class _Piece(LinePart):
    """A part of a line with its letters of tesseract: syllables, unless there is something of it to read."""

    letters: tuple[Letter, ...] = ()
    within: bool = False


def _pieces(dark: Dark, row: Bounds, letters: list[Letter], sure: set[Letter], wide: float, cut: Cut) -> list[_Piece]:
    """Syllables of a line, `wide` pixels each, and the ink between them, split at wide gaps."""
    done: list[_Piece] = []
    between: list[Letter] = []
    at = row[0]
    for letter in [*letters, None]:
        if letter is not None and letter not in sure:
            between.append(letter)
            continue
        home = (at, row[1], letter.left if letter else row[2], row[3])
        done += _between(dark, cut, home, between, wide, first=not done, last=letter is None)
        between = []
        if letter:
            done.append(_Piece((letter.left, row[1], letter.right, row[3]), (), (letter,)))
            at = max(at, letter.right)
    return done


def _between(
    dark: Dark, cut: Cut, home: Bounds, letters: Sequence[Letter], wide: float, first: bool, last: bool
) -> Iterator[_Piece]:
    """Between two syllables: punctuation as read, other ink as boxes to read."""
    start, top, end, bottom = home
    text = "".join(letter.text for letter in letters)
    if text and set(text) <= _PUNCTUATION and not first:
        box = (max(start, letters[0].left), top, min(max(start, letters[-1].right), end), bottom)
        yield _Piece(box, (), tuple(letters))
        return
    left = start if first else white(dark, home, start, _SNAP * wide)
    right = end if last else white(dark, home, end, _SNAP * wide)
    spans = inked(dark, (left, top, right, bottom), GAP * (bottom - top)) if right > left else []
    if not spans or (not letters and spans[-1][2] - spans[0][0] < _UNSEEN * wide):
        return
    for part in (part for span in spans for part in cut(span)):
        inside = tuple(letter for letter in letters if part.box[0] <= letter.centre[0] <= part.box[2])
        yield _Piece(part.box, part.halves, inside, within=not (first and last))


def _said(piece: _Piece, reads: dict[Bounds, Read]) -> Read:
    """The text of a piece: syllables themselves; else the other engine's if it is sure, else tesseract's."""
    text = "".join(letter.text for letter in piece.letters)
    if not piece.halves:
        return Read(text, *piece.box, min(letter.confidence for letter in piece.letters))
    other = read_part(piece, reads)
    hangul = not piece.stacked and any(letter.hangul and letter.confidence >= _SURE for letter in piece.letters)
    if text and (other is None or (hangul and other.confidence < _CLEAR)):
        return Read(text, *piece.box, UNSURE)
    if other and piece.within and not piece.stacked and _plain(other.text) != _plain(text):
        return replace(other, confidence=min(other.confidence, UNSURE))
    return other or Read("", *piece.box, UNSURE)


def _plain(text: str) -> str:
    return re.sub(r"[^0-9A-Za-z]", "", text)
