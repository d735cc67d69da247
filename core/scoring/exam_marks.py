"""Marks of a run on the scales of exams: sums as the board makes them, percentiles, grades and their chances.

Contract: marks are means over trials, at worst and best. Of elective sections the best (or worst) sum is taken at each
end. `ci` adds the sampling of questions (`core.statistics`). A grade's chance is the confidence, by such intervals at
every level, that the mark lies between its limits. A percentile counts the people below, and half of those level.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple, TypedDict

from livek12.core.exams import Exam, ExamScale, ExamSection, ItemResults
from livek12.core.lazy import np
from livek12.core.scoring.comparison import once_each
from livek12.core.scoring.outcomes import Numbers, Outcomes, Table, tabulate
from livek12.core.scoring.schema import STATES, Parameters
from livek12.core.statistics import Floats, mean_interval, ratio_spread, t_quantile, t_tail
from livek12.core.text import compatible

_STEPS = 8
"""Marks between worst and best at which chances are taken."""
_SLACK = 1e-9


class ScaledMark(TypedDict):
    """A mark on the scale of a section.

    Attributes:
        name: of the section, or of a combination.
        depth: 0 for the whole exam.
        electives: the sections taken at worst and best, where there is a choice.
        ci: 95 %, with what is open; None for fewer than `min_questions`.
        percentile: at worst, at best, and at the ends of `ci`.
        chances: lowest and highest of each grade.
        sittings: at worst and best of each trial.
    """

    name: str
    depth: int
    electives: list[list[str]]
    points: float
    low: float
    high: float
    ci: list[float] | None
    percentile: list[float] | None
    grades: list[str] | None
    chances: dict[str, list[float]]
    sittings: list[list[float]]


class ItemFigures(TypedDict):
    """Correlation of the marks with people's rates; None without spread. `open` questions are left out."""

    questions: int
    open: int
    correlation: float | None
    ci: list[float] | None


class SharedErrors(TypedDict):
    """Wrong answers that are people's commonest wrong option; `chance`: their share under guessing."""

    wrong: int
    same: int
    share: float
    ci: list[float] | None
    chance: float


class ExamFigures(TypedDict):
    """An exam; without marks where needed questions were not asked."""

    name: str
    tasks: list[str]
    combination: Literal["best", "worst", "all"]
    trials: int
    missing: int
    rows: list[ScaledMark]
    combinations: list[ScaledMark]
    sources: list[str]
    items: ItemFigures | None
    errors: SharedErrors | None


class ChosenOption(NamedTuple):
    """An answer to a choice; `labels` are the question's, if stated."""

    question: str
    label: str
    key: str
    labels: frozenset[str]


def exam_figures(
    exam: Exam, outcomes: Outcomes, chosen: Callable[[set[str]], Iterable[ChosenOption]], parameters: Parameters
) -> ExamFigures:
    """Figures of an exam from its answers; `chosen` gives the options chosen in some questions."""
    answers = _Answers(exam, tabulate(once_each(outcomes)))
    complete = answers.sat(exam)
    items = {id: item for leaf in exam.leaves() for id, item in leaf.items.items() if id in answers.place}
    with_options = {id: item for id, item in items.items() if item.options}
    marker, level = _Marker(exam, answers, parameters), parameters.level
    listed = exam.combined() if exam.combination == "all" and complete else ()
    return ExamFigures(
        name=exam.name,
        tasks=sorted(outcomes.by_task()),
        combination=exam.combination,
        trials=answers.trials,
        missing=len({*exam.ids}) - len(answers.place),
        rows=list(marker.rows(exam)) if complete else [],
        combinations=[marker.combination(leaves) for leaves in listed if all(map(answers.sat, leaves))],
        sources=[source for source in dict.fromkeys(_sources(exam)) if source],
        items=_item_figures(answers, items, level),
        errors=_shared_errors(chosen({*with_options}), with_options, level) if with_options else None,
    )


def _sources(section: ExamSection) -> Iterator[str | None]:
    yield section.scale.source if section.scale else None
    for each in section.sections:
        yield from _sources(each)


class _Answers:
    """Answers by the `place` of their questions, on the exam's scale.

    `shares` and `means` (2, questions) are at worst and best, over the trials of `marks`; `off` is for wrong ones.
    """

    def __init__(self, exam: Exam, table: Table) -> None:
        self.trials = table.trials
        self.place = {question.id: place for place, question in enumerate(table.questions)}
        self.worth, self.off = np.zeros((2, len(self.place)))
        for leaf in exam.leaves():
            for place in (self.place[id] for id in leaf.questions if id in self.place):
                points = table.questions[place].points
                self.worth[place] = leaf.weight * (1.0 if points is None else points)
                self.off[place] = leaf.weight * leaf.wrong
        share = table.rows.findings.share[table.rows.finding].T
        wrong = (share <= 0) & (table.states != STATES.index("no_answer"))
        shares, self.marks = np.full((2, 2, len(self.place), table.trials), np.nan)
        shares[:, table.question, table.trial] = share
        self.marks[:, table.question, table.trial] = (
            share * self.worth[table.question] - wrong * self.off[table.question]
        )
        self.shares, self.means = np.nanmean(shares, axis=2), np.nanmean(self.marks, axis=2)

    def sat(self, section: ExamSection) -> bool:
        if section.questions:
            return self.place.keys() >= {*section.questions}
        return sum(map(self.sat, section.sections)) >= (section.take or len(section.sections))

    def places(self, leaves: Iterable[ExamSection]) -> list[int]:
        return [self.place[id] for leaf in leaves for id in leaf.questions]

    def end(self, leaves: Iterable[ExamSection], side: int, parameters: Parameters) -> _End | None:
        """Interval of a sum at worst (0) or at best (1); None for few questions."""
        places, level = self.places(leaves), parameters.level
        off, span = self.off[places], (self.worth + self.off)[places]
        if len(places) < parameters.min_questions or not span.any():
            return None
        spread = ratio_spread((self.means[side][places] + off)[:, None], span[:, None], level=level)
        share, low, high = (float(each[0]) for each in (spread.value, spread.low, spread.high))
        reach = low if share - low > high - share else high
        doubt = (share - reach) ** 2 / (reach * (1 - reach)) / float(t_quantile(np.array(len(places) - 1), level)) ** 2
        ends = (low * span.sum() - off.sum(), high * span.sum() - off.sum())
        return _End(share, doubt, len(places) - 1, -float(off.sum()), float(span.sum()), ends)

    def sittings(self, leaves: Iterable[ExamSection], side: int) -> list[float]:
        sums = self.marks[side][self.places(leaves)].sum(axis=0).tolist()
        return sums if self.trials > 1 and not any(map(math.isnan, sums)) else []


@dataclass(frozen=True)
class _Sum:
    mark: float
    leaves: tuple[ExamSection, ...]
    electives: tuple[str, ...] = ()


class _End(NamedTuple):
    """A sum as a share of the way from `floor` to full marks (`floor + span`), with its interval in marks.

    `doubt` is one over the effective number of questions.
    """

    share: float
    doubt: float
    freedom: int
    floor: float
    span: float
    reach: tuple[float, float]

    def at_least(self, limit: float) -> float:
        """Confidence that the mark is at least a limit: the score interval that ends there has it."""
        place = (limit - self.floor) / self.span
        if not 0 < place < 1:
            return 1.0 if place <= 0 else 0.5 * (self.share >= 1 and place == 1)
        z = (self.share - place) / math.sqrt(self.doubt * place * (1 - place))
        tail = t_tail(z, self.freedom) / 2
        return 1 - tail if z > 0 else tail

    def towards(self, other: _End, part: float) -> _End:
        between = [a + part * (b - a) for a, b in zip(self[:-1], other[:-1], strict=True)]
        return _End(between[0], between[1], round(between[2]), between[3], between[4], self.reach)


class _Marker:
    def __init__(self, exam: Exam, answers: _Answers, parameters: Parameters) -> None:
        self._exam, self._answers, self._parameters = exam, answers, parameters

    def rows(self, section: ExamSection, depth: int = 0) -> Iterator[ScaledMark]:
        if not self._answers.sat(section):
            return
        yield self._mark(section, section.name, depth, *(self._taken(section, means) for means in self._answers.means))
        for each in section.sections:
            yield from self.rows(each, depth + 1)

    def combination(self, leaves: tuple[ExamSection, ...]) -> ScaledMark:
        name = " + ".join(leaf.name for leaf in leaves)
        return self._mark(
            self._exam, name, 0, *(_Sum(self._sum(leaves, means), leaves) for means in self._answers.means)
        )

    def _taken(self, section: ExamSection, means: Floats) -> _Sum:
        if section.questions:
            return _Sum(self._sum((section,), means), (section,))
        sums = [(each.name, self._taken(each, means)) for each in section.sections if self._answers.sat(each)]
        names: tuple[str, ...] = ()
        if section.take is not None:
            sums.sort(key=lambda pair: pair[1].mark, reverse=self._exam.combination != "worst")
            sums = sums[: section.take]
            names = tuple(name for name, _ in sums)
        leaves = tuple(leaf for _, part in sums for leaf in part.leaves)
        inner = tuple(name for _, part in sums for name in part.electives)
        return _Sum(sum(part.mark for _, part in sums), leaves, (*names, *inner))

    def _sum(self, leaves: Iterable[ExamSection], means: Floats) -> float:
        return float(means[self._answers.places(leaves)].sum())

    def _mark(self, section: ExamSection, name: str, depth: int, low: _Sum, high: _Sum) -> ScaledMark:
        ends = [self._answers.end(part.leaves, side, self._parameters) for side, part in enumerate((low, high))]
        spreads = [end for end in ends if end is not None]
        marks = [low.mark, high.mark]
        ci = [spreads[0].reach[0], spreads[-1].reach[1]] if spreads else None
        scale = _OnScale(section.scale, section.points or 0.0) if section.scale else None
        chosen = list(dict.fromkeys(part.electives for part in (low, high)))
        return ScaledMark(
            name=name,
            depth=depth,
            electives=[list(names) for names in chosen if names],
            points=section.points or 0.0,
            low=low.mark,
            high=high.mark,
            ci=ci,
            percentile=scale.percentiles([*marks, *(ci or ())]) if scale else None,
            grades=[scale.grade(mark) for mark in marks] if scale and scale.limits else None,
            chances=scale.chances(spreads[0], spreads[-1]) if scale and spreads else {},
            sittings=[
                list(pair) for pair in zip(*map(self._answers.sittings, (low.leaves, high.leaves), (0, 1)), strict=True)
            ],
        )


class _OnScale:
    def __init__(self, scale: ExamScale, points: float) -> None:
        self._factor = (scale.of or points) / points if points else 1.0
        self.limits = {grade: limit / self._factor for grade, limit in scale.cutoffs.items()}
        self._below = f"< {[*scale.cutoffs][-1]}" if scale.cutoffs else ""
        self._people = sorted(scale.distribution.items())

    def percentiles(self, marks: Sequence[float]) -> list[float] | None:
        total = sum(count for _, count in self._people)
        if not total:
            return None
        return [
            100 * sum(count * _below(score, mark * self._factor) for score, count in self._people) / total
            for mark in marks
        ]

    def grade(self, mark: float) -> str:
        return next((grade for grade, limit in self.limits.items() if mark >= limit - _SLACK), self._below)

    def chances(self, worst: _End, best: _End) -> dict[str, list[float]]:
        steps = range(_STEPS + 1) if worst != best else range(1)
        chances = [self._chances(worst.towards(best, step / _STEPS)) for step in steps]
        return {
            grade: [min(each[grade] for each in chances), max(each[grade] for each in chances)] for grade in chances[0]
        }

    def _chances(self, end: _End) -> dict[str, float]:
        chances, above = {}, 0.0
        for grade, limit in self.limits.items():
            reached = end.at_least(limit)
            chances[grade], above = max(0.0, reached - above), max(above, reached)
        return chances | ({self._below: 1 - above} if self.limits else {})


def _below(score: float, mark: float) -> float:
    return 0.5 if abs(score - mark) <= _SLACK else float(score < mark)


def _item_figures(answers: _Answers, items: Mapping[str, ItemResults], level: float) -> ItemFigures | None:
    rated = [(answers.place[id], item.rate) for id, item in items.items() if item.rate is not None]
    if not rated:
        return None
    places = np.array([place for place, _ in rated])
    low, high = answers.shares[:, places]
    closed = high - low <= _SLACK
    model, people = low[closed], np.array([rate for _, rate in rated])[closed]
    r = float(np.corrcoef(model, people)[0, 1]) if len(model) > 1 and model.std() and people.std() else None
    figures = ItemFigures(questions=len(model), open=len(rated) - len(model), correlation=r, ci=None)
    if r is not None and len(model) > 3 and abs(r) < 1:
        reach = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(len(model) - 3)
        figures["ci"] = [math.tanh(math.atanh(r) - reach), math.tanh(math.atanh(r) + reach)]
    return figures


def _shared_errors(
    answers: Iterable[ChosenOption], items: Mapping[str, ItemResults], level: float
) -> SharedErrors | None:
    """None without a wrong answer whose question has a commonest wrong option."""
    same, chance, questions = list[float](), list[float](), Numbers[str]()
    clusters = list[int]()
    for answer in answers:
        people = {plain_label(label): share for label, share in items[answer.question].options.items()}
        labels = (answer.labels or frozenset(people)) - {answer.key}
        wrong = {label: people.get(label, 0.0) for label in labels}
        if answer.label not in labels or not any(wrong.values()):
            continue
        commonest = {label for label, share in wrong.items() if share == max(wrong.values())}
        same.append(answer.label in commonest)
        chance.append(len(commonest) / len(labels))
        clusters.append(questions[answer.question])
    if not same:
        return None
    share, low, high = mean_interval(np.array(same), clusters=np.array(clusters), level=level)
    return SharedErrors(
        wrong=len(same),
        same=int(sum(same)),
        share=share,
        ci=None if math.isnan(low) else [low, high],
        chance=sum(chance) / len(chance),
    )


def plain_label(label: str) -> str:
    """Label of an option without brackets and circles: "①", "(1)" and "1." are "1"."""
    return "".join(sign for sign in compatible(label) if sign.isalnum()).upper()
