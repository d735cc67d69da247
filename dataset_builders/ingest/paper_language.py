"""The language of a paper, and whether the rules know it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from typing import Final

from livek12.core.languages import languages, letters_in, listed
from livek12.core.records import Language
from livek12.dataset_builders.ingest.questions.stream import Stream

_SCRIPTS: Final = re.compile(r"LATIN|CJK|HANGUL|GREEK|MATHEMATICAL|FULLWIDTH|IDEOGRAPHIC|SUPERSCRIPT|SUBSCRIPT|CIRCLED")
_FOREIGN, _FEWEST_LETTERS = 0.1, 200
"""Share of letters of other scripts, in a text of so many letters at least."""
_ENGLISH: Final = frozenset(
    "the of and to in is for are be with or by if that this an on as at from which what".split()
)
_LATIN: Final = 0.85
"""Share of Latin letters above which a text is in a language of them: code may have more than half."""
_FEWEST_ENGLISH, _FEWEST_LATIN = 0.06, 100
"""Share of these words in English, in so many Latin words at least: papers have 0.2 and more, of code too."""


def unknown_language(stream: Stream) -> str:
    """A line on the script or language of a paper that no rules know; "" if they do."""
    text = " ".join(re.sub(r"\$[^$]*\$", "", item.text) for item in stream.items)
    letters = [sign for sign in text if sign.isalpha()]
    own = re.compile("|".join(f"[{row.letters}]" for row in languages() if row.letters))
    others = Counter(unicodedata.name(sign, "").split(" ")[0] for sign in letters if not own.match(sign))
    foreign = {name: many for name, many in others.items() if name and not _SCRIPTS.match(name)}
    words = [word.lower() for word in re.findall(r"[A-Za-zÀ-ɏ]{2,}", text)]
    script = ""
    if len(letters) >= _FEWEST_LETTERS and sum(foreign.values()) > _FOREIGN * len(letters):
        script = f"script without rules here ({max(foreign, key=foreign.__getitem__).lower()})"
    elif len(words) >= _FEWEST_LATIN and others["LATIN"] > _LATIN * len(letters):
        english = sum(word in _ENGLISH for word in words) > _FEWEST_ENGLISH * len(words)
        script = "" if english else "language without rules here (Latin letters, not English)"
    names_here = listed((row.labels["en"] for row in languages()), "and")
    return script and f"its text is in a {script}: the rules know {names_here}"


def language_in(stream: Stream) -> Language:
    """The language of a paper, by its letters."""
    text = "".join(item.text for item in stream.items)
    letters = letters_in(text)
    rows = (row for row in reversed(languages()) if letters[row.code] > max(2, len(text) // row.in_paper))
    return next((row.code for row in rows), "en")
