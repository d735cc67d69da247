"""Library of compared questions: normalised stems in a temporary file, join keys in memory.

Contract: a stem has text, options, numbers, key and figures. About 300 bytes of memory a question; sketches do not
depend on batches.
"""

from __future__ import annotations

import marshal
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError
from livek12.core.languages import language_of, languages
from livek12.core.records import IMAGE_MARK, BenchmarkName, Image, Language, Option, Question
from livek12.core.text import compatible
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.duplicates.hashing import BREAK, Figure, figure_of, mixed, shingles, signatures

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHORT = 40
"""Normalised texts of fewer characters may say only "see the figure": the figures decide."""
_LEAD = re.compile(
    r"\s*(?:第?\s*\d{1,3}\s*[.．、:：)）题번](?!\d)|[(（【\[][^)）】\]]{0,40}(?:分|年|卷|점|points?|marks?)[^)）】\]]{0,40}[)）】\]])\s*"
)
_TYPESETTING = re.compile(
    r"\\(?:left|right|mathrm|mathbf|text(?:bf|it|rm)?|rm|displaystyle|quad|qquad|underline|dfrac|tfrac|hspace|vspace)\b"
    r"|\\[,;!: ]|\\n|&nbsp;"
    r"|</?(?:a|b|br|center|div|em|font|hr|i|img|li|ol|p|s|span|strong|sub|sup|table|tbody|td|th|tr|u|ul)"
    r"(?:\s+[\w-]+\s*=[^<>]{0,200})?\s*/?>",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_DIGITS = re.compile(r"\d+")
_MINUS = str.maketrans({"−": "-", "–": "-", "—": "-"})
BANDS, ROWS = 24, 5
"""MinHash bands: a pair at the threshold is missed with probability (1 - 0.75^5)^24 = 0.15 %."""
BATCH = 512
"""Stems a sketch: their shingles fit a core's cache."""


@dataclass(frozen=True)
class Stem:
    """Compared parts of a question.

    Attributes:
        text: stem and options, normalised, with a break between.
        numbers: sorted.
        key: the right options, normalised; empty if unknown or no choice.
        shown: a line for people.
        figures: perceptual hashes; by default only of short texts.
    """

    id: str
    benchmark: BenchmarkName
    language: Language
    release: str | None
    text: str
    numbers: tuple[str, ...]
    key: frozenset[str]
    shown: str
    figures: tuple[Figure, ...] = ()

    @property
    def short(self) -> bool:
        """True if the figures decide."""
        return len(self.text) < SHORT

    @property
    def has_options(self) -> bool:
        """True for a choice."""
        return BREAK in self.text

    @property
    def masked(self) -> str:
        """The text with every number replaced by 0."""
        return _DIGITS.sub("0", self.text)


def stem(question: Question, *, pictures: bool = False) -> Stem:
    """Returns the compared parts of a question; figures of long texts only with `pictures`."""
    return stem_of(
        question.id,
        question.benchmark,
        question.language,
        question.release,
        question.question,
        question.options,
        question.answer,
        question.images,
        pictures=pictures,
    )


def stem_of(
    id: str,
    benchmark: BenchmarkName,
    language: Language,
    release: str | None,
    text: str,
    options: Sequence[Option],
    answer: Sequence[str],
    images: Iterable[Image],
    *,
    pictures: bool = False,
) -> Stem:
    """The stem of a question given in parts."""
    plain = [_plain(part) for part in (text, *sorted(option.text for option in options))]
    compared = BREAK.join("".join(filter(str.isalnum, part)) for part in plain)
    shown = " ".join([text, *(f"{option.label}. {option.text}" for option in options)])
    wanted = images if pictures or len(compared) < SHORT else ()
    return Stem(
        id=id,
        benchmark=benchmark,
        language=language,
        release=release,
        text=compared,
        numbers=tuple(sorted(number for part in plain for number in _NUMBER.findall(part))),
        key=_key(options, answer),
        shown=one_line(shown[:300], 100),
        figures=tuple(figure for image in wanted if (figure := figure_of(image)) is not None),
    )


def _key(options: Sequence[Option], answer: Sequence[str]) -> frozenset[str]:
    letters = answer[0].strip() if len(answer) == 1 else ""
    right = {option.text for option in options if option.label and option.label in letters}
    return frozenset(_plain(text) for text in right)


def _plain(text: str) -> str:
    text = text.replace(IMAGE_MARK, " ")
    while (lead := _LEAD.match(text)) and lead.end():
        text = text[lead.end() :]
    text = _TYPESETTING.sub(" ", compatible(text).translate(_MINUS))
    return "".join(text.casefold().split()).replace("$", "")


_FIELDS = attrgetter(*(field.name for field in fields(Stem)))


@dataclass(frozen=True)
class Sketch:
    """Join keys of a batch of stems.

    Attributes:
        stems: marshalled, concatenated.
        texts: band keys of the text's MinHash signature: shape (BANDS, stems).
        asks: MinHash values of ending and options: shape (BANDS, stems).
        numbers: hashes.
        filled: stems with a text.
        figures: with their stem's index.
    """

    stems: bytes
    lengths: NDArray[np.int64]
    texts: NDArray[np.uint64]
    asks: NDArray[np.uint32]
    numbers: NDArray[np.uint64]
    filled: NDArray[np.bool_]
    figures: list[tuple[int, tuple[int, float]]]


def ask_of(stem: Stem) -> tuple[str, str]:
    """Returns the end of the stem's text, and the options."""
    text, _, options = stem.text.partition(BREAK)
    return text[-language_of(stem.language).ask :], options


def sketch(stems: Sequence[Stem]) -> Sketch:
    """Sketches a batch of stems."""
    import numpy as np

    texts: NDArray[np.uint64] = np.zeros((BANDS, len(stems)), dtype=np.uint64)
    asks: NDArray[np.uint32] = np.zeros((BANDS, len(stems)), dtype=np.uint32)
    for language in languages():
        own = [place for place, stem in enumerate(stems) if stem.language == language.code]
        if not own:
            continue
        rows = signatures(shingles([stems[place].masked for place in own], language.word), BANDS * ROWS)
        keys: NDArray[np.uint64] = np.full((BANDS, len(own)), sum(language.code.encode()), dtype=np.uint64)
        for row in range(ROWS):
            keys = mixed(keys + rows[row::ROWS])
        texts[:, own] = keys
        asks[:, own] = signatures(shingles([BREAK.join(ask_of(stems[place])) for place in own], language.word), BANDS)
    packed = [marshal.dumps(_FIELDS(stem)) for stem in stems]
    return Sketch(
        stems=b"".join(packed),
        lengths=np.array([len(data) for data in packed], dtype=np.int64),
        texts=texts,
        asks=asks,
        numbers=np.array([hash_of(" ".join(stem.numbers)) for stem in stems], dtype=np.uint64),
        filled=np.array([any(stem.text.split(BREAK)) for stem in stems], dtype=bool),
        figures=[(place, figure) for place, stem in enumerate(stems) for figure in stem.figures],
    )


def hash_of(text: str) -> int:
    """64-bit hash of a text, equal on every machine."""
    import hashlib

    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def levels(
    texts: NDArray[np.uint64], numbers: NDArray[np.uint64], asks: NDArray[np.uint32]
) -> list[NDArray[np.uint64]]:
    """Join keys of stems: text; text and numbers; these and the ending."""
    numbered = mixed(texts + numbers)
    return [texts, numbered, mixed(numbered + asks.astype(texts.dtype))]


@contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        where = f" in {tempfile.tempdir}" if tempfile.tempdir else ""
        raise UserError(
            f"temporary files cannot be written{where} ({error.strerror}): make room, or set TMPDIR to another folder"
        ) from None


class Library:
    """Stems by index, in order of addition, in a temporary file.

    Adding and reading raise UserError if the folder for temporary files is full.
    """

    def __init__(self) -> None:
        with _told():
            self._file = tempfile.TemporaryFile(prefix="livek12-stems.")  # noqa: SIM115 - closed with this object
        self._sketches: list[Sketch] = []
        self._ends: list[int] = [0]
        self.figures: list[tuple[int, tuple[int, float]]] = []

    def __len__(self) -> int:
        return len(self._ends) - 1

    def add(self, made: Sketch) -> None:
        """Adds the stems of a sketch."""
        import numpy as np

        first, begin = len(self), self._ends[-1]
        with _told():
            self._file.write(made.stems)
        self._ends += (begin + np.cumsum(made.lengths)).tolist()
        self.figures += [(first + place, figure) for place, figure in made.figures]
        self._sketches.append(made)

    def add_stems(self, stems: Sequence[Stem]) -> None:
        """Sketches and adds stems."""
        for first in range(0, len(stems), BATCH):
            self.add(sketch(stems[first : first + BATCH]))

    def stem(self, place: int) -> Stem:
        """Reads one stem back."""
        with _told():
            self._file.flush()
        begin, end = self._ends[place], self._ends[place + 1]
        return Stem(*marshal.loads(os.pread(self._file.fileno(), end - begin, begin)))

    def levels(self, band: int) -> list[NDArray[np.uint64]]:
        """Join keys of all stems in one band, widest first."""
        return levels(
            self._all(lambda sketch: sketch.texts[band]),
            self._all(lambda sketch: sketch.numbers),
            self._all(lambda sketch: sketch.asks[band]),
        )

    def filled(self) -> NDArray[np.bool_]:
        """Mask of stems with a text."""
        return self._all(lambda sketch: sketch.filled)

    def _all(self, of: Any) -> Any:
        import numpy as np

        return np.concatenate([of(sketch) for sketch in self._sketches])
