"""Library of compared questions: normalised stems in a temporary file, and their hashes.

Contract: equal on every machine; sketches do not depend on batches; about 300 bytes of memory a question. Pieces of a
text are separated by `BREAK`; shingles are runs of `size` characters within a piece, a shorter piece is one. Hashes of
figures are robust to scale, compression, margins and slight crops: after cutting margins of one colour, the signs of
the lowest frequencies (discrete cosine transform of 32 x 32 greys; Zauner 2010). Empty, tiny and damaged pictures have
none.
"""

from __future__ import annotations

import hashlib
import io
import marshal
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import lru_cache
from hashlib import blake2b
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from livek12.core.errors import UserError
from livek12.core.languages import language_of, languages
from livek12.core.lazy import PIL
from livek12.core.records import IMAGE_MARK, BenchmarkName, Image, Language, Option, Question
from livek12.core.text import compatible
from livek12.dataset_builders.base import one_line
from livek12.dataset_builders.reading.images import FORMATS, MAX_PIXELS

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
        key: the right options, normalised; empty if unknown or no choice.
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
        """Text with every number replaced by 0."""
        return _DIGITS.sub("0", self.text)


def stem(question: Question, *, pictures: bool = False) -> Stem:
    """Compared parts of a question; figures of long texts only with `pictures`."""
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
    """Stem of a question given in parts."""
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
    """End of the stem's text, and the options."""
    text, _, options = stem.text.partition(BREAK)
    return text[-language_of(stem.language).ask :], options


def sketch(stems: Sequence[Stem]) -> Sketch:
    """Sketches a batch of stems."""
    texts: NDArray[np.uint64] = np.zeros((BANDS, len(stems)), dtype=np.uint64)
    asks: NDArray[np.uint32] = np.zeros((BANDS, len(stems)), dtype=np.uint32)
    for language in languages():
        own = [place for place, stem in enumerate(stems) if stem.language == language.code]
        if not own:
            continue
        rows = _signatures(shingles([stems[place].masked for place in own], language.word), BANDS * ROWS)
        keys: NDArray[np.uint64] = np.full((BANDS, len(own)), sum(language.code.encode()), dtype=np.uint64)
        for row in range(ROWS):
            keys = _mixed(keys + rows[row::ROWS])
        texts[:, own] = keys
        asks[:, own] = _signatures(shingles([BREAK.join(ask_of(stems[place])) for place in own], language.word), BANDS)
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
    return int.from_bytes(hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


def levels(
    texts: NDArray[np.uint64], numbers: NDArray[np.uint64], asks: NDArray[np.uint32]
) -> list[NDArray[np.uint64]]:
    """Join keys of stems: text; text and numbers; these and the ending."""
    numbered = _mixed(texts + numbers)
    return [texts, numbered, _mixed(numbered + asks.astype(texts.dtype))]


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
    """Stems by index in a temporary file.

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
        return np.concatenate([of(sketch) for sketch in self._sketches])


BREAK = "\0"
_SHINGLE_BITS = 44
"""Hash bits of a shingle in a set, below 20 bits for its text. Two of 300 shingles collide with probability 10^-8."""
_FEW = 1_024
"""Shingles that pass all permutations in one step: those of a single text."""
_FACTOR = 0x100000001B3
Figure = tuple[int, float]
"""Hash of `BITS` bits, and width / height without margins."""
FREQUENCIES, GREYS = 12, 32
BITS = FREQUENCIES**2 - 1
"""All but the mean grey."""
SAME_FIGURE = 0.2
"""Largest share of differing bits for one figure, with shapes within `SAME_SHAPE`."""
SAME_ALONE = 0.12
"""The bound if the texts have little in common: charts and sketches of one kind look alike."""
SAME_SHAPE = 1.2
SMALLEST = 32
"""Pixels a side; smaller pictures are symbols in a line."""
LARGEST = 512
"""Pixels a side, to which larger pictures are reduced."""
CONTRAST = 40
"""Smallest difference from the margin's grey, of 256, that is no margin."""
TABLES = 32
LEVELS = (12, 18, 24)
"""Bits that two figures must share in one of `TABLES` draws; more for crowds.

Missed pairs: 1 in 10^4 at a tenth of the bits differing, 8 in 1000 at 15 %, 10 in 100 at the bound.
"""
_MARGINS = 6
MOST_KNOWN = 10_000
_KNOWN: dict[bytes, Figure | None] = {}
"""Hashes of recent pictures by content: a figure may belong to every question of a group."""


class Ragged(NamedTuple):
    """Concatenated runs of numbers, one a text, and their lengths."""

    values: NDArray[np.uint64]
    lengths: NDArray[np.int64]


def shingles(texts: Sequence[str], size: int) -> Ragged:
    """Hashes of each text's shingles in order."""
    padded = [BREAK.join([piece.ljust(size, BREAK) for piece in text.split(BREAK)]) for text in texts]
    ends = np.cumsum([len(text) + 1 for text in padded], dtype=np.int64)
    joined = BREAK.join([*padded, BREAK * size])
    codes = np.frombuffer(joined.encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    starts = int(ends[-1]) if len(ends) else 0
    hashes: NDArray[np.uint64] = np.zeros(starts, dtype=np.uint64)
    whole: NDArray[np.bool_] = np.ones(starts, dtype=bool)
    for place in range(size):
        hashes = hashes * np.uint64(_FACTOR) + codes[place : place + starts]
        whole &= codes[place : place + starts] != 0
    first = np.concatenate([[True], codes[: starts - 1] == 0])[:starts]
    keep = (codes[:starts] != 0) & (whole | first)  # a run that crosses a break counts only at the start of a piece
    before = np.concatenate([[0], np.cumsum(keep)])
    kept_before = before[np.concatenate([[0], ends])]
    return Ragged(_mixed(hashes[keep]), np.diff(kept_before))


def _signatures(runs: Ragged, size: int) -> NDArray[np.uint32]:
    """MinHash signatures: shape (size, texts); zeros for a text without shingles."""
    factors, offsets = _permutations(size)
    signature: NDArray[np.uint32] = np.zeros((size, len(runs.lengths)), dtype=np.uint32)
    some = runs.lengths > 0
    if not some.any():
        return signature
    starts = (np.cumsum(runs.lengths) - runs.lengths)[some]
    values = (runs.values >> np.uint64(32)).astype(np.uint32)
    if len(values) < _FEW:
        signature[:, some] = np.minimum.reduceat(values[:, None] * factors + offsets, starts, axis=0).T
        return signature
    permuted = np.empty_like(values)
    for row, (factor, offset) in enumerate(zip(factors, offsets, strict=True)):
        np.multiply(values, factor, out=permuted)
        np.add(permuted, offset, out=permuted)
        signature[row, some] = np.minimum.reduceat(permuted, starts)
    return signature


def jaccards(
    texts: Sequence[str], size: int, first: NDArray[np.int64], other: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Jaccard similarity of pairs, given as indices of at most 2^20 texts; at most 2^20 pairs."""
    values, lengths = _sets(shingles(texts, size))
    starts = np.cumsum(lengths) - lengths
    pairs = np.arange(len(first), dtype=np.uint64) << np.uint64(_SHINGLE_BITS)
    parts = [values[spread(starts[side], lengths[side])] | np.repeat(pairs, lengths[side]) for side in (first, other)]
    both = np.sort(np.concatenate(parts))
    same = both[1:][both[1:] == both[:-1]] >> np.uint64(_SHINGLE_BITS)
    shared = np.bincount(same.astype(np.int64), minlength=len(first))
    return shared / np.maximum(1, lengths[first] + lengths[other] - shared)


def _sets(runs: Ragged) -> Ragged:
    bits = np.uint64(_SHINGLE_BITS)
    texts: NDArray[np.uint64] = np.repeat(np.arange(len(runs.lengths), dtype=np.uint64), runs.lengths)
    tagged = np.sort((texts << bits) | (runs.values >> np.uint64(64 - _SHINGLE_BITS)))
    if len(tagged):
        tagged = tagged[np.concatenate([[True], tagged[1:] != tagged[:-1]])]
    lengths = np.bincount((tagged >> bits).astype(np.int64), minlength=len(runs.lengths))
    return Ragged(tagged & np.uint64((1 << _SHINGLE_BITS) - 1), lengths)


def spread(starts: NDArray[Any], lengths: NDArray[Any]) -> NDArray[np.int64]:
    """Concatenated ranges start, start + 1, …."""
    total = int(lengths.sum())
    return np.arange(total, dtype=np.int64) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def _mixed(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bijection of 64-bit numbers with full avalanche (of splitmix64)."""
    values = values + np.uint64(0x9E3779B97F4A7C15)
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


@lru_cache(maxsize=4)
def _permutations(size: int) -> tuple[Any, Any]:
    numbers = (_mixed(np.arange(1, 2 * size + 1, dtype=np.uint64)) >> np.uint64(32)).astype(np.uint32)
    return numbers[:size] | np.uint32(1), numbers[size:]


def figure_of(image: Image) -> Figure | None:
    """Cached hash of a picture; None for no figure."""
    data = image.bytes or b""
    content = blake2b(data, digest_size=16).digest()
    if content not in _KNOWN:
        if len(_KNOWN) == MOST_KNOWN:
            _KNOWN.clear()
        _KNOWN[content] = _figure(data)
    return _KNOWN[content]


def _figure(data: bytes) -> Figure | None:
    try:
        with PIL.Image.open(io.BytesIO(data), formats=FORMATS) as picture:
            if picture.width * picture.height > MAX_PIXELS:
                return None
            picture.draft("L", (LARGEST, LARGEST))
            if picture.mode in ("L", "RGB") and "transparency" not in picture.info:
                flat = picture.convert("L")
            else:
                grey = picture.convert("LA")
                flat = PIL.Image.new("L", picture.size, 255)
                flat.paste(grey.getchannel(0), mask=grey.getchannel(1))
    except Exception:  # Pillow's decoders raise whatever a hostile file makes them raise
        return None
    return _hash(flat) if min(flat.size) >= SMALLEST else None


def _hash(picture: Any) -> Figure | None:
    picture.thumbnail((LARGEST, LARGEST))
    inner = _without_margins(np.asarray(picture, dtype=np.int16))
    if min(inner.shape) < SMALLEST // 4:
        return None
    small = PIL.Image.fromarray(inner.astype(np.uint8)).resize((GREYS, GREYS), PIL.Image.Resampling.BOX)
    waves = _cosines()
    amplitudes = (waves @ np.asarray(small, dtype=np.float64) @ waves.T).ravel()[1:]
    bits = np.packbits(amplitudes > np.median(amplitudes)).tobytes()
    return int.from_bytes(bits, "big"), inner.shape[1] / inner.shape[0]


def _without_margins(greys: NDArray[np.int16]) -> NDArray[np.int16]:
    for _ in range(_MARGINS):
        edge = np.concatenate([greys[0], greys[-1], greys[:, 0], greys[:, -1]])
        drawn = np.abs(greys - np.median(edge)) > CONTRAST
        rows, columns = np.flatnonzero(drawn.any(axis=1)), np.flatnonzero(drawn.any(axis=0))
        if not len(rows):
            return greys[:0]
        top, left = rows[0] + (rows[0] > 0), columns[0] + (columns[0] > 0)  # greys are blended at the border
        bottom, right = rows[-1] + (rows[-1] == len(greys) - 1), columns[-1] + (columns[-1] == greys.shape[1] - 1)
        inner = greys[top:bottom, left:right]
        if inner.shape == greys.shape or min(inner.shape) < SMALLEST // 4:
            return inner
        greys = inner
    return greys


@lru_cache(maxsize=1)
def _cosines() -> Any:
    waves, places = np.arange(FREQUENCIES)[:, None], np.arange(GREYS)[None]
    return np.cos(np.pi * waves * (2 * places + 1) / (2 * GREYS))


def distance(some: Iterable[Figure], others: Sequence[Figure]) -> float | None:
    """Least share of differing bits among figures of one shape; None without such a pair."""
    distances = [
        (bits ^ other).bit_count() / BITS
        for bits, shape in some
        for other, other_shape in others
        if max(shape, other_shape) <= SAME_SHAPE * min(shape, other_shape)
    ]
    return min(distances, default=None)


def is_same(share: float | None, bound: float = SAME_FIGURE) -> bool:
    """Test a distance against the bound of one figure."""
    return share is not None and share <= bound


def figure_keys(figures: Sequence[Figure]) -> NDArray[np.uint64]:
    """Join keys of figures: shape (TABLES, LEVELS, figures), the bits of a draw at each level."""
    raw = b"".join(bits.to_bytes((BITS + 7) // 8, "big") for bits, _ in figures)
    bits = np.unpackbits(np.frombuffer(raw, dtype=np.uint8)).reshape(len(figures), -1)[:, :BITS].astype(np.uint64)
    keys: NDArray[np.uint64] = np.empty((TABLES, len(LEVELS), len(figures)), dtype=np.uint64)
    for table in range(TABLES):
        drawn = np.argsort(_mixed(np.arange(BITS, dtype=np.uint64) + np.uint64(BITS * table)))
        for level, size in enumerate(LEVELS):
            keys[table, level] = bits[:, drawn[:size]] @ (np.uint64(1) << np.arange(size, dtype=np.uint64))
    return keys
