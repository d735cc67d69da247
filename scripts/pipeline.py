"""The arrows of the flow: questions → requests → responses → verdicts → scores → report.

Contract: each step reads and writes a run folder only, so that each is a command of its own; doing a step again
does what is missing and nothing else. The commands in `scripts.commands` are thin: options in, these calls.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from livek12.core.claims import Claims, at_work
from livek12.core.engines.common import public
from livek12.core.errors import UserError
from livek12.core.journal import write_atomically
from livek12.core.ranks import this_rank, wait_until
from livek12.core.records import Failure, Image, Question, Request, Response, Sampling
from livek12.core.run_folder import RunFolder, RunSpec, TaskSpec, differences
from livek12.core.scoring import Profile, Row
from livek12.scripts.progress import Progress, warn
from livek12.tasks.base import Task
from livek12.tasks.budgets import siblings

if TYPE_CHECKING:
    from livek12.core.engines.base import Engine
    from livek12.core.scoring import Limit
    from livek12.scripts.judging import JudgeOptions
    from livek12.scripts.stages import Marked

Pages = Mapping[tuple[str, int], Image]


@dataclass(frozen=True)
class Exam:
    """The questions of each task, with pictures, and the page images."""

    data: str
    tasks: list[Task]
    questions: dict[str, list[Question]]
    pages: Pages


def load_exam(data: str, tasks: list[Task], limit: int | None) -> Exam:
    """Reads what the tasks ask from a built data set.

    Args:
        data: a folder made by `livek12 build`, or ORG/NAME on the Hub.
        tasks: the tasks.
        limit: only the first so many questions of each task, in asking order.

    Raises:
        UserError: no such data set or config, or a task without questions in it.
    """
    from livek12.tasks.loading import pages_for, questions_of

    shared = {group[0].base_name: questions_of(group[0], data, limit) for group in siblings(tasks)}
    questions = {task.name: shared[task.base_name] for task in tasks}
    from_pages = [task for task in tasks if task.modality == "image_only"]
    asked = [question for task in from_pages for question in questions[task.name]]
    pages: Pages = pages_for(from_pages[0], data, asked) if from_pages else {}
    return Exam(data, tasks, questions, pages)


def make_spec(
    exam: Exam,
    model: str,
    engine: str,
    engine_args: Mapping[str, Any],
    trials: int,
    limit: int | None,
    sampling: Mapping[str, Any],
) -> RunSpec:
    """What a command would run; `sampling` holds only what the user set, over each task's defaults."""
    from livek12.core.questions import fingerprint

    # Budgets of one task share their questions.
    digests = {
        group[0].base_name: fingerprint(exam.questions[group[0].name], _pages_asked(group[0], exam))
        for group in siblings(exam.tasks)
    }
    return RunSpec(
        model=model,
        engine=engine,
        engine_args={
            name: public(str(value)) if name == "base_url" else value
            for name, value in engine_args.items()
            if name != "api_key"
        },
        tasks=[
            TaskSpec(
                name=task.name,
                version=task.version,
                modality=task.modality,
                prompt_sha256=task.prompt_sha256,
                data=exam.data,
                data_sha256=digests[task.base_name],
                questions=len(exam.questions[task.name]),
                sampling=Sampling(**{**task.sampling.model_dump(), **sampling}),
            )
            for task in exam.tasks
        ],
        trials=trials,
        limit=limit,
    )


def generate(
    run: RunFolder,
    exam: Exam,
    engine: Engine,
    ready: Callable[[], None] | None = None,
    tried: Counter[str] | None = None,
) -> None:
    """Asks everything that has no response yet and stores each outcome as it comes.

    Of several launched processes (`core.ranks`) the first returns when all has been asked; what one that ended early
    left, it asks itself. It holds no journal while it waits: another launch on this folder may wait for it.

    Args:
        run: the run folder.
        exam: what is asked.
        engine: who is asked.
        ready: called when run.json says all about the engine, before anything is asked.
        tried: `run.tries()` when the command began; default now. What failed since then is not asked again.

    Raises:
        UserError: the engine's versions are not those of the run, nothing can run at all, or the disk is full.
    """
    from livek12.tasks.prompting import asked_together

    spec = run.spec()
    now = spec.model_copy(update={"engine_versions": engine.versions(), "model_revision": engine.revision})
    if different := differences(spec, now):
        raise UserError(f"{run.path}: holds another run: {'; '.join(different)}; choose a new --out")
    rank = this_rank()
    if rank.first:
        run.write_spec(now)
    before = run.tries() if tried is None else tried
    if ready is not None:
        ready()
    total = sum(map(len, exam.questions.values())) * spec.trials
    versions = {**now.engine_versions, "livek12": spec.package_version}
    together = asked_together(exam.tasks, exam.questions)

    def over() -> Collection[str]:
        return run.answered() | (run.tries() - before).keys()

    def ask() -> bool:
        """Asks what nobody else is at, and lets go; whether some was left to others."""
        with run.writer("responses") as responses, run.writer("failures") as failures, ExitStack() as stack:
            claims = Claims(responses.path, "responses", over, together)
            progress = stack.enter_context(Progress("asking", total, done=len(claims.done)))
            for outcome in _outcomes(engine, _all_requests(exam, spec, claims)):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                    warn(f"{outcome.key}: {outcome.state}: {outcome.reason}", kind=outcome.state)
                else:
                    responses.append(outcome.model_copy(update={"versions": versions}))
                progress.step()
            return claims.refused

    def waited(seconds: float) -> str:
        done, others = len(run.answered()), ", ".join(at_work(run.path, "responses"))
        return f"asking: {done}/{total} by all, waiting for the processes that write {others} since {seconds:.0f} s"

    while ask() and rank.first and not rank.alone:
        wait_until(lambda: not at_work(run.path, "responses"), waited)


def judge(
    run: RunFolder,
    *,
    again: bool = False,
    options: JudgeOptions | None = None,
    exam: Exam | None = None,
    before: Marked | None = None,
) -> int:
    """Marks every response that has no verdict of the present judges, or one that a judge did not answer to.

    The rules see every response; what they leave open goes to the models that `options` names. Each verdict is
    stored as it is made.

    Args:
        run: the run folder.
        again: mark everything anew, whoever marked it.
        options: who judges; default the rules alone.
        exam: the questions with their pictures, where they are at hand; otherwise they are read when judges need them.
        before: what was marked already while the model was asked, for the account.

    Returns:
        How many responses stay open because a judge could not be asked; the same command asks again.

    Raises:
        UserError: the run was marked by other judges, and `again` is not set; or a judge cannot be used at all.
    """
    from livek12.scripts.judging import JudgeOptions
    from livek12.scripts.stages import mark, tell_memory

    options, began = options or JudgeOptions(), time.time()
    marked = mark(run, options, lambda: exam or reload_exam(run, options.data), again=again)
    if options.panel is not None:
        if before is not None:
            marked.spent.merge(before.spent)
        print(marked.spent, file=sys.stderr)
    if not options.together:
        tell_memory(run, began)
    return marked.lost


def outstanding(run: RunFolder) -> int:
    """How many requests of the run have no response yet."""
    spec = run.spec()
    asked = sum(task.questions for task in spec.tasks) * spec.trials
    return asked - sum(1 for _ in run.responses())


def reload_exam(run: RunFolder, data: str = "") -> Exam:
    """The exam of a run with its pictures; without them where the data set is no longer there.

    Args:
        run: the run folder.
        data: where the data set lies now, if not where run.json says.

    Raises:
        UserError: `data` is given and is another data set than the run's.
    """
    from livek12.tasks.registry import get_task

    spec = run.spec()
    tasks = [get_task(task.name) for task in spec.tasks]
    place = data or spec.tasks[0].data
    try:
        exam = load_exam(place, tasks, spec.limit)
    except UserError as error:
        if data:
            raise
        warn(f"there are no pictures: {error}; say where the data is with --data")
        return Exam(place, tasks, {}, {})
    now = make_spec(exam, spec.model, spec.engine, spec.engine_args, spec.trials, spec.limit, {})
    for was, found in zip(spec.tasks, now.tasks, strict=True):
        if was.data_sha256 != found.data_sha256:
            raise UserError(f"{place}: other questions than the run's for {was.name}; give its own data with --data")
    return exam


def illustrated(run: RunFolder, exam: Exam) -> list[Row]:
    """The rows of a run with the pictures of their questions."""
    pictures = {(task, q.id): q for task, questions in exam.questions.items() for q in questions}
    return [replace(row, question=pictures.get((row.task, row.question.id), row.question)) for row in run.rows()]


C = TypeVar("C", bound=str)


def one_of(option: str, value: str, choices: Collection[C]) -> C:
    """The value as one of the choices.

    Raises:
        UserError: it is none of them.
    """
    for choice in choices:
        if value == choice:
            return choice
    raise UserError(f"{option} {value!r}: choose one of {', '.join(choices)}")


def profile_of(value: str) -> Profile:
    """The score formulas named by `--profile`."""
    profiles: tuple[Profile, ...] = get_args(Profile)
    return one_of("--profile", value, profiles)


def score(run: RunFolder, profile: Profile = "paper", rows: Iterable[Row] | None = None) -> dict[str, Any]:
    """Computes and stores report.json; returns it. `rows` are those of the run, where they have been read already."""
    from livek12.core.scoring import score as score_rows

    spec = run.spec()
    modalities = {task.name: task.modality for task in spec.tasks}
    thinking = {task.name: task.sampling.thinking_budget for task in spec.tasks}
    scores = score_rows(
        run.rows() if rows is None else rows, profile, modalities=modalities, limits=limits_of(spec), thinking=thinking
    )
    report = {**scores, "run": json.loads(spec.model_dump_json())}
    write_atomically(run.path / "report.json", json.dumps(report, ensure_ascii=False, indent=1) + "\n")
    return report


def limits_of(spec: RunSpec) -> dict[str, Limit]:
    """The token limit of each task of a run that has token budgets; of recorded answers it is known by name alone."""
    from livek12.core.scoring import Limit
    from livek12.tasks.registry import find_task

    found = ((asked, find_task(asked.name)) for asked in spec.tasks)
    return {
        task.name: Limit(
            of=task.base_name,
            tokens=None if spec.engine == "replay" and task.budget is None else asked.sampling.max_tokens,
            share=task.budget,
        )
        for asked, task in found
        if task and task.budgets
    }


def _all_requests(exam: Exam, spec: RunSpec, claims: Claims) -> Iterator[Request | Failure]:
    """Task by task; budgets of one task question by question, so that their common prompt is read once."""
    from livek12.tasks.prompting import asking_order, requests

    samplings = {task.name: task.sampling for task in spec.tasks}
    for group in siblings(exam.tasks):
        for question in asking_order(group[0], exam.questions[group[0].name]):
            for task in group:
                yield from requests(task, [question], spec.trials, samplings[task.name], exam.pages, claims.take)


def _outcomes(engine: Engine, asked: Iterable[Request | Failure]) -> Iterator[Response | Failure]:
    """What the engine makes of the requests, and among it the questions that cannot be asked."""
    unaskable: list[Failure] = []
    for outcome in engine.generate(_askable(asked, unaskable)):
        yield outcome
        while unaskable:
            yield unaskable.pop()
    yield from unaskable


def _askable(outcomes: Iterable[Request | Failure], unaskable: list[Failure]) -> Iterator[Request]:
    """Passes requests on and puts questions that cannot be asked aside."""
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            unaskable.append(outcome)
        else:
            yield outcome


def _pages_asked(task: Task, exam: Exam) -> list[Image]:
    if task.modality != "image_only":
        return []
    questions = exam.questions[task.name]
    keys = {(question.paper_id, number) for question in questions for number in question.page_numbers}
    return [
        exam.pages[paper, number] for paper, number in sorted(keys, key=str) if paper and (paper, number) in exam.pages
    ]
