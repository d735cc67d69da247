"""Columns of a page: the white space between them, and what stands across both.

Contract: works on where text stands, in points from the top left. Of what the text says only numbers at the beginning
of a run are looked at: a column begins its questions at its left edge, and goes on counting where the other ended.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from livek12.dataset_builders.ingest.geometry import Bounds, Rule
from livek12.dataset_builders.ingest.glyphs import Glyph

_RUN: Final = 1.5
"""Letter sizes of white space that end a run of text."""
_GAP: Final = 0.75
"""Letter sizes of white space that may part two columns; between words there is less."""
_NUMBER: Final = re.compile(r"(?:Question|Problem|Q|【?第)?(\d{1,3})(?:([.．、,，)）題题】])(?!\d)|$)", re.IGNORECASE)
_TITLE: Final = re.compile(
    r"[(（]?[一二三四五六七八九十]{1,3}[)）、．.]|第[一二三四ⅠⅡⅢⅣIV\d]{1,3}[卷部大节]|(?:Part|Section)", re.IGNORECASE
)
_HUNG: Final = 6.0
"""Letter sizes between a number and the text that it is hung out of, at most."""
_TEXT: Final = 4.0
"""Letter sizes that this text has at least."""
_BESIDE: Final = 4.0
"""Letter sizes right of a column's edge within which its lines begin."""
_LEAST_AT_EDGE: Final = 0.25
_HEADS: Final = 4
"""Lines across the middle of a page in landscape: its title and subject, its head and its foot."""
_FEWEST: Final = 3
"""Numbers that make a count: two may stand side by side in a line."""
_EDGE: Final = 6.0
"""Points: the numbers of one column begin within these."""


@dataclass(slots=True)
class Segment:
    """Text on one line without a wide gap.

    Attributes:
        number: of the question that may begin here; 0 for none.
        titled: it reads like the title of a section.
        digits: it is nothing but this number; 0 where it is anything else.
        size: of its first letter.
        gaps: white space within it that is wider than between words: left and right edge.
    """

    left: float
    right: float
    top: float
    bottom: float
    number: int = 0
    gaps: tuple[tuple[float, float], ...] = ()
    later: tuple[int, ...] = ()
    titled: bool = False
    digits: int = 0
    size: float = 0.0

    def parted(self, x: float, margin: float = 2.0) -> Iterator[Segment]:
        """Itself, or its two parts where white space within it covers an x and a margin on both sides."""
        for place, (left, right) in enumerate(self.gaps):
            if left <= x - margin and x + margin <= right:
                yield replace(self, right=left, gaps=self.gaps[:place], later=self.later[:place])
                yield replace(
                    self,
                    left=right,
                    number=self.later[place],
                    gaps=self.gaps[place + 1 :],
                    later=self.later[place + 1 :],
                )
                return
        yield self


def segments(glyphs: Sequence[Glyph]) -> list[Segment]:
    """Runs of text; a gap of one and a half letters ends one."""
    rows: dict[int, list[Glyph]] = {}
    for glyph in glyphs:
        if glyph.text.strip():
            rows.setdefault(round(glyph.base / 3), []).append(glyph)
    done: list[Segment] = []
    for row in rows.values():
        pieces: list[list[Glyph]] = []  # without any gap
        for glyph in sorted(row, key=lambda glyph: glyph.left):
            if pieces and glyph.left - max(_ends(one) for one in pieces[-1][-3:]) < _GAP * glyph.size:
                pieces[-1].append(glyph)
            else:
                pieces.append([glyph])
        numbers = [_number(*pair) for pair in zip(pieces, [*pieces[1:], []], strict=True)]
        first = 0
        for place in range(1, len(pieces) + 1):
            ends = place == len(pieces) or pieces[place][0].left - pieces[place - 1][-1].right >= (
                _RUN * pieces[place][0].size
            )
            if ends:
                done.append(_segment(pieces[first:place], numbers[first:place]))
                first = place
    _name_hung(done)
    return done


def _name_hung(runs: Sequence[Segment]) -> None:
    """Numbers that stand alone begin questions where text on their right is about as high, on whatever base line."""
    for run in runs:
        if run.digits and not run.number:
            for other in runs:
                level = min(run.bottom, other.bottom) - max(run.top, other.top) > 0.5 * (run.bottom - run.top)
                wide = other.right - other.left > _TEXT * run.size and run.size > 0.9 * other.size
                if level and wide and 0 < other.left - run.right < _HUNG * run.size:
                    run.number = run.digits


def _ends(glyph: Glyph) -> float:
    """Where a letter ends with the white space of its own: a full-width comma has half a letter of it."""
    return max(glyph.right, glyph.advance)


def _segment(pieces: Sequence[Sequence[Glyph]], numbers: Sequence[int]) -> Segment:
    letters = [glyph for piece in pieces for glyph in piece]
    text = "".join(glyph.text for glyph in letters)
    return Segment(
        letters[0].left,
        max(glyph.right for glyph in letters),
        min(glyph.top for glyph in letters),
        max(glyph.bottom for glyph in letters),
        numbers[0],
        tuple((max(g.right for g in one), other[0].left) for one, other in pairwise(pieces)),
        tuple(numbers[1:]),
        bool(_TITLE.match("".join(glyph.text for glyph in pieces[0][:12]))),
        int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0,
        letters[0].size,
    )


def _number(piece: Sequence[Glyph], after: Sequence[Glyph]) -> int:
    """The number that a piece of a line begins with; one without a sign behind it has text there."""
    match = _NUMBER.match("".join(glyph.text.strip() for glyph in piece[:12]))
    if match and not match[2]:
        size = piece[0].size
        hung = bool(after) and after[-1].right - after[0].left > _TEXT * size
        return int(match[1]) if hung and after[0].left - piece[-1].right < _HUNG * size else 0
    return int(match[1]) if match else 0


def gutter(
    texts: Sequence[Segment],
    others: Sequence[Bounds],
    dividers: Sequence[Rule],
    width: float,
    before: float | None = None,
    *,
    landscape: bool = False,
) -> float | None:
    """X of the white space between two columns; None where there is one column.

    Args:
        texts: the text.
        others: figures, tables and frames.
        dividers: long vertical lines.
        width: of the page.
        before: the gutter of the page before, believed where nothing speaks against it.
        landscape: the page is wider than it is high: two columns unless text crosses its middle.
    """
    for rule in dividers:
        x = (rule.left + rule.right) / 2
        if 0.3 * width < x < 0.7 * width and any(r.right < x for r in texts) and any(r.left > x for r in texts):
            return x
    spans = [(run.left, run.right) for run in texts] + [(box[0], box[2]) for box in others]
    if not spans:
        return before
    left, right = min(span[0] for span in spans), max(span[1] for span in spans)
    best: tuple[bool, int, int, float, float] | None = None
    for step in range(50, 151):
        x = left + (right - left) * step / 200
        runs = [part for run in texts for part in run.parted(x)]
        spans = [(run.left, run.right) for run in runs] + [(box[0], box[2]) for box in others]
        crossing = sum(a - 2 < x < b + 2 for a, b in spans)
        lefts = [(a, b) for a, b in spans if b <= x - 2]
        rights = [(a, b) for a, b in spans if a >= x + 2]
        if not lefts or not rights or crossing > 0.12 * len(spans):
            continue
        counted = _counts_on(runs, x)
        free = landscape and crossing <= _HEADS and abs(x - width / 2) < 0.06 * width
        if not counted and not (70 <= step <= 130 and _filled(lefts, rights, x, (left, right), crossing, free)):
            continue
        end, start = max(b for _, b in lefts), min(a for a, _ in rights)
        narrow = 0 if free else round(end - start)  # a sheet in landscape is folded in the middle
        score = (not counted, crossing, narrow, abs(x - (width if free else end + start) / 2), x)
        if best is None or score < best:
            best = score
    if best:
        return best[-1]
    if before is not None and sum(1 for run in texts if any(_over(part, before) for part in run.parted(before))) <= (
        0.12 * len(texts)
    ):
        return before
    return None


def _over(run: Segment, x: float) -> bool:
    return run.left + 6 < x < run.right - 6


def _filled(
    lefts: Sequence[tuple[float, float]],
    rights: Sequence[tuple[float, float]],
    x: float,
    ends: tuple[float, float],
    crossing: int,
    free: bool,
) -> bool:
    """Whether enough of the text on both sides is as wide as a column's."""
    if min(len(lefts), len(rights)) < (3 if free else 5):
        return False
    fill_left = sum(b - a > 0.55 * (x - ends[0]) for a, b in lefts)
    fill_right = sum(b - a > 0.55 * (ends[1] - x) for a, b in rights)
    if free or (fill_left >= max(2, 0.3 * len(lefts)) and fill_right >= max(2, 0.2 * len(rights))):
        return True  # one alone may be a running head
    return min(fill_left, fill_right) >= 3 and crossing <= 0.06 * (len(lefts) + len(rights) + crossing)


def _counts_on(runs: Sequence[Segment], x: float) -> bool:
    """Whether the questions at the left edge of what is right of an x go on counting where those left of it stop."""
    left, right = [run for run in runs if run.right <= x - 2], [run for run in runs if run.left >= x + 2]
    columns = _edge_numbers(left), _edge_numbers(right)
    return _turns(*columns) is not None and all(map(_at_edge, columns, (left, right)))


def _at_edge(numbers: Sequence[Segment], runs: Sequence[Segment]) -> bool:
    """Whether text begins where the numbers of a column do: a single number may stand anywhere within a line."""
    if len(numbers) > 1:
        return True
    reach = numbers[0].left + _BESIDE * (numbers[0].bottom - numbers[0].top)
    return sum(run.left < reach for run in runs) >= _LEAST_AT_EDGE * len(runs)


def _edge_numbers(runs: Sequence[Segment]) -> list[Segment]:
    """What begins with a number at the left edge of some text, from top to bottom."""
    opening = [run for run in runs if run.number]
    if not opening:
        return []
    edge = min(run.left for run in opening)
    if any(run.left < edge - _EDGE for run in runs):
        edge = min(run.left for run in runs)
    found = [run for run in sorted(opening, key=lambda run: run.top) if run.left < edge + _EDGE]
    return [
        run
        for place, run in enumerate(found)
        if not (0 < place < len(found) - 1 and found[place + 1].number == found[place - 1].number + 1)
    ]  # a number between two that follow each other is the rest of a sentence


def _turns(left: Sequence[Segment], right: Sequence[Segment]) -> list[Segment] | None:
    """The questions of a left column that go on counting where a right one stopped: bands begin with them.

    None where the numbers of the two columns make no such count.
    """
    if not left or not right or len(left) + len(right) < _FEWEST:
        return None
    columns, places, side, last = (left, right), [1, 0], 0, left[0].number
    turns: list[Segment] = []
    crossed = False
    while places[0] < len(left) or places[1] < len(right):
        here, there = (
            column[place] if place < len(column) else None
            for column, place in ((columns[at], places[at]) for at in (side, 1 - side))
        )
        anew = not here and there is not None and there.number == 1 and min(len(left), len(right)) > 1
        if there and (there.number == last + 1 or anew) and not (here and here.number == last + 1):
            turns += [there] if side else []
            side, crossed = 1 - side, True
        elif not here or not (here.number > last or here.number == 1):
            return None
        last = columns[side][places[side]].number
        places[side] += 1
    return turns if crossed else None


def bands(texts: Sequence[Segment], others: Sequence[Bounds], middle: float, width: float) -> list[tuple[float, float]]:
    """Top and bottom of what stands across both columns, in order."""
    begins = min((run.left for run in texts if run.left > middle), default=middle)
    runs = [part for run in texts for part in (run.parted(middle) if _parts(run, middle, begins) else (run,))]
    across = [(run.top, run.bottom) for run in runs if run.left < middle - 4 and run.right > middle + 4]
    across += [(box[1], box[3]) for box in others if box[0] < middle - 0.06 * width and box[2] > middle + 0.06 * width]
    lefts = [run for run in runs if run.right <= middle]
    numbered = _edge_numbers(lefts)
    for turn in _turns(numbered, _edge_numbers([run for run in runs if run.left >= middle])) or []:
        above = max((run.top for run in numbered if run.top < turn.top), default=0.0)
        begins = min((run.top for run in lefts if run.titled and above < run.top < turn.top), default=turn.top)
        across.append((begins - 1, begins - 1))
    done: list[tuple[float, float]] = []
    for top, bottom in sorted(across):
        if done and top <= done[-1][1]:
            done[-1] = (done[-1][0], max(done[-1][1], bottom))
        else:
            done.append((top, bottom))
    return done


def _parts(run: Segment, middle: float, begins: float) -> bool:
    """Whether white space within a run reaches from the middle to where the right column begins."""
    return any(left < middle < right and right > begins - 3 for left, right in run.gaps)
