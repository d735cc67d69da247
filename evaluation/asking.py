"""Asking: opens the run folder of a command and asks its missing answers.

Contract: nothing is written before tasks, arguments and engine are checked; an existing run is resumed; the folder of a
failed command is free for the next one.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from livek12.core.arguments import arguments_of
from livek12.core.engine_kinds import checked_engine, kind_of
from livek12.core.errors import UserError
from livek12.core.progress import Progress, say, warn
from livek12.core.ranks import join_launch, only_one_started, this_rank, wait_until
from livek12.core.records import Failure, Question, Request, Response, Sampling
from livek12.core.run.access import check_out, has_responses
from livek12.core.run.claims import Claims, at_work, unsure
from livek12.core.run.folder import RunFolder
from livek12.core.run.locks import is_held
from livek12.core.run.spec import RunSpec, differences
from livek12.core.version import __version__
from livek12.engines import check_engine, choose_engine, make_engine
from livek12.engines.replay import ReplayEngine
from livek12.engines.sessions import SessionWriter
from livek12.evaluation.chosen import chosen_questions
from livek12.evaluation.recordings import recorded_trials, tell_unlike
from livek12.evaluation.task_data import TaskData, load_task_data, make_spec, sampling_of
from livek12.evaluation.usage import tell_memory
from livek12.tasks.families import source_of
from livek12.tasks.registry import default_trials, get_tasks, siblings, side_by_side

if TYPE_CHECKING:
    from livek12.core.run.keys import AnsweredKeys
    from livek12.engines.base import Engine, Outcome
    from livek12.evaluation.options import RunOptions
    from livek12.evaluation.overlap import Overlap
    from livek12.evaluation.prompt_cost import PromptCost
    from livek12.tasks.base import Task


def ask(run: RunOptions, sampling: Mapping[str, Any], overlap: Overlap | None = None) -> tuple[RunFolder, TaskData]:
    """Opens the run folder for these options and asks what is missing."""
    model, out, trials = run.model, run.out, run.trials
    if not model.strip():
        raise UserError("no model: give --model a folder, a Hub name, the name at an endpoint, or a recorded file")
    tasks = get_tasks(run.tasks)
    args = arguments_of(run.engine_args)
    name = choose_engine(model, args) if run.engine == "auto" else checked_engine(run.engine, "--engine")
    _check(tasks, sampling, name)
    check_out(out)
    check_engine(run.engine, model, args, here=not has_responses(out))  # what is complete needs no engine
    join_launch(out)
    if only_one_started():
        warn("`accelerate launch --cpu` starts one process, however many are asked for; --multi_gpu starts them all")
    chosen = chosen_questions(run.questions, tasks, model)
    exam = load_task_data(run.data, tasks, run.limit, chosen.ids if chosen else None)
    # A recorded file is cheap to open and knows whose answers it holds.
    recorded = make_engine(name, model, args) if kind_of(name).is_recorded else None
    if trials is None:
        trials = recorded_trials(recorded, exam, out) if isinstance(recorded, ReplayEngine) else default_trials(tasks)
    noted = chosen.noted if chosen else None
    spec = make_spec(exam, recorded.model if recorded else model, name, args, trials, run.limit, sampling, noted)
    folder = RunFolder.create_or_resume(out, spec, exam.questions, warn)
    if any(task.derive for task in tasks) and recorded is None and not has_responses(out):
        for line in cost_lines(exam, trials, {task.name: task.sampling for task in spec.tasks}):
            say(line)
    try:
        _fill(folder, exam, name, args, sampling, recorded, overlap)
    except BaseException:
        folder.leave()
        raise
    if isinstance(recorded, ReplayEngine):
        tell_unlike(recorded, exam, trials)
    return folder, exam


def expected(run: RunOptions, sampling: Mapping[str, Any]) -> dict[str, PromptCost]:
    """Cost of the same `ask`, by task; asks and writes nothing."""
    from livek12.evaluation.prompt_cost import expected_cost

    tasks = get_tasks(run.tasks)
    chosen = chosen_questions(run.questions, tasks)
    exam = load_task_data(run.data, tasks, run.limit, chosen.ids if chosen else None)
    samplings = {each.name: sampling_of(each, sampling, run.engine) for each in tasks}
    return expected_cost(exam, asked_in_order(exam), run.trials or default_trials(tasks), samplings)


def cost_lines(exam: TaskData, trials: int, samplings: Mapping[str, Sampling]) -> Iterator[str]:
    """Expected cost of the requests, in words."""
    from livek12.evaluation.prompt_cost import expected_cost, sentences

    return sentences(expected_cost(exam, asked_in_order(exam), trials, samplings))


def _fill(
    folder: RunFolder,
    exam: TaskData,
    name: str,
    args: Mapping[str, Any],
    sampling: Mapping[str, Any],
    recorded: Engine | None,
    overlap: Overlap | None,
) -> None:
    began, tried, answered = time.time(), folder.tries(), folder.follow()
    waiting = _asked(folder.spec()) - len(answered())
    if not waiting:
        return
    model, start = folder.spec().model, None
    if overlap is not None:
        start = partial(overlap.start, folder, name, args, waiting)
    sitting = SessionWriter(folder.path, "generate", name, model, args)
    with overlap or nullcontext(), sitting, ExitStack() as stack:  # the engine is closed before who marks beside it
        live = recorded or make_engine(name, model, {**args, **_for_thinking(name, args, folder.spec())})
        stack.callback(live.close)
        sitting.loaded(live)
        generate(folder, exam, live, start, tried, answered, lambda outcome: sitting.count(1, _tokens(outcome)))
    tell_memory(folder, began)


def _check(tasks: Iterable[Task], sampling: Mapping[str, Any], engine: str) -> None:
    """Refuses limits that contradict each other or cannot be kept."""
    limited = [task.name for task in tasks if task.budget is not None]
    if limited and "max_tokens" in sampling:
        raise UserError(f"--max-tokens and the budget of {limited[0]} are two limits of one answer: give one of them")
    for name in ("thinking_budget", "system_prompt"):
        if name in sampling and kind_of(engine).is_recorded:
            option = f"--{name.replace('_', '-')}"
            raise UserError(f"recorded answers are not drawn again: {option} says nothing about them")


def _for_thinking(engine: str, args: Mapping[str, str], spec: RunSpec) -> dict[str, str]:
    samplings = [task.sampling for task in spec.tasks if task.sampling.thinking_budget is not None]
    if not samplings or engine != "vllm" or args.get("base_url"):
        return {}
    optional = all(sampling.thinking_optional for sampling in samplings)
    return {"thinking_budgets": "true", **({"thinking_optional": "true"} if optional else {})}


def generate(
    run: RunFolder,
    exam: TaskData,
    engine: Engine,
    ready: Callable[[], None] | None = None,
    tried: Counter[str] | None = None,
    answered: AnsweredKeys | None = None,
    ended: Callable[[Outcome], None] = lambda outcome: None,
) -> None:
    """Asks everything that has no response yet and stores each outcome as it comes.

    Of several launched processes (`core.ranks`) the first returns when all has been asked, and asks what a dead one
    left. It holds no journal while it waits: another launch on this folder may wait for it.

    Args:
        run: the run folder.
        exam: the questions.
        engine: answers them.
        ready: called when run.json describes the engine, before anything is asked.
        tried: `run.tries()` when the command began; later failures are not asked again.
        answered: `run.follow()`, where the answers have been read before.
        ended: called with each outcome.
    """
    from livek12.tasks.prompting import asked_together

    spec = run.spec()
    known = {"engine_versions": engine.versions(), "model_revision": engine.revision}
    now = spec.model_copy(update=known)
    if different := differences(spec, now):
        raise UserError(f"{run.path}: holds another run: {'; '.join(different)}; choose a new --out")
    rank = this_rank()
    if rank.first:
        run.amend(**known)
    before = run.tries() if tried is None else tried
    if ready is not None:
        ready()
    total = sum(map(len, exam.questions.values())) * spec.trials
    what = "reading answers" if kind_of(spec.engine).is_recorded else "asking"
    versions = {**now.engine_versions, "livek12": __version__}
    together = asked_together(exam.tasks, exam.questions)

    stored = answered or run.follow()

    def over() -> Collection[str]:
        return stored() | (run.tries() - before).keys()

    def ask() -> set[str]:
        """Returns the other processes that keep some of the work."""
        with run.writer("responses") as responses, run.writer("failures") as failures, ExitStack() as stack:
            make = _two_requests(run, exam, engine, stack)
            claims = Claims(responses.path, "responses", over, together)
            progress = stack.enter_context(Progress(what, total, done=len(claims.done)))
            for outcome in _outcomes(make, _all_requests(exam, spec, claims)):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                    warn(f"{outcome.key}: {outcome.state}: {outcome.reason}", kind=outcome.state)
                else:
                    responses.append(outcome.model_copy(update={"versions": versions}))
                ended(outcome)
                progress.step()
            return claims.refused

    def waited(seconds: float) -> str:
        done, others = len(stored()), ", ".join(at_work(run.path, "responses"))
        return f"asking: {done}/{total} by all, waiting for the processes that write {others} since {seconds:.0f} s"

    def left_to(others: set[str]) -> bool:
        """True if some of their work may be left."""
        if not others or not rank.first:
            return False
        if not rank.alone:
            return wait_until(lambda: not at_work(run.path, "responses"), waited)
        began = time.monotonic()
        wait_until(lambda: not unsure(run.path, others, began), waited)
        return not all(is_held(run.path / name) for name in others)

    while left_to(ask()):
        pass


def _tokens(outcome: Outcome) -> int | None:
    if isinstance(outcome, Failure):
        return 0
    if kind_of(outcome.engine).is_recorded:
        return None
    earlier = outcome.earlier.completion_tokens if outcome.earlier else 0
    return None if outcome.completion_tokens is None or earlier is None else outcome.completion_tokens + earlier


def _asked(spec: RunSpec) -> int:
    return sum(task.questions for task in spec.tasks) * spec.trials


def _all_requests(exam: TaskData, spec: RunSpec, claims: Claims) -> Iterator[Request | Failure]:
    """Question by question within tasks of one exam, so that their common prompt is read once."""
    from livek12.tasks.prompting import requests

    samplings = {task.name: task.sampling for task in spec.tasks}
    for task, question in asked_in_order(exam):
        yield from requests(task, [question], spec.trials, samplings[task.name], exam.pages, claims.take)


def asked_in_order(exam: TaskData) -> Iterator[tuple[Task, Question]]:
    """Each question of each task in the order of the requests.

    Budgets of one task are asked question by question, and so is what is derived from one question.
    """
    from livek12.tasks.prompting import asking_order

    for together in side_by_side(exam.tasks):
        groups = siblings(together)
        sources = [_by_source(asking_order(group[0], exam.questions[group[0].name])) for group in groups]
        for source in dict.fromkeys(source for questions in sources for source in questions):
            for group, questions in zip(groups, sources, strict=True):
                for question in questions.get(source, ()):
                    yield from ((task, question) for task in group)


def _by_source(questions: Iterable[Question]) -> dict[str, list[Question]]:
    by_source: dict[str, list[Question]] = {}
    for question in questions:
        by_source.setdefault(source_of(question), []).append(question)
    return by_source


Make = Callable[[Iterable[Request]], Iterator[Response | Failure]]


def _two_requests(run: RunFolder, exam: TaskData, engine: Engine, stack: ExitStack) -> Make:
    if not any(task.first_style for task in exam.tasks):
        return engine.generate
    from livek12.evaluation.two_requests import outcomes

    journal = stack.enter_context(run.writer("earlier"))
    return lambda requests: outcomes(engine, requests, run, exam, journal)


def _outcomes(make: Make, requests: Iterable[Request | Failure]) -> Iterator[Response | Failure]:
    unaskable: list[Failure] = []
    for outcome in make(_askable(requests, unaskable)):
        yield outcome
        while unaskable:
            yield unaskable.pop()
    yield from unaskable


def _askable(outcomes: Iterable[Request | Failure], unaskable: list[Failure]) -> Iterator[Request]:
    for outcome in outcomes:
        if isinstance(outcome, Failure):
            unaskable.append(outcome)
        else:
            yield outcome
