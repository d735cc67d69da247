"""Crops from the original PDFs, finer than from page pictures.

Contract: a PDF is used only if its SHA-256 is the ingested one, which passed the limits of `ingest`, and only for
unchanged pages, not for straightened scans.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import IngestedPaper
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.review.pictures import crop, page_file

DPI = 200
"""Equal to that of `ingest`."""
SAME = 2.0
"""Largest mean difference, of 255 greys, between pictures of one page."""


class Originals:
    """Figure cutter over a reviewed folder, with the PDFs in `pdfs` if given."""

    def __init__(self, root: Path, pdfs: Path | None = None) -> None:
        self._root = root
        self._files: dict[str, Path] = {}
        for file in sorted(pdfs.glob("*.pdf")) if pdfs else ():
            with file.open("rb") as stream:
                self._files[hashlib.file_digest(stream, "sha256").hexdigest()] = file

    def cut(self, paper: IngestedPaper, box: Box) -> bytes:
        """Returns the content of the box as PNG; raises UserError for an unreadable page."""
        file = self._files.get(paper.sha256)
        return (file and self._from_pdf(file, paper, box)) or crop(self._root, paper.paper_id, box)

    def _from_pdf(self, file: Path, paper: IngestedPaper, box: Box) -> bytes | None:
        from PIL import Image, ImageChops, ImageStat

        from livek12.dataset_builders.ingest.pages import pdf

        shown = page_file(self._root, paper.paper_id, box.page)
        try:
            with pdf.opened(file) as document, Image.open(shown) as seen:
                page = document[box.page - 1]
                width, height = page.get_size()
                whole = pdf.drawn(page, 72 * seen.width / width).convert("L").resize(seen.size)
                difference: float = ImageStat.Stat(ImageChops.difference(whole, seen.convert("L"))).mean[0]
                if difference > SAME:
                    return None
                edges = (box.left * width, box.top * height, box.right * width, box.bottom * height)
                return pdf.png(pdf.drawn(page, DPI, edges))
        except (UserError, OSError, IndexError, ValueError):
            return None  # use the page picture
