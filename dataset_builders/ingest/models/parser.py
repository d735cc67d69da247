"""A model's parse by the paper's template, compared with the rules'.

Contract: nothing a model says gets into a draft of the rules: a difference is a doubt of kind "parse". A question that
the rules lack is a line of the paper if it stands on the page word for word; `written` makes a draft of it. Replies are
JSON of the template's schema, bounded in size. (LiveK12Bench, "LLM-based Parsing with Variable Templates".)
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from livek12.core.prompts import load_prompt, text_message
from livek12.core.records import Language, Option, Request
from livek12.core.replies import Json, Unreadable, object_schema, parse_object
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.matching import with_doubt
from livek12.dataset_builders.ingest.models.model import Model, bare, request
from livek12.dataset_builders.ingest.pages.blocks import Box, PageBlocks
from livek12.dataset_builders.ingest.questions.points import split_points
from livek12.dataset_builders.ingest.templates import Template
from livek12.engines.asking import model_spec

MAX_PAGE_TEXT: Final = 24_000
"""Characters of a page that a model is given; a page of print has about 5,000."""
MAX_PAGE_TOKENS: Final = 8192
MAX_QUESTIONS: Final = 200
_ENOUGH: Final = 24
"""Letters of a question's beginning that tell it from others."""
_NEAR: Final = 4
"""Signs between a number and its question."""
_SAME: Final = 0.9
"""Share of the letters of two readings of a question that are the same."""
_MOST: Final = 1e9
"""What is larger is no number of points."""
_PAGE_TASK: Final = "ingest-page"


@dataclass(frozen=True)
class UnreadQuestion:
    """A question on a page that only the model reads: its reply, and a line for the paper."""

    page: PageBlocks
    reply: dict[str, Any]
    line: str


def written(question: UnreadQuestion, id: str, language: Language, subject: str, template: Template) -> Draft | None:
    """The draft of a question that only a model reads; None if it is not on the page so."""
    reply, page = question.reply, bare(_text(question.page))
    rows = [row for row in reply.get("options") or [] if isinstance(row, dict)]
    options = [Option(label=str(row.get("label")).strip(" .()"), text=str(row.get("text")).strip()) for row in rows]
    printed = "\n".join([reply["question"].strip(), *(f"{option.label} {option.text}" for option in options)])
    pieces = [piece for option in options for piece in (option.label, option.text)]
    kind = reply.get("question_type")
    if kind not in {type_.kind for type_ in template.types} or not _in_order(page, reply, pieces):
        return None
    fields: dict[str, Any] = {}
    absent = []
    texts = {"points": _number(reply.get("points")), "answer": reply.get("answer"), "solution": reply.get("solution")}
    for name, text in texts.items():
        if isinstance(text, str) and bare(text):
            if bare(text) in page:
                fields[name] = {"points": reply["points"], "answer": [text.strip()]}.get(name, text.strip())
            else:
                absent.append(f"{name}: the model wrote {one_line(text, 60)!r}, which is not on the page")
    draft = Draft(
        id=id,
        number=reply["number"].strip(" .．、()（）")[:20],
        language=language,
        subject=subject,
        question_type=kind,
        question=reply["question"].strip(),
        options=options,
        boxes=_boxes(question.page, bare(f"{reply['number']}{printed}")),
        page_numbers=[question.page.number],
        answer_from="the paper" if "answer" in fields else "",
        markdown=printed,
        **fields,
    )
    for line in ["only the model reads it: its words stand on the page, where it ends is the model's guess", *absent]:
        draft = with_doubt(draft, "parse", line, 0.2)
    return draft


def _in_order(page: str, reply: dict[str, Any], pieces: Sequence[str]) -> bool:
    """Tests that a number is followed by its question, and this by its options' labels and texts."""
    number, question = bare(reply["number"]), bare(reply["question"])
    at = page.find(question)
    if at < 0 or number not in page[max(0, at - len(number) - _NEAR) : at]:
        return False
    at += len(question)
    for piece in map(bare, pieces):
        at = page.find(piece, at) + len(piece)
        if not piece or at < len(piece):
            return False
    return True


def _boxes(page: PageBlocks, text: str) -> list[Box]:
    """The box of its lines in each column."""
    columns: dict[int, Box] = {}
    for block in page.blocks:
        for line in block.lines:
            if (printed := bare(line.text)) and printed in text:
                columns[block.column] = columns.get(block.column, line.box).joined(line.box)
    return list(columns.values())


def _text(page: PageBlocks) -> str:
    return "\n".join(block.text for block in page.blocks if block.kind not in ("header", "footer"))


def _questions(text: str) -> list[dict[str, Any]]:
    """The questions of a reply, each with a number and a text; Unreadable if not in the schema's form."""
    rows: Any = parse_object(text).get("questions")
    if not isinstance(rows, list) or len(rows) > MAX_QUESTIONS:
        raise Unreadable(f'has no list of at most {MAX_QUESTIONS} questions under "questions"')
    for row in rows:
        named, question = (row.get("number"), row.get("question")) if isinstance(row, dict) else (None, None)
        if not isinstance(named, str) or not isinstance(question, str) or not named.strip():
            raise Unreadable("names a question without a number or a text")
    return rows


MAX_TEXT = 8000
MAX_TOKENS = 2048
"""Of a reply; one for a short question gets fewer."""
_TASK = "ingest"


class Parser(Model):
    """A model that parses questions by templates; `spec` as for `vlm.Reader`."""

    def __init__(self, spec: str, folder: Path | None = None) -> None:
        super().__init__(model_spec(spec, "--parse-by"), folder)

    def check(self, drafts: Sequence[Draft], template: Template) -> tuple[list[Draft], list[str]]:
        """The drafts with a doubt for each difference, and lines on the replies as a whole."""
        form, system = template.json_form(), instructions(template)
        texts = {draft.id: f"{draft.number}. {draft.markdown[:MAX_TEXT]}" for draft in drafts}
        requests = (
            _request(_TASK, name, system, text, min(MAX_TOKENS, 200 + len(text)), form) for name, text in texts.items()
        )
        replies, problems = self.ask(requests, lambda _, text: parse_object(text))
        checked = [_compare(draft, replies[draft.id]) if draft.id in replies else draft for draft in drafts]
        differing = sum(len(new.doubts) > len(old.doubts) for new, old in zip(checked, drafts, strict=True))
        summary = (
            f"{self.name} parsed {len(replies)} of {len(drafts)} questions by template {template.name};"
            f" it differs from the rules in {differing}, which are as the rules have them"
        )
        return checked, [summary, *(f"{self.name}, {name}: {problem}" for name, problem in problems.items())]

    def unread(
        self, pages: Sequence[PageBlocks], drafts: Sequence[Draft], template: Template
    ) -> tuple[list[Draft], list[UnreadQuestion], list[str]]:
        """The drafts with a doubt where the model reads otherwise, questions that only it reads, and notes.

        A question of the model is the draft's that has its beginning, else that of its number on the page.
        """
        by_number = {page.number: page for page in pages}
        texts = {page.number: _text(page)[:MAX_PAGE_TEXT] for page in pages}
        form = object_schema(questions={"type": "array", "items": template.json_form()})
        system = instructions(template, "parse_page.txt")
        requests = [
            _request(_PAGE_TASK, f"page {number}", system, text, MAX_PAGE_TOKENS, form)
            for number, text in texts.items()
            if text.strip()
        ]
        lost: list[UnreadQuestion] = []
        drafted = {draft.id: bare(f"{draft.number}{draft.markdown}") for draft in drafts}
        whole = {draft.id: len(bare(draft.question)) for draft in drafts}
        theirs: dict[str, str | None] = {}  # how the model reads a draft; None if as the rules do
        replies, problems = self.ask(requests, lambda _, text: _questions(text), whole=True)
        for name, rows in replies.items():
            number = int(name.removeprefix("page "))
            page, own = bare(texts[number]), [draft for draft in drafts if number in draft.page_numbers]
            for row in rows:
                begun, named = bare(row["question"]), bare(row["number"].strip(" .()"))
                stands = bool(begun) and begun in page and bare(row["number"]) in page
                near = [draft.id for draft in drafts if begun and begun[:_ENOUGH] in drafted[draft.id]]
                same = [draft.id for draft in own if bare(draft.number) == named]
                both = [id for id in near if id in same]
                others = [] if both or not named.isdecimal() else near
                alike = [id for id in both or near if len(begun) >= min(_ENOUGH, _SAME * whole[id])]
                if alike and stands and not others:
                    theirs.update({id: theirs.get(id) or None for id in alike})
                elif matches := others or (both or near if stands else same):
                    theirs[matches[0]] = theirs.get(matches[0]) or f"{row['number']} {row['question']}"
                else:
                    lost.append(_lost(by_number[number], row, stands, self.name))
            if len(texts[number]) < MAX_PAGE_TEXT:
                for draft in own:
                    if draft.page_numbers[0] == number:
                        theirs.setdefault(draft.id, "")
        checked = [*drafts]
        for place, draft in enumerate(drafts):
            if (text := theirs.get(draft.id)) is not None:
                other = "other words, or another number, there" if text else "no such question there"
                readings = draft.question, text[:MAX_TEXT]
                checked[place] = with_doubt(draft, "parse", f"{self.name} reads {other}", 0.3, readings)
        lost.sort(key=lambda each: (each.page.number, each.line))
        differing = sum(text is not None for text in theirs.values())
        read, notes = sum(map(len, replies.values())), [f"{self.name}, {name}: {problems[name]}" for name in problems]
        summary = f"{self.name} read {read} questions on {len(requests)} pages; {len(lost)} of them are in none of the"
        summary += f" rules', and it reads {differing} of the rules' otherwise"
        return checked, lost, [summary, *sorted(notes)]


def _lost(page: PageBlocks, row: dict[str, Any], stands: bool, name: str) -> UnreadQuestion:
    where = f"question {one_line(row['number'], 20)}, page {page.number}: {name} reads it, the rules do not"
    text = f"{where}{'' if stands else ', and it is not on the page so'}: {one_line(row['question'], 80)}"
    return UnreadQuestion(page, row, text)


def instructions(template: Template, file: str = "parse.txt") -> str:
    """The model's instructions for a question, or for a page ("parse_page.txt")."""
    return load_prompt("livek12.dataset_builders.ingest", file).filled(template.told()).strip()


def _request(task: str, name: str, system: str, text: str, tokens: int, form: Json) -> Request:
    messages = [text_message("system", system), text_message("user", text)]
    return request(task, name, messages, tokens, answer_schema=form)


def _compare(draft: Draft, parsed: dict[str, Any]) -> Draft:
    page = bare(f"{draft.number} {draft.markdown} {draft.points or ''}")
    for field, ours in _readings(draft, page).items():
        theirs = _said(field, parsed.get(field))
        if theirs is None or _agree(field, ours, theirs):
            continue
        is_printed = field == "question_type" or all(bare(text) in page for text in theirs.split("\n"))
        absent = "" if is_printed else ", which is not on the page"
        line = f"{field}: the rules read {one_line(ours, 60)!r}, the model {one_line(theirs, 60)!r}{absent}"
        draft = with_doubt(draft, "parse", line, 0.4, (ours, theirs))
    return draft


def _readings(draft: Draft, page: str) -> dict[str, str]:
    """The fields of a draft as text, by their names in a reply; of its question what the model saw."""
    lines = draft.question.split("\n")
    return {
        "number": draft.number,
        "points": _number(draft.points) or "",
        "question_type": draft.question_type,
        "question": "\n".join(line for line in lines if len(lines) == 1 or bare(line) in page),
        "options": "\n".join(f"{option.label}. {option.text}" for option in draft.options),
        "answer": " ".join(draft.answer),
    }


def _said(field: str, value: Any) -> str | None:
    """A field of a reply as text; None if it says nothing of it."""
    if field == "options" and isinstance(value, list) and all(isinstance(option, dict) for option in value):
        rows = [(str(option.get("label", "")).strip(" .()"), option.get("text", "")) for option in value]
        return "\n".join(f"{label}. {text}" for label, text in rows)[:MAX_TEXT]
    if value is None or (value in ("", [], {}) and field in ("points", "answer")):
        return None
    text = value if isinstance(value, str) else _number(value) or json.dumps(value, ensure_ascii=False)
    return split_points(text[:MAX_TEXT])[0] if field == "question" else text[:MAX_TEXT]


def _agree(field: str, ours: str, theirs: str) -> bool:
    """Compares two readings; of questions most letters are enough, as formulas are spelt anew."""
    first, second = bare(ours), bare(theirs)
    if first == second or field != "question":
        return first == second
    same = sum((Counter(first) & Counter(second)).values())
    return same >= _SAME * max(len(first), len(second))


def _number(value: object) -> str | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _MOST
    return f"{value:g}" if is_number else None
