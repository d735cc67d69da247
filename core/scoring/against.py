"""Metrics beside the mark: how many answers a metric counts for more, and how many for less, than their mark.

Contract: an answer counts from nothing to full in each, its numerator over its weight; what is undecided in either is
told apart only where every outcome says the same. A metric of all trials of a question together (pass@k) is set beside
the mean mark of the question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from livek12.core.scoring.answers import Table
from livek12.core.scoring.formulas import Term, Terms
from livek12.core.scoring.schema import AgainstMark

if TYPE_CHECKING:
    from livek12.core.statistics import Floats

MARK = ("mark", "OCS")
"""Names of the mark itself."""
_EQUAL = 1e-9


def against_mark(terms: Terms, table: Table) -> dict[str, AgainstMark]:
    """Each metric that exists beside the mark; nothing where there is no mark."""
    mark = terms.get("mark")
    if not isinstance(mark, Term) or mark.absence():
        return {}
    return {
        name: _beside(term, mark, table)
        for name, term in terms.items()
        if name not in MARK and isinstance(term, Term) and not term.absence()
    }


def _beside(term: Term, mark: Term, table: Table) -> AgainstMark:
    import numpy as np

    low, high, weight = _values(term, table, not term.by_trial)
    mark_low, mark_high, mark_weight = _values(mark, table, not term.by_trial)
    there = (weight > 0) & (mark_weight > 0)
    more = there & (low > mark_high + _EQUAL)
    less = there & (high < mark_low - _EQUAL)
    decided = (np.abs(high - low) <= _EQUAL) & (np.abs(mark_high - mark_low) <= _EQUAL)
    same = there & decided & ~more & ~less
    return AgainstMark(
        unit="answer" if term.by_trial else "question",
        more=int(more.sum()),
        less=int(less.sum()),
        same=int(same.sum()),
        open=int((there & ~more & ~less & ~same).sum()),
    )


def _values(term: Term, table: Table, by_question: bool) -> tuple[Floats, Floats, Floats]:
    """What each answer counts at worst and at best, and its weight; of each question where that is asked for."""
    import numpy as np

    sums = [term.low, term.high, term.weight]
    if by_question:
        sums = [np.add.reduceat(array, table.begins[:-1]) for array in sums]
    low, high, weight = sums
    whole = np.where(weight > 0, weight, 1.0)
    return low / whole, high / whole, weight
