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

import hashlib
import io
import re
import unicodedata
from bisect import bisect_left
from collections import Counter
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
CROWD = 16
"""So many that share a band are looked at. Where more do, those with the same numbers are looked for among them, and
among those again the ones that ask the same: whoever differs in either is no duplicate. So the work grows with the
questions, not with their square, and what may go unseen is a duplicate or variant beside several others."""
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
    """The questions that others are compared with."""

    def __init__(self, stems: Iterable[Stem]) -> None:
        texts: dict[Language, list[Stem]] = {}
        self._places: dict[Language, list[int]] = {}
        for place, entry in enumerate(stems):
            texts.setdefault(entry.language, []).append(entry)
            self._places.setdefault(entry.language, []).append(place)
        self._indexes = {language: _Index(entries) for language, entries in texts.items()}

    def matches(self, asked: Stem, before: int | None = None) -> list[Match]:
        """The questions near this one, itself left out: duplicates first, then by similarity.

        All of them, but for a crowd of near-identical texts: see `CROWD`.

        Args:
            asked: the question.
            before: looks only among so many questions, the first that were given.
        """
        index = self._indexes.get(asked.language)
        if index is None:
            return []
        places = self._places[asked.language]
        first = len(places) if before is None else bisect_left(places, before)
        found = [
            Match(other, similarity, _difference(asked, other))
            for similarity, other in index.near(asked, first)
            if (other.benchmark, other.id) != (asked.benchmark, asked.id)
        ]
        return sorted(found, key=lambda match: (bool(match.difference), -match.similarity, match.other.id))


class _Index:
    """Stems of one language by the bands of their MinHash signatures."""

    def __init__(self, stems: list[Stem]) -> None:
        import numpy as np

        self._stems = stems
        keys = np.stack([_text_keys(entry) for entry in stems], axis=1)
        self._levels = [_Buckets(keys)]
        for narrower in _NARROWER:
            if not self._levels[-1].crowded:
                break
            keys = _mixed(keys + np.stack([narrower(entry) for entry in stems], axis=1))
            self._levels.append(_Buckets(keys))

    def near(self, asked: Stem, first: int) -> Iterator[tuple[float, Stem]]:
        own = _masked_shingles(asked.text, asked.language)
        for candidate in sorted(self._candidates(asked, first)):
            other = self._stems[candidate]
            similarity = _jaccard(own, _masked_shingles(other.text, other.language))
            if similarity >= THRESHOLD:
                yield similarity, other

    def _candidates(self, asked: Stem, first: int) -> set[int]:
        keys = _text_keys(asked)
        found, crowded = self._levels[0].find(keys, first)
        for narrower, buckets in zip(_NARROWER, self._levels[1:], strict=False):
            if crowded:
                keys = _mixed(keys + narrower(asked))
                members, crowded = buckets.find(keys, first)
                found |= members
        return found


class _Buckets:
    """Who shares which band, given the keys of all bands: shape (BANDS, stems)."""

    def __init__(self, keys: NDArray[np.uint64]) -> None:
        import numpy as np

        self._order = np.argsort(keys, axis=1, kind="stable").astype(np.uint32)
        self._sorted = np.take_along_axis(keys, self._order, axis=1)
        self.crowded = bool((self._sorted[:, CROWD:] == self._sorted[:, :-CROWD]).any())

    def find(self, keys: NDArray[np.uint64], first: int) -> tuple[set[int], bool]:
        """Who of the first stems shares a band, and whether that is a crowd: then those that share most bands."""
        shared: Counter[int] = Counter()
        crowded = False
        for ordered, order, key in zip(self._sorted, self._order, keys, strict=True):
            start = int(ordered.searchsorted(key))
            members = order[start : start + CROWD + 1][ordered[start : start + CROWD + 1] == key]
            crowded |= len(members) > CROWD
            shared.update(member for member in members[:CROWD].tolist() if member < first)
        return {member for member, _ in shared.most_common(CROWD if crowded else None)}, crowded


def _text_keys(entry: Stem) -> NDArray[np.uint64]:
    """A key a band: of the text."""
    return _bands(_masked_shingles(entry.text, entry.language))


def _number_keys(entry: Stem) -> NDArray[np.uint64]:
    """A key a band: of the numbers."""
    import numpy as np

    digest = hashlib.blake2b(" ".join(entry.numbers).encode(), digest_size=8).digest()
    return np.full(BANDS, int.from_bytes(digest, "little"), dtype=np.uint64)


def _ask_keys(entry: Stem) -> NDArray[np.uint64]:
    """A key a band: eight bits of the figure, where that decides, else one value of the ask's MinHash signature."""
    import numpy as np

    if entry.short and entry.figures:
        masks = [sum(1 << (7 * band + 11 * bit) % 64 for bit in range(8)) for band in range(BANDS)]
        return np.array([entry.figures[0] & mask for mask in masks], dtype=np.uint64)
    stem, *options = entry.text.split(_BREAK)
    asks = _BREAK.join([stem[-ENDING[entry.language] :], *options])
    return _signature(shingles(asks, SHINGLE[entry.language]), BANDS)


_NARROWER = (_number_keys, _ask_keys)
"""What the buckets of a crowd are divided by, one after the other."""


@lru_cache(maxsize=4_096)  # the first of a crowd are compared with all the others
def _masked_shingles(text: str, language: Language) -> NDArray[np.uint64]:
    return shingles(_DIGITS.sub("0", text), SHINGLE[language])


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

    signature = _signature(hashes, BANDS * ROWS).reshape(BANDS, ROWS)
    keys: NDArray[np.uint64] = np.zeros(BANDS, dtype=np.uint64)
    for row in range(ROWS):
        keys = _mixed(keys + signature[:, row])
    return keys


def _signature(hashes: NDArray[np.uint64], size: int) -> NDArray[np.uint64]:
    """The MinHash signature: of each permutation, the least that it makes of the hashes; zeros of none."""
    import numpy as np

    factors, offsets = _permutations()
    if not len(hashes):
        return np.zeros(size, dtype=np.uint64)
    least: NDArray[np.uint64] = (hashes[:, None] * factors[:size] + offsets[:size]).min(axis=0)
    return least


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


def _difference(one: Stem, other: Stem) -> str:
    """What tells two near questions apart."""
    if one.numbers != other.numbers:
        return "other numbers"
    size, ending = SHINGLE[one.language], ENDING[one.language]
    (stem_a, *options_a), (stem_b, *options_b) = one.text.split(_BREAK), other.text.split(_BREAK)
    asks = [(stem_a[-ending:], stem_b[-ending:])]
    if options_a and options_b:
        asks.append((_BREAK.join(options_a), _BREAK.join(options_b)))
    if any(a != b and _jaccard(shingles(a, size), shingles(b, size)) < SAME_ASK for a, b in asks):
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
