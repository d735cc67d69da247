"""PDFs made for the tests: typst sets them, and a scan is their picture, turned and with noise."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

FONTS = {"zh": "Noto Serif CJK SC", "ko": "Noto Serif CJK KR", "en": "Libertinus Serif"}


def typeset(body: str, path: Path, *, language: str = "en", setup: str = "") -> Path:
    """Sets a paper as PDF."""
    typst = pytest.importorskip("typst")
    fonts = f'#set text(font: ("Libertinus Serif", "{FONTS[language]}"), size: 10.5pt, lang: "{language}")'
    path.write_bytes(typst.compile(f"{fonts}\n{setup}\n{body}".encode()))
    return path


def needs_ocr(*more: str) -> None:
    """Skips the test where pictures of pages cannot be looked at: OpenCV, or what `more` names, does not load."""
    for module in ("cv2", *more):
        pytest.importorskip(module, exc_type=ImportError)


def scanned(pdf: Path, path: Path, *, degrees: float = 0.0, turn: int = 0, dpi: int = 150) -> Path:
    """The paper as a scanner would give it: pictures only, askew, grey, with noise."""
    numpy = pytest.importorskip("numpy")
    pypdfium2 = pytest.importorskip("pypdfium2")
    from PIL import Image

    random = numpy.random.default_rng(7)
    sheets = []
    document = pypdfium2.PdfDocument(str(pdf))
    for page in document:
        picture = page.render(scale=dpi / 72).to_pil().convert("L")
        picture = picture.rotate(degrees, Image.Resampling.BICUBIC, fillcolor=255)
        if turn:
            picture = picture.rotate(turn, expand=True)
        grey = numpy.asarray(picture, dtype=numpy.float32) * 0.9 + 12
        grey = grey + random.normal(0, 6, grey.shape)
        sheets.append(Image.fromarray(grey.clip(0, 255).astype(numpy.uint8)))
    document.close()
    buffer = io.BytesIO()
    sheets[0].save(buffer, "PDF", resolution=dpi, save_all=True, append_images=sheets[1:])
    path.write_bytes(buffer.getvalue())
    return path


def distance(text: str, gold: str) -> float:
    """Normalised edit distance, 0 (equal) to 1."""
    previous = list(range(len(gold) + 1))
    for row, left in enumerate(text, 1):
        current = [row]
        for column, right in enumerate(gold, 1):
            current.append(min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (left != right)))
        previous = current
    return previous[-1] / max(1, len(text), len(gold))


def raw_pdf(objects: list[bytes]) -> bytes:
    """A PDF of the given objects, the first of which is its catalogue."""
    out, places = b"%PDF-1.7\n", []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    return out + b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, start)


def stream(data: bytes, entries: bytes = b"") -> bytes:
    """A stream object."""
    return b"<<%s/Length %d>>stream\n%s\nendstream" % (entries, len(data), data)


def plain_pdf(pages: int, content: bytes, *, box: bytes = b"0 0 595 842", catalogue: bytes = b"") -> bytes:
    """Pages that all show the same, in Helvetica."""
    kids = b" ".join(b"%d 0 R" % (4 + page) for page in range(pages))
    font = b"<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>"
    sheet = b"<</Type/Page/Parent 2 0 R/MediaBox[%s]/Resources %s/Contents 3 0 R>>" % (box, font)
    tree = b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids)
    return raw_pdf([b"<</Type/Catalog/Pages 2 0 R%s>>" % catalogue, tree, stream(content), *[sheet] * pages])
