"""Sheets: one request for all questions of a paper or section, and each question's part of the reply.

A reply is split by its headings ("Question 3", "第3题", "문제 3", "3."), by JSON that maps numbers to answers, and by
lists or tables of final answers ("1. A  2. C", "1-5 ABDCA"), which count as the last word on a question.

Contract: a text between two headings belongs to the first. A number whose headings contradict each other is unclear and
never given to another question; a number that occurs nowhere is unanswered. What precedes the first heading belongs to
no question.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from typing import Final

from livek12.core.errors import UserError
from livek12.core.patterns import late
from livek12.core.prompts import conversation, image_part, joined_parts, text_part
from livek12.core.records import Image, Key, Message, Question, Request, Response, Sampling
from livek12.tasks.base import Task
from livek12.tasks.prompting import Pages, figures_of, interleaved, page_images, text_of

UNSPLIT: Final = "unsplit"
"""`finish_reason` of a response that holds a whole sheet, since the question's part of it is unclear."""
_HEADINGS = {"zh": "第{}题", "ko": "문제 {}"}
_POINTS = {"en": " ({:g} points)", "zh": "（{:g}分）", "ko": " ({:g}점)"}


@dataclass(frozen=True, eq=False)
class QuestionSheet:
    """Questions that are asked in one request, by the labels under which they are answered."""

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
        members.sort(key=_place)
        if task.sitting == "paper":
            sheets.append(QuestionSheet(f"{paper}@paper", _labelled(members)))
            continue
        for number, (_, section) in enumerate(groupby(members, key=lambda question: question.question_type), 1):
            sheets.append(QuestionSheet(f"{paper}@section{number}", _labelled(list(section))))
    return sheets


def _place(question: Question) -> tuple[int, ...]:
    """By printed number: the paper's order, where the data set has another."""
    return tuple(map(int, re.findall(r"\d+", question.number or "")))


def _labelled(questions: Sequence[Question]) -> dict[str, Question]:
    """By printed numbers; by places where these repeat or are missing."""
    labels = [re.sub(r"\s+", " ", question.number or "").strip(" .") for question in questions]
    if len({*labels}) < len(labels) or not all(labels):
        labels = [str(place) for place in range(1, len(labels) + 1)]
    return dict(zip(labels, questions, strict=True))


def sheet_request(task: Task, sheet: QuestionSheet, key: Key, sampling: Sampling, pages: Pages) -> Request:
    """The request for a sheet.

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


@dataclass
class SplitSheet:
    """A sheet's text by label.

    Attributes:
        parts: text of each answered label.
        unclear: labels whose part cannot be told.
        rest: text of no question.
    """

    parts: dict[str, str] = field(default_factory=dict)
    unclear: set[str] = field(default_factory=set)
    rest: str = ""


_DECORATION = r"[ \t>*_#|【\[（(「『•·-]*"
_WORTH = r"(?:[ \t]*[(（][^()（）\n]{0,24}(?:points?|marks?|pts?|分|점)[^()（）\n]{0,9}[)）])?"
_STRONG = late(
    rf"^{_DECORATION}(?:(?:question|problem|answer\s+to(?:\s+question)?|item|ques|q)[ \t]*(?:no\.?|number|#)?[ \t]*"
    r"(?P<en>\d{1,3})\b|第[ \t]*(?P<zh>\d{1,3})[ \t]*[题題问問]|[题題](?:号|目)?[ \t]*(?P<zt>\d{1,3})(?!\d)"
    r"|(?:문제|문항|문)[ \t]*(?P<ko>\d{1,3})(?!\d)|(?P<kb>\d{1,3})[ \t]*번(?:[ \t]*문제)?)"
    # A number that a sentence goes on behind ("Question 3 asks for …") is a reference.
    rf"(?={_WORTH}[ \t]*(?:[*_#|】\])）」』:：.．、,，—–-]|$|answer|的?答案|的?解|의?\s*(?:정답|답|풀이)))",
    re.MULTILINE | re.IGNORECASE,
)
_PLAIN = late(
    r"^(?P<open>[*_#>|【\[（( ]*)(?P<plain>\d{1,3})(?P<close>[*_ \t]*(?:[.)）\]】:：、．|]|$))(?!\d)", re.MULTILINE
)
_AFTER_HEADING = late(rf"\A{_WORTH}[ \t*_#|】\])）」』:：.．、,，]*", re.IGNORECASE)
_ENTRY = r"(?P<label>\d{1,3})[ \t]*(?:[.)）:：、．=-]|번|[|])[ \t]*(?P<value>"
_VALUE = r"[A-Z]{1,6}|[①-⑩]+|[√×✓✗]|true|false|对|错|正确|错误|-?\d+(?:\.\d+)?(?:/\d+)?"
_COMPACT = late(rf"(?<![\w.]){_ENTRY}{_VALUE})(?![\w.])", re.IGNORECASE)
_RANGE = late(
    r"^[^\n\w]*(?P<first>\d{1,3})[ \t]*(?:-|–|—|~|～|至|to)[ \t]*(?P<last>\d{1,3})[题번]?[ \t.:：、)]*"
    r"(?P<letters>(?:[A-H①-⑩][ \t,，、;；]*){2,})$",
    re.MULTILINE,
)


def split(text: str, labels: Sequence[str]) -> SplitSheet:
    """Splits the text of a sheet among these labels."""
    result = SplitSheet()
    if (mapped := _from_json(text, labels)) is not None:
        result.parts = mapped
        return result
    last_words, text = _final_answers(text, labels)
    headings, unclear = _headings(text, labels)
    sections: dict[str, list[str]] = {}
    ends = [*(start for start, _, _ in headings[1:]), len(text)]
    for (_, begin, label), end in zip(headings, ends[: len(headings)], strict=True):
        sections.setdefault(label, []).append(_AFTER_HEADING.sub("", text[begin:end]).strip())
    result.rest = text[: headings[0][0]].strip() if headings else text.strip()
    for label in labels:
        pieces = sections.get(label, [])
        pieces += [value for value in last_words.get(label, []) if not (pieces and pieces[-1].endswith(value))]
        if label in unclear:
            result.unclear.add(label)
        elif any(pieces):
            result.parts[label] = "\n\n".join(filter(None, pieces))
    if not result.parts and not result.unclear and result.rest:
        result.unclear.update(labels)
    return result


def _from_json(text: str, labels: Sequence[str]) -> dict[str, str] | None:
    """Answers of a reply that is one JSON object or list; None if it is none, or of other labels."""
    body = re.sub(r"\A\s*```(?:json)?\s*|\s*```\s*\Z", "", text)
    try:
        value = json.loads(body) if body.lstrip()[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and len(value) == 1:
        value = next(iter(value.values()))
    if isinstance(value, list) and all(isinstance(row, dict) for row in value):
        value = {
            str(row.get("number", row.get("question", row.get("id", "")))): row.get("answer", row) for row in value
        }
    if not isinstance(value, dict):
        return None
    by_label = {re.sub(r"\D*(\d+)\D*", r"\1", str(name)): _as_text(answer) for name, answer in value.items()}
    return {label: by_label[label] for label in labels if by_label.get(label)} if {*by_label} & {*labels} else None


def _as_text(value: object) -> str:
    if isinstance(value, dict):
        value = [*value.values()]
    if isinstance(value, list):
        return "\n".join(filter(None, map(_as_text, value)))
    return "" if value is None else _boxed(str(value)) if len(str(value)) < 40 else str(value)


def _boxed(value: str) -> str:
    return value if "\\boxed" in value else f"\\boxed{{{value}}}"


def _final_answers(text: str, labels: Sequence[str]) -> tuple[dict[str, list[str]], str]:
    """Values of lists and tables of answers alone, and the text without these."""
    values: dict[str, list[str]] = {}

    def take(lines: str, entries: Iterable[tuple[str, str]]) -> str:
        entries = list(entries)
        if not all(label in labels for label, _ in entries):
            return lines
        for label, value in entries:
            values.setdefault(label, []).append(_boxed(value))
        return ""

    def of_range(match: re.Match[str]) -> str:
        numbers = range(int(match["first"]), int(match["last"]) + 1)
        letters = re.findall(r"[A-H①-⑩]", match["letters"])
        return (
            match[0] if len(letters) != len(numbers) else take(match[0], zip(map(str, numbers), letters, strict=True))
        )

    text = _RANGE.sub(of_range, text)
    lines = []
    for line in text.splitlines(keepends=True):
        entries = [(match["label"], match["value"]) for match in _COMPACT.finditer(line)]
        bare = re.sub(r"[\s,，;；、|*_.。-]|第|题|번", "", _COMPACT.sub("", line))
        is_list = len(entries) > 1 or ("|" in line and len(entries) == 1)
        lines.append(take(line, entries) if is_list and not bare else line)
    return values, "".join(lines)


def _headings(text: str, labels: Sequence[str]) -> tuple[list[tuple[int, int, str]], set[str]]:
    """Headings (start, end, label) of the clearest style, and labels that its order leaves unclear.

    Named headings ("Question 3") may repeat and come in any order. Bare numbers ("3.") are read only if named ones are
    absent and they rise through the labels; a number that recurs between (steps of a solution) makes those labels
    unclear between which it stands.
    """
    named = _places(_STRONG, text, labels)
    styles: dict[tuple[str, str], list[re.Match[str]]] = {}
    for match in _PLAIN.finditer(text):
        if match["plain"] in labels:
            styles.setdefault((match["open"].strip(), match["close"].strip()), []).append(match)
    bare = max(styles.values(), key=lambda style: len({match["plain"] for match in style}), default=[])
    if len({label for _, _, label in named}) * 2 >= len(labels) or not bare:
        return named, set()
    order = {label: place for place, label in enumerate(labels)}
    places = [order[match["plain"]] for match in bare]
    repeated = {labels[place] for place in places if places.count(place) > 1}
    return [(m.start(), m.end(), m["plain"]) for m in bare], repeated | _beside_descents(places, labels)


def _beside_descents(places: Sequence[int], labels: Sequence[str]) -> set[str]:
    """Labels on both sides of each step back, whose texts may hold each other."""
    unclear = set()
    for first, second in pairwise(places):
        if second <= first:
            unclear |= {labels[first], labels[second]}
    return unclear


def _places(pattern: re.Pattern[str], text: str, labels: Sequence[str]) -> list[tuple[int, int, str]]:
    places = ((m.start(), m.end(), next(filter(None, m.groups()))) for m in pattern.finditer(text))
    return [place for place in places if place[2] in labels]


def answers(sheet: QuestionSheet, reply: Response, keys: Iterable[Key]) -> Iterator[Response]:
    """Responses to the questions of these keys, from the reply to their sheet.

    Token counts and seconds of the sheet are shared by the lengths of the parts, so that sums stay those of the sheet.
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
