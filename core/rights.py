"""Which questions may be shown to others: those with a licence that somebody reviewed."""

from __future__ import annotations

from typing import Final

from livek12.core.records import Question

REVIEWED: Final = ("accepted", "upstream")
NOT_STATED: Final = frozenset(
    {"", "none", "unknown", "not stated", "no licence stated", "no license stated", "n/a", "?"}
)
"""What sources write where they state no licence, in lower case."""


def refusal(question: Question) -> str:
    """Why a question may not be shown; "" where it may."""
    if question.review.state not in REVIEWED:
        return "rejected in review" if question.review.state == "rejected" else "nobody reviewed it"
    licence = (question.source.licence or "").strip().lower()
    return "no licence stated" if licence in NOT_STATED else ""
