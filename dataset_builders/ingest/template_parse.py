"""A model parses each question by the paper's template, and its parse is held against that of the rules.

Contract: nothing a model says gets into a draft. Where it differs from the rules, the difference is a doubt of kind
"parse" for the reviewer; a text that is not on the page is called that. What it says is read as JSON of the template's
schema, bounded in size, and nothing else. (LiveK12Bench, "LLM-based Parsing with Variable Templates".)
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Any

from livek12.core.engines import ENGINES, make_engine, parse_engine_args
from livek12.core.errors import UserError
from livek12.core.records import Failure, Key, Message, Part, Request, Response, Sampling
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.matching import with_doubt
from livek12.dataset_builders.ingest.templates import Template

MAX_TEXT = 8000
MAX_REPLY = 60_000
MAX_TOKENS = 2048
"""Of a reply; one for a short question gets fewer."""
_TASK = "ingest"
_INSTRUCTIONS = """You turn one question of an exam paper into JSON. The paper is of this kind:
{layout}

Types of questions:
{types}

Fields:
{fields}
- question_type: one of {kinds}

Copy what is printed; add nothing, solve nothing. Answer with the JSON object alone."""


class Parser:
    """A model that parses questions by templates.

    Args:
        spec: MODEL, MODEL@ENGINE or MODEL@ENGINE:K=V,…

    Raises:
        UserError: no such engine, or a model that it cannot run.
    """

    def __init__(self, spec: str) -> None:
        named = re.fullmatch(rf"(?P<model>.+?)(?:@(?P<engine>{'|'.join(ENGINES)})(?::(?P<args>.*))?)?", spec.strip())
        if not named:
            raise UserError("--parser names no model: give MODEL or MODEL@ENGINE[:K=V,…]")
        if re.search(r"@\w+:\w+=", spec) and not named["engine"]:
            raise UserError(f"--parser {spec!r}: no such engine; there are {', '.join(ENGINES)}")
        self._engine = make_engine(named["engine"] or "auto", named["model"], parse_engine_args(named["args"] or ""))
        self.name = self._engine.model

    def close(self) -> None:
        """Gives memory and processes back."""
        self._engine.close()

    def check(self, drafts: Sequence[Draft], template: Template) -> tuple[list[Draft], list[str]]:
        """The drafts with a doubt wherever the model's parse differs, and lines on what it said as a whole."""
        replies: dict[str, Any] = {}
        problems: list[str] = []
        for outcome in self._engine.generate(_request(draft, template) for draft in drafts):
            said = _read(outcome)
            if isinstance(said, str):
                problems.append(f"{outcome.key.question_id}: {said}")
            else:
                replies[outcome.key.question_id] = said
        checked = [_compare(draft, replies[draft.id]) if draft.id in replies else draft for draft in drafts]
        differing = sum(len(new.doubts) > len(old.doubts) for new, old in zip(checked, drafts, strict=True))
        lines = [
            f"{self.name} parsed {len(replies)} of {len(drafts)} questions by template {template.name};"
            f" it differs from the rules in {differing}, which are as the rules have them"
        ]
        return checked, [*lines, *(f"{self.name}, {problem}" for problem in problems)]


def instructions(template: Template) -> str:
    """What a model is told about the papers of a template."""
    return _INSTRUCTIONS.format(
        layout=template.layout.strip(),
        types="\n".join(f"- {type_.kind} ({type_.name}): {type_.features}" for type_ in template.types),
        fields="\n".join(f"- {name}: {how}" for name, how in template.fields.items()),
        kinds=", ".join(sorted({type_.kind for type_ in template.types})),
    )


def _request(draft: Draft, template: Template) -> Request:
    text = f"{draft.number}. {draft.markdown[:MAX_TEXT]}"
    room = min(MAX_TOKENS, 200 + len(text))
    return Request(
        key=Key(task=_TASK, question_id=draft.id),
        messages=[
            Message(role="system", content=[Part(type="text", text=instructions(template))]),
            Message(role="user", content=[Part(type="text", text=text)]),
        ],
        sampling=Sampling(temperature=0.0, max_tokens=room),
        answer_schema=template.json_form(),
    )


def _read(outcome: Response | Failure) -> dict[str, Any] | str:
    """The object a model wrote, or what is wrong with it."""
    if isinstance(outcome, Failure):
        return one_line(outcome.reason, 160)
    text = outcome.text.strip()
    if fenced := re.fullmatch(r"```(?:json)?\s*(.*?)\s*```", text, re.DOTALL):
        text = fenced[1]
    if len(text) > MAX_REPLY:
        return "its reply is too long"
    try:
        said = json.loads(text)
    except (ValueError, RecursionError):
        return "its reply is no JSON"
    return said if isinstance(said, dict) else "its reply is no JSON object"


def _compare(draft: Draft, said: dict[str, Any]) -> Draft:
    page = _bare(f"{draft.number} {draft.markdown} {draft.points or ''}")
    lines = [
        _differs("number", draft.number, said.get("number"), page),
        _differs("points", f"{draft.points:g}" if draft.points is not None else "", _number(said.get("points")), page),
        _types(draft, said.get("question_type")),
        _question(said.get("question"), page),
        _differs("answer", " ".join(draft.answer), said.get("answer"), page),
        *_options(draft, said.get("options"), page),
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
    """A text is the page's where nine in ten of its letters are there, in whatever order: formulas are spelt anew."""
    if not isinstance(theirs, str) or not (said := _bare(theirs[:MAX_TEXT])) or said in page:
        return ""
    there = sum((Counter(said) & Counter(page)).values())
    if there >= 0.9 * len(said):
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
    """A text as two spellings of it agree: compatible letters, no spaces, dollars and braces."""
    return re.sub(r"[\s${}\\]+", "", unicodedata.normalize("NFKC", text)).lower()
