"""Which questions may be shown to others: those with a licence that somebody reviewed."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
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


Name = tuple[str, str]
"""Benchmark and id of a question."""


def made_from(question: Question) -> list[Name]:
    """The questions that this one is a translation or a variant of: its key tells theirs."""
    others = (question.translation_of, question.variant.of if question.variant else None)
    return [(question.benchmark, other) for other in others if other]


def with_made(names: Iterable[Name], made: Mapping[Name, Collection[Name]]) -> set[Name]:
    """These questions, and all that was made of them; `made` names what was made of each directly."""
    found = set(names)
    left = list(found)
    while left:
        new = set(made.get(left.pop(), ())) - found
        found |= new
        left += new
    return found
