"""The process that reads one paper, so that a PDF which crashes or never ends costs that paper and nothing else.

Contract: `pages` starts a process for the paper, with a limit of memory, and takes its pages as they are done; a page
that takes too long, or a process that dies, becomes a UserError that names the file and the page. The process ends with
the generator. In it `read_here` reads the paper, and each page comes back as JSON.
"""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from livek12.core.errors import UserError, install
from livek12.core.process import ChildProcess, Ended, Link, limit_time
from livek12.core.records import Language
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.pages import glyphs, pdf, sight, text_layer
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.scans import scan
from livek12.dataset_builders.ingest.scans.scanner import DPI, Scanner

SECONDS: Final = 30.0
"""Of a processor, for one page; a common one takes less than one."""
OCR_FACTOR: Final = 3.0
"""So many times that where a page is read by OCR, which takes 4 s of a processor and may have to start its engine."""
WALL_FACTOR: Final = 20.0
"""So many times that on the clock, for what waits and for a machine that is busy with other things."""
MEMORY_BYTES: Final = 4 << 30
"""Address space; onnxruntime reserves much more than it uses."""
PAGE_DPI: Final = 144
CROP_DPI: Final = 200
_SLOW: Final = b'{"slow":true}'


def pages(
    path: Path, language: Language | None, how: str, numbers: range | None, seconds: float = SECONDS,
    memory_bytes: int = MEMORY_BYTES,
) -> Iterator[PageBlocks]:  # fmt: skip
    """Yields the pages a process of its own reads.

    Args:
        path: the PDF.
        language: of the text, or None.
        how: as `extract.extract_pages` says.
        numbers: of the pages, or None for all.
        seconds: processor time of one page; `OCR_FACTOR` times that for one that is read by OCR.
        memory_bytes: address space of the process.

    Raises:
        UserError: the paper cannot be read, or breaks a limit.
    """
    limits = seconds, seconds * OCR_FACTOR
    what = path, language, how, numbers
    child = ChildProcess(_read_paper, what, limits, memory_bytes, quiet=True, memory_bytes=memory_bytes)
    done, limit = 0, limits[0]
    late = "takes too long to read; read it another way (--how), or without that page"
    try:
        while True:
            message = json.loads(child.receive(WALL_FACTOR * limit))
            limit = limits["slow" in message]
            if "error" in message:
                raise UserError(message["error"])
            if "end" in message:
                return
            if "page" in message:
                page = PageBlocks.model_validate(message["page"])
                yield page
                done = page.number
    except TimeoutError:
        raise UserError(f"{path}: the page after page {done} {late}") from None
    except Ended as end:
        if child.returncode == -signal.SIGPROF:
            raise UserError(f"{path}: the page after page {done} {late}") from None
        reason = one_line(end, 160)
        raise UserError(f"{path}: reading broke off after page {done} ({reason}); the file may be damaged") from None
    finally:
        child.kill()


# ---- in the process ----


def _read_paper(
    link: Link,
    what: tuple[Path, Language | None, str, range | None],
    limits: tuple[float, float],
    memory_bytes: int,
) -> None:
    """Reads the paper and sends its pages, each within its limit of processor time."""
    path = what[0]

    def send(message: bytes) -> None:
        limit_time(limits[message == _SLOW])
        link.send_bytes(message)

    def refuse(why: str) -> None:
        send(json.dumps({"error": why}).encode())

    try:
        limit_time(limits[0])
        for page in read_here(*what, lambda: send(_SLOW)):
            send(b'{"page":' + page.model_dump_json().encode() + b"}")
        send(b'{"end":true}')
    except UserError as error:
        refuse(str(error))
    except ImportError as error:
        refuse(f"{path}: {_lacking(error)}")
    except MemoryError:
        refuse(f"{path}: needs more than {memory_bytes >> 20} MiB of memory; split the file")


def _lacking(error: ImportError) -> str:
    """What to install, where something that reads pictures does not load: OpenCV may be there and lack a library."""
    said = one_line(error, 120)
    if (error.name or "").startswith("cv2") or re.search(r"cv2|libGL|libgthread|opencv", said):
        return (
            f"pages that are pictures need OpenCV, which does not load here ({said}): "
            "pip install opencv-python-headless, or read the text layer alone with --how text"
        )
    return f"a scanned page needs more than is here ({said}): {install('ingest')}"


def read_here(
    path: Path, language: Language | None, how: str, pages: range | None, slow: Callable[[], None] = lambda: None
) -> Iterator[PageBlocks]:
    """Yields the pages as this process reads them, headers and footers not yet marked.

    Args:
        path: the PDF.
        language: of the text, or None.
        how: as `extract.extract_pages` says; "image" draws the pages only.
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
            yield _page_or_loss(paper, page, number)
            page.close()


def _page_or_loss(paper: _Paper, page: Any, number: int) -> PageBlocks:
    """A page as it is read; its picture alone, and why, where the rules fail on it: the other pages are read."""
    try:
        return paper.page(page, number)
    except (UserError, ImportError, MemoryError):
        raise
    except Exception as error:  # whatever a page leads a rule to raise
        reason = one_line(f"{type(error).__name__}: {error}", 120)
        return paper.picture(page, number).model_copy(update={"lost": reason})


class _Paper:
    """What is known from the pages before."""

    def __init__(self, language: Language | None, how: str, slow: Callable[[], None]) -> None:
        self.how = how
        self.slow = slow
        self.before = text_layer.Reading()
        self.scanner = Scanner(language)

    def page(self, page: Any, number: int) -> PageBlocks:
        if self.how == "image":
            return self.picture(page, number)
        raw = glyphs.read(page)
        if self.how != "ocr" and (degrees := text_layer.turned(raw)):
            page.set_rotation((page.get_rotation() + degrees) % 360)
            raw = glyphs.read(page)
        if self.how == "text" or (self.how == "auto" and text_layer.sound(raw)):
            return self._by_text(page, raw, number)
        return self._by_ocr(page, raw, number)

    def picture(self, page: Any, number: int) -> PageBlocks:
        """The page as a picture alone."""
        width, height = page.get_size()
        return PageBlocks(number=number, width=width, height=height, image=pdf.png(pdf.drawn(page, PAGE_DPI)))

    def _by_text(self, page: Any, raw: glyphs.RawPage, number: int) -> PageBlocks:
        picture = pdf.drawn(page, PAGE_DPI)
        seen = sight.looked_at(page, raw, picture, PAGE_DPI)
        text_layer.name_brackets(page, raw)
        found = text_layer.blocks_of(
            raw, number, lambda box: pdf.png(pdf.drawn(page, CROP_DPI, box)), self.before, seen
        )
        self.before = text_layer.Reading(middle=found.middle, grid=found.grid)
        return PageBlocks(
            number=number,
            width=raw.width,
            height=raw.height,
            image=pdf.png(picture),
            blocks=found.blocks,
            notes=raw.notes,
            loose=found.loose,
        )

    def _by_ocr(self, page: Any, raw: glyphs.RawPage, number: int) -> PageBlocks:
        self.slow()
        scan.ready()
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
