"""Regions: the question in boxes that a person drew on the pages of a paper.

Contract: each box becomes a page of a temporary PDF, which is read as any paper is, within the same limits; text
outside the boxes is not read. All that is read is one question, numbered or not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from livek12.core.question_types import READER_TYPES
from livek12.core.records import IMAGE_MARK, Language
from livek12.dataset_builders.ingest.drafting import draft_all
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.extract import extract_pages
from livek12.dataset_builders.ingest.keys.entries import Entry, split_answered
from livek12.dataset_builders.ingest.keys.matching import keyed
from livek12.dataset_builders.ingest.pages import pdf
from livek12.dataset_builders.ingest.pages.blocks import UNREAD, Box
from livek12.dataset_builders.ingest.questions.headings import is_section
from livek12.dataset_builders.ingest.questions.labels import label_lists
from livek12.dataset_builders.ingest.questions.segment import Body, Section, Segment, segment
from livek12.dataset_builders.ingest.questions.stream import Stream, flatten
from livek12.dataset_builders.ingest.templates import load_template

_SCANNED_DPI = 144
_LABEL = re.compile(r"\s*[(（\[【]")
_NUMBER = re.compile(r"\s*[(（\[【]?\s*(\d{1,3})(?!\d|[.．]\d)\s*[.．、:：)）\]】]?\s*")


def read_region(
    boxes: Sequence[Box],
    sources: Mapping[int, Path],
    id: str,
    language: Language,
    section: str = "",
    subject: str = "",
    number: str = "",
) -> Draft:
    """Reads a question from boxes, in their order; its number is "" where none is printed.

    Args:
        boxes: at least one.
        sources: by page, the PDF with that page, or a picture of the page, which is read by OCR.
        id: of the draft.
        language: of the paper.
        section: title of the question's section, which may say its type.
        subject: of the paper.
        number: the only one that is a number, and no label of the text; "": any.

    Raises:
        UserError: a page cannot be read.
    """
    with TemporaryDirectory() as folder:
        file = Path(folder) / "boxes.pdf"
        _cut(boxes, sources, file)
        stream = flatten(list(extract_pages(file, language=language)))
    if not stream.items:
        return Draft(id=id, number="", language=language, question_type="short_answer", question="", boxes=[*boxes])
    body = segment(stream)
    if len(body.segments) != 1 or body.front or body.answers or number not in ("", str(body.segments[0].number)):
        body = _whole(stream, body, number)
    (question,) = body.segments
    question.section.title = question.section.title or section
    (draft,) = draft_all(body, stream, id, language, subject, load_template(language)).drafts
    figures = [
        figure.model_copy(update={"name": "", "box": figure.box and _on_page(figure.box, boxes)})
        for figure in draft.figures
    ]
    return draft.model_copy(
        update={
            "id": id,
            "number": draft.number if question.number else "",
            "boxes": [*boxes],
            "figures": figures,
            "page_numbers": sorted({box.page for box in boxes}),
        }
    )


def _whole(stream: Stream, body: Body, only: str) -> Body:
    """All lines behind a section's title as one question, with the number at their head if there is one."""
    section, items = Section(), [*stream.items]
    while len(items) > 1 and (items[0].is_heading or is_section(items[0].text)):
        section.items.append(items.pop(0))
    section.title = section.own
    number, end = 0, 0
    if (head := body.segments[:1]) and head[0].items[0] is items[0]:
        number, end = head[0].number, head[0].end
    elif match := _NUMBER.match(items[0].text):
        number, end = int(match[1]), match.end()
    if only and (only != str(number) or _LABEL.match(items[0].text)):
        number, end = 0, 0
    return Body(segments=[Segment(number, end, items, section)])


def read_answer(boxes: Sequence[Box], sources: Mapping[int, Path], draft: Draft) -> Draft:
    """Reads the answer of a draft from boxes, in the form of its type; otherwise as `read_region`."""
    read = read_region(boxes, sources, draft.id, draft.language, number=draft.number or "0")
    text, answer, solution = split_answered(read.markdown.replace(IMAGE_MARK, UNREAD).strip())
    for listed in label_lists(text) if draft.question_type == "fill_in_blank" else ():
        if not text[: listed.labels[0].start].strip():  # a line a blank
            text = "\n".join(f"【{place}】{blank}" for place, blank in enumerate(listed.texts, 1))
    if not (answer or solution):
        several = "\n" in text and draft.question_type in ("short_answer", *READER_TYPES)
        answer, solution = ("", text) if several else (text, None)
    kind = "open_ended" if solution and not answer and not draft.options else draft.question_type
    blank = draft.model_copy(update={"answer": [], "solution": None, "question_type": kind})
    made = keyed(blank, Entry(0, answer or "", solution=solution), "a box")
    unread = not (made.answer or made.solution)
    return made.model_copy(update={"solution": text if unread else made.solution or (draft.options and draft.solution)})


def _cut(boxes: Sequence[Box], sources: Mapping[int, Path], out: Path) -> None:
    """Writes a PDF with a page a box."""
    import pypdfium2

    cut = pypdfium2.PdfDocument.new()
    with ExitStack() as files:
        files.callback(cut.close)
        for place, box in enumerate(boxes):
            source = sources[box.page]
            if source.suffix.lower() == ".pdf":
                cut.import_pages(files.enter_context(pdf.opened(source)), [box.page - 1])
                _crop(cut[place], box)
            else:
                _print(source, box, out)
                cut.import_pages(files.enter_context(pdf.opened(out)))
        cut.save(out)


def _crop(page: Any, box: Box) -> None:
    left, bottom, right, top = page.get_bbox()
    corners = [_unturned(x, y, page.get_rotation()) for x, y in ((box.left, box.top), (box.right, box.bottom))]
    xs, ys = (sorted(values) for values in zip(*corners, strict=True))
    edges = [left + xs[0] * (right - left), top - ys[1] * (top - bottom)]
    edges += [left + xs[1] * (right - left), top - ys[0] * (top - bottom)]
    page.set_mediabox(*edges)
    page.set_cropbox(*edges)


def _unturned(x: float, y: float, degrees: int) -> tuple[float, float]:
    """A point of a page that is shown turned clockwise, as fractions of the page as it is stored."""
    return {0: (x, y), 90: (y, 1 - x), 180: (1 - x, 1 - y), 270: (1 - y, x)}[degrees]


def _print(picture: Path, box: Box, out: Path) -> None:
    from PIL import Image

    with Image.open(picture) as page:
        width, height = page.size
        sides = (box.left * width, box.top * height, box.right * width, box.bottom * height)
        page.convert("L").crop(sides).save(out, "PDF", resolution=_SCANNED_DPI)


def _on_page(box: Box, boxes: Sequence[Box]) -> Box:
    """A box within a region, as one of its page."""
    frame = boxes[box.page - 1]
    width, height = frame.right - frame.left, frame.bottom - frame.top
    return Box(
        page=frame.page,
        left=max(0.0, frame.left + box.left * width),
        top=max(0.0, frame.top + box.top * height),
        right=min(1.0, frame.left + box.right * width),
        bottom=min(1.0, frame.top + box.bottom * height),
    )
