"""Reader of one paper's pages, in a process of its own (see `worker`).

Contract: each paper pays for loading this module: it loads neither pydantic nor the code for scans.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from livek12.core.errors import UserError, install
from livek12.core.process import Link, limit_time
from livek12.core.text import one_line
from livek12.dataset_builders.ingest import sources
from livek12.dataset_builders.ingest.pages import glyphs, pdf, sight, text_layer
from livek12.dataset_builders.ingest.pages.blocks import Box, PageBlocks
from livek12.dataset_builders.ingest.pages.geometry import Bounds
from livek12.dataset_builders.ingest.pages.ground import Ground

if TYPE_CHECKING:
    from livek12.core.records import Language
    from livek12.dataset_builders.ingest.scans.scanner import Scanner

Pages: TypeAlias = range | tuple[Box, ...] | None
PAGE_DPI: Final = 144
CROP_DPI: Final = 200


def read_paper(
    link: Link,
    what: tuple[Path, Language | None, str, Pages],
    limits: tuple[float, float],
    memory_bytes: int,
) -> None:
    """Sends the pages of a paper, each within its limit of processor time."""
    path = what[0]

    def send(**message: object) -> None:
        limit_time(limits["slow" in message])
        link.send_bytes(json.dumps(message, default=_plain).encode())

    try:
        limit_time(limits[0])
        for page in read_here(*what, lambda: send(slow=True)):
            send(page=page)
        send(end=True)
    except UserError as error:
        send(error=str(error))
    except ImportError as error:
        send(error=f"{path}: {_lacking(error)}")
    except MemoryError:
        send(error=f"{path}: needs more than {memory_bytes >> 20} MiB of memory; split the file")


def _plain(value: object) -> object:
    return b64encode(value).decode() if isinstance(value, bytes) else vars(value)


def _lacking(error: ImportError) -> str:
    """Advice for a picture reader that does not load: OpenCV may be there and lack a library."""
    reason = one_line(error, 120)
    if (error.name or "").startswith("cv2") or re.search(r"cv2|libGL|libgthread|opencv", reason):
        return (
            f"pages that are pictures need OpenCV, which does not load here ({reason}): "
            "pip install opencv-python-headless, or read the text layer alone with --how text"
        )
    return f"a scanned page needs more than is here ({reason}): {install('ingest')}"


def read_here(
    path: Path, language: Language | None, how: str, pages: Pages, slow: Callable[[], None] = lambda: None
) -> Iterator[PageBlocks]:
    """Yields the pages of a paper, headers and footers not yet marked; UserError if it cannot be read.

    Args:
        how: as for `extract.extract_pages`; "image" draws the pages only.
        pages: numbers from 1, or boxes, each of which is read as a page; None for all.
        slow: called before a page is read by OCR.
    """
    if sources.is_source(path):
        yield sources.read(path)
        return
    with pdf.opened(path) as document:
        wanted = range(1, len(document) + 1) if pages is None or isinstance(pages, tuple) else pages
        numbers = [number for number in wanted if 1 <= number <= len(document)]
        if len(numbers) > pdf.MAX_PAGES:
            raise UserError(f"{path}: {len(numbers)} pages, more than the limit of {pdf.MAX_PAGES}: name fewer pages")
        ground = Ground(document, numbers if how in ("auto", "text") else ())
        paper = _Paper(language, how, slow, ground, pdf.unnamed_codes(path))
        if isinstance(pages, tuple):
            yield from _boxes(paper, document, pages)
            return
        for number in numbers:
            page = document[number - 1]
            yield _page_or_loss(paper, page, number)
            page.close()


def _boxes(paper: _Paper, document: Any, boxes: tuple[Box, ...]) -> Iterator[PageBlocks]:
    for number, box in enumerate(boxes, 1):
        if not 1 <= box.page <= len(document):
            raise UserError(f"page {box.page}: the PDF has {len(document)} pages")
        page = document[box.page - 1]
        page.set_rotation((page.get_rotation() + text_layer.turned(glyphs.read(page))) % 360)
        undo = pdf.crop_to(page, box)
        yield _page_or_loss(paper, page, number)
        undo()
        page.close()


def _page_or_loss(paper: _Paper, page: Any, number: int) -> PageBlocks:
    try:
        return paper.page(page, number)
    except (UserError, ImportError, MemoryError):
        raise
    except Exception as error:  # whatever a page leads a rule to raise
        reason = one_line(f"{type(error).__name__}: {error}", 120)
        return replace(paper.picture(page, number), lost=reason)


@dataclass
class _Paper:
    language: Language | None
    how: str
    slow: Callable[[], None]
    ground: Ground
    unnamed: set[tuple[str, str, int]]
    before: text_layer.Reading = field(default_factory=text_layer.Reading)

    @cached_property
    def scanner(self) -> Scanner:
        """The OCR of the paper; its code loads with the first scanned page."""
        from livek12.dataset_builders.ingest.scans.scanner import Scanner

        return Scanner(self.language)

    def page(self, page: Any, number: int) -> PageBlocks:
        if self.how == "image":
            return self.picture(page, number)
        with self.ground.hidden(page) as hidden:
            read = self._read(page, number, hidden)
        return read if read.image else replace(read, image=pdf.png(pdf.printed(page, PAGE_DPI)))

    def _read(self, page: Any, number: int, hidden: bool) -> PageBlocks:
        raw = glyphs.read(page, self.unnamed)
        if self.how != "ocr" and (degrees := text_layer.turned(raw)):
            page.set_rotation((page.get_rotation() + degrees) % 360)
            raw = glyphs.read(page, self.unnamed)
        if self.how == "text" or (self.how == "auto" and text_layer.sound(raw)):
            return self._by_text(page, raw, number, hidden)
        return self._by_ocr(page, raw, number)

    def picture(self, page: Any, number: int) -> PageBlocks:
        width, height = page.get_size()
        return PageBlocks(number=number, width=width, height=height, image=pdf.png(pdf.drawn(page, PAGE_DPI)))

    def _by_text(self, page: Any, raw: glyphs.RawPage, number: int, hidden: bool) -> PageBlocks:
        def crop(box: Bounds) -> bytes:
            return pdf.png(pdf.printed(page, CROP_DPI, box))

        picture = pdf.printed(page, PAGE_DPI)
        seen = sight.looked_at(page, raw, picture, PAGE_DPI)
        reading = text_layer.blocks_of(raw, number, crop, self.before, seen)
        self.before = replace(reading, blocks=[], loose=[])
        image, blocks, loose = b"" if hidden else pdf.png(picture), reading.blocks, reading.loose
        return PageBlocks(
            number=number, width=raw.width, height=raw.height, image=image, blocks=blocks, notes=raw.notes, loose=loose
        )

    def _by_ocr(self, page: Any, raw: glyphs.RawPage, number: int) -> PageBlocks:
        from livek12.dataset_builders.ingest.scans import scan
        from livek12.dataset_builders.ingest.scans.scanner import DPI

        self.slow()
        scan.ready()
        picture = pdf.drawn(page, DPI)
        if (times := scan.enlargement(picture)) > 1:
            picture = pdf.drawn(page, times * DPI)
        dpi = 72 * picture.width / raw.width
        picture, blocks, notes = self.scanner.page(picture, number, dpi)
        notes += raw.notes
        if self.how == "auto":
            notes.append("pages without a sound text layer were read by OCR")
        width, height = picture.width * 72 / dpi, picture.height * 72 / dpi
        return PageBlocks(number=number, width=width, height=height, image=pdf.png(picture), blocks=blocks, notes=notes)
