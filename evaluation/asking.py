"""Asking: opens the run folder of a command and asks its missing answers.

Contract: nothing is written before tasks, arguments and engine are checked; an existing run is resumed; the folder of a
failed command is free for the next one. Where a task makes two requests for an answer, the first reply is stored before
the second request, which holds it, is sent; one without any text makes the question fail for this time.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left, insort
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from livek12.core.arguments import arguments_of, typed_value
from livek12.core.engine_kinds import checked_engine, kind_of
from livek12.core.errors import UserError
from livek12.core.groups import grouped
from livek12.core.key_versions import read_keys
from livek12.core.prices import read_prices
from livek12.core.progress import Progress, say, warn
from livek12.core.ranks import join_launch, only_one_started, this_rank, wait_until
from livek12.core.records import EarlierReply, Failure, Key, Question, Request, Response, Sampling
from livek12.core.run.access import check_out, has_responses
from livek12.core.run.claims import Claims, at_work, unsure
from livek12.core.run.folder import RunFolder
from livek12.core.run.journal import AnsweredKeys, JournalWriter
from livek12.core.run.locks import is_held
from livek12.core.run.sessions import tell_memory
from livek12.core.run.spec import MOST_NAME, RunSpec, differences
from livek12.core.text import one_line, tokens_in
from livek12.core.version import __version__
from livek12.engines import check_engine, choose_engine, in_folder, make_engine
from livek12.engines.base import Engine, Outcome
from livek12.engines.replay import ReplayEngine
from livek12.engines.sessions import SessionWriter
from livek12.evaluation.choosing import chosen_questions
from livek12.evaluation.options import RunOptions, Stages
from livek12.evaluation.task_data import TaskData, load_task_data, make_spec, sampling_of
from livek12.judges.jury import JudgeOptions
from livek12.tasks.base import Task
from livek12.tasks.families import source_of
from livek12.tasks.prompting import asked_together, asking_order, build_request, requests
from livek12.tasks.registry import default_trials, get_tasks, siblings, side_by_side
from livek12.tasks.sheets import QuestionSheet, answers, sheet_request, sheets_of

if TYPE_CHECKING:
    from livek12.evaluation.adaptive import Adaptive
    from livek12.evaluation.marking import Overlap


def ask(
    run: RunOptions,
    sampling: Mapping[str, Any],
    overlap: Overlap | None = None,
    adaptive: Adaptive | None = None,
    mark: Callable[[RunFolder, TaskData], object] | None = None,
) -> tuple[RunFolder, TaskData]:
    """Opens the run folder for these options and asks what is missing.

    An adaptive exam calls `mark` after each batch.
    """
    model, out, trials = run.model, run.out, run.trials
    if not model.strip():
        raise UserError("no model: give --model a folder, a Hub name, the name at an endpoint, or a recorded file")
    if run.name != one_line(run.name, MOST_NAME):
        raise UserError(f"--name {one_line(run.name, 60)!r}: give one line of at most {MOST_NAME} characters")
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
    only = adaptive.ids(tasks) if adaptive else chosen.ids if chosen else None
    exam = load_task_data(run.data, tasks, run.limit, only)
    # A recorded file knows whose answers it holds.
    recorded = make_engine(name, model, args) if kind_of(name).is_recorded else None
    if trials is None:
        trials = recorded_trials(recorded, exam, out) if isinstance(recorded, ReplayEngine) else default_trials(tasks)
    noted = chosen.noted if chosen else None
    spec = make_spec(exam, recorded.model if recorded else model, name, args, trials, run.limit, sampling, noted)
    spec = spec.model_copy(update={"name": run.name})
    opening: Mapping[str, Iterable[Question]] = exam.questions
    if adaptive:
        spec, opening = adaptive.begun(spec, exam), {}
    folder = RunFolder.create_or_resume(out, spec, opening, warn)
    folder.take_keys(read_keys(Path(run.data)))
    if any(task.derive for task in tasks) and recorded is None and not has_responses(out):
        samplings = {task.name: task.sampling for task in spec.tasks}
        for line in sentences(_expected_cost(exam, trials, samplings)):
            say(line)
    batches = adaptive.batches(folder, exam, partial(mark, folder, exam)) if adaptive and mark else None
    try:
        _fill(folder, exam, name, args, sampling, recorded, overlap, batches)
    except BaseException:
        folder.leave()
        raise
    if isinstance(recorded, ReplayEngine):
        _tell_unlike(recorded, exam, trials)
    return folder, exam


def expected(run: RunOptions, sampling: Mapping[str, Any]) -> dict[str, PromptCost]:
    """Cost of the same `ask`, by task; asks and writes nothing."""
    tasks = get_tasks(run.tasks)
    chosen = chosen_questions(run.questions, tasks)
    exam = load_task_data(run.data, tasks, run.limit, chosen.ids if chosen else None)
    samplings = {each.name: sampling_of(each, sampling, run.engine) for each in tasks}
    return _expected_cost(exam, run.trials or default_trials(tasks), samplings)


def _fill(
    folder: RunFolder,
    exam: TaskData,
    name: str,
    args: Mapping[str, Any],
    sampling: Mapping[str, Any],
    recorded: Engine | None,
    overlap: Overlap | None,
    batches: Iterator[TaskData] | None,
) -> None:
    began, tried, answered = time.time(), folder.tries(), folder.follow()
    waiting = _asked(folder.spec()) - len(answered())
    first = exam if waiting else None
    if batches is not None:
        first = next(batches, None)
    if first is None:
        return
    model, start = folder.spec().model, None
    if overlap is not None:
        start = partial(overlap.start, folder, name, args, waiting)
    sitting = SessionWriter(folder.path, "generate", name, model, args)
    with overlap or nullcontext(), sitting, ExitStack() as stack:  # the engine is closed before who marks beside it
        own = {**in_folder(name, folder.path), **args, **_for_thinking(name, args, folder.spec())}
        live = recorded or make_engine(name, model, own)
        stack.callback(live.close)
        sitting.loaded(live)
        parts, answers_read = chain([first], batches or ()), None if batches else answered
        for part in parts:
            generate(folder, part, live, start, tried, answers_read, lambda outcome: sitting.count(1, _tokens(outcome)))
    tell_memory(folder.path, began)


def _check(tasks: Iterable[Task], sampling: Mapping[str, Any], engine: str) -> None:
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
    """Asks everything without a response and stores each outcome as it comes.

    Of several launched processes (`core.ranks`) the first returns when all is asked, and asks what a dead one left. It
    holds no journal while it waits: another launch may wait for it.

    `ready` is called when run.json describes the engine, before anything is asked; `tried` is `run.tries()` when the
    command began (later failures are not asked again), `answered` is `run.follow()`, where the answers have been read
    before. `ended` is called with each outcome.
    """
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
    made = {"versions": {**now.engine_versions, "livek12": __version__}, "run": spec.identity}
    together = asked_together(exam.tasks, exam.questions)

    stored = answered or run.follow()

    def over() -> Collection[str]:
        return stored() | (run.tries() - before).keys()

    def ask() -> set[str]:
        with run.writer("responses") as responses, run.writer("failures") as failures, ExitStack() as stack:
            make = _two_requests(run, exam, engine, stack)
            claims = Claims(responses.path, "responses", over, together)
            progress = stack.enter_context(Progress(what, total, done=len(claims.done)))
            for outcome in _outcomes(make, _all_requests(exam, spec, claims)):
                if isinstance(outcome, Failure):
                    failures.append(outcome)
                    warn(f"{outcome.key}: {outcome.state}: {outcome.reason}", kind=outcome.state)
                else:
                    responses.append(outcome.model_copy(update=made))
                ended(outcome)
                progress.step()
            return claims.refused

    def waited(seconds: float) -> str:
        done, others = len(stored()), ", ".join(at_work(run.path, "responses"))
        return f"asking: {done}/{total} by all, waiting for the processes that write {others} since {seconds:.0f} s"

    def left_to(others: set[str]) -> bool:
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
    """Question by question within tasks of one exam, for their common prompt."""
    samplings = {task.name: task.sampling for task in spec.tasks}
    for task, question in asked_in_order(exam):
        if task.sitting:
            keys = [Key(task=task.name, question_id=question.id, trial=trial) for trial in range(spec.trials)]
            yield from (
                Request(key=key, messages=[], sampling=samplings[task.name]) for key in keys if claims.take(str(key))
            )
        else:
            yield from requests(task, [question], spec.trials, samplings[task.name], exam.pages, claims.take)


def asked_in_order(exam: TaskData) -> Iterator[tuple[Task, Question]]:
    """Each question of each task in request order.

    Budgets of one task are asked question by question, and so is what is derived from one question.
    """
    for together in side_by_side(exam.tasks):
        groups = siblings(together)
        sources = [_by_source(asking_order(group[0], exam.questions[group[0].name])) for group in groups]
        for source in dict.fromkeys(source for questions in sources for source in questions):
            for group, questions in zip(groups, sources, strict=True):
                for question in questions.get(source, ()):
                    yield from ((task, question) for task in group)


def _by_source(questions: Iterable[Question]) -> dict[str, list[Question]]:
    return grouped((source_of(question), question) for question in questions)


Make = Callable[[Iterable[Request]], Iterator[Response | Failure]]


def _two_requests(run: RunFolder, exam: TaskData, engine: Engine, stack: ExitStack) -> Make:
    if not any(task.first_style or task.sitting for task in exam.tasks):
        return engine.generate
    journal = stack.enter_context(run.writer("earlier"))
    make: Make = partial(outcomes, engine, run=run, exam=exam, journal=journal)
    if any(task.sitting for task in exam.tasks):
        return _Sheets(exam, {str(reply.key): reply for reply in run.earlier()}, journal, make).outcomes
    return make


class _Sheets:
    """Outcomes of questions asked by sheets; the reply to a sheet is stored before it is split."""

    def __init__(self, exam: TaskData, stored: Mapping[str, Response], journal: JournalWriter, make: Make) -> None:
        self._stored, self._journal, self._make, self._pages = stored, journal, make, exam.pages
        self._tasks = {task.name: task for task in exam.tasks}
        self._sheets: dict[tuple[str, str], QuestionSheet] = {
            (task.name, question.id): sheet
            for task in exam.tasks
            if task.sitting
            for sheet in sheets_of(task, exam.questions[task.name])
            for question in sheet.questions.values()
        }
        self._wanted: dict[Key, tuple[QuestionSheet, list[Key]]] = {}
        self._ready: deque[Response | Failure] = deque()

    def outcomes(self, requests: Iterable[Request]) -> Iterator[Response | Failure]:
        for outcome in self._make(self._asked(requests)):
            yield from self._drained()
            wanted = self._wanted.pop(outcome.key, None)
            if wanted is None:
                yield outcome
            elif isinstance(outcome, Response):
                self._journal.append(outcome)
                yield from answers(wanted[0], outcome, wanted[1])
            else:
                yield from (outcome.model_copy(update={"key": key}) for key in wanted[1])
        yield from self._drained()

    def _drained(self) -> Iterator[Response | Failure]:
        while self._ready:
            yield self._ready.popleft()

    def _asked(self, requests: Iterable[Request]) -> Iterator[Request]:
        for sheet, group in groupby(requests, key=lambda each: self._sheets.get((each.key.task, each.key.question_id))):
            if sheet is None:
                yield from group
                continue
            by_trial = grouped((request.key.trial, request) for request in group)
            for trial in sorted(by_trial):
                yield from self._sheet(sheet, trial, by_trial[trial])

    def _sheet(self, sheet: QuestionSheet, trial: int, wanted: list[Request]) -> Iterator[Request]:
        task, keys = self._tasks[wanted[0].key.task], [request.key for request in wanted]
        key = Key(task=task.name, question_id=sheet.id, trial=trial)
        try:
            request = sheet_request(task, sheet, key, wanted[0].sampling, self._pages)
        except UserError as error:
            self._ready += [Failure(key=key, state="failed", reason=str(error)) for key in keys]
            return
        reply = self._stored.get(str(key))
        if reply is not None and reply.prompt_sha256 in (None, request.prompt_sha256):
            self._ready += answers(sheet, reply, keys)
            return
        self._wanted[key] = (sheet, keys)
        yield request


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


Trials = dict[tuple[str, str], set[int]]
"""Task and question → the trials that were recorded of it."""


def recorded_trials(recorded: ReplayEngine, exam: TaskData, out: Path) -> int:
    """Most trials of a question; in a begun run, the run's."""
    if (out / "run.json").is_file():
        return RunFolder.open(out).spec().trials
    return max(1, *(len(trials) for trials in _recordings(recorded, exam).values()))


def _tell_unlike(recorded: ReplayEngine, exam: TaskData, trials: int) -> None:
    ids = {id for task in exam.tasks for id in _recorded_ids(task, exam)}
    if strangers := sorted({question for _, question, _ in recorded.names()} - ids):
        warn(f"{recorded.model}: {len(strangers)} recorded questions are not in this run, the first: {strangers[0]!r}")
    recordings = _recordings(recorded, exam)
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


def _recorded_ids(task: Task, exam: TaskData) -> list[str]:
    questions = exam.questions[task.name]
    return [each.id for each in (sheets_of(task, questions) if task.sitting else questions)]


def _recordings(recorded: ReplayEngine, exam: TaskData) -> Trials:
    """A recording without a task serves every task."""
    tasks = grouped((id, each.name) for each in exam.tasks for id in _recorded_ids(each, exam))
    recordings: Trials = {(task, id): set() for id, of in tasks.items() for task in of}
    for of_task, id, trial in recorded.names():
        for task in tasks.get(id, ()):
            if of_task in (None, task):
                recordings[task, id].add(trial)
    return recordings


KEPT = 512
"""So many second requests are held back while first ones can be sent: at the end they fill the places of those that
have been answered, while the last first ones are still at work."""


def outcomes(
    engine: Engine, wanted: Iterable[Request], run: RunFolder, exam: TaskData, journal: JournalWriter
) -> Iterator[Response | Failure]:
    """Outcomes of the requests; `journal` takes first replies."""
    two = {task.name: task for task in exam.tasks if task.first_style}
    if not two or kind_of(engine.name).is_recorded:
        yield from engine.generate(wanted)
        return
    both = _Both(two, exam, {str(reply.key): reply for reply in run.earlier()}, journal)
    waiting = iter(wanted)
    while True:
        for outcome in engine.generate(both.requests(waiting)):
            yield from both.taken(outcome)
        yield from both.unmade()
        if not both.due:
            return


class _Both:
    """First and second requests as one stream; `due` are those with their first reply, to be sent."""

    def __init__(
        self, two: Mapping[str, Task], exam: TaskData, stored: dict[str, Response], journal: JournalWriter
    ) -> None:
        self.due: deque[tuple[Request, Response]] = deque()
        self._two, self._pages, self._stored, self._journal = two, exam.pages, stored, journal
        self._questions = {(name, question.id): question for name in two for question in exam.questions[name]}
        self._firsts: dict[Key, Request] = {}
        self._replies: dict[Key, Response] = {}
        self._unmade: list[Failure] = []

    def requests(self, wanted: Iterator[Request]) -> Iterator[Request]:
        """Trials of a question together; `due` may hold more at the end."""
        for _, trials in groupby(wanted, key=lambda request: (request.key.task, request.key.question_id)):
            yield from filter(self._begun, trials)
            yield from self._second(KEPT)
        yield from self._second(0)

    def taken(self, outcome: Response | Failure) -> Iterator[Response | Failure]:
        """Outcome for the question; nothing for that of the first request."""
        yield from self.unmade()
        if first := self._firsts.pop(outcome.key, None):
            if isinstance(outcome, Response) and outcome.text.strip():
                self._journal.append(outcome)
                self.due.append((first, outcome))
                return
            why = outcome.reason if isinstance(outcome, Failure) else "the model said nothing"
            failed = outcome if isinstance(outcome, Failure) else Failure(key=outcome.key, state="failed", reason=why)
            yield failed.model_copy(update={"reason": f"request before the question: {why}"})
            return
        reply = self._replies.pop(outcome.key, None)
        if reply is not None and isinstance(outcome, Response):
            outcome = outcome.model_copy(
                update={
                    "earlier": EarlierReply.model_validate(
                        {name: getattr(reply, name) for name in EarlierReply.model_fields}
                    )
                }
            )
        yield outcome

    def unmade(self) -> Iterator[Failure]:
        while self._unmade:
            yield self._unmade.pop()

    def _begun(self, request: Request) -> bool:
        if request.key.task not in self._two:
            return True
        reply = self._stored.pop(str(request.key), None)
        if reply is not None and reply.prompt_sha256 in (None, request.prompt_sha256):
            self.due.append((request, reply))
            return False
        self._firsts[request.key] = request
        return True

    def _second(self, kept: int) -> Iterator[Request]:
        while len(self.due) > kept:
            first, reply = self.due.popleft()
            task, question = self._two[first.key.task], self._questions[first.key.task, first.key.question_id]
            try:
                made = build_request(task, question, first.key, first.sampling, self._pages, reply.text.strip())
            except UserError as error:
                self._unmade.append(Failure(key=first.key, state="failed", reason=str(error)))
            else:
                self._replies[first.key] = reply
                yield made


_PICTURE = re.compile(r"\0[0-9a-f]{64}")
"""Stands for a picture in a prompt's text: its hash behind a sign that texts rarely hold."""
_CUT_PICTURE = re.compile(r"\0[0-9a-f]{0,63}\Z")


@dataclass
class PromptCost:
    """Requests of one task, their tokens and shared tokens, and the most output tokens."""

    requests: int = 0
    cannot: int = 0
    prompt_tokens: float = 0.0
    shared_tokens: float = 0.0
    pictures: int = 0
    completion_tokens: int = 0

    @property
    def rounded(self) -> dict[str, int]:
        """Its numbers, for JSON."""
        return {name: round(getattr(self, name)) for name in self.__dataclass_fields__}


def _expected_cost(exam: TaskData, trials: int, samplings: Mapping[str, Sampling]) -> dict[str, PromptCost]:
    costs = {task.name: PromptCost() for task in exam.tasks}
    before: list[str] = []
    source: object = None
    for task in exam.tasks:
        for sheet in sheets_of(task, exam.questions[task.name]) if task.sitting else ():
            key = Key(task=task.name, question_id=sheet.id)
            try:
                whole = sheet_request(task, sheet, key, samplings[task.name], exam.pages)
            except UserError:
                costs[task.name].cannot += trials
            else:
                _put(costs[task.name], whole, trials, [])
    for task, question in asked_in_order(exam):
        if task.sitting:
            continue
        # Prompts are compared within a question: others share no more than the frame.
        if source != (source := (task.asked_with, source_of(question))):
            before = []
        own = costs[task.name]
        for request in requests(task, [question], 1, samplings[task.name], exam.pages, lambda key: True):
            if isinstance(request, Failure):
                own.cannot += trials
                continue
            _put(own, request, trials, before)
    return costs


def _put(own: PromptCost, request: Request, trials: int, before: list[str]) -> None:
    text = "".join(_said(request))
    tokens = tokens_in(_plain(text))
    own.requests += trials
    own.prompt_tokens += trials * tokens
    own.shared_tokens += tokens_in(_plain(_shared(text, before))) + (trials - 1) * tokens
    own.pictures += trials * len(_PICTURE.findall(text))
    own.completion_tokens += trials * request.sampling.max_tokens
    insort(before, text)


def _said(request: Request) -> Iterator[str]:
    for message in request.messages:
        for part in message.content:
            yield part.text or "" if part.type == "text" else f"\0{part.image}"


def _plain(text: str) -> str:
    return _CUT_PICTURE.sub("", _PICTURE.sub("", text))


def _shared(text: str, before: list[str]) -> str:
    """With a neighbour of its place among the sorted texts."""
    place = bisect_left(before, text)
    return max((_common(text, other) for other in before[max(0, place - 1) : place + 1]), key=len, default="")


def _common(first: str, other: str) -> str:
    low, high = 0, min(len(first), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return first[:low]


def total(found: Iterable[PromptCost]) -> PromptCost:
    """All tasks together."""
    summed = PromptCost()
    for cost in found:
        for name in summed.__dataclass_fields__:
            setattr(summed, name, getattr(summed, name) + getattr(cost, name))
    return summed


def as_json(found: Mapping[str, PromptCost]) -> dict[str, Any]:
    """Costs of each task and of all."""
    return {"tasks": {name: cost.rounded for name, cost in found.items()}, "all": total(found.values()).rounded}


def prices(costs: Mapping[str, PromptCost], args: str | Mapping[str, Any]) -> dict[str, float]:
    """The most that all requests cost, directly and by batches; empty without a stated price."""
    price, cost = arguments_of(args).get("price"), total(costs.values())
    stated = read_prices(typed_value(price) if isinstance(price, str) else price, "the engine argument price")
    if stated is None:
        return {}
    shares = {"direct": 1.0, "batch": kind_of("batch").price_share}
    tokens = round(cost.prompt_tokens), None, cost.completion_tokens
    return {way: stated.cost(*tokens, share) or 0.0 for way, share in shares.items()}


def sentences(found: Mapping[str, PromptCost]) -> Iterator[str]:
    """Costs in words, a line for each task and one for all."""
    for name, cost in [*found.items(), *([("all", total(found.values()))] if len(found) > 1 else [])]:
        share = 100 * cost.shared_tokens / cost.prompt_tokens if cost.prompt_tokens else 0.0
        pictures = f" and {cost.pictures:,} pictures" if cost.pictures else ""
        cannot = f"; {cost.cannot:,} cannot be asked" if cost.cannot else ""
        yield (
            f"{name}: {cost.requests:,} requests, about {round(cost.prompt_tokens):,} prompt tokens{pictures}, of which"
            f" {share:.0f} % are shared with a prompt before; at most {cost.completion_tokens:,} tokens written{cannot}"
        )


@dataclass(frozen=True)
class FinishedRun:
    """Finished run; `lost` responses wait for a judge."""

    folder: RunFolder
    exam: TaskData
    lost: int


def ask_and_mark(
    run: RunOptions,
    sampling: Mapping[str, Any],
    judges: JudgeOptions,
    stages: Stages = "auto",
    adaptive: Adaptive | None = None,
) -> FinishedRun | None:
    """Asks and marks what is missing; None in all but the first launched process."""
    from livek12.evaluation.marking import Overlap, check_judges, judge

    overlap = Overlap(judges, stages)
    check_judges(judges, run.model, run.tasks, here=not has_responses(run.out))
    first = this_rank().first

    def mark(folder: RunFolder, exam: TaskData) -> None:
        judge(folder, options=judges, exam=exam)

    if adaptive and not this_rank().alone:
        raise UserError("--adaptive: the next questions wait for the marks of the last, so one process asks them")
    outcome = ask(run, sampling, overlap if first and not adaptive else None, adaptive, mark)
    if not first:
        return None
    folder, exam = outcome
    return FinishedRun(folder, exam, judge(folder, options=judges, exam=exam, before=overlap.marked))
