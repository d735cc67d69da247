"""Passages with numbered gaps, English and our own: words to choose, sentences to put in, forms to write."""

from __future__ import annotations

import random
from dataclasses import dataclass

from livek12.scripts.bench.exams.content import PaperItem, choice
from livek12.scripts.bench.exams.words import GAPPED


@dataclass(frozen=True)
class GappedText:
    """A passage between gaps, their items, and the options that all share."""

    pieces: tuple[str, ...]
    items: tuple[PaperItem, ...]
    shared: tuple[str, ...] = ()

    def text(self, first: int) -> str:
        """The passage with numbered gaps."""
        text = self.pieces[0]
        for number, piece in enumerate(self.pieces[1:], first):
            text += f"{number}{piece}"
        return text


def gapped(kind: str, draw: random.Random, count: int) -> GappedText:
    """A passage with `count` gaps, as cloze, match or forms."""
    text = GAPPED[kind].replace("<a>", draw.choice(GAPPED["names"]))
    pieces = text.split("____")
    pieces = [*pieces[:count], "".join(pieces[count:])]
    if kind == "cloze":
        items = [
            choice(draw, "", right, [*wrong, "whispered"]).with_options(4) for right, *wrong in GAPPED["chosen"][:count]
        ]
        return GappedText(tuple(pieces), tuple(items))
    if kind == "forms":
        return GappedText(
            tuple(pieces), tuple(PaperItem("", "blank", answer=word) for word in GAPPED["written"][:count])
        )
    sentences = GAPPED["sentences"]
    shared = draw.sample(sentences, len(sentences))
    rights = [shared.index(sentence) for sentence in sentences[:count]]
    return GappedText(tuple(pieces), tuple(PaperItem("", "choice", answer=at) for at in rights), tuple(shared))
