"""Marks corrected for the judge's errors, from a sample of answers that people labelled.

With strata s of the decided answers (`label_plan`), weights W_s, and d_s the weighted mean of person minus judge, the
corrected mark is θ = Σ_s W_s · (mean of the judge in s + d_s). Its interval is that of the corrected answers over the
sampled questions (`core.statistics`: by paper from four papers on, set as far apart as people would have them), widened
by the variance of the labels, Σ_s W_s² · σ²_s / n_s (stratified two-phase sampling; Särndal, Swensson and Wretman 1992,
chapter 9). Labels without a disagreement do not prove a perfect judge: half an error is added to each stratum of
models, and to rules the judge card's rate; rules without labels take the upper end of that rate as two standard
deviations. A stratum of models needs two labels. Undecided answers are not corrected: the mark is given with all of
them at nothing and at full marks. Several labels of an answer are averaged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import hypot, sqrt
from typing import Any

from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.lazy import np
from livek12.core.scoring import Row
from livek12.core.scoring.schema import Estimate, parameters_of
from livek12.core.statistics import mean_interval, t_quantile, wilson_interval
from livek12.evaluation.studies import Study, span
from livek12.evaluation.studies.labels import (
    MODELS,
    NOTHING,
    RULES,
    UNDECIDED,
    Judged,
    Key,
    Label,
    Stranger,
    judged,
    rules_record,
)
from livek12.report.marks import rounded

FEWEST = 2
CARD_FREEDOM = 60.0
"""Degrees of freedom of a bound from the judge card."""
WEAKEST = 0.5
"""Lower bound of a judge's power: few labels may show any."""
CARD_WORTH = 20.0
"""Labels that the judge card's bound counts for, against labels of the rules' own answers."""


@dataclass(frozen=True)
class Stratum:
    """One stratum: `share` of all weight, counts of answers and labels, mean of the judge.

    `shift` is person minus judge (0 without labels), with its variance and freedom.
    """

    name: str
    share: float
    answers: int
    labels: int
    judge: float
    shift: float
    variance: float
    freedom: float


def corrected_study(
    rows: Iterable[Row],
    labelled: tuple[Sequence[tuple[Label, Row]], Sequence[Stranger]],
    plan: Mapping[Key, str] | None = None,
    metric: str = "accuracy",
) -> dict[str, Any]:
    """Corrected mark of each labelled task (`fit_labels`).

    `plan` is the stratum of each planned answer: other labels are left out, as their selection is unknown. None: all
    labels count, as a random draw.

    Raises:
        UserError: no label is of this run, the plan is of other verdicts, or a stratum of models has too few labels.
    """
    labels, outside = _said(labelled[0], plan, metric)
    if not labels:
        raise UserError("no label says of an answer of this run (and of its plan) whether it is right")
    tasks, open_labels = {}, 0
    for task, answers in judged(rows, metric).items():
        own = {answer.key: labels[answer.key] for answer in answers if answer.key in labels}
        _check_plan(answers, plan or {})
        not_used = [a.key for a in answers if a.key in own and a.stratum in (UNDECIDED, NOTHING)]
        open_labels += len(not_used)
        if len(own) > len(not_used):
            tasks[task] = corrected(answers, own)
    if not tasks:
        raise UserError("all labels are of undecided answers, or of questions without one: there is nothing to correct")
    left_out = {"labels_left_out": outside, "labels_of_open_answers": open_labels}
    return {"metric": metric, **left_out, "not_in_this_run": len(labelled[1]), "tasks": tasks}


def _said(
    pairs: Sequence[tuple[Label, Row]], plan: Mapping[Key, str] | None, metric: str
) -> tuple[dict[Key, float], int]:
    shares: defaultdict[Key, list[float]] = defaultdict(list)
    outside = 0
    for label, row in pairs:
        value = label.share if metric == "mark" and label.share is not None else label.correct
        key = row.task, row.question.id, row.trial
        if value is None:
            continue
        if plan is not None and key not in plan:
            outside += 1
        else:
            shares[key].append(float(value))
    return {key: sum(values) / len(values) for key, values in shares.items()}, outside


def _check_plan(answers: Iterable[Judged], plan: Mapping[Key, str]) -> None:
    for answer in answers:
        if plan.get(answer.key, answer.stratum) != answer.stratum:
            raise UserError(
                f"{'/'.join(map(str, answer.key))}: was planned as “{plan[answer.key]}” and is “{answer.stratum}” now:"
                " the run was judged again since; make a new plan"
            )


def corrected(answers: Sequence[Judged], labels: Mapping[Key, float]) -> dict[str, Any]:
    """Corrected mark of one task, as shares; `said`: people's shares of the labelled answers."""
    total = sum(answer.weight for answer in answers)
    groups = grouped((answer.stratum, answer) for answer in answers)
    strata = [_stratum(name, groups[name], labels, total) for name in (RULES, *MODELS) if groups[name]]
    shifts = {stratum.name: stratum.shift for stratum in strata}
    judge = sum(answer.low * answer.weight for answer in answers) / total
    open_share = sum(answer.weight for answer in groups[UNDECIDED]) / total
    spread = [(stratum.share**2 * stratum.variance, stratum.freedom) for stratum in strata]
    reach = _reach(spread)
    power = _power(groups, labels)
    ends = [_mark(answers, shifts, total, best, reach, power) for best in (False, True)]
    return {
        "labels": sum(stratum.labels for stratum in strata),
        "undecided": open_share,
        "judge": [judge, judge + sum((a.high - a.low) * a.weight for a in groups[UNDECIDED]) / total],
        "corrected": [end[0] for end in ends],
        "interval": [ends[0][1], ends[1][2]],
        "judge_alone": reach,
        "rogan_gladen": _rogan_gladen([a for a in answers if a.stratum != UNDECIDED], labels),
        "strata": {stratum.name: _shown(stratum) for stratum in strata},
        "no_answer": len(groups[NOTHING]),
    }


def _stratum(name: str, answers: Sequence[Judged], people: Mapping[Key, float], total: float) -> Stratum:
    weight = sum(answer.weight for answer in answers)
    judge = sum(answer.low * answer.weight for answer in answers) / weight
    pairs = [(people[a.key] - a.low, a.weight) for a in answers if a.key in people]
    share, size = weight / total, len(answers)
    decided, wrong = rules_record()
    bound = wilson_interval(wrong, decided)[1]
    if name == RULES and not pairs:
        return Stratum(name, share, size, 0, judge, 0.0, (bound / 2) ** 2, CARD_FREEDOM)
    if len(pairs) < FEWEST and name != RULES:
        raise UserError(
            f"“{name}” has {len(pairs)} label{'s' * (len(pairs) != 1)} for its {size} answers and needs {FEWEST} or"
            " more: `livek12 label-plan RUN` chooses answers of every stratum"
        )
    of = sum(w for _, w in pairs)
    shift = sum(r * w for r, w in pairs) / of
    n = of**2 / sum(w**2 for _, w in pairs)
    seen = sum(w * (r - shift) ** 2 for r, w in pairs) / of * len(pairs) / max(1, len(pairs) - 1)
    added, worth = (CARD_WORTH * bound, CARD_WORTH) if name == RULES else (0.5, 1.0)
    freedom = len(pairs) - 1 + (CARD_WORTH if name == RULES else 0.0)
    rate = (sum(w * r**2 for r, w in pairs) / of * n + added) / (n + worth)
    return Stratum(name, share, size, len(pairs), judge, shift, max(seen, rate * (1 - rate)) / n, freedom)


def _power(groups: Mapping[str, Sequence[Judged]], labels: Mapping[Key, float]) -> float:
    """Slope of the judge's mark on the person's, from weighted labels; unlabelled answers count as right.

    For right and wrong only it is sensitivity + specificity - 1: the part of a difference between papers that a judge
    shows.
    """
    rows = []
    for name in (RULES, *MODELS):
        answers = [a for a in groups.get(name, ()) if a.key in labels] or groups.get(name, ())
        stands = sum(a.weight for a in groups.get(name, ())) / max(sum(a.weight for a in answers), 1e-9)
        rows += [(a.weight * stands, a.low, labels.get(a.key, a.low)) for a in answers]
    weights, judge, person = np.array(rows).T
    person = person - np.average(person, weights=weights)
    spread = float((weights * person**2).sum())
    return min(1.0, max(WEAKEST, float((weights * person * judge).sum()) / spread)) if spread else 1.0


def _mark(
    answers: Sequence[Judged], shifts: Mapping[str, float], total: float, best: bool, reach: float, power: float
) -> tuple[float, float, float]:
    values = np.array([(a.high if best else a.low) + shifts.get(a.stratum, 0.0) for a in answers])
    weights = np.array([a.weight for a in answers])
    mark = min(1.0, max(0.0, float((values * weights).sum()) / total))
    fewest = parameters_of("article").min_papers
    by_paper = all(a.paper for a in answers) and len({a.cluster for a in answers}) >= fewest
    values = np.clip(values, 0.0, 1.0)
    questions = np.unique([a.key[1] for a in answers], return_inverse=True)[1]
    papers = np.unique([a.cluster for a in answers], return_inverse=True)[1]
    sampled, low, high = mean_interval(values, weights, papers if by_paper else questions)
    if np.isnan(low):
        low, high = 0.0, 1.0  # one question alone
    below, above = sampled - low, high - sampled
    if by_paper:
        _, least, most = mean_interval(values, weights, questions)
        below, above = _unshrunk(below, sampled - least, power), _unshrunk(above, most - sampled, power)
    # The two doubts are of different draws: their reaches add up as sides of a right angle do (Zou & Donner 2008).
    return mark, max(0.0, mark - hypot(below, reach)), min(1.0, mark + hypot(above, reach))


def _unshrunk(reach: float, alone: float, power: float) -> float:
    """Reach of a mean by papers, had people marked the papers.

    A judge's errors shrink what papers add: a shift for all answers of a stratum corrects the mean alone.
    """
    return sqrt(alone**2 + (reach**2 - alone**2) / power**2) if reach > alone else reach


def _reach(spread: Sequence[tuple[float, float]]) -> float:
    """Half the 95 % interval from the judge's errors alone."""
    variance = sum(part for part, _ in spread)
    freedom = variance**2 / sum(part**2 / of for part, of in spread) if variance else 1.0
    return float(t_quantile(np.array(max(1.0, freedom)), 0.95)) * sqrt(variance)


def _rogan_gladen(answers: Sequence[Judged], labels: Mapping[Key, float]) -> dict[str, Any] | None:
    """Rogan & Gladen (1978): the mark of decided answers from the judge's sensitivity and specificity.

    Weighted labels; rules without labels count as right. The interval is equation 3, half an error added to either.
    None with partial marks; `value` None for a judge no better than chance.
    """
    total = sum(answer.weight for answer in answers)
    if any(a.low not in (0, 1) for a in answers) or any(value not in (0, 1) for value in labels.values()):
        return None
    labelled: defaultdict[str, list[Judged]] = defaultdict(list)
    sizes: defaultdict[str, float] = defaultdict(float)
    for answer in answers:
        sizes[answer.stratum] += answer.weight
        if answer.key in labels:
            labelled[answer.stratum].append(answer)
    cells = {(person, judge): 0.0 for person in (0, 1) for judge in (0, 1)}
    for name in sizes:
        own = labelled[name]
        of = sum(a.weight for a in own)
        for a in own or [a for a in answers if a.stratum == name]:
            person = labels[a.key] if own else a.low
            cells[int(person), int(a.low)] += a.weight * (sizes[name] / of if own else 1.0)
    rights, wrongs = cells[1, 1] + cells[1, 0], cells[0, 0] + cells[0, 1]
    if not rights or not wrongs:
        return {"sensitivity": None, "specificity": None, "value": None, "interval": None}
    sensitivity, specificity = cells[1, 1] / rights, cells[0, 0] / wrongs
    share = sum(a.low * a.weight for a in answers) / total
    power = sensitivity + specificity - 1
    if power <= 0:
        return {"sensitivity": sensitivity, "specificity": specificity, "value": None, "interval": None}
    value = min(1.0, max(0.0, (share + specificity - 1) / power))
    people = [labels[a.key] for a in answers if a.key in labels]
    doubt = (
        share * (1 - share) / len(answers)
        + value**2 * _doubt(sensitivity, sum(people))
        + (1 - value) ** 2 * _doubt(specificity, len(people) - sum(people))
    )
    reach = 1.96 * sqrt(doubt) / power
    ends = [max(0.0, value - reach), min(1.0, value + reach)]
    return {"sensitivity": sensitivity, "specificity": specificity, "value": value, "interval": ends}


def _doubt(share: float, count: float) -> float:
    """Variance of a share, with half an error added."""
    rate = (share * count + 0.5) / (count + 1)
    return rate * (1 - rate) / (count + 1)


def _shown(stratum: Stratum) -> dict[str, Any]:
    return {
        "answers": stratum.answers,
        "labels": stratum.labels,
        "share": stratum.share,
        "judge": stratum.judge,
        "person_minus_judge": stratum.shift,
        "deviation": sqrt(stratum.variance),
    }


@dataclass(frozen=True)
class MarkNoise:
    """Errors of a judge against labels, and of labels against each other.

    Attributes:
        sensitivity, specificity: weighted shares of the judge against the labels.
        rights, wrongs: labels that say right, and wrong.
        doubles, splits: pairs of two people's labels of one answer, and those that differ.
    """

    sensitivity: float
    specificity: float
    rights: int
    wrongs: int
    doubles: int
    splits: int

    def corrected(self, estimate: Estimate, difference: bool = False) -> Estimate:
        """A share, or a difference of two, as it would be without both errors; its interval has their doubt, too.

        Labels are taken to flip alike for right and wrong answers, by the rate that makes two people differ as they do.
        """
        low, high = estimate["low"], estimate["high"]
        if low is None or high is None:
            return estimate
        ends, ci, least = np.array([low, high]), estimate["ci"], -1.0 if difference else 0.0
        rng, labels = np.random.default_rng(0), self.rights + self.wrongs
        rates = (
            (self.sensitivity, self.rights),
            (self.specificity, self.wrongs),
            (self.rights / labels, labels),
            (self.splits / max(self.doubles, 1), self.doubles),
        )
        drawn = [rng.beta(rate * n + 0.5, (1 - rate) * n + 0.5, _DRAWS) if n else np.zeros(_DRAWS) for rate, n in rates]
        slopes, shifts = self._line(np.column_stack([[rate for rate, _ in rates], drawn]))  # the rates, then draws
        if not slopes[0] > _WEAK:
            return {**estimate, "low": None, "high": None, "value": None, "ci": None, "note": _NO_POWER}
        reach = np.array([low - ci[0], ci[1] - high]) / 1.96 if ci else np.zeros(2)
        noise = np.concatenate([[0.0], rng.standard_normal(_DRAWS)])
        marks = (ends[:, None] + reach[:, None] * noise - shifts * (not difference)) / np.maximum(slopes, _WEAK)
        marks = np.clip(marks, least, 1.0)
        bounds = [float(np.quantile(marks[0], 0.025)), float(np.quantile(marks[1], 0.975))]
        best, most = map(float, marks[:, 0])
        value = best if low == high else None
        return {**estimate, "low": best, "high": most, "value": value, "std": None, "ci": bounds if ci else None}

    @staticmethod
    def _line(rates: Any) -> tuple[Any, Any]:
        """Slope and height of the judge's mark over the true one, from rates against labels that flip."""
        sensitivity, specificity, right, split = rates
        flip = (1 - np.sqrt(1 - 2 * np.minimum(split, 0.45))) / 2
        true = np.clip((right - flip) / (1 - 2 * flip), 0.01, 0.99)
        both, neither = sensitivity * right, (1 - specificity) * (1 - right)
        hit = np.clip(((1 - flip) * both - flip * neither) / (1 - 2 * flip) / true, 0.0, 1.0)
        false = np.clip(((1 - flip) * neither - flip * both) / (1 - 2 * flip) / (1 - true), 0.0, 1.0)
        return hit - false, false


_DRAWS = 4000
_WEAK = 0.05
_NO_POWER = "the labels do not show that the judge tells right from wrong"


def mark_noise(run: str, rows: Iterable[Row], pairs: Sequence[tuple[Label, Row]]) -> MarkNoise:
    """Noise of a run's marks, over all its tasks.

    Raises:
        UserError: the labels hold no right or no wrong answer that the judge decided.
    """
    people = grouped(
        ((row.task, row.question.id, row.trial), label.correct) for label, row in pairs if label.correct is not None
    )
    both = [(first, other) for verdicts in people.values() for first, other in combinations(verdicts, 2)]
    named = {key: float(verdicts[0]) for key, verdicts in people.items()}
    answers = [a for each in judged(rows, "accuracy").values() for a in each if a.stratum != UNDECIDED]
    rates = _rogan_gladen(answers, named)
    values = [named[a.key] for a in answers if a.key in named]
    if not rates or rates["sensitivity"] is None or not 0 < sum(values) < len(values):
        raise UserError(f"{run}: its labels need right and wrong answers that its judge decided")
    rights = int(sum(values))
    return MarkNoise(
        rates["sensitivity"],
        rates["specificity"],
        rights,
        len(values) - rights,
        len(both),
        sum(first != other for first, other in both),
    )


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    for run, study in result.items():
        for task, mark in study["tasks"].items():
            yield f"{run}, {task}: {study['metric']} {said(mark)}; the judge alone said {span(mark['judge'])}."
            yield f"{run}, {task}: after Rogan and Gladen {_said_after(mark['rogan_gladen'])}."
            unlabelled = [name for name, stratum in mark["strata"].items() if not stratum["labels"]]
            if unlabelled:
                yield f"{run}, {task}: no answer that rules decided is labelled; the judge card bounds their errors."
        if study["labels_of_open_answers"]:
            yield (
                f"{run}: {study['labels_of_open_answers']} labels are of undecided answers or of questions without one:"
                " nothing is corrected by them."
            )
        if study["labels_left_out"]:
            yield f"{run}: {study['labels_left_out']} labels are of answers that were not planned and do not count."


def _said_after(result: Mapping[str, Any] | None) -> str:
    if result is None:
        return "there is no value, since there are marks between right and wrong"
    if result["value"] is None:
        return "there is no value: the labels do not show that the judge tells right from wrong"
    low, high = (rounded(100 * end) for end in result["interval"])
    return f"{rounded(100 * result['value'])} [{low}, {high}] of the decided answers"


def said(mark: Mapping[str, Any]) -> str:
    """A mark in words: "71.3 [68.9, 73.5], of which the judge ±0.8 (60 labels)"."""
    low, high = mark["interval"]
    return (
        f"{span(mark['corrected'])} [{rounded(100 * low)}, {rounded(100 * high)}], of which the judge"
        f" ±{rounded(100 * mark['judge_alone'])} ({mark['labels']} labels)"
    )


STUDY = Study("corrected", sentences)
