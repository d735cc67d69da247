"""Checks of a question, in a source and again in a built dataset: contradictions and missing parts.

Contract: of missing parts (a picture, its passage, the option that is its key) only plain references count: a picture
placeholder written into the text, and words for a passage in a pictureless question too short to hold one.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from itertools import islice

from livek12.core.languages import HAN, HANGUL
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import IMAGE_MARK, Question
from livek12.core.text import squeezed
from livek12.dataset_builders.base import BadRow, Log
from livek12.dataset_builders.reading.marks import ABSENT, named_pictures

_PASSAGE = re.compile(
    r"윗\s?글|위\s?글|위의?\s(?:글|시|대화|자료|지문|작품)|이 (?:글|시)[를을에의]|지문"
    r"|글의 (?:내용|제목|주제|중심|목적|흐름|\()|(?:다음|아래)[^.?!\n]{0,14}(?:글|대화|시|지문|자료|작품)[을를]\s?읽고"
    r"|다음을 읽고|(?:다음|위)의?\s?(?:글|발표|대화|담화|강연|연설|인터뷰|기사|편지)(?:[의을를에은는이]|\s또는)"
    r"|阅读(?:下面|下列|以下|上面|上述|这|本)[^。？?\n]{0,10}(?:文字|材料|短文|文章|诗|词|选文|图文|文言文)"
    r"|(?:根据|依据|结合|联系)(?:上文|下文|原文|全文|短文|文章|文中|选文|上述材料|以上材料|材料)"
    r"|原文(?:意思|内容)|[上原选]文中"
    r"|\b(?:according to|based on|in|of|from) (?:the|this) (?:passage|text|article|extract|excerpt|story|poem|dialogue|"
    r"conversation|paragraph)\b"
    r"|\bread the (?:following )?(?:passage|text|article|extract|excerpt|story|poem|dialogue)\b"
    r"|\bthe (?:passage|article|excerpt) (?:above|below|is|suggests|implies|mainly|states)\b",
    re.IGNORECASE,
)
_WORDS = tuple(
    (re.compile(sign), tuple(words.split()))
    for sign, words in (
        (f"[{HANGUL}]", "글 시 발표 대화 담화 강연 연설 인터뷰 기사 편지 지문 읽고"),
        ("[文诗词材]", "阅读 根据 依据 结合 联系 原文 上文 选文"),
        ("the |thi", "passage text article extract excerpt story poem dialogue conversation paragraph"),
    )
)
"""Lower-case signs and words of each language that a text with a reference to a passage contains."""
_LABEL = re.compile(r"[\[(（㉠-㉩](?:(?<=\[)[A-E]\]|(?<=[㉠-㉩])|(?<=[(（])[가나다라마ㄱㄴㄷㄹㅁ][)）])")
_UNIT = re.compile(f"[{HAN}{HANGUL}]|[A-Za-z]+")
_LEAST = 15
"""Characters of a line next to a reference to a passage; such a line may be short."""
SHORTEST = 90
"""A text of fewer words or characters (Chinese, Korean) than this holds no passage besides its question."""


def absences(question: Question) -> Iterator[str]:
    """Missing parts of a question, one phrase each."""
    texts = "\n".join([question.question, *(option.text for option in question.options)])
    numbers, nameless = named_pictures(texts)
    if len(numbers) > len(question.images):
        yield f"it names {len(numbers)} pictures and has {len(question.images)}"
    elif nameless:
        yield f"its text has a place for a picture that it does not have ({ABSENT})"
    numbers_given = [key for key in question.answer if key.isdecimal()] if question.options else []
    if numbers_given and question.question_type in CHOICE_TYPES:
        labels = [option.label for option in question.options]
        texts_of = {squeezed(option.text) for option in question.options}
        astray = [key for key in numbers_given if key not in texts_of]
        if astray and all(label.isalpha() for label in labels):
            yield f"its key {astray[0]} is none of its options {', '.join(labels)}"
    if not question.images and refers_to_passage(question.question):
        yield "it refers to a passage that it does not have"


def _may_refer(text: str) -> bool:
    lowered = text.lower()
    for sign, words in _WORDS:
        if sign.search(lowered):
            for word in words:  # in half the time of `any`
                if word in lowered:
                    return True
    return bool(_LABEL.search(text))


def refers_to_passage(text: str) -> bool:
    """True if a text refers to a passage, or places in one, and is too short to hold it."""
    if not _may_refer(text) or sum(1 for _ in islice(_UNIT.finditer(text), SHORTEST)) == SHORTEST:
        return False
    lines = text.strip().split("\n")
    others = [line for line in lines if not _PASSAGE.search(line)]
    if len(others) < len(lines):
        return max((len(squeezed(line)) for line in others), default=0) < _LEAST
    labels = _LABEL.findall(text)
    return len(lines) == 1 and bool(labels) and len(labels) == len({*labels})


_LARGEST = 99_999
_LONGEST_ID, _LONGEST_TEXT = 200, 1_000_000
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f]")
"""Control characters that no text has: the original character is lost."""
_CONTROL_BYTES = bytes(code for code in range(128) if _CONTROLS.match(chr(code)))


def sound(question: Question, where: str, log: Log) -> Question:
    """Question as kept; BadRow if `problems` finds an error that would spoil the dataset.

    Points and units of parts that do not match the number of answers are emptied and logged.
    """
    _check_bounds(question)
    answers = len(question.answer)
    for name, parts in (("part_points", question.part_points), ("part_units", question.part_units)):
        if parts and answers and len(parts) != answers:
            log.note(where, question.id, f"{name} has {len(parts)} entries for {answers} answers: left empty")
            question = question.model_copy(update={name: []})
    if problem := next(problems(question), None):
        raise BadRow(problem)
    return question


def _check_bounds(question: Question) -> None:
    if not question.id.isprintable() or len(question.id) > _LONGEST_ID:
        raise BadRow(f"its id is longer than {_LONGEST_ID} characters, or holds some that cannot be printed")
    if abs(question.year or 0) > _LARGEST or not all(0 < page <= _LARGEST for page in question.page_numbers):
        raise BadRow("year or page_numbers is out of range")
    if not all(0 <= points <= _LARGEST for points in question.part_points):  # neither is nan
        raise BadRow("part_points holds what is not a number of points")
    texts = [question.question, *(option.text for option in question.options), *question.answer]
    if sum(map(len, [*texts, question.solution or ""])) > _LONGEST_TEXT:
        raise BadRow(f"its text has more than {_LONGEST_TEXT} characters")
    joined = "\n".join(texts).encode(errors="surrogatepass")
    if len(joined.translate(None, _CONTROL_BYTES)) < len(joined):
        damage = next(filter(None, map(_CONTROLS.search, texts)))
        raise BadRow(f"its text or key holds the control character U+{ord(damage[0]):04X}, so part of it is lost")


def problems(question: Question, image_only: bool = False) -> Iterator[str]:
    """Contradictions, one phrase each; `image_only` questions are stored without figures."""
    if not question.id.strip():
        yield "it has no id"
    texts = [question.question, *(option.text for option in question.options)]
    marks = sum(text.count(IMAGE_MARK) for text in texts)
    if image_only and question.images:
        yield f"it has {len(question.images)} images, which its pages show"
    elif marks != len(question.images) and not image_only:
        yield f"{marks} image marks for {len(question.images)} images"
    labels = [option.label for option in question.options]
    if len({*labels}) < len(labels):
        for label, count in Counter(labels).items():
            if count > 1:
                yield f"{count} options are labelled {label!r}"
    if labels and question.question_type in CHOICE_TYPES:
        yield from (f"answer {entry!r} names no option" for entry in question.answer if _names_none(entry, labels))
    if not all(0 <= points < math.inf for points in (question.points or 0, *question.part_points)):
        yield "points or part_points holds what is not a number of points"
    for name, parts in (("part_points", question.part_points), ("part_units", question.part_units)):
        if parts and question.answer and len(parts) != len(question.answer):
            yield f"{name} has {len(parts)} entries for {len(question.answer)} answers"


def _names_none(entry: str, labels: Collection[str]) -> bool:
    if entry in labels:
        return False
    joined = "".join(labels)
    for kind in ("[A-Z]+", "[0-9]+"):
        if re.fullmatch(kind, joined) and re.fullmatch(kind, entry):
            return not set(entry) <= set(labels)
    return False
