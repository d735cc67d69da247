"""Question types: names in Chinese, English and Korean, and their canonical types.

`kind_of` gives a canonical type, `CHOICE` (one or several letters: the key decides) or `FREE` (short or open: the
presence of a key decides), None for unknown names; `settle` makes a canonical type of a kind, `keyless` one without
knowledge of the key.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import cast, get_args

from livek12.core.records import CHOICE_TYPES, QuestionType

CHOICE, FREE = "choice", "free"
_FREE_TYPES = ("short_answer", "open_ended")
_NAMES = {
    CHOICE: "选择题 multiplechoice choice mcq mcqs 객관식 선다형 선택형",
    "single_choice": "单选题 单项选择题 singlechoice singleanswerchoice singleselect multiplechoicesingleanswer"
    " 단일정답 단일선택 단답선택 하나선택",
    "multiple_choice": "多选题 多项选择题 不定项选择题 multipleselect multiselect multipleanswerchoice"
    " multiplechoicemultipleanswers 복수정답 복수선택 다중정답 다중선택",
    "fill_in_blank": "填空题 fillintheblank fillintheblanks fillinblank fillblank cloze 빈칸 괄호넣기",
    "true_false": "判断题 truefalse trueorfalse judgment judgement 참거짓 진위형 ox",
    "short_answer": "단답형 단답식 주관식 계산형",
    "open_ended": "서술형 서술식 논술형 논술식",
    "proof": "证明题 proof 증명",
    FREE: "解答题 计算题 实验题 综合题 简答题 非选择题 freeresponse problemsolving solution calculation"
    " shortanswer openended",
}
"""Names in lower case, letters only. A Korean name is found inside a longer one (객관식(단일정답),
주관식(단답형 수치)), the particular ones first."""
_BY_NAME = {name: kind for kind, names in _NAMES.items() for name in names.split()}
_KOREAN = sorted(
    (name for name in _BY_NAME if re.search(r"[가-힣]", name)), key=lambda name: name in ("객관식", "주관식")
)


@lru_cache(maxsize=256)  # the rows of a source have few types between them
def kind_of(raw: str | None) -> str | None:
    """The kind of a type's name."""
    if raw in get_args(QuestionType):
        return raw
    name = re.sub(r"[\W_]+", "", re.sub(r"\bquestions?$", "", (raw or "").lower().strip()))
    korean = (korean for korean in _KOREAN if korean in name)
    return _BY_NAME.get(name) or _BY_NAME.get(next(korean, ""))


def settle(kind: str, *, several: bool, has_key: bool) -> QuestionType:
    """The canonical type of a kind."""
    if kind == CHOICE:
        return "multiple_choice" if several else "single_choice"
    if kind == FREE:
        return "short_answer" if has_key else "open_ended"
    return cast(QuestionType, kind)


def keyless(raw: str | None, *, has_options: bool) -> tuple[QuestionType, str | None]:
    """The type of a question, and its name, without its key.

    An own name that depends on the key may have been settled by it, so only its kind is used.
    """
    kind = kind_of(raw) or (CHOICE if has_options else FREE)
    if raw in CHOICE_TYPES:
        kind, raw = CHOICE, None
    elif raw in _FREE_TYPES:
        kind, raw = FREE, None
    return settle(kind, several=False, has_key=False), raw
