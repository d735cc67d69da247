"""Text transforms by a model: other words, sentences, or type.

Contract: a reply must be exactly the requested object, and keep numbers, formulas, figures, blanks and parts; otherwise
Unreadable is raised. Meaning is left to a judge.
"""

from __future__ import annotations

import json
import re
from random import Random

from livek12.core.languages import HANGUL, IDEOGRAPHS
from livek12.core.prompts import load_prompt, text_message
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import (
    IMAGE_MARK,
    Key,
    Option,
    Question,
    Request,
    Sampling,
)
from livek12.core.replies import Json, Unreadable, a_list, a_text, fields_of, object_schema, parse_object
from livek12.dataset_builders.proposals.translation.checks import MAX_TEXT, figure_marks, problems_in_words
from livek12.dataset_builders.proposals.translation.texts import Texts, marked, numbered
from livek12.dataset_builders.proposals.variants.conversion import CHOICE, FILL, TRUE_FALSE, in_type, plain

WORDS, PARAPHRASE, TYPE = "words", "paraphrase", "type"
PACKAGE = "livek12.dataset_builders.proposals.variants"
_TEXT = {"type": "string"}
_REPHRASED = (WORDS, PARAPHRASE)
_LONGEST_ANSWER = 200
_BLANK = re.compile(r"_{2,}")
_SAYS_SOMETHING = re.compile(rf"[A-Za-z]{{3,}}|[{IDEOGRAPHS}{HANGUL}]{{2,}}")


def can_be_asked(question: Question, transform: str) -> bool:
    """True if a model can make this transform."""
    texts = _texts(question)
    if sum(map(len, texts.values())) > MAX_TEXT or not _SAYS_SOMETHING.search(question.question):
        return False
    return transform in _REPHRASED or bool(_target(question))


def request(question: Question, transform: str) -> Request:
    """Builds the model's request."""
    file, body, schema = _asked(question, transform)
    shown = json.dumps(body, ensure_ascii=False, indent=1)
    return Request(
        key=Key(task=f"vary/{transform}", question_id=question.id),
        messages=[
            text_message("system", load_prompt(PACKAGE, f"{file}.txt").text.strip()),
            text_message("user", shown),
        ],
        sampling=Sampling(temperature=0.0, max_tokens=min(8192, 600 + 2 * len(shown))),
        answer_schema=schema,
    )


def transformed(question: Question, transform: str, reply: str, random: Random) -> Question:
    """Applies a reply; raises Unreadable with the fault."""
    fields = parse_object(reply)
    if transform in _REPHRASED:
        return _rephrased(question, fields)
    return _filled(question, fields) if _target(question) == FILL else _with_options(question, fields, random)


def _target(question: Question) -> str:
    if not question.answer or len(question.answer) > 1 or not question.answer[0].strip():
        return ""
    if question.question_type in CHOICE_TYPES:
        return (
            FILL if question.options and IMAGE_MARK not in "".join(option.text for option in question.options) else ""
        )
    if question.question_type == TRUE_FALSE:
        return FILL
    short = len(question.answer[0]) <= _LONGEST_ANSWER and not question.answer_images
    return CHOICE if short and question.question_type in (FILL, "short_answer") else ""


def _texts(question: Question) -> Texts:
    named = {"question": question.question, **{f"option_{option.label}": option.text for option in question.options}}
    return {name: numbered(text) for name, text in named.items()}


def _asked(question: Question, transform: str) -> tuple[str, Json, Json]:
    texts = _texts(question)
    if transform in _REPHRASED:
        return transform, dict(texts), object_schema(**dict.fromkeys(texts, _TEXT))
    if _target(question) == FILL:
        shown = {"type": question.question_type, **texts, "key": question.answer[0]}
        return "fill", shown, object_schema(question=_TEXT, answer=_TEXT)
    schema = {"type": "array", "items": _TEXT, "minItems": 3, "maxItems": 3}
    return "choice", {"question": texts["question"], "key": question.answer[0]}, object_schema(wrong=schema)


def _rephrased(question: Question, reply: Json) -> Question:
    texts = _texts(question)
    fields = {name: a_text(value, name) for name, value in fields_of(reply, *texts).items()}
    for name, text in texts.items():
        if faults := problems_in_words(text, fields[name]) if fields[name] != text else []:
            raise Unreadable(f"changes more than words in {name}: {'; '.join(faults[:3])}")
    if all(plain(fields[name]) == plain(text) for name, text in texts.items()):
        raise Unreadable("changes nothing")
    options = [Option(label=option.label, text=marked(fields[f"option_{option.label}"])) for option in question.options]
    if len({plain(option.text) for option in options}) < len({plain(option.text) for option in question.options}):
        raise Unreadable("makes two options alike")
    return question.model_copy(update={"question": marked(fields["question"]), "options": options})


def _filled(question: Question, reply: Json) -> Question:
    fields = fields_of(reply, "question", "answer")
    text, answer = a_text(fields["question"], "question").strip(), a_text(fields["answer"], "answer").strip()
    if not 0 < len(answer) <= _LONGEST_ANSWER or IMAGE_MARK in answer or figure_marks(answer):
        raise Unreadable("gives no short answer in words")
    if re.fullmatch(r"[A-Ja-j]+|true|false|对|错|正确|错误", answer, re.IGNORECASE):
        raise Unreadable(f"gives {answer!r} as the answer, which belongs to the old type")
    if len(_BLANK.findall(text)) != 1 or len(text) > 8 * len(question.question) + 400:
        raise Unreadable("gives no text with exactly one blank")
    if figure_marks(text) != figure_marks(numbered(question.question)):
        raise Unreadable("does not keep the figures of the question")
    return in_type(question, FILL, question=marked(text), answer=[answer])


def _with_options(question: Question, reply: Json, random: Random) -> Question:
    key = question.answer[0].strip()
    wrong = [
        a_text(wrong_text, "a wrong option").strip()
        for wrong_text in a_list(fields_of(reply, "wrong")["wrong"], "wrong")
    ]
    texts = [key, *wrong]
    if len(wrong) != 3 or len({plain(text) for text in texts}) != 4 or not all(map(plain, texts)):
        raise Unreadable("gives no three wrong options that differ from the key and each other")
    if any(len(text) > _LONGEST_ANSWER or IMAGE_MARK in text for text in wrong):
        raise Unreadable("gives a wrong option that is too long or has a figure")
    random.shuffle(texts)
    options = [Option(label=label, text=text) for label, text in zip("ABCD", texts, strict=True)]
    letter = "ABCD"[texts.index(key)]
    return in_type(question, CHOICE, options=options, answer=[letter])
