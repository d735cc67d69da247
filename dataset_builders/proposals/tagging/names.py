"""Points and subjects named in a text, by the tree's words, without learning.

Contract: a score sums the weights of matching words, higher for rare and long ones; it has no scale.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from livek12.dataset_builders.proposals.tagging.tree import Point, Tree

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_JOINTS = re.compile(r"[、,，()（）/]|与|和|及其|的")
_LATIN = re.compile(r"[a-z]")


class Names:
    """Word matcher of a tree."""

    def __init__(self, tree: Tree) -> None:
        from math import log2

        self.tree = tree
        words = [_words(point) for point in tree.points]
        shared = Counter(word for own in words for word in own)
        self._words = [
            {word: log2(1 + len(tree.points) / shared[word]) * (1 + log2(min(len(word), 8))) for word in own}
            for own in words
        ]
        self._all = {word: _pattern(word) for word in shared}

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores, shape (texts, points)."""
        import numpy as np

        scores: NDArray[np.float32] = np.zeros((len(texts), len(self._words)), dtype=np.float32)
        for row, text in zip(scores, texts, strict=True):
            bare = _bare(text)
            here = {word for word, pattern in self._all.items() if _found(word, pattern, bare)}
            for place, own in enumerate(self._words):
                row[place] = sum(own[word] for word in own.keys() & here)
        return scores

    def subjects(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Scores of the tree's subjects, shape (texts, subjects): each word counts once."""
        import numpy as np

        subjects = self.tree.subjects
        weights: list[dict[str, float]] = [{} for _ in subjects]
        for point, own in zip(self.tree.points, self._words, strict=True):
            weights[subjects.index(point.subject)].update(own)
        shared = Counter(word for own in weights for word in own)
        scores: NDArray[np.float32] = np.zeros((len(texts), len(subjects)), dtype=np.float32)
        for row, text in zip(scores, texts, strict=True):
            bare = _bare(text)
            here = {word for word, pattern in self._all.items() if _found(word, pattern, bare)}
            for place, own in enumerate(weights):
                row[place] = sum(weight / shared[word] ** 2 for word in here if (weight := own.get(word, 0.0)))
        return scores


def _words(point: Point) -> list[str]:
    whole = [*point.terms, *point.names.values()]
    pieces = [piece for name in point.names.values() for piece in _JOINTS.split(name)]
    long = (piece for piece in pieces if len(piece.strip()) > (3 if piece.isascii() else 1))
    return list(dict.fromkeys(word for name in (*whole, *long) if (word := _bare(name))))


def _bare(text: str) -> str:
    flat = unicodedata.normalize("NFKC", text).lower().replace("$", " ")
    flat = re.sub(r"\\(?:mathrm|text|rm|mathbf)\s*\{([^{}]*)\}", r"\1", flat)
    return re.sub(r"(?<![a-z])\s+|\s+(?![a-z])", "", flat).strip()


def _pattern(word: str) -> re.Pattern[str] | None:
    r"""Pattern of a whole Latin word: `\sin` is not in `\sinh`, "ph" not in "graph"."""
    if not _LATIN.search(word):
        return None
    before = r"(?<![a-z\\])" if _LATIN.match(word) else ""
    return re.compile(before + re.escape(word) + (r"(?![a-z])" if word[-1].isascii() and word[-1].isalpha() else ""))


def _found(word: str, pattern: re.Pattern[str] | None, text: str) -> bool:
    return bool(pattern.search(text)) if pattern else word in text
