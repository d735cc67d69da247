"""One rule in every engine: an answer may be as long as its budget allows and the context holds.

Contract: where a context is too small for a question and the budget of its answer together, the answer gets what fits,
and the first time a line says so. The request keeps the budget that was asked for: an answer that ended with "length"
after fewer tokens was cut off by the context, and reports count those.
"""

from __future__ import annotations

import logging

_log = logging.getLogger(__name__)


class Context:
    """The context of a model.

    Args:
        model: its name, for the line.
        size: tokens that it holds, question and answer together; None where that is not known (yet).
    """

    def __init__(self, model: str, size: int | None = None) -> None:
        self.size = size
        self._model = model
        self._said = False

    def left(self, question: int, wanted: int) -> int:
        """Tokens that may follow a question so long, of those wanted; none or fewer where it does not fit at all."""
        return wanted if self.size is None else min(wanted, self.size - question)

    def tell(self, question: int, wanted: int) -> None:
        """Says once that answers get less than is wanted, where a question leaves no room for that."""
        if not self._said and 0 < self.left(question, wanted) < wanted:
            self._said = True
            _log.warning(
                "%s: a question and an answer of up to %s tokens do not fit into %s: longer answers are cut off there,"
                " which the report counts (give the model a larger context, or ask for less with --max-tokens)",
                self._model,
                f"{wanted:,}",
                f"{self.size:,}",
            )
