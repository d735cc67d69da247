"""The stages in their order, from cheap to dear: the first that decides has the word.

Equal comparisons are decided once (a bounded memory, shared by threads).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence

from livek12.judges.base import Comparison, Decision, Stage, undecided

REMEMBERED = 100_000
MAX_CHARS = 20_000
"""A key or an answer longer than this is prose for a reader, not a value to compare."""


class Cascade:
    """Asks its stages in turn; only what one leaves undecided goes on to the next."""

    def __init__(self, stages: Sequence[Stage], remembered: int = REMEMBERED) -> None:
        self.stages = tuple(stages)
        self._remembered = remembered
        self._known: OrderedDict[Comparison, Decision] = OrderedDict()
        self._lock = threading.Lock()

    def decide(self, comparison: Comparison) -> Decision:
        """The first decision of a stage; undecided with the stages' reasons when none decides."""
        with self._lock:
            if comparison in self._known:
                self._known.move_to_end(comparison)
                return self._known[comparison]
        decision = self._ask(comparison)
        with self._lock:
            self._known[comparison] = decision
            if len(self._known) > self._remembered:
                self._known.popitem(last=False)
        return decision

    def _ask(self, comparison: Comparison) -> Decision:
        if max(len(comparison.gold), len(comparison.answer)) > MAX_CHARS:
            return undecided("rules", "too long to compare by rule")
        reasons: list[str] = []
        for stage in self.stages:
            decision = stage.decide(comparison)
            if decision.decision != "undecided":
                return decision
            if decision.reason:
                reasons.append(f"{stage.name}: {decision.reason}")
        return undecided("rules", "; ".join(reasons) or "no rule applies")


def default_cascade() -> Cascade:
    """Choice letters, true or false, numbers, symbolic equality, text normal forms."""
    from livek12.judges.choice import ChoiceStage
    from livek12.judges.numeric import NumberStage
    from livek12.judges.symbolic import SymbolicStage
    from livek12.judges.text import TextStage
    from livek12.judges.true_false import TrueFalseStage

    return Cascade([ChoiceStage(), TrueFalseStage(), NumberStage(), SymbolicStage(), TextStage()])
