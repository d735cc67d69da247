"""Pictures of a reviewed folder: pages, figures, and crops of pages or of the original PDFs, which are finer.

Contract: only files directly in `pages/` and `images/` are read, whatever a name says, and only PNG, JPEG, GIF and
WebP. A PDF is used only if its SHA-256 is the ingested one, which passed the limits of `ingest`, and only for unchanged
pages, not for straightened scans.
"""

from __future__ import annotations

import hashlib
from io import BytesIO
from pathlib import Path

from livek12.core.errors import UserError
from livek12.dataset_builders.ingest.drafts import Draft, Figure, IngestedPaper, KeyFile
from livek12.dataset_builders.ingest.folder import STATE
from livek12.dataset_builders.ingest.keys.entries import TABLES
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.ingest.sources import is_source

LARGEST = 100_000_000
"""Largest page to cut from, in pixels."""
_KINDS = (
    (b"\x89PNG\r\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "image/webp"),
)
DPI = 200
"""Equal to that of `ingest`."""
SAME = 2.0
"""Largest mean difference, of 255 greys, between pictures of one page."""


def kind_of(data: bytes) -> str | None:
    """Media type by magic bytes, or None."""
    return next((kind for start, kind in _KINDS if data.startswith(start)), None)


def page_file(root: Path, paper_id: str, number: int) -> Path:
    """Returns a page picture's file, else raises UserError."""
    for suffix in ("png", "jpg"):
        if file := _inside(root / "pages", f"{paper_id}_{number}.{suffix}"):
            return file
    raise UserError(f"pages/{paper_id}_{number}.png: is not there; ingest the paper again")


def key_file(root: Path, key: KeyFile, number: int) -> Path:
    """Returns the file of a key's page, else raises UserError."""
    if file := _inside(root / STATE, key.page_name(number)):
        return file
    raise UserError(f"{key.name}, page {number}: is not there; ingest the paper again")


def figure_file(root: Path, name: str) -> Path:
    """Returns a figure's file, else raises UserError."""
    if file := _inside(root / "images", name):
        return file
    raise UserError(f"images/{name[:80]}: is not there; ingest its paper again, or cut it anew")


def crop(root: Path, paper_id: str, box: Box) -> bytes:
    """Cuts a box from a page at full resolution, as PNG."""
    from PIL import Image

    file = page_file(root, paper_id, box.page)
    try:
        with Image.open(file) as page:
            width, height = page.size
            if width * height > LARGEST:
                raise UserError(f"{file.name}: {width} x {height} pixels are too many to cut from")
            left, top = int(box.left * width), int(box.top * height)
            right, bottom = max(left + 1, round(box.right * width)), max(top + 1, round(box.bottom * height))
            out = BytesIO()
            page.crop((left, top, right, bottom)).save(out, "PNG")
    except (OSError, ValueError, SyntaxError) as error:
        raise UserError(f"{file.name}: cannot be read as a picture ({type(error).__name__})") from None
    return out.getvalue()


def is_cut_anew(base: Draft, figure: Figure) -> bool:
    """True if a reviewer moved the figure's box: its file is outdated."""
    is_original = any(figure.name == original.name and figure.box == original.box for original in base.figures)
    return figure.box is not None and not is_original


def cut_name(draft_id: str, figure: Figure) -> str:
    """File name of a new crop, unique to its box."""
    digest = hashlib.sha256(figure.model_dump_json(include={"box"}).encode()).hexdigest()
    return f"{draft_id}-cut-{digest[:10]}.png"


def _inside(folder: Path, name: str) -> Path | None:
    """A plain file directly in the folder."""
    if not name or name != Path(name).name or name.startswith(".") or "\x00" in name:
        return None
    file = folder / name
    return file if file.is_file() and not file.is_symlink() else None


class Originals:
    """Papers and keys of a reviewed folder as given: those in `pdfs`, to read boxes and cut figures from."""

    def __init__(self, root: Path, pdfs: Path | None = None) -> None:
        self._root = root
        self._files: dict[str, Path] = {}
        for file in sorted(pdfs.glob("*.*")) if pdfs else ():
            if file.is_file() and (file.suffix.lower() in (".pdf", *TABLES) or is_source(file)):
                with file.open("rb") as stream:
                    self._files[hashlib.file_digest(stream, "sha256").hexdigest()] = file

    def file(self, name: str, sha256: str) -> Path:
        """The PDF of that hash; raises UserError if it was not given."""
        if file := self._files.get(sha256):
            return file
        raise UserError(f"{name}: is not given; start livek12 review with --pdfs FOLDER to read boxes")

    def cut(self, paper: IngestedPaper, box: Box) -> bytes:
        """Content of the box as PNG; raises UserError for an unreadable page."""
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
