"""Last step of a run: its scores in report.json and report.html.

A task is compared with what it is a variant of (`tasks.registry.variants`): with that task where it was run, else with
the tasks that ask parts of its questions as it would (`mdk12_mini` for `mdk12`). Marks corrected by people's labels are
there where planned answers are labelled; unusable or too few labels are a note and never an end of scoring. The exams
of a run (`core.exams.EXAMS`) are renewed where the dataset is at hand: grades and people's results may come later.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, Exam, read_built, written
from livek12.core.groups import grouped
from livek12.core.lazy import np
from livek12.core.progress import warn, watched
from livek12.core.questions import load_exams, load_pages
from livek12.core.records import UNMARKED, Question
from livek12.core.run.folder import HARNESS_MARKS, LABEL_PLAN, RunFolder
from livek12.core.run.sessions import read_sessions, usage_of
from livek12.core.run.spec import RunSpec
from livek12.core.run.sums import note_whole, write_summed
from livek12.core.run_answers import answers_of, read_answers, standing_of
from livek12.core.scoring import Limit, Profile, Row
from livek12.core.scoring.bank import in_words
from livek12.core.scoring.comparison import Counterpart
from livek12.core.scoring.exam_marks import ChosenOption, ExamFigures, exam_figures, plain_label
from livek12.core.scoring.outcomes import Outcomes, Slim, points_awarded
from livek12.core.scoring.schema import RunUsage, parameters_of
from livek12.evaluation.task_data import TaskData, illustrated
from livek12.tasks.base import Task
from livek12.tasks.registry import find_task, variants, way_of

if TYPE_CHECKING:
    from livek12.report.paper import Pages
    from livek12.report.sections import Shown


@dataclass(frozen=True)
class Scored:
    """Scores of a run; `scores` is the content of report.json.

    `write_page` writes report.html with its further pages and returns the files; None where only scores were asked for.
    """

    folder: RunFolder
    scores: dict[str, Any]
    write_page: Callable[[Path], list[Path]] | None = None

    @cached_property
    def text(self) -> str:
        """Text of report.json."""
        return json.dumps(self.scores, ensure_ascii=False, indent=1)

    def count(self, state: str) -> int:
        """Number of answers of all tasks in a state."""
        return sum(int(task["counts"][state]) for task in self.scores["tasks"].values())

    def write(self) -> str:
        """Writes the files; returns a line on unwritable files, else ""."""
        writers: dict[str, Callable[[Path], object]] = {
            "report.json": lambda file: write_summed(file, self.text + "\n")
        }
        if self.write_page is not None:
            writers["report.html"] = self.write_page
        missing, why = [], ""
        for name, write in writers.items():
            try:
                write(self.folder.path / name)
            except UserError as error:
                missing.append(name)
                why = str(error)
        verb = "is" if len(missing) == 1 else "are"
        return f"{' and '.join(missing)} {verb} not written: {why}" if missing else ""


def score_run(folder: RunFolder, profile: Profile, exam: TaskData | None = None) -> Scored:
    """Scores a run; with an exam (questions with pictures), one pass gives scores and page."""
    if exam is not None and exam.questions:
        take_exams(folder, exam.data)
    if exam is None:
        return Scored(folder, score(folder, profile))
    from livek12.evaluation.article_tables import SHAPES, article_tables
    from livek12.report.html import write_html
    from livek12.report.sections import Shown
    from livek12.report.views import MOST_GROUPS

    shown = Shown(folder.each_question(), folder.spec().trials)
    scores, outcomes = _scored(folder, profile, shown)
    shown.rows = list(illustrated(shown.rows, exam))
    pages = _with_placed_pages(exam, [row.question for row in shown.rows])

    papers = max(len(task["groups"].get("paper", ())) for task in scores["tasks"].values())
    shapes = [shape for shape in SHAPES if shape.rows_by != "paper" or papers <= MOST_GROUPS]

    def write_page(page: Path) -> list[Path]:
        tables = article_tables({folder.spec().shown: outcomes}, shapes, profile).tables
        further = write_html(page, scores, shown, scores["run"], pages, tables, read_sessions(folder.path))
        note_whole(page, pages=further[1:])
        return further

    return Scored(folder, scores, write_page)


def _with_placed_pages(exam: TaskData, questions: Iterable[Question]) -> Pages:
    from livek12.report.scan import page_keys

    keys = page_keys(questions) - exam.pages.keys()
    return {**load_pages(exam.data, keys), **exam.pages} if keys and exam.questions else exam.pages


def score(run: RunFolder, profile: Profile = "article") -> dict[str, Any]:
    """Content of report.json; writes nothing."""
    return _scored(run, profile)[0]


def _scored(run: RunFolder, profile: Profile, shown: Shown | None = None) -> tuple[dict[str, Any], Outcomes]:
    from livek12.core.scoring.report import score_outcomes

    spec = run.spec()
    tasks = {task.name: task_found for task in spec.tasks if (task_found := find_task(task.name))}
    joined = {name for name, task in tasks.items() if task.joined}  # there the question says what it has
    modalities = {task.name: task.modality for task in spec.tasks if task.name not in joined}
    thinking = {task.name: task.sampling.thinking_budget for task in spec.tasks}
    drawn = {task.name: task.sampling.max_tokens for task in spec.tasks if kind_of(spec.engine).draws}
    harness = None
    if (run.path / HARNESS_MARKS).is_file():
        from livek12.evaluation.logs.harness_marks import HarnessMarks

        harness = HarnessMarks.read(run)  # it shows texts where it disagrees
    if harness is None:
        read = read_answers(run, Slim(), picker=shown)
    else:
        rows = read_rows(run) if shown is None else shown.passing(read_rows(run))
        read = answers_of(harness.passing(rows, spec.trials, run.path), Slim())
    if shown is not None:
        shown.count(read.origins)
    asked_tasks = tasks_of(spec)
    scores: dict[str, Any] = {}
    scores |= score_outcomes(
        read.outcomes,
        profile,
        modalities=modalities,
        limits=limits_of(spec),
        thinking=thinking,
        requested=drawn,
        beside=beside(asked_tasks),
        alike=alike(asked_tasks),
    )
    if spec.adaptive is not None:
        scores = {**scores, "adaptive": _adaptive_scores(run, read.outcomes)}
    by = Counter[str]()
    for origin, answers in read.origins.items():
        if origin.judge not in (None, UNMARKED):
            by[spec.who(origin.judge)] += answers
    marked_by = [{"who": who, "answers": answers} for who, answers in by.most_common()]
    labelled = {} if spec.adaptive else corrected_marks(run)
    if labelled:
        scores = {**scores, "corrected": {**labelled, "lines": corrected_lines(labelled)}}
    if harness is not None:
        scores = {**scores, "harness": harness.summary()}
    if exams := run_exams(run, read.outcomes, alike(asked_tasks), profile):
        scores = {**scores, "exams": exams}
    if regraded := read.changes.summary():
        scores = {**scores, "regraded": regraded}
    if (usage := run_usage(run.path, read.outcomes)) is not None:
        scores = {**scores, "usage": usage}
    return {**scores, "marked_by": marked_by, "run": json.loads(spec.model_dump_json())}, read.outcomes


def _adaptive_scores(run: RunFolder, outcomes: Outcomes) -> dict[str, Any]:
    standing, predicted = standing_of(run, outcomes)
    posed, of = predicted["mark"].posed, len(predicted["mark"].bank)
    return {**standing._asdict(), "asked": posed, "of": of, "lines": [f"adaptive exam, {in_words(standing)}"]}


def read_rows(run: RunFolder) -> Iterator[Row]:
    """Rows of a run; shows progress where reading takes long."""
    spec = run.spec()
    return watched(run.rows(), "reading", sum(task.questions for task in spec.tasks) * spec.trials)


def limits_of(spec: RunSpec) -> dict[str, Limit]:
    """Token limit of each task with token budgets; of recorded answers by the task's name."""
    pairs = ((asked_task, find_task(asked_task.name)) for asked_task in spec.tasks)
    return {
        task.name: Limit(
            of=task.base_name,
            tokens=None if kind_of(spec.engine).is_recorded and task.budget is None else asked_task.sampling.max_tokens,
            share=task.budget,
        )
        for asked_task, task in pairs
        if task and task.budgets
    }


def tasks_of(spec: RunSpec) -> list[Task]:
    """Known tasks of a run."""
    return [task for named in spec.tasks if (task := find_task(named.name))]


def beside(tasks: Iterable[Task], among: Iterable[Task] | None = None) -> dict[str, list[Counterpart]]:
    """Counterparts of each of these tasks; `among` are the tasks of another run."""
    tasks = list(tasks)
    others = tasks if among is None else list(among)
    return grouped(
        (task.name, Counterpart(base, tuple(names), differs))
        for task in tasks
        for base, differs in variants(task)
        if (names := _asked_as(base, task, others))
    )


def alike(tasks: Iterable[Task]) -> list[list[str]]:
    """Groups of tasks that differ in questions alone."""
    groups = grouped((_manner(task), task.name) for task in tasks)
    return list(groups.values())


def _asked_as(base: str, task: Task, others: Iterable[Task]) -> list[str]:
    names = [other.name for other in others if other != task]
    if base in names:
        return [base]
    meant = find_task(base)
    if meant is None or meant.derive:
        return []
    return [other.name for other in others if other != task and _manner(other) == _manner(meant)]


def _manner(task: Task) -> tuple[str, str]:
    """Equal for tasks that differ only in their questions."""
    return task.benchmark, way_of(task)


def corrected_marks(run: RunFolder) -> dict[str, Any]:
    """Corrected accuracy as {"tasks": {task: figures}} or {"note": reason}; {} without labels."""
    plan, labels = run.path / LABEL_PLAN, sorted(run.path.glob("labels-*.jsonl"))
    if not plan.is_file() or not labels:
        return {}
    from livek12.evaluation.studies.corrected import corrected_study, said
    from livek12.evaluation.studies.labels import fit_labels, planned_strata, read_labels

    try:
        strata = planned_strata(plan)
        if not strata:
            return {}  # the plan of another study
        read = read_labels(labels, run.spec().model, lambda line: None)
        study = corrected_study(run.judged_rows(), fit_labels(read, run.judged_rows()), strata)
    except UserError as error:
        return {"note": f"no corrected mark: {error}"}
    return {"tasks": {task: {**row, "said": f"accuracy {said(row)}"} for task, row in study["tasks"].items()}}


def corrected_lines(marks: dict[str, Any]) -> list[str]:
    """Line for each task."""
    lines = [f"{task}, corrected by people's labels: {row['said']}" for task, row in marks.get("tasks", {}).items()]
    return [*lines, *([marks["note"]] if "note" in marks else [])]


def run_usage(folder: Path, outcomes: Outcomes) -> RunUsage | None:
    """Usage of engines, and the energy of asking over the points."""
    sessions = read_sessions(folder)
    asking = usage_of(sessions, "generate")
    if asking is None:
        return None
    points, energy = points_awarded(outcomes), asking["watt_hours"]
    per_mark = None if energy is None or points is None or points[0] <= 0 else [energy / p for p in reversed(points)]
    return RunUsage(asking=asking, judging=usage_of(sessions, "judge"), watt_hours_per_mark=per_mark)


def take_exams(run: RunFolder, data: str) -> None:
    """Renews the exams of a run from its dataset."""
    try:
        if not (exams := load_exams(data)):
            return
        questions = {(question.benchmark, question.id) for _, question in run.each_question()}
        exams = [exam for exam in exams if not questions.isdisjoint((exam.benchmark, id) for id in exam.ids)]
        file, content = run.path / EXAMS, written(exams)
        if exams and not (file.is_file() and file.read_bytes() == content.encode()):
            write_summed(file, content)
    except UserError as error:
        warn(f"exams of {data} are left out: {error}")


def run_exams(
    run: RunFolder, outcomes: Outcomes, groups: Iterable[Sequence[str]], profile: Profile
) -> list[ExamFigures]:
    """Figures of each exam for each group of tasks that differ only in their questions."""
    exams = read_built(run.path / EXAMS)
    if not exams:
        return []
    by_task, parameters = outcomes.by_task(), parameters_of(profile)
    sittings = [[task for task in group if task in by_task] for group in groups]
    alone = by_task.keys() - {task for group in sittings for task in group}
    figures = []
    for tasks in [*filter(None, sittings), *([task] for task in sorted(alone))]:
        answers = outcomes.joined([by_task[task] for task in tasks])
        codes = grouped(((question.benchmark, question.id), code) for code, question in enumerate(answers.questions))
        for exam in exams:
            taken = np.isin(answers.question, [code for id in exam.ids for code in codes.get((exam.benchmark, id), ())])
            if taken.any():
                chosen = partial(_chosen_options, run, exam, tasks)
                figures.append(exam_figures(exam, answers.take(np.flatnonzero(taken)), chosen, parameters))
    return figures


def _chosen_options(run: RunFolder, exam: Exam, tasks: Sequence[str], questions: set[str]) -> Iterator[ChosenOption]:
    names = {(task, id) for task, id in run.asked() if task in tasks and id in questions}
    for row in run.rows(texts=False, questions=names):
        question, parts = row.question, row.verdict.parts if row.verdict else []
        if (
            row.state != "graded"
            or len(parts) != 1
            or len(question.answer) != 1
            or question.benchmark != exam.benchmark
        ):
            continue
        labels = frozenset(plain_label(option.label) for option in question.options)
        yield ChosenOption(question.id, plain_label(parts[0].answer or ""), plain_label(question.answer[0]), labels)
