"""Splits and merges of questions.

Contract: every text, option, figure and box is kept; figures follow their marks. Keys and solutions stay with the first
half of a split, with a doubt on the second.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from livek12.core.errors import UserError
from livek12.core.records import IMAGE_MARK, Option
from livek12.dataset_builders.ingest.drafts import Doubt, Draft
from livek12.dataset_builders.review.forms import Copy, as_draft

_NUMBER = re.compile(r"\s*[（(]?(\d{1,3})\s*[.．、)）]\s*")


def split(base: Draft, copy: Copy, option: int | None, offset: int, taken: Collection[str]) -> list[Draft]:
    """Splits a question in two, at `offset` characters of an option's text, or of the question's (`option` None).

    Raises UserError for an empty side or a missing place.
    """
    draft = as_draft(base, copy)
    question, options = copy.form.question, list(copy.form.options)
    if option is None:
        head, tail = question[:offset], question[offset:]
        remaining, moved = [], options
    elif 0 <= option < len(options):
        text = options[option].text
        head, tail = question, text[offset:]
        remaining = [*options[:option], Option(label=options[option].label, text=text[:offset].strip())]
        moved = options[option + 1 :]
    else:
        raise UserError(f"{base.id}: there is no option {option + 1} to split in")
    if offset < 0:
        raise UserError(f"{base.id}: a text is not split before it begins")
    if not head.strip() or not tail.strip():
        raise UserError(f"{base.id}: put the cursor where the second question begins: one side would be empty")
    marks = head.count(IMAGE_MARK) + sum(item.text.count(IMAGE_MARK) for item in remaining)
    number = _NUMBER.match(tail)
    new_id = _free(base.id, taken)
    doubt = Doubt(kind="number", text=f"split from {base.id}: check number, points, key and place", confidence=0.0)
    first = draft.model_copy(update={"question": head.strip(), "options": remaining, "figures": copy.figures[:marks]})
    second = draft.model_copy(
        update={
            "id": new_id,
            "number": number[1] if number else "",
            "question": (tail[number.end() :] if number else tail).strip(),
            "options": moved,
            "figures": copy.figures[marks:],
            "answer": [],
            "answer_from": "",
            "solution": None,
            "points": None,
            "part_points": [],
            "variables": [],
            "reasoning_flow": [],
            "doubts": [doubt],
        }
    )
    return [first, second]


def merge(base: Draft, copy: Copy, next_base: Draft, next_copy: Copy) -> Draft:
    """Merges two consecutive questions under the first's id and number."""
    first, second = as_draft(base, copy), as_draft(next_base, next_copy)
    inside = copy.form.question.count(IMAGE_MARK), next_copy.form.question.count(IMAGE_MARK)
    texts = [draft.question for draft in (first, second) if draft.question]
    points = [draft.points for draft in (first, second) if draft.points is not None]
    pictures, others = copy.figures, next_copy.figures
    return first.model_copy(
        update={
            "question": "\n".join(texts),
            "options": [*first.options, *second.options],
            "figures": [*pictures[: inside[0]], *others[: inside[1]], *pictures[inside[0] :], *others[inside[1] :]],
            "boxes": [*first.boxes, *second.boxes],
            "page_numbers": sorted({*first.page_numbers, *second.page_numbers}),
            "answer": [*first.answer, *second.answer],
            "solution": "\n\n".join(text for text in (first.solution, second.solution) if text) or None,
            "points": sum(points) if points else None,
            "part_points": [],
            "knowledge_points": list(dict.fromkeys([*first.knowledge_points, *second.knowledge_points])),
            "markdown": "\n".join(text for text in (first.markdown, second.markdown) if text),
            "doubts": [*first.doubts, *second.doubts],
        }
    )


def _free(id: str, taken: Collection[str]) -> str:
    stem, number = re.sub(r"-s\d+$", "", id), 2
    while f"{stem}-s{number}" in taken:
        number += 1
    return f"{stem}-s{number}"
