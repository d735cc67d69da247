"""Ground of a paper: drawings and pictures that several of its pages have at one place.

Watermarks, logos, strips in the margins and templates of slides are no part of a question.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from livek12.dataset_builders.ingest.pages.geometry import UNMOVED, Affine
from livek12.dataset_builders.ingest.pages.glyphs import THIN, bounds_of, is_pale, is_ruled, page_objects
from livek12.dataset_builders.ingest.pages.layout import overlaps

_FEWEST, _SHARE, _SAMPLE = 3, 0.3, 24
"""Pages that have it, at least, and their share of those that are looked at, at most so many."""
_SMALL: Final = 20.0
"""Points: what is smaller both ways may be a choice's circle."""
_Key = tuple[int, ...]
"""Kind, box in points, and size of the picture's data or segments of the outline."""


class Ground:
    """Properties that the pages of a document share."""

    def __init__(self, document: Any, numbers: Sequence[int]) -> None:
        pages = numbers[:: -(-len(numbers) // _SAMPLE)] if len(numbers) >= _FEWEST else ()
        seen: Counter[_Key] = Counter()
        for number in pages:
            page = document[number - 1]
            seen.update({_key(*each) for each in page_objects(page, UNMOVED)[0]} - {()})
            page.close()
        fewest = max(_FEWEST, _SHARE * len(pages))
        self._keys = {key for key, many in seen.items() if many >= fewest}

    @contextmanager
    def hidden(self, page: Any) -> Iterator[bool]:
        """Takes it off a page meanwhile, unless it is under light letters; true if there is some."""
        import pypdfium2.raw as c

        objects = page_objects(page, UNMOVED)[0] if self._keys else []
        light = [bounds_of(i, to_page) for i, kind, to_page in objects if kind == c.FPDF_PAGEOBJ_TEXT and is_pale(i)]
        ground = []
        for item, kind, to_page in objects:
            if _key(item, kind, to_page) in self._keys and not is_ruled(item):
                box = bounds_of(item, to_page)
                if box and not any(text and overlaps(box, text) for text in light):
                    ground.append(item)
        for item in ground:
            c.FPDFPageObj_SetIsActive(item, False)
        try:
            yield bool(ground)
        finally:
            for item in ground:
                c.FPDFPageObj_SetIsActive(item, True)


def _key(item: Any, kind: int, to_page: Affine) -> _Key:
    """() for text and what is small or thin."""
    import pypdfium2.raw as c

    kinds = (c.FPDF_PAGEOBJ_IMAGE, c.FPDF_PAGEOBJ_SHADING, c.FPDF_PAGEOBJ_PATH)
    box = bounds_of(item, to_page) if kind in kinds else None
    if not box or min(box[2] - box[0], box[3] - box[1]) < THIN or max(box[2] - box[0], box[3] - box[1]) < _SMALL:
        return ()
    size = c.FPDFPath_CountSegments(item) if kind == c.FPDF_PAGEOBJ_PATH else 0
    data = c.FPDFImageObj_GetImageDataRaw(item, None, 0) if kind == c.FPDF_PAGEOBJ_IMAGE else 0
    return (kind, *map(round, box), int(size), int(data))
