"""Judge of variants: a model compares a question and its variant.

Contract: a variant needs the same meaning and a valid key.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from livek12.core.prompts import fenced, harmless, image_part, joined_parts, load_prompt, text_part
from livek12.core.records import IMAGE_MARK, Key, Message, Part, Question, Request, Sampling
from livek12.core.replies import a_bool, a_text, fields_of, object_schema, parse_object
from livek12.core.text import one_line
from livek12.dataset_builders.proposals.variants.rewriting import PACKAGE

MAX_TOKENS = 4096
_BOOL = {"type": "boolean"}


@dataclass(frozen=True)
class Sameness:
    """Judgement of a variant."""

    same_meaning: bool
    key_holds: bool
    why: str

    @property
    def stays(self) -> bool:
        """True if the variant is kept."""
        return self.same_meaning and self.key_holds


def request(source: Question, variant: Question, transforms: Sequence[str], key: str) -> Request:
    """Builds the judge's request; `key` names it."""
    values = {
        "transforms": ", ".join(transforms),
        "question": _shown(source, "question"),
        "variant": _shown(variant, "variant"),
        "form": '{"same_meaning": true|false, "key_holds": true|false, "why": "one sentence"}',
    }
    parts: list[Part] = [text_part(load_prompt(PACKAGE, "judge.txt").filled(values).strip())]
    for name, question in (("question", source), ("variant", variant)):
        for number, image in enumerate(question.images, 1):
            parts += [text_part(f"\n[{name}, figure {number}]\n"), image_part(image)]
    return Request(
        key=Key(task="vary/judge", question_id=key),
        messages=[Message(role="user", content=joined_parts(parts))],
        images={image.sha256: image for question in (source, variant) for image in question.images},
        sampling=Sampling(temperature=0.0, max_tokens=MAX_TOKENS),
        answer_schema=object_schema(same_meaning=_BOOL, key_holds=_BOOL, why={"type": "string"}),
    )


def read(reply: str) -> Sameness:
    """Parses a reply; raises Unreadable."""
    fields = fields_of(parse_object(reply), "same_meaning", "key_holds", "why")
    why = one_line(a_text(fields["why"], "why"), 300)
    return Sameness(a_bool(fields["same_meaning"], "same_meaning"), a_bool(fields["key_holds"], "key_holds"), why)


def _shown(question: Question, name: str) -> str:
    lines = [f"Type: {question.question_type}", question.question]
    lines += [f"{option.label}. {option.text}" for option in question.options]
    lines.append(f"Key: {json.dumps(question.answer, ensure_ascii=False)}")
    pieces = "\n".join(lines).split(IMAGE_MARK)
    text = pieces[0] + "".join(f"[{name}, figure {number}]{piece}" for number, piece in enumerate(pieces[1:], 1))
    return fenced(harmless(text))[1]
