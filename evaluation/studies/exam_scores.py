"""Scores of exams with marking schemes (HiPhO, 2509.07894): by answers alone, and by the better of answer and steps.

Contract: `coarse` sums the points of right final answers, `fine` for each question the larger of answer and steps; both
are means over trials, at worst and best. Answers of questions with a scheme are decided by the rules. A medal is the
highest whose limit is reached.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.question_types import READER_TYPES
from livek12.core.records import Question
from livek12.core.schemes import is_by_scheme
from livek12.core.scoring import Row
from livek12.core.scoring.outcomes import outcome_bounds
from livek12.core.text import one_line
from livek12.evaluation.pairs import JudgedPair, rule_verdict
from livek12.evaluation.studies import Share, Study, mean_share
from livek12.judges.cascade import Cascade
from livek12.judges.grade import GradingConfig
from livek12.judges.recorded import RECORDED
from livek12.judges.scheme import bounds, by_rules, hold_needs
from livek12.report.marks import points
from livek12.tasks.extraction.regions import spoken
from livek12.tasks.registry import is_logged
from livek12.tasks.scorer import mark_response

Limits = Mapping[str, Mapping[str, float]]
"""Of each exam the points of each medal, the best first."""
NO_MEDAL = "none"


def medal_limits(texts: Sequence[str]) -> dict[str, dict[str, float]]:
    """Limits as `EXAM:MEDAL=POINTS,…`; UserError for other texts."""
    limits: dict[str, dict[str, float]] = {}
    for text in texts:
        exam, _, listed = text.rpartition(":")
        pairs = [entry.partition("=") for entry in listed.split(",")]
        try:
            medals = {name.strip(): float(limit) for name, _, limit in pairs if name.strip()}
        except ValueError:
            medals = {}
        if not exam or not medals or not all(map(math.isfinite, medals.values())):
            raise UserError(f"--medals {one_line(text, 80)!r}: write EXAM:gold=POINTS,silver=POINTS,bronze=POINTS")
        limits[exam.strip()] = dict(sorted(medals.items(), key=lambda medal: -medal[1]))
    return limits


def exam_scores(rows: Iterable[Row], cascade: Cascade, limits: Limits) -> dict[str, Any]:
    """Exams of a run: questions, full points, both scores, also by question type."""
    trials: defaultdict[tuple[str, str], list[tuple[Share, Share]]] = defaultdict(list)
    questions: dict[tuple[str, str], Question] = {}
    for row in rows:
        exam = row.question.exam or row.question.paper_id or row.question.release or "(no exam)"
        key = exam, row.question.id
        questions[key] = row.question
        trials[key].append(_scores(row, cascade))
    exams: defaultdict[str, list[tuple[Question, Share, Share]]] = defaultdict(list)
    for key, own in trials.items():
        coarse, fine = (mean_share(side) for side in zip(*own, strict=True))
        exams[key[0]].append((questions[key], coarse, fine))
    if unknown := limits.keys() - exams.keys():
        raise UserError(f"--medals: {min(unknown)} is no exam of the run; it has {', '.join(sorted(exams))}")
    return {exam: _figures(own, limits.get(exam, {})) for exam, own in sorted(exams.items())}


def _figures(scored: Sequence[tuple[Question, Share, Share]], medals: Mapping[str, float]) -> dict[str, Any]:
    kinds = grouped((entry[0].question_type_raw or entry[0].question_type, entry) for entry in scored)
    fine = _sum(scored, 2)
    return {
        "questions": len(scored),
        "with_scheme": sum(bool(question.scheme) for question, *_ in scored),
        "full": _full(scored),
        "coarse": _sum(scored, 1),
        "fine": fine,
        "by_type": {
            kind: {"questions": len(own), "full": _full(own), "coarse": _sum(own, 1), "fine": _sum(own, 2)}
            for kind, own in kinds.items()
        },
        **({"medal": [_medal(end, medals) for end in fine]} if medals else {}),
    }


def _medal(mark: float, medals: Mapping[str, float]) -> str:
    return next((name for name, limit in medals.items() if mark >= limit - 1e-9), NO_MEDAL)


def _full(scored: Sequence[tuple[Question, Share, Share]]) -> float:
    return round(math.fsum(_worth(question) for question, *_ in scored), 9)


def _sum(scored: Sequence[tuple[Question, Share, Share]], side: int) -> list[float]:
    return [round(math.fsum(_worth(entry[0]) * entry[side][end] for entry in scored), 9) for end in (0, 1)]  # type: ignore[index]


def _worth(question: Question) -> float:
    in_scheme = sum(criterion.points for criterion in question.scheme[0]) if question.scheme else 0.0
    return question.points or sum(question.part_points) or in_scheme or 1.0


def _scores(row: Row, cascade: Cascade) -> tuple[Share, Share]:
    share, _ = outcome_bounds(row)
    if not row.question.scheme or row.response is None or row.verdict is None:
        return share, share
    by_steps = is_by_scheme(row.question, row.verdict.parts) or RECORDED in row.verdict.judge
    answer = _by_answer(row, cascade) if by_steps else share
    steps = share if by_steps else _by_steps(row, cascade)
    return answer, (max(answer[0], steps[0]), max(answer[1], steps[1]))


def _by_answer(row: Row, cascade: Cascade) -> Share:
    assert row.response is not None
    question = row.question.model_copy(update={"scheme": [], "points": _worth(row.question)})
    if question.question_type in READER_TYPES or not any(gold.strip() for gold in question.answer):
        return 0.0, 0.0
    if is_logged(row.task):
        verdict = rule_verdict(JudgedPair(question.id, question, row.response), cascade)
    else:
        verdict = mark_response(question, row.response, GradingConfig(), cascade)
    return verdict.low / verdict.max_points, verdict.high / verdict.max_points


def _by_steps(row: Row, cascade: Cascade) -> Share:
    assert row.response is not None and row.verdict is not None
    parts = by_rules(row.question, spoken(row.response.text, row.question), row.verdict, cascade)
    low, high = bounds(row.question, hold_needs(row.question, parts))
    return min(1.0, low / _worth(row.question)), min(1.0, high / _worth(row.question))


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, exams in result.items():
        for exam, own in exams.items():
            medal = f"; medal: {' to '.join(dict.fromkeys(own['medal']))}" if "medal" in own else ""
            yield (
                f"{run}, {exam}: {_points(own['fine'])} of {points(own['full'])} points by answer or steps,"
                f" {_points(own['coarse'])} by answers alone{medal}."
            )


def _points(ends: Sequence[float]) -> str:
    return " to ".join(dict.fromkeys(points(end) for end in ends))


STUDY = Study("exam scores", _sentences, "How many points does each exam give?")
