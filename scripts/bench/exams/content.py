"""Content of exam questions without layout, and the words of papers by language (`words.yaml`).

Text has LaTeX between dollar signs. A template fills `<name>` with seeded values. All sentences are our own.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

import yaml

Language = Literal["en", "zh", "ko"]
Kind = Literal["choice", "blank", "free"]
Values = Mapping[str, object]
Words = Mapping[str, Any]
"""Words of a template in one language (`words.yaml`)."""
MOST = 5
"""Options that each question has; a layout prints as many of them as its exam has."""
_PLACE = re.compile(r"<([a-z]\w*)>")
_SIGN = re.compile(r"\+\s*-")


@dataclass(frozen=True)
class ItemPart:
    """One part of a free-response question, with its marks."""

    text: str
    answer: str
    points: int


@dataclass(frozen=True)
class PaperItem:
    """One question.

    Attributes:
        options: texts in printed order; empty without a choice.
        answer: index of the right option, or the value of the blank; "" where only the parts have answers.
    """

    stem: str
    kind: Kind = "choice"
    options: tuple[str, ...] = ()
    answer: int | str = ""
    parts: tuple[ItemPart, ...] = ()
    figure: str = ""
    table: tuple[tuple[str, ...], ...] = ()
    alternative: str = ""

    def with_options(self, count: int) -> PaperItem:
        """The same question with `count` options, the right one among them."""
        if self.kind != "choice" or len(self.options) <= count:
            return self
        right = self.options[int(self.answer)]
        left = [option for option in self.options if option != right][: count - 1]
        options = tuple(option for option in self.options if option == right or option in left)
        return replace(self, options=options, answer=options.index(right))


Template = Callable[[random.Random, Words], PaperItem]
"""Draws a question."""


@dataclass(frozen=True)
class Passage:
    """A text that several questions share; `table` repeats it as rows of cells."""

    text: str
    items: tuple[PaperItem, ...] = field(default=())
    table: tuple[tuple[str, ...], ...] = ()


@dataclass
class AskedItem:
    """A question of the paper."""

    mark: str
    number: str
    section: str
    item: PaperItem
    labels: tuple[str, ...]
    parts: tuple[str, ...] = ()
    points: float | None = None
    passage: str = ""

    @property
    def answer(self) -> str:
        """The option's label or the value; "" where a key prints none."""
        if self.item.kind == "choice":
            return self.labels[int(self.item.answer)]
        return str(self.item.answer) if self.item.kind == "blank" else ""


def filled(text: str, values: Values) -> str:
    """A sentence with its values, `+ -3` written `- 3`."""
    sentence = _PLACE.sub(lambda match: str(values[match[1]]) if match[1] in values else match[0], text)
    return _SIGN.sub("- ", sentence)


def choice(
    draw: random.Random, stem: str, right: object, wrong: Sequence[object], *, figure: str = "",
    table: Sequence[Sequence[str]] = (), keep_order: bool = False,
) -> PaperItem:  # fmt: skip
    """A question with one right option among `MOST`, shuffled or (`keep_order`) rising."""
    others = list(dict.fromkeys(str(distractor) for distractor in wrong if str(distractor) != str(right)))[: MOST - 1]
    while len(others) < MOST - 1:
        others.append(_another(str(right), others, draw))
    options = [str(right), *others]
    if keep_order:
        options.sort(key=float)
    else:
        draw.shuffle(options)
    rows = tuple(tuple(row) for row in table)
    return PaperItem(stem, "choice", tuple(options), options.index(str(right)), figure=figure, table=rows)


def _another(right: str, taken: Sequence[str], draw: random.Random) -> str:
    if not re.search(r"\d", right):
        raise ValueError(f"too few wrong options beside {right!r}")
    while True:
        made = re.sub(r"\d+", lambda digits: str(int(digits[0]) + draw.randint(1, 9)), right, count=1)
        if made not in taken and made != right:
            return made


_WORDS: Final[dict[str, dict[str, Any]]] = yaml.safe_load(Path(__file__).with_name("words.yaml").read_text("utf-8"))
_PAPER: Final = _WORDS["paper"]
GAPPED: Final = _WORDS["gapped"]
TITLES, SUBJECTS, INSTRUCTIONS = (_PAPER[each] for each in ("titles", "subjects", "instructions"))
INSTRUCTIONS_TITLE, HEADS, FEET = (_PAPER[each] for each in ("instructions_title", "heads", "feet"))
KINDS, KEY_TITLES, KEY_HEADS = (_PAPER[each] for each in ("kinds", "key_titles", "key_heads"))
FORMS, SHEET, HIDDEN = (_PAPER[each] for each in ("forms", "sheet", "hidden"))
SEALED: Final = "学校：____  班级：____  姓名：____  ………密………封………线………内………不………要………答………题………"
_CHINESE_NUMBERS: Final = "一二三四五六七八"


def words_of(template: str, language: Language) -> Words:
    """Words of a template, and those that templates share."""
    return {name: texts[language] for name, texts in (_WORDS["shared"] | _WORDS.get(template, {})).items()}


def section_title(
    language: Language,
    index: int,
    kind: str,
    count: int,
    points: int,
    total: int,
    counts: bool,
    bilingual: bool = False,
) -> str:
    """Title of a section."""
    name = KINDS[language][kind] + (f" {KINDS['en'][kind]}" if bilingual else "")
    if language == "en":
        title = f"Section {'I' * (index + 1)}: {name}"
        each = f", {points} mark{'s' if points > 1 else ''} each, {total} in total" if points else ""
        more = f" ({count} Questions{each})"
    elif language == "zh":
        title = f"{_CHINESE_NUMBERS[index]}、{name}"
        each = f"每小题{points}分，" if points else ""
        tail = "在每小题给出的四个选项中，只有一项是符合题目要求的。" if kind == "choice" else ""
        more = f"：本题共{count}小题，{each}{f'共{total}分' if total else ''}。{tail}".replace("，。", "。")
    else:
        title, more = f"{name} 문항", f" (총 {count} 문항{f', 각 {points}점' if points else ''})"
    return title + (more if counts else "")
