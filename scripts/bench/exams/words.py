"""Words of papers by language (`words.yaml`): around the questions, and of each template."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from livek12.scripts.bench.exams.content import Language, Words

_WORDS: Final[dict[str, dict[str, Any]]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8"))
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
