"""Sheets: one request for all questions of a paper or section, and the responses made from its reply.

Contract: a label whose part is unclear gets a response that holds the whole sheet and says so; one that occurs nowhere
is unanswered.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from livek12.core.errors import UserError
from livek12.core.prompts import conversation, image_part, joined_parts, text_part
from livek12.core.records import UNSPLIT, Image, Key, Message, Question, Request, Response, Sampling
from livek12.tasks.base import Task
from livek12.tasks.prompting import Pages, figures_of, interleaved, page_images, text_of
from livek12.tasks.splitting import split

_HEADINGS = {"zh": "第{}题", "ko": "문제 {}"}
_POINTS = {"en": " ({:g} points)", "zh": "（{:g}分）", "ko": " ({:g}점)"}


@dataclass(frozen=True, eq=False)
class QuestionSheet:
    """Questions asked in one request, by the labels of their answers."""

    id: str
    questions: Mapping[str, Question]


def sheets_of(task: Task, questions: Iterable[Question]) -> list[QuestionSheet]:
    """Sheets of a task, by printed numbers; a section is a run of questions of one type.

    Raises:
        UserError: a question names no paper.
    """
    papers: dict[str, list[Question]] = {}
    for question in questions:
        if not question.paper_id:
            raise UserError(f"question {question.id} names no paper; it cannot be asked by {task.name}")
        papers.setdefault(question.paper_id, []).append(question)
    sheets = []
    for paper, members in papers.items():
        # The paper's order, where the dataset has another.
        members.sort(key=lambda question: [int(number) for number in re.findall(r"\d+", question.number or "")])
        if task.sitting == "paper":
            sheets.append(QuestionSheet(f"{paper}@paper", _labelled(task, members)))
            continue
        for number, (_, section) in enumerate(groupby(members, key=lambda question: question.question_type), 1):
            sheets.append(QuestionSheet(f"{paper}@section{number}", _labelled(task, list(section))))
    return sheets


def _labelled(task: Task, questions: Sequence[Question]) -> dict[str, Question]:
    """By printed numbers; in text by places, where these repeat or are not one number each."""
    numbers = [re.findall(r"\d+", question.number or "") for question in questions]
    labels = [str(int(of[0])) for of in numbers if len(of) == 1]
    if len({*labels}) < len(questions):
        if task.modality == "image_only":
            raise UserError(
                f"paper {questions[0].paper_id}: its questions are not numbered 1, 2, …: ask them one by one"
            )
        labels = [str(place) for place in range(1, len(questions) + 1)]
    return dict(zip(labels, questions, strict=True))


def sheet_request(task: Task, sheet: QuestionSheet, key: Key, sampling: Sampling, pages: Pages) -> Request:
    """Request for a sheet.

    Raises:
        UserError: the modality cannot show one of its questions.
    """
    first = next(iter(sheet.questions.values()))
    template = task.prompt(first.language)
    pictures: list[Image] = []
    if task.modality == "image_only":
        by_page = {
            number: page
            for question in sheet.questions.values()
            for number, page in zip(sorted(question.page_numbers), page_images(question, pages), strict=True)
        }
        pictures = [page for _, page in sorted(by_page.items())]
        before, after = template.split("{pages}")
        ask = after.replace("{number}", ", ".join(sheet.questions)).strip("\n")
        parts = [text_part(before), *map(image_part, pictures), text_part(ask)]
    else:
        before, after = template.split("{question}")
        parts = [text_part(before)]
        for place, (label, question) in enumerate(sheet.questions.items()):
            figures = figures_of(task, question)
            head = _HEADINGS.get(question.language, "Question {}").format(label)
            worth = _POINTS.get(question.language, "").format(question.points) if question.points else ""
            parts += [
                text_part(f"{chr(10) * 2 * bool(place)}{head}{worth}\n"),
                *interleaved(text_of(task, question), figures),
            ]
            pictures += figures
        parts.append(text_part(after.rstrip()))
    return Request(
        key=key,
        messages=conversation([Message(role="user", content=joined_parts(parts))], sampling),
        images={picture.sha256: picture for picture in pictures},
        sampling=sampling,
        together=f"{task.asked_with}/{sheet.id}",
    )


def answers(sheet: QuestionSheet, reply: Response, keys: Iterable[Key]) -> Iterator[Response]:
    """Responses to the questions of these keys, from the reply to their sheet.

    Token counts and seconds are shared by the lengths of the parts; their sums are the sheet's.
    Of a reply that was cut off, the last answered question and all unanswered ones are cut off.
    """
    labels = [*sheet.questions]
    parted = split(reply.text, labels)
    texts = {label: reply.text if label in parted.unclear else parted.parts.get(label, "") for label in labels}
    weights = [0 if label in parted.unclear else len(texts[label]) for label in labels]
    counts = {
        name: _shares(value, [1] * len(labels) if name in ("prompt_tokens", "cached_tokens") else weights)
        for name in ("prompt_tokens", "cached_tokens", "completion_tokens", "reasoning_tokens")
        if (value := getattr(reply, name)) is not None
    }
    last = max((place for place, label in enumerate(labels) if label in parted.parts), default=-1)
    by_id = {question.id: place for place, question in enumerate(sheet.questions.values())}
    for key in keys:
        place = by_id[key.question_id]
        label = labels[place]
        cut = reply.finish_reason == "length" and (place == last or not texts[label])
        ending = UNSPLIT if label in parted.unclear else "length" if cut else "stop"
        yield reply.model_copy(
            update={
                "key": key,
                "text": texts[label],
                "reasoning": None,
                "finish_reason": ending,
                "seconds": None if reply.seconds is None else reply.seconds / len(labels),
                **{name: share[place] for name, share in counts.items()},
            }
        )


def _shares(total: int, weights: Sequence[int]) -> list[int]:
    """Whole shares in proportion to the weights; their sum is `total`."""
    weights = weights if any(weights) else [1] * len(weights)
    whole, shares, given = sum(weights), [], 0
    reached = 0
    for weight in weights:
        reached += weight
        shares.append(total * reached // whole - given)
        given += shares[-1]
    return shares
