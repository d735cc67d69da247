"""Form of a question and its marking scheme, and splits and merges of questions.

Contract: the form keeps typed text, valid or not; `problems_of` reports problems. A split or merge keeps every text,
option, figure and box; figures follow their marks. Keys and solutions stay with the first half of a split, with a doubt
on the second.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any

from pydantic import ValidationError

from livek12.core.errors import UserError
from livek12.core.question_types import CHOICE_TYPES, type_names
from livek12.core.records import (
    IMAGE_MARK,
    Option,
    PointsFor,
    Record,
    Scheme,
    SchemeCriterion,
    canonical_json,
    check_scheme,
)
from livek12.core.schemes import read_scheme
from livek12.dataset_builders.ingest.drafts import Doubt, Draft, Figure
from livek12.dataset_builders.ingest.pages.blocks import Box
from livek12.dataset_builders.reading.marks import take_inline

_POINTS = re.compile(r"\s*\d+(?:\.\d+)?\s*")
_MARK = re.compile(r"\s*(\d{1,3}(?:\.\d{1,6})?)\s*[:：]\s*(\S.*)")


class CriterionForm(Record):
    """Fields of a criterion as typed; `needs` are ids with commas, `partial` and `deduct` lines "POINTS: for what"."""

    id: str
    points: str = ""
    text: str = ""
    part: str = ""
    kind: str = ""
    needs: str = ""
    expression: str = ""
    partial: str = ""
    deduct: str = ""


SchemeForm = list[list[CriterionForm]]


def _form_of(scheme: Scheme) -> SchemeForm:
    return [
        [
            CriterionForm(
                id=criterion.id,
                points=f"{criterion.points:g}",
                text=criterion.text,
                part="" if criterion.part is None else str(criterion.part),
                kind=criterion.kind or "",
                needs=", ".join(criterion.needs),
                expression=criterion.expression or "",
                partial=_lines_of(criterion.partial),
                deduct=_lines_of(criterion.deduct),
            )
            for criterion in criteria
        ]
        for criteria in scheme
    ]


def _lines_of(marks: Sequence[PointsFor]) -> str:
    return "\n".join(f"{mark.points:g}: {' '.join(mark.text.split())}" for mark in marks)


def _scheme_of(form: SchemeForm) -> Scheme:
    tables = [
        [
            {
                "id": typed.id.strip(),
                "points": typed.points.strip(),
                "text": typed.text.strip(),
                "part": typed.part.strip() or None,
                "kind": typed.kind or None,
                "needs": [id for id in re.split(r"[\s,，;；]+", typed.needs) if id],
                "expression": typed.expression.strip() or None,
                "partial": _marks(typed.id, typed.partial),
                "deduct": _marks(typed.id, typed.deduct),
            }
            for typed in criteria
        ]
        for criteria in form
        if criteria
    ]
    if unworthy := [typed for criteria in form for typed in criteria if not _POINTS.fullmatch(typed.points)]:
        raise ValueError(f"scheme: criterion {unworthy[0].id}: points are a number, such as 0.5")
    scheme = read_scheme(tables)
    if empty := [criterion.id for criteria in scheme for criterion in criteria if not criterion.text]:
        raise ValueError(f"scheme: criterion {empty[0]} says nothing")
    return scheme


def _marks(id: str, typed: str) -> list[dict[str, str]]:
    marks = [_MARK.fullmatch(line) or line for line in typed.split("\n") if line.strip()]
    if bad := [line for line in marks if isinstance(line, str)]:
        raise ValueError(f"scheme: criterion {id}: {bad[0].strip()[:40]!r} is no line like 0.5: for what")
    return [{"points": match[1], "text": match[2]} for match in marks if not isinstance(match, str)]


def _joined(first: Scheme, second: Scheme) -> Scheme:
    """One scheme for two questions in one: each way of the first with each of the second."""
    if not (first and second):
        return first or second
    ways = [(a, b) for a in first for b in second]
    letters = [chr(65 + place % 26) * (1 + place // 26) if len(ways) > 1 else "" for place in range(len(ways))]
    return [
        [*_renamed(a, letter, 1), *_renamed(b, letter, 1 + len(a))]
        for letter, (a, b) in zip(letters, ways, strict=True)
    ]


def _renamed(criteria: Sequence[SchemeCriterion], letter: str, start: int) -> list[SchemeCriterion]:
    ids = {criterion.id: f"{letter}{start + n}" for n, criterion in enumerate(criteria)}
    return [
        criterion.model_copy(
            update={"id": ids[criterion.id], "part": None, "needs": [ids[need] for need in criterion.needs]}
        )
        for criterion in criteria
    ]


LONGEST = 200_000
"""Characters of a form; a page holds a few thousand."""
SAME_CROP = 0.8
"""Overlap (IoU) from which two crops are one figure."""
_TEXTS = ("number", "question", "section", "subject")
"""Fields that a draft and its form have alike."""
_LEADING_NUMBER = re.compile(r"\s*[（(]?(\d{1,3})\s*[.．、)）]\s*")


class QuestionForm(Record):
    """Form fields; numbers as typed, knowledge points separated by commas or semicolons."""

    number: str
    question_type: str
    points: str = ""
    question: str
    options: list[Option] = []
    answer: list[str] = []
    solution: str = ""
    section: str = ""
    subject: str = ""
    knowledge_points: str = ""
    difficulty: str = ""
    scheme: SchemeForm = []


class Copy(Record):
    """One reviewer's copy of a question."""

    form: QuestionForm
    boxes: list[Box] = []
    figures: list[Figure] = []

    @cached_property
    def digest(self) -> str:
        """Hash of the content."""
        content = self.model_dump(mode="json")
        if not self.form.scheme:  # as before there were schemes
            del content["form"]["scheme"]
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()[:20]

    @property
    def marks(self) -> int:
        """Number of image marks in question and options."""
        texts = (self.form.question, *(option.text for option in self.form.options))
        return sum(text.count(IMAGE_MARK) for text in texts)


def copy_of(draft: Draft) -> Copy:
    """Returns a fresh copy of a draft."""
    return Copy(
        form=QuestionForm(
            **{name: getattr(draft, name) for name in (*_TEXTS, "question_type", "options", "answer")},
            points="" if draft.points is None else f"{draft.points:g}",
            solution=draft.solution or "",
            knowledge_points="; ".join(draft.knowledge_points),
            difficulty=draft.difficulty or "",
            scheme=_form_of(draft.scheme),
        ),
        boxes=draft.boxes,
        figures=draft.figures,
    )


def patched(copy: Copy, fields: Mapping[str, Any], boxes: list[Box] | None, figures: list[Figure] | None) -> Copy:
    """Edited copy; raises UserError for unknown or too long fields."""
    try:
        form = QuestionForm.model_validate({**copy.form.model_dump(), **fields}) if fields else copy.form
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise UserError(f"edit: {'.'.join(map(str, problem['loc']))}: {problem['msg']}") from None
    if fields and len(form.model_dump_json()) > LONGEST:
        raise UserError(f"edit: a question of more than {LONGEST:,} characters is none; split it")
    return Copy(
        form=form, boxes=copy.boxes if boxes is None else boxes, figures=copy.figures if figures is None else figures
    )


def problems_of(copy: Copy) -> dict[str, str]:
    """Problems that prevent acceptance, by field."""
    form, problems = copy.form, {}
    if form.question_type not in type_names():
        problems["question_type"] = f"choose one of {', '.join(type_names())}"
    if not form.number.strip():
        problems["number"] = "a question has a number"
    if form.points.strip() and _number(form.points) is None:
        problems["points"] = f"{form.points.strip()[:20]!r} is no number of points"
    if not (form.question.strip() or copy.figures or copy.boxes):
        problems["question"] = "a question has a text, a figure or a place on its page"
    labels = [option.label.strip() for option in form.options]
    if len(set(labels)) < len(labels) or "" in labels:
        problems["options"] = "every option has a label of its own"
    elif form.question_type in CHOICE_TYPES and labels:
        letters = re.sub(r"[\s,，、;；.()（）]", "", "".join(form.answer))
        unknown = "".join(dict.fromkeys(letters)) if all(len(x) == 1 for x in labels) else ""
        if unknown := "".join(letter for letter in unknown if letter not in labels):
            problems["answer"] = f"there is no option {unknown}"
    for name, text in (("question", form.question), *(("options", option.text) for option in form.options)):
        if take_inline(text, [])[1]:
            problems[name] = f"a picture is written into the text: draw it as a figure, and put {IMAGE_MARK} there"
    try:
        if scheme := _scheme_of(form.scheme):
            check_scheme(scheme, _number(form.points), [])
    except ValueError as error:
        problems["scheme"] = str(error).removeprefix("scheme: ")
    if copy.marks != len(copy.figures):
        problems["figures"] = f"{copy.marks} {IMAGE_MARK} in the texts for {len(copy.figures)} figures"
    return problems


def to_draft(base: Draft, copy: Copy) -> Draft:
    """Draft of a valid copy, else raises UserError."""
    if problems := problems_of(copy):
        field, text = next(iter(problems.items()))
        raise UserError(f"{base.id}: {field}: {text}")
    return as_draft(base, copy)


def as_draft(base: Draft, copy: Copy) -> Draft:
    """Draft of a copy; an invalid type falls back to the base's, and an unreadable scheme is refused."""
    form, points = copy.form, _number(copy.form.points)
    is_valid_type = form.question_type in type_names()
    parts = base.part_points if points is not None and abs(sum(base.part_points) - points) < 1e-6 else []
    try:
        scheme = _scheme_of(form.scheme)
    except ValueError as error:
        raise UserError(f"{base.id}: {error}") from None
    return base.model_copy(
        update={
            **{name: getattr(form, name).strip() for name in _TEXTS},
            "question_type": form.question_type if is_valid_type else base.question_type,
            "points": points,
            "part_points": parts,
            "scheme": scheme,
            "options": [Option(label=option.label.strip(), text=option.text.strip()) for option in form.options],
            "answer": [entry.strip() for entry in form.answer if entry.strip()],
            "solution": form.solution.strip() or None,
            "solution_figures": figures_left(base, form.solution),
            "knowledge_points": [
                name for part in re.split(r"[;；,，\n]", form.knowledge_points) if (name := part.strip())
            ],
            "difficulty": form.difficulty.strip() or None,
            "boxes": copy.boxes,
            "figures": copy.figures,
            "page_numbers": sorted({box.page for box in copy.boxes}) or base.page_numbers,
        }
    )


def figures_left(base: Draft, solution: str) -> list[Figure]:
    """The figures of the marks that an edited solution has; a moved mark has the first of those without one."""
    old, new = (re.split(rf"({IMAGE_MARK}|\s+)", text) for text in (base.solution or "", solution))
    figures = dict(zip((at for at, word in enumerate(old) if word == IMAGE_MARK), base.solution_figures, strict=False))
    blocks = SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    kept = {block.b + at: block.a + at for block in blocks for at in range(block.size) if block.a + at in figures}
    others = iter([figure for at, figure in figures.items() if at not in kept.values()])
    marks = (at for at, word in enumerate(new) if word == IMAGE_MARK)
    left = (figures[kept[at]] if at in kept else next(others, None) for at in marks)
    return [figure for figure in left if figure]


def difference(a: Copy, b: Copy) -> list[str]:
    """Fields in which two copies make different questions; white space and a crop's last pixels do not count."""
    names = [
        name for name in QuestionForm.model_fields if _plain(getattr(a.form, name)) != _plain(getattr(b.form, name))
    ]
    pairs = zip(a.figures, b.figures, strict=False)
    if len(a.figures) != len(b.figures) or not all(_same_figure(x, y) for x, y in pairs):
        names.append("figures")
    return names


def _same_figure(a: Figure, b: Figure) -> bool:
    if a.box is None or b.box is None:
        return a.name == b.name
    return a.box.overlap(b.box) >= SAME_CROP


def _plain(value: Any) -> Any:
    if isinstance(value, str):
        return " ".join(value.split())
    if isinstance(value, Record):
        return [_plain(item) for _, item in value]
    return [_plain(item) for item in value]


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\s*\d{1,4}(?:\.\d{1,3})?\s*", text) else None


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
    number = _LEADING_NUMBER.match(tail)
    id = new_id(base.id, taken)
    doubt = Doubt(kind="number", text=f"split from {base.id}: check number, points, key and place", confidence=0.0)
    first = draft.model_copy(update={"question": head.strip(), "options": remaining, "figures": copy.figures[:marks]})
    second = draft.model_copy(
        update={
            "id": id,
            "number": number[1] if number else "",
            "question": (tail[number.end() :] if number else tail).strip(),
            "options": moved,
            "figures": copy.figures[marks:],
            **Draft.empty("answer", "answer_from", "solution", "solution_figures", "points", "part_points"),
            **Draft.empty("scheme", "variables", "reasoning_flow"),
            "doubts": [doubt],
        }
    )
    return [first, second]


def fields_read(draft: Draft, names: Collection[str]) -> dict[str, Any]:
    """Fields of a draft that was read from boxes."""
    read = copy_of(draft).form.model_dump()
    return {name: read[name] for name in names}


def joined_key(first: Draft, second: Draft) -> Draft:
    """The second draft with the keys of both; a key on two pages is a solution."""
    texts = [*first.answer, first.solution, *second.answer, second.solution]
    return second.model_copy(update={"answer": [], "solution": "\n".join(filter(None, texts))})


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
            "solution_figures": [*first.solution_figures, *second.solution_figures],
            "points": sum(points) if points else None,
            "part_points": [],
            "scheme": _joined(first.scheme, second.scheme),
            "knowledge_points": list(dict.fromkeys([*first.knowledge_points, *second.knowledge_points])),
            "markdown": "\n".join(text for text in (first.markdown, second.markdown) if text),
            "doubts": [*first.doubts, *second.doubts],
        }
    )


def new_id(id: str, taken: Collection[str]) -> str:
    """Id of a question made from another, or behind it."""
    stem, number = re.sub(r"-s\d+$", "", id), 2
    while f"{stem}-s{number}" in taken:
        number += 1
    return f"{stem}-s{number}"
