"""Languages: one row each.

Contract: registered before the first task is asked, in each process. Words for one purpose are tables by code there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pydantic import BeforeValidator
from pydantic_core import PydanticKnownError

HAN, HANGUL, KANA = "一-鿿", "가-힣", "ぁ-ゖァ-ヺ"
IDEOGRAPHS = "㐀-鿿"
"""Ranges of characters; `HAN` are the usual `IDEOGRAPHS`."""


@dataclass(frozen=True)
class LanguageRow:
    """One language.

    Attributes:
        labels: its name in languages of the site.
        names: further names in sources, in lower case.
        letters: range of its letters; none if words tell.
        scripts: tesseract's names; without, no scans are read by rule.
        in_paper: characters of a paper for each letter of it.
        numbered: ①, ②, … label options, not statements.
        short: open questions ask for values unless they say "write".
        ask: characters at the end that state a question.
        prompts: folder with BENCHMARK/CODE[.STYLE].txt, if not the tasks'.
        words: of the site, as in `words.json`.
    """

    code: str
    labels: Mapping[str, str]
    names: str = ""
    letters: str = ""
    template: str = ""
    rapid: str = ""
    scripts: str = ""
    in_paper: int = 20
    numbered: bool = False
    short: bool = False
    word: int = 3
    ask: int = 60
    prompts: Path | None = None
    words: Mapping[str, str] = field(default_factory=dict)


_ROWS: Final[dict[str, LanguageRow]] = {}


def register(row: LanguageRow) -> LanguageRow:
    """Adds a language, or replaces the one of its code."""
    _ROWS[row.code] = row
    return row


def languages() -> tuple[LanguageRow, ...]:
    """All languages."""
    return tuple(_ROWS.values())


def codes() -> tuple[str, ...]:
    """All codes."""
    return tuple(_ROWS)


def language_of(code: str) -> LanguageRow:
    """Row of a code."""
    return _ROWS[code]


def by_name() -> dict[str, str]:
    """Codes by source names."""
    rows = languages()
    return {name.lower(): row.code for row in rows for name in (row.code, *row.labels.values(), *row.names.split())}


def listed(names: Iterable[str], word: str = "or") -> str:
    """Names in a sentence."""
    *others, last = names
    return f"{', '.join(others)} {word} {last}"


def name_in(register: Mapping[str, Any]) -> BeforeValidator:
    """Validator of the names in a register."""

    def check(name: Any) -> Any:
        if isinstance(name, str) and name in register:
            return name
        raise PydanticKnownError("literal_error", {"expected": listed(map(repr, register))})

    return BeforeValidator(check)


registered = name_in(_ROWS)


def letters_in(text: str) -> Counter[str]:
    """Letters of each language."""
    rows = () if text.isascii() else languages()
    return Counter({row.code: len(re.findall(f"[{row.letters}]", text)) for row in rows if row.letters})


def written_in(letters: Counter[str]) -> str | None:
    """Language of letters; a later row is more particular (Japanese has Han too)."""
    return next((row.code for row in reversed(languages()) if letters[row.code]), None)


for _row in (
    LanguageRow(
        "zh", {"en": "Chinese", "zh": "中文", "ko": "중국어"}, "cn", HAN, "gaokao", "ch", "Han Japanese", ask=40
    ),
    LanguageRow("en", {"en": "English", "zh": "英文", "ko": "영어"}, "", "", "english", "en", "Latin", word=5, ask=120),
    LanguageRow(
        "ko",
        {"en": "Korean", "zh": "韩文", "ko": "한국어"},
        "kr",
        HANGUL,
        "csat",
        "korean",
        "Hangul Korean",
        in_paper=50,
        numbered=True,
        short=True,
    ),
):
    register(_row)
