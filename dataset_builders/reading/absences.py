"""Missing parts of a question: a picture, its passage, or the option that is its key.

Contract: only plain references count: a picture placeholder written into the text, and words for a passage in a
question without pictures that is too short to hold one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from livek12.core.languages import HAN, HANGUL
from livek12.core.question_types import CHOICE_TYPES
from livek12.core.records import Question
from livek12.core.text import squeezed
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
    """The missing parts of a question, one phrase each."""
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
    """True if a text refers to a passage, or to marked places in one, and is too short to hold it."""
    if not _may_refer(text) or sum(1 for _ in islice(_UNIT.finditer(text), SHORTEST)) == SHORTEST:
        return False
    lines = text.strip().split("\n")
    others = [line for line in lines if not _PASSAGE.search(line)]
    if len(others) < len(lines):
        return max((len(squeezed(line)) for line in others), default=0) < _LEAST
    labels = _LABEL.findall(text)
    return len(lines) == 1 and bool(labels) and len(labels) == len({*labels})
