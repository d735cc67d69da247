"""Agreement of a run's marks with human marks (LiveK12Bench, reliability of the judge).

Labelled answers that the run did not decide are in no coefficient, but in `accuracy_low` and `accuracy_high`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from livek12.core.agreement import binary_agreement, cohen_kappa, quadratic_kappa
from livek12.core.errors import UserError
from livek12.core.scoring import Row
from livek12.core.statistics import wilson_interval
from livek12.evaluation.studies.labels import Label, Stranger
from livek12.evaluation.studies.study import Study, number, share

EXAMPLES = 10
Marked = tuple[Label, Row, bool]
"""A label, its answer, and the person's right or wrong."""
Decided = tuple[Row, bool, bool]
"""An answer, and right or wrong by the person and by the run."""


def human_agreement(pairs: Sequence[tuple[Label, Row]], strangers: Sequence[Stranger] = ()) -> dict[str, Any]:
    """The run against each rater, and raters against each other, on right or wrong and on marks."""
    raters: defaultdict[str, list[Marked]] = defaultdict(list)
    for label, row in pairs:
        if label.correct is not None:
            raters[label.rater].append((label, row, label.correct))
    if not raters:
        raise UserError("no label is of a question of this run: labels name question_id (and trial, from 0)")
    return {
        "labels": len(pairs) + len(strangers),
        "not_in_this_run": len(strangers),
        "raters": {rater: _beside(marked) for rater, marked in sorted(raters.items())},
        "between_raters": _between(raters),
    }


def _beside(pairs: Sequence[Marked]) -> dict[str, Any]:
    decided = [
        (row, right, row.verdict.correct) for _, row, right in pairs if row.verdict and row.verdict.correct is not None
    ]
    agreement = binary_agreement([right for _, right, _ in decided], [correct for _, _, correct in decided])
    agreed, open_ = agreement["true_accepts"] + agreement["true_rejects"], len(pairs) - len(decided)
    return {
        "labelled": len(pairs),
        "decided": len(decided),
        "undecided": open_,
        **agreement,
        "accuracy_low": agreed / len(pairs),
        "accuracy_high": (agreed + open_) / len(pairs),
        "accuracy_ci": list(wilson_interval(agreed, len(decided))) if decided else None,
        "marks": _marks(pairs),
        "by_stage": _stages(decided),
        "examples": {
            "false_accepts": _examples(decided, accepted=True),
            "false_rejects": _examples(decided, accepted=False),
        },
    }


def _marks(pairs: Sequence[Marked]) -> dict[str, Any]:
    """Marks as shares of full marks, where label and verdict have numbers."""
    shares = [
        (label.share, row.verdict.points / row.verdict.max_points)
        for label, row, _ in pairs
        if label.share is not None and row.verdict and row.verdict.points is not None and row.verdict.max_points
    ]
    human, judge = [a for a, _ in shares], [b for _, b in shares]
    return {
        "n": len(shares),
        "quadratic_kappa": quadratic_kappa(human, judge),
        "mean_difference": sum(b - a for a, b in shares) / len(shares) if shares else None,
        "mean_absolute_difference": sum(abs(b - a) for a, b in shares) / len(shares) if shares else None,
    }


def _stages(decided: Sequence[Decided]) -> dict[str, dict[str, Any]]:
    """By deciding stage: counts, agreement with the human, and both kinds of errors."""
    stages: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for row, right, correct in decided:
        stages[decided_by(row)].append((right, correct))
    return {
        stage: {
            "decided": len(marks),
            "as_human": sum(a == b for a, b in marks),
            "precision_ci": list(wilson_interval(sum(a == b for a, b in marks), len(marks))),
            "false_accepts": sum(b and not a for a, b in marks),
            "false_rejects": sum(a and not b for a, b in marks),
        }
        for stage, marks in sorted(stages.items())
    }


def decided_by(row: Row) -> str:
    """Deciders of the parts of an answer, in order, without repetition."""
    parts = row.verdict.parts if row.verdict else []
    return "+".join(dict.fromkeys(part.decided_by for part in parts)) or "nothing to decide"


def _examples(decided: Sequence[Decided], accepted: bool) -> list[dict[str, Any]]:
    wrong = [row for row, right, correct in decided if correct is accepted and right is not accepted]
    return [
        {
            "question_id": row.question.id,
            "trial": row.trial,
            "decided_by": decided_by(row),
            "parts": [{"gold": part.gold, "answer": part.answer} for part in row.verdict.parts] if row.verdict else [],
        }
        for row in wrong[:EXAMPLES]
    ]


def _between(raters: Mapping[str, Sequence[Marked]]) -> dict[str, dict[str, Any]]:
    marks = {
        rater: {(row.task, row.question.id, row.trial): right for _, row, right in pairs}
        for rater, pairs in raters.items()
    }
    pairs_of = {}
    for a, b in combinations(sorted(marks), 2):
        shared = sorted(marks[a].keys() & marks[b].keys())
        kappa = cohen_kappa([marks[a][key] for key in shared], [marks[b][key] for key in shared])
        pairs_of[f"{a} / {b}"] = {"n": len(shared), "kappa": kappa}
    return pairs_of


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """The result in sentences."""
    for run, beside in result.items():
        for rater, marks in beside["raters"].items():
            agreed = marks["true_accepts"] + marks["true_rejects"]
            yield (
                f"{run} beside {'the labels' if rater == '(unnamed)' else rater}: of {marks['labelled']} labelled"
                f" answers the run decided {marks['decided']}, {agreed} of them as the person did"
                f"{share(marks['accuracy'], marks['accuracy_ci'])}; it accepted {marks['false_accepts']} that the"
                f" person rejected, and rejected {marks['false_rejects']} that the person accepted. Cohen's κ"
                f" {number(marks['kappa'])}."
            )


STUDY = Study("agreement", sentences)
