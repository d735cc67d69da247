"""Second stage of a run, marking: at its end, or during the first one; and its judges asked again.

Contract: one verdict is written for each response to whose mark the judges have something to add; with `again` for all.
Older marks count until then (`core.run.markings`). During the asking a child process marks the stored answers, where
that is worth it, without making the engine wait. It never outlives the command.

Repeat 0 is the marking of the run (LiveK12Bench, appendix C): repeat k puts each of its requests once more, with
another seed. Its verdicts go to repeats-N.jsonl and make no mark.
"""

from __future__ import annotations

import os
import pickle
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, TypeVar

from livek12.core.engine_kinds import kind_of
from livek12.core.errors import UserError, why
from livek12.core.key_versions import KEYS_FILE, KeyBook
from livek12.core.process import ChildProcess, Ended, Link
from livek12.core.progress import Progress, say, show_log, warn
from livek12.core.questions import fingerprint, load_questions, with_answers
from livek12.core.ranks import wait_until
from livek12.core.records import Call, Image, Key, Question, Response, Verdict
from livek12.core.run.claims import Claims, at_work, with_its_trials
from livek12.core.run.folder import QUESTIONS, RunFolder, RunQuestion, keys_of, with_pictures
from livek12.core.run.journal import KeySet, Tail, has_lines, line_at
from livek12.core.run.markings import KEYS, in_words, other_rules
from livek12.core.run.sessions import RULES, tell_memory
from livek12.core.run.spec import MARKS, RunSpec
from livek12.engines import check_engine
from livek12.engines.devices import measure
from livek12.engines.sessions import SessionWriter
from livek12.evaluation.workers import CHUNK, LINE_SECONDS, Flow, MarkPool, default_size, judge_lines, ray_batches
from livek12.judges.grade import judge_version
from livek12.judges.jury import JudgeOptions, Jury
from livek12.judges.rules.pool import shared_pool
from livek12.tasks.base import Task
from livek12.tasks.registry import get_task, get_tasks, is_logged
from livek12.tasks.scorer import Scorer, stamped, undecided

if TYPE_CHECKING:
    from livek12.core.scoring import Row
    from livek12.evaluation.options import Stages
    from livek12.evaluation.task_data import TaskData
    from livek12.tasks.prompting import Pages


def check_judges(options: JudgeOptions, author: str, tasks: str, here: bool = False) -> None:
    """Refuses a panel useless for this model; `here`: this machine must run the judges."""
    if options.panel is None:
        return
    from livek12.judges.llm.client import JudgeModel
    from livek12.judges.llm.panel import Panel

    with ThreadPoolExecutor(1) as threads:
        panel = Panel(options.panel, [JudgeModel(judge) for judge in options.panel.judges], threads)
        for task in get_tasks(tasks):
            panel.check([author], task.judge.size)
    for judge in options.panel.judges if here else ():
        try:
            check_engine(judge.engine, judge.model, judge.engine_args)
        except UserError as error:
            raise UserError(f"judge {judge.model}: {error}") from error


class Waiting(Protocol):
    """Item to mark, and the key of its claim."""

    @property
    def key(self) -> Key:
        """Its name among all that waits."""


W = TypeVar("W", bound=Waiting)


def marking_flow(judges: Jury, mark: Callable[[W], Verdict]) -> Flow[W, Verdict]:
    """Threads that keep every judge busy or, with rules alone, every symbolic worker."""
    return Flow(mark, judges.threads if judges.panel else 2 * max(2, shared_pool().size))


def in_rounds(
    stream: Callable[[], Iterator[W | None]],
    judges: Jury,
    flow: Flow[W, Verdict],
    claims: Claims,
    progress: Progress | None,
    claimed_by: Callable[[Verdict], Key] = lambda verdict: verdict.key,
) -> Iterator[Verdict]:
    """Verdicts on a stream, read once or, where judges take turns (`judges.llm.client`), once a round.

    `stream` begins anew each time, with None where none waits at the moment; `claimed_by` gives the key of the claim.
    """
    done = KeySet()

    def waiting() -> Iterator[W | None]:
        for item in stream():
            if progress is not None:
                progress.beat()
            if item is None or (str(item.key) not in done and claims.take(str(item.key))):
                yield item

    while True:
        postponed = False
        for verdict in flow.run(waiting()):
            if judges.schedule is not None:
                from livek12.judges.llm.client import waits_for_turn

                if waits_for_turn(verdict.calls):
                    postponed = True
                    continue
                done.add(claimed_by(verdict))
            yield verdict
        if judges.schedule is None or not postponed:
            return
        judges.schedule.end_round()


def unanswered(verdict: Verdict) -> bool:
    """True if something is ungraded for want of a reply."""
    return verdict.is_open and any(call.raw is None for call in verdict.calls)


@dataclass
class JudgeUsage:
    """Requests to judge models and their cost; remembered replies cost nothing anew."""

    requests: int = 0
    remembered: int = 0
    failed: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    uncounted: int = 0
    cost: float | None = None

    def add(self, calls: Iterable[Call]) -> None:
        """Counts the calls of one verdict."""
        for call in calls:
            if not call.prompt:
                continue  # it was not put
            if call.remembered:
                self.remembered += 1
                continue
            self.requests += 1
            self.failed += call.raw is None
            self.prompt_tokens += call.prompt_tokens or 0
            self.completion_tokens += call.completion_tokens or 0
            self.uncounted += call.raw is not None and (call.prompt_tokens is None or call.completion_tokens is None)
            if call.cost is not None:
                self.cost = (self.cost or 0.0) + call.cost

    def merge(self, other: JudgeUsage) -> None:
        """Adds what was spent elsewhere."""
        for name, value in vars(other).items():
            if value is not None:
                setattr(self, name, (getattr(self, name) or 0) + value)

    def __str__(self) -> str:
        text = f"judges: {self.requests} requests, {self.prompt_tokens:,} tokens in, {self.completion_tokens:,} out"
        text += f" ({self.uncounted} without counts)" if self.uncounted else ""
        text += f", cost {self.cost:.4f}" if self.cost is not None else ""
        text += f", {self.failed} failed" if self.failed else ""
        return text + (f"; {self.remembered} remembered" if self.remembered else "")


@dataclass(frozen=True)
class RunScorer:
    """Scorer of each task of a run, with questions and pictures."""

    questions: dict[str, Mapping[str, Question]]
    pages: Pages
    authors: tuple[str, ...]
    scorers: dict[str, Scorer]
    versions: dict[str, str]
    """Of each task: who marks it, as verdicts name them."""
    words: dict[str, str]
    """The same for people, by version."""
    book: KeyBook

    @classmethod
    def open(cls, run: RunFolder, judges: Jury, exam: Callable[[], TaskData] | None = None) -> RunScorer:
        """Reads questions, keys and, by `exam` if a judge needs them, pictures."""
        spec = run.spec()
        if spec.cells in MARKS:
            raise UserError(f"{run.path}: holds the {spec.cells} of others without answers: there is nothing to judge")
        tasks = {task.name: get_task(task.name) for task in spec.tasks}
        authors = tuple(name for name in (spec.model, spec.model_revision) if name)
        scorers = {name: Scorer.of(judges, task.judge, task.partial_credit, authors) for name, task in tasks.items()}
        questions = _questions_of(run, judges.options)
        pages: Pages = {}
        if exam is not None and judges.panel is not None and _shows_pictures(questions, tasks):
            pictured = exam()
            pages = pictured.pages
            for name, own in pictured.questions.items():
                shown = {q.id: with_pictures(questions[name][q.id], q) for q in own if q.id in questions[name]}
                questions[name] = {**questions[name], **shown}
        keys = add_keys(questions, tasks, judges.options.answers) if judges.options.answers else ""
        versions = {name: scorer.version + keys for name, scorer in scorers.items()}
        words = {versions[name]: _in_words(scorer, judges.options, authors) for name, scorer in scorers.items()}
        return cls(questions, pages, authors, scorers, versions, words, run.key_book())

    def check_keys(self, spec: RunSpec) -> None:
        """Refuses to mark a run by the keys of another dataset."""
        before = [version.partition(KEYS)[2] for version in (*spec.judged_by, *spec.judges.values())]
        mine = {version.partition(KEYS)[2] for version in self.versions.values()} - {""}
        if mine and (last := next((keys for keys in reversed(before) if keys), None)) and last not in mine:
            raise UserError(
                "the answers of this run are marked by the keys of another data set than that of --answers;"
                " `--again` marks them anew by these"
            )

    def is_settled(self, response: Response, verdict: Verdict) -> bool:
        """True if neither these judges nor newer rules add to a verdict."""
        task, question = response.key.task, self._question(response)
        if other_rules(verdict, self.versions[task]):
            return False
        scorer, keyless = self.scorers[task], KEYS in self.versions[task] and KEYS not in verdict.judge
        if scorer.sees_everything(question) and scorer.has_more(question, response, verdict):
            return False
        if verdict.state != "graded" and (verdict.is_open or keyless or scorer.has_more(question, response, verdict)):
            return False
        return scorer.auditor is None or verdict.process is not None or not response.text.strip()

    def critiques(self, task: str) -> int:
        """Most critics of each answer to a task."""
        auditor = self.scorers[task].auditor
        return auditor.panel.most(self.authors, auditor.size) if auditor else 0

    def by_rules(self, response: Response) -> Verdict:
        """Verdict of the rules."""
        question, scorer = self._question(response), self.scorers[response.key.task]
        if is_logged(response.key.task):  # as rows of judge-pairs are: a bare answer needs no commitment
            from livek12.evaluation.pairs import JudgedPair, rule_verdict

            pair = JudgedPair(question.id, question, response)
            return self._named(stamped(rule_verdict(pair, scorer.cascade), response))
        return self._named(scorer.by_rules(question, response))

    def unmarked(self, response: Response, why: str) -> Verdict:
        """Verdict on a response on which the rules failed."""
        config = self.scorers[response.key.task].config
        return self._named(stamped(undecided(self._question(response), response.key, config, why), response))

    def mark(self, response: Response, repeat: int = 0) -> Verdict:
        """Verdict of the rules and, on open parts, of models, asked `repeat` times before."""
        verdict = self.by_rules(response)
        if not self.scorers[response.key.task].is_open(self._question(response), response, verdict):
            return verdict
        question, task = self._question(response), response.key.task
        pages: tuple[Image, ...] = ()
        if get_task(task).modality == "image_only" and question.paper_id:
            keys = [(question.paper_id, number) for number in question.page_numbers]
            pages = tuple(self.pages.get(key) or Image(path=f"page {key[1]} of {key[0]}") for key in keys)
        wrote = [name for name in (*self.authors, response.model) if name]
        return self._named(self.scorers[task].by_models(question, response, verdict, wrote, pages, repeat))

    def _question(self, response: Response) -> Question:
        return self.questions[response.key.task][response.key.question_id]

    def _named(self, verdict: Verdict) -> Verdict:
        judge = self.versions[verdict.key.task]
        number = self.book.number(verdict.key.question_id)
        versions = {**verdict.versions, "judge": judge}
        return verdict.model_copy(update={"judge": judge, "versions": versions, "keys": number})


def _questions_of(run: RunFolder, options: JudgeOptions) -> dict[str, Mapping[str, Question]]:
    """An index where models need no more, to save memory."""
    by_rules = options.panel is None and not options.answers
    if by_rules or all(is_logged(task.name) for task in run.spec().tasks):
        return {**question_indexes(run)}
    return {task: {q.id: q for q in own} for task, own in run.questions().items()}


def _in_words(scorer: Scorer, options: JudgeOptions, authors: Collection[str]) -> str:
    words = in_words(judge_version(scorer.config))
    if options.panel is not None and scorer.panel is not None:
        words += f" and {scorer.panel.panel.members(authors, scorer.panel.named.size)}"
        words += f" ({options.panel.method})" if options.panel.method else ""
        words += ", who see every answer" if options.panel.scope == "all" else ""
    return words + (f" with the keys of {options.answers}" if options.answers else "")


def _shows_pictures(questions: Mapping[str, Mapping[str, Question]], tasks: Mapping[str, Task]) -> bool:
    if any(task.modality == "image_only" for task in tasks.values()):
        return True
    shown = (question for own in questions.values() for question in own.values())
    return any(q.images or q.answer_images or q.solution_images for q in shown)


def add_keys(questions: dict[str, Mapping[str, Question]], tasks: Mapping[str, Task], answers: str) -> str:
    """Puts another dataset's keys into the questions, by id; returns their name in versions."""
    used: list[Question] = []
    for name, own in questions.items():
        rows = load_questions(answers, tasks[name].configs, tasks[name].benchmark, tasks[name].language)
        keys = {question.id: question for question in rows}
        if not (shared := own.keys() & keys.keys()):
            raise UserError(f"{answers}: has no row with the id of a question of {name}; is it the key to this run?")
        if missing := sorted(own.keys() - shared):
            warn(f"{answers}: {len(missing)} questions of {name} are not in it, the first: {missing[0]!r}")
        used += [keys[question_id] for question_id in sorted(shared)]
        questions[name] = {question.id: question for question in with_answers(own.values(), rows)}
    return f"{KEYS}{fingerprint(used)[:8]}"


LOOK_SECONDS = 0.2
"""Between looks for new responses while none wait."""
WORTH_A_PROCESS = 100
"""So many responses take as long as the start of a process."""


@dataclass
class Marked:
    """Responses that wait for a judge that could not be asked, and the cost."""

    lost: int = 0
    spent: JudgeUsage = field(default_factory=JudgeUsage)

    def count(self, verdict: Verdict, kind: str) -> None:
        """Counts a verdict; warns of an unanswered one."""
        self.spent.add(verdict.calls)
        self.lost += verdict.waits
        if unanswered(verdict):
            reason = verdict.reason if verdict.state == "ungraded" else verdict.process_ungraded
            warn(f"{verdict.key}: {reason}", kind=kind)


def mark(
    run: RunFolder,
    options: JudgeOptions,
    exam: Callable[[], TaskData],
    *,
    again: bool = False,
    unmarked: bool = False,
    over: Callable[[], bool] | None = None,
    workers: int | None = None,
    ray: str = "",
) -> Marked:
    """Marks the waiting answers of a run folder."""
    with Jury(options, in_turn=not options.together, sessions=run.path) as judges:
        marking = _Marking(run, RunScorer.open(run, judges, exam), judges, again, unmarked, over, workers, ray)
        while marking.share() and over is None:  # others are at the rest; what they leave is marked here
            wait_until(lambda: not at_work(run.path, "verdicts"), partial(_waited, run))
    return marking.marked


@dataclass
class _Marking:
    run: RunFolder
    scorer: RunScorer
    judges: Jury
    again: bool
    unmarked: bool
    over: Callable[[], bool] | None
    workers: int | None
    ray: str
    before: RunSpec = field(init=False)
    number: int = field(init=False)
    marked: Marked = field(default_factory=Marked)
    begun: bool = False

    def __post_init__(self) -> None:
        self.before = spec = self.run.spec()
        self.number = spec.marking
        if not self.again:
            self.scorer.check_keys(spec)
        elif spec.judges:
            same = spec.marking and spec.judges == self.scorer.versions
            self.number += not (same and self.run.answered() - self.finished())  # one that was broken off goes on

    def share(self) -> bool:
        """Marks what no other process does; returns true if others are at some of it."""
        run, by_rules = self.run, self.judges.panel is None
        with ExitStack() as stack:
            writer = stack.enter_context(run.writer("verdicts"))
            claims = Claims(writer.path, "verdicts", self.finished, with_its_trials)
            waiting = None
            if self.over is None:
                waiting = Counter(key.partition("/")[0] for key in run.answered() if key not in claims.done)
            if not self.begun and not self.begin(waiting):
                return False
            self.begun = True
            progress = None
            if self.over is None:
                spec = run.spec()
                total = sum(task.questions for task in spec.tasks) * spec.trials
                progress = Progress("judging", total, len(claims.done), partial(_asked, self.judges))
                stack.enter_context(progress)
            session = stack.enter_context(SessionWriter(run.path if by_rules else None, "mark", RULES, RULES))
            session.loaded()  # judge models have sessions of their own
            most = waiting.total() if by_rules and waiting else 0
            for batch in self._batches(stack, claims, progress, most):
                verdicts = [line for line in batch if line]
                writer.write_lines(verdicts)
                session.count(len(verdicts))
                if progress is not None:
                    progress.step(len(verdicts))
            return bool(claims.refused)

    def _batches(self, stack: ExitStack, claims: Claims, progress: Progress | None, most: int) -> Iterator[list[str]]:
        """Lines of verdicts, as they come; `most` may be marked by the rules in other processes."""
        lines, path = _claimed_lines(self.run, claims, progress), self.run.path
        given, unmarked = (self.judges.options, self.number, LINE_SECONDS), partial(_unmarked, self.scorer, self.number)
        if most and self.ray:
            files = [file for name in ("run.json", QUESTIONS, KEYS_FILE) if (file := path / name).exists()]
            contents, worth = {file.name: file.read_bytes() for file in files}, -(-most // WORTH_A_PROCESS)
            return ray_batches(
                lines, self.ray, self.workers, worth, mark_responses, contents, *given, unmarked=unmarked
            )
        if size := processes(self.workers, most):
            pool = MarkPool(mark_responses, path.resolve(), *given, unmarked=unmarked, size=size)
            return stack.enter_context(pool).batches(lines)
        flow = stack.enter_context(marking_flow(self.judges, self.scorer.mark))
        return self._here(flow, claims, progress)

    def _here(self, flow: Flow[Response, Verdict], claims: Claims, progress: Progress | None) -> Iterator[list[str]]:
        stream = partial(_arriving, self.run, self.over) if self.over else self.run.responses
        for verdict in in_rounds(stream, self.judges, flow, claims, progress):
            self.marked.count(verdict, "not judged")
            yield [_line_of(verdict, self.number)]

    def finished(self) -> KeySet:
        if not has_lines(self.run.path, "verdicts"):
            return KeySet()
        if self.unmarked:
            return keys_of(answer for answer, _ in self.run.judged())
        done = keys_of(response for response, verdict in self.run.judged(self._is_own) if not verdict.waits)
        if self.again:
            return done
        return done | keys_of(
            answer for answer, verdict in self.run.judged() if self.scorer.is_settled(answer, verdict)
        )

    def _is_own(self, verdict: Verdict) -> bool:
        return verdict.marking == self.number and verdict.judge == self.scorer.versions.get(verdict.key.task)

    def begin(self, waiting: Counter[str] | None) -> bool:
        """Notes the judges once they can be asked; returns true if there is work.

        `waiting` counts the answers of each task; None where they are still to come.
        """
        others = self.before.judges != self.scorer.versions
        takes_over = bool(self.before.judges) and (self.again or others)
        if waiting is not None and takes_over:
            say(self._plan(waiting.total()))
        if waiting is not None and not waiting:
            return False
        if takes_over:
            self.judges.try_out(local=others)
        self.run.begin_marking(self.scorer.versions, self.scorer.words, self.number)
        if critiques := sum(count * self.scorer.critiques(task) for task, count in (waiting or {}).items()):
            say(
                f"the reasoning of every answer is audited: up to {critiques:,} requests, and more where a reply cannot"
                " be read (--no-audit leaves it out)"
            )
        return True

    def _plan(self, waiting: int) -> str:
        by, older = Counter[str](), 0
        for answer, verdict in self.run.judged():
            by[self.before.who(verdict.judge)] += 1
            older += other_rules(verdict, self.scorer.versions[answer.key.task])
        so_far = ", ".join(f"{count:,} by {name}" for name, count in by.most_common()) or "nothing"
        now = ", ".join(dict.fromkeys(self.scorer.words.values()))
        if self.again:
            what = f"to be marked anew by {now}: {waiting:,}, and the old marks count until then"
        else:
            what = f"open for {now}: {f'{waiting:,}' if waiting else 'nothing'}"
            what += f", {older:,} of them marked by other rules" if older else ""
            what += " (--again marks all anew)"
        return f"{self.run.path}: marked so far: {so_far}; {what}"


def _claimed_lines(run: RunFolder, claims: Claims, progress: Progress | None) -> Iterator[bytes]:
    lines = run.response_lines()
    while some := dict(islice(lines, CHUNK)):
        if progress is not None:
            progress.beat()
        yield from (some[key] for key in claims.take_all(some))


def processes(limit: int | None, waiting: int) -> int:
    """Number of worthwhile processes, within the user's limit; 0 where this one is quicker alone."""
    most = min(limit or default_size(), waiting // WORTH_A_PROCESS)
    return most if most > 1 else 0


def mark_responses(
    link: Link, run: Path | Mapping[str, bytes], options: JudgeOptions, number: int, seconds: float
) -> None:
    """Work of a `MarkPool`: a reply is the line of a verdict, "" for a damaged response.

    On another node `run` holds the files to read, by name. `seconds` are processor time of a response, without its
    symbolic comparisons.
    """
    with Jury(options) as judges:
        if isinstance(run, Path):
            scorer = RunScorer.open(RunFolder(run), judges)
        else:
            with TemporaryDirectory(prefix="livek12-") as folder:  # an open scorer has read or opened its files
                for name, data in run.items():
                    (Path(folder) / name).write_bytes(data)
                scorer = RunScorer.open(RunFolder(Path(folder)), judges)
        judge_lines(link, seconds, lambda line: _marked(line, scorer.by_rules, number), judges.cascade.flush)


def _unmarked(scorer: RunScorer, number: int, line: bytes, why: str) -> str:
    return _marked(line, lambda response: scorer.unmarked(response, why), number)


def _marked(line: bytes, mark: Callable[[Response], Verdict], number: int) -> str:
    try:
        response = Response.model_validate_json(line)
    except ValueError:
        return ""
    return _line_of(mark(response), number)


def _line_of(verdict: Verdict, number: int) -> str:
    return verdict.model_copy(update={"marking": number}).model_dump_json()


def _waited(run: RunFolder, seconds: float) -> str:
    others = ", ".join(at_work(run.path, "verdicts"))
    return f"judging: waiting for the processes that write {others} since {seconds:.0f} s"


def _asked(judges: Jury) -> str:
    return f", {judges.asked:,} requests" if judges.asked else ""


def _arriving(run: RunFolder, over: Callable[[], bool]) -> Iterator[Response | None]:
    """Each key once; None where none waits at the moment."""
    expected, stored, seen = run.expected(), Tail(run.path, "responses", Response), KeySet()
    while not over():
        for response in stored.fresh():
            if expected(response) and seen.add(response.key):
                yield response
            if over():
                return
        yield None
        time.sleep(LOOK_SECONDS)


def judge(
    run: RunFolder,
    *,
    again: bool = False,
    unmarked: bool = False,
    options: JudgeOptions | None = None,
    exam: TaskData | None = None,
    before: Marked | None = None,
    workers: int | None = None,
    ray: str = "",
) -> int:
    """Marks unmarked answers, open ones, and those that wait for a judge that did not answer.

    `again` marks everything anew, `unmarked` only what has no verdict; `before` is the account of marks made during the
    asking. Returns the number of responses waiting for a judge.
    """
    options, began = options or JudgeOptions(), time.time()

    def pictured() -> TaskData:
        from livek12.evaluation.task_data import reload_task_data

        return exam or reload_task_data(run, options.data)

    marked = mark(run, options, pictured, again=again, unmarked=unmarked, workers=workers, ray=ray)
    if options.repeats > 1:
        ask_again(run, options, pictured, marked)
    if options.panel is not None:
        if before is not None:
            marked.spent.merge(before.spent)
        print(marked.spent, file=sys.stderr)
    if not options.together:
        tell_memory(run.path, began)
    return marked.lost


@dataclass(frozen=True)
class _Again:
    """Response for its `repeat`-th judging after the first."""

    response: Response
    repeat: int

    @property
    def key(self) -> Key:
        return _key(self.response.key, self.repeat)


def _key(key: Key, repeat: int) -> Key:
    return Key(task=key.task, question_id=f"{key.question_id}/{key.trial}", trial=repeat)


def ask_again(run: RunFolder, options: JudgeOptions, exam: Callable[[], TaskData], made: Marked) -> None:
    """Asks the judges again, until each answer they saw has `options.repeats` verdicts.

    `made` counts the verdicts that wait for a judge, and the cost.
    """
    with ExitStack() as stack:
        judges = stack.enter_context(Jury(options, in_turn=not options.together, sessions=run.path))
        scorer = RunScorer.open(run, judges, exam)
        marking = run.spec().marking

        def is_first(verdict: Verdict) -> bool:
            own = verdict.marking == marking and verdict.judge == scorer.versions.get(verdict.key.task)
            return own and verdict.by_models and not verdict.waits

        def waiting() -> Iterator[_Again]:
            for repeat in range(1, options.repeats):
                for response, _ in run.judged(is_first):
                    yield _Again(response, repeat)

        def stored() -> KeySet:
            return KeySet(
                str(_key(verdict.key, verdict.repeat))
                for verdict in run.repeats()
                if verdict.marking == marking
                and verdict.judge == scorer.versions.get(verdict.key.task)
                and not verdict.waits
            )

        writer = stack.enter_context(run.writer("repeats"))
        claims = Claims(writer.path, "repeats", stored)
        first = ((_key(response.key, 0), verdict) for response, verdict in run.judged(is_first))
        requests = _tell(run, first, options.repeats, claims.done)
        if not requests:
            return
        judges.try_out(local=False)
        progress = stack.enter_context(Progress("judging again", requests, 0))

        def marked(again: _Again) -> Verdict:
            return scorer.mark(again.response, again.repeat).model_copy(update={"repeat": again.repeat})

        flow = stack.enter_context(marking_flow(judges, marked))
        named = in_rounds(waiting, judges, flow, claims, progress, lambda verdict: _key(verdict.key, verdict.repeat))
        for verdict in named:
            writer.append(verdict.model_copy(update={"marking": marking}))
            made.count(verdict, "not judged again")
            progress.step()


def _tell(run: RunFolder, first: Iterable[tuple[Key, Verdict]], repeats: int, done: Iterable[str]) -> int:
    made, wanted, requests, tokens = KeySet(done), 0, 0, 0
    for key, verdict in first:
        missing = sum(str(key.model_copy(update={"trial": repeat})) not in made for repeat in range(1, repeats))
        put = [call for call in verdict.calls if call.prompt]
        wanted += missing
        requests += missing * len(put)
        tokens += missing * sum(call.prompt_tokens or 0 for call in put)
    if wanted:
        say(
            f"{run.path}: the judges are asked again, {repeats} times in all: {wanted:,} verdicts, about"
            f" {requests:,} requests and {tokens:,} prompt tokens; the marks stay those of the first time"
        )
    return wanted


def repeated_rows(run: RunFolder, rows: Iterable[Row]) -> list[list[Row]]:
    """Answers of a run by its marking and by each repeat, some without a verdict."""
    first, verdicts = list(rows), dict[tuple[str, int], Verdict]()
    for verdict in run.repeats():
        before = verdicts.get((str(verdict.key), verdict.repeat))
        if before is None or before.waits or not verdict.waits:
            verdicts[str(verdict.key), verdict.repeat] = verdict
    repeats = sorted({repeat for _, repeat in verdicts})
    return [first, *([_with(row, verdicts.get((_name(row), repeat))) for row in first] for repeat in repeats)]


def _name(row: Row) -> str:
    return str(Key(task=row.task, question_id=row.question.id, trial=row.trial))


def _with(row: Row, again: Verdict | None) -> Row:
    first = row.verdict
    fits = again and first and (again.judge, again.marking) == (first.judge, first.marking)
    if fits and again and first and again.response_sha256 == first.response_sha256:
        return replace(row, verdict=again, state=again.state)
    return replace(row, verdict=None)


# --- during the asking ----------------------------------------------------------------------------------------------

FEWEST = 64
"""Fewer requests are asked and marked in turn before a second process has started."""
NICE = 5
"""The engine comes first where cores are short."""
_LEAVE_SECONDS = 10.0
"""To give back judges when all is marked."""


def worth_it(stages: Stages, engine: str, engine_args: Mapping[str, Any], options: JudgeOptions, waiting: int) -> bool:
    """Decides about marking during the asking of `waiting` requests.

    With `auto`: when no judge needs the device, and the model runs elsewhere or on a device. One that runs on these
    very cores loses more than the marking wins, and recorded answers, or those of a batch, come at once.
    """
    if stages != "auto" or not waiting:
        return stages == "overlap" and waiting > 0
    judges = options.panel.judges if options.panel is not None else ()
    at_once = kind_of(engine).is_recorded or kind_of(engine).gathers
    if waiting < FEWEST or at_once or any(not kind_of(judge.runs_on).is_direct for judge in judges):
        return False
    return (
        kind_of(engine).place == "endpoint"
        or "base_url" in engine_args
        or "ray" in engine_args
        or bool(measure().devices)
    )


class Overlap:
    """Process, if worth it, and its result; an error in the context ends it."""

    def __init__(self, options: JudgeOptions, stages: Stages) -> None:
        self._options, self._stages = options, stages
        self._process: ChildProcess | None = None
        self.marked = Marked()

    def start(self, run: RunFolder, engine: str, engine_args: Mapping[str, Any], waiting: int) -> None:
        """Starts marking if worth it, once run.json describes the engine."""
        if not worth_it(self._stages, engine, engine_args, self._options, waiting):
            return
        self._process = ChildProcess(_work, run.path, self._options, quiet=False)

    def __enter__(self) -> Overlap:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process is None:
            return
        try:
            if kind is None:
                self._process.send(b"enough")
                self.marked = pickle.loads(self._process.receive())
                self._process.wait(_LEAVE_SECONDS)
        except Ended:
            warn("marking beside the asking broke off; what it left is marked now")
        finally:
            self._process.kill()


def _work(link: Link, folder: Path, options: JudgeOptions) -> None:
    from livek12.evaluation.task_data import reload_task_data

    os.nice(NICE)
    show_log()
    enough = threading.Event()

    def listen() -> None:
        with suppress(EOFError, OSError):  # its end is that of this process
            link.recv_bytes()
            enough.set()

    threading.Thread(target=listen, daemon=True).start()
    run, marked = RunFolder(folder), Marked()
    try:
        marked = mark(run, options, lambda: reload_task_data(run, options.data), over=enough.is_set)
    except UserError as error:
        warn(f"nothing more is marked while the model is asked: {error}")
    link.send(marked)


HELD = 1024


class QuestionIndex(Mapping[str, Question]):
    """Questions of one task, thread-safe: `places` has offsets by task and id, one read a lookup."""

    def __init__(self, task: str, file: BinaryIO, places: Mapping[tuple[str, str], int], book: KeyBook) -> None:
        self._task, self._places = task, places
        # No bound method: a reference cycle would keep the file open until it is collected.
        self._read = lru_cache(HELD)(partial(_read, file, book))

    def __getitem__(self, id: str) -> Question:
        return self._read(id, self._places[self._task, id])

    def __iter__(self) -> Iterator[str]:
        return (id for task, id in self._places if task == self._task)

    def __len__(self) -> int:
        return sum(task == self._task for task, _ in self._places)


def _read(file: BinaryIO, book: KeyBook, id: str, place: int) -> Question:
    try:
        return book.newest(RunQuestion.model_validate_json(line_at(file.fileno(), place)).question)
    except ValueError as error:
        raise UserError(f"{file.name}: {id!r:.80} cannot be read: {why(error)}; start a new run") from error


def question_indexes(run: RunFolder) -> dict[str, QuestionIndex]:
    """Index for each task of a run; UserError if questions.jsonl has changed since the run began."""
    places = run.asked()
    file = (run.path / QUESTIONS).open("rb")
    return {task.name: QuestionIndex(task.name, file, places, run.key_book()) for task in run.spec().tasks}
