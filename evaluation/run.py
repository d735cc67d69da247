"""A run folder in Python: its scores, its answers as a table, its report.

Contract: everything is read from the records of the folder, whatever made it; only `write_report` writes.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.errors import UserError

if TYPE_CHECKING:
    import pandas as pd

    from livek12.core.run.folder import RunFolder
    from livek12.core.run.spec import RunSpec
    from livek12.core.scoring import Row


class Scores(Mapping[str, "float | None"]):
    """Metrics of one task by name: `scores["accuracy"]`; None while undecided (see `bounds`)."""

    def __init__(self, task: str, estimates: Mapping[str, Any]) -> None:
        self.task, self._estimates = task, dict(estimates)

    def __getitem__(self, metric: str) -> float | None:
        value: float | None = self.estimate(metric)["value"]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._estimates)

    def __len__(self) -> int:
        return len(self._estimates)

    def __repr__(self) -> str:
        return f"Scores({self.task!r}, {dict(self)!r})"

    def estimate(self, metric: str) -> Mapping[str, Any]:
        """Fields of a metric in report.json: low, high, value, ci, unit, clusters, n, std, note.

        Raises:
            KeyError: the task has no such metric; names the nearest.
        """
        try:
            return self._estimates[metric]  # type: ignore[no-any-return]
        except KeyError:
            near = difflib.get_close_matches(metric, self._estimates, n=3) or list(self._estimates)
            raise KeyError(f"task {self.task} has no metric {metric!r}; it has {', '.join(near)}") from None

    def bounds(self, metric: str) -> tuple[float, float] | None:
        """Metric with undecided answers at their worst and at their best; None where it is not available."""
        estimate = self.estimate(metric)
        return None if estimate["low"] is None else (estimate["low"], estimate["high"])

    def interval(self, metric: str) -> tuple[float, float] | None:
        """The 95 % interval, undecided answers included (see `livek12.core.scoring`)."""
        ends = self.estimate(metric)["ci"]
        return None if ends is None else (ends[0], ends[1])


class Run:
    """Run folder.

    Args:
        path: the folder, or its address (`hf://…`, `s3://…`), of which a copy is read.
    """

    def __init__(self, path: str | Path) -> None:
        from livek12.core.progress import warn
        from livek12.core.run.folder import RunFolder
        from livek12.core.run.remote import run_folder

        self.path = run_folder(path)
        self.folder: RunFolder = RunFolder.open(self.path, warn)
        self._report: dict[str, Any] | None = None
        self._sizes: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def spec(self) -> RunSpec:
        """Content of run.json: model, tasks, data and versions."""
        return self.folder.spec()

    @property
    def tasks(self) -> list[str]:
        """Names of its tasks."""
        return [task.name for task in self.spec.tasks]

    @property
    def report(self) -> dict[str, Any]:
        """Content of report.json, computed from the records."""
        from livek12.evaluation.reporting import score

        sizes = {file.name: file.stat().st_size for file in self.path.glob("*.jsonl")}
        if self._report is None or sizes != self._sizes:  # records are only ever added
            self._report, self._sizes = score(self.folder), sizes
        return self._report

    @property
    def scores(self) -> Scores:
        """Metrics of its only task; UserError if there are several."""
        if len(self.tasks) > 1:
            raise UserError(f"{self.path}: has the tasks {', '.join(self.tasks)}: ask for the scores_of one of them")
        return self.scores_of(self.tasks[0])

    def scores_of(self, task: str) -> Scores:
        """Metrics of one of its tasks."""
        if task not in self.report["tasks"]:
            raise UserError(f"{self.path}: has no task {task!r}; it has {', '.join(self.tasks)}")
        return Scores(task, self.report["tasks"][task]["metrics"])

    @property
    def report_json(self) -> Path:
        """File of the scores, once the run was reported."""
        return self.path / "report.json"

    @property
    def report_html(self) -> Path:
        """Page of the graded paper, once the run was reported."""
        return self.path / "report.html"

    def write_report(self, data: str = "") -> Path:
        """Writes report.json and report.html anew; returns the page.

        Args:
            data: the new place of the data set, if it was moved, for the pictures.
        """
        from livek12.evaluation.reporting import score_run
        from livek12.evaluation.task_data import reload_task_data

        if problem := score_run(self.folder, "article", reload_task_data(self.folder, data)).write():
            raise UserError(problem)
        return self.report_html

    def rows(self) -> Iterator[Row]:
        """Every requested answer with its question, response and verdict, missing ones too."""
        return self.folder.rows()

    def to_pandas(self) -> pd.DataFrame:
        """Answers as a table, a row each.

        Columns: task, question_id, trial, state (graded, no_answer, ungraded, failed or unsupported), correct (NA while
        undecided), correct_low and correct_high (0 or 1; their means are the ends of the accuracy over all answers),
        points, low, high, max_points, response, answer (as extracted), key, reason, finish_reason, completion_tokens,
        judge, and subject, question_type, language, difficulty and release of the question. Types are nullable.
        """
        import pandas as pd

        columns = list(zip(*(_cells(row).values() for row in self.rows()), strict=True))
        return pd.DataFrame(
            {
                name: pd.array(columns[place] if columns else [], dtype=kind)
                for place, (name, kind) in enumerate(_COLUMNS.items())
            }
        )


_COLUMNS = {
    **dict.fromkeys(("task", "question_id"), "object"),
    "trial": "Int64",
    "state": "object",
    "correct": "boolean",
    **dict.fromkeys(("correct_low", "correct_high"), "Int64"),
    **dict.fromkeys(("points", "low", "high", "max_points"), "Float64"),
    **dict.fromkeys(("response", "answer", "key", "reason", "finish_reason"), "object"),
    "completion_tokens": "Int64",
    **dict.fromkeys(("judge", "subject", "question_type", "language", "difficulty", "release"), "object"),
}
"""The columns of `Run.to_pandas` and their types."""


def _cells(row: Row) -> dict[str, Any]:
    from livek12.core.scoring.outcomes import outcome_bounds

    question, response, verdict = row.question, row.response, row.verdict
    _, (low, high) = outcome_bounds(row)
    return {
        "task": row.task,
        "question_id": question.id,
        "trial": row.trial,
        "state": row.state,
        "correct": verdict.correct if verdict else None,
        "correct_low": int(low),
        "correct_high": int(high),
        "points": verdict.points if verdict else None,
        "low": verdict.low if verdict else None,
        "high": verdict.high if verdict else None,
        "max_points": verdict.max_points if verdict else question.points,
        "response": response.text if response else None,
        "answer": "; ".join(part.answer for part in verdict.parts if part.answer) or None if verdict else None,
        "key": "; ".join(question.answer) or None,
        "reason": verdict.reason if verdict else None,
        "finish_reason": response.finish_reason if response else None,
        "completion_tokens": response.completion_tokens if response else None,
        "judge": verdict.judge if verdict else None,
        "subject": question.subject,
        "question_type": question.question_type,
        "language": question.language,
        "difficulty": question.difficulty,
        "release": question.release,
    }
