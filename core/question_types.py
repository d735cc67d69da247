"""Question types: one row each, with its names in sources and its behaviour.

A registered type is treated like those below, in this process; workers need the same registration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Annotated, Final, Literal

from livek12.core.languages import HANGUL, name_in
from livek12.core.scripts import simplified

CHOICE, FREE = "choice", "free"


@dataclass(frozen=True)
class TypeRow:
    """One question type.

    Attributes:
        names: in sources, in lower case, letters only. A Korean name is matched within a longer one (객관식(단일정답),
            주관식(단답형 수치)), particular ones first.
        answer: an answer is option labels, a truth value, values, or a text that must be read.
        several: the key may hold several labels.
        blanks: the question prints blanks, one for each value.
        by_key: settled by the key (letters, or none) where the source does not.
        labels: its name on the site by language, if not `name`.
    """

    name: str
    names: str = ""
    answer: Literal["labels", "truth", "values", "text"] = "values"
    several: bool = False
    blanks: bool = False
    by_key: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)


_TYPES: Final[dict[str, TypeRow]] = {}
_CHOICES: Final[set[str]] = set()
_READ: Final[set[str]] = set()
CHOICE_TYPES: Final[Set[str]] = _CHOICES
"""Types whose answers are option labels, as registered so far."""
READER_TYPES: Final[Set[str]] = _READ
"""Types that are marked by reading the whole response."""
_LOOSE_NAMES = {
    CHOICE: "选择题 multiplechoice choice mcq mcqs 객관식 선다형 선택형",
    FREE: "解答题 计算题 实验题 综合题 简答题 问答题 应用题 分析题 作图题 混合题 非选择题"
    " freeresponse problemsolving solution calculation shortanswer openended",
}
"""Names that leave the type to the key: one or several letters; short or open."""


def register(row: TypeRow) -> TypeRow:
    """Adds a type, or replaces the one of its name."""
    _TYPES[row.name] = row
    for names, has in ((_CHOICES, row.answer == "labels"), (_READ, row.answer == "text")):
        names.discard(row.name)
        names.update([row.name] if has else [])
    kind_of.cache_clear()
    _source_names.cache_clear()
    return row


def type_of(name: str) -> TypeRow:
    """Row of a registered type."""
    return _TYPES[name]


def types() -> tuple[TypeRow, ...]:
    """All types."""
    return tuple(_TYPES.values())


def type_names() -> tuple[str, ...]:
    """Names of all types."""
    return tuple(_TYPES)


QuestionType = Annotated[str, name_in(_TYPES)]
"""The name of a registered type."""


@lru_cache(maxsize=1)
def _source_names() -> tuple[dict[str, str], list[str]]:
    names = {CHOICE: _LOOSE_NAMES[CHOICE], **{row.name: row.names for row in _TYPES.values()}, FREE: _LOOSE_NAMES[FREE]}
    by_name = {name: kind for kind, words in names.items() for name in words.split()}
    korean = (name for name in by_name if re.search(f"[{HANGUL}]", name))
    return by_name, sorted(korean, key=lambda name: name in ("객관식", "주관식"))


@lru_cache(maxsize=256)  # the rows of a source have few types between them
def kind_of(raw: str | None) -> str | None:
    """Canonical type, `CHOICE` or `FREE` (the key decides); None for an unknown name."""
    if raw in _TYPES:
        return raw
    name = re.sub(r"[\W_]+", "", re.sub(r"\bquestions?$", "", simplified(raw or "").lower().strip()))
    by_name, all_korean = _source_names()
    korean = (korean for korean in all_korean if korean in name)
    return by_name.get(name) or by_name.get(next(korean, ""))


def chinese_names() -> list[str]:
    """Chinese names of types in sources, the longest first."""
    return sorted((name for name in _source_names()[0] if name.endswith("题")), key=len, reverse=True)


def settle(kind: str, *, several: bool, has_key: bool) -> QuestionType:
    """Canonical type of a kind."""
    if kind == CHOICE:
        return "multiple_choice" if several else "single_choice"
    if kind == FREE:
        return "short_answer" if has_key else "open_ended"
    return kind


def keyless(raw: str | None, *, has_options: bool) -> tuple[QuestionType, str | None]:
    """Type of a question without its key.

    Of an own name settled by the key only the kind is used.
    """
    kind = kind_of(raw) or (CHOICE if has_options else FREE)
    row = _TYPES.get(raw or "")
    if row and row.by_key:
        kind, raw = CHOICE if row.answer == "labels" else FREE, None
    return settle(kind, several=False, has_key=False), raw


for _row in (
    TypeRow(
        "single_choice",
        "单选题 单项选择题 singlechoice singleanswerchoice singleselect multiplechoicesingleanswer"
        " 단일정답 단일선택 단답선택 하나선택",
        "labels",
        by_key=True,
        labels={"en": "single choice", "zh": "单选题", "ko": "단일 선택형"},
    ),
    TypeRow(
        "multiple_choice",
        "多选题 多项选择题 不定项选择题 multipleselect multiselect multipleanswerchoice"
        " multiplechoicemultipleanswers 복수정답 복수선택 다중정답 다중선택",
        "labels",
        several=True,
        by_key=True,
        labels={"en": "multiple choice", "zh": "多选题", "ko": "복수 선택형"},
    ),
    TypeRow(
        "fill_in_blank",
        "填空题 填充题 选填题 fillintheblank fillintheblanks fillinblank fillblank cloze 빈칸 괄호넣기",
        blanks=True,
        labels={"en": "fill in blank", "zh": "填空题", "ko": "빈칸 채우기"},
    ),
    TypeRow(
        "true_false",
        "判断题 是非题 truefalse trueorfalse judgment judgement 참거짓 진위형 ox",
        "truth",
        labels={"en": "true or false", "zh": "判断题", "ko": "참·거짓"},
    ),
    TypeRow(
        "short_answer",
        "단답형 단답식 주관식 계산형",
        by_key=True,
        labels={"en": "short answer", "zh": "简答题", "ko": "단답형"},
    ),
    TypeRow(
        "open_ended",
        "论述题 서술형 서술식 논술형 논술식",
        "text",
        by_key=True,
        labels={"en": "open-ended", "zh": "解答题", "ko": "서술형"},
    ),
    TypeRow("proof", "证明题 proof 증명", "text", labels={"en": "proof", "zh": "证明题", "ko": "증명"}),
):
    register(_row)
