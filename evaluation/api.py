"""The Python API behind `import livek12`: functions that do the work of a command, and `Run`.

Contract: each function has the defaults of its command. A caller's mistake is a `UserError` of one line. Of `Run` only
`write_report` writes.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.questions import lend as lend_questions
from livek12.core.records import Key, Question, Request, Response, Verdict
from livek12.engines.calling import NAME as PYTHON
from livek12.engines.calling import conversation_text, lend
from livek12.engines.thinking import Thinking
from livek12.tasks.base import Task
from livek12.tasks.registry import all_tasks, get_task

if TYPE_CHECKING:
    import pandas as pd
    from datasets import Dataset

    from livek12.core.run.folder import RunFolder
    from livek12.core.run.spec import RunSpec
    from livek12.core.scoring import Row

Answering = Callable[[str], str] | Callable[[Request], str]
"""Model or judge: a function of the prompt's text, or of the `Request`."""


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
        """Metric with undecided answers at worst and best; None if unavailable."""
        estimate = self.estimate(metric)
        return None if estimate["low"] is None else (estimate["low"], estimate["high"])

    def interval(self, metric: str) -> tuple[float, float] | None:
        """The 95 % interval, undecided answers included; None for fewer than five questions."""
        ends = self.estimate(metric)["ci"]
        return None if ends is None else (ends[0], ends[1])


class Difference(NamedTuple):
    """Paired difference a − b in a metric, with its 95 % interval and test (`PairedTest`)."""

    task: str
    metric: str
    a: str
    b: str
    value: float | None
    low: float | None
    high: float | None
    p: float | None
    p_holm: float | None
    shared: int


class RunComparison(dict[str, Any]):
    """Content of `livek12 compare --json` (see `livek12.core.scoring.Comparison`)."""

    def differences(self, metric: str = "accuracy", task: str = "") -> list[Difference]:
        """Each pair of runs in a metric, of all tasks or one."""
        pairs = [
            (name, pair)
            for name, compared in self["tasks"].items()
            for pair in compared["pairs"]
            if task in ("", name) and metric in pair["metrics"]
        ]
        if not pairs:
            names = {metric for compared in self["tasks"].values() for metric in compared["metrics"]}
            raise UserError(f"{task or 'no task'}: {metric} is not compared; compared are {', '.join(sorted(names))}")
        return [_difference(name, metric, pair) for name, pair in pairs]

    def _repr_html_(self) -> str:
        from livek12.report.compared import as_html, as_markdown

        return as_html(as_markdown(self))  # type: ignore[arg-type]


def _difference(task: str, metric: str, pair: Mapping[str, Any]) -> Difference:
    estimate, test = pair["metrics"][metric]["difference"], pair["metrics"][metric]["test"]
    low, high = estimate["ci"] or (None, None)
    return Difference(
        *(task, metric, pair["a"], pair["b"], estimate["value"], low, high),
        *(test["p"], test["p_holm"], pair["shared"]),
    )


class Run:
    """Run folder; its length counts requested answers.

    Args:
        path: the folder, or its address (`hf://…`, `s3://…`), of which a copy is read.
    """

    def __init__(self, path: str | Path) -> None:
        from livek12.core.run.folder import RunFolder
        from livek12.core.run.remote import run_folder

        self.path = run_folder(path)
        self.folder: RunFolder = RunFolder.open(self.path, warn)
        self._report: dict[str, Any] | None = None
        self._sizes: dict[str, int] = {}

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    def __len__(self) -> int:
        return sum(task.questions for task in self.spec.tasks) * self.spec.trials

    def __bool__(self) -> bool:
        return True

    def _repr_html_(self) -> str:
        from livek12.report.compared import as_html, scores_markdown

        return as_html(scores_markdown(self.spec.shown, self.report["tasks"]))

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
        """Content of report.json, from the records."""
        from livek12.evaluation.reporting import score

        sizes = {file.name: file.stat().st_size for file in self.path.glob("*.jsonl")}
        if self._report is None or sizes != self._sizes:  # records are only ever added
            self._report, self._sizes = score(self.folder), sizes
        return self._report

    @property
    def scores(self) -> Scores | Mapping[str, Scores]:
        """Metrics of its only task, or `Scores` by task."""
        each = {task: self.scores_of(task) for task in self.tasks}
        return each if len(each) > 1 else next(iter(each.values()))

    def scores_of(self, task: str) -> Scores:
        """Metrics of one task."""
        if task not in self.report["tasks"]:
            raise UserError(f"{self.path}: has no task {task!r}; it has {', '.join(self.tasks)}")
        return Scores(task, self.report["tasks"][task]["metrics"])

    def by(self, axis: str, metric: str = "accuracy", task: str = "") -> dict[str, Mapping[str, Any]]:
        """A metric by subject, question type, …: fields of `Scores.estimate` by value."""
        if not task and len(self.tasks) > 1:
            raise UserError(f"{self.path}: by({axis!r}): name one of its tasks: {', '.join(self.tasks)}")
        groups = self.report["tasks"][self.scores_of(task or self.tasks[0]).task]["groups"]
        if axis not in groups:
            raise UserError(f"{self.path}: has no axis {axis!r}; it has {', '.join(groups)}")
        return {value: group["metrics"][metric] for value, group in groups[axis].items() if metric in group["metrics"]}

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
            data: the new place of a moved dataset, for its pictures.
        """
        from livek12.evaluation.reporting import score_run
        from livek12.evaluation.task_data import reload_task_data

        if problem := score_run(self.folder, "article", reload_task_data(self.folder, data, trusts=False)).write():
            raise UserError(problem)
        return self.report_html

    def rows(self) -> Iterator[Row]:
        """Every requested answer, missing ones too."""
        return self.folder.rows()

    def to_pandas(self) -> pd.DataFrame:
        """Answers as a table, a row each.

        Columns: task, question_id, trial, state (graded, no_answer, ungraded, failed or unsupported), correct (NA while
        undecided), correct_low and correct_high (0 or 1; their means are the ends of the accuracy over all answers),
        points, low, high, max_points, response, answer (as extracted), key, reason, finish_reason, completion_tokens,
        judge, and subject, question_type, language, difficulty and release of the question. Types are nullable.
        """
        import pandas as pd

        rows = [_cells(row) for row in self.rows()]
        return pd.DataFrame(
            {name: pd.array([row[name] for row in rows], dtype=kind) for name, kind in _COLUMNS.items()}
        )

    def to_dataset(self) -> Dataset:
        """Table of `to_pandas` as a `datasets.Dataset`."""
        from datasets import Dataset

        return Dataset.from_pandas(self.to_pandas(), preserve_index=False)


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
    of_question = ("subject", "question_type", "language", "difficulty", "release")
    of_verdict = ("correct", "points", "low", "high", "reason", "judge")
    return {
        **{name: getattr(question, name) for name in of_question},
        **{name: getattr(verdict, name, None) for name in of_verdict},
        **{name: getattr(response, name, None) for name in ("finish_reason", "completion_tokens")},
        "task": row.task,
        "question_id": question.id,
        "trial": row.trial,
        "state": row.state,
        "correct_low": int(low),
        "correct_high": int(high),
        "max_points": verdict.max_points if verdict else question.points,
        "response": response.text if response else None,
        "answer": "; ".join(part.answer for part in verdict.parts if part.answer) or None if verdict else None,
        "key": "; ".join(question.answer) or None,
    }


def list_tasks(benchmark: str = "", modality: str = "", language: str = "") -> list[str]:
    """Names of the listed tasks by benchmark; others exist, such as `TASK@0.5` (a token budget).

    Args:
        benchmark: only its tasks.
        modality: text_only, text_image or image_only.
        language: only tasks that ask in it.
    """
    wanted = {"benchmark": benchmark, "modality": modality}
    tasks = all_tasks().values()
    for name, value in wanted.items():
        if value and value not in (values := sorted({getattr(task, name) for task in tasks})):
            raise UserError(f"{name} {value!r}: no task has it; there are {', '.join(values)}")
    return [
        task.name
        for task in tasks
        if all(value in ("", getattr(task, name)) for name, value in wanted.items())
        and (not language or language in (task.selection.language or task.prompts))
    ]


def include(*folders: str | Path) -> None:
    """Adds benchmarks in folders, as `--include` does.

    Raises:
        UserError: no such folder, or no benchmark in it.
    """
    benchmarks.include([Path(folder) for folder in folders])


def load(data: str | Path | Iterable[Question], task: str | Task, limit: int | None = None) -> list[Question]:
    """Questions that a task asks, in asking order, with their pictures.

    Args:
        data: a folder of `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        task: the task or its name.
        limit: only the first so many.
    """
    from livek12.evaluation.task_data import check_whole
    from livek12.tasks.loading import questions_of

    check_whole("limit", limit, 1)
    return questions_of(_task(task), _place(data), limit)


def prompt_for(task: str | Task, question: Question) -> str:
    """Text that a task asks, pictures as [image]."""
    from livek12.tasks.prompting import build_request

    asking = _task(task)
    request = build_request(asking, question, Key(task=asking.name, question_id=question.id), asking.sampling, {})
    return conversation_text(request, "[image]")


def evaluate(
    task: str | Task | Iterable[str | Task],
    model: str | Path | Answering,
    data: str | Path | Iterable[Question],
    out: str | Path,
    *,
    engine: str = "auto",
    engine_args: str | Mapping[str, Any] = "",
    limit: int | None = None,
    trials: int | None = None,
    questions: tuple[str, str | Path] | None = None,
    name: str = "",
    judge: str | Answering = "rules",
    judge_engine: str = "",
    judge_engine_args: str | Mapping[str, Any] = "",
    judge_method: str = "",
    judge_prompt: str | Path = "",
    judge_scope: str = "",
    judge_repeats: int = 1,
    **sampling: Any,
) -> Run:
    """Asks, marks, scores and reports, as `livek12 run` does; called again with the same folder, it resumes.

    Args:
        task: a task or its name, or several.
        model: a folder, a Hub name, the name at an endpoint, a file of recorded answers, or a function that answers a
            prompt. A function that takes a `Request` (by its annotation) sees pictures too.
        data: a folder of `livek12 build`, ORG/NAME[@REVISION] on the Hub, or questions.
        out: the run folder.
        engine: auto, vllm, transformers, openai or replay; of functions always python.
        engine_args: arguments of the engine, by name or as "K=V,…".
        limit: only the first so many questions of each task.
        trials: answers drawn for each question; None: as the tasks have it, mostly 1.
        questions: only those that the model failed in a run, as ("failed-in", RUN).
        name: of the model in tables and pages; default as `model` names it.
        judge: marks what the rules leave open: "rules" (nothing more), models as `MODEL[@ENGINE[:K=V,…]][,…]`,
            FILE.yaml, or a function as for `model`, of which nothing is cached.
        judge_engine: of judges that name none; default auto.
        judge_engine_args: of judges that name no engine.
        judge_method: default the task's own.
        judge_prompt: the file with the prompt of a published verifier (methods "compass" and "xverify").
        judge_scope: "open" (judges see what the rules leave open) or "all" (every answer).
        judge_repeats: how often judge models are asked about each answer; the first makes the marks.
        **sampling: max_tokens, temperature, top_p, top_k, seed, system_prompt, thinking_budget, in place of the tasks'
            defaults.

    Raises:
        UserError: an impossible argument, an engine or a judge that cannot run, or a folder of something else.
    """
    from livek12.evaluation.asking import ask_and_mark
    from livek12.evaluation.options import JudgingOptions, RunOptions
    from livek12.evaluation.reporting import score_run
    from livek12.evaluation.task_data import check_whole, sampling_set

    check_whole("limit", limit, 1)
    check_whole("trials", trials, 1)
    tasks = [task] if isinstance(task, str | Task) else list(task)
    names = ",".join(map(_name, tasks))
    chosen = (questions[0], Path(questions[1])) if questions else None
    answering, engine = _model(model, engine)
    run = RunOptions(names, answering, Path(out), _place(data), engine, engine_args, limit, trials, chosen, name=name)
    methods = judge_method, judge_prompt, judge_scope, judge_repeats
    judges = JudgingOptions(
        _judge(judge), judge_engine, judge_engine_args, *methods, cache=not callable(judge)
    ).judges()
    marked = ask_and_mark(run.with_trials(), sampling_set(sampling), judges)
    if marked is not None:
        scored = score_run(marked.folder, "article", marked.exam)
        if problem := scored.write():
            warn(problem)
        if failed := scored.count("failed"):
            warn(f"{out}: {failed} requests have no response; the same call asks them again")
        if marked.lost:
            warn(f"{out}: {marked.lost} responses wait for a judge that did not answer; the same call asks again")
    return Run(out)


def compare(runs: Sequence[Run | str | Path], where: str = "") -> RunComparison:
    """Compares runs: metrics with intervals, and each pair with differences and paired tests.

    Args:
        runs: run folders, two or more.
        where: only some questions: "FIELD=VALUE[,VALUE]".
    """
    from livek12.evaluation.comparing import compare_runs

    if isinstance(runs, str | Path | Run):
        raise UserError("a comparison needs at least two runs: give a list of them")
    return RunComparison(compare_runs([run.path if isinstance(run, Run) else Path(run) for run in runs], where))


def judge(
    question: Question,
    response: str,
    *,
    task: str | Task | None = None,
    judge: str | Answering = "rules",
    judge_method: str = "",
    judge_prompt: str | Path = "",
    model: str = "",
    finish_reason: str | None = "stop",
) -> Verdict:
    """Verdict on one response to a question.

    Thinking between a model's tags is never graded. Undecided answers are ungraded, with `low` and `high` as possible
    points. Each call loads its judge models: for many responses use `livek12 judge-pairs`.

    Args:
        question: with its key.
        response: of the model.
        task: for its partial credit and judging protocol; default an exact match.
        judge: as for `evaluate`.
        judge_method: as for `evaluate`.
        judge_prompt: as for `evaluate`.
        model: author of the response, which never judges itself.
        finish_reason: "length" for a response cut off at its token limit.
    """
    from livek12.evaluation.options import JudgingOptions
    from livek12.judges.jury import Jury
    from livek12.tasks.scorer import Scorer

    if not isinstance(question, Question):
        raise UserError(f"question {question!r:.60}: give a livek12.Question; Question(**fields) makes one of a dict")
    if not isinstance(response, str):
        raise UserError(f"response {response!r:.60}: give the text that the model said")
    judged_task = Task("", question.benchmark, (), "text_only", "") if task is None else _task(task)
    split, key = Thinking().split(response), Key(task=judged_task.name, question_id=question.id)
    answer = Response(
        key=key, text=split.text, reasoning=split.reasoning, finish_reason=finish_reason, engine="python", model=model
    )
    authors = (model,) if model else ()
    options = JudgingOptions(
        _judge(judge), judge_method=judge_method, judge_prompt=judge_prompt, cache=not callable(judge)
    )
    with Jury(options.judges()) as judges:
        scorer = Scorer.of(judges, judged_task.judge, judged_task.partial_credit, authors)
        return scorer.mark(question, answer, authors)


def _name(task: str | Task) -> str:
    if isinstance(task, Task) and get_task(task.name) != task:
        raise UserError(f"task {task.name}: is not the one that is known by this name; give it as a benchmark's task")
    return task if isinstance(task, str) else task.name


def _place(data: object) -> str:
    if isinstance(data, str | Path):
        return str(data)
    questions = list(data) if isinstance(data, Iterable) else []
    if not questions or not all(isinstance(question, Question) for question in questions):
        raise UserError(
            f"data {data!r:.60}: give the folder of a data set, ORG/NAME on the Hub, or a list of livek12.Question"
        )
    return lend_questions(questions)


def _model(model: object, engine: str) -> tuple[str, str]:
    if callable(model):
        return lend(model), PYTHON
    if not isinstance(model, str | Path):
        raise UserError(f"model {model!r:.60}: give a folder, a name, a file of recorded answers, or a function")
    return str(model), engine


def _judge(judge: str | Answering) -> str:
    return f"{lend(judge)}@{PYTHON}" if callable(judge) else judge


def _task(task: str | Task) -> Task:
    return get_task(task) if isinstance(task, str) else task
