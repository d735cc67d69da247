"""Pieces of a page in order: columns, paragraphs, captions, blocks.

Contract: blocks are in reading order, one column after the other. Text layers and OCR meet here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby, pairwise
from typing import Final

from livek12.core.scripts import both_scripts
from livek12.dataset_builders.ingest.pages import layout
from livek12.dataset_builders.ingest.pages.atoms import BIG, FENCES, ideographic
from livek12.dataset_builders.ingest.pages.blocks import (
    PICTURE,
    UNREAD,
    Block,
    Box,
    Kind,
    Line,
    Origin,
    is_caption,
)
from livek12.dataset_builders.ingest.pages.formulas import TextLine, closing, lines_of, pair_fences, share_a_band
from livek12.dataset_builders.ingest.pages.geometry import Bounds, Placed, Rule, around, chains, hull
from livek12.dataset_builders.ingest.pages.glyphs import Glyph

_RUN, _GAP = 1.5, 0.75
"""Letter sizes of white space that end a run of text, and that may part two columns; between words there is less."""
_NUMBER: Final = both_scripts(r"(?:Question|Problem|Q|【?第)?(\d{1,3})(?:([.．、,，)）題题】])(?!\d)|$)", re.IGNORECASE)
_TITLE: Final = both_scripts(
    r"[(（]?[一二三四五六七八九十]{1,3}[)）、．.]|第[一二三四ⅠⅡⅢⅣIV\d]{1,3}[卷部大节]|(?:Part|Section)", re.IGNORECASE
)
_HUNG, _TEXT = 6.0, 4.0
"""Letter sizes between a number and the text that it is hung out of, at most, and that this text has at least."""
_BESIDE, _LEAST_AT_EDGE = 4.0, 0.25
"""Letter sizes right of a column's edge within which its lines begin, and the least share of those that do."""
_HEADS, _FEWEST = 4, 3
"""Lines across the middle of a page in landscape (title, subject, head, foot); numbers that make a count: two may stand
side by side in a line."""
_LIMIT: Final = 0.4
"""Letter sizes between a sum or an integral and its limits, at most."""
_GUTTER_EDGE, _LONG = 6.0, 0.55
"""Points within which the numbers of one column begin; share of a column's width that its full lines have at least."""
_Span = tuple[float, float]


@dataclass(slots=True)
class Segment(Placed):
    """Text on one line without a wide gap.

    Attributes:
        number: of the question that may begin here; 0 for none.
        digits: the number that is all its text; else 0.
        gaps: edges of wide white space within it; `later`: the numbers behind them.
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

    def parted(self, x: float, begins: float = 0.0) -> Iterator[Segment]:
        """Itself, or its two parts if white space within it covers an x and reaches to where a column begins."""
        for place, (left, right) in enumerate(self.gaps):
            if left <= x - 2 and x + 2 <= right and right > begins - 3:
                yield replace(self, right=left, gaps=self.gaps[:place], later=self.later[:place])
                number, *later = self.later[place:]
                yield replace(self, left=right, number=number, gaps=self.gaps[place + 1 :], later=tuple(later))
                return
        yield self


_Numbered = tuple[list[Glyph], int]
"""Letters without a gap, and the number of the question that they begin with, or 0."""


def segments(glyphs: Sequence[Glyph]) -> list[Segment]:
    """Runs of text; a gap of one and a half letters ends one."""
    rows: dict[int, list[Glyph]] = {}
    for glyph in glyphs:
        if glyph.text.strip():
            rows.setdefault(round(glyph.base / 3), []).append(glyph)
    done: list[Segment] = []
    for row in rows.values():
        pieces = chains(sorted(row, key=lambda glyph: glyph.left), _touches)
        numbers = (_number(*pair) for pair in zip(pieces, [*pieces[1:], []], strict=True))
        done += map(_segment, chains(zip(pieces, numbers, strict=True), _is_near))
    _name_hung(done)
    return done


def _touches(piece: list[Glyph], glyph: Glyph) -> bool:
    """A letter without a gap before it; a full-width comma has white space of its own."""
    return glyph.left - max(max(last.right, last.advance) for last in piece[-3:]) < _GAP * glyph.size


def _is_near(run: list[_Numbered], after: _Numbered) -> bool:
    return after[0][0].left - run[-1][0][-1].right < _RUN * after[0][0].size


def _name_hung(runs: Sequence[Segment]) -> None:
    for run in runs:
        if run.digits and not run.number:
            for other in runs:
                level = min(run.bottom, other.bottom) - max(run.top, other.top) > 0.5 * (run.bottom - run.top)
                wide = other.right - other.left > _TEXT * run.size and run.size > 0.9 * other.size
                if level and wide and 0 < other.left - run.right < _HUNG * run.size:
                    run.number = run.digits


def _segment(run: Sequence[_Numbered]) -> Segment:
    pieces, numbers = zip(*run, strict=True)
    letters = [glyph for piece in pieces for glyph in piece]
    text = "".join(glyph.text for glyph in letters)
    _, top, right, bottom = hull(letters)
    return Segment(
        *(letters[0].left, right, top, bottom),
        numbers[0],
        tuple((max(g.right for g in part), other[0].left) for part, other in pairwise(pieces)),
        numbers[1:],
        bool(_TITLE.match("".join(glyph.text for glyph in pieces[0][:12]))),
        int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0,
        letters[0].size,
    )


def _number(piece: Sequence[Glyph], after: Sequence[Glyph]) -> int:
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
    """X of the white space between two columns; None for one column.

    The gutter of the page `before` is kept unless something contradicts; a page in landscape has two columns unless
    text crosses its middle.
    """
    for x in (rule.middle for rule in dividers):
        if 0.3 * width < x < 0.7 * width and any(r.right < x for r in texts) and any(r.left > x for r in texts):
            return x
    spans = [(run.left, run.right) for run in texts] + [(box[0], box[2]) for box in others]
    if not spans:
        return before
    left, right = min(span[0] for span in spans), max(span[1] for span in spans)
    scores: list[tuple[bool, int, int, float, float]] = []
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
        scores.append((not counted, crossing, narrow, abs(x - (width if free else end + start) / 2), x))
    uncounted, *_, x = min(scores, default=(True, 0, 0, 0.0, math.nan))
    if scores and (not uncounted or landscape or _are_beside(texts, others, x)):
        return x
    if before is None:
        return None
    crossing = sum(any(p.left + 6 < before < p.right - 6 for p in run.parted(before)) for run in texts)
    return before if crossing <= 0.12 * len(texts) else None


def _are_beside(texts: Sequence[Segment], others: Sequence[Bounds], x: float) -> bool:
    lefts = [(run.top, run.bottom) for run in texts if run.right <= x] + [(b[1], b[3]) for b in others if b[2] <= x]
    rights = [run for run in texts if run.left >= x]
    beside = sum(
        any(top - run.size < run.bottom and run.top < bottom + run.size for top, bottom in lefts) for run in rights
    )
    return 2 * beside > len(rights)


def _filled(lefts: Sequence[_Span], rights: Sequence[_Span], x: float, ends: _Span, crossing: int, free: bool) -> bool:
    if min(len(lefts), len(rights)) < (3 if free else 5):
        return False
    fill_left = sum(b - a > _LONG * (x - ends[0]) for a, b in lefts)
    fill_right = sum(b - a > _LONG * (ends[1] - x) for a, b in rights)
    if free or (fill_left >= max(2, 0.3 * len(lefts)) and fill_right >= max(2, 0.2 * len(rights))):
        return True  # one alone may be a running head
    return min(fill_left, fill_right) >= 3 and crossing <= 0.06 * (len(lefts) + len(rights) + crossing)


def _counts_on(runs: Sequence[Segment], x: float) -> bool:
    left, right = [run for run in runs if run.right <= x - 2], [run for run in runs if run.left >= x + 2]
    columns = _edge_numbers(left), _edge_numbers(right)
    return _turns(*columns) is not None and all(map(_at_edge, columns, (left, right)))


def _at_edge(numbers: Sequence[Segment], runs: Sequence[Segment]) -> bool:
    reach = math.inf if len(numbers) > 1 else numbers[0].left + _BESIDE * numbers[0].height
    return sum(run.left < reach for run in runs) >= _LEAST_AT_EDGE * len(runs)


def _edge_numbers(runs: Sequence[Segment]) -> list[Segment]:
    opening = [run for run in runs if run.number]
    edge = min((run.left for run in opening), default=0.0)
    first = min((run.left for run in runs if not run.titled or run.number), default=0.0)  # a section's title hangs out
    edge = first if first < edge - _GUTTER_EDGE else edge
    numbered = [run for run in sorted(opening, key=lambda run: run.top) if run.left < edge + _GUTTER_EDGE]
    return [
        run
        for place, run in enumerate(numbered)
        if not (0 < place < len(numbered) - 1 and numbered[place + 1].number == numbered[place - 1].number + 1)
    ]  # a number between two that follow each other is the rest of a sentence


def _turns(left: Sequence[Segment], right: Sequence[Segment]) -> list[Segment] | None:
    """Questions of a left column that go on counting from a right one; None without a count."""
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
    """Top and bottom of what crosses both columns, in order."""
    begins = min((run.left for run in texts if run.left > middle), default=middle)
    runs = [part for run in texts for part in run.parted(middle, begins)]
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
        last = done.pop() if done and top <= done[-1][1] else (top, bottom)
        done.append((last[0], max(last[1], bottom)))
    return done


Crop = Callable[[Bounds], bytes]
"""A region in points, as a picture."""
_ALONE, _TITLED = 2.0, 6.0
"""Letter sizes of white space behind a label, and behind a caption without a title."""
_LABEL: Final = re.compile(r"[(（]?[A-H][)）.．、]?|[①-⑩]")
_EDGE, _TABS = 0.12, 0.9
"""Of the page's width: turned text this near to its edge, and framed text beyond it, is no part of what is asked."""
_FEWEST_STACKED, _APART, _NEAR = 6, 0.5, 5
"""Letters of a word down the margin, letter sizes of white space beside it, and from a letter to the next below."""
_FEWEST_BOXED, _TALLEST = 2, 3.0
"""Letters of a text in a frame, and the frame's height in letter sizes."""
_TALL: Final = 1.35
"""Letter sizes: a higher bracket encloses several rows."""
_EXPLAINED: Final = re.compile(r"(?<![\w:])//|/\*|\w\([^()]*\);$")
_KEYWORD: Final = re.compile(
    r"^(?:def|class|for|while|if|elif|else|try|except|with)\b.*:|^(?:return|import|break|continue)\b"
    r"|[;{}]\s*(?:$|//|/\*)|^\s*(?://|/\*)"
)
_ASSIGNMENT: Final = re.compile(r"^[A-Za-z_][\w.]*(?:\[[^\]]*\])*\s*[-+*/]?=[^=]")
_FEW_STATEMENTS, _PITCH = 2, 0.5
"""Statements that may be text, and letter sizes of a column of code in a font for text."""
_LONGEST_FRACTION: Final = 25
"""Letter sizes of a fraction's line, or between brackets: a longer one parts the page."""
_MARGIN: Final = 1.0
"""Points around a formula that is shown."""
UNSURE: Final = 0.6
"""OCR that is less sure of a line has not read it."""


@dataclass(slots=True)
class Piece:
    """A block before it is put in order."""

    kind: Kind
    box: Bounds
    lines: list[TextLine] = field(default_factory=list)
    caption: str = ""


@dataclass(slots=True)
class Sheet:
    """A page's content, in points; `glyphs` and `rules` are those of running text, `frames` those around some.

    `unread` is unexplained ink: `assembled` leaves what is in no line.
    """

    number: int
    width: float
    height: float
    origin: Origin
    glyphs: list[Glyph]
    pieces: list[Piece]
    rules: list[Rule]
    frames: list[Bounds]
    dividers: list[Rule]
    unread: list[Bounds] = field(default_factory=list)


def assembled(sheet: Sheet, crop: Crop, before: float | None) -> tuple[list[Block], float | None]:
    """The blocks of a page in reading order, and its gutter; `before` is the gutter of the page before."""
    aside = _turned(sheet)
    edge = [piece for piece in aside if piece.kind == "header"]
    sheet.pieces += [piece for piece in aside if piece.kind != "header"]
    runs = _joined(segments(sheet.glyphs), sheet)
    solid = [piece.box for piece in sheet.pieces]
    landscape = sheet.width > 1.25 * sheet.height
    middle = gutter(runs, solid, sheet.dividers, sheet.width, before, landscape=landscape)
    ordered: list[tuple[Piece, int]] = [(piece, 0) for piece in edge]
    for region, column in _regions(runs, solid, middle, sheet):
        ordered += [(piece, column) for piece in _column(region, sheet)]
    texts = [line for piece, _ in ordered if piece.kind == "text" for line in piece.lines]
    for line, other in combinations(texts, 2):
        if min(line.box[2], other.box[2]) > max(line.box[0], other.box[0]) and share_a_band(line, other):
            line.sound = other.sound = False
    return [_block(piece, column, sheet, crop) for piece, column in ordered], middle


def _joined(runs: list[Segment], sheet: Sheet) -> list[Segment]:
    for left, top, right, bottom in (*_brackets(sheet, runs), *_fractions(runs, sheet.rules)):
        inside = [run for run in runs if layout.overlaps((left, top, right, bottom), run.box)]
        head = min(inside, key=lambda run: run.left)
        box = hull(inside)
        head.left, head.top, head.right, head.bottom = box
        for run in inside:
            run.number, run.gaps, run.later, run.digits = run.number * (run is head), (), (), 0
    for rule in (rule for rule in sheet.rules if rule.flat):  # a blank is a part of its line
        for run in runs:
            level = run.bottom - 0.3 * run.size < rule.top < run.bottom + 0.4 * run.size
            if level and -2 < rule.left - run.right < _GAP * run.size:
                run.right = rule.right
    for sign in (glyph for glyph in sheet.glyphs if glyph.text in BIG):
        off = _LIMIT * sign.size
        for run in (run for run in runs if layout.contains(run.box, *sign.centre)):  # its limits are of its line
            run.top, run.bottom = min(run.top, sign.top - off), max(run.bottom, sign.bottom + off)
    return runs


def _brackets(sheet: Sheet, runs: Sequence[Segment]) -> Iterator[Bounds]:
    size, centres = layout.body_size(sheet.glyphs), [glyph.centre for glyph in sheet.glyphs if glyph.text.strip()]
    flat, upright = ([rule for rule in sheet.rules if rule.flat is level] for level in (True, False))
    for first_rule, last_rule in pair_fences(upright, flat, centres, size):
        yield first_rule.left - size, first_rule.top, last_rule.right + size, first_rule.bottom
    tall = [g for g in sheet.glyphs if g.text in FENCES and g.height > _TALL * g.size]
    for first in tall:
        last = closing(first, tall)
        if last and last.right - first.left < _LONGEST_FRACTION * first.size:
            yield first.left - first.size, first.top, last.right + first.size, first.bottom
        elif first.text == "{" and not last:  # rows of cases, and what follows them
            edge = first.right + first.size
            for run in sorted(runs, key=lambda run: run.left):
                if first.left < run.left < edge and first.top < run.bottom and run.top < first.bottom:
                    edge = max(edge, run.right + first.size)
            yield first.left, first.top, edge, first.bottom


def _fractions(runs: Sequence[Segment], rules: Sequence[Rule]) -> Iterator[Bounds]:
    for rule in (rule for rule in rules if rule.flat):
        near = [run for run in runs if run.left < rule.right and rule.left < run.right]
        above = [run for run in near if -0.2 * run.size < rule.top - run.bottom < 0.6 * run.size]
        below = [run for run in near if -0.2 * run.size < run.top - rule.bottom < 0.6 * run.size]
        if above and below and max(len(above), len(below)) > 1:  # of one run each, none could be parted
            size = min(run.size for run in (*above, *below))
            left, top, right, bottom = hull((*above, *below))
            short = rule.length < min(_LONGEST_FRACTION * size, right - left + 2.5 * size)
            if short and rule.left - 0.3 * size < left and right < rule.right + 0.3 * size:
                yield rule.left - size, top, rule.right + size, bottom


def _turned(sheet: Sheet) -> list[Piece]:
    """Takes turned text, tabs and words down a margin out as pieces; at the edge they are headers."""
    tabs = [frame for frame in sheet.frames if frame[0] > _TABS * sheet.width]
    stacked = _stacked(sheet) | {id(g) for g in sheet.glyphs if any(layout.contains(tab, *g.centre) for tab in tabs)}
    turned = [glyph for glyph in sheet.glyphs if not glyph.upright or id(glyph) in stacked]
    sheet.glyphs = [glyph for glyph in sheet.glyphs if glyph.upright and id(glyph) not in stacked]
    pieces: list[Piece] = []
    for group in layout.groups([(g.left, 0.0, g.right, 1.0) for g in turned], 0.0):
        inside = [turned[at] for at in group]
        box = hull(inside)
        text = "".join(glyph.text.replace(PICTURE, UNREAD) for glyph in inside).strip()
        line = TextLine(text, box, inside[0].size, box[3], False, all(glyph.sound for glyph in inside))
        at_edge = min(box[0], sheet.width - box[2]) < _EDGE * sheet.width or _is_binding(box, sheet)
        if home := next((p for p in sheet.pieces if layout.overlaps(p.box, box, 1.5 * line.size)), None):
            home.box = around([home.box, box])  # the title of an axis
            home.lines.append(line)
            continue
        pieces += [Piece("header" if at_edge else "text", box, [line])] if text else []
    return pieces


def _is_binding(box: Bounds, sheet: Sheet) -> bool:
    """Checks for a text along the page, beyond which none is upright: a line to bind or fold it at."""
    beyond = all(box[2] <= glyph.left for glyph in sheet.glyphs) or all(glyph.right <= box[0] for glyph in sheet.glyphs)
    return bool(sheet.glyphs) and beyond and box[3] - box[1] > sheet.height / 2


def _stacked(sheet: Sheet) -> set[int]:
    """Chinese letters close below each other in a margin, most of them off other lines."""
    alone: list[Glyph] = []
    bases: set[int] = set()
    for run in layout.runs(sheet.glyphs, _APART):
        at_edge = abs(run[0].centre[0] - sheet.width / 2) > (0.5 - _EDGE) * sheet.width
        if len(run) == 1 and at_edge and ideographic(run[0].text[0]):
            alone.append(run[0])
        else:
            bases.add(round(run[0].base))
    columns = layout.groups([(g.left, 0.0, g.right, 1.0) for g in alone], 0.0)
    stacked: set[int] = set()
    for column in columns:
        letters = sorted((alone[at] for at in column), key=lambda g: g.base)
        half = len(letters) / 2
        close = sum(below.base - above.base < _NEAR * above.size for above, below in pairwise(letters)) >= half
        level = sum(round(letter.base) in bases for letter in letters) > half
        if close and not level and sum(letter.text.isalpha() for letter in letters) >= _FEWEST_STACKED:
            stacked.update(map(id, letters))
    return stacked


def _regions(
    runs: Sequence[Segment],
    solid: Sequence[Bounds],
    middle: float | None,
    sheet: Sheet,
    area: Bounds = (-1e4, -1e4, 1e4, 1e4),
    column: int = 0,
) -> Iterator[tuple[Bounds, int]]:
    """Rectangles of an area in reading order, with the number of their column."""
    if middle is None:
        yield area, column
        return
    left, begin, right, end = area
    across = bands(runs, solid, middle, sheet.width)
    for rule in sheet.dividers:
        if abs((rule.left + rule.right) / 2 - middle) < 3:
            head = [band[1] for band in across if band[0] <= rule.top]
            foot = [band[0] for band in across if band[1] >= rule.bottom]
            across = [band for band in across if rule.top < band[0] < band[1] < rule.bottom]  # no turns beside a line
            across = [*([(-1e4, max(head))] if head else []), *across, *([(min(foot), 9e3)] if foot else [])]
    parts = [part for run in runs for part in run.parted(middle)]
    sides = []
    for first, last in ((left, middle), (middle, right)):
        own = [part for part in parts if first <= part.centre[0] < last]
        boxes = [box for box in solid if first <= (box[0] + box[2]) / 2 < last]
        lines = [rule for rule in sheet.dividers if first < rule.centre[0] < last]
        x = gutter(own, boxes, lines, sheet.width)
        drawn = any(x == rule.centre[0] for rule in lines)
        counted = x is not None and (drawn or _counts_on([part for run in own for part in run.parted(x)], x))
        sides.append((first, last, own, boxes, x if counted else None))
    own_bands = [(max(top, begin), min(bottom, end), True) for top, bottom in across if begin < bottom and top < end]
    for top, bottom, is_band in [*own_bands, (end, end, False)]:
        number = column
        for first, last, own, boxes, x in sides:
            inner = [*_regions(own, boxes, x, sheet, (first, begin, last, top), number)]
            yield from inner
            number = 1 + max(number for _, number in inner)
        if is_band:
            yield (left, top, right, bottom), column
        begin = bottom


def _column(region: Bounds, sheet: Sheet) -> list[Piece]:
    inside = [glyph for glyph in sheet.glyphs if _within(region, *glyph.centre)]
    rules = [r for r in sheet.rules if _within(region, *r.centre)]
    own = [p for p in sheet.pieces if _within(region, (p.box[0] + p.box[2]) / 2, (p.box[1] + p.box[3]) / 2)]
    captions, labels, inside = _labels(inside, [piece for piece in own if piece.kind in ("figure", "table")])
    lines = _lines(inside, rules, sheet.frames)
    _name_listings(lines)
    _unsound([*lines, *(line for piece in own if piece.kind == "table" for line in piece.lines)], sheet)
    paragraphs = _paragraphs(lines, own, sheet.frames)
    return _in_rows([*paragraphs, *captions, *own, *labels], {id(label) for label in labels})


def _lines(glyphs: Sequence[Glyph], rules: Sequence[Rule], frames: Sequence[Bounds]) -> list[TextLine]:
    """Lines; what a frame at the end of one holds is another."""
    boxed: list[TextLine] = []
    rest = list(glyphs)
    tallest = _TALLEST * layout.body_size(glyphs)
    for frame in (frame for frame in frames if frame[3] - frame[1] < tallest):
        own = [glyph for glyph in rest if layout.contains(frame, *glyph.centre)]
        row = [glyph for glyph in glyphs if frame[1] < (glyph.top + glyph.bottom) / 2 < frame[3]]
        others = [other for other in frames if other[2] < frame[0]]
        level = [g for g in row if g.left > frame[2] or any(layout.contains(other, *g.centre) for other in others)]
        letters = [glyph.text for glyph in own if glyph.text.isalnum()]
        worded = len(letters) >= _FEWEST_BOXED and not all(map(str.isdecimal, letters))
        inner = lines_of(own, []) if worded and not level else []
        if len(inner) == 1 and max(inner[0].box[0] - frame[0], frame[2] - inner[0].box[2]) < inner[0].size:
            boxed.append(replace(inner[0], look=inner[0].look or "boxed"))
            inside = set(map(id, own))
            rest = [glyph for glyph in rest if id(glyph) not in inside]
    lines = lines_of(rest, rules)
    for line in boxed:
        left, middle = line.box[0], (line.box[1] + line.box[3]) / 2
        beside = [o.base for o in lines if o.box[2] <= left and o.box[1] < middle < o.box[3]]
        line.base = max(beside, default=line.base)
    return [*lines, *boxed]


def _name_listings(lines: Sequence[TextLine]) -> None:
    """Gives lines of code in a font for text a pitch, in place: three statements, some indented or explained."""
    ordered = sorted(lines, key=lambda line: line.base)
    for is_code, group in groupby(
        ordered, lambda line: "$" not in line.text and bool(_KEYWORD.search(line.text) or _ASSIGNMENT.match(line.text))
    ):
        run = list(group)
        lefts = [line.box[0] for line in run]
        indented = max(lefts) - min(lefts) > run[0].size and any(_KEYWORD.search(line.text) for line in run)
        explained = any(_EXPLAINED.search(line.text) for line in run)
        if is_code and len(run) > _FEW_STATEMENTS and (indented or explained):
            for line in run:
                line.pitch = line.pitch or _PITCH * line.size


def _unsound(lines: Sequence[TextLine], sheet: Sheet) -> None:
    left: list[Bounds] = []
    for box in sheet.unread:
        near = [line for line in lines if _in_line(box, line)]
        if near:
            min(near, key=lambda line: abs(line.box[1] + line.box[3] - box[1] - box[3])).sound = False
        else:
            left.append(box)
    sheet.unread = left


def _in_line(box: Bounds, line: TextLine) -> bool:
    left, top, right, bottom = line.box
    beside = left - 1.2 * line.size < box[2] and box[0] < right + 1.2 * line.size
    level = top - 0.4 * line.size < (box[1] + box[3]) / 2 < bottom + 0.3 * line.size
    return beside and level and box[3] - box[1] < max(3 * line.size, bottom - top + line.size)


def _labels(glyphs: list[Glyph], own: Sequence[Piece]) -> tuple[list[Piece], list[Piece], list[Glyph]]:
    """Takes captions of figures, and labels of options (A., ①) alone beside them, out of the letters."""
    captions, labels, taken = list[Piece](), list[Piece](), set[int]()
    for run in layout.runs(glyphs) if own else ():
        text, box, size = "".join(glyph.text for glyph in run), hull(run), run[0].size
        near = [piece for piece in own if piece.kind == "figure" and not piece.caption and _is_under(box, piece)]
        captioned, labelled = near and is_caption(text), _LABEL.fullmatch(text)
        level = (g for g in glyphs if abs(g.base - run[0].base) < 0.3 * size and g.text.strip() and g.left >= box[2])
        room = min((g.left - box[2] for g in level), default=math.inf) if captioned or labelled else 0.0
        beside = (p for p in own if p.box[1] - size < (box[1] + box[3]) / 2 < p.box[3] + size)
        if captioned and room > _TITLED * size:
            figure = min(near, key=lambda near: min(abs(box[1] - near.box[3]), abs(near.box[1] - box[3])))
            (line, *_) = lines_of([g for g in glyphs if layout.contains(box, *g.centre)], [])
            figure.caption = line.text.strip()
            captions.append(Piece("caption", box, [line]))
        elif labelled and room > _ALONE * size and any(-2 < p.box[0] - box[2] < 4 * size for p in beside):
            labels.append(Piece("text", box, lines_of(run, [])))
        else:
            continue
        taken.update(map(id, run))
    return captions, labels, [glyph for glyph in glyphs if id(glyph) not in taken]


def _in_rows(pieces: list[Piece], labels: set[int]) -> list[Piece]:
    """Pieces from top to bottom; figures side by side and their labels from left to right."""

    def goes_on(row: list[Piece], piece: Piece) -> bool:
        solid = all(member.kind in ("figure", "table") or id(member) in labels for member in (*row, piece))
        _, top, _, bottom = around(member.box for member in row)
        shared = min(bottom, piece.box[3]) - max(top, piece.box[1])
        return solid and shared > 0.5 * min(bottom - top, piece.box[3] - piece.box[1])

    def place(piece: Piece) -> tuple[float, float]:  # a figure may begin beside the first line of a text
        return sum(piece.lines[0].box[1::2]) / 2 if piece.kind == "text" else piece.box[1], piece.box[0]

    rows = chains(sorted(pieces, key=place), goes_on)
    return [piece for row in rows for piece in sorted(row, key=lambda piece: piece.box[0])]


def _within(region: Bounds, x: float, y: float) -> bool:
    return region[0] <= x < region[2] and region[1] <= y < region[3]


def _paragraphs(lines: list[TextLine], own: Sequence[Piece], frames: Sequence[Bounds]) -> list[Piece]:
    ordered = sorted(lines, key=lambda line: line.base)
    steps = sorted(b.base - a.base for a, b in pairwise(ordered) if b.base - a.base < 4 * b.size)
    usual = steps[len(steps) // 2] if steps else 0.0
    parts = chains(ordered, lambda part, line: _follows(part[-1], line, usual, own, frames))
    return [Piece("text", around(line.box for line in part), part) for part in parts]


def _is_under(box: Bounds, piece: Piece) -> bool:
    near = -2 < box[1] - piece.box[3] < 24 or -2 < piece.box[1] - box[3] < 24
    return near and box[0] < piece.box[2] and box[2] > piece.box[0]


def _follows(last: TextLine, line: TextLine, usual: float, own: Sequence[Piece], frames: Sequence[Bounds]) -> bool:
    if line.base == last.base:  # in a frame at its end
        return True
    size, gap = max(last.size, line.size), line.box[1] - last.box[3]
    parted = gap > 0.9 * size and line.base - last.base > 1.35 * usual
    middles = [((a + c) / 2, (b + d) / 2) for a, b, c, d in (last.box, line.box)]
    framed = any(len({layout.contains(frame, *middle) for middle in middles}) > 1 for frame in frames)
    if parted or framed or gap > 2.5 * size or abs(last.size - line.size) > 0.35 * size:
        return False
    return not any(middles[0][1] < piece.box[1] < middles[1][1] for piece in own)


def _block(piece: Piece, column: int, sheet: Sheet, crop: Crop) -> Block:
    lines, box = [_record(line, sheet, crop) for line in piece.lines], box_of(piece.box, sheet)
    wanted = piece.kind in ("figure", "table") or any(line.unread for line in lines)
    picture = crop(piece.box) if wanted else None
    sure = sum(line.confidence for line in lines) / len(lines) if lines else 1.0
    kind, caption, origin = piece.kind, piece.caption, sheet.origin
    return Block(
        kind=kind, box=box, column=column, lines=lines, picture=picture, caption=caption, origin=origin, confidence=sure
    )


def _record(line: TextLine, sheet: Sheet, crop: Crop) -> Line:
    same = {name: getattr(line, name) for name in ("text", "bold", "place", "other", "look", "inks", "lined")}
    return Line(
        **same,
        box=box_of(line.box, sheet),
        size=line.size / sheet.height,
        confidence=round(line.confidence if line.sound else min(line.confidence, 0.5), 3),
        unread=not line.sound or line.confidence < UNSURE,
        pitch=line.pitch / sheet.width,
        pictures=[crop((a - _MARGIN, b - _MARGIN, c + _MARGIN, d + _MARGIN)) for a, b, c, d in line.shown],
    )


def box_of(box: Bounds, sheet: Sheet) -> Box:
    """Points as fractions of the page."""
    left, right = sorted(min(1.0, max(0.0, value / sheet.width)) for value in (box[0], box[2]))
    top, bottom = sorted(min(1.0, max(0.0, value / sheet.height)) for value in (box[1], box[3]))
    return Box(page=sheet.number, left=left, top=top, right=right, bottom=bottom)
