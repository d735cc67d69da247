"""Passages with numbered gaps, English and our own: words to choose, sentences to put in, forms to write."""

from __future__ import annotations

import random
from dataclasses import dataclass

from livek12.scripts.bench.exams.content import PaperItem, choice

_NAMES = ("Maya", "Oliver", "Priya", "Jonas", "Lena", "Tariq")
_CLOZE = (
    "When <a> moved to the coast, the first thing she ____ was the silence. There were no trams, no horns, and hardly "
    "any ____ in the evening. For a month she felt ____. Then a neighbour knocked and asked whether she could ____ a "
    "net. She could not, but she was willing to ____. By the end of the summer her hands were ____, her mind was calm, "
    "and she had made two ____ friends. The silence, she ____, had never been empty at all."
)
_CHOSEN = (
    ("noticed", "sold", "painted", "forgot"), ("lights", "rivers", "lessons", "coins"),
    ("lonely", "famous", "rich", "angry"), ("mend", "eat", "borrow", "burn"), ("learn", "leave", "argue", "drive"),
    ("rough", "absent", "foreign", "silent"), ("close", "narrow", "former", "paper"),
    ("realised", "denied", "promised", "counted"),
)  # fmt: skip
_MATCH = (
    "Growing herbs in a small flat is easier than it looks. ____ A south window is best, but a bright kitchen will do. "
    "Next, think about the pots. ____ Without holes in the bottom, roots stand in water and rot. Most beginners water "
    "too often. ____ If it feels damp, wait another day. ____ Cut a few leaves each week and the plant will grow "
    "bushier. In the end, patience matters more than skill. ____"
)
_SENTENCES = (
    "First of all, find the place with the most light.", "They need not be pretty, but they must let water out.",
    "Put a finger into the soil before you reach for the can.", "Do not be afraid to use what you grow.",
    "A plant that sulks in March may surprise you in May.", "Herbs were once worth more than silver.",
    "Buy the largest bag of soil that the shop has.",
)  # fmt: skip
_FORMS = (
    "The old bridge of our town, ____ (build) in 1902, has been closed since last winter. Engineers found that its "
    "beams ____ (become) weak. Many people were ____ (surprise) by the news, ____ the bridge had always looked strong. "
    "A plan ____ (repair) it was put forward in spring. The work will be done ____ the end of the year."
)
_WRITTEN = ("built", "had become", "surprised", "because", "to repair", "by")


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
    text = {"cloze": _CLOZE, "match": _MATCH, "forms": _FORMS}[kind].replace("<a>", draw.choice(_NAMES))
    pieces = text.split("____")
    pieces = [*pieces[:count], "".join(pieces[count:])]
    if kind == "cloze":
        items = [choice(draw, "", right, wrong).with_options(4) for right, *wrong in map(_five, _CHOSEN[:count])]
        return GappedText(tuple(pieces), tuple(items))
    if kind == "forms":
        return GappedText(tuple(pieces), tuple(PaperItem("", "blank", answer=word) for word in _WRITTEN[:count]))
    shared = draw.sample(_SENTENCES, len(_SENTENCES))
    rights = [shared.index(sentence) for sentence in _SENTENCES[:count]]
    return GappedText(tuple(pieces), tuple(PaperItem("", "choice", answer=at) for at in rights), tuple(shared))


def _five(words: tuple[str, ...]) -> tuple[str, ...]:
    return (*words, "whispered")
