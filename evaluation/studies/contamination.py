"""Has a model seen the exam? Marks on older exams against newer ones, by year, and before against after its release.

Contract: three tables, each over every run, of answers asked in one way (`evaluation.sieve`). *releases*
(LiveK12Bench, appendix E, Table 13): an older release minus the newest, over all questions and by subject. *years*
(MDK12-Bench, figure 4): marks by exam year and difficulty, and each year against the others of that difficulty.
*dates*: exams that were surely held before the model was released against those surely held after. An older exam may
just be an easier one: `beyond` is the same difference of what a run has more than the mean of the other runs on each
question. p values are corrected by Holm's method over the cells of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from livek12.core.errors import UserError
from livek12.core.scoring import Profile, Row
from livek12.core.scoring.outcomes import Slim, SlimQuestion
from livek12.core.statistics import holm
from livek12.evaluation.sieve import ANY, AnswerChoice, QuestionKey, one_way
from livek12.evaluation.studies.contrasts import Contrast, Scored, beyond_others, contrast, scored
from livek12.evaluation.studies.exam_dates import Period, exam_period
from livek12.evaluation.studies.words import points

ALL = "(all)"
Cells = list[dict[str, Any]]


def contamination(
    runs: Mapping[str, Iterable[Row]],
    metric: str = "accuracy",
    profile: Profile = "article",
    released: Mapping[str, Period] | None = None,
    choice: AnswerChoice = ANY,
) -> dict[str, Any]:
    """The three tables.

    Args:
        runs: rows of each run by its name.
        metric: one of `contrasted_metrics`.
        profile: which formulas.
        released: when the model of a run was released.
        choice: of the answers, where runs were asked in several ways.

    Raises:
        UserError: no such metric, no way of asking that the runs have in common, or no question says of which release
            or year it is.
    """
    slim = Slim()
    marks: dict[str, Scored] = {}
    asked: dict[QuestionKey, SlimQuestion] = {}
    for name, rows in one_way(runs, choice).items():
        marks[name], own = scored(map(slim, rows), metric, profile)
        asked |= own
    if not any(question.on("release") or question.on("year") for question in asked.values()):
        raise UserError("no question of these runs says of which release or year its exam is: there is nothing to part")
    study = _Study(marks, asked)
    return {
        "metric": metric,
        "profile": profile,
        "questions": len(asked),
        "releases": _corrected(study.releases()),
        "years": _corrected(study.years()),
        "dates": _corrected(study.dates(released or {})),
        "undated": sum(_held(question) is None for question in asked.values()),
    }


class _Study:
    """The cells of all runs over the same questions."""

    def __init__(self, marks: Mapping[str, Scored], asked: Mapping[QuestionKey, SlimQuestion]) -> None:
        self._marks, self._asked = marks, asked
        self._beyond = beyond_others(marks)

    def releases(self) -> Cells:
        """Each older release minus the newest, over all and by subject."""
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
        """Each year against the other years of its difficulty."""
        cells: Cells = []
        for difficulty in (ALL, *self._values("difficulty")):
            of = {
                key: question.on("year")[0]
                for key, question in self._asked.items()
                if question.on("year") and (difficulty == ALL or difficulty in question.on("difficulty"))
            }
            years = sorted(set(of.values()))
            for year in years if len(years) > 1 else ():
                part = {key: held == year for key, held in of.items()}
                cells += self._cells(part, {"difficulty": difficulty, "year": year})
        return cells

    def dates(self, released: Mapping[str, Period]) -> Cells:
        """Exams before a model's release minus those after it."""
        held = {key: when for key, question in self._asked.items() if (when := _held(question))}
        cells: Cells = []
        for run, when in released.items():
            part = {key: exam.before(when) for key, exam in held.items() if exam.before(when) or when.before(exam)}
            about = {"released": str(when.first), "neither": len(self._asked) - len(part)}
            cells += self._cells(part, about, [run]) or [{"run": run, **about, "questions": _sizes(part)}]
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
            cell |= {"difference": [own.low, own.high], "interval": _ends(own), "p": own.p, "unit": own.unit}
            more = contrast(self._beyond[run], part, self._asked, least=-1.0) if self._beyond else None
            if more is not None:
                cell |= {"beyond": [more.low, more.high], "beyond_interval": _ends(more), "beyond_p": more.p}
            cells.append(cell)
        return cells

    def _values(self, axis: str) -> list[str]:
        return sorted({value for question in self._asked.values() for value in question.on(axis)})

    def _subjects(self) -> list[str]:
        subjects = self._values("subject")
        return [ALL, *subjects] if len(subjects) > 1 else [ALL]


def _ends(found: Contrast) -> list[float] | None:
    return None if found.interval is None else list(found.interval)


def _sizes(part: Mapping[QuestionKey, bool], run: Scored | None = None) -> list[int]:
    """How many questions are of either part."""
    known = [in_a for key, in_a in part.items() if run is None or key in run.weight]
    return [sum(known), len(known) - sum(known)]


def _held(question: SlimQuestion) -> Period | None:
    release, year = question.on("release"), question.on("year")
    return exam_period(release[0] if release else None, year[0] if year else None)


def _corrected(cells: Cells) -> Cells:
    for name in ("p", "beyond_p"):
        for cell, p in zip(cells, holm([cell.get(name) for cell in cells]), strict=True):
            if name in cell:
                cell[f"{name}_holm"] = p
    return cells


def sentences(found: Mapping[str, Any]) -> Iterator[str]:
    """What the study found, in words."""
    yield f"{found['questions']} questions by {found['metric']}; differences are in points of 100, older minus newer."
    for cell in found["releases"]:
        if cell["subject"] == ALL:
            yield f"{cell['run']}, release {cell['older']} against {cell['newest']}: {_said(cell)}"
    told = [cell for cell in found["years"] if _sure(cell)]
    if found["years"]:
        yield (
            f"Of {len(found['years'])} cells of run, difficulty and year, {len(told)} differ from the other years of"
            " their difficulty beyond chance (5 %, Holm's correction)."
        )
    for cell in found["dates"]:
        if "difference" in cell:
            yield f"{cell['run']}, exams before its release against exams after it: {_said(cell)}"
        else:
            before, after = cell["questions"]
            yield f"{cell['run']}: {before} questions are from before its release and {after} from after it: no table."
    if not found["dates"]:
        yield "No release date of a model was given (--released RUN=DATE), so nothing is said of before and after."
    if found["undated"]:
        yield f"{found['undated']} questions have no date: they are in no comparison of dates."
    yield (
        "A difference is no proof: an older exam may be easier. What a run has more than the other runs on the same"
        " questions (beyond) is the part that its difficulty does not explain."
    )


def _sure(cell: Mapping[str, Any]) -> bool:
    return cell.get("p_holm") is not None and cell["p_holm"] < 0.05


def _said(cell: Mapping[str, Any]) -> str:
    said = f"{points(cell['difference'])} ({_reach(cell['interval'])}, {_chance(cell['p'])})"
    if "beyond" in cell:
        more = f"{points(cell['beyond'])} ({_reach(cell['beyond_interval'])}, {_chance(cell['beyond_p'])})"
        said += f"; beyond the other runs {more}"
    return f"{said}."


def _chance(p: float | None) -> str:
    return "no test" if p is None else "p < 0.001" if p < 0.001 else f"p {p:.3f}"


def _reach(interval: list[float] | None) -> str:
    return f"95 % interval {points(interval[:1])} to {points(interval[1:])}" if interval else "no interval"
