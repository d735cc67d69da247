"""Detects the language of rows that state none.

Contract: Hangul, Chinese characters or English sentences decide; an unclear row takes the language of most rows of its
file (`vote`). A row in another script, with the accents of another language, or without signs of its language in a file
of such rows is refused: the user must name the language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from livek12.core.languages import KANA, codes, languages, letters_in, listed, written_in
from livek12.core.records import Language
from livek12.dataset_builders.base import BadRow
from livek12.dataset_builders.reading.text import mask_formulas

VOTERS: Final = 64
"""Rows at the beginning of a file that determine its language."""
OTHER: Final = "other"
_KANA = re.compile(f"[{KANA}]")
_COMMAND = re.compile(r"\\[A-Za-z]+|<[^<>]{0,200}>|!\[[^\[\]]{0,200}\]\([^()\s]{0,500}\)")
_WORD = re.compile(r"[^\W\d_]{2,}")
_ACCENTED = re.compile(r"[\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f\u1e00-\u1eff]")
_PATH = re.compile(r"\S{1,300}\.\w{2,4}|\S{200,}")
_ENGLISH = frozenset(
    "the are and which what with for that this if from by how find be when then than each given does its these there"
    " calculate determine compute evaluate simplify solve prove show write number value following let".split()
)
"""Frequent English words of exams that other languages lack; German and Dutch share "is", "in" and "of"."""
_FEWEST_ACCENTS, _ACCENTS, _KANAS = 3, 0.2, 0.25
"""Accented words, their share of all words, and the share of kana that our languages do not reach."""
_ENGLISH_SHARE, _FOREIGN_SHARE, _FEWEST_WORDS = 0.08, 0.04, 8
"""The share of `_ENGLISH` in an English sentence, and the share below which as many words are not English prose."""
_LOOKED_AT = 1000
"""Characters of a text whose words are counted."""
_FEWEST_FOREIGN = 3
"""Rows without a sign of any language that are no evidence by themselves."""
_FEWEST_IN_A_FILE = 20
"""Words in a file, none of them English, that make it a file in another language."""


@dataclass(frozen=True)
class FileLanguage:
    """Language of a file's rows: a code, `OTHER`, or None if unclear; `given` if stated by the user."""

    language: str | None = None
    given: bool = False


NOT_TOLD: Final = FileLanguage()


def vote(texts: Iterable[str]) -> FileLanguage:
    """Language of a file by its first rows."""
    signs = [_signs(text) for text in texts]
    counts = Counter(sign.language for sign in signs if sign.language)
    foreign, silent = counts.pop(OTHER, 0), sum(sign.has_foreign_words for sign in signs)
    if foreign + silent > counts.total() and (foreign or silent >= _FEWEST_FOREIGN):
        return FileLanguage(OTHER)
    if not counts and sum(sign.words for sign in signs) >= _FEWEST_IN_A_FILE:
        return FileLanguage(OTHER)
    return FileLanguage(counts.most_common(1)[0][0]) if counts else NOT_TOLD


def written_language(text: str, file: FileLanguage, default: Language) -> Language:
    """Language of a row that states none; BadRow if it is unsupported.

    `default` is for a row and a file that both show no language.
    """
    signs = _Signs(file.language) if file.given else _signs(text)
    language, why = signs.language, signs.why
    if language == OTHER and any(row.letters and row.code == file.language for row in languages()):
        language = file.language  # a question of an exam in a foreign language, as the other rows tell
    elif language is None:
        language, why = file.language or signs.fallback, "as most rows of its file are"
    if language == OTHER:
        raise BadRow(
            f"it is written in another language than {listed(codes(), 'and')} ({why}): give it a `language`, or name"
            " the one that it counts as with --language"
        )
    return language or default


def asked_text(data: Mapping[str, Any], *keys: str) -> str:
    """All texts in some members of a row, however nested, without paths and encoded data."""
    return "\n".join(text for key in keys for text in _texts_in(data.get(key)) if not _PATH.fullmatch(text))


def _texts_in(value: object) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for member in value.values():
            yield from _texts_in(member)
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _texts_in(member)


class _Signs(NamedTuple):
    """Of a text's language; `words` are those in a Latin script, if its language is unclear."""

    language: str | None = None
    why: str = ""
    fallback: str | None = None
    has_foreign_words: bool = False
    words: int = 0


def _signs(text: str) -> _Signs:
    text = text if text.isascii() else unicodedata.normalize("NFC", text)
    letters, kana = letters_in(text), 0 if text.isascii() else len(_KANA.findall(text))
    language, count = written_in(letters), letters.total()
    if kana and language in (None, "zh") and kana >= _KANAS * (kana + count):
        return _Signs(OTHER, "in Japanese letters")
    if count * 5 > len(text):
        return _Signs(language)
    words = list(filter(str.isalpha, _WORD.findall(_COMMAND.sub(" ", mask_formulas(text[:_LOOKED_AT])))))
    english = sum(word.lower() in _ENGLISH for word in words)
    if count:
        return _Signs(None, fallback=language) if english > count else _Signs(language)
    if not text.isascii():
        scripts = Counter(script for word in words if (script := _script(word)) != "Latin")
        if scripts.total() * 2 > len(words):
            return _Signs(OTHER, f"in {scripts.most_common(1)[0][0]} letters")
        accented = [word for word in words if _ACCENTED.search(word)]
        no_name = not english and len(words) >= _FEWEST_WORDS and any(word.islower() for word in accented)
        if no_name or (len(accented) >= _FEWEST_ACCENTS and len(accented) >= _ACCENTS * len(words)):
            return _Signs(OTHER, f"with accents, as in {', '.join(accented[:2])}")
    if english and english >= _ENGLISH_SHARE * len(words):
        return _Signs("en")
    has_foreign_words = len(words) >= _FEWEST_WORDS and english < _FOREIGN_SHARE * len(words)
    return _Signs(has_foreign_words=has_foreign_words, words=0 if english else len(words))


def _script(word: str) -> str:
    return "Latin" if word[0] < "\u0250" else unicodedata.name(word[0], "unknown").split()[0].capitalize()
