"""MarkPair in points beside people's: how far off, how often the same, biased where, and how criteria agree.

An open mark is an interval. It is in no mean or coefficient, but in the bounds at worst and best, and in the coverage:
the share of intervals that hold the person's mark. QWK is of points; `qwk_share` of shares of full marks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from livek12.core.errors import UserError
from livek12.core.records import Question, Verdict
from livek12.core.schemes import criteria_of, is_by_scheme
from livek12.core.scoring import Row
from livek12.core.statistics import binary_agreement, cohen_kappa, quadratic_kappa
from livek12.core.text import one_line
from livek12.evaluation.studies import Study, number, percent
from livek12.evaluation.studies.labels import UNNAMED, Label, Stranger
from livek12.judges.base import Decision
from livek12.judges.grade import GradingConfig, total
from livek12.judges.recorded import outcome_of
from livek12.report.marks import rounded

NEAR = 1.0
"""Points within which a mark is near."""
BANDS = ("nothing", "below a third", "a third to two thirds", "above two thirds", "full marks")
_SAME = 1e-6


CriterionMarks = tuple[tuple[str, str], str, float, float, float]
"""Id and text of a criterion, its kind, the points of each mark, and full points."""


@dataclass(frozen=True)
class MarkPair:
    """Two marks of one answer, `given` and the bounds of the other, and of the criteria that both decided."""

    given: float
    low: float
    high: float
    full: float
    criteria: tuple[CriterionMarks, ...] = ()

    @property
    def is_open(self) -> bool:
        """True for an interval."""
        return self.high - self.low > _SAME

    @property
    def worst(self) -> float:
        """The largest possible difference."""
        return max(abs(self.low - self.given), abs(self.high - self.given))

    @property
    def best(self) -> float:
        """The smallest possible difference."""
        return max(self.low - self.given, self.given - self.high, 0.0)


def scheme_marks(pairs: Sequence[tuple[Label, Row]], strangers: Sequence[Stranger] = ()) -> dict[str, Any]:
    """The run beside each rater, and raters beside each other."""
    raters: defaultdict[str, dict[tuple[str, str, int], tuple[Label, Row]]] = defaultdict(dict)
    for label, row in pairs:
        if label.share is not None or label.criteria:
            raters[label.rater][row.task, row.question.id, row.trial] = label, row
    if not raters:
        raise UserError("no label gives points of a question of this run: labels have score and max_score, or criteria")
    beside = {
        rater: _figures([_beside(label, row) for label, row in marked.values() if row.verdict])
        for rater, marked in sorted(raters.items())
    }
    between = {}
    for a, b in combinations(sorted(raters), 2):
        shared = [(raters[a][key], raters[b][key][0]) for key in raters[a] if key in raters[b]]
        if shared:
            between[f"{a} / {b}"] = _figures([_between(own, other, row) for (own, row), other in shared])
    return {
        "labels": len(pairs) + len(strangers),
        "not_in_this_run": len(strangers),
        "raters": beside,
        "between_raters": between,
    }


def _figures(marks: Sequence[MarkPair]) -> dict[str, Any]:
    decided, intervals = [mark for mark in marks if not mark.is_open], [mark for mark in marks if mark.is_open]
    given, other = [mark.given for mark in decided], [mark.low for mark in decided]
    shares = [mark.given / mark.full for mark in decided], [mark.low / mark.full for mark in decided]
    apart = [abs(a - b) for a, b in zip(given, other, strict=True)]
    full = [mark.full for mark in marks]
    worst, best = [mark.worst for mark in marks], [mark.best for mark in marks]
    return {
        "answers": len(marks),
        "decided": len(decided),
        "open": len(intervals),
        "mae_points": _mean(apart),
        "mae_points_bounds": [_mean(best), _mean(worst)],
        "mae_share": _mean([difference / mark.full for difference, mark in zip(apart, decided, strict=True)]),
        "mae_share_bounds": [_mean([d / f for d, f in zip(end, full, strict=True)]) for end in (best, worst)],
        "exact": _mean([float(difference <= _SAME) for difference in apart]),
        "exact_bounds": [_mean([float(d <= _SAME) for d in end]) for end in (worst, best)],
        "within_one": _mean([float(difference <= NEAR + _SAME) for difference in apart]),
        "within_one_bounds": [_mean([float(d <= NEAR + _SAME) for d in end]) for end in (worst, best)],
        "qwk": quadratic_kappa(given, other),
        "qwk_share": quadratic_kappa(*shares),
        "bias_points": _mean([b - a for a, b in zip(given, other, strict=True)]),
        "bias_share": _mean([b - a for a, b in zip(*shares, strict=True)]),
        "intervals": {
            "answers": len(intervals),
            "covered": _mean([float(mark.best <= _SAME) for mark in intervals]),
            "mean_width_share": _mean([(mark.high - mark.low) / mark.full for mark in intervals]),
        },
        "covered": _mean([float(mark.best <= _SAME) for mark in marks]),
        "bands": _bands(decided),
        **_criteria(marks),
    }


def _bands(decided: Sequence[MarkPair]) -> dict[str, Any]:
    bands: dict[str, list[float]] = {band: [] for band in BANDS}
    for mark in decided:
        bands[_band(mark.given / mark.full)].append((mark.low - mark.given) / mark.full)
    return {
        band: {"answers": len(own), "bias_share": _mean(own), "mae_share": _mean([abs(apart) for apart in own])}
        for band, own in bands.items()
    }


def _band(share: float) -> str:
    ends = (_SAME, 1 / 3, 2 / 3 + _SAME, 1 - _SAME)
    return BANDS[sum(share >= end for end in ends)]


def _criteria(marks: Sequence[MarkPair]) -> dict[str, Any]:
    by_kind: defaultdict[str, list[tuple[float, float, float]]] = defaultdict(list)
    each: defaultdict[tuple[str, str], list[tuple[float, float, float]]] = defaultdict(list)
    for mark in marks:
        for name, kind, *points in mark.criteria:
            own = points[0], points[1], points[2]
            each[name].append(own)
            by_kind[kind].append(own)
    everything = [points for own in each.values() for points in own]
    if not everything:
        return {}
    answers = [[abs(a - b) <= _SAME for *_, a, b, _ in mark.criteria] for mark in marks if mark.criteria]
    macro = [_alike(own)["f1"] for own in each.values()]
    return {
        "criteria": {
            **_alike(everything),
            "answers": len(answers),
            "all_the_same": _mean([float(all(same)) for same in answers]),
            "mean_agreement": _mean([sum(same) / len(same) for same in answers]),
            "macro_f1": _mean([value for value in macro if value is not None]),
        },
        "by_kind": {kind: _alike(own) for kind, own in sorted(by_kind.items())},
        "by_criterion": {f"{id} {one_line(text, 60)}": _alike(own) for (id, text), own in each.items()},
    }


def _alike(points: Sequence[tuple[float, float, float]]) -> dict[str, Any]:
    earned = [[mark >= full - _SAME for mark in own] for *own, full in points]
    whole = binary_agreement([a for a, _ in earned], [b for _, b in earned])
    lost = binary_agreement([not a for a, _ in earned], [not b for _, b in earned])
    return {
        "decisions": len(points),
        "agreement": _mean([float(abs(a - b) <= _SAME) for a, b, _ in points]),
        "kappa": cohen_kappa([a / full for a, _, full in points], [b / full for _, b, full in points]),
        **{name: whole[name] for name in ("precision", "recall", "f1")},
        "f1_of_lost": lost["f1"],
    }


def _beside(label: Label, row: Row) -> MarkPair:
    assert row.verdict is not None
    verdict = row.verdict
    given, by_people = _given(label, row)
    scores: Mapping[str | None, float | None] = {}
    if is_by_scheme(row.question, verdict.parts):
        scores = {part.name: part.score for part in verdict.parts}
    other = {id: score for id, score in scores.items() if score is not None}
    both = _both(row.question, by_people, {str(id): score for id, score in other.items()})
    low, high = (0.0, 0.0) if row.state == "no_answer" else (verdict.low, verdict.high)
    return MarkPair(given, low, high, verdict.max_points, both)


def _between(own: Label, other: Label, row: Row) -> MarkPair:
    (given, first), (mark, second) = _given(own, row), _given(other, row)
    return MarkPair(given, mark, mark, _full(row), _both(row.question, first, second))


def _full(row: Row) -> float:
    return row.verdict.max_points if row.verdict else row.question.points or 1.0


def _given(label: Label, row: Row) -> tuple[float, dict[str, float]]:
    criteria = {criterion.id: criterion for criterion in criteria_of(row.question)}
    where = f"{label.place}: {one_line(label.question_id, 80)}"
    for id, points in label.criteria.items():
        if id not in criteria:
            raise UserError(f"{where}: criterion {one_line(id, 40)!r} is none of its scheme")
        if points > criteria[id].points + _SAME:
            raise UserError(f"{where}: criterion {id} has {points:g} of {criteria[id].points:g} points")
    shares = {id: points / criteria[id].points for id, points in label.criteria.items()}
    if label.share is not None:
        return label.share * _full(row), shares
    verdict = _of_criteria(row, shares)
    if verdict.points is None:
        raise UserError(
            f"{where}: its criteria leave the mark open ({verdict.low:g} to {verdict.high:g}); give a score"
        )
    return verdict.points / verdict.max_points * _full(row), shares


def _of_criteria(row: Row, shares: Mapping[str, float]) -> Verdict:
    parts = []
    for criterion in criteria_of(row.question):
        share = shares.get(criterion.id)
        decision = Decision(outcome_of(share), share, "person")
        parts.append(decision.verdict(criterion.id, criterion.text, None))
    assert row.response is not None
    return total(row.question, row.response.key, parts, GradingConfig())


def _both(question: Question, a: Mapping[str, float], b: Mapping[str, float]) -> tuple[CriterionMarks, ...]:
    return tuple(
        ((c.id, c.text), c.kind or "none named", a[c.id] * c.points, b[c.id] * c.points, c.points)
        for c in criteria_of(question)
        if c.id in a and c.id in b
    )


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _sentences(result: Mapping[str, Any]) -> Iterator[str]:
    for run, beside in result.items():
        for rater, own in beside["raters"].items():
            yield f"{run} beside {'the labels' if rater == UNNAMED else rater}: {_sentence(own)}"
            if own["open"]:
                covered = own["intervals"]["covered"]
                yield (
                    f"{own['open']} marks are intervals, of which {percent(covered)} hold the person's mark; with them"
                    f" {_ends(own['exact_bounds'])} are exact."
                )
            if criteria := own.get("criteria"):
                yield (
                    f"Of {criteria['decisions']} criteria that both decided, {percent(criteria['agreement'])} have the"
                    f" same points, κ {number(criteria['kappa'])}."
                )
        for pair, own in beside["between_raters"].items():
            yield f"{pair}: {_sentence(own)}"


def _sentence(own: Mapping[str, Any]) -> str:
    if not own["decided"]:
        return f"{own['answers']} answers with labels, none of them with a decided mark."
    return (
        f"{own['decided']} answers with marks of both: mean absolute error {rounded(own['mae_points'], 2)} points"
        f" ({percent(own['mae_share'])} of full marks), {percent(own['exact'])} exact, {percent(own['within_one'])}"
        f" within one point, QWK {number(own['qwk'])}, bias {rounded(own['bias_points'], 2)} points."
    )


def _ends(bounds: Sequence[float]) -> str:
    low, high = map(percent, bounds)
    return low if low == high else f"{low} to {high}"


STUDY = Study("marks beside people's", _sentences, "How good are the marks, beside people's?")
