"""The Python API behind `import livek12`, besides the records and `Run`.

Contract: each function does the work of its command, with the same defaults. A mistake of the caller is a `UserError`
of one line.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core import benchmarks
from livek12.core.errors import UserError
from livek12.core.progress import warn
from livek12.core.records import Key, Question, Response, Verdict
from livek12.tasks.base import Task
from livek12.tasks.registry import all_tasks, get_task

if TYPE_CHECKING:
    from livek12.core.scoring import Comparison
    from livek12.evaluation.run import Run


def list_tasks() -> list[str]:
    """Names of all listed tasks, benchmark by benchmark; others exist, such as `TASK@0.5` (a token budget)."""
    return list(all_tasks())


def include(*folders: str | Path) -> None:
    """Adds benchmarks in folders, as `--include` does.

    Raises:
        UserError: there is no such folder, or it holds no benchmark.
    """
    benchmarks.include([Path(folder) for folder in folders])


def load(data: str | Path, task: str | Task, limit: int | None = None) -> list[Question]:
    """Questions that a task asks, in asking order, with their pictures.

    Args:
        data: a folder made by `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        task: the task or its name.
        limit: only the first so many.
    """
    from livek12.evaluation.task_data import check_whole
    from livek12.tasks.loading import questions_of

    check_whole("limit", limit, 1)
    return questions_of(_task(task), _place(data), limit)


def evaluate(
    task: str | Task | Iterable[str | Task],
    model: str | Path,
    data: str | Path,
    out: str | Path,
    *,
    engine: str = "auto",
    engine_args: str | Mapping[str, Any] = "",
    limit: int | None = None,
    trials: int | None = None,
    questions: tuple[str, str | Path] | None = None,
    judge: str = "rules",
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
        model: a folder, a Hub name, the name at an endpoint, or a file of recorded answers.
        data: a folder made by `livek12 build`, or ORG/NAME[@REVISION] on the Hub.
        out: the run folder.
        engine: auto, vllm, transformers, openai or replay.
        engine_args: arguments of the engine, by name or as "K=V,…".
        limit: only the first so many questions of each task.
        trials: answers drawn for each question; None: as the tasks have it, mostly 1.
        questions: only those that the model failed in a run, as ("failed-in", RUN).
        judge: marks what the rules leave open: "rules" (nothing more), models as `MODEL[@ENGINE[:K=V,…]][,…]`, or
            FILE.yaml.
        judge_engine: of judges that name none; default auto.
        judge_engine_args: of judges that name no engine.
        judge_method: default the task's own.
        judge_prompt: the file with the prompt of a published verifier (methods "compass" and "xverify").
        judge_scope: "open" (judges see what the rules leave open) or "all" (every answer).
        judge_repeats: number of times that judge models are asked about each answer; the first makes the marks.
        **sampling: max_tokens, temperature, top_p, top_k, seed, system_prompt, thinking_budget, in place of the
            defaults of the tasks.

    Raises:
        UserError: an impossible argument, an engine or a judge that cannot run, or a folder of something else.
    """
    from livek12.evaluation.options import JudgingOptions, RunOptions
    from livek12.evaluation.reporting import score_run
    from livek12.evaluation.run import Run
    from livek12.evaluation.running import ask_and_mark
    from livek12.evaluation.task_data import check_whole, sampling_set

    check_whole("limit", limit, 1)
    check_whole("trials", trials, 1)
    tasks = [task] if isinstance(task, str | Task) else list(task)
    names = ",".join(map(_name, tasks))
    chosen = (questions[0], Path(questions[1])) if questions else None
    run = RunOptions(names, str(model), Path(out), _place(data), engine, engine_args, limit, trials, chosen)
    methods = judge_method, judge_prompt, judge_scope, judge_repeats
    judges = JudgingOptions(judge, judge_engine, judge_engine_args, *methods).judges()
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


def compare(runs: Sequence[Run | str | Path], where: str = "") -> Comparison:
    """Compares runs: each metric with its interval, and each pair with the difference and a paired test.

    Args:
        runs: run folders, two or more.
        where: only some questions: "FIELD=VALUE[,VALUE]".

    Returns:
        The content of `livek12 compare --json` (see `livek12.core.scoring.Comparison`).
    """
    from livek12.evaluation.comparing import compare_runs
    from livek12.evaluation.run import Run

    if isinstance(runs, str | Path | Run):
        raise UserError("a comparison needs at least two runs: give a list of them")
    return compare_runs([run.path if isinstance(run, Run) else Path(run) for run in runs], where)


def judge(
    question: Question,
    response: str,
    *,
    task: str | Task | None = None,
    judge: str = "rules",
    judge_method: str = "",
    judge_prompt: str | Path = "",
    model: str = "",
    finish_reason: str | None = "stop",
) -> Verdict:
    """Verdict on one response to a question.

    Thinking between a model's tags is split off and never graded. The rules decide alone unless `judge` names models;
    undecided answers are ungraded, with `low` and `high` as their possible points. Models are loaded for each call: for
    many responses `evaluate` with recorded answers, or `livek12 judge-pairs`, is quicker.

    Args:
        question: with its key.
        response: of the model.
        task: its rule for partly right choices and its judging protocol count; default an exact match.
        judge: as for `evaluate`.
        judge_method: as for `evaluate`.
        judge_prompt: as for `evaluate`.
        model: author of the response, which never judges itself.
        finish_reason: "length" for a response that was cut off at its token limit.
    """
    from livek12.engines.thinking import Thinking
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
    with Jury(JudgingOptions(judge, judge_method=judge_method, judge_prompt=judge_prompt).judges()) as judges:
        scorer = Scorer.of(judges, judged_task.judge, judged_task.partial_credit, authors)
        return scorer.mark(question, answer, authors)


def _name(task: str | Task) -> str:
    if isinstance(task, Task) and get_task(task.name) != task:
        raise UserError(f"task {task.name}: is not the one that is known by this name; give it as a benchmark's task")
    return task if isinstance(task, str) else task.name


def _place(data: object) -> str:
    if not isinstance(data, str | Path):
        raise UserError(f"data {data!r:.60}: give the folder of a data set, or ORG/NAME on the Hub")
    return str(data)


def _task(task: str | Task) -> Task:
    return get_task(task) if isinstance(task, str) else task
