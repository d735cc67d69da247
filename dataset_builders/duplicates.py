"""Finds questions that are the same question again: near-duplicates by MinHash over normalised texts.

Contract: two questions are compared in one language only (a translation is no duplicate), by what a candidate reads:
stem and options, without numbering, typesetting and punctuation, whatever the order of the options. They are near
each other where at least `THRESHOLD` of their character shingles are shared, all numbers taken for one (Jaccard,
computed exactly for the pairs that MinHash proposes). A near pair is a *duplicate*, unless something tells it apart,
which makes it a *variant*: its numbers differ (the same stem with other numbers has another key); it asks something
else (the end of the stem, or the options, have less than half in common: another question on the same passage); the
texts differ and so does the right option; or its text is so short that the figures carry the question, and no figure
is shared. A variant is worth a person's look and no more.

MinHash and its banding are 40 lines over numpy here: a library for them would bring scipy into the core.
"""

from __future__ import annotations

import io
import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from livek12.core.records import IMAGE_MARK, Benchmark, Image, Language, Question
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.pictures import MAX_PIXELS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

THRESHOLD = 0.75
SHINGLE: dict[Language, int] = {"zh": 3, "ko": 3, "en": 5}
"""Characters a shingle: about a word."""
ENDING: dict[Language, int] = {"zh": 40, "ko": 60, "en": 120}
"""Characters at the end of a stem in which it says what is asked."""
SAME_ASK = 0.5
"""Share of the shingles of the ending, and of the options, that questions asking the same thing have in common."""
SHORT = 40
"""A normalised text of fewer characters may say no more than "see the figure": the figures decide."""
SAME_FIGURE_BITS = 10
"""Two figures are the same where at most so many of 64 bits of their difference hashes differ."""
BANDS, ROWS = 24, 5
"""MinHash bands: a pair at the threshold is missed with probability (1 - 0.75^5)^24 = 0.15 %."""
_BREAK = "\0"
_LEAD = re.compile(
    r"\s*(?:第?\s*\d{1,3}\s*[.．、:：)）题번](?!\d)|[(（【\[][^)）】\]]{0,40}(?:分|年|卷|점|points?|marks?)[^)）】\]]{0,40}[)）】\]])\s*"
)
_TYPESETTING = re.compile(
    r"\\(?:left|right|mathrm|mathbf|text(?:bf|it|rm)?|rm|displaystyle|quad|qquad|underline|dfrac|tfrac|hspace|vspace)\b"
    r"|\\[,;!: ]|\\n|&nbsp;|<[^<>]{1,40}>"
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_MINUS = str.maketrans({"−": "-", "–": "-", "—": "-"})


@dataclass(frozen=True)
class Stem:
    """What of a question is compared.

    Attributes:
        id: the question's id.
        text: stem and options, normalised, with a break between them.
        numbers: every number in them, sorted.
        key: the right options, normalised; empty where it is no choice, or its key is unknown.
        shown: the question as a person recognises it, on one line.
        figures: difference hashes of the figures, where the text is short.
    """

    id: str
    benchmark: Benchmark
    language: Language
    release: str | None
    text: str
    numbers: tuple[str, ...]
    key: frozenset[str]
    shown: str
    figures: tuple[int, ...] = ()

    @property
    def short(self) -> bool:
        """Whether the figures decide."""
        return len(self.text) < SHORT


@dataclass(frozen=True)
class Match:
    """A question that is near another one; `difference` says what makes it a variant, and is empty for a duplicate."""

    other: Stem
    similarity: float
    difference: str


def stem(question: Question) -> Stem:
    """What of a question is compared with others."""
    parts = [question.question, *sorted(option.text for option in question.options)]
    plain = [_plain(part) for part in parts]
    text = _BREAK.join("".join(filter(str.isalnum, part)) for part in plain)
    numbers = tuple(sorted(number for part in plain for number in _NUMBER.findall(part)))
    shown = " ".join([question.question, *(f"{o.label}. {o.text}" for o in question.options)])
    found = Stem(
        id=question.id,
        benchmark=question.benchmark,
        language=question.language,
        release=question.release,
        text=text,
        numbers=numbers,
        key=_key(question),
        shown=one_line(shown[:300], 100),
    )
    if not found.short:
        return found
    return replace(found, figures=tuple(hash for image in question.images if (hash := _figure(image)) is not None))


class DuplicateIndex:
    """The questions that others are compared with; a text is held once."""

    def __init__(self, stems: Iterable[Stem]) -> None:
        texts: dict[Language, dict[str, list[Stem]]] = {}
        for entry in stems:
            texts.setdefault(entry.language, {}).setdefault(_masked(entry.text), []).append(entry)
        self._indexes = {language: _Index(language, groups) for language, groups in texts.items()}

    def matches(self, asked: Stem) -> list[Match]:
        """The questions near this one, itself left out: duplicates first, then by similarity."""
        index = self._indexes.get(asked.language)
        if index is None:
            return []
        found = [
            Match(other, similarity, _difference(asked, other))
            for similarity, group in index.near(_masked(asked.text))
            for other in group
            if (other.benchmark, other.id) != (asked.benchmark, asked.id)
        ]
        return sorted(found, key=lambda match: (bool(match.difference), -match.similarity, match.other.id))


class _Index:
    """Texts of one language by the bands of their MinHash signatures."""

    def __init__(self, language: Language, groups: dict[str, list[Stem]]) -> None:
        import numpy as np

        self._size = SHINGLE[language]
        self._groups = list(groups.values())
        self._texts = list(groups)
        bands = np.stack([_bands(shingles(text, self._size)) for text in self._texts], axis=1)
        self._order = np.argsort(bands, axis=1, kind="stable").astype(np.uint32)
        self._sorted = np.take_along_axis(bands, self._order, axis=1)

    def near(self, text: str) -> Iterator[tuple[float, list[Stem]]]:
        own = shingles(text, self._size)
        for candidate in sorted(self._candidates(_bands(own))):
            similarity = _jaccard(own, shingles(self._texts[candidate], self._size))
            if similarity >= THRESHOLD:
                yield similarity, self._groups[candidate]

    def _candidates(self, bands: NDArray[np.uint64]) -> set[int]:
        import numpy as np

        found: set[int] = set()
        for ordered, order, band in zip(self._sorted, self._order, bands, strict=True):
            start = int(np.searchsorted(ordered, band))
            while start < len(ordered) and ordered[start] == band:
                found.add(int(order[start]))
                start += 1
        return found


def shingles(text: str, size: int) -> NDArray[np.uint64]:
    """Hashes of the runs of `size` characters of a text, each once; a shorter piece is one shingle."""
    import numpy as np

    pieces = [piece.ljust(size, _BREAK) for piece in text.split(_BREAK)]
    codes = np.frombuffer(_BREAK.join(pieces).encode("utf-32-le"), dtype=np.uint32).astype(np.uint64)
    starts = len(codes) - size + 1
    # A run that begins after a break or crosses one belongs to no piece, unless the piece is shorter than a run.
    keep = codes[:starts] != 0
    hashes: NDArray[np.uint64] = np.zeros(starts, dtype=np.uint64)
    for place in range(size):
        hashes = hashes * np.uint64(0x100000001B3) + codes[place : place + starts]
    windows = np.lib.stride_tricks.sliding_window_view(codes, size)
    whole = (windows != 0).all(axis=1)
    first = np.concatenate([[True], codes[: starts - 1] == 0]) if starts > 1 else np.array([True])
    return np.unique(_mixed(hashes[keep & (whole | first)]))


def _bands(hashes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The bands of the MinHash signature: shape (BANDS,)."""
    import numpy as np

    factors, offsets = _permutations()
    if not len(hashes):
        return np.zeros(BANDS, dtype=np.uint64)
    signature = (hashes[:, None] * factors + offsets).min(axis=0).reshape(BANDS, ROWS)
    keys: NDArray[np.uint64] = np.zeros(BANDS, dtype=np.uint64)
    for row in range(ROWS):
        keys = _mixed(keys + signature[:, row])
    return keys


@lru_cache(maxsize=1)
def _permutations() -> tuple[Any, Any]:
    """Fixed odd factors and offsets: the same signatures on every machine."""
    import numpy as np

    numbers = _mixed(np.arange(1, 2 * BANDS * ROWS + 1, dtype=np.uint64))
    return numbers[: BANDS * ROWS] | np.uint64(1), numbers[BANDS * ROWS :]


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """A bijection of 64-bit numbers in which every bit depends on every other (the finaliser of splitmix64)."""
    import numpy as np

    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _jaccard(one: NDArray[np.uint64], other: NDArray[np.uint64]) -> float:
    import numpy as np

    shared = len(np.intersect1d(one, other, assume_unique=True))
    return shared / max(1, len(one) + len(other) - shared)


def _masked(text: str) -> str:
    return _DIGITS.sub("0", text)


def _difference(one: Stem, other: Stem) -> str:
    """What tells two near questions apart."""
    if one.numbers != other.numbers:
        return "other numbers"
    size, ending = SHINGLE[one.language], ENDING[one.language]
    (stem_a, *options_a), (stem_b, *options_b) = one.text.split(_BREAK), other.text.split(_BREAK)
    asks = [(stem_a[-ending:], stem_b[-ending:])]
    if options_a and options_b:
        asks.append((_BREAK.join(options_a), _BREAK.join(options_b)))
    if any(_jaccard(shingles(a, size), shingles(b, size)) < SAME_ASK for a, b in asks):
        return "asks something else"
    if one.text != other.text and one.key and other.key and one.key != other.key:
        return "another option is right"
    if one.short and other.short and (one.figures or other.figures):
        shared = any((a ^ b).bit_count() <= SAME_FIGURE_BITS for a in one.figures for b in other.figures)
        return "" if shared else "other figures"
    return ""


def _key(question: Question) -> frozenset[str]:
    letters = question.answer[0].strip() if len(question.answer) == 1 else ""
    right = {option.text for option in question.options if option.label and option.label in letters}
    return frozenset(_plain(text) for text in right)


def _plain(text: str) -> str:
    """A text without its number on the paper, marks, typesetting and spaces; letters in lower case."""
    text = text.replace(IMAGE_MARK, " ")
    while (lead := _LEAD.match(text)) and lead.end():
        text = text[lead.end() :]
    text = _TYPESETTING.sub(" ", unicodedata.normalize("NFKC", text).translate(_MINUS))
    return "".join(text.casefold().split()).replace("$", "")


def _figure(image: Image) -> int | None:
    """The difference hash of a picture: whether it gets lighter to the right, in 8 rows of 8."""
    from PIL import Image as Pillow

    try:
        with Pillow.open(io.BytesIO(image.bytes or b"")) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                return None
            flat = Pillow.new("L", picture.size, 255)
            grey = picture.convert("LA")
            flat.paste(grey.getchannel(0), mask=grey.getchannel(1))
            pixels = flat.resize((9, 8), Pillow.Resampling.BILINEAR).tobytes()
    except Exception:  # a damaged picture is for `validate` to report; it is like no other
        return None
    bits = (pixels[9 * row + n] < pixels[9 * row + n + 1] for row in range(8) for n in range(8))
    return sum(bit << place for place, bit in enumerate(bits))
