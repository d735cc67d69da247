"""Draws of the sample and of each question's transforms.

Contract: draws depend on seed and id only, not on other questions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random

from livek12.core.errors import UserError
from livek12.core.records import Question
from livek12.dataset_builders.proposals.variants.conversion import conversions
from livek12.dataset_builders.proposals.variants.rewriting import PARAPHRASE, TYPE, WORDS, can_be_asked

PAD, INVERT, STYLE = "pad", "invert", "style"
OF_PICTURES = (PAD, INVERT, STYLE)
OF_TEXT = (WORDS, PARAPHRASE, TYPE)
TRANSFORMS = (*OF_PICTURES, *OF_TEXT)
"""MDK12-Bench, "Dynamic evaluation": three of pictures, three of text."""
SHARE = 0.5
"""Half of the questions ("Dynamic evaluation results")."""


@dataclass(frozen=True)
class Changes:
    """Transforms of a question.

    Attributes:
        picture: of all its pictures; "" for none.
        text: of its text; "" for none.
        rule: new type by a sound rule, if `text` is `type`.
    """

    picture: str = ""
    text: str = ""
    rule: str = ""

    @property
    def transforms(self) -> list[str]:
        """Names of the transforms, pictures first."""
        return [name for name in (self.picture, self.text) if name]


def random_of(seed: int, *what: str) -> Random:
    """Independent generator for each draw."""
    return Random(int.from_bytes(hashlib.sha256("\0".join([str(seed), *what]).encode()).digest()[:8], "big"))


def sample(ids: Sequence[str], share: float, seed: int) -> set[str]:
    """Draws a share of the ids; raises UserError."""
    if not 0 < share <= 1:
        raise UserError(f"--share {share}: give a share of the questions above 0 and up to 1")
    ranked = sorted(ids, key=lambda id: random_of(seed, id, "sample").random())
    return set(ranked[: max(1, round(share * len(ids)))])


def plan(question: Question, seed: int, offered: Collection[str], model: bool) -> Changes:
    """Draws one transform each of pictures and text, evenly among the possible ones in `offered`."""
    pictures = [name for name in OF_PICTURES if name in offered and question.images]
    rules = conversions(question) if TYPE in offered else {}
    texts = [
        name
        for name in OF_TEXT
        if name in offered and ((name == TYPE and rules) or (model and can_be_asked(question, name)))
    ]
    picture = random_of(seed, question.id, "picture").choice(pictures) if pictures else ""
    text = random_of(seed, question.id, "text").choice(texts) if texts else ""
    rule = random_of(seed, question.id, "rule").choice(list(rules)) if text == TYPE and rules else ""
    return Changes(picture, text, rule)


def why_none(question: Question, offered: Collection[str], model: bool) -> str:
    """Reason for no possible transform, on one line."""
    reasons = []
    if set(offered) & set(OF_PICTURES) and not question.images:
        reasons.append("it has no pictures")
    if set(offered) & set(OF_TEXT):
        kind = question.question_type
        reasons.append(
            f"no rule converts its type ({kind}) soundly" if TYPE in offered else "its text cannot be varied"
        )
        reasons[-1] += "" if model else " and there is no --model"
    return " and ".join(reasons) or "nothing is offered"
