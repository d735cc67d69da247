"""Agreement of reviewers on questions that both decided.

Contract: settlements do not change decisions. Undefined coefficients are None.
"""

from __future__ import annotations

from itertools import combinations

from livek12.core.agreement import cohen_kappa
from livek12.core.records import Record
from livek12.dataset_builders.review.board import Board


class ReviewAgreement(Record):
    """Agreement of two reviewers.

    Attributes:
        n: questions both decided.
        same: of those, equal verdicts.
        kappa: Cohen's κ of the verdicts.
        same_answer: of those both accepted, equal answers.
        answer_kappa: Cohen's κ of accepted answers, as nominal labels.
    """

    a: str
    b: str
    n: int
    same: int
    kappa: float | None
    both_accepted: int
    same_answer: int
    answer_kappa: float | None


def agreements(board: Board) -> list[ReviewAgreement]:
    """Returns the agreement of every two reviewers with a decided question in common, by name."""
    decided = [(entry, made) for entry in board.live() if len(made := entry.decided()) > 1]
    names = sorted({by for _, made in decided for by in made})
    pairs = []
    for a, b in combinations(names, 2):
        common = [(entry, made) for entry, made in decided if a in made and b in made]
        if not common:
            continue
        verdicts = [(made[a].verdict, made[b].verdict) for _, made in common]
        answers = [
            tuple(tuple(" ".join(value.split()) for value in entry.copy(by).form.answer) for by in (a, b))
            for entry, made in common
            if made[a].verdict == made[b].verdict == "accepted"
        ]
        pairs.append(
            ReviewAgreement(
                a=a,
                b=b,
                n=len(common),
                same=sum(x == y for x, y in verdicts),
                kappa=cohen_kappa(*map(list, zip(*verdicts, strict=True))),
                both_accepted=len(answers),
                same_answer=sum(x == y for x, y in answers),
                answer_kappa=cohen_kappa([x for x, _ in answers], [y for _, y in answers]),
            )
        )
    return pairs
