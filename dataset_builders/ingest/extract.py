"""A paper's pages as ordered blocks, whatever the paper is: born-digital, scanned, or read by MinerU.

Contract: `extract_pages` gives one page after the other and holds only a few at a time. The PDF is parsed in a process
of its own (`worker`). A file that cannot be read raises UserError with its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Literal

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest import brackets, glyphs, pdf, text_layer, worker
from livek12.dataset_builders.ingest.blocks import PageBlocks
from livek12.dataset_builders.ingest.margins import marked
from livek12.dataset_builders.ingest.scanned import DPI, Scanner

How = Literal["auto", "text", "ocr", "mineru"]
PAGE_DPI: Final = 144
CROP_DPI: Final = 200


def extract_pages(
    path: Path, *, language: Language | None = None, how: How = "auto", pages: range | None = None
) -> Iterator[PageBlocks]:
    """Yields the pages of a paper in order.

    Args:
        path: the PDF.
        language: of the text; None: found out.
        how: "text" reads the text layer, "ocr" the picture of each page, "mineru" runs MinerU, "auto" takes the text
            layer of each page where it is sound and OCR where it is not.
        pages: numbers from 1; None for all.

    Raises:
        UserError: the file cannot be read; the line names it and says what to do.
    """
    if how == "mineru":
        from livek12.dataset_builders.ingest import mineru

        yield from marked(mineru.run(path, pages))
        return
    pdf.checked(path)
    yield from marked(worker.pages(path, language, how, pages))


def read_here(
    path: Path, language: Language | None, how: str, pages: range | None, slow: Callable[[], None] = lambda: None
) -> Iterator[PageBlocks]:
    """Yields the pages as this process reads them, headers and footers not yet marked.

    Args:
        path: the PDF.
        language: of the text, or None.
        how: as `extract_pages` says; "image" draws the pages only.
        pages: numbers from 1; None for all.
        slow: called before a page is read by OCR.

    Raises:
        UserError: the file cannot be read.
    """
    with pdf.opened(path) as document:
        numbers = [number for number in (pages or range(1, len(document) + 1)) if 1 <= number <= len(document)]
        if len(numbers) > pdf.MAX_PAGES:
            raise UserError(f"{path}: {len(numbers)} pages, more than the limit of {pdf.MAX_PAGES}: name fewer pages")
        paper = _Paper(language, how, slow)
        for number in numbers:
            page = document[number - 1]
            yield paper.page(page, number)
            page.close()


class _Paper:
    """What is known from the pages before."""

    def __init__(self, language: Language | None, how: str, slow: Callable[[], None]) -> None:
        self.how = how
        self.slow = slow
        self.middle: float | None = None
        self.scanner = Scanner(language)

    def page(self, page: Any, number: int) -> PageBlocks:
        if self.how == "image":
            width, height = page.get_size()
            return PageBlocks(number=number, width=width, height=height, image=pdf.png(pdf.drawn(page, PAGE_DPI)))
        raw = glyphs.read(page)
        if self.how != "ocr" and (degrees := text_layer.turned(raw)):
            page.set_rotation((page.get_rotation() + degrees) % 360)
            raw = glyphs.read(page)
        if self.how == "text" or (self.how == "auto" and text_layer.sound(raw)):
            return self._by_text(page, raw, number)
        return self._by_ocr(page, raw, number)

    def _by_text(self, page: Any, raw: glyphs.RawPage, number: int) -> PageBlocks:
        brackets.name(page, raw)
        blocks, self.middle = text_layer.blocks_of(
            raw, number, lambda box: pdf.png(pdf.drawn(page, CROP_DPI, box)), self.middle
        )
        image = pdf.png(pdf.drawn(page, PAGE_DPI))
        return PageBlocks(
            number=number, width=raw.width, height=raw.height, image=image, blocks=blocks, notes=raw.notes
        )

    def _by_ocr(self, page: Any, raw: glyphs.RawPage, number: int) -> PageBlocks:
        self.slow()
        picture = pdf.drawn(page, DPI)
        dpi = 72 * picture.width / raw.width
        picture, blocks, notes = self.scanner.page(picture, number, dpi)
        notes += raw.notes
        if raw.glyphs:
            notes.append("the text layer is unsound and was not used")
        return PageBlocks(
            number=number,
            width=picture.width * 72 / dpi,
            height=picture.height * 72 / dpi,
            image=pdf.png(picture),
            blocks=blocks,
            notes=notes,
        )
