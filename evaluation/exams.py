"""Marks of runs on the scales of the exams that they sat.

Contract: a run folder has the exams of its questions in a file of its own (`core.exams.EXAMS`), which is renewed where
the data set is at hand: grades and people's results may be known later than the answers.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from livek12.core.errors import UserError
from livek12.core.exams import EXAMS, Exam, read_built, written
from livek12.core.progress import warn
from livek12.core.questions import load_exams
from livek12.core.run.sums import write_summed
from livek12.core.scoring import Profile
from livek12.core.scoring.exam_marks import ChosenOption, ExamFigures, exam_figures, plain_label
from livek12.core.scoring.outcomes import Outcomes
from livek12.core.scoring.schema import parameters_of

if TYPE_CHECKING:
    from livek12.core.run.folder import RunFolder


def take_exams(run: RunFolder, data: str) -> None:
    """Renews the exams of a run from its data set."""
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
    import numpy as np

    by_task, parameters = outcomes.by_task(), parameters_of(profile)
    grouped = [[task for task in group if task in by_task] for group in groups]
    alone = by_task.keys() - {task for group in grouped for task in group}
    figures = []
    for tasks in [*filter(None, grouped), *([task] for task in sorted(alone))]:
        answers = outcomes.joined([by_task[task] for task in tasks])
        codes: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for code, question in enumerate(answers.questions):
            codes[question.benchmark, question.id].append(code)
        for exam in exams:
            taken = np.isin(answers.question, [code for id in exam.ids for code in codes.get((exam.benchmark, id), ())])
            if taken.any():
                chosen = partial(_chosen, run, exam, tasks)
                figures.append(exam_figures(exam, answers.take(np.flatnonzero(taken)), chosen, parameters))
    return figures


def _chosen(run: RunFolder, exam: Exam, tasks: Sequence[str], questions: set[str]) -> Iterator[ChosenOption]:
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
