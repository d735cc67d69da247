"""Regions: the question in boxes that a person drew on the pages of a paper.

Contract: each box is read as a page is; text outside the boxes is not. All that is read is one question.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from livek12.core.question_types import READER_TYPES
from livek12.core.records import IMAGE_MARK, Language
from livek12.dataset_builders.ingest import worker
from livek12.dataset_builders.ingest.drafting import draft_all
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.extract import How, extract_pages
from livek12.dataset_builders.ingest.keys.answers import split_answered
from livek12.dataset_builders.ingest.keys.entries import Entry
from livek12.dataset_builders.ingest.keys.matching import keyed
from livek12.dataset_builders.ingest.pages.blocks import UNREAD, Box
from livek12.dataset_builders.ingest.questions.headings import is_section
from livek12.dataset_builders.ingest.questions.labels import label_lists
from livek12.dataset_builders.ingest.questions.segment import Body, Section, Segment, segment
from livek12.dataset_builders.ingest.questions.stream import Stream, flatten
from livek12.dataset_builders.ingest.templates import load_template

_LABEL = re.compile(r"\s*[(（\[【]")
_GAP = re.compile(r"(?<=\S)\s{4,}\S{1,8}$")
"""A gap with the points at the end of a line, which the other pages decide how to read."""
LONGEST_HEAD = 60
"""Characters of a line that tell it from others."""
_NUMBER = re.compile(r"\s*[(（\[【]?\s*(\d{1,3})(?!\d|[.．]\d)\s*[.．、:：)）\]】]?\s*")


def read_region(
    paper: Path,
    boxes: Sequence[Box],
    id: str,
    language: Language,
    section: str = "",
    subject: str = "",
    number: str = "",
) -> Draft:
    """Reads a question from boxes, in their order; its number is "" if none is printed; UserError if a page is lost.

    Args:
        section: title of the question's section, which may say its type.
        number: the only one that is a number, and no label of the text; "": any.
    """
    stream = flatten(list(worker.pages(paper, language, "auto", tuple(boxes))))
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
    """All lines behind a section's title as one question, with the number at their head."""
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


def read_answer(key: Path, boxes: Sequence[Box], draft: Draft) -> Draft:
    """Reads the answer of a draft from boxes, in the form of its type; otherwise as `read_region`."""
    read = read_region(key, boxes, draft.id, draft.language, number=draft.number or "0")
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


def read_head(paper: Path, box: Box, language: Language, how: How) -> str:
    """The beginning of the first line in a box, as its page reads; "" if there is none; UserError if a page is lost.

    It is the first with half of its height in the box, or with half of a flatter box, else the first in it at all.
    """
    pages = extract_pages(paper, language=language, how=how, pages=range(box.page, box.page + 1))
    lines = [item for item in flatten(list(pages)).items if item.text and box.shared(item.box)]
    heights = [min(box.bottom, line.box.bottom) - max(box.top, line.box.top) for line in lines]
    whole = [min(box.bottom - box.top, line.box.bottom - line.box.top) for line in lines]
    covered = [line for line, height, most in zip(lines, heights, whole, strict=True) if 2 * height >= most]
    return _GAP.sub("", (covered or lines)[0].text[:LONGEST_HEAD]) if lines else ""


def _on_page(box: Box, boxes: Sequence[Box]) -> Box:
    frame = boxes[box.page - 1]
    width, height = frame.right - frame.left, frame.bottom - frame.top
    return Box(
        page=frame.page,
        left=max(0.0, frame.left + box.left * width),
        top=max(0.0, frame.top + box.top * height),
        right=min(1.0, frame.left + box.right * width),
        bottom=min(1.0, frame.top + box.bottom * height),
    )
