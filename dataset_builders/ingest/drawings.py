"""Paths and pictures of a page as thin lines along an axis (`Rule`) and everything else (`Shape`).

Contract: `read` looks into forms, bounds how many objects it looks at, leaves out what is white or clear, and joins
lines that are drawn twice or in pieces.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any, Final

from livek12.dataset_builders.ingest.geometry import Affine, Bounds, Rule, Shape

MAX_OBJECTS: Final = 20_000
MAX_DEPTH: Final = 8
_OUTLINE: Final = 40
"""Points of an outline that are kept: a sign of a formula has fewer."""
_FAINT: Final = 90
"""Grey values (of 255) from white: what is filled lighter than this can be printed over."""
THIN: Final = 2.6
"""Points: what is thinner is a line."""


@dataclass(slots=True)
class _Drawn:
    """What was found so far."""

    width: float
    height: float
    rules: list[Rule] = field(default_factory=list)
    shapes: list[Shape] = field(default_factory=list)


def read(
    page: Any, shown: Affine, width: float, height: float, bars: list[Rule]
) -> tuple[list[Rule], list[Shape], bool]:
    """The drawings of a page, and whether these are all.

    Args:
        page: of pdfium.
        shown: from the page's own coordinates to points from the top left.
        width: of the page.
        height: of the page.
        bars: rules that are set as glyphs.
    """
    import pypdfium2.raw as c

    found = _Drawn(width, height)
    objects = PageObjects(page, shown)
    for item, kind, to_page in objects:
        if kind in (c.FPDF_PAGEOBJ_IMAGE, c.FPDF_PAGEOBJ_SHADING):
            box = _box(c, item, to_page)
            if box:
                found.shapes.append(Shape("image", *box))
        elif kind == c.FPDF_PAGEOBJ_PATH:
            _path(c, item, to_page, found)
    return _merged([*found.rules, *bars]), found.shapes, objects.whole


class PageObjects:
    """The objects of a page and of its forms in the order they are painted: each with its kind and where it lies.

    Args:
        page: of pdfium.
        shown: from the page's own coordinates to those wanted; an object's own are set into these by its forms.
    """

    def __init__(self, page: Any, shown: Affine) -> None:
        self._page, self._shown = page.raw, shown
        self._left = MAX_OBJECTS

    @property
    def whole(self) -> bool:
        """Whether none was left out so far."""
        return self._left > 0

    def __iter__(self) -> Iterator[tuple[Any, int, Affine]]:
        import pypdfium2.raw as c

        self._left = MAX_OBJECTS
        get = partial(c.FPDFPage_GetObject, self._page)
        yield from self._within(c, c.FPDFPage_CountObjects(self._page), get, self._shown, 0)

    def _within(self, c: Any, count: int, get: Any, to_page: Affine, depth: int) -> Iterator[tuple[Any, int, Affine]]:
        for index in range(count):
            if self._left <= 0:
                return
            self._left -= 1
            item = get(index)
            kind = c.FPDFPageObj_GetType(item)
            if kind == c.FPDF_PAGEOBJ_FORM and depth < MAX_DEPTH:
                inner = to_page.after(_matrix(c, item))
                get_inner = partial(c.FPDFFormObj_GetObject, item)
                yield from self._within(c, c.FPDFFormObj_CountObjects(item), get_inner, inner, depth + 1)
            else:
                yield item, kind, to_page


def address(item: Any) -> int:
    """What tells an object of a page from the others; 0 for none."""
    return ctypes.cast(item, ctypes.c_void_p).value or 0


def _matrix(c: Any, item: Any) -> Affine:
    matrix = c.FS_MATRIX()
    c.FPDFPageObj_GetMatrix(item, matrix)
    return Affine(matrix.a, matrix.b, matrix.c, matrix.d, matrix.e, matrix.f)


def _box(c: Any, item: Any, to_page: Affine) -> Bounds | None:
    left, bottom, right, top = (ctypes.c_float() for _ in range(4))
    if not c.FPDFPageObj_GetBounds(item, left, bottom, right, top):
        return None
    return to_page.bounds(left.value, bottom.value, right.value, top.value)


def paint(item: Any) -> tuple[int, int, int, int]:
    """Red, green, blue and how opaque (0 to 255) an object is filled; black where it does not say."""
    import pypdfium2.raw as c

    return _colour(c, item, c.FPDFPageObj_GetFillColor)


def _colour(c: Any, item: Any, get: Any) -> tuple[int, int, int, int]:
    values = [ctypes.c_uint() for _ in range(4)]
    if not get(item, *values):
        return (0, 0, 0, 255)
    red, green, blue, alpha = (value.value for value in values)
    return (red, green, blue, alpha)


def _pale(colour: tuple[int, int, int, int]) -> bool:
    return colour[3] < 20 or min(colour[:3]) > 236


def _is_faint(colour: tuple[int, int, int, int]) -> bool:
    """Whether a colour is so light, on white paper, that letters over it can be read."""
    return max((255 - value) * colour[3] for value in colour[:3]) < _FAINT * 255


def _path(c: Any, item: Any, to_page: Affine, found: _Drawn) -> None:
    mode, stroke = ctypes.c_int(), ctypes.c_int()
    c.FPDFPath_GetDrawMode(item, mode, stroke)
    ground = _colour(c, item, c.FPDFPageObj_GetFillColor)
    filled = mode.value != 0 and not _pale(ground)
    stroked = bool(stroke.value) and not _pale(_colour(c, item, c.FPDFPageObj_GetStrokeColor))
    if not filled and not stroked:
        return
    own = to_page.after(_matrix(c, item))
    for points, curved in _subpaths(c, item, own):
        _subpath(points, curved, filled, filled and not stroked and _is_faint(ground), found)


def _subpaths(c: Any, item: Any, own: Affine) -> Iterator[tuple[list[tuple[float, float]], bool]]:
    """Each stroke of the pen: its points on the page, and whether it has curves."""
    points: list[tuple[float, float]] = []
    curved = False
    x, y = ctypes.c_float(), ctypes.c_float()
    for index in range(min(c.FPDFPath_CountSegments(item), 5000)):
        segment = c.FPDFPath_GetPathSegment(item, index)
        kind = c.FPDFPathSegment_GetType(segment)
        c.FPDFPathSegment_GetPoint(segment, x, y)
        point = own.point(x.value, y.value)
        if kind == c.FPDF_SEGMENT_MOVETO:
            if len(points) > 1:
                yield points, curved
            points, curved = [point], False
            continue
        points.append(point)
        curved = curved or kind == c.FPDF_SEGMENT_BEZIERTO
        if c.FPDFPathSegment_GetClose(segment) and points[0] != points[-1]:
            points.append(points[0])
    if len(points) > 1:
        yield points, curved


def _subpath(points: list[tuple[float, float]], curved: bool, filled: bool, faint: bool, found: _Drawn) -> None:
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    if (
        right < 0
        or bottom < 0
        or left > found.width
        or top > found.height
        or not math.isfinite(left + right + top + bottom)
    ):
        return
    if _is_line(points, right - left, bottom - top):
        found.rules.append(Rule(left, top, right, bottom))
        return
    straight = not curved and all(abs(x0 - x1) < 0.5 or abs(y0 - y1) < 0.5 for (x0, y0), (x1, y1) in pairwise(points))
    if straight and filled:
        kind = "frame" if len(points) <= 6 else "drawing"
        found.shapes.append(Shape(kind, left, top, right, bottom, tuple(points[:_OUTLINE]), filled=True))
    elif straight:
        for (x0, y0), (x1, y1) in pairwise(points):
            found.rules.append(Rule(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)))
    elif max(right - left, bottom - top) > 1.0:
        kind = "frame" if _hugs(points, left, top, right, bottom) else "drawing"
        found.shapes.append(Shape(kind, left, top, right, bottom, tuple(points[:_OUTLINE]), filled, faint))


def _is_line(points: list[tuple[float, float]], wide: float, tall: float) -> bool:
    """Whether a stroke is a thin line; the head of an arrow is as small, and slants."""
    if min(wide, tall) >= THIN or max(wide, tall) <= 1.0:
        return False
    slants = any(abs(x0 - x1) > 0.8 and abs(y0 - y1) > 0.8 for (x0, y0), (x1, y1) in pairwise(points))
    return min(wide, tall) < 1.2 or len(points) < 3 or not slants


def _hugs(points: list[tuple[float, float]], left: float, top: float, right: float, bottom: float) -> bool:
    """Whether an outline is a rectangle with round corners: each point lies on the border or in a corner."""
    short = min(right - left, bottom - top)
    if short < 8 or len(points) < 8:
        return False
    corner = short * (0.5 if max(right - left, bottom - top) > 1.6 * short else 0.22)
    return all(
        min(x - left, right - x, y - top, bottom - y) < 1.2
        or (min(x - left, right - x) < corner and min(y - top, bottom - y) < corner)
        for x, y in points
    )


def _merged(rules: list[Rule]) -> list[Rule]:
    """Doubled and chained pieces of one line become one."""
    done: list[Rule] = []
    for flat in (True, False):
        lines = [rule for rule in rules if rule.flat == flat and rule.length > 0]
        lines.sort(
            key=lambda r: (round((r.top + r.bottom) / 2) if flat else round((r.left + r.right) / 2), r.left, r.top)
        )
        for rule in lines:
            for last in reversed(done[-6:]):
                if last.flat == flat and _continues(last, rule, flat):
                    last.left, last.top = min(last.left, rule.left), min(last.top, rule.top)
                    last.right, last.bottom = max(last.right, rule.right), max(last.bottom, rule.bottom)
                    break
            else:
                done.append(Rule(rule.left, rule.top, rule.right, rule.bottom))
    return done


def _continues(last: Rule, rule: Rule, flat: bool) -> bool:
    if flat:
        same = abs(last.top + last.bottom - rule.top - rule.bottom) < 1.6
        return same and rule.left <= last.right + 0.6 and last.left <= rule.right + 0.6
    same = abs(last.left + last.right - rule.left - rule.right) < 1.6
    return same and rule.top <= last.bottom + 0.6 and last.top <= rule.bottom + 0.6
