"""A paper's pages as ordered blocks, whatever the paper is: born-digital, scanned, or read by MinerU.

Contract: `extract_pages` gives one page after the other and holds only a few at a time. The PDF is parsed in a process
of its own (`worker`). A file that cannot be read raises UserError with its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from livek12.core.records import Language
from livek12.dataset_builders.ingest import mineru, pdf, worker
from livek12.dataset_builders.ingest.blocks import PageBlocks
from livek12.dataset_builders.ingest.margins import marked

How = Literal["auto", "text", "ocr", "mineru"]


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
        yield from marked(mineru.run(path, pages))
        return
    pdf.checked(path)
    yield from marked(worker.pages(path, language, how, pages))
