"""Contamination: marks on older exams against newer ones, by year, before and after a release, near public questions.

An older exam may just be easier: `beyond` is the same difference of a run's excess over the other runs. p is corrected
by Holm over the cells of a table. Undecided and missing answers enter at worst and best. The test permutes papers
(questions, where papers are few) between the two parts, for all runs at once; the larger p counts, and 1 where
undecided answers could turn the difference.
"""

from __future__ import annotations

import calendar
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from livek12.core.errors import UserError
from livek12.core.lazy import np
from livek12.core.scoring import Profile
from livek12.core.scoring.formulas import BY_DESIGN, Term
from livek12.core.scoring.metrics import task_terms
from livek12.core.scoring.outcomes import Outcome, SlimQuestion, tabulate
from livek12.core.scoring.schema import parameters_of
from livek12.core.statistics import Bools, Floats, Indices, difference_reach, holm, mean_interval
from livek12.core.tables import csv_rows
from livek12.evaluation.choosing import ANY, AnswerChoice, QuestionKey, exam_of, exam_sums, one_way
from livek12.evaluation.studies import Study, chance, points

_DATE = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?")


@dataclass(frozen=True)
class Period:
    """From a first to a last day."""

    first: date
    last: date

    def before(self, other: Period) -> bool:
        """All of it is earlier."""
        return self.last < other.first


def period(text: str) -> Period | None:
    """Period of "2025", "2025-06" or "2025-06-07"; None for other texts."""
    match = _DATE.fullmatch(text.strip())
    if match is None:
        return None
    year, month, day = (int(part) if part else None for part in match.groups())
    try:
        if year is None or month is None:
            return Period(date(year or 0, 1, 1), date(year or 0, 12, 31))
        if day is None:
            return Period(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]))
        return Period(date(year, month, day), date(year, month, day))
    except ValueError:
        return None


def exam_period(release: str | None, year: int | str | None) -> Period | None:
    """Date of an exam: its release if a date, else its year; None without either."""
    return (period(release) if release else None) or (period(str(year)) if year is not None else None)


def released(given: list[str], runs: list[str]) -> dict[str, Period]:
    """Release dates by run, from NAME=DATE."""
    dates: dict[str, Period] = {}
    for text in given:
        name, _, when = text.rpartition("=")
        if (meant := period(when)) is None or not name:
            raise UserError(f"--released {text}: give RUN=DATE with a date like 2025-08 or 2025-08-31")
        if name not in runs:
            raise UserError(f"--released {text}: there is no run {name!r}; there are {', '.join(runs)}")
        if name in dates:
            raise UserError(f"--released {text}: {name} has a date already")
        dates[name] = meant
    return dates


DRAWS = 9999
"""Permutations of a test."""
_FEWER_DRAWS = 999
"""Permutations beyond `_MANY` papers or questions."""
_MANY = 5000
_BLOCK = 4_000_000
"""Most bytes of a block of permutations."""


@dataclass(frozen=True)
class Scored:
    """One run's metric by question, as shares at worst and best, with weights."""

    low: Mapping[QuestionKey, float]
    high: Mapping[QuestionKey, float]
    weight: Mapping[QuestionKey, float]


@dataclass(frozen=True)
class Contrast:
    """Part a minus part b, as shares; marks are (worst, best), `interval` is 95 % around both.

    `interval` and `p` are None where a part has one question.
    """

    a: tuple[float, float]
    b: tuple[float, float]
    low: float
    high: float
    interval: list[float] | None
    p: float | None
    unit: str


def scored(rows: Iterable[Outcome], metric: str, profile: Profile) -> tuple[Scored, dict[QuestionKey, SlimQuestion]]:
    """A metric on each question (its trials together), and the questions.

    The rows were asked in one way, each question and trial once (`evaluation.choosing`).
    """
    table = tabulate(rows)
    term = task_terms(table, profile, parameters_of(profile)).get(metric, "there is no such metric in these runs")
    if not isinstance(term, Term):
        raise UserError(f"{metric}: {term if isinstance(term, str) else BY_DESIGN}; choose another --metric")
    by_task = table.rows.by_task()
    exams = {task: exam_of(task) for task in by_task}
    questions = {(exams[task], question.id): question for task, own in by_task.items() for question in own.asked()}
    sums = {key: own for key, own in exam_sums(table, term.low, term.high, term.weight).items() if own[2] > 0}
    return (
        Scored(
            {key: own[0] / own[2] for key, own in sums.items()},
            {key: own[1] / own[2] for key, own in sums.items()},
            {key: own[2] for key, own in sums.items()},
        ),
        questions,
    )


def beyond_others(runs: Mapping[str, Scored]) -> dict[str, Scored]:
    """Excess of each run over the others' mean on shared questions; {} for one run."""
    if len(runs) < 2:
        return {}
    shared = set.intersection(*(set(run.weight) for run in runs.values()))
    count = len(runs) - 1
    lows = {key: sum(run.low[key] for run in runs.values()) for key in shared}
    highs = {key: sum(run.high[key] for run in runs.values()) for key in shared}
    return {
        name: Scored(
            {key: run.low[key] - (highs[key] - run.high[key]) / count for key in shared},
            {key: run.high[key] - (lows[key] - run.low[key]) / count for key in shared},
            {key: run.weight[key] for key in shared},
        )
        for name, run in runs.items()
    }


def contrast(
    run: Scored, part: Mapping[QuestionKey, bool], questions: Mapping[QuestionKey, SlimQuestion], least: float = 0.0
) -> Contrast | None:
    """One run on part a (True) against part b (False) of the questions; None where either is empty.

    `least` is the least value: 0, or -1 for `beyond_others`.
    """
    keys = [key for key in part if key in run.weight]
    in_a = np.array([part[key] for key in keys], dtype=bool)
    if not in_a.any() or in_a.all():
        return None
    ends = np.array([[run.low[key] for key in keys], [run.high[key] for key in keys]])
    weight = np.array([run.weight[key] for key in keys])
    unit, cluster = _clusters([questions[key] for key in keys])
    (a, b) = (
        [mean_interval(end[of], weight[of], _numbered(cluster[of]), least) for end in ends] for of in (in_a, ~in_a)
    )
    low, high = a[0][0] - b[1][0], a[1][0] - b[0][0]
    interval = [
        max(low - _difference_reach(a[0][0] - a[0][1], b[1][2] - b[1][0]), least - 1),
        min(high + _difference_reach(a[1][2] - a[1][0], b[0][0] - b[0][1]), 1 - least),
    ]
    finite = not any(np.isnan(interval))
    p = _permuted(ends * weight, weight, in_a, cluster) if finite and (low > 0 or high < 0 or low == high) else 1.0
    return Contrast(
        a=(a[0][0], a[1][0]),
        b=(b[0][0], b[1][0]),
        low=low,
        high=high,
        interval=interval if finite else None,
        p=p if finite else None,
        unit=unit,
    )


def _difference_reach(own: float, other: float) -> float:
    return float(difference_reach(np.array(own), np.array(other), np.array(0.0), np.array(1.0)))


def _clusters(questions: Sequence[SlimQuestion]) -> tuple[str, Indices]:
    """Papers where there are enough, else questions; variants of one question are one."""
    papers = {question.paper_id for question in questions}
    by_paper = None not in papers and len(papers) >= parameters_of("article").min_papers
    names = [(question.paper_id if by_paper else question.source) or "" for question in questions]
    return "paper" if by_paper else "question", np.unique(np.array(names), return_inverse=True)[1]


def _numbered(cluster: Indices) -> Indices:
    return np.unique(cluster, return_inverse=True)[1]


def _permuted(earned: Floats, weight: Floats, in_a: Bools, cluster: Indices) -> float | None:
    """P of the permutation test, the larger at worst and best; None where a part has one cluster.

    A cluster with questions in both parts counts once in each.
    """
    units = _numbered(cluster * 2 + in_a)
    groups = int(units.max()) + 1
    where: Bools = np.zeros(groups, dtype=bool)
    where[units] = in_a
    chosen = int(where.sum())
    if min(chosen, groups - chosen) < 2:
        return None
    columns = np.stack([np.bincount(units, column, groups) for column in (weight, *earned)])
    total = columns.sum(axis=1)
    rng = np.random.default_rng(0)
    draws = DRAWS if groups <= _MANY else _FEWER_DRAWS
    block = max(1, _BLOCK // groups)
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    drawn = np.concatenate([rng.permuted(np.tile(where, (size, 1)), axis=1) @ columns.T for size in sizes])
    seen = columns[:, where].sum(axis=1)

    def gaps(sums: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = sums[..., 1:] / sums[..., :1] - (total[1:] - sums[..., 1:]) / (total[0] - sums[..., :1])
        return np.abs(np.asarray(apart))

    as_far = (np.nan_to_num(gaps(drawn), nan=np.inf) >= gaps(seen) - 1e-12).sum(axis=0)
    return float(((as_far + 1) / (draws + 1)).max())


ALL = "(all)"
BANDS = (0.9, 0.75, 0.5)
"""Least similarity of each band; `livek12 dedup` tells of no pair below."""
Cells = list[dict[str, Any]]


def nearest(file: Path) -> dict[str, float]:
    """Similarity of each question to the nearest public one, from the pairs of `livek12 dedup DATA --against PUBLIC`.

    Raises:
        UserError: the file is unreadable, or not of pairs.
    """
    try:
        text = file.read_text(encoding="utf-8-sig")
        rows = csv_rows(text) if file.suffix.lower() == ".csv" else [json.loads(line) for line in text.splitlines()]
        near: dict[str, float] = {}
        for row in rows:
            near[str(row["id"])] = max(near.get(str(row["id"]), 0.0), float(row["similarity"]))
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({error.strerror})") from None
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{file}: is no file of pairs: `livek12 dedup DATA --against PUBLIC` writes one") from None
    return near


def contamination(
    runs: Mapping[str, Iterable[Outcome]],
    metric: str = "accuracy",
    profile: Profile = "article",
    released: Mapping[str, Period] | None = None,
    choice: AnswerChoice = ANY,
    near: Mapping[str, float] | None = None,
) -> dict[str, Any]:
    """The tables; `released`: release of the model by run; `near`: see `nearest`.

    Raises:
        UserError: no such metric, no common way of asking, or no question has a release or year, or is near a public
            one.
    """
    marks: dict[str, Scored] = {}
    questions: dict[QuestionKey, SlimQuestion] = {}
    for name, rows in one_way(runs, choice).items():
        marks[name], own = scored(rows, metric, profile)
        questions |= own
    if near is not None and not near.keys() & {question.source for question in questions.values()}:
        raise UserError("--near: no pair has a question of these runs as its id: run `livek12 dedup` on their data set")
    if not near and not any(question.on("release") or question.on("year") for question in questions.values()):
        raise UserError("no question of these runs says of which release or year its exam is: there is nothing to part")
    study = _Study(marks, questions)
    return {
        "metric": metric,
        "profile": profile,
        "questions": len(questions),
        "releases": _corrected(study.releases()),
        "years": _corrected(study.years()),
        "dates": _corrected(study.dates(released or {})),
        **({"near": _corrected(study.near(near))} if near else {}),
        "undated": sum(_held(question) is None for question in questions.values()),
    }


class _Study:
    def __init__(self, marks: Mapping[str, Scored], questions: Mapping[QuestionKey, SlimQuestion]) -> None:
        self._marks, self._asked = marks, questions
        self._beyond = beyond_others(marks)

    def releases(self) -> Cells:
        names = sorted({value for question in self._asked.values() for value in question.on("release")})
        return [
            cell
            for older in names[:-1]
            for subject in self._subjects()
            for cell in self._cells(
                {
                    key: question.on("release")[0] == older
                    for key, question in self._asked.items()
                    if question.on("release") and question.on("release")[0] in (older, names[-1])
                    if subject == ALL or subject in question.on("subject")
                },
                {"subject": subject, "older": older, "newest": names[-1]},
            )
        ]

    def years(self) -> Cells:
        cells: Cells = []
        for difficulty in (ALL, *self._values("difficulty")):
            of = {
                key: question.on("year")[0]
                for key, question in self._asked.items()
                if question.on("year") and (difficulty == ALL or difficulty in question.on("difficulty"))
            }
            years = sorted(set(of.values()))
            for year in years if len(years) > 1 else ():
                part = {key: exam_year == year for key, exam_year in of.items()}
                cells += self._cells(part, {"difficulty": difficulty, "year": year})
        return cells

    def dates(self, released: Mapping[str, Period]) -> Cells:
        exam_dates = {key: when for key, question in self._asked.items() if (when := _held(question))}
        cells: Cells = []
        for run, when in released.items():
            part = {
                key: exam.before(when) for key, exam in exam_dates.items() if exam.before(when) or when.before(exam)
            }
            about = {"released": str(when.first), "neither": len(self._asked) - len(part)}
            cells += self._cells(part, about, [run]) or [{"run": run, **about, "questions": _sizes(part)}]
        return cells

    def near(self, near: Mapping[str, float]) -> Cells:
        cells: Cells = []
        for least, below in zip(BANDS, (1.01, *BANDS), strict=False):
            similar = {key: near.get(question.source) for key, question in self._asked.items()}
            part = {key: value is not None for key, value in similar.items() if value is None or least <= value < below}
            cells += self._cells(part, {"similarity": [least, min(1.0, below)]})
        return cells

    def _cells(
        self, part: Mapping[QuestionKey, bool], about: Mapping[str, Any], runs: Iterable[str] | None = None
    ) -> Cells:
        cells = []
        for run in runs or self._marks:
            own = contrast(self._marks[run], part, self._asked)
            if own is None:
                continue
            cell = {
                "run": run,
                **about,
                "questions": _sizes(part, self._marks[run]),
                "mark": list(own.a),
                "other": list(own.b),
            }
            cell |= {"difference": [own.low, own.high], "interval": own.interval, "p": own.p, "unit": own.unit}
            more = contrast(self._beyond[run], part, self._asked, least=-1.0) if self._beyond else None
            if more is not None:
                cell |= {"beyond": [more.low, more.high], "beyond_interval": more.interval, "beyond_p": more.p}
            cells.append(cell)
        return cells

    def _values(self, axis: str) -> list[str]:
        return sorted({value for question in self._asked.values() for value in question.on(axis)})

    def _subjects(self) -> list[str]:
        subjects = self._values("subject")
        return [ALL, *subjects] if len(subjects) > 1 else [ALL]


def _sizes(part: Mapping[QuestionKey, bool], run: Scored | None = None) -> list[int]:
    members = [in_a for key, in_a in part.items() if run is None or key in run.weight]
    return [sum(members), len(members) - sum(members)]


def _held(question: SlimQuestion) -> Period | None:
    release, year = question.on("release"), question.on("year")
    return exam_period(release[0] if release else None, year[0] if year else None)


def _corrected(cells: Cells) -> Cells:
    for name in ("p", "beyond_p"):
        for cell, p in zip(cells, holm([cell.get(name) for cell in cells]), strict=True):
            if name in cell:
                cell[f"{name}_holm"] = p
    return cells


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Result in sentences."""
    yield f"{result['questions']} questions by {result['metric']}; differences are in points of 100, older minus newer."
    for cell in result["releases"]:
        if cell["subject"] == ALL:
            yield f"{cell['run']}, release {cell['older']} against {cell['newest']}: {_said(cell)}"
    for cell in result.get("near", ()):
        (low, high), (like, unlike) = cell["similarity"], cell["questions"]
        part = f"{like} questions like a public one ({low:g} to {high:g}) against {unlike} like none"
        yield f"{cell['run']}, {part}: {_said(cell)}"
    years = [cell for cell in result["years"] if (cell.get("p_holm") is not None and cell["p_holm"] < 0.05)]
    if result["years"]:
        yield (
            f"Of {len(result['years'])} cells of run, difficulty and year, {len(years)} differ from the other years of"
            " their difficulty beyond chance (5 %, Holm's correction)."
        )
    for cell in result["dates"]:
        if "difference" in cell:
            yield f"{cell['run']}, exams before its release against exams after it: {_said(cell)}"
        else:
            before, after = cell["questions"]
            yield f"{cell['run']}: {before} questions are from before its release and {after} from after it: no table."
    if not result["dates"]:
        yield "No release date of a model was given (--released RUN=DATE), so nothing is said of before and after."
    if result["undated"]:
        yield f"{result['undated']} questions have no date: they are in no comparison of dates."
    yield (
        "A difference is no proof: an older exam may be easier. What a run has more than the other runs on the same"
        " questions (beyond) is the part that its difficulty does not explain."
    )


def _said(cell: Mapping[str, Any]) -> str:
    text = f"{points(cell['difference'])} ({_reach(cell['interval'])}, {chance(cell['p'])})"
    if "beyond" in cell:
        more = f"{points(cell['beyond'])} ({_reach(cell['beyond_interval'])}, {chance(cell['beyond_p'])})"
        text += f"; beyond the other runs {more}"
    return f"{text}."


def _reach(interval: list[float] | None) -> str:
    return f"95 % interval {points(interval[:1])} to {points(interval[1:])}" if interval else "no interval"


STUDY = Study("contamination", sentences)
