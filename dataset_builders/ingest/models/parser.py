"""A model's parse by the paper's template, compared with the rules'.

Contract: nothing a model says gets into a draft of the rules: a difference is a doubt of kind "parse". A question that
the rules lack is a line of the paper if it stands on the page word for word; `written` makes a draft of it. Replies are
JSON of the template's schema, bounded in size. (LiveK12Bench, "LLM-based Parsing with Variable Templates".)
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from livek12.core.prompts import load_prompt, text_message
from livek12.core.records import Key, Language, Option, Request, Sampling
from livek12.core.replies import Json, Unreadable, object_schema, parse_object
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.keys.matching import with_doubt
from livek12.dataset_builders.ingest.models.model import Model
from livek12.dataset_builders.ingest.pages.blocks import Box, PageBlocks
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
_PAGE_TASK: Final = "ingest-page"


@dataclass(frozen=True)
class UnreadQuestion:
    """A question on a page that only the model reads: its reply, and a line for the paper."""

    page: PageBlocks
    reply: dict[str, Any]
    line: str


def written(question: UnreadQuestion, id: str, language: Language, subject: str, template: Template) -> Draft | None:
    """The draft of a question that only a model reads; None if its number, text and options do not stand there so."""
    reply, page = question.reply, _bare(_text(question.page))
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
        if isinstance(text, str) and _bare(text):
            if _bare(text) in page:
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
        boxes=_boxes(question.page, _bare(f"{reply['number']}{printed}")),
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
    number, question = _bare(reply["number"]), _bare(reply["question"])
    at = page.find(question)
    if at < 0 or number not in page[max(0, at - len(number) - _NEAR) : at]:
        return False
    at += len(question)
    for piece in map(_bare, pieces):
        at = page.find(piece, at) + len(piece)
        if not piece or at < len(piece):
            return False
    return True


def _boxes(page: PageBlocks, text: str) -> list[Box]:
    """The box of its lines in each column."""
    columns: dict[int, Box] = {}
    for block in page.blocks:
        for line in block.lines:
            if (bare := _bare(line.text)) and (bare in text):
                columns[block.column] = columns.get(block.column, line.box).joined(line.box)
    return list(columns.values())


def _text(page: PageBlocks) -> str:
    return "\n".join(block.text for block in page.blocks if block.kind not in ("header", "footer"))


def _questions(text: str) -> list[dict[str, Any]]:
    """The questions of a reply, each with a number and a text.

    Raises:
        Unreadable: not in the schema's form.
    """
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
        replies: dict[str, Any] = {}
        problems: list[str] = []
        form, system = template.json_form(), instructions(template)
        texts = {draft.id: f"{draft.number}. {draft.markdown[:MAX_TEXT]}" for draft in drafts}
        requests = (
            _request(_TASK, name, system, text, min(MAX_TOKENS, 200 + len(text)), form) for name, text in texts.items()
        )
        for reply in self._asker.replies(requests, lambda key, text: parse_object(text)):
            if reply.value is None:
                problems.append(f"{self.name}, {reply.key.question_id}: {reply.problem}")
            else:
                replies[reply.key.question_id] = reply.value
        checked = [_compare(draft, replies[draft.id]) if draft.id in replies else draft for draft in drafts]
        differing = sum(len(new.doubts) > len(old.doubts) for new, old in zip(checked, drafts, strict=True))
        summary = (
            f"{self.name} parsed {len(replies)} of {len(drafts)} questions by template {template.name};"
            f" it differs from the rules in {differing}, which are as the rules have them"
        )
        return checked, [summary, *problems]

    def unread(
        self, pages: Sequence[PageBlocks], drafts: Sequence[Draft], template: Template
    ) -> tuple[list[UnreadQuestion], list[str]]:
        """Questions that a model reads on the pages and the rules do not, and lines on the replies as a whole."""
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
        notes: list[str] = []
        read = invented = 0
        drafted = [_bare(f"{draft.number}{draft.markdown}") for draft in drafts]
        for reply in self._asker.replies(requests, lambda key, text: _questions(text), whole=True):
            number = int(reply.key.question_id.removeprefix("page "))
            if reply.value is None:
                notes.append(f"{self.name}, page {number}: {reply.problem}")
                continue
            page = _bare(texts[number])
            for row in reply.value:
                read += 1
                named, question = row["number"], row["question"]
                begun = _bare(question)
                if not begun or _bare(named) not in page or begun not in page:
                    invented += 1
                elif not any(begun[:_ENOUGH] in draft_text for draft_text in drafted):
                    text = f"question {one_line(named, 20)}, page {number}: {self.name} reads it, the rules do not"
                    lost.append(UnreadQuestion(by_number[number], row, f"{text}: {one_line(question, 80)}"))
        summary = (
            f"{self.name} read {read} questions on {len(requests)} pages; {len(lost)} of them are in none of the rules'"
        )
        if invented:
            summary += f", and {invented} do not stand on their page as it says"
        return sorted(lost, key=lambda each: (each.page.number, each.line)), [summary, *sorted(notes)]


def instructions(template: Template, file: str = "parse.txt") -> str:
    """The model's instructions for a question, or for a page ("parse_page.txt")."""
    return load_prompt("livek12.dataset_builders.ingest", file).filled(template.told()).strip()


def _request(task: str, name: str, system: str, text: str, tokens: int, form: Json) -> Request:
    return Request(
        key=Key(task=task, question_id=name),
        messages=[text_message("system", system), text_message("user", text)],
        sampling=Sampling(temperature=0.0, max_tokens=tokens),
        answer_schema=form,
    )


def _compare(draft: Draft, parsed: dict[str, Any]) -> Draft:
    page = _bare(f"{draft.number} {draft.markdown} {draft.points or ''}")
    lines = [
        _differs("number", draft.number, parsed.get("number"), page),
        _differs("points", _number(draft.points) or "", _number(parsed.get("points")), page),
        _types(draft, parsed.get("question_type")),
        _question(parsed.get("question"), page),
        _differs("answer", " ".join(draft.answer), parsed.get("answer"), page),
        *_options(draft, parsed.get("options"), page),
    ]
    for line in lines:
        if line:
            draft = with_doubt(draft, "parse", line, 0.4)
    return draft


def _differs(what: str, ours: str, theirs: object, page: str) -> str:
    if not isinstance(theirs, str) or not theirs.strip() or _bare(theirs) == _bare(ours):
        return ""
    shown = one_line(theirs, 60)
    if _bare(theirs) not in page:
        return f"{what}: the model wrote {shown!r}, which is not on the page"
    return f"{what}: the rules read {ours!r}, the model {shown!r}"


def _question(theirs: object, page: str) -> str:
    """Accepts a text with nine in ten of its letters on the page: formulas are spelt anew."""
    if not isinstance(theirs, str) or not (bare := _bare(theirs[:MAX_TEXT])) or bare in page:
        return ""
    there = sum((Counter(bare) & Counter(page)).values())
    if there >= 0.9 * len(bare):
        return ""
    return f"question: the model wrote {one_line(theirs, 60)!r}, much of which is not on the page"


def _types(draft: Draft, theirs: object) -> str:
    if not isinstance(theirs, str) or theirs == draft.question_type:
        return ""
    return f"type: the rules read {draft.question_type}, the model {one_line(theirs, 40)}"


def _options(draft: Draft, theirs: object, page: str) -> list[str]:
    if not isinstance(theirs, list):
        return []
    read = {str(o.get("label", "")).strip(" .()"): str(o.get("text", "")) for o in theirs[:10] if isinstance(o, dict)}
    ours = {option.label: option.text for option in draft.options}
    if read.keys() != ours.keys():
        return [
            f"options: the rules read {', '.join(ours) or 'none'}, the model {one_line(', '.join(read), 60) or 'none'}"
        ]
    return [line for label in ours if (line := _differs(f"option {label}", ours[label], read[label], page))]


def _number(value: object) -> str | None:
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else None


def _bare(text: str) -> str:
    """A text for comparison: compatible letters, no spaces, dollars and braces."""
    return re.sub(r"[\s${}\\]+", "", unicodedata.normalize("NFKC", text)).lower()
