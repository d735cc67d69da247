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
    return "" if is_stated(question.source.licence) else "no licence stated"


def is_stated(licence: str | None) -> bool:
    """Whether what a row says of its licence is one."""
    return (licence or "").strip().lower() not in NOT_STATED
