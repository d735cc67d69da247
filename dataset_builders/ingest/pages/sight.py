"""Comparison of a page's text layer with its picture: letters that are not printed, unexplained ink.

Contract: the page is drawn again without its text. A letter without a difference is not printed: clipped, covered,
white on white, clear, or off the page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress, islice, pairwise
from operator import or_
from typing import TYPE_CHECKING, Any, Final

from livek12.dataset_builders.ingest.pages import layout, pdf
from livek12.dataset_builders.ingest.pages.geometry import UNMOVED, Bounds, Rule, Shape, around, connected
from livek12.dataset_builders.ingest.pages.glyphs import THIN, Glyph, RawPage, address, page_objects, paint

if TYPE_CHECKING:
    import numpy as np
    from PIL.Image import Image as Picture

    Grey = np.ndarray[Any, np.dtype[np.uint8]]
    Mask = np.ndarray[Any, np.dtype[np.bool_]]


_CHANGE: Final = 20
"""Grey values (of 255) by which ink changes a picture at least."""
_MOSTLY: Final = 0.6
"""Share of a letter's box that has the colour of its ground."""
_LEAST: Final = 2.5
"""Grey values by which a letter darkens its box at least; the edge of a covered one does less."""
_DARK: Final = 170
"""Grey values below which there is ink."""
_WHITE: Final = 250
"""Grey values from which on there is no ink."""
_BEYOND: Final = 16
"""Dots, at 144 dpi, by which ink goes on beyond an outline: half of its stroke, or a dash."""
_IN_LINE: Final = 40
"""Points: a picture that is no higher may lie over letters of a line."""
_STEPS: Final = 9
"""Places along each line of an outline that are looked at."""
_MOST_SIDES: Final = 20_000
"""Sides of drawings of one page that are looked at."""
_OVERPRINTED: Final = 0.3
"""Points that letters share across and down, at least."""
_SPECK: Final = 5
"""Dots of ink (at 144 dpi) that are no sign; a full stop of 10 points has nine."""
_MOST, _MOST_RUNS = 400, 20_000
"""Pieces of ink that are looked at, and their runs of dots."""


@dataclass
class Sight:
    """A page as printed: dots a point, grey values of the page and of its drawings alone."""

    scale: float
    full: Grey
    drawn: Grey

    def unexplained(self, glyphs: Sequence[Glyph], explained: Iterable[Bounds]) -> list[Bounds]:
        """Boxes, in points, of ink outside all letters and `explained` boxes, and of drawings outside the latter."""
        rest = self.full < _DARK
        for glyph in glyphs:
            self._clear(rest, glyph.box, 0.6)
        rest |= self.drawn < _DARK
        for box in explained:
            self._clear(rest, box, 0.5)
        boxes, more = _pieces(rest)
        boxes += [(0, 0, *rest.shape[::-1])] * more
        return [_scaled(box, 1 / self.scale) for box in boxes]

    def whole(self, box: Bounds) -> Bounds:
        """The box of a drawing, in points, with the ink that goes on beyond its edges, `_BEYOND` dots at most."""
        left, top, right, bottom = (max(0, round(value * self.scale)) for value in box)
        ink = self.drawn < _WHITE
        tall, wide = ink.shape
        for _ in range(_BEYOND):
            wider = (
                left - (left > 0 and bool(ink[top : bottom + 1, left - 1].any())),
                top - (top > 0 and bool(ink[top - 1, left : right + 1].any())),
                right + (right + 1 < wide and bool(ink[top : bottom + 1, right + 1].any())),
                bottom + (bottom + 1 < tall and bool(ink[bottom + 1, left : right + 1].any())),
            )
            if wider == (left, top, right, bottom):
                break
            left, top, right, bottom = wider
        return left / self.scale, top / self.scale, (right + 1) / self.scale, (bottom + 1) / self.scale

    def part_pictures(self, raw: RawPage) -> None:
        """Puts dark pieces of a picture in its place, if letters stand in it and most is ground."""
        pictures = [shape for shape in raw.shapes if shape.kind == "image"]
        others = [shape for shape in raw.shapes if shape.kind != "image"]
        drawn = [part.box for part in (*raw.rules, *others)]
        centres = [glyph.centre for glyph in raw.glyphs if glyph.text.strip()]
        body = layout.body_size(raw.glyphs)
        raw.shapes = others
        for shape in pictures:
            lettered = any(layout.contains(shape.box, *centre) for centre in centres)
            pieces, more = self._parts(shape) if lettered else ([], True)
            groups = [around(pieces[at] for at in group) for group in layout.groups(pieces, layout.NEAR)]
            if more or 2 * sum(map(layout.area, groups)) > layout.area(shape.box):
                raw.shapes.append(shape)
                continue
            own = [box for box in pieces if not any(layout.overlaps(box, other, 1) for other in drawn)]
            bars = [box for box in own if box[3] - box[1] < THIN and box[2] - box[0] > body]
            raw.rules += [Rule(*box) for box in bars]
            raw.shapes += [Shape("image", *box) for box in own if box not in bars]

    def _parts(self, shape: Shape) -> tuple[list[Bounds], bool]:
        left, top, right, bottom = (max(0, round(value * self.scale)) for value in shape.box)
        ink = _WHITE if shape.bottom - shape.top < _IN_LINE else _DARK
        boxes, more = _pieces(self.drawn[top:bottom, left:right] < ink)
        return [_scaled((left + a, top + b, left + c, top + d), 1 / self.scale) for a, b, c, d in boxes], more

    def _clear(self, mask: Mask, box: Bounds, margin: float) -> None:
        left, top = (max(0, int((value - margin) * self.scale)) for value in box[:2])
        right, bottom = (max(0, int((value + margin) * self.scale) + 1) for value in box[2:])
        mask[top:bottom, left:right] = False


def looked_at(page: Any, raw: RawPage, picture: Picture, dpi: float) -> Sight:
    """Removes what is not printed from `raw`, letters with a note; `picture` is without annotations that write."""
    import numpy as np

    if pdf.has_annotations(page):
        raw.notes.append("text and ink of annotations, which lie over the page, were not read")
    full, texts = _grey(picture), _Texts(page)
    sight = Sight(dpi / 72, full, np.full_like(full, 255))
    if raw.shapes or raw.rules:
        with texts.without(range(len(texts.items))):
            sight.drawn = _grey(pdf.printed(page, dpi))
    _drop_unseen(raw, sight)
    sight.part_pictures(raw)
    seen = _seen(page, raw.glyphs, texts, sight, dpi)
    hidden = [glyph for glyph, shown in zip(raw.glyphs, seen, strict=True) if not shown]
    raw.glyphs = [*compress(raw.glyphs, seen)]
    if hidden:
        text = "".join(glyph.text for glyph in hidden)[:40]
        many = f"{len(hidden)} letters" if len(hidden) > 1 else "1 letter"
        raw.notes.append(f"{many} of the text layer are not printed on the page and were not read: {text!r}")
    return sight


def _drop_unseen(raw: RawPage, sight: Sight) -> None:
    raw.rules = [*compress(raw.rules, _inked(raw.rules, sight.full, sight.scale))]  # letters may be rules
    pictures = [shape.kind == "image" for shape in raw.shapes]
    inked = _inked(raw.shapes, sight.drawn, sight.scale)
    raw.shapes = [*compress(raw.shapes, map(or_, pictures, inked))]
    parts: list[Rule | Shape] = [rule for rule in raw.rules if rule.flat]
    parts += [shape for shape in raw.shapes if shape.kind != "image" or shape.height > _IN_LINE]
    for part in parts:
        _cut(part, sight.drawn, sight.scale)


def _seen(page: Any, glyphs: Sequence[Glyph], texts: _Texts, sight: Sight, dpi: float) -> list[bool]:
    places = [texts.place.get(glyph.item, -1) for glyph in glyphs]
    seen = _changed(glyphs, sight.full, sight.drawn, sight.scale)
    if not texts.whole:  # what was not hidden shows no difference
        seen = [shown or place < 0 for shown, place in zip(seen, places, strict=True)]
    for doubtful in (_overprinted(glyphs, texts.place), _partly(glyphs, seen, texts.place)):
        if doubtful:  # what the page loses without them is their own ink, not that of what lies beside or over them
            with texts.without(doubtful):
                others = _changed(glyphs, sight.full, _grey(pdf.printed(page, dpi)), sight.scale)
            seen = [s and (place not in doubtful or o) for s, place, o in zip(seen, places, others, strict=True)]
    paints = texts.paints()
    for at, (glyph, place) in enumerate(zip(glyphs, places, strict=True)):
        on_ground = place >= 0 and _on_its_ground(glyph, paints[place], sight)
        seen[at] = seen[at] and not on_ground
        if not glyph.text.strip():  # white space between hidden letters is hidden
            seen[at] = not at or seen[at - 1]
    return seen


Side = tuple[tuple[float, float], tuple[float, float]]


def _sides(box: Rule | Shape) -> list[Side]:
    points = box.points if isinstance(box, Shape) else ()
    corners = ((box.left, box.top), (box.right, box.top), (box.right, box.bottom), (box.left, box.bottom))
    return [*pairwise(points or corners)]


def _inked(boxes: Sequence[Rule | Shape], ink: Grey, scale: float) -> list[bool]:
    sides = [_sides(box) for box in boxes]
    inked = iter(_printed([side for own in sides for side in own], ink, scale))
    return [any([*islice(inked, len(own))]) for own in sides]


def _cut(part: Rule | Shape, drawn: Grey, scale: float) -> None:
    """Cuts a line or a drawing to its printed part, in place; a line set as letters has none."""
    left, top, right, bottom = (max(0, round(v * scale)) for v in part.box)
    ink = drawn[max(0, top - 1) : bottom + 2, max(0, left - 1) : right + 2] < _WHITE
    across, down = (ink.any(axis=axis).nonzero()[0].tolist() for axis in (0, 1))
    if across:
        sides = (across[0] - 1 + left, across[-1] + left, down[0] - 1 + top, down[-1] + top)
        first, last, high, low = (side / scale for side in sides)
        part.left, part.right = max(part.left, first), min(part.right, max(first, last))
        part.top, part.bottom = max(part.top, high), min(part.bottom, max(high, low))


def _printed(sides: Sequence[Side], ink: Grey, scale: float) -> list[bool]:
    import numpy as np

    ends = np.asarray(sides[:_MOST_SIDES], dtype=float).reshape(-1, 2, 2) * scale
    steps = np.linspace(0, 1, _STEPS)[None, :, None]
    places = (ends[:, :1] * (1 - steps) + ends[:, 1:] * steps).round().clip(-2, 1 << 20).astype(int)
    tall, wide = ink.shape
    across, down = places[..., 0], places[..., 1]
    on_page = (across >= 0) & (across < wide) & (down >= 0) & (down < tall)
    dark = np.zeros(across.shape, dtype=bool)
    for x in (-1, 0, 1):
        for y in (-1, 0, 1):
            dark |= ink[(down + y).clip(0, tall - 1), (across + x).clip(0, wide - 1)] < _WHITE
    return [*map(bool, (dark & on_page).any(axis=1)), *(True for _ in sides[_MOST_SIDES:])]


def _partly(glyphs: Sequence[Glyph], seen: Sequence[bool], place: dict[int, int]) -> set[int]:
    letters = [(place.get(g.item), shown) for g, shown in zip(glyphs, seen, strict=True) if g.text.strip()]
    return {at for at, shown in letters if shown and at is not None} & {at for at, shown in letters if not shown}


def _on_its_ground(glyph: Glyph, paint: tuple[int, int, int, int], sight: Sight) -> bool:
    """A letter that is clear, or of the colour of most of its ground, which a rule may cross."""
    red, green, blue, opaque = paint
    grey = 0.299 * red + 0.587 * green + 0.114 * blue
    if opaque < _CHANGE or grey < _DARK:  # dark letters on dark ground are seen to by the picture
        return opaque < _CHANGE
    left, top, right, bottom = (round(v * sight.scale) for v in glyph.box)
    ground: np.ndarray[Any, Any] = sight.drawn[max(0, top) : bottom + 1, max(0, left) : right + 1].astype(int)
    return bool(glyph.text.strip()) and bool(ground.size) and bool((abs(ground - grey) < _CHANGE).mean() > _MOSTLY)


def _changed(glyphs: Sequence[Glyph], picture: Grey, other: Grey, scale: float) -> list[bool]:
    import numpy as np

    differ = np.maximum(picture, other) - np.minimum(picture, other)
    tall, wide = differ.shape
    done = []
    for glyph in glyphs:
        bare = not glyph.text.strip() or glyph.right - glyph.left < 0.05 or glyph.bottom - glyph.top < 0.05
        left, right = (min(wide, max(0, round(x * scale + off))) for x, off in ((glyph.left, -1), (glyph.right, 1)))
        top, bottom = (min(tall, max(0, round(y * scale + off))) for y, off in ((glyph.top, -1), (glyph.bottom, 1)))
        ink = differ[top:bottom, left:right]
        done.append(bool(bare or (ink.size and ink.max() > _CHANGE and ink.mean() > _LEAST)))
    return done


def _overprinted(glyphs: Sequence[Glyph], place: dict[int, int]) -> set[int]:
    """Text objects under letters of a later one: something between them may cover them."""
    cells: dict[tuple[int, int], list[Glyph]] = {}
    below: set[int] = set()
    for glyph in glyphs:
        if not glyph.text.strip() or glyph.slanted or glyph.item not in place:
            continue
        x, y = glyph.centre
        at = int(x // 24), int(y // 24)
        near = (o for dx in (-1, 0, 1) for dy in (-1, 0, 1) for o in cells.get((at[0] + dx, at[1] + dy), ()))
        for other in near:
            if other.item != glyph.item and layout.overlaps(glyph.box, other.box, -_OVERPRINTED):
                below.add(min(place[glyph.item], place[other.item]))
        cells.setdefault(at, []).append(glyph)
    return below


class _Texts:
    """Text objects of a page, forms included, in the order of painting."""

    def __init__(self, page: Any) -> None:
        import pypdfium2.raw as c

        objects, self.whole = page_objects(page, UNMOVED)
        self.items = [item for item, kind, _ in objects if kind == c.FPDF_PAGEOBJ_TEXT]
        self.place = {address(item): at for at, item in enumerate(self.items)}

    def paints(self) -> list[tuple[int, int, int, int]]:
        """Red, green, blue, opacity of each; black for outlines."""
        import pypdfium2.raw as c

        filled = (c.FPDF_TEXTRENDERMODE_FILL, c.FPDF_TEXTRENDERMODE_FILL_CLIP)
        return [
            paint(item) if c.FPDFTextObj_GetTextRenderMode(item) in filled else (0, 0, 0, 255) for item in self.items
        ]

    @contextmanager
    def without(self, places: Iterable[int]) -> Iterator[None]:
        """Hides some text objects."""
        import pypdfium2.raw as c

        places = list(places)
        modes = [c.FPDFTextObj_GetTextRenderMode(self.items[at]) for at in places]
        for at in places:
            c.FPDFTextObj_SetTextRenderMode(self.items[at], c.FPDF_TEXTRENDERMODE_INVISIBLE)
        try:
            yield
        finally:
            for at, mode in zip(places, modes, strict=True):
                c.FPDFTextObj_SetTextRenderMode(self.items[at], mode)


def _grey(picture: Picture) -> Grey:
    import numpy as np

    values: Grey = np.asarray(picture.convert("L"))
    return values


def _pieces(mask: Mask) -> tuple[list[Bounds], bool]:
    """Boxes of connected ink without specks, at most `_MOST`; true if there are more."""
    import numpy as np

    boxes: list[Bounds] = []
    pairs: list[tuple[int, int]] = []
    before: list[tuple[int, int, int]] = []
    last = -2
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        line = np.flatnonzero(np.diff(np.concatenate(([0], mask[row].astype(np.int8), [0]))))
        runs: list[tuple[int, int, int]] = []
        for start, end in zip(line[::2].tolist(), line[1::2].tolist(), strict=True):
            at = len(boxes)
            if at > _MOST_RUNS:
                break
            boxes.append((start, row, end, row + 1))
            above = before if row == last + 1 else ()
            pairs += [(at, other) for left, right, other in above if left <= end and start <= right]
            runs.append((start, end, at))
        before, last = runs, row
    pieces = [[boxes[at] for at in group] for group in connected(len(boxes), pairs)]
    pieces = [runs for runs in pieces if sum(map(layout.area, runs)) > _SPECK]
    more = len(pieces) > _MOST or len(boxes) > _MOST_RUNS
    return [around(runs) for runs in pieces[:_MOST]], more


def _scaled(box: Bounds, by: float) -> Bounds:
    return (box[0] * by, box[1] * by, box[2] * by, box[3] * by)
