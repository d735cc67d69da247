"""The exam metrics from plain columns, for callers without records (the `evaluate` modules, notebooks)."""

from __future__ import annotations

from collections.abc import Sequence

from livek12.core.errors import UserError
from livek12.core.scoring.formulas import Answers, Term, exam_terms, presence_bounds, step_bounds
from livek12.core.scoring.schema import Parameters, Profile, parameters_of, profile_named

OPEN = (0.0, 1.0)
Score = dict[str, float | str | None]


def exam_scores(
    awarded: Sequence[float | None],
    possible: Sequence[float],
    *,
    correct: Sequence[bool | None] | None = None,
    tokens: Sequence[int | None] | None = None,
    presence: Sequence[tuple[float, float, float] | None] | None = None,
    steps: Sequence[Sequence[int] | None] | None = None,
    profile: Profile = "article",
    parameters: Parameters | None = None,
) -> dict[str, Score]:
    """Accuracy, mark, OCS, PES, OES, ARL and Acc≤r of n answers.

    Args:
        awarded: points of each answer; None: undecided, so that the metrics become intervals.
        possible: points of each question.
        correct: whether fully correct; None, as a whole or for one answer: where all points are awarded.
        tokens: completion tokens with thinking; None: not known.
        presence: mean presence (0 to 1) of CIE, LAE, DRE; None: not audited.
        steps: the number of erroneous steps that each critic lists, for profile `release`; None: not known, so that
            what depends on it lies between bounds.
        profile: `article` or `release`.
        parameters: constants; None: the profile's own.

    Returns:
        By metric `low`, `high` and `note`; both None with a note where the metric cannot be had.

    Raises:
        UserError: unknown profile, no answers, columns of unequal length, or an answer with more points than there are.
    """
    import numpy as np

    unknown = [None] * len(awarded)
    columns = {"possible": possible, "correct": correct, "tokens": tokens, "presence": presence, "steps": steps}
    for name, column in columns.items():
        if not awarded or (column is not None and len(column) != len(awarded)):
            raise UserError(f"{len(awarded)} answers with points need as many values in {name!r}, at least one")
    for index, (points, worth) in enumerate(zip(awarded, possible, strict=True)):
        if not 0 <= (points or 0) <= worth or worth <= 0:
            raise UserError(f"answer {index} has {points} of {worth} points: give it 0 to all of a positive number")
    shares = [None if p is None else p / worth for p, worth in zip(awarded, possible, strict=True)]
    right = [
        share == 1 if share is not None and known is None else known
        for share, known in zip(shares, correct or unknown, strict=True)
    ]
    audits = presence or unknown
    listed = [None if not counts else _shares(counts) for counts in steps or unknown]
    answers = Answers(
        points=np.asarray(possible, dtype=np.float64),
        share=np.array([OPEN if s is None else (s, s) for s in shares]).T.copy(),
        correct=np.array([OPEN if c is None else (float(c), float(c)) for c in right]).T.copy(),
        presence=presence_bounds(audits),
        steps=step_bounds([None if a is None else (a, found) for a, found in zip(audits, listed, strict=True)]),
        tokens=np.array([_count(t, c) for t, c in zip(tokens or unknown, right, strict=True)]),
        came=np.ones(len(awarded), dtype=np.bool_),
    )
    named = profile_named(profile)
    terms = exam_terms(answers, named, parameters or parameters_of(named))
    return {name: _score(term) for name, term in terms.items()}


def _shares(counts: Sequence[int]) -> tuple[float, float]:
    """Shares of the critics that list at least one, and at least two, erroneous steps."""
    return sum(c >= 1 for c in counts) / len(counts), sum(c >= 2 for c in counts) / len(counts)


def _count(tokens: int | None, correct: bool | None) -> float:
    """A token count as a number; one of 0 is possible for a wrong answer only."""
    known = tokens is not None and (tokens >= 1 or (tokens == 0 and correct is False))
    return float(tokens or 0) if known else float("nan")


def _score(term: Term | str) -> Score:
    reason = term if isinstance(term, str) else term.absence()
    if reason is not None or isinstance(term, str):
        return {"low": None, "high": None, "note": reason}
    low, high = (term.scale * float(side.sum() / term.weight.sum()) for side in (term.low, term.high))
    return {"low": low, "high": high, "note": term.note}
