"""Type conversion of questions by sound rules (MDK12-Bench, "Question type conversion").

Contract: no rule applies if the stem asks for the best option or refers to options, or options name each other, are
alike or empty. New keys are never old letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

from livek12.core.languages import IDEOGRAPHS
from livek12.core.prompts import without_marks
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Option, Question

Conversion = Callable[[Question, Random], Question]
FILL, TRUE_FALSE, CHOICE = "fill_in_blank", "true_false", "single_choice"
_TRUTH = {"zh": ("对", "错", "。"), "en": ("True", "False", ".")}
_ONE = {
    "zh": "{stem}\n\n有人这样回答这道题：{option}\n\n判断：这个回答是正确的。",
    "en": "{stem}\n\nSomebody answers this question: {option}\n\nTrue or false: this answer is right.",
}
_AMONG = {
    "zh": "{stem}\n\n有人从这道题的选项中选了这一项：{option}\n\n判断：这一项是正确选项之一。",
    "en": "{stem}\n\nSomebody picks this option: {option}\n\nTrue or false: it is one of the right options.",
}
_BY_RANK = re.compile(
    r"最|更|接近|大约|约为|估计|以上|\b(?:best|most|least|closest|nearest|better|approximately|about|estimate)\b", re.I
)
"""Stems whose answer is relative to the others, or approximate."""
_ABOUT_OPTIONS = re.compile(
    r"选项|[A-J]\s*[、,，和与或]\s*[A-J]|[A-J]\s*(?:项|图|选)|\b(?:options?|choices?|answers?)\b|\bdiagrams?\s+[A-J]\b",
    re.I,
)
_OTHERS = re.compile(
    r"以上|上述|[都均](?:对|正确|错|不)|无法确定|不能确定|\b(?:above|none|neither|both|all of|cannot be)\b"
    r"|\b[A-J]\s*(?:,|、|and|or|和|与|或)\s*[A-J]\b",
    re.I,
)
"""Options about other options."""
_OF_THOSE = re.compile(
    r"下列|以下|下面|下图|如下|其中|哪|可能|可以|不|错|说法|正确|\b(?:which|following|could|may|might|can|possible|not|except"
    r"|incorrect|false|true|statements?)\b|n't\b",
    re.I,
)
"""Stems that need their options for a unique answer."""
_MATHS = re.compile(rf"\$[^$=<>≤≥≠,，;；、{IDEOGRAPHS}]{{1,120}}\$")
_VALUE = re.compile(r"[-+−]?\d[\d./]*\s*(?:%|[A-Za-zμΩ°℃/²³·^-]{0,12}|[\u4e00-\u9fff]{0,2})")
_RELATION = re.compile(r"\\(?:[lg]eq?(?:slant)?|neq?|approx|sim|in|cup|cap|text|begin|to)\b")
_ASKS = re.compile(r"(?:为|是|等于|有|值|[=＝])\s*\$?\s*$|\b(?:is|are|was|equals?|has|to be)\s*\$?\s*$|[?？]\s*$", re.I)
"""Endings of stems that ask for a value."""
_BLANK = re.compile(r"[(（]\s*[)）]|_{2,}")
_END_BLANK = re.compile(r"\s*(?:[(（]\s*[)）]|_{2,})?\s*[.。:：?？]?\s*$")
_LONGEST = 400


def conversions(question: Question) -> dict[str, Conversion]:
    """Sound conversions by new type."""
    if not _is_plain_choice(question):
        return {}
    rules: dict[str, Conversion] = {TRUE_FALSE: _to_true_false}
    if question.question_type == CHOICE and _asks_for_a_value(question):
        rules[FILL] = _to_fill
    return dict(sorted(rules.items()))


def in_type(source: Question, question_type: str, /, **changes: Any) -> Question:
    """Changes the type and removes fields of the old one."""
    gone: Mapping[str, Any] = {"question_type_raw": question_type, "solution": None, "solution_images": []}
    gone = {**gone, "part_units": [], "options": [], "answer_images": [], "variables": [], "reasoning_flow": []}
    points = {} if source.points is None else {"part_points": [source.points]}
    return source.model_copy(update={**gone, **points, "question_type": question_type, **changes})


def plain(text: str) -> str:
    """Normalises an option for comparison."""
    return re.sub(r"[\s$]+", "", unicodedata.normalize("NFKC", text)).rstrip(".。;；,，").casefold()


def _is_plain_choice(question: Question) -> bool:
    labels = [option.label for option in question.options]
    key = "".join(question.answer)
    several = question.question_type == "multiple_choice"
    texts = [option.text for option in question.options]
    return (
        question.question_type in CHOICE_TYPES
        and question.language in _TRUTH
        and len(question.answer) == 1
        and len(set(labels)) == len(labels) >= 2
        and bool(key)
        and set(key) <= set(labels)
        and not {"T", "F"} & set(labels)  # read as true and false
        and (len(key) >= 1 if several else len(key) == 1)
        and all(0 < len(text) <= _LONGEST and plain(text) for text in texts)
        and not any(re.fullmatch(r"[a-j]", plain(text)) or _OTHERS.search(text) for text in texts)
        and len(set(map(plain, texts))) == len(texts)
        and not _BY_RANK.search(question.question)
        and not _ABOUT_OPTIONS.search(question.question)
        and len(_BLANK.findall(question.question)) <= 1
        and question.question.count(IMAGE_MARK) + sum(text.count(IMAGE_MARK) for text in texts) == len(question.images)
    )


def _asks_for_a_value(question: Question) -> bool:
    texts = [option.text.strip() for option in question.options]
    stem = without_marks(question.question)
    before = stem[: blank.start()] if (blank := _BLANK.search(stem)) else stem
    return (
        bool(_ASKS.search(before))
        and not _OF_THOSE.search(stem)
        and all((_MATHS.fullmatch(text) and not _RELATION.search(text)) or _VALUE.fullmatch(text) for text in texts)
    )


def _to_fill(question: Question, random: Random) -> Question:
    (right,) = (option for option in question.options if option.label == question.answer[0])
    stem = question.question
    if _BLANK.search(stem):
        stem = _BLANK.sub("____", stem)
    else:
        stem = _END_BLANK.sub("", stem) + " ____" + _TRUTH[question.language][2]
    return in_type(question, FILL, question=stem, answer=[right.text.strip()])


def _to_true_false(question: Question, random: Random) -> Question:
    key = question.answer[0]
    # Draw true or false evenly, then a matching option.
    right = [option for option in question.options if option.label in key]
    wrong = [option for option in question.options if option.label not in key]
    truth = random.random() < 0.5 or not wrong
    option = random.choice(right if truth else wrong)
    forms = _ONE if question.question_type == CHOICE else _AMONG
    text = forms[question.language].format(stem=question.question.strip(), option=option.text.strip())
    key_text = _TRUTH[question.language][0 if truth else 1]
    return in_type(question, TRUE_FALSE, question=text, answer=[key_text], images=_shown(question, option))


def _shown(question: Question, option: Option) -> list[Any]:
    place = question.question.count(IMAGE_MARK)
    shown = list(question.images[:place])
    for candidate in question.options:
        count = candidate.text.count(IMAGE_MARK)
        if candidate == option:
            shown += question.images[place : place + count]
        place += count
    return shown
