"""People's marks by the criteria of a marking scheme."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Key, Question, SchemeCriterion, Verdict
from livek12.core.run.markings import Wording
from livek12.core.schemes import criteria_of
from livek12.judges.base import Decision, undecided
from livek12.judges.grade import GradingConfig, total
from livek12.judges.scheme import marks_of
from livek12.report.marks import points
from livek12.report.markup import render_answer


def mark_by_criteria(question: Question, given: Any) -> Verdict:
    """The verdict of a person's points by criterion; those without are open.

    Raises:
        UserError: a criterion that the scheme lacks, or a mark that it does not give.
    """
    if not isinstance(given, Mapping) or not all(type(mark) in (int, float) for mark in given.values()):
        raise UserError("marks by criteria are points by criterion")
    criteria = {criterion.id: criterion for criterion in criteria_of(question)}
    if unknown := given.keys() - criteria.keys():
        raise UserError(f"{question.id}: its scheme has no criterion {min(unknown)[:40]!r}")
    parts = []
    for id, criterion in criteria.items():
        mark = given.get(id)
        if mark is not None and mark not in (marks := marks_shown(criterion)):
            listed = ", ".join(map(points, marks))
            raise UserError(f"{question.id}: criterion {id} gives {listed} points, not {mark:g}")
        if mark is None:
            decision = undecided("person", "open")
        else:
            full = mark == criterion.points
            decision = Decision("accept" if full else "reject", mark / criterion.points, "person")
        parts.append(decision.verdict(id, criterion.text, None))
    return total(question, Key(task="", question_id=question.id), parts, GradingConfig())


def points_by_criteria(question: Question, given: Any) -> dict[str, Any]:
    """The fields of a label by its criteria.

    Raises:
        UserError: a mark that there is not, or criteria that still matter are open.
    """
    if not question.scheme:
        raise UserError(f"{question.id}: has no marking scheme to mark by")
    verdict = mark_by_criteria(question, given)
    if verdict.points is None:
        open_ids = [part.name or "" for part in verdict.parts if part.score is None]
        raise UserError(f"mark criterion {', '.join(open_ids)}: {points(verdict.low)} to {points(verdict.high)} points")
    share = verdict.points / verdict.max_points
    return {"score": verdict.points, "max_score": verdict.max_points, "correct": share == 1}


def marks_shown(criterion: SchemeCriterion) -> list[float]:
    """All marks that a criterion may get, the most first."""
    return [criterion.points, *reversed(marks_of(criterion)), 0.0]


def criteria_view(question: Question, mended: Mapping[str, Wording]) -> list[dict[str, Any]]:
    """The criteria of a question for the page, with the alternative (from 1) of each."""
    return [
        {
            "id": criterion.id,
            "alternative": number if len(question.scheme) > 1 else 0,
            "text": (text := mended[criterion.id].text if criterion.id in mended else criterion.text),
            "html": render_answer(text),
            "marks": marks_shown(criterion),
            "notes": [
                render_answer(f"{sign}{points(mark.points)}: {mark.text}")
                for sign, marks in (("", criterion.partial), ("−", criterion.deduct))
                for mark in marks
            ],
            "kind": criterion.kind or "",
            "needs": criterion.needs,
            "mended": mended[criterion.id].by if criterion.id in mended else "",
        }
        for number, criteria in enumerate(question.scheme, 1)
        for criterion in criteria
    ]
