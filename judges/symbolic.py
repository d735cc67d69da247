"""Symbolic equality: key and answer are read as trees here and compared by sympy in a worker process.

What cannot be read, is too big or breaks a limit is undecided. Nothing is evaluated in this process.
"""

from __future__ import annotations

import re

from livek12.judges.base import Comparison, Decision, accept, reject, undecided
from livek12.judges.latex import parse
from livek12.judges.notation import bare
from livek12.judges.numeric import read_number
from livek12.judges.pool import Pool, shared_pool
from livek12.judges.tokens import Unparsable

NAME = "symbolic"


class SymbolicStage:
    """Accepts what is provably equal, rejects what is demonstrably different."""

    name = NAME

    def __init__(self, pool: Pool | None = None) -> None:
        self._pool = pool

    def decide(self, comparison: Comparison) -> Decision:
        """Accept, reject, or undecided with the reason."""
        if comparison.is_choice or _are_numbers(comparison):
            return undecided(NAME)
        try:
            gold, answer = parse(comparison.gold), parse(comparison.answer)
        except Unparsable as error:
            return undecided(NAME, str(error))
        if _comma_may_be_a_point(comparison.gold, comparison.answer):
            return undecided(NAME, "a comma that may be a decimal point")
        if gold == answer:
            return accept(NAME, "same expression")
        pool = self._pool or shared_pool()
        reply = pool.ask({"gold": gold, "answer": answer})
        if reply["decision"] == "accept":
            return accept(NAME, reply["reason"])
        return reject(NAME, reply["reason"]) if reply["decision"] == "reject" else undecided(NAME, reply["reason"])


def _are_numbers(comparison: Comparison) -> bool:
    """Whether both are plainly numbers: what the rule for them leaves open stays open."""
    return read_number(comparison.gold) is not None and read_number(comparison.answer) is not None


_COMMA = re.compile(r"[+-]?\d+,\d+")


def _comma_may_be_a_point(gold: str, answer: str) -> bool:
    """Whether one side is "1,22" and the other a single number."""
    texts = [bare(text).replace(" ", "") for text in (gold, answer)]
    commas = [_COMMA.fullmatch(text) is not None for text in texts]
    return commas[0] != commas[1] and read_number(texts[commas[0]]) is not None
