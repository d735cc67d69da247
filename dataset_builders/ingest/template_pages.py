"""A model reads whole pages by the paper's template, and what the rules have not found of it is told.

Contract: nothing a model says gets into a draft. A question that it names and that no draft holds is a line of the
paper, if its number and its text stand on the page, word for word and in order; what does not stand there is counted
and nothing more. What it says is read as JSON of the template's schema, bounded in size, and nothing else.
(LiveK12Bench, "LLM-based Parsing with Variable Templates".)
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Any, Final

from livek12.core.prompts import load_prompt, text_message
from livek12.core.records import Key, Request, Sampling
from livek12.core.replies import Unreadable, object_schema, parse_object
from livek12.core.text import one_line
from livek12.dataset_builders.ingest.blocks import PageBlocks
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.ingest.templates import Template
from livek12.engines.asking import Asker

MAX_TEXT: Final = 24_000
"""Characters of a page that a model is given; a page of print has about 5,000."""
MAX_TOKENS: Final = 8192
MAX_QUESTIONS: Final = 200
_ENOUGH: Final = 24
"""Letters of a question's beginning that tell it from others."""
_TASK: Final = "ingest-page"


def unread(
    asker: Asker, pages: Sequence[PageBlocks], drafts: Sequence[Draft], template: Template
) -> tuple[list[str], list[str]]:
    """What a model reads on the pages and the rules do not.

    Args:
        asker: asks the model.
        pages: of the paper, as they were read.
        drafts: what the rules made of them.
        template: the kind of paper.

    Returns:
        A line for each question that no draft holds, and lines on what the model said as a whole.
    """
    texts = {page.number: _text(page)[:MAX_TEXT] for page in pages}
    requests = [_request(number, text, template) for number, text in texts.items() if text.strip()]
    lost: list[tuple[int, str]] = []
    notes: list[str] = []
    read = invented = 0
    held = [_bare(f"{draft.number}{draft.markdown}") for draft in drafts]
    for reply in asker.replies(requests, lambda key, text: _questions(text), whole=True):
        number = int(reply.key.question_id.removeprefix("page "))
        if reply.value is None:
            notes.append(f"{asker.model}, page {number}: {reply.problem}")
            continue
        page = _bare(texts[number])
        for named, question in reply.value:
            read += 1
            begun = _bare(question)
            if not begun or _bare(named) not in page or begun not in page:
                invented += 1
            elif not any(begun[:_ENOUGH] in one for one in held):
                text = f"question {one_line(named, 20)}, page {number}: {asker.model} reads it, the rules do not"
                lost.append((number, f"{text}: {one_line(question, 80)}"))
    said = (
        f"{asker.model} read {read} questions on {len(requests)} pages; {len(lost)} of them are in none of the rules'"
    )
    if invented:
        said += f", and {invented} do not stand on their page as it says"
    return [line for _, line in sorted(lost)], [said, *sorted(notes)]


def _text(page: PageBlocks) -> str:
    return "\n".join(block.text for block in page.blocks if block.kind not in ("header", "footer"))


def _request(number: int, text: str, template: Template) -> Request:
    form = object_schema(questions={"type": "array", "items": template.json_form()})
    return Request(
        key=Key(task=_TASK, question_id=f"page {number}"),
        messages=[text_message("system", instructions(template)), text_message("user", text)],
        sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS),
        answer_schema=form,
    )


def instructions(template: Template) -> str:
    """What a model is told about a page of the papers of a template."""
    return load_prompt("livek12.dataset_builders.ingest", "parse_page.txt").filled(template.told()).strip()


def _questions(text: str) -> list[tuple[str, str]]:
    """Number and text of each question.

    Raises:
        Unreadable: not in the schema's form.
    """
    rows: Any = parse_object(text).get("questions")
    if not isinstance(rows, list) or len(rows) > MAX_QUESTIONS:
        raise Unreadable(f'has no list of at most {MAX_QUESTIONS} questions under "questions"')
    found = []
    for row in rows:
        named, said = (row.get("number"), row.get("question")) if isinstance(row, dict) else (None, None)
        if not isinstance(named, str) or not isinstance(said, str) or not named.strip():
            raise Unreadable("names a question without a number or a text")
        found.append((named, said))
    return found


def _bare(text: str) -> str:
    """A text as two spellings of it agree: compatible letters, no spaces, dollars and braces."""
    return re.sub(r"[\s${}\\]+", "", unicodedata.normalize("NFKC", text)).lower()
