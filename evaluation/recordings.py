"""Recorded answers compared with a run's questions: number of trials, and a warning for each mismatch."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

from livek12.core.progress import warn
from livek12.core.run.folder import RunFolder
from livek12.engines.replay import ReplayEngine
from livek12.evaluation.task_data import TaskData

Trials = dict[tuple[str, str], set[int]]
"""Task and question → the trials that were recorded of it."""


def recorded_trials(recorded: ReplayEngine, exam: TaskData, out: Path) -> int:
    """Most trials of a question; in a begun run, the run's."""
    if (out / "run.json").is_file():
        return RunFolder.open(out).spec().trials
    return max(1, *(len(trials) for trials in _asked(recorded, exam).values()))


def tell_unlike(recorded: ReplayEngine, exam: TaskData, trials: int) -> None:
    """Warns of recorded answers that the run leaves out and of questions that lack some."""
    ids = {question.id for questions in exam.questions.values() for question in questions}
    if strangers := sorted({question for _, question, _ in recorded.names()} - ids):
        warn(f"{recorded.model}: {len(strangers)} recorded questions are not in this run, the first: {strangers[0]!r}")
    recordings = _asked(recorded, exam)
    if beyond := sorted(trial for of in recordings.values() for trial in of if trial >= trials):
        warn(
            f"{recorded.model}: {len(beyond)} recorded answers are left out, for this run takes {trials} of each"
            f" question: a new run with --trials {beyond[-1] + 1} takes them"
        )
    lacking = [trials - len([trial for trial in of if trial < trials]) for of in recordings.values()]
    if missing := sum(lacking):
        questions = sum(1 for number in lacking if number)
        have = f"{questions} of {len(recordings)} questions have"
        fewer = f"fewer than {trials} recorded answers" if trials > 1 else "no recorded answer"
        warn(f"{recorded.model}: {have} {fewer}; the missing {missing} count as failed")


def _asked(recorded: ReplayEngine, exam: TaskData) -> Trials:
    """A recording without a task serves every task."""
    tasks: defaultdict[str, list[str]] = defaultdict(list)
    for task, questions in exam.questions.items():
        for question in questions:
            tasks[question.id].append(task)
    recordings: Trials = {(task, id): set() for id, of in tasks.items() for task in of}
    for of_task, id, trial in recorded.names():
        for task in tasks.get(id, ()):
            if of_task in (None, task):
                recordings[task, id].add(trial)
    return recordings
