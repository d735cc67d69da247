"""Translatable texts of a question by name, with numbered figure marks.

Contract: texts without Chinese or Korean are kept and never sent to a model. Names: `question`, `option_LABEL`,
`answer_N` and, in a separate request, `solution`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.records import IMAGE_MARK, Option
from livek12.dataset_builders.ingest.drafts import Draft
from livek12.dataset_builders.proposals.translation.checks import FIGURE

SOLUTION = "solution"
_FOREIGN = re.compile(f"[{IDEOGRAPHS}{HANGUL}]")
Texts = dict[str, str]


def needs_translation(text: str) -> bool:
    """True for a text with Chinese or Korean."""
    return bool(_FOREIGN.search(text))


def texts_of(draft: Draft) -> Texts:
    """Texts of a question for one request, by name."""
    named = {"question": draft.question}
    named |= {f"option_{option.label}": option.text for option in draft.options}
    named |= {f"answer_{number}": text for number, text in enumerate(draft.answer, 1)}
    return {name: numbered(text) for name, text in named.items() if needs_translation(text)}


def solution_of(draft: Draft) -> Texts:
    """The solution, if it needs translation."""
    return {SOLUTION: numbered(draft.solution)} if draft.solution and needs_translation(draft.solution) else {}


def with_texts(draft: Draft, said: Mapping[str, str]) -> Draft:
    """Replaces a draft's texts by translated ones."""
    options = [
        Option(label=option.label, text=marked(said.get(f"option_{option.label}", option.text)))
        for option in draft.options
    ]
    answer = [marked(said.get(f"answer_{number}", text)) for number, text in enumerate(draft.answer, 1)]
    solution = marked(said[SOLUTION]) if SOLUTION in said else draft.solution
    question = marked(said.get("question", draft.question))
    return draft.model_copy(update={"question": question, "options": options, "answer": answer, "solution": solution})


def numbered(text: str) -> str:
    """Replaces image marks by [[figure-1]], [[figure-2]], to check their order; literal ones lose a bracket."""
    pieces = FIGURE.sub(lambda match: match[0][1:-1], text).split(IMAGE_MARK)
    return pieces[0] + "".join(f"[[figure-{number}]]{piece}" for number, piece in enumerate(pieces[1:], 1))


def marked(text: str) -> str:
    """The inverse of `numbered`."""
    return FIGURE.sub(IMAGE_MARK, text)
