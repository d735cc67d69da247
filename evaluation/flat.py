"""Flat rows of a dataset: for each task the questions that one answer decides (see `core.features`).

Contract: prompts are those of `livek12 run` (`tasks.prompting`). A question is left out if no single letter, number or
expression decides it, if it is withdrawn, or if its answers are held back. Several pictures become one.
"""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.features import FlatFacts, FlatRow, FlatTask, Form
from livek12.core.lazy import PIL
from livek12.core.question_types import CHOICE_TYPES, type_of
from livek12.core.records import IMAGE_MARK, Failure, Image, Question, Request
from livek12.core.rights import held_release
from livek12.engines.images import BadImage, check_image
from livek12.engines.openai.format import data_url
from livek12.tasks.base import Task
from livek12.tasks.loading import Census, pages_for, questions_of
from livek12.tasks.prompting import Pages, requests
from livek12.tasks.registry import disjoint, get_task

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

LONGEST = 120
"""Characters of a key that is one number or expression."""
_LETTERS = re.compile(r"[A-Z]{1,10}|[1-9]")
_WORDS = re.compile(r"(?<![\\A-Za-z])(?!(?:sin|cos|tan|cot|sec|csc|ln|log|lg|exp|pi|max|min)\b)[A-Za-z]{2,}")
_VALUE = re.compile(r"[0-9A-Za-z\\{}()\[\]+\-*/^_! ]+")
"""Without a point: a decimal is decided by a tolerance, and the harness's scorers have none."""
_MATH = re.compile(r"\$([^$]+)\$|\\\((.+)\\\)", re.DOTALL)
_NO_VALUE = re.compile(r"\\[()]|\\(?:text|mathrm|mbox|operatorname|mathbf|pm|mp|quad|begin|hline|[lc]?dots)")


def flat_tasks(data: Path) -> Iterator[FlatTask]:
    """Dataset's flat tasks, which share no question; none without such questions."""
    census, withheld = Census(str(data)), held_release(data)
    for task in map(get_task, disjoint()):
        if task.first_style or not census.count(task):
            continue
        questions = questions_of(task, str(data))
        decided = {
            question.id: target
            for question in questions
            if (target := target_of(question)) and (withheld is None or question.release != withheld)
        }
        if decided:
            yield _flat(task, str(data), questions, decided)


def target_of(question: Question) -> str:
    """Letters, number or expression that decides a question; "" if none does."""
    if question.answer_images or len(question.part_points) > 1:
        return ""
    if question.variables:
        kinds = {variable.type for variable in question.variables}
        values = [variable.value for variable in question.variables]
        return _value(values[0]) if len(values) == 1 and kinds <= {"numeric", "formula"} else ""
    if len(question.answer) != 1:
        return ""
    (key,) = question.answer
    if question.question_type in CHOICE_TYPES:
        labels = {option.label for option in question.options}
        labelled = not labels or set(key.strip()) <= labels
        return key.strip() if _LETTERS.fullmatch(key.strip()) and labelled else ""
    return _value(key) if type_of(question.question_type).answer == "values" else ""


def _value(key: str) -> str:
    """A key that is one number or expression without unit or word, stripped of formula signs."""
    text = key.strip()
    if math := _MATH.fullmatch(text):
        text = (math[1] or math[2]).strip()
    fits = len(text) <= LONGEST and _VALUE.fullmatch(text) and not _WORDS.search(text) and not _NO_VALUE.search(text)
    return text if fits and re.search(r"[0-9A-Za-z]", text) else ""


def _flat(task: Task, data: str, questions: Sequence[Question], decided: dict[str, str]) -> FlatTask:
    chosen = [question for question in questions if question.id in decided]
    form = _form(task, chosen, decided)
    row = _bare if form == "choices" else _whole(task, pages_for(task, data, chosen))
    pictures = task.modality == "image_only" or any(question.images for question in chosen)
    rows = (row(question, decided[question.id]) for question in chosen)
    return FlatTask(task.name, task.description, form, pictures, len(questions), rows)


def _form(task: Task, chosen: Sequence[Question], decided: dict[str, str]) -> Form:
    if all(_prints_choices(question, decided[question.id]) for question in chosen) and task.modality != "image_only":
        return "choices"
    return "letters" if all(question.question_type in CHOICE_TYPES for question in chosen) else "value"


def _prints_choices(question: Question, target: str) -> bool:
    """One choice is right, and all are texts labelled from A on."""
    labels = [option.label for option in question.options]
    texts = [option.text.strip() for option in question.options]
    return (
        len(target) == 1
        and labels == [chr(ord("A") + place) for place in range(len(labels))]
        and all(texts)
        and not any(IMAGE_MARK in text for text in texts)
    )


def _bare(question: Question, target: str) -> FlatRow:
    text = question.question
    missing = len(question.images) - text.count(IMAGE_MARK)
    text = "\n".join([text, *[IMAGE_MARK] * missing])
    choices = [option.text for option in question.options]
    return _row(question, text, target, choices, question.images)


def _whole(task: Task, pages: Pages) -> Callable[[Question, str], FlatRow]:
    def row(question: Question, target: str) -> FlatRow:
        (request,) = requests(task, [question], 1, task.sampling, pages, lambda key: True)
        if isinstance(request, Failure):
            raise UserError(f"task {task.name}: {request.reason}")
        return _row(question, _text(request), target, [], _pictures(request))

    return row


def _text(request: Request) -> str:
    parts = [part for message in request.messages for part in message.content]
    return "".join(IMAGE_MARK if part.image else part.text or "" for part in parts)


def _pictures(request: Request) -> list[Image]:
    parts = [part for message in request.messages for part in message.content]
    return [request.images[part.image] for part in parts if part.image]


def _row(question: Question, text: str, target: str, choices: list[str], pictures: Sequence[Image]) -> FlatRow:
    try:
        image = one_picture(pictures)
    except UserError as error:
        raise UserError(f"question {question.id}: {error}") from None
    return FlatRow(
        id=question.id,
        input=_named(text, len(pictures)),
        target=target,
        choices=choices,
        image=image,
        metadata=FlatFacts(
            **{name: getattr(question, name) for name in FlatFacts.model_fields if name not in ("licence", "url")},
            licence=question.source.licence,
            url=question.source.url,
        ),
    )


def _named(text: str, pictures: int) -> str:
    pieces = text.split(IMAGE_MARK)
    if len(pieces) != pictures + 1:
        return text
    marks = ["[image]"] if pictures == 1 else [f"[image {number}]" for number in range(1, pictures + 1)]
    return pieces[0] + "".join(mark + piece for mark, piece in zip(marks, pieces[1:], strict=True))


MOST_PIXELS = 7_900
"""Of a side: endpoints refuse more than 8,000."""
_GAP, _LABEL = 12, 28


def one_picture(pictures: Sequence[Image]) -> str:
    """The `data:` address of all pictures in one; "" without any."""
    try:
        if len(pictures) == 1:
            check_image(pictures[0])
            return data_url(pictures[0])
        return _stitched(tuple(pictures)) if pictures else ""
    except BadImage as error:
        raise UserError(f"a picture {error}") from None


@lru_cache(maxsize=4)
def _stitched(pictures: tuple[Image, ...]) -> str:
    """Cached: the pages of a paper are those of several questions, one after the other."""
    shown = [check_image(picture) for picture in pictures]
    heights = [picture.height + _LABEL + _GAP for picture in shown]
    sheet = PIL.Image.new("RGB", (max(picture.width for picture in shown), sum(heights)), "white")
    draw, font, top = PIL.ImageDraw.Draw(sheet), PIL.ImageFont.load_default(_LABEL - 8), 0
    for number, (picture, height) in enumerate(zip(shown, heights, strict=True), start=1):
        draw.text((4, top + 2), f"[image {number}]", fill="black", font=font)
        sheet.paste(picture, (0, top + _LABEL))
        top += height
    return _encoded(sheet)


def _encoded(sheet: Picture) -> str:
    if max(sheet.size) > MOST_PIXELS:
        sheet.thumbnail((MOST_PIXELS, MOST_PIXELS))
    out = io.BytesIO()
    sheet.save(out, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(out.getvalue()).decode()}"
